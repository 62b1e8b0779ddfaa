//! Encodes and hashes each value in the width of its components: 64 bits if an engine with double precision
//! wrote the value, otherwise 32 bits.

use std::borrow::Cow;

use variant_codec::frames::{self, Block};
use variant_codec::{EncodeOptions, Error, ErrorKind, Limits, Result, Value, View};

use crate::check::Checker;

/// Encodes a value in the width of its components.
///
/// # Errors
/// Fails if [`Value::encode`] fails.
pub fn encode(value: &Value) -> Result<Vec<u8>> {
    value.encode_as(EncodeOptions { precision: None, strict_text: false })
}

/// The encoding of a value. Adds the header that elements of packed arrays and names of properties lack.
///
/// # Errors
/// Fails if the value is damaged.
pub fn encoded<'a>(view: &View<'a>) -> Result<Cow<'a, [u8]>> {
    if view.has_header() {
        return view.bytes().map(Cow::Borrowed);
    }
    encode(&view.value()?).map(Cow::Owned)
}

/// The canonical encoding of an encoded value, which usually is canonical already.
///
/// # Errors
/// Fails if [`Value::decode`] fails.
pub fn canonical<'b>(bytes: &'b [u8], limits: &Limits, checker: &mut Checker) -> Result<Cow<'b, [u8]>> {
    let is_canonical = Limits { allow_non_canonical: false, ..limits.clone() };
    match checker.check(bytes, &is_canonical) {
        Err(error) if matches!(error.kind(), ErrorKind::NotCanonical(_)) && limits.allow_non_canonical => {
            encode(&Value::decode(bytes, limits)?).map(Cow::Owned)
        }
        checked => checked.map(|()| Cow::Borrowed(bytes)),
    }
}

/// Appends a record.
///
/// # Errors
/// Fails if a reader would take the value for a block of compressed records, or there is no memory.
pub fn append(batch: &mut Vec<u8>, value: &[u8]) -> Result<()> {
    if Block::of(value, value.len() as u64) != Ok(None) {
        return Err(Error::argument(
            "the value looks like a block of compressed records; only FastVariantCodec.save_batch can write it as a record",
        ));
    }
    frames::try_append(batch, value)
}

/// The fingerprint of an encoded value, as computed by the engine that wrote it.
///
/// # Errors
/// Fails if [`Value::decode`] fails.
pub fn fingerprint(bytes: &[u8], limits: &Limits) -> Result<u64> {
    variant_codec::fingerprint(&canonical(bytes, limits, &mut Checker::default())?, None, limits)
}
