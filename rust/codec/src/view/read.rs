//! Reads leaves as Rust types.

use super::cursor::{Form, View};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Shape, VariantType};
use crate::lanes::Lanes;
use crate::value::Value;
use crate::wire::cursor::Cursor;
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;
use crate::wire::leaf::Number;

/// Each function fails if the value has another type or its bytes are invalid.
#[expect(clippy::missing_errors_doc, reason = "all give the same")]
impl<'a, D: Dialect> View<'a, D> {
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        Error::new(ErrorKind::UnexpectedType { expected, found: self.ty() }).at(self.at)
    }

    fn value_of(&self, ty: VariantType) -> Result<Value> {
        if self.ty() == ty { self.value() } else { Err(self.unexpected(ty.name())) }
    }

    /// Reads a bool.
    pub fn as_bool(&self) -> Result<bool> {
        if let Some(Number::Bool(value)) = self.number() {
            return Ok(value);
        }
        let value = self.value_of(VariantType::Bool)?;
        value.as_bool().ok_or_else(|| self.unexpected("bool"))
    }

    /// Reads an int.
    pub fn as_i64(&self) -> Result<i64> {
        if let Some(Number::Int(int)) = self.number() {
            return Ok(int);
        }
        let value = self.value_of(VariantType::Int)?;
        value.as_i64().ok_or_else(|| self.unexpected("int"))
    }

    /// Reads a float.
    pub fn as_f64(&self) -> Result<f64> {
        if let Some(Number::Float(float)) = self.number() {
            return Ok(float);
        }
        let value = self.value_of(VariantType::Float)?;
        value.as_f64().ok_or_else(|| self.unexpected("float"))
    }

    /// The number, if it takes as many bytes as an encoder writes.
    #[inline]
    fn number(&self) -> Option<Number> {
        let Form::Value(_) = self.form else { return None };
        let mut cursor = Cursor::new(self.bytes, self.at);
        cursor.number().filter(|number| cursor.position() - self.at == number.encoded_bytes())
    }

    /// Reads a String or StringName. The text is borrowed unless Godot 3's bytes need conversion.
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

    /// The encoded components of a mathematical value, such as a Vector2, Transform3D or Color.
    pub fn as_lanes(&self) -> Result<Lanes<'a>> {
        let (at, precision) = match (self.ty().shape(), self.form, self.header()) {
            (Shape::Fixed(..), Form::Lanes(_, precision), _) => (self.at, precision),
            (Shape::Fixed(..), Form::Value(_), Some(header)) => {
                self.check_header()?;
                (self.at + 4, header.precision())
            }
            _ => return Err(self.unexpected("a value of components")),
        };
        Ok(Lanes { precision, le: self.bytes_at(at, self.ty().lanes_bytes(precision))? })
    }

    fn header(&self) -> Option<Header> {
        Header::of::<D>(self.word(self.at)?)
    }

    /// Fails if the header has undefined bits.
    fn check_header(&self) -> Result<()> {
        match self.word(self.at) {
            Some(bits) if bits & !D::header_mask(self.ty()) != 0 => self.value().map(drop),
            _ => Ok(()),
        }
    }

    /// Reads a PackedByteArray.
    pub fn as_bytes(&self) -> Result<&'a [u8]> {
        if self.form != Form::Value(VariantType::PackedByteArray) {
            return Err(self.unexpected("PackedByteArray"));
        }
        let head = self.head()?;
        self.bytes_at(head.first, head.count)
    }
}
