//! Reads values that contain no others.

use super::cursor::Cursor;
use super::dialect::Godot4;
use super::header::Header;
use super::header::bits::{BOOL, FLOAT, INT, WIDE_FLOAT, WIDE_INT};
use crate::format::{BOM, Shape, VariantType};
use crate::lanes::Lanes;

/// A bool, an int or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
}

impl Number {
    /// The number of bytes that an encoder writes for this value.
    #[inline(always)]
    pub(crate) fn encoded_bytes(self) -> usize {
        match self {
            Self::Bool(_) => 8,
            Self::Int(int) if i32::try_from(int).is_ok() => 8,
            Self::Float(float) if f64::from(float as f32) == float => 8,
            Self::Int(_) | Self::Float(_) => 12,
        }
    }
}

/// The number that fills `bytes`, as the engine reads it. `None` for other values, for bools other than 0 and
/// 1, and for 4-byte NaNs: decode those.
#[inline(always)]
pub fn number(bytes: &[u8]) -> Option<Number> {
    let mut cursor = Cursor::new(bytes, 0);
    cursor.number().filter(|_| cursor.position() == bytes.len())
}

/// A Nil, an RID, a mathematical value or a String. Components and text are still encoded.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// Nil.
    Nil,
    /// An RID.
    Rid(u64),
    /// A mathematical value.
    Lanes(VariantType, Lanes<'a>),
    /// A String without a byte-order mark, not yet checked for UTF-8 and NULs.
    Text(&'a [u8]),
}

/// The value that fills `bytes`, as the engine reads it. `None` for other types, for headers with undefined
/// bits, and for Strings that start with 0xEF, the first byte of a byte-order mark.
#[inline(always)]
pub fn leaf(bytes: &[u8]) -> Option<Leaf<'_>> {
    let mut cursor = Cursor::new(bytes, 0);
    cursor.leaf().filter(|_| cursor.position() == bytes.len())
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn leaf(&mut self) -> Option<Leaf<'a>> {
        let bits = self.u32()?;
        let Header { ty, .. } =
            Header::of::<Godot4>(bits).filter(|header| bits & !header.ty.header_mask() == 0)?;
        match ty.shape() {
            Shape::Fixed(..) => {
                let precision = Header { ty, bits }.precision();
                let le = self.take(ty.lanes_bytes(precision))?;
                Some(Leaf::Lanes(ty, Lanes { precision, le }))
            }
            Shape::Text if ty == VariantType::String => {
                let text = self.text()?.text;
                (text.first() != BOM.as_bytes().first()).then_some(Leaf::Text(text))
            }
            Shape::Rid => Some(Leaf::Rid(self.u64()?)),
            Shape::Empty if ty == VariantType::Nil => Some(Leaf::Nil),
            _ => None,
        }
    }

    /// Reads the next number, which has the same form in every dialect; `None` as for [`number`].
    #[inline(always)]
    pub fn number(&mut self) -> Option<Number> {
        match self.u32()? {
            INT => Some(Number::Int((self.u32()? as i32).into())),
            BOOL => match self.u32()? {
                0 => Some(Number::Bool(false)),
                1 => Some(Number::Bool(true)),
                _ => None,
            },
            FLOAT => {
                let float = f32::from_bits(self.u32()?);
                // A conversion may change the bits of a NaN.
                (!float.is_nan()).then(|| Number::Float(float.into()))
            }
            WIDE_INT => Some(Number::Int(self.u64()? as i64)),
            WIDE_FLOAT => Some(Number::Float(f64::from_bits(self.u64()?))),
            _ => None,
        }
    }
}
