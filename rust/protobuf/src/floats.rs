//! Conversions between 32-bit and 64-bit floats that keep the bits of a NaN as far as they fit, as in
//! protobuf implementations.
//!
//! The codec has another rule: it makes NaNs quiet, as the engine does.

#[inline(always)]
pub(crate) fn widen_keeping_nan(bits: u32) -> f64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        f64::from_bits(sign | 0x7FF0_0000_0000_0000 | u64::from(bits & 0x007F_FFFF) << 29)
    } else {
        f64::from(value)
    }
}

/// Narrows a float to the nearest `f32`, as bits. A NaN keeps the payload bits that fit.
#[inline(always)]
pub(crate) fn narrow_keeping_nan(value: f64) -> u32 {
    if value.is_nan() {
        let bits = value.to_bits();
        let payload = (bits >> 29) as u32 & 0x007F_FFFF;
        // A NaN with an empty payload would become infinity.
        let payload = if payload == 0 { 1 << 22 } else { payload };
        ((bits >> 63) as u32) << 31 | 0x7F80_0000 | payload
    } else {
        (value as f32).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_keep_their_bits() {
        for bits in
            [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x7FA0_1234, 0x3F80_0000, 0x8000_0000]
        {
            assert_eq!(narrow_keeping_nan(widen_keeping_nan(bits)), bits);
        }
        assert_eq!(narrow_keeping_nan(f64::from_bits(0x7FF0_0000_0000_0001)), 0x7FC0_0000);
    }
}
