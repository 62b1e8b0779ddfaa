//! Leaves as Rust's types.

use super::cursor::{Form, View, lanes_bytes};
use crate::decoder::Decoder;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Lanes, Precision};
use crate::format::{self, Shape, VariantType};
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
        if let Some(int) = self.plain_int() {
            return Ok(int);
        }
        let value = self.value_of(VariantType::Int)?;
        value.as_i64().ok_or_else(|| self.unexpected("int"))
    }

    /// A float.
    pub fn as_f64(&self) -> Result<f64> {
        if let Some(float) = self.plain_float() {
            return Ok(float);
        }
        let value = self.value_of(VariantType::Float)?;
        value.as_f64().ok_or_else(|| self.unexpected("float"))
    }

    /// A String or StringName; borrowed, except where Godot 3's bytes have to be converted.
    pub fn as_str(&self) -> Result<D::Text<'a>> {
        let mut decoder = self.decoder();
        match self.form {
            Form::Value(VariantType::String | VariantType::StringName) => {
                let (header, ty) = decoder.header_here()?;
                if header & !D::header_mask(ty) != 0 {
                    self.value()?;
                }
                decoder.text_here()
            }
            Form::Name => decoder.text_here(),
            Form::Text => decoder.string_here(),
            _ => Err(self.unexpected("String")),
        }
    }

    /// The components of a Vector2, a Transform3D, a Color, …, as they are encoded.
    pub fn as_lanes(&self) -> Result<Lanes<'a>> {
        if let (Form::Value(ty), Some(header)) = (self.form, self.word(self.at))
            && let Shape::Fixed(lane, count) = ty.shape()
            && header & !D::header_mask(ty) == 0
        {
            let wide = D::HAS_FLAGS && header & format::FLAG_64 != 0;
            let precision = if wide { Precision::Double } else { Precision::Single };
            let le = Decoder::<D>::bytes_at(self.bytes, self.at + 4, count * lane.width(wide))?;
            return Ok(Lanes { precision, le });
        }
        // Of an element of a packed array, or with an error.
        match self.form {
            Form::Lanes(packed, precision) if matches!(self.ty().shape(), Shape::Fixed(..)) => {
                let le = Decoder::<D>::bytes_at(self.bytes, self.at, lanes_bytes(packed, precision))?;
                Ok(Lanes { precision, le })
            }
            Form::Value(ty) if matches!(ty.shape(), Shape::Fixed(..)) => {
                self.value()?;
                Err(self.unexpected("a value of components"))
            }
            _ => Err(self.unexpected("a value of components")),
        }
    }

    /// An int in as many bytes as an encoder writes.
    #[inline]
    fn plain_int(&self) -> Option<i64> {
        if self.form != Form::Value(VariantType::Int) {
            return None;
        }
        let (header, low) = (self.word(self.at)?, self.word(self.at + 4)?);
        match header.checked_sub(VariantType::Int.id().into())? {
            0 => Some((low as i32).into()),
            format::FLAG_64 => {
                let wide = i64::from(self.word(self.at + 8)? as i32) << 32 | i64::from(low);
                i32::try_from(wide).is_err().then_some(wide)
            }
            _ => None,
        }
    }

    /// A float in as many bytes as an encoder writes.
    #[inline]
    fn plain_float(&self) -> Option<f64> {
        if self.form != Form::Value(VariantType::Float) {
            return None;
        }
        let (header, low) = (self.word(self.at)?, self.word(self.at + 4)?);
        match header.checked_sub(VariantType::Float.id().into())? {
            0 => Some(f32::from_bits(low)).filter(|narrow| !narrow.is_nan()).map(f64::from),
            format::FLAG_64 => {
                let wide = f64::from_bits(u64::from(self.word(self.at + 8)?) << 32 | u64::from(low));
                (f64::from(wide as f32) != wide).then_some(wide)
            }
            _ => None,
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
