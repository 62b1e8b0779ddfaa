//! A fast check that accepts most valid values without decoding them.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use hashbrown::HashTable;

use crate::decoder::Decoder;
use crate::encoder::{EncodeOptions, Measure};
use crate::ends::Ends;
use crate::error::Result;
use crate::events::Source as _;
use crate::format::{self, ContainerKind, Lane, Shape, VariantType};
use crate::limits::{ALL_TYPES, Limits, Strictness};
use crate::value::builder::ValueBuilder;
use crate::wire::cursor::{Cursor, Padded, RawElementType};
use crate::wire::dialect::Godot4;
use crate::wire::header::Header;
use crate::wire::header::bits::{BOOL, FLOAT, INT, NIL, STRING, STRING_NAME, WIDE_FLOAT, WIDE_INT};

/// Returns the end of the value at the start of `bytes` if strict reading within `limits` certainly accepts
/// it and no Dictionary repeats a key. `None` leaves the question open: decode the value to find out.
///
/// The check is several times as fast as decoding. If keys recur from one Dictionary to the next, it compares
/// only the bytes of the keys.
///
/// ```
/// use variant_codec::{Limits, Value, quick_check};
///
/// let bytes = Value::from_iter([("hp", 87)]).encode()?;
/// let limits = Limits::for_save_files();
/// assert_eq!(quick_check(&bytes, &limits), Some(bytes.len()));
/// assert_eq!(quick_check(&bytes[1..], &limits), None);
/// # Ok::<(), variant_codec::Error>(())
/// ```
pub fn quick_check(bytes: &[u8], limits: &Limits) -> Option<usize> {
    check_quickly(bytes, limits, &mut Rows::default(), None).map(|(end, _)| end)
}

/// [`quick_check`] for many values. It remembers keys from one value to the next, and so is faster if small
/// values have the same keys.
#[derive(Default)]
pub struct QuickCheck {
    rows: Rows,
}

impl QuickCheck {
    /// As [`quick_check`].
    pub fn check(&mut self, bytes: &[u8], limits: &Limits) -> Option<usize> {
        self.rows.start();
        check_quickly(bytes, limits, &mut self.rows, None).map(|(end, _)| end)
    }
}

/// Checks the value at the start of `bytes` without building it, and returns its end.
///
/// # Errors
/// As [`Value::decode`](crate::Value::decode).
pub fn validate(bytes: &[u8], limits: &Limits) -> Result<usize> {
    match quick_check(bytes, limits) {
        Some(end) => Ok(end),
        None => Decoder::new(bytes, Strictness::Strict, limits)
            .decode_only(&mut ValueBuilder::of_keys_in_engine(limits.lost_objects_as_null)),
    }
}

/// Checks bytes as [`validate`] does, and returns the ends of containers.
pub(crate) fn check(bytes: &[u8], limits: &Limits) -> Result<Ends> {
    if let Some((_, ends)) = check_quickly(bytes, limits, &mut Rows::default(), Some(Ends::default())) {
        return Ok(ends.unwrap_or_default().sorted());
    }
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut ValueBuilder::of_keys())?;
    let mut ends = Ends::default();
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut ends)?;
    Ok(ends.sorted())
}

/// The end of the value, and the ends of its containers if `ends` is given; `None` leaves validity
/// open.
fn check_quickly(
    bytes: &[u8],
    limits: &Limits,
    rows: &mut Rows,
    ends: Option<Ends>,
) -> Option<(usize, Option<Ends>)> {
    if bytes.len() > limits.max_bytes
        || limits.allowed_types & ALL_TYPES != ALL_TYPES
        || !limits.admit_all_of(bytes.len())
    {
        return None;
    }
    let mut checker = Checker {
        cursor: Cursor::new(bytes, 0),
        depth: 0,
        max_depth: limits.deepest(),
        limits,
        rows: std::mem::take(rows),
        ends,
    };
    let is_valid = checker.value(ANY);
    *rows = checker.rows;
    is_valid?;
    let end = checker.cursor.position();
    (limits.allow_trailing_bytes || end == bytes.len()).then_some((end, checker.ends))
}

/// The `declared` type of an untyped container's elements.
const ANY: u8 = 0;

/// The state of a check. Each method returns `None` if something may be wrong or is too rare to check here.
struct Checker<'a> {
    cursor: Cursor<'a>,
    depth: u32,
    max_depth: u32,
    limits: &'a Limits,
    /// Held by value, because a reference would slow every access.
    rows: Rows,
    ends: Option<Ends>,
}

impl Checker<'_> {
    #[inline(always)]
    fn value(&mut self, declared: u8) -> Option<()> {
        let header = self.cursor.u32()?;
        if declared != ANY && header as u8 != declared {
            return None;
        }
        match header {
            NIL => Some(()),
            BOOL => (self.cursor.u32()? <= 1).then_some(()),
            INT => self.cursor.skip(4),
            WIDE_INT => i32::try_from(self.cursor.u64()? as i64).is_err().then_some(()),
            FLOAT => (!f32::from_bits(self.cursor.u32()?).is_nan()).then_some(()),
            WIDE_FLOAT => {
                let value = f64::from_bits(self.cursor.u64()?);
                (f64::from(value as f32) != value).then_some(())
            }
            STRING | STRING_NAME => self.text(),
            _ => self.other(header),
        }
    }

    #[inline(never)]
    fn other(&mut self, header: u32) -> Option<()> {
        let header = Header::of::<Godot4>(header)?;
        let ty = header.ty;
        if header.bits & !ty.header_mask() != 0 {
            return None;
        }
        match ty.shape() {
            Shape::Fixed(..) => self.cursor.skip(ty.lanes_bytes(header.precision())),
            Shape::Array | Shape::Dictionary => {
                let start = self.cursor.position().checked_sub(4)?;
                if ty == VariantType::Array {
                    self.array(header)?
                } else {
                    self.dictionary(header)?
                }
                if let Some(ends) = &mut self.ends {
                    ends.add(start, self.cursor.position());
                }
                Some(())
            }
            Shape::Packed(lane, _) => self.packed(ty.lanes_bytes(header.precision()), lane),
            Shape::Object if !header.is_object_id() => None,
            _ => self.leaf(),
        }
    }

    /// Rare types: fall back to the decoder.
    #[inline(never)]
    fn leaf(&mut self) -> Option<()> {
        let start = self.cursor.position().checked_sub(4)?;
        let mut decoder = Decoder::<Godot4>::starting_at(self.cursor.bytes(), start, self.depth, self.limits);
        decoder.write_into(&mut Measure::counting(EncodeOptions::default())).ok()?;
        self.cursor.jump(decoder.position());
        Some(())
    }

    fn array(&mut self, header: Header) -> Option<()> {
        let element = self.declared(header.element_kind())?;
        let count = self.cursor.count(4)?;
        self.enter()?;
        for _ in 0..count {
            self.value(element)?;
        }
        self.depth -= 1;
        Some(())
    }

    fn dictionary(&mut self, header: Header) -> Option<()> {
        let key = self.declared(header.element_kind())?;
        let value = self.declared(header.value_kind())?;
        let count = self.cursor.count(8)?;
        if count == 0 {
            return Some(());
        }
        self.enter()?;
        let slot = Rows::slot(self.cursor.rest(), count);
        let row = if key == ANY { self.rows.known(slot, count) } else { None };
        // The number of leading keys that match the row, and the start of the others in `open`.
        let (mut followed, base) = (0, self.rows.open.len());
        for index in 0..count {
            if followed == index
                && let Some(row) = row
                && let Some(known) = self.rows.keys.get(row + index)
                && self.cursor.skip_if_next(self.rows.learned.get(known.range())?)
            {
                followed += 1;
            } else {
                let at = self.cursor.position();
                self.key(key)?;
                self.rows.open(KeyPosition::of(at, self.cursor.position(), false)?, count - index)?;
            }
            self.value(value)?;
        }
        if followed < count {
            if let Some(row) = row {
                self.rows.open_followed(base, row, followed)?;
            }
            self.rows.check_distinct(self.cursor.bytes(), base)?;
            // The outermost Dictionary has no sibling with the same keys, unless more values follow.
            if self.depth > 1 || self.rows.is_kept {
                self.rows.learn(self.cursor.bytes(), slot, base);
            }
            self.rows.open.truncate(base);
        }
        self.depth -= 1;
        Some(())
    }

    /// Checks a key whose payload bytes decide whether it equals another key; `None` for keys of other types.
    #[inline(always)]
    fn key(&mut self, declared: u8) -> Option<()> {
        use VariantType as T;
        let ty = VariantType::from_id(*self.cursor.rest().first()?)?;
        match ty {
            T::String | T::StringName | T::Int | T::Vector2i | T::Vector3i | T::Vector4i | T::Rect2i => {
                self.value(declared)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn text(&mut self) -> Option<()> {
        let Padded { text, padding } = self.cursor.text()?;
        if !is_plain(text) {
            check_text(text)?;
        }
        is_zero(padding)
    }

    /// Checks a packed array whose elements take `element` bytes each.
    fn packed(&mut self, element: usize, lane: Lane) -> Option<()> {
        let bytes = self.cursor.count(element)? * element;
        self.cursor.skip(bytes)?;
        if lane == Lane::Byte { is_zero(self.cursor.take(format::padding(bytes))?) } else { Some(()) }
    }

    #[inline(always)]
    fn declared(&mut self, kind: ContainerKind) -> Option<u8> {
        match self.cursor.declared(kind)? {
            RawElementType::Untyped => Some(ANY),
            RawElementType::Builtin(id) => {
                let ty = VariantType::from_id(u8::try_from(id).ok()?)?;
                (!matches!(ty, VariantType::Nil | VariantType::Object)).then_some(ty.id())
            }
            RawElementType::Class(_) | RawElementType::Script(_) => None,
        }
    }

    #[inline(always)]
    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= self.max_depth).then_some(())
    }
}

fn is_zero(padding: &[u8]) -> Option<()> {
    padding.iter().all(|byte| *byte == 0).then_some(())
}

/// Whether a text is ASCII without a NUL.
#[inline(always)]
fn is_plain(text: &[u8]) -> bool {
    const TOP: u64 = 0x8080_8080_8080_8080;
    const ONE: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = text.as_chunks::<8>();
    let mut odd = 0;
    for word in words {
        let word = u64::from_ne_bytes(*word);
        odd |= word | word.wrapping_sub(ONE);
    }
    let last = match (text.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // This word overlaps the words before it.
        (Some(last), ..) => u64::from_ne_bytes(*last),
        (_, Some(first), Some(last)) => {
            u64::from(u32::from_ne_bytes(*first)) << 32 | u64::from(u32::from_ne_bytes(*last))
        }
        _ => rest.iter().fold(ONE, |word, byte| word << 8 | u64::from(*byte)),
    };
    (odd | last | last.wrapping_sub(ONE)) & TOP == 0
}

/// Accepts text that an encoder would write.
#[inline(never)]
fn check_text(text: &[u8]) -> Option<()> {
    let is_good = memchr::memchr(0, text).is_none()
        && !text.starts_with(format::BOM.as_bytes())
        && simdutf8::basic::from_utf8(text).is_ok();
    is_good.then_some(())
}

/// The byte range of a key, header included, in the checked bytes or in [`Rows::learned`].
#[derive(Clone, Copy)]
struct KeyPosition {
    start: u32,
    end: u32,
    is_learned: bool,
}

impl KeyPosition {
    #[inline(always)]
    fn of(start: usize, end: usize, is_learned: bool) -> Option<Self> {
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()?, is_learned })
    }

    #[inline(always)]
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A cache of key lists, since many Dictionaries have the same keys.
#[derive(Default)]
struct Rows {
    /// All rows, one after the other. A row is the keys of one Dictionary, which are known to be distinct.
    keys: Vec<KeyPosition>,
    /// The bytes of the keys in `keys`.
    learned: Vec<u8>,
    /// The start in `keys` and the length of each slot's row.
    known: Vec<(u32, u32)>,
    /// Keys of the Dictionaries that are being checked.
    open: Vec<KeyPosition>,
    /// Whether more values follow.
    is_kept: bool,
}

impl Rows {
    /// The number of slots, with one row each; a power of two.
    const SLOTS: usize = 128;
    /// Maximum number of keys in one row; `ROOM` is the maximum in all rows together.
    const MOST: usize = 64;
    const ROOM: usize = 4096;
    /// Maximum number of bytes in all rows.
    const BYTES: usize = 64 << 10;
    /// Maximum number of keys that are compared in pairs; more are hashed.
    const FEW: usize = 12;

    /// The slot for a Dictionary of `count` entries that start with `bytes`.
    #[inline(always)]
    fn slot(bytes: &[u8], count: usize) -> usize {
        let start =
            bytes.get(4..).and_then(|bytes| bytes.first_chunk()).map_or(0, |word| u64::from_ne_bytes(*word));
        let mixed = (start ^ (count as u64) << 48).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (u64::BITS - Self::SLOTS.ilog2())) as usize
    }

    /// The start of the slot's row in `keys`, if the row has `count` keys.
    #[inline(always)]
    fn known(&self, slot: usize, count: usize) -> Option<usize> {
        let (start, found) = *self.known.get(slot)?;
        (found as usize == count).then_some(start as usize)
    }

    /// Adds a key, and reserves memory for `count` keys including this one.
    #[inline(always)]
    fn open(&mut self, key: KeyPosition, count: usize) -> Option<()> {
        self.open.try_reserve(count).ok()?;
        self.open.push(key);
        Some(())
    }

    /// Inserts the first `count` keys of a row before the other open keys.
    #[cold]
    fn open_followed(&mut self, base: usize, row: usize, count: usize) -> Option<()> {
        self.open.try_reserve(count).ok()?;
        let keys = self.keys.get(row..row + count)?;
        self.open.splice(base..base, keys.iter().copied());
        Some(())
    }

    /// Prepares for the next of many values. Forgets the rows if there is little space for more.
    fn start(&mut self) {
        self.is_kept = true;
        self.open.clear();
        if self.keys.len() + Self::MOST > Self::ROOM || self.learned.len() > Self::BYTES / 2 {
            self.keys.clear();
            self.learned.clear();
            self.known.clear();
        }
    }

    /// The key without its header: a String and a StringName with the same text are one key.
    #[inline(always)]
    fn content<'a>(&'a self, bytes: &'a [u8], key: KeyPosition) -> &'a [u8] {
        let bytes = if key.is_learned { &self.learned } else { bytes };
        bytes.get(key.range()).and_then(|key| key.get(4..)).unwrap_or_default()
    }

    /// Checks that all open keys from `base` on differ.
    fn check_distinct(&self, bytes: &[u8], base: usize) -> Option<()> {
        let keys = self.open.get(base..)?;
        if keys.len() <= Self::FEW {
            for (index, key) in keys.iter().enumerate() {
                let content = self.content(bytes, *key);
                if keys[..index].iter().any(|other| self.content(bytes, *other) == content) {
                    return None;
                }
            }
            return Some(());
        }
        self.check_many(bytes, keys)
    }

    #[inline(never)]
    fn check_many(&self, bytes: &[u8], keys: &[KeyPosition]) -> Option<()> {
        let hasher = RandomState::new();
        let hash = |key: &KeyPosition| hasher.hash_one(self.content(bytes, *key));
        let mut seen: HashTable<KeyPosition> = HashTable::new();
        seen.try_reserve(keys.len(), hash).ok()?;
        for key in keys {
            let content = self.content(bytes, *key);
            let wanted = hash(key);
            if seen.find(wanted, |other| self.content(bytes, *other) == content).is_some() {
                return None;
            }
            seen.insert_unique(wanted, *key, hash);
        }
        Some(())
    }

    /// Stores the open keys from `base` on as the slot's row, if the row fits.
    fn learn(&mut self, bytes: &[u8], slot: usize, base: usize) {
        let row = &self.open[base..];
        let size: usize = row.iter().map(|key| key.range().len()).sum();
        if row.len() > Self::MOST
            || self.keys.len() + row.len() > Self::ROOM
            || self.learned.len() + size > Self::BYTES
        {
            return;
        }
        if self.known.is_empty() {
            self.known.resize(Self::SLOTS, (0, 0));
        }
        self.known[slot] = (self.keys.len() as u32, row.len() as u32);
        for key in row {
            let start = self.learned.len();
            if key.is_learned {
                self.learned.extend_from_within(key.range());
            } else {
                self.learned.extend_from_slice(&bytes[key.range()]);
            }
            self.keys.extend(KeyPosition::of(start, self.learned.len(), true));
        }
    }
}
