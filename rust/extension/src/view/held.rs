//! Bytes that a view keeps, and the values that it finds in them.

use godot::builtin::PackedByteArray;
use variant_codec::dialect::{Dialect, Godot3, Godot4};
use variant_codec::view::{Key, KnownOffsets, Spot};
use variant_codec::{Result, View};
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
    offset: u64,
    limits: ViewLimits,
    format: Format,
    known: KnownOffsets,
}

impl Held {
    /// Bytes that start at `offset` in a file, read within `limits`.
    pub fn new(bytes: PackedByteArray, offset: u64, limits: ViewLimits, format: Format) -> Self {
        Self { bytes: OwnedBytes::new(bytes), offset, limits, format, known: KnownOffsets::default() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        engine::bytes(self.bytes.get())
    }

    /// The offset of the bytes in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset of the end of the bytes in the file.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes().len() as u64
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
