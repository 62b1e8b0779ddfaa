//! Mutations that keep bytes plausible: the format consists of words, which are headers, counts and flags.

use fastrand::Rng;
use variant_codec::VariantType;

const WORD: usize = size_of::<u32>();
/// Plausible counts, and some implausible ones.
const COUNTS: [u32; 10] = [0, 1, 2, 3, 4, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0x8000_0002, 0xFFFF_FFFF];
/// Headers and counts of containers with one value each; the last three are Godot 3's.
const OPENERS: [&[u32]; 9] = [
    &[28, 1],
    &[28 | 1 << 16, 28, 1],
    &[27, 1, 0],
    &[27 | 1 << 18, 27, 1, 0],
    &[24, 1, 0x41, 1, 1, 0x62],
    &[28 | 2 << 16, 1, 0x41, 1],
    &[19, 1],
    &[18, 1, 0],
    &[17, 1, 0x41, 1, 1, 0x62],
];

/// Mutates `data`, which stays at most `max` bytes long. The same seed gives the same mutation.
pub fn mutate(data: &mut Vec<u8>, max: usize, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    for _ in 0..rng.usize(1..4) {
        let words = data.len() / WORD;
        let at = rng.usize(0..=words) * WORD;
        let end = at + rng.usize(0..=(words - at / WORD).min(8)) * WORD;
        match rng.u32(0..10) {
            0 | 1 => replace(data, at, word(&mut rng)),
            2 => drop(data.splice(at..at, word(&mut rng).to_le_bytes())),
            3 => drop(data.drain(at..end)),
            4 => {
                let copy = data[at..end].to_vec();
                data.splice(at..at, copy);
            }
            5 => {
                let near = get(data, at).wrapping_add_signed(rng.i32(-2..3));
                replace(data, at, near);
            }
            6 => {
                // Adds a value, and increments the count before it.
                let value = [rng.u32(0..VariantType::COUNT as u32), 0].map(u32::to_le_bytes);
                data.splice(end..end, value.concat());
                let count = get(data, at).wrapping_add(1);
                replace(data, at, count);
            }
            7 => {
                let opener = OPENERS[rng.usize(0..OPENERS.len())];
                let levels = if rng.u8(..) == 0 { rng.usize(1..1100) } else { 1 };
                let bytes: Vec<u8> = opener.iter().flat_map(|word| word.to_le_bytes()).collect();
                data.splice(at..at, bytes.repeat(levels));
            }
            8 => {
                // Repeats a range, and increments the word before it, which may be a count. In a Dictionary, this
                // can repeat an entry.
                let copy = data[at..end].to_vec();
                data.splice(end..end, copy);
                let count = at.saturating_sub(WORD);
                let one_more = get(data, count).wrapping_add(1);
                replace(data, count, one_more);
            }
            _ if data.is_empty() => {}
            _ => {
                let at = rng.usize(0..data.len());
                data[at] ^= 1 << rng.u32(0..8);
            }
        }
    }
    data.truncate(max);
}

/// A header with some flags, or a count.
fn word(rng: &mut Rng) -> u32 {
    if rng.bool() {
        let flags = if rng.bool() { rng.u32(0..16) } else { 0 };
        rng.u32(0..VariantType::COUNT as u32) | flags << 16
    } else {
        COUNTS[rng.usize(0..COUNTS.len())]
    }
}

fn get(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u32::from_le_bytes)
}

fn replace(data: &mut [u8], at: usize, word: u32) {
    data[at..].iter_mut().zip(word.to_le_bytes()).for_each(|(old, new)| *old = new);
}
