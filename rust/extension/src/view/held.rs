//! Bytes that a view keeps, and the values that it finds in them.

use std::ops::Range;

use godot::builtin::PackedByteArray;
use variant_codec::dialect::{Dialect, Godot3, Godot4};
use variant_codec::view::{Key, KnownOffsets, Spot};
use variant_codec::{Error, Result, View};
use variant_engine::{self as engine, OwnedBytes};
use variant_live::decode::input::Input;

use super::fetching::{Fetching, Format, ViewLimits};
use super::path::Step;

/// A value that has been found, in either format.
pub enum Found<'a> {
    /// In the format of Godot 4.
    Godot4(View<'a, Godot4>),
    /// In the format of Godot 3.
    Godot3(View<'a, Godot3>),
}

/// Runs the same code for either format.
macro_rules! in_either {
    ($found:expr, $view:ident => $result:expr) => {
        match $found {
            $crate::view::held::Found::Godot4($view) => $result,
            $crate::view::held::Found::Godot3($view) => $result,
        }
    };
}
pub(super) use in_either;

/// Bytes, their limits, and the known offsets of values in them.
pub struct Held {
    bytes: OwnedBytes,
    /// The range in the file, without the length prefix.
    place: Range<u64>,
    /// Whether the bytes are those of a block, decompressed, so that offsets in them are unknown to the caller.
    is_block: bool,
    limits: ViewLimits,
    format: Format,
    known: KnownOffsets,
}

impl Held {
    /// Bytes that start at `offset` in a file, read within `limits`.
    pub fn new(bytes: PackedByteArray, offset: u64, limits: ViewLimits, format: Format) -> Self {
        let place = offset..offset + bytes.len() as u64;
        let (bytes, known) = (OwnedBytes::new(bytes), KnownOffsets::default());
        Self { bytes, place, is_block: false, limits, format, known }
    }

    /// The records of the block at `place` in a file, read within `limits`.
    pub fn block(bytes: PackedByteArray, place: Range<u64>, limits: ViewLimits) -> Self {
        Self { place, is_block: true, ..Self::new(bytes, 0, limits, Format::Godot4) }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        engine::bytes(self.bytes.get())
    }

    /// The offset of the end of the bytes in the file.
    pub fn end(&self) -> u64 {
        self.place.end
    }

    /// The range in the file of a range of these bytes: that of the whole block if they are in a block.
    pub fn range(&self, range: Range<usize>) -> [u64; 2] {
        let start = self.place.start;
        if self.is_block { [start, self.end()] } else { [range.start, range.end].map(|at| start + at as u64) }
    }

    /// An error in these bytes, with its offset in the file.
    pub fn located(&self, error: Error) -> Error {
        let start = usize::try_from(self.place.start).unwrap_or(usize::MAX);
        if self.is_block { error.without_offset().at(start) } else { error.shifted(start) }
    }

    /// A budget and caches for building values.
    pub fn fetching(&self) -> Fetching<'_> {
        self.limits.fetching((self.format == Format::Godot4).then(|| Input::Shared(self.bytes.get())))
    }

    /// Calls `look` with the value to which `path` leads from `spot`.
    ///
    /// # Errors
    /// Fails if the path leads nowhere, the bytes are invalid, or `look` fails.
    pub fn find<R>(&self, spot: Spot, path: &[Step], look: impl FnOnce(Found<'_>) -> Result<R>) -> Result<R> {
        let keys: Vec<Key<'_>> = path.iter().map(Step::key).collect();
        match self.format {
            Format::Godot4 => self.view(spot)?.look_at(&keys, |view| look(Found::Godot4(view))),
            Format::Godot3 => self.view(spot)?.look_at(&keys, |view| look(Found::Godot3(view))),
        }
    }

    fn view<D: Dialect>(&self, spot: Spot) -> Result<View<'_, D>> {
        View::at_spot(self.bytes(), &self.limits.finding, spot)?.remembering(&self.known).following_tags()
    }

    /// Fails if bytes follow the value at the spot, unless the limits allow that.
    ///
    /// # Errors
    /// As [`View::check_end`].
    pub fn check_end(&self, spot: Spot) -> Result<()> {
        match self.format {
            Format::Godot4 => View::<Godot4>::at_spot(self.bytes(), &self.limits.finding, spot)?.check_end(),
            Format::Godot3 => View::<Godot3>::at_spot(self.bytes(), &self.limits.finding, spot)?.check_end(),
        }
    }
}
