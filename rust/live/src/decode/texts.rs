//! A cache of short texts that repeat among values.

use godot::builtin::GString;

/// A cache of texts that were decoded more than once. Later values share their Strings.
///
/// The cache soon turns itself off for data without repetition.
pub struct TextCache {
    seen: usize,
    /// The cache is off once this is 0. Each text that the cache has not seen costs 1, and each cached one
    /// earns `GAIN`.
    credit: i32,
    slots: Vec<TextSlot>,
}

/// The last text whose hash, modulo the number of slots, is the index of this slot.
#[derive(Clone, Default)]
struct TextSlot {
    hash: u32,
    /// `None` until the text is decoded a second time.
    kept: Option<(Box<[u8]>, GString)>,
}

impl Default for TextCache {
    fn default() -> Self {
        Self { seen: 0, credit: Self::CREDIT, slots: Vec::new() }
    }
}

impl TextCache {
    /// The maximum length of a cached text in bytes, as [`hash`] requires.
    const LONGEST: usize = 32;
    /// The number of texts at the start that are not cached, because a small message repeats nothing.
    const PASSED: usize = 16;
    const SLOTS: usize = 128;
    /// The initial and maximum credit, and the gain of a repeated text. One text in seven must repeat, or the
    /// credit runs out.
    const CREDIT: i32 = 256;
    const GAIN: i32 = 6;

    /// The String of a text: the cached one, or else the one that `make` creates.
    #[inline(always)]
    pub fn string(&mut self, text: &[u8], make: impl FnOnce() -> Option<GString>) -> Option<GString> {
        if text.len() > Self::LONGEST || self.credit <= 0 || text.is_empty() {
            return make();
        }
        if self.seen < Self::PASSED {
            self.seen += 1;
            return make();
        }
        if self.slots.is_empty() {
            self.slots.resize(Self::SLOTS, TextSlot::default());
        }
        let hash = hash(text);
        let slot = &mut self.slots[hash as usize % Self::SLOTS];
        if slot.hash == hash {
            if let Some((kept, string)) = &slot.kept
                && **kept == *text
            {
                self.credit = (self.credit + Self::GAIN).min(Self::CREDIT);
                return Some(string.clone());
            }
            let string = make()?;
            slot.kept = Some((text.into(), string.clone()));
            return Some(string);
        }
        self.credit -= 1;
        *slot = TextSlot { hash, kept: None };
        make()
    }
}

/// A hash of the start, the end and the length of a text of at most 32 bytes.
#[inline(always)]
pub fn hash(text: &[u8]) -> u32 {
    let (start, end) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(start), Some(end)) => (u64::from_ne_bytes(*start), u64::from_ne_bytes(*end)),
        _ => {
            let mut start = [0; 8];
            start[..text.len()].copy_from_slice(text);
            (u64::from_ne_bytes(start), 0)
        }
    };
    let mix = (start ^ end.rotate_left(23) ^ text.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mix >> 32) as u32
}
