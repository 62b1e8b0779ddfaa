//! Sort keys of map entries.

use crate::kind::Kind;

/// The first eight bytes of a text as a number that sorts the same way.
#[inline(always)]
pub(crate) fn start_of(text: &[u8]) -> u64 {
    let mut start = [0; 8];
    let len = text.len().min(8);
    start[..len].copy_from_slice(&text[..len]);
    u64::from_be_bytes(start)
}

/// An int of this kind as an unsigned number that sorts the same way.
#[inline(always)]
pub(crate) fn order_of(kind: Kind, int: i64) -> u64 {
    let signed = !matches!(kind, Kind::Uint32 | Kind::Uint64 | Kind::Fixed32 | Kind::Fixed64);
    int as u64 ^ u64::from(signed) << 63
}
