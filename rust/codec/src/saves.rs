//! Saves: one value in a file, with a summary for menus and a sum against damage.
//!
//! A save is three records: `{&"@save": summary}`, the value or `{&"@zstd": bytes, &"size": n}`, and `{&"@sum": n}`. The
//! repository's `docs/saves.md` specifies it.
//!
//! ```
//! use variant_codec::{Limits, Value, saves};
//!
//! let (summary, value) = (Value::from_iter([("day", 3)]).encode()?, Value::from(vec![1, 2, 3]).encode()?);
//! let [head, tail] = saves::around(&summary, &value)?;
//! let mut file = [head, value.clone(), tail].concat();
//! let save = saves::read(&file, &Limits::for_save_files())?.expect("it is a save");
//! assert!(save.summary == summary && save.content == saves::Content::Plain(&value));
//! file[40] ^= 1;
//! assert!(saves::read(&file, &Limits::for_save_files()).is_err());
//! # Ok::<(), variant_codec::Error>(())
//! ```

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3Default;

use crate::error::{Error, ErrorKind, Limit, Result, SaveDamage};
use crate::format::{FRAME_BYTES, MAX_BYTES, VariantType};
use crate::frames::{self, ReadAt};
use crate::limits::Limits;
use crate::value::Value;
use crate::view::View;

/// The first key of the first record; its value is the summary.
pub const SAVE: &str = "@save";
/// The first key of a compressed value; the key after it is [`SIZE`].
pub const ZSTD: &str = "@zstd";
/// The size of a compressed value in bytes, once it is decompressed.
pub const SIZE: &str = "size";
/// The key of the last record: the XXH3-64, with seed 0, of all bytes before the record's length.
pub const SUM: &str = "@sum";

/// A Dictionary with one entry, up to the entry's value: its header, its count, and a StringName of five characters.
const fn start(key: &str) -> [u8; 24] {
    let key = key.as_bytes();
    let mut start = [0; 24];
    (start[0], start[4]) = (VariantType::Dictionary as u8, 1);
    (start[8], start[12]) = (VariantType::StringName as u8, key.len() as u8);
    let mut at = 0;
    while at < key.len() {
        start[16 + at] = key[at];
        at += 1;
    }
    start
}

const SAVE_START: [u8; 24] = start(SAVE);
/// `SUM` has four characters, so its padding ends earlier.
const SUM_START: [u8; 20] = *start(SUM).first_chunk().expect("24 bytes");
/// The maximum size of the last record and its length.
const MAX_SUM: u64 = (FRAME_BYTES + SUM_START.len() + 12) as u64;

/// The limits of the record around a compressed value; those of the caller are for the value.
static RECORD: Limits = Limits::unlimited();

/// A save in memory, whose sum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Save<'a> {
    /// The summary, encoded.
    pub summary: &'a [u8],
    /// The value.
    pub content: Content<'a>,
    /// The offset of the value's record.
    pub at: usize,
}

/// The value of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// The encoded value.
    Plain(&'a [u8]),
    /// The encoded value in one frame of zstd.
    Zstd {
        /// The frame.
        compressed: &'a [u8],
        /// The size of the encoded value, which is within the limits.
        size: usize,
    },
}

/// The bytes of a save before and after the record `content`.
///
/// # Errors
/// Fails if the save would be too large.
pub fn around(summary: &[u8], content: &[u8]) -> Result<[Vec<u8>; 2]> {
    if content.len() > MAX_BYTES || summary.len() > MAX_BYTES - SAVE_START.len() {
        return Err(ErrorKind::TooLarge.into());
    }
    let mut head = Vec::new();
    frames::try_append(&mut head, &[&SAVE_START, summary].concat())?;
    head.extend_from_slice(&(content.len() as u32).to_le_bytes());
    let mut sum = Xxh3Default::new();
    sum.update(&head);
    sum.update(content);
    let mut tail = Vec::new();
    let sum = Value::from_iter([(Value::StringName(SUM.into()), sum.digest().cast_signed())]);
    frames::append(&mut tail, &sum.encode()?);
    Ok([head, tail])
}

/// The record of a value whose encoding has `size` bytes and is compressed with zstd.
///
/// # Errors
/// Fails if the record would be too large.
pub fn compressed(zstd: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    let key = |name: &str| Value::StringName(name.into());
    Value::from_iter([(key(ZSTD), Value::PackedByteArray(zstd)), (key(SIZE), Value::from(size as i64))])
        .encode()
}

/// Whether an encoded value looks like the record of a compressed one, so that it can only be saved compressed.
pub fn looks_compressed(value: &[u8]) -> bool {
    // Few values contain the text, and a search for it is faster than one for a key.
    names_zstd(value)
        && View::within(value, &RECORD)
            .is_ok_and(|value| value.find(&ZSTD.into()).is_ok_and(|found| found.is_some()))
}

/// Whether any of the values in `bytes` may look like a compressed one.
pub fn names_zstd(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, ZSTD.as_bytes()).is_some()
}

/// Reads the save in `bytes`; `None` if they are something else.
///
/// # Errors
/// Fails with [`ErrorKind::Save`] if the save is damaged, or if a limit is exceeded.
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<Save<'a>>> {
    let (records, torn) = frames::records(bytes, &Limits::unlimited());
    let record = |index: usize| records.get(index).map(|range: &Range<usize>| &bytes[range.clone()]);
    let is_marked = bytes.get(FRAME_BYTES..).is_some_and(|first| first.starts_with(&SAVE_START));
    let has_sum = records.last().is_some_and(|last| bytes[last.clone()].starts_with(&SUM_START));
    if !is_marked && !has_sum {
        return Ok(None);
    }
    let damage = |damage: SaveDamage| Err(Error::from(ErrorKind::Save(damage)));
    let ([_, value, last], true, None) = (&records[..], has_sum, &torn) else {
        return damage(if has_sum { SaveDamage::Changed } else { SaveDamage::CutOff });
    };
    let mut sum = Xxh3Default::new();
    sum.update(&bytes[..last.start - FRAME_BYTES]);
    let expected = Value::from_iter([(Value::StringName(SUM.into()), sum.digest().cast_signed())]);
    if bytes[last.clone()] != expected.encode()? {
        return damage(SaveDamage::Changed);
    }
    let (Some(summary), Some(content)) =
        (record(0).and_then(|first| first.strip_prefix(&SAVE_START)), record(1))
    else {
        return damage(SaveDamage::Changed);
    };
    let content = content_of(content, limits).map_err(|error| error.shifted(value.start))?;
    Ok(Some(Save { summary, content, at: value.start }))
}

/// The value of a damaged save, if it can still be read, and the offset of its record.
pub fn remains<'a>(bytes: &'a [u8], limits: &Limits) -> Option<(Content<'a>, usize)> {
    let (records, _) = frames::records(bytes, &Limits::unlimited());
    let value = records.get(1)?;
    Some((content_of(&bytes[value.clone()], limits).ok()?, value.start))
}

fn content_of<'a>(record: &'a [u8], limits: &Limits) -> Result<Content<'a>> {
    if !looks_compressed(record) {
        return Ok(Content::Plain(record));
    }
    let view = View::within(record, &RECORD)?;
    let part = |name: &'static str| view.get(name);
    let size = part(SIZE)?.as_i64()?;
    match usize::try_from(size) {
        Ok(size) if size <= limits.max_bytes => match part(ZSTD)?.as_bytes()? {
            compressed if size == 0 || compressed.is_empty() => {
                Err(ErrorKind::Save(SaveDamage::Changed).into())
            }
            compressed => Ok(Content::Zstd { compressed, size }),
        },
        _ => Err(Error::new(limits.exceeded(Limit::Bytes)).at(0)),
    }
}

/// Whether a source is a save, perhaps damaged: it starts like one, or ends with a sum.
///
/// # Errors
/// The errors of the source.
pub fn is_save<S: ReadAt + ?Sized>(source: &S) -> Result<bool> {
    let size = source.size().map_err(Error::other)?;
    let is_at = |at: u64, mark: &[u8]| -> Result<bool> {
        let mut found = vec![0; mark.len()];
        let count = source.read_at(at, &mut found).map_err(Error::other)?;
        Ok(count == mark.len() && found == mark)
    };
    // An int has 8 or 12 bytes.
    for sum in [8, 12].map(|int| (SUM_START.len() + int) as u64) {
        if let Some(at) = size.checked_sub(sum)
            && is_at(at, &SUM_START)?
        {
            return Ok(true);
        }
    }
    is_at(FRAME_BYTES as u64, &SAVE_START)
}

/// Reads the summary of the save in `source`; `None` if there is something else. Reads the first record and the last
/// one, and the lengths of all three, which must fit the size of the source.
///
/// # Errors
/// Fails with [`ErrorKind::Save`] if the save is cut off, or if the summary exceeds the limits.
pub fn read_summary<S: ReadAt + ?Sized>(source: &S, limits: &Limits) -> Result<Option<Vec<u8>>> {
    let read = |at: u64, count: usize| -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let done = source.read_at(at, &mut bytes).map_err(Error::other)?;
        bytes.truncate(done);
        Ok(bytes)
    };
    let length = |at: u64| -> Result<Option<u64>> {
        Ok(read(at, FRAME_BYTES)?.first_chunk().map(|length| u32::from_le_bytes(*length).into()))
    };
    let cut_off = || Error::from(ErrorKind::Save(SaveDamage::CutOff));
    let frame = FRAME_BYTES as u64;
    if read(frame, SAVE_START.len())? != SAVE_START {
        return Ok(None);
    }
    let size = source.size().map_err(Error::other)?;
    let first = length(0)?.filter(|first| *first >= SAVE_START.len() as u64).ok_or_else(cut_off)?;
    let second = length(frame + first)?.ok_or_else(cut_off)?;
    let last = 2 * frame + first + second;
    let end = length(last)?.map(|length| last + frame + length);
    if end != Some(size)
        || size - last > MAX_SUM
        || !read(last + frame, SUM_START.len())?.starts_with(&SUM_START)
    {
        return Err(cut_off());
    }
    let count = usize::try_from(first).unwrap_or(usize::MAX);
    if count > limits.max_bytes {
        return Err(Error::new(limits.exceeded(Limit::Bytes)).at(0));
    }
    let mut record = read(frame, count)?;
    record.drain(..SAVE_START.len());
    Ok(Some(record))
}
