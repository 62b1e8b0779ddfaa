//! [`recognise`]: what a file holds.

use super::read_at::{ReadAt, read_block};
pub use crate::error::Foreign;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{FRAME_BYTES, Shape, VariantType};
use crate::outline::Outline;
use crate::wire;

/// The number of bytes at the start of a file that show another program's format.
const HEAD: usize = 64;
/// The number of bytes at the start of a file that [`recognise`] reads.
const TESTED: usize = 64 << 10;

impl Foreign {
    /// The format that the first bytes show. `None` for encoded values, records and unknown formats.
    pub fn by_head(bytes: &[u8]) -> Option<Self> {
        let marks: [(&[u8], Self); 8] = [
            (b"GDEC\x01\0\0\0", Self::EncryptedByGodot3),
            (b"GDEC", Self::Encrypted),
            (b"GCPF", Self::Compressed),
            (b"RSRC", Self::Resource),
            (b"RSCC", Self::Resource),
            (b"\x89PNG", Self::Png),
            (b"PK\x03\x04", Self::Zip),
            (b"FVP", Self::Patch),
        ];
        if let Some((_, found)) = marks.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            return Some(*found);
        }
        let text = text(&bytes[..bytes.len().min(HEAD)])?.trim_start_matches('\u{FEFF}').trim_start();
        let is_resource = ["[gd_scene", "[gd_resource"].iter().any(|start| text.starts_with(start));
        Some(if is_resource { Self::TextResource } else { Self::Text })
    }
}

/// The head, if it is text. No encoded value starts with text, and no record of 144 MiB or less does.
fn text(head: &[u8]) -> Option<&str> {
    let chunk = head.utf8_chunks().next()?;
    // The head may end within a character.
    let is_all = chunk.valid().len() + chunk.invalid().len() == head.len();
    let is_text = |char: char| !char.is_control() || matches!(char, '\t' | '\r' | '\n');
    (is_all && head.len() >= FRAME_BYTES && chunk.valid().chars().all(is_text)).then_some(chunk.valid())
}

/// A way to read the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// As length-prefixed records; if not, as one value.
    pub has_records: bool,
    /// In Godot 3's format; if not, in Godot 4's.
    pub is_godot3: bool,
}

/// The number of records that [`recognise`] reads.
const MOST_RECORDS: usize = 64;

impl Layout {
    /// All layouts. Of two that fit equally well, [`recognise`] takes the first.
    const ALL: [Self; 4] = [
        Self { has_records: true, is_godot3: false },
        Self { has_records: false, is_godot3: false },
        Self { has_records: true, is_godot3: true },
        Self { has_records: false, is_godot3: true },
    ];
}

/// The contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The file of another program, or a container such as a compressed file.
    Foreign(Foreign),
    /// Encoded values, perhaps damaged. An empty file holds no records.
    Values {
        /// The likeliest way to read them.
        layout: Layout,
        /// Another way that reads all bytes, as other values.
        other: Option<Layout>,
    },
}

impl Contents {
    /// The reason why a reader of Godot 4's records refuses these contents.
    pub fn refusal(&self) -> Option<Foreign> {
        match self {
            Self::Foreign(format) => Some(*format),
            Self::Values { layout: Layout { has_records: true, is_godot3: false }, .. } => None,
            Self::Values { layout: Layout { is_godot3: false, .. }, .. } => Some(Foreign::OneValue),
            Self::Values { layout: Layout { has_records: true, .. }, .. } => Some(Foreign::Godot3),
            Self::Values { .. } => Some(Foreign::OneGodot3Value),
        }
    }
}

/// Recognises the contents of a file by its first 64 KiB. Considers only the layouts that `is_possible` accepts.
///
/// Any bytes are valid numbers, and a damaged file has a layout, too. Whole records at the start decide first: a file is
/// not one value after two of them, not one vector or damaged value after one, and not Godot 3's after more records of
/// Godot 4, or more of them at the start. Else, the likeliest layout is the one in which more text is found; then, the
/// one that reads all bytes; then, that of Godot 4; then, the one that reads more bytes before an error.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`]; errors of the file.
pub fn recognise<S: ReadAt + ?Sized>(source: &S, is_possible: impl Fn(Layout) -> bool) -> Result<Contents> {
    let size = usize::try_from(source.size().map_err(Error::other)?).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    read_block(source, 0, TESTED, &mut bytes)?;
    // The file may have grown meanwhile.
    let size = size.max(bytes.len());
    if let Some(format) = Foreign::by_head(&bytes) {
        return Ok(Contents::Foreign(format));
    }
    let possible = Layout::ALL.into_iter().filter(|layout| is_possible(*layout));
    let mut fits: Vec<_> = possible.map(|layout| (layout, Fit::of(&bytes, size, layout))).collect();
    let of_records = |is_godot3| {
        let found = fits.iter().find(|(layout, _)| *layout == Layout { has_records: true, is_godot3 });
        found.map_or((0, 0), |(_, fit)| (fit.leading_records, fit.clean_records))
    };
    let (godot4, godot3) = (of_records(false), of_records(true));
    // A stable sort: layouts that fit equally well keep their order.
    fits.sort_by_key(|(layout, fit)| {
        let one_value_after = if fit.is_vector || !fit.is_whole { 1 } else { 2 };
        let is_unlikely = match layout {
            Layout { has_records: true, is_godot3 } => {
                *is_godot3 && (godot3.0 < godot4.0 || godot3.1 < godot4.1)
            }
            Layout { is_godot3: false, .. } => godot4.0 >= one_value_after,
            Layout { is_godot3: true, .. } => godot3.0 >= one_value_after || godot4.0 > 0,
        };
        std::cmp::Reverse((!is_unlikely, fit.text, fit.is_whole, !layout.is_godot3, fit.bytes))
    });
    let mut fits = fits.into_iter();
    let (layout, best) = fits.next().unwrap_or((Layout::ALL[0], Fit::default()));
    let other = fits.find(|(_, fit)| fit.is_whole && fit.values != best.values);
    Ok(Contents::Values { layout, other: other.map(|(layout, _)| layout) })
}

/// How well a layout fits the first bytes of a file.
#[derive(Default)]
struct Fit {
    /// Whether the layout has no error.
    is_whole: bool,
    /// Whether this is one vector or packed array. Any bytes are valid components.
    is_vector: bool,
    /// The number of records that are what an encoder writes, before the first one that is not.
    leading_records: usize,
    /// The number of all records that are what an encoder writes.
    clean_records: usize,
    /// The number of bytes in texts.
    text: usize,
    /// The number of bytes before errors and encodings that no engine writes.
    bytes: usize,
    /// The offset, type and preview of the first values.
    values: Vec<(usize, VariantType, String)>,
}

impl Fit {
    /// `size` is that of the whole file.
    fn of(bytes: &[u8], size: usize, layout: Layout) -> Self {
        let mut fit = Self { is_whole: true, ..Self::default() };
        if !layout.has_records {
            fit.add(bytes, 0, size - bytes.len(), layout);
            let root = fit.values.first().map(|(_, ty, _)| ty.shape());
            fit.is_vector = matches!(root, Some(Shape::Fixed(..) | Shape::Packed(..)));
            return fit;
        }
        let (mut at, mut is_damaged) = (0, false);
        for _ in 0..MOST_RECORDS {
            let Some(frame) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
            let (start, length) = (at + FRAME_BYTES, wire::record_length(*frame) as usize);
            at = start.saturating_add(length);
            if length == 0 || at > size {
                fit.is_whole = false;
            } else {
                fit.bytes += FRAME_BYTES;
            }
            if length == 0 {
                return fit;
            }
            let read = bytes.get(start..at.min(bytes.len())).unwrap_or_default();
            let is_clean = fit.add(read, start, at.min(size) - start - read.len(), layout) && at <= size;
            is_damaged |= !is_clean;
            fit.clean_records += usize::from(is_clean);
            fit.leading_records += usize::from(!is_damaged);
        }
        let left = bytes.len().saturating_sub(at);
        fit.is_whole &= !(1..FRAME_BYTES).contains(&left) || size > bytes.len();
        fit
    }

    /// Adds the value in `bytes`, which start at `start` in the file. `unread` bytes of the value may follow. Returns
    /// whether the value is what an encoder writes.
    fn add(&mut self, bytes: &[u8], start: usize, unread: usize, layout: Layout) -> bool {
        const LOOKED_AT: usize = 1000;
        const TEXT_HEAD: usize = 8;

        let outline = match layout.is_godot3 {
            true => Outline::of_godot3(bytes, LOOKED_AT),
            false => Outline::of(bytes, LOOKED_AT),
        };
        let notes = &outline.notes().first;
        let is_odd =
            |note: &&Error| !matches!(note.kind(), ErrorKind::NotCanonical(oddity) if oddity.is_harmless());
        let problem = notes.iter().find(is_odd).or(outline.error());
        self.is_whole &= match problem.map(Error::kind) {
            None => true,
            // Only the first bytes were read.
            Some(ErrorKind::UnexpectedEnd { needed, left }) => needed - left <= unread,
            Some(ErrorKind::BadCount { count, left }) => unread > 0 && *count as usize <= left + unread,
            Some(_) => false,
        };
        // Nodes after a problem may be misread.
        let end = problem.and_then(Error::offset).unwrap_or(outline.end());
        let mut reached = 0;
        for node in outline.nodes() {
            self.values.push((start + node.bytes.start, node.ty, node.preview.clone()));
            if !node.is_complete || node.bytes.end > end {
                continue;
            }
            reached = node.bytes.end.min(bytes.len()).max(reached);
            // Numbers that are read as text have control characters, which previews escape.
            if node.ty.shape() == Shape::Text && !node.preview.contains('\\') {
                self.text += node.bytes.len().saturating_sub(TEXT_HEAD);
            }
        }
        // Bytes follow: this is not the only value.
        let is_short = matches!(problem.map(Error::kind), Some(ErrorKind::TrailingBytes(_)));
        self.bytes += if is_short { 0 } else { reached };
        notes.is_empty() && outline.error().is_none()
    }
}
