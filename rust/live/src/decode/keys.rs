//! A cache of keys, whole rows of keys, and texts that repeat from Dictionary to Dictionary.

use godot::builtin::{GString, Variant};
use godot::meta::ToGodot;
use variant_codec::stream::Text;
use variant_codec::{Result, VariantType};
use variant_engine::{Building, ContainerType, Reader, string};

use crate::decode::native_objects::KnownObjects;
use crate::decode::texts::{TextCache, hash};

/// Recently seen keys. The String of a key is made once and then shared. The engine copies a repeated row of
/// keys in one call.
///
/// `cargo xtask bench entities` decodes on one thread at 1.5 × the engine's speed if it borrows cached keys,
/// and at 1.0 × if it copies each. The benchmark takes 30 ms with copied rows, and 36 ms without. A cache
/// kept between calls costs more than it saves: an int takes 57 instead of 44 ns.
///
/// A thread keeps the cache for the values that it decodes in one call, such as the items of a batch.
#[derive(Default)]
pub struct KeyCache {
    seen: usize,
    lost: usize,
    kept: Vec<Option<(Box<str>, Variant)>>,
    rows: Vec<Row>,
    candidates: Vec<Candidate>,
    /// Short texts that are values.
    pub texts: TextCache,
    pub objects: KnownObjects,
}

#[derive(Clone, Copy)]
pub struct CachedKey {
    index: u8,
    hash: u32,
}

/// A row: all keys of a Dictionary, in order.
struct Row {
    texts: Vec<Box<str>>,
    /// An untyped Dictionary with these keys, whose values are Nil.
    template: Variant,
    /// A Dictionary that completes the row adds credit. A Dictionary that starts with the row but continues
    /// with another key takes credit. A row without credit is not tried.
    credit: i32,
}

/// The last Dictionary with a certain number of keys and a certain first key.
#[derive(Clone, Copy, Default)]
struct Candidate {
    track: u32,
    row: Option<u8>,
}

/// A cursor into the row of keys that a Dictionary follows.
#[derive(Clone, Copy)]
pub struct RowCursor {
    /// The row that the Dictionary has followed so far.
    row: Option<u8>,
    /// The number of keys so far.
    keys: u16,
    /// The index of the candidate.
    candidate: u8,
    /// A hash of the keys so far; 0 if they cannot be a row.
    track: u32,
}

impl RowCursor {
    /// The cursor at the start of a Dictionary with `len` keys. Pass `wanted` if Dictionaries can be copied.
    #[inline(always)]
    pub fn start(len: usize, wanted: bool) -> Self {
        let wanted = wanted && (KeyCache::FEWEST..=KeyCache::MOST).contains(&len);
        Self { row: None, keys: 0, candidate: 0, track: u32::from(wanted) }
    }

    /// Whether the keys so far are those of a row that was copied.
    #[inline(always)]
    pub fn is_copied(&self) -> bool {
        self.row.is_some()
    }

    /// Moves past the next key of the row.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.keys += 1;
    }

    /// Leaves the row, for a key that cannot be part of one.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.row = None;
        self.track = 0;
    }
}

impl KeyCache {
    /// The number of slots for cached texts: at first, and after many texts were evicted. Both are powers of
    /// two. There are also `KEPT` candidates.
    const KEPT: usize = 64;
    const KEPT_OF_MANY: usize = 256;
    /// The number of evicted texts after which there are more slots.
    const LOST: usize = 32;
    /// The maximum length of a cached text in bytes.
    const LONGEST: usize = 32;
    /// The number of texts at the start that are not cached, because a small message repeats nothing.
    const PASSED: usize = 16;
    /// The minimum number of keys in a row; fewer are not worth copying.
    const FEWEST: usize = 2;
    /// The maximum number of keys in a row; more are rarely the same, and would take much memory.
    const MOST: usize = 64;
    /// The maximum number of rows, so that the cache stops adding rows for data without repetition.
    const ROWS: usize = 64;
    /// A row's maximum credit, and the credit that leaving the row costs.
    const CREDIT: i32 = 8;
    const COST: i32 = 3;

    /// Whether this text is not cached, because it is too long or among the first texts.
    #[inline(always)]
    pub fn passes(&mut self, text: &[u8]) -> bool {
        let passes = text.len() > Self::LONGEST || self.seen < Self::PASSED;
        self.seen += usize::from(passes);
        passes
    }

    /// Caches the String of this text; `None` if it is not cached.
    #[inline(always)]
    pub fn keep(&mut self, text: &str) -> Option<CachedKey> {
        if self.passes(text.as_bytes()) {
            return None;
        }
        if self.kept.is_empty() {
            self.kept.resize(Self::KEPT, None);
        }
        let hash = hash(text.as_bytes());
        let mut index = self.slot_of(hash);
        if !matches!(&self.kept[index], Some((kept, _)) if **kept == *text) {
            if self.kept[index].is_some() {
                self.lost += 1;
                if self.lost > Self::LOST && self.kept.len() < Self::KEPT_OF_MANY {
                    self.kept = vec![None; Self::KEPT_OF_MANY];
                    index = self.slot_of(hash);
                }
            }
            self.kept[index] = Some((text.into(), string(Text::Utf8(text)).to_variant()));
        }
        Some(CachedKey { index: index as u8, hash })
    }

    #[inline(always)]
    fn slot_of(&self, hash: u32) -> usize {
        hash as usize & self.kept.len().wrapping_sub(1)
    }

    /// The cached key with these bytes.
    #[inline(always)]
    pub fn find(&self, bytes: &[u8]) -> Option<CachedKey> {
        let hash = hash(bytes);
        let index = self.slot_of(hash);
        let (kept, _) = self.kept.get(index)?.as_ref()?;
        (kept.as_bytes() == bytes).then_some(CachedKey { index: index as u8, hash })
    }

    #[inline(always)]
    pub fn kept(&self, kept: CachedKey) -> Option<&Variant> {
        self.kept.get(usize::from(kept.index))?.as_ref().map(|(_, string)| string)
    }

    /// Whether this is the next key of the row that a Dictionary has followed so far.
    #[inline(always)]
    pub fn is_next(&self, cursor: RowCursor, text: &[u8]) -> bool {
        let Some(row) = cursor.row else { return false };
        let texts = &self.rows[usize::from(row)].texts;
        texts.get(usize::from(cursor.keys)).is_some_and(|next| next.as_bytes() == text)
    }

    /// Notes the next key of a Dictionary that follows no row. If it is the first key of a row, returns the row to
    /// copy, which the Dictionary follows from now on.
    #[inline(always)]
    pub fn follow(&mut self, cursor: &mut RowCursor, kept: CachedKey, len: usize) -> Option<&Variant> {
        if cursor.track == 0 {
            return None;
        }
        if cursor.keys == 0 {
            cursor.candidate = (kept.hash.wrapping_add(len as u32 * 0x9E37) >> 8) as u8 % Self::KEPT as u8;
            let row = self.candidates.get(usize::from(cursor.candidate)).and_then(|candidate| candidate.row);
            if let Some(row) = row
                && let Some((text, _)) = &self.kept[usize::from(kept.index)]
                && self.rows[usize::from(row)].starts(text, len)
            {
                cursor.row = Some(row);
                cursor.keys = 1;
                return Some(&self.rows[usize::from(row)].template);
            }
        }
        cursor.keys += 1;
        cursor.track = (cursor.track.rotate_left(5) ^ kept.hash).wrapping_mul(0x9E37_79B9) | 1;
        None
    }

    /// Completes a Dictionary that has followed a row to its end.
    #[inline(always)]
    pub fn complete_row(&mut self, cursor: RowCursor) {
        let Some(row) = cursor.row else { return };
        let row = &mut self.rows[usize::from(row)];
        row.credit = (row.credit + 1).min(Self::CREDIT);
    }

    /// Leaves a row, because the next key was a different one.
    #[cold]
    pub fn leave_row(&mut self, cursor: RowCursor) {
        let Some(row) = cursor.row else { return };
        self.rows[usize::from(row)].credit -= Self::COST;
    }

    /// Completes a Dictionary that followed no row. Its keys become a row if the previous Dictionary with as
    /// many keys and the same first key had the same keys.
    #[inline(always)]
    pub fn learn(&mut self, cursor: RowCursor, reader: Reader, dictionary: &Variant) {
        if cursor.track == 0 {
            return;
        }
        if self.candidates.is_empty() {
            self.candidates.resize(Self::KEPT, Candidate::default());
        }
        let candidate = &mut self.candidates[usize::from(cursor.candidate)];
        if candidate.track != cursor.track {
            candidate.track = cursor.track;
        } else if self.rows.len() < Self::ROWS
            && let Ok(row) = Row::of(reader, dictionary)
        {
            candidate.row = Some(self.rows.len() as u8);
            self.rows.push(row);
        }
    }
}

impl Row {
    #[cold]
    #[inline(never)]
    fn of(reader: Reader, dictionary: &Variant) -> Result<Self> {
        let mut building = Building::new();
        let mut texts = Vec::new();
        building.open_dictionary(&ContainerType::Untyped, &ContainerType::Untyped);
        let (mut entries, _) = reader.entries(dictionary, false);
        while let Some((key, _)) = reader.next_entry(&mut entries) {
            debug_assert!(reader.ty(key) == Some(VariantType::String));
            texts.push(key.to::<GString>().to_string().into());
            building.next_key();
            building.put(key.clone());
            building.next_value(true);
        }
        building.close_dictionary();
        Ok(Self { texts, template: building.finish(), credit: KeyCache::COST })
    }

    /// Whether a Dictionary with this number of keys and this first key is expected to follow the row.
    #[inline(always)]
    fn starts(&self, text: &str, len: usize) -> bool {
        self.credit > 0 && self.texts.len() == len && *self.texts[0] == *text
    }
}
