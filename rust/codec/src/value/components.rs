//! The numeric components of values.

use super::types::{PackedReals, Reals, Value};
use crate::format::VariantType;
use crate::lanes::{Lanes, Precision};

/// The components of a mathematical value, or of all elements of a packed array in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Components<'a> {
    U8(&'a [u8]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl Value {
    /// The value's components; `None` if the value does not consist of numbers of one type.
    pub(crate) fn components(&self) -> Option<Components<'_>> {
        Some(match self {
            Self::Vector2(reals) => reals.into(),
            Self::Vector3(reals) => reals.into(),
            Self::Vector4(reals) | Self::Rect2(reals) | Self::Plane(reals) | Self::Quaternion(reals) => {
                reals.into()
            }
            Self::Transform2D(reals) | Self::Aabb(reals) => reals.into(),
            Self::Basis(reals) => reals.into(),
            Self::Transform3D(reals) => reals.into(),
            Self::Projection(reals) => reals.into(),
            Self::Vector2i(ints) => Components::I32(ints),
            Self::Vector3i(ints) => Components::I32(ints),
            Self::Vector4i(ints) | Self::Rect2i(ints) => Components::I32(ints),
            Self::Color(floats) => Components::F32(floats),
            Self::PackedByteArray(bytes) => Components::U8(bytes),
            Self::PackedInt32Array(ints) => Components::I32(ints),
            Self::PackedInt64Array(ints) => Components::I64(ints),
            Self::PackedFloat32Array(floats) => Components::F32(floats),
            Self::PackedFloat64Array(floats) => Components::F64(floats),
            Self::PackedVector2Array(elements) => elements.into(),
            Self::PackedVector3Array(elements) => elements.into(),
            Self::PackedVector4Array(elements) => elements.into(),
            Self::PackedColorArray(elements) => Components::F32(elements.as_flattened()),
            _ => return None,
        })
    }
}

impl<'a, const N: usize> From<&'a Reals<N>> for Components<'a> {
    fn from(reals: &'a Reals<N>) -> Self {
        match reals {
            Reals::Single(reals) => Self::F32(reals),
            Reals::Double(reals) => Self::F64(reals),
        }
    }
}

impl<'a, const N: usize> From<&'a PackedReals<N>> for Components<'a> {
    fn from(elements: &'a PackedReals<N>) -> Self {
        match elements {
            PackedReals::Single(elements) => Self::F32(elements.as_flattened()),
            PackedReals::Double(elements) => Self::F64(elements.as_flattened()),
        }
    }
}

impl Components<'_> {
    /// Calls `write` with the encoded components of a value of type `ty`.
    pub fn encoded<R>(self, ty: VariantType, write: impl FnOnce(Lanes<'_>) -> R) -> R {
        let is_double = ty.is_real() && matches!(self, Self::F64(_));
        let precision = if is_double { Precision::Double } else { Precision::Single };
        let write = |le: &[u8]| write(Lanes { precision, le });
        match self {
            Self::U8(bytes) => write(bytes),
            Self::I32(ints) => with_le(ints, i32::to_le_bytes, write),
            Self::I64(ints) => with_le(ints, i64::to_le_bytes, write),
            Self::F32(floats) => with_le(floats, f32::to_le_bytes, write),
            Self::F64(floats) => with_le(floats, f64::to_le_bytes, write),
        }
    }
}

/// Calls `write` with the little-endian bytes of the values. This function is not inlined: otherwise the
/// stack frame of every nesting level would hold the buffer.
#[inline(never)]
fn with_le<T: Copy, R, const W: usize>(
    values: &[T],
    to_le: fn(T) -> [u8; W],
    write: impl FnOnce(&[u8]) -> R,
) -> R {
    /// The size of the largest mathematical value.
    const MOST: usize = VariantType::Projection.lanes_bytes(Precision::Double);

    let mut small = [0; MOST];
    if let Some(le) = small.get_mut(..values.len() * W) {
        le.as_chunks_mut().0.iter_mut().zip(values).for_each(|(le, value)| *le = to_le(*value));
        return write(le);
    }
    let le: Vec<u8> = values.iter().flat_map(|value| to_le(*value)).collect();
    write(&le)
}
