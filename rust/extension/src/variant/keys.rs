//! What repeats from Dictionary to Dictionary: keys, and whole rows of them.

use godot::builtin::{GString, Variant};
use godot::meta::ToGodot;
use variant_codec::stream::Text;
use variant_codec::{Result, VariantType};
use variant_engine::{Building, ContainerType, Reader, string};

use super::collisions::{Buckets, Collisions, Effort, Key};
use super::source::{Objects, encoded_size};

/// KeyCache seen lately. The String of a key is made once and then shared, as the engine shares Strings; a row of keys that
/// repeats is copied by the engine in one go.
///
/// Worth keeping from value to value, on one thread and for one call.
#[derive(Default)]
pub struct KeyCache {
    seen: usize,
    kept: Vec<Option<(Box<str>, Variant)>>,
    rows: Vec<Row>,
    candidates: Vec<Candidate>,
    /// Where colliding keys are refused.
    pub collisions: Collisions,
}

impl Key for &Variant {
    fn hash(&self) -> u32 {
        self.hash_u32()
    }

    fn bytes(&self) -> usize {
        encoded_size(self, Objects::AsIds).unwrap_or(usize::MAX)
    }
}

/// A key whose String is kept.
#[derive(Clone, Copy)]
pub struct CachedKey {
    index: u8,
    hash: u32,
}

/// All keys of a Dictionary, in order.
struct Row {
    texts: Vec<Box<str>>,
    /// An untyped Dictionary with these keys, whose values are Nil.
    template: Variant,
    /// What the keys cost the engine, where that is counted.
    effort: Effort,
    /// Used up by Dictionaries that start like this one and go on otherwise.
    credit: i32,
}

/// What the last Dictionary with some number of keys and some first key looked like.
#[derive(Clone, Copy, Default)]
struct Candidate {
    track: u32,
    row: Option<u8>,
}

/// How far a Dictionary is known to have the keys of a row.
#[derive(Clone, Copy)]
pub struct RowCursor {
    /// The row that the keys so far are those of.
    row: Option<u8>,
    /// The keys so far.
    keys: u16,
    /// Where the row would be found.
    place: u8,
    /// Mixed from the keys so far; 0 if they make no row.
    track: u32,
}

impl RowCursor {
    /// No key has come yet of so many. Rows are `wanted` where Dictionaries can be copied.
    #[inline(always)]
    pub fn start(len: usize, wanted: bool) -> Self {
        let wanted = wanted && (KeyCache::FEWEST..=KeyCache::MOST).contains(&len);
        Self { row: None, keys: 0, place: 0, track: u32::from(wanted) }
    }

    /// Whether the keys so far are those of a row whose entries have been copied.
    #[inline(always)]
    pub fn is_copied(&self) -> bool {
        self.row.is_some()
    }

    /// The next key is the row's, too.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.keys += 1;
    }

    /// A key that makes this no row.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.row = None;
        self.track = 0;
    }
}

impl KeyCache {
    /// How many texts are kept; a power of two, as is the number of candidates.
    const KEPT: usize = 64;
    /// Longer texts are not kept.
    const LONGEST: usize = 32;
    /// Nor are the first ones: a small message repeats nothing.
    const PASSED: usize = 16;
    /// Fewer keys are not worth copying.
    const FEWEST: usize = 2;
    /// More keys are rarely the same, and would take much memory.
    const MOST: usize = 64;
    /// How many rows are learnt at most, so that data in which nothing repeats stops trying.
    const ROWS: usize = 64;
    /// What a row can have in hand, and what a Dictionary costs that leaves it.
    const CREDIT: i32 = 8;
    const COST: i32 = 3;

    /// None, where others have cost so much.
    pub fn after(collisions: Collisions) -> Self {
        Self { collisions, ..Self::default() }
    }

    /// Where the String of this text is kept from now on; `None` for one that is not.
    #[inline(always)]
    pub fn keep(&mut self, text: &str) -> Option<CachedKey> {
        if text.len() > Self::LONGEST || self.seen < Self::PASSED {
            self.seen += 1;
            return None;
        }
        if self.kept.is_empty() {
            self.kept.resize(Self::KEPT, None);
        }
        let hash = hash(text.as_bytes());
        let index = hash as usize % Self::KEPT;
        let slot = &mut self.kept[index];
        if !matches!(slot, Some((kept, _)) if **kept == *text) {
            *slot = Some((text.into(), string(Text::Utf8(text)).to_variant()));
        }
        Some(CachedKey { index: index as u8, hash })
    }

    /// Where a String of these bytes is kept, if there is one.
    #[inline(always)]
    pub fn find(&self, bytes: &[u8]) -> Option<CachedKey> {
        if bytes.len() > Self::LONGEST {
            return None;
        }
        let hash = hash(bytes);
        let index = hash as usize % Self::KEPT;
        let (kept, _) = self.kept.get(index)?.as_ref()?;
        (kept.as_bytes() == bytes).then_some(CachedKey { index: index as u8, hash })
    }

    /// The String that is kept there.
    #[inline(always)]
    pub fn kept(&self, kept: CachedKey) -> Option<&Variant> {
        self.kept.get(usize::from(kept.index))?.as_ref().map(|(_, string)| string)
    }

    /// Refuses the String that is kept there as a key if too many collide.
    pub fn check(&mut self, kept: CachedKey, buckets: &mut Buckets, is_nested: bool) -> Result<()> {
        let Some((_, key)) = self.kept.get(usize::from(kept.index)).and_then(Option::as_ref) else {
            return Ok(());
        };
        self.collisions.add_key(buckets, &key, is_nested)
    }

    /// Whether this is the next key of the row that a Dictionary has followed so far.
    #[inline(always)]
    pub fn is_next(&self, cursor: RowCursor, text: &[u8]) -> bool {
        let Some(row) = cursor.row else { return false };
        let texts = &self.rows[usize::from(row)].texts;
        texts.get(usize::from(cursor.keys)).is_some_and(|next| next.as_bytes() == text)
    }

    /// Notes the next key of a Dictionary of `len` keys that follows no row. Says what to copy if it is the first one and
    /// that of a row, which is followed from here.
    #[inline(always)]
    pub fn follow(
        &mut self,
        cursor: &mut RowCursor,
        kept: CachedKey,
        len: usize,
    ) -> Option<(&Variant, Effort)> {
        if cursor.track == 0 {
            return None;
        }
        if cursor.keys == 0 {
            cursor.place = (kept.hash.wrapping_add(len as u32 * 0x9E37) >> 8) as u8 % Self::KEPT as u8;
            let row = self.candidates.get(usize::from(cursor.place)).and_then(|candidate| candidate.row);
            if let Some(row) = row
                && let Some((text, _)) = &self.kept[usize::from(kept.index)]
                && self.rows[usize::from(row)].starts(text, len)
            {
                cursor.row = Some(row);
                cursor.keys = 1;
                let Row { template, effort, .. } = &self.rows[usize::from(row)];
                return Some((template, *effort));
            }
        }
        cursor.keys += 1;
        cursor.track = (cursor.track.rotate_left(5) ^ kept.hash).wrapping_mul(0x9E37_79B9) | 1;
        None
    }

    /// A Dictionary has all keys of the row that it followed.
    #[inline(always)]
    pub fn complete_row(&mut self, cursor: RowCursor) {
        let Some(row) = cursor.row else { return };
        let row = &mut self.rows[usize::from(row)];
        row.credit = (row.credit + 1).min(Self::CREDIT);
    }

    /// A Dictionary has followed a row and left it.
    #[cold]
    pub fn leave_row(&mut self, cursor: RowCursor) {
        let Some(row) = cursor.row else { return };
        self.rows[usize::from(row)].credit -= Self::COST;
    }

    /// A Dictionary is complete that followed no row. It may become one if the one before, with as many keys and the same
    /// first key, had the same keys, too.
    #[inline(always)]
    pub fn learn(&mut self, cursor: RowCursor, reader: Reader, dictionary: &Variant, effort: Effort) {
        if cursor.track == 0 {
            return;
        }
        if self.candidates.is_empty() {
            self.candidates.resize(Self::KEPT, Candidate::default());
        }
        let candidate = &mut self.candidates[usize::from(cursor.place)];
        if candidate.track != cursor.track {
            candidate.track = cursor.track;
        } else if self.rows.len() < Self::ROWS {
            candidate.row = Some(self.rows.len() as u8);
            self.rows.push(Row::of(reader, dictionary, effort));
        }
    }
}

impl Row {
    /// The keys of a Dictionary.
    #[cold]
    #[inline(never)]
    fn of(reader: Reader, dictionary: &Variant, effort: Effort) -> Self {
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
        Self { texts, template: building.finish(), effort, credit: KeyCache::COST }
    }

    /// Whether a Dictionary of so many keys, of which this is the first, is expected to have the others, too.
    #[inline(always)]
    fn starts(&self, text: &str, len: usize) -> bool {
        self.credit > 0 && self.texts.len() == len && *self.texts[0] == *text
    }
}

/// Told by the start, the end and the length of a text of at most 32 bytes.
#[inline(always)]
fn hash(text: &[u8]) -> u32 {
    let (start, end) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(start), Some(end)) => (u64::from_le_bytes(*start), u64::from_le_bytes(*end)),
        _ => {
            let mut start = [0; 8];
            start[..text.len()].copy_from_slice(text);
            (u64::from_le_bytes(start), 0)
        }
    };
    let mix = (start ^ end.rotate_left(23) ^ text.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mix >> 32) as u32
}
