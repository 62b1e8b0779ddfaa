//! [`Fingerprint`]: a 64-bit hash of a value.

use xxhash_rust::xxh3::xxh3_64;

use crate::check::check;
use crate::decoder::Decoder;
use crate::encoder::{EncodeOptions, Encoder};
use crate::error::Result;
use crate::events::{ElementType, NodePathParts, Sink, Text};
use crate::format::VariantType;
use crate::lanes::{Lanes, Precision};
use crate::limits::{Limits, Strictness};
use crate::output::{Buffer, Output};
use crate::value::Value;

/// Hashes the value that is written into it.
///
/// The fingerprint is the XXH3-64, with seed 0, of the encoded value in which one little-endian u64 replaces
/// all entries of each Dictionary. This number is the sum, modulo 2⁶⁴, of the fingerprints of the entries. An
/// entry is a key followed by its value. The order of entries therefore does not matter. Everything else that
/// is encoded matters: types, bits of floats, declared element types.
///
/// A fingerprint is not a signature: whoever chooses the values can construct two with the same fingerprint.
///
/// ```
/// use variant_codec::stream::Fingerprint;
/// use variant_codec::Value;
///
/// let (a, b) = (("name", Value::from("Ada")), ("hp", Value::from(7)));
/// let one = Value::from_iter([a.clone(), b.clone()]).fingerprint()?;
/// assert_eq!(one, Value::from_iter([b, a]).fingerprint()?);
/// assert_ne!(one, Value::from_iter([("name", "Ada")]).fingerprint()?);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct Fingerprint {
    encoder: Encoder<Buffer<Vec<u8>>>,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new(EncodeOptions::default().precision)
    }
}

impl Fingerprint {
    /// A hasher for values of engines with this width of `real_t`; `None` keeps the width of each value.
    pub fn new(precision: Option<Precision>) -> Self {
        let options = EncodeOptions { precision, strict_text: false };
        Self { encoder: Encoder::new(Buffer::new(Vec::new()), options) }
    }

    /// The fingerprint of the written value.
    pub fn finish(&self) -> u64 {
        xxh3_64(self.encoder.output().written())
    }
}

/// The fingerprint of the value in `bytes`.
///
/// # Errors
/// As [`Value::decode`].
pub fn fingerprint(bytes: &[u8], precision: Option<Precision>, limits: &Limits) -> Result<u64> {
    check(bytes, limits)?;
    let mut sink = Fingerprint::new(precision);
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut sink)?;
    Ok(sink.finish())
}

impl Value {
    /// The value's [`Fingerprint`] in single precision, the `real_t` of official engines.
    ///
    /// # Errors
    /// As [`Value::encode`].
    pub fn fingerprint(&self) -> Result<u64> {
        use crate::events::Source as _;
        let mut sink = Fingerprint::default();
        let mut source = self;
        source.write_into(&mut sink)?;
        Ok(sink.finish())
    }
}

/// An open Dictionary.
#[derive(Debug)]
pub struct Entries {
    sum: u64,
    /// The start of the open entry.
    start: usize,
}

macro_rules! hand_over {
    ($($event:ident($($argument:ident: $ty:ty),*) $(-> $output:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $event(&mut self, $($argument: $ty),*) -> Result<hand_over!(@ $($output)?)> {
                self.encoder.$event($($argument),*)
            }
        )*
    };
    (@) => { () };
    (@ $output:ty) => { $output };
}

impl Sink for Fingerprint {
    type Array = ();
    type Dictionary = Entries;
    type Object = ();
    type Strings = ();

    hand_over! {
        nil();
        bool(value: bool);
        int(value: i64);
        float(value: f64);
        text(ty: VariantType, text: Text<'_>);
        fixed(ty: VariantType, lanes: Lanes<'_>);
        packed(ty: VariantType, lanes: Lanes<'_>);
        node_path(path: NodePathParts<'_>);
        rid(id: u64);
        callable();
        signal(name: Text<'_>, object: u64);
        object_id(id: u64);
        begin_array(len: usize, element: ElementType<'_>);
        ints(array: &mut (), ints: &mut impl Iterator<Item = i64>);
        floats(array: &mut (), floats: &mut impl Iterator<Item = f64>);
        begin_object(class: Text<'_>, properties: usize);
        begin_property(object: &mut (), name: Text<'_>);
        begin_strings(len: usize);
        string(strings: &mut (), text: Text<'_>);
    }

    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        array: &mut (),
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        self.encoder.fixed_run(array, ty, precision, values)
    }

    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Entries> {
        self.encoder.begin_dictionary(len, key, value)?;
        Ok(Entries { sum: 0, start: Output::len(self.encoder.output()) })
    }

    #[inline(always)]
    fn end_entry(&mut self, entries: &mut Entries) -> Result<()> {
        let out = self.encoder.output_mut();
        entries.sum = entries.sum.wrapping_add(xxh3_64(&out.written()[entries.start..]));
        out.truncate(entries.start);
        Ok(())
    }

    fn end_dictionary(&mut self, entries: Entries) -> Result<()> {
        let out = self.encoder.output_mut();
        let sum = entries.sum.to_le_bytes();
        out.reserve(sum.len())?;
        out.put(&sum);
        Ok(())
    }
}
