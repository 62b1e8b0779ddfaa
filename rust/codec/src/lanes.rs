//! Converts components between 32 and 64 bits, and treats NaNs as the engine does.
//!
//! ```
//! use variant_codec::stream::Precision;
//!
//! let mut wide = Vec::new();
//! variant_codec::lanes::convert(&1.5_f32.to_le_bytes(), Precision::Single, |lane| wide.extend_from_slice(lane));
//! assert_eq!(wide, 1.5_f64.to_le_bytes());
//! ```

/// Whether `real_t` has 32 or 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits, as in official builds.
    #[default]
    Single,
    /// 64 bits, as in builds with `precision=double`.
    Double,
}

/// Components of a mathematical value or of packed array elements.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// The width of `real_t` components; others have only one width.
    pub precision: Precision,
    /// The components, little-endian, in wire order.
    pub le: &'a [u8],
}

impl<'a> Lanes<'a> {
    /// The components as 32-bit integers.
    #[inline(always)]
    pub fn i32s(self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.le.as_chunks().0.iter().map(|le| i32::from_le_bytes(*le))
    }

    /// The components as 64-bit integers.
    #[inline(always)]
    pub fn i64s(self) -> impl ExactSizeIterator<Item = i64> + use<'a> {
        self.le.as_chunks().0.iter().map(|le| i64::from_le_bytes(*le))
    }

    /// The components, which must be 32-bit floats.
    #[inline(always)]
    pub fn f32s(self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        self.le.as_chunks().0.iter().map(|le| f32::from_le_bytes(*le))
    }

    /// The components, which must be 64-bit floats.
    #[inline(always)]
    pub fn f64s(self) -> impl ExactSizeIterator<Item = f64> + use<'a> {
        self.le.as_chunks().0.iter().map(|le| f64::from_le_bytes(*le))
    }
}

/// The bit that marks a 64-bit NaN as quiet.
const QUIET_64: u64 = 1 << 51;
/// The bit that marks a 32-bit NaN as quiet.
const QUIET_32: u32 = 1 << 22;

/// Widens a float as the engine's hardware does: exactly, but signalling NaNs become quiet.
///
/// The case of NaN is spelled out because Rust does not specify the bits of a converted NaN.
#[inline(always)]
pub(crate) fn widen_quieting_nan(value: f32) -> f64 {
    if value.is_nan() {
        let bits = value.to_bits();
        let sign = u64::from(bits >> 31) << 63;
        let payload = u64::from(bits & 0x007F_FFFF) << 29;
        f64::from_bits(sign | 0x7FF0_0000_0000_0000 | QUIET_64 | payload)
    } else {
        f64::from(value)
    }
}

/// Like [`f64::from`], but NaNs keep their bits.
pub fn widen(float: f32) -> f64 {
    if !float.is_nan() {
        return float.into();
    }
    let bits = u64::from(float.to_bits());
    f64::from_bits((bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7F_FFFF) << 29)
}

/// Narrows a float as the engine's hardware does: to the nearest 32-bit float. NaNs become quiet and keep
/// their top bits.
#[inline(always)]
pub(crate) fn narrow_quieting_nan(value: f64) -> f32 {
    if value.is_nan() {
        let bits = value.to_bits();
        let sign = ((bits >> 63) as u32) << 31;
        let payload = (bits >> 29) as u32 & 0x007F_FFFF;
        f32::from_bits(sign | 0x7F80_0000 | QUIET_32 | payload)
    } else {
        value as f32
    }
}

/// Calls `put` with each component of `le`, converted between the two widths of `real_t`.
#[inline]
pub fn convert(le: &[u8], from: Precision, mut put: impl FnMut(&[u8])) {
    let lanes = Lanes { precision: from, le };
    match from {
        Precision::Single => lanes.f32s().for_each(|lane| put(&widen_quieting_nan(lane).to_le_bytes())),
        Precision::Double => lanes.f64s().for_each(|lane| put(&narrow_quieting_nan(lane).to_le_bytes())),
    }
}

/// The first `N` components as 32-bit floats; missing ones are 0. The components must be floats.
#[inline]
pub fn singles<const N: usize>(lanes: Lanes<'_>) -> [f32; N] {
    match lanes.precision {
        Precision::Single => first(lanes.f32s()),
        Precision::Double => first(lanes.f64s().map(narrow_quieting_nan)),
    }
}

/// The first `N` components as 64-bit floats; missing ones are 0. The components must be floats.
#[inline]
pub fn doubles<const N: usize>(lanes: Lanes<'_>) -> [f64; N] {
    match lanes.precision {
        Precision::Single => first(lanes.f32s().map(widen_quieting_nan)),
        Precision::Double => first(lanes.f64s()),
    }
}

#[inline]
fn first<T: Copy + Default, const N: usize>(values: impl Iterator<Item = T>) -> [T; N] {
    let mut found = [T::default(); N];
    found.iter_mut().zip(values).for_each(|(place, value)| *place = value);
    found
}
