//! [`Foreign`]: the format of a file that holds no records.

use std::str;

use super::index::ReadAt;
use super::scan::read_block;
use crate::changes::Loss;
use crate::check::quick_check;
use crate::decoder::Decoder;
use crate::ends::Ends;
pub use crate::error::Foreign;
use crate::error::{Error, Result};
use crate::format::{FRAME_BYTES, Shape, VariantType};
use crate::limits::{Limits, Strictness};
use crate::outline::{Node, Outline};
use crate::wire::{self, Cursor};

/// The number of bytes at the start of a file that show its format.
const HEAD: usize = 64;
/// The number of records that [`foreign`] tests. That many whole records show that a file holds records.
pub const TESTED: usize = 4;
/// The maximum size of a file that is tested for being one value: the test reads the whole file.
const WHOLE: u64 = 64 << 20;
/// The maximum number of values that are compared with the first record if the whole file reads as one value.
const LOOKED_AT: usize = 1000;
/// The maximum length of a record that is tested for being a value of Godot 3.
const LONGEST_TESTED: u64 = 1 << 20;

impl Foreign {
    /// The format that the first bytes show. `None` for encoded values, records and unknown formats.
    pub fn by_head(bytes: &[u8]) -> Option<Self> {
        let marks: [(&[u8], Self); 6] = [
            (b"GDEC", Self::Encrypted),
            (b"GCPF", Self::Compressed),
            (b"RSRC", Self::Resource),
            (b"RSCC", Self::Resource),
            (b"\x89PNG", Self::Png),
            (b"PK\x03\x04", Self::Zip),
        ];
        if let Some((_, found)) = marks.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            let is_record = *found == Self::Zip && is_record_of_zip(bytes);
            return (!is_record).then_some(*found);
        }
        let text = text(&bytes[..bytes.len().min(HEAD)])?.trim_start_matches('\u{FEFF}').trim_start();
        let is_resource = ["[gd_scene", "[gd_resource"].iter().any(|start| text.starts_with(start));
        let first_inside = text.strip_prefix('[').map(|rest| rest.trim_start().chars().next());
        Some(match first_inside {
            _ if is_resource => Self::TextResource,
            _ if text.starts_with('{') => Self::Json,
            Some(None | Some('{' | '[' | ']' | '"' | '-' | '0'..='9')) => Self::Json,
            _ => Self::Text,
        })
    }
}

/// Whether the ZIP signature is the length prefix of a record of 67,324,752 bytes. In a record, a type id
/// and an element count follow. Values of this type (in Godot 4 or 3) can have that many bytes. In a ZIP
/// file, small numbers follow: the version that readers need, the flags and the compression method.
fn is_record_of_zip(bytes: &[u8]) -> bool {
    const MOST_METHODS: u8 = 99;

    let Some([id, 0, 0, 0, method, high, ..]) = bytes.get(FRAME_BYTES..) else { return false };
    match id {
        // No ZIP file has one of these type ids as its version.
        18 | 19 | 24 | 26..=28 => true,
        4 | 15 | 20..=25 | 29.. => *high > 0 || *method > MOST_METHODS,
        _ => false,
    }
}

/// The head, if it is text. No encoded value starts with text, and no record of 144 MiB or less does.
fn text(head: &[u8]) -> Option<&str> {
    let is_text =
        |text: &str| text.chars().all(|char| !char.is_control() || matches!(char, '\t' | '\r' | '\n'));
    let text = match str::from_utf8(head) {
        Ok(text) => text,
        // The head ends within a character.
        Err(error) if error.error_len().is_none() => str::from_utf8(&head[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    (text.len() >= FRAME_BYTES && is_text(text)).then_some(text)
}

/// The format of a file that certainly holds something other than records of Godot 3. `None` for records,
/// even damaged ones, and for one value.
///
/// # Errors
/// As [`foreign`].
pub fn foreign_to_godot3<S: ReadAt + ?Sized>(source: &S) -> Result<Option<Foreign>> {
    foreign_at_head(source, &mut Vec::new())
}

fn foreign_at_head<S: ReadAt + ?Sized>(source: &S, head: &mut Vec<u8>) -> Result<Option<Foreign>> {
    read_block(source, 0, HEAD, head)?;
    Ok(Foreign::by_head(head))
}

/// The format of a file that certainly holds something other than records. `None` for records, even damaged ones.
///
/// Reads up to four records of at most 1 MiB each. If the first length prefix may also be the header of a
/// value, and the file has at most 64 MiB, longer records are read as well. If one of these records is
/// damaged, all bytes are read.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory); errors of the file.
pub fn foreign<S: ReadAt + ?Sized>(source: &S, limits: &Limits) -> Result<Option<Foreign>> {
    let mut bytes = Vec::new();
    if let Some(found) = foreign_at_head(source, &mut bytes)? {
        return Ok(Some(found));
    }
    let Some(length) = bytes.first_chunk().map(|frame| wire::record_length(*frame)) else {
        return Ok(None);
    };
    let size = source.size().map_err(Error::other)?;
    let may_be_header = VariantType::from_id(length as u8).is_some_and(|ty| length & !ty.header_mask() == 0);
    if !may_be_header || size > WHOLE.min(limits.max_bytes as u64) {
        return godot3(source, &mut bytes);
    }
    let whole_records = count_whole(source, &mut bytes)?;
    if whole_records == TESTED {
        return Ok(None);
    }
    read_block(source, 0, size as usize, &mut bytes)?;
    let whole = Outline::of(&bytes, LOOKED_AT);
    // An Array of 11 elements starts like a record that holds a Transform2D, and a String of 25 letters like
    // one that holds a Callable. Any bytes are valid numbers. If the whole file is a value with numbers, and its
    // start is also a whole record without numbers, the file more likely holds damaged records.
    let is_numbers = |value: &Node| matches!(value.ty.shape(), Shape::Fixed(..) | Shape::Packed(..));
    let record = FRAME_BYTES..FRAME_BYTES.saturating_add(length as usize);
    let of_record = Outline::of(bytes.get(record.clone()).unwrap_or_default(), 1);
    let is_record_of_numbers = of_record.nodes().first().is_some_and(is_numbers);
    let has_numbers = whole
        .nodes()
        .iter()
        .take_while(|value| value.bytes.start < record.end)
        .enumerate()
        .any(|(index, value)| is_numbers(value) && (index == 0 || !is_record_of_numbers));
    let may_be_value = whole_records == 0 || !has_numbers && whole.notes().first.is_empty();
    if may_be_value && whole.error().is_none() && whole.end() >= bytes.len() {
        return Ok(Some(Foreign::OneValue));
    }
    godot3(source, &mut bytes)
}

struct FirstRecords<'a, S: ?Sized> {
    source: &'a S,
    size: u64,
    /// The file offset of the next record's length prefix.
    at: u64,
}

impl<'a, S: ReadAt + ?Sized> FirstRecords<'a, S> {
    fn of(source: &'a S) -> Result<Self> {
        Ok(Self { source, size: source.size().map_err(Error::other)?, at: 0 })
    }

    /// Reads the next record into `bytes`. Returns `false` at the end of the file and for a record that is
    /// truncated or longer than `longest`.
    fn read_next(&mut self, longest: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        read_block(self.source, self.at, FRAME_BYTES, bytes)?;
        let start = self.at + bytes.len() as u64;
        let length = bytes.first_chunk().map(|frame| wire::record_length(*frame));
        let Some(length) =
            length.filter(|length| u64::from(*length) <= longest.min(self.size.saturating_sub(start)))
        else {
            return Ok(false);
        };
        read_block(self.source, start, length as usize, bytes)?;
        self.at = start + u64::from(length);
        Ok(bytes.len() == length as usize)
    }
}

/// The number of leading records of the file that an encoder would write, at most [`TESTED`]. Also
/// returns [`TESTED`] if the file has fewer records and an encoder would write all of them.
fn count_whole<S: ReadAt + ?Sized>(source: &S, bytes: &mut Vec<u8>) -> Result<usize> {
    let mut records = FirstRecords::of(source)?;
    for count in 0..TESTED {
        if records.at == records.size {
            return Ok(TESTED);
        }
        if !records.read_next(u64::MAX, bytes)? {
            return Ok(count);
        }
        // The engine accepts many byte sequences that no encoder writes.
        let record = Outline::of(bytes, 1);
        if bytes.is_empty() || record.error().is_some() || !record.notes().first.is_empty() {
            return Ok(count);
        }
    }
    Ok(TESTED)
}

/// The file offset of the first record that the engine cannot read, or that has bytes other than zeros after
/// its value. Such a record shows Godot 3's format or damage. Tests the first four records, up to the first
/// one that is empty, truncated or longer than 64 MiB.
///
/// # Errors
/// As [`foreign`].
pub fn find_invalid<S: ReadAt + ?Sized>(source: &S) -> Result<Option<u64>> {
    let mut bytes = Vec::new();
    let mut records = FirstRecords::of(source)?;
    for _ in 0..TESTED {
        let at = records.at;
        if !records.read_next(WHOLE, &mut bytes)? || bytes.is_empty() {
            break;
        }
        let value = Outline::of(&bytes, 1);
        let trailing = bytes.get(value.end()..).unwrap_or_default();
        if value.error().is_some() || trailing.iter().any(|byte| *byte != 0) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether the engine reads the bytes as one value, up to their end.
fn is_one_value(bytes: &[u8]) -> bool {
    let outline = Outline::of(bytes, 1);
    outline.error().is_none() && outline.end() >= bytes.len()
}

/// The total weight of evidence that shows Godot 3's format: see [`evidence_of_godot3`].
pub const SHOWS_GODOT3: u32 = 2;

/// The weight of `bytes` as evidence that the file is Godot 3's. `bytes` must be a value of Godot 3 and not
/// of Godot 4. One changed bit may turn a value of Godot 4 into a pool array of Godot 3, or into an Array of
/// vectors, so two of these are needed. A Dictionary, or any other Array, is enough if it is not empty. A
/// value that is alone in its file is also enough if its type has another id in Godot 4.
pub fn evidence_of_godot3(bytes: &[u8], is_alone: bool) -> u32 {
    let mut cursor = Cursor::new(bytes, 0);
    let header = cursor.u32().map(|header| header as u8);
    let has_elements = cursor.container_count(1).is_some_and(|count| count > 0);
    let has_vectors = cursor.u32().is_some_and(|header| matches!(header as u8, 5..=14));
    match header {
        Some(6..) if is_alone => SHOWS_GODOT3,
        // Dictionary.
        Some(18) if has_elements => SHOWS_GODOT3,
        // Array.
        Some(19) if has_elements && !has_vectors => SHOWS_GODOT3,
        // Array, and the pool arrays.
        Some(19..=26) if has_elements => 1,
        _ => 0,
    }
}

/// [`Foreign::Godot3`] if the first records show this format, and each of them is a valid value of Godot 3.
fn godot3<S: ReadAt + ?Sized>(source: &S, bytes: &mut Vec<u8>) -> Result<Option<Foreign>> {
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let (mut records, mut evidence) = (FirstRecords::of(source)?, 0);
    for index in 0..TESTED {
        if !records.read_next(LONGEST_TESTED, bytes)? {
            break;
        }
        let is_godot4 = quick_check(bytes, &limits).is_some() || is_one_value(bytes);
        let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, &limits, Loss::Accepted);
        match (decoder.decode_only(&mut Ends::default()).is_ok(), is_godot4) {
            (true, true) => {}
            (true, false) => {
                let is_alone = index == 0 && records.at == records.size;
                evidence += evidence_of_godot3(bytes, is_alone);
            }
            (false, _) => return Ok(None),
        }
    }
    Ok((evidence >= SHOWS_GODOT3).then_some(Foreign::Godot3))
}
