//! A bool, an int or a float by itself.

use super::cursor::Cursor;
use super::header::bits::{BOOL, FLOAT, INT, WIDE_FLOAT, WIDE_INT};

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
    /// Bytes that an encoder writes for it.
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

/// The number that is all of `bytes`, as the engine reads it. `None` for other values, for bools other than 0 and 1, and for 4-byte
/// NaNs: decode those.
#[inline(always)]
pub fn number(bytes: &[u8]) -> Option<Number> {
    let mut cursor = Cursor::new(bytes, 0);
    cursor.number().filter(|_| cursor.position() == bytes.len())
}

impl Cursor<'_> {
    /// The same of a number that stands next. In every dialect.
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
