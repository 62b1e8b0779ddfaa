//! Leaves as Rust's types.

use super::cursor::{Form, View};
use crate::decoder::Decoder;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::format::VariantType;
use crate::value::Value;

/// Where a function gives an error, the value is of another type, or its bytes are bad.
#[expect(clippy::missing_errors_doc, reason = "all give the same")]
impl<'a, D: Dialect> View<'a, D> {
    #[cold]
    fn unexpected(&self, expected: &'static str) -> Error {
        Error::new(ErrorKind::UnexpectedType { expected, found: self.ty() }).at(self.at)
    }

    /// The value, if it is of this type.
    fn value_of(&self, ty: VariantType) -> Result<Value> {
        if self.ty() == ty { self.value() } else { Err(self.unexpected(ty.name())) }
    }

    /// A bool.
    pub fn as_bool(&self) -> Result<bool> {
        let value = self.value_of(VariantType::Bool)?;
        value.as_bool().ok_or_else(|| self.unexpected("bool"))
    }

    /// An int.
    pub fn as_i64(&self) -> Result<i64> {
        let value = self.value_of(VariantType::Int)?;
        value.as_i64().ok_or_else(|| self.unexpected("int"))
    }

    /// A float.
    pub fn as_f64(&self) -> Result<f64> {
        let value = self.value_of(VariantType::Float)?;
        value.as_f64().ok_or_else(|| self.unexpected("float"))
    }

    /// A String or StringName; borrowed, except where Godot 3's bytes have to be converted.
    pub fn as_str(&self) -> Result<D::Text<'a>> {
        let mut decoder = self.decoder();
        match self.form {
            Form::Value(VariantType::String | VariantType::StringName) => {
                decoder.header_here()?;
                decoder.text_here()
            }
            Form::Name => decoder.text_here(),
            Form::Text => decoder.string_here(),
            _ => Err(self.unexpected("String")),
        }
    }

    /// A PackedByteArray.
    pub fn as_bytes(&self) -> Result<&'a [u8]> {
        if self.form != Form::Value(VariantType::PackedByteArray) {
            return Err(self.unexpected("PackedByteArray"));
        }
        let head = self.head()?;
        Decoder::<D>::bytes_at(self.bytes, head.first, head.count)
    }
}
