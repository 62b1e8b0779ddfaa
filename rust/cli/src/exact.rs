//! Encodes and hashes each value in the width of its components: 64 bits if an engine with double precision
//! wrote the value, otherwise 32 bits. An [`Encoder`] by itself uses one width for all values, as an engine
//! does.

use std::borrow::Cow;

use variant_codec::stream::{
    Decoder, ElementType, Encoder, Fingerprint, Lanes, NodePathParts, Precision, Sink, Source, Text,
};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, Value, VariantType};

use crate::check::Checker;

/// Encodes a value in the width of its components.
///
/// # Errors
/// Fails if the source or the [`Encoder`] fails.
pub fn encode(source: &mut impl Source) -> Result<Vec<u8>> {
    let mut exact = Exact::new(Encoder::new(Vec::new(), EncodeOptions::default()));
    source.write_into(&mut exact)?;
    Ok(exact.sink.into_output())
}

/// The canonical encoding of an encoded value, which usually is canonical already.
///
/// # Errors
/// Fails if [`Value::decode`] fails.
pub fn canonical<'b>(bytes: &'b [u8], limits: &Limits, checker: &mut Checker) -> Result<Cow<'b, [u8]>> {
    let is_canonical = Limits { allow_non_canonical: false, ..limits.clone() };
    match checker.check(bytes, &is_canonical) {
        Err(error) if matches!(error.kind(), ErrorKind::NotCanonical(_)) && limits.allow_non_canonical => {
            encode(&mut &Value::decode(bytes, limits)?).map(Cow::Owned)
        }
        checked => checked.map(|()| Cow::Borrowed(bytes)),
    }
}

/// The fingerprint of an encoded value, as computed by the engine that wrote it.
///
/// # Errors
/// Fails if [`Value::decode`] fails.
pub fn fingerprint(bytes: &[u8], limits: &Limits) -> Result<u64> {
    let bytes = &canonical(bytes, limits, &mut Checker::default())?;
    let mut exact = Exact::new(Fingerprint::default());
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut exact)?;
    Ok(exact.sink.finish())
}

trait HasPrecision {
    fn set_precision(&mut self, precision: Precision);
}

impl HasPrecision for Encoder<Vec<u8>> {
    fn set_precision(&mut self, precision: Precision) {
        Encoder::set_precision(self, precision);
    }
}

impl HasPrecision for Fingerprint {
    fn set_precision(&mut self, precision: Precision) {
        Fingerprint::set_precision(self, precision);
    }
}

/// Forwards values to `sink`, after setting the component width of `sink` to the width of each value.
pub struct Exact<S> {
    sink: S,
}

impl<S> Exact<S> {
    fn new(sink: S) -> Self {
        Self { sink }
    }
}

macro_rules! hand_over {
    ($($event:ident($($argument:ident: $ty:ty),*) $(-> $output:ty)?;)*) => {
        $(
            fn $event(&mut self, $($argument: $ty),*) -> Result<hand_over!(@ $($output)?)> {
                self.sink.$event($($argument),*)
            }
        )*
    };
    (@) => { () };
    (@ $output:ty) => { $output };
}

impl<S: Sink + HasPrecision> Sink for Exact<S> {
    type Array = S::Array;
    type Dictionary = S::Dictionary;
    type Object = S::Object;
    type Strings = S::Strings;

    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.sink.set_precision(lanes.precision);
        self.sink.fixed(ty, lanes)
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.sink.set_precision(lanes.precision);
        self.sink.packed(ty, lanes)
    }

    hand_over! {
        nil();
        bool(value: bool);
        int(value: i64);
        float(value: f64);
        text(ty: VariantType, text: Text<'_>);
        node_path(path: NodePathParts<'_>);
        rid(id: u64);
        callable();
        signal(name: Text<'_>, object: u64);
        object_id(id: u64);
        begin_array(len: usize, element: ElementType<'_>) -> S::Array;
        begin_element(array: &mut S::Array);
        end_element(array: &mut S::Array);
        end_array(array: S::Array);
        begin_dictionary(len: usize, key: ElementType<'_>, value: ElementType<'_>) -> S::Dictionary;
        begin_key(dictionary: &mut S::Dictionary);
        begin_value(dictionary: &mut S::Dictionary);
        end_entry(dictionary: &mut S::Dictionary);
        end_dictionary(dictionary: S::Dictionary);
        begin_object(class: Text<'_>, properties: usize) -> S::Object;
        begin_property(object: &mut S::Object, name: Text<'_>);
        end_property(object: &mut S::Object);
        end_object(object: S::Object);
        begin_strings(len: usize) -> S::Strings;
        string(strings: &mut S::Strings, text: Text<'_>);
        end_strings(strings: S::Strings);
    }
}
