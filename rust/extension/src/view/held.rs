//! Bytes that a view keeps, and what it finds in them.

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::dialect::{Dialect, Godot3, Godot4};
use variant_codec::godot3::Loss;
use variant_codec::limits::Spent;
use variant_codec::stream::Decoder;
use variant_codec::view::{Key, KnownOffsets, Spot};
use variant_codec::{Limits, Result, Strictness, View};
use variant_engine::{self as engine, OwnedBytes};

use super::path::Step;
use crate::variant::builder::VariantBuilder;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;

/// Which engine's format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Godot 4's.
    Godot4,
    /// Godot 3's.
    Godot3,
}

/// A value that has been found, in either format.
pub enum Found<'a> {
    /// In Godot 4's.
    Godot4(View<'a, Godot4>),
    /// In Godot 3's.
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

/// Bytes, what is accepted of them, and where what has been walked lies in them.
pub struct Held {
    bytes: OwnedBytes,
    /// Where they start in the file.
    offset: u64,
    limits: Limits,
    format: Format,
    known: KnownOffsets,
}

impl Held {
    /// Bytes that start at `offset` in a file, of which `limits` accept so much.
    pub fn new(bytes: PackedByteArray, offset: u64, limits: Limits, format: Format) -> Self {
        Self { bytes: OwnedBytes::new(bytes), offset, limits, format, known: KnownOffsets::default() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        engine::bytes(self.bytes.get())
    }

    /// Where they start in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What is accepted.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What values are decoded from.
    pub fn input(&self) -> Input<'_> {
        match self.format {
            Format::Godot4 => Input::Shared(self.bytes.get()),
            Format::Godot3 => no_input(),
        }
    }

    /// Calls `look` with what the path from a spot leads to.
    ///
    /// # Errors
    /// A path that leads nowhere; bad bytes; what `look` returns.
    pub fn find<R>(&self, spot: Spot, path: &[Step], look: impl FnOnce(Found<'_>) -> Result<R>) -> Result<R> {
        let keys: Vec<Key<'_>> = path.iter().map(Step::key).collect();
        match self.format {
            Format::Godot4 => self.view(spot)?.look_at(&keys, |view| look(Found::Godot4(view))),
            Format::Godot3 => self.view(spot)?.look_at(&keys, |view| look(Found::Godot3(view))),
        }
    }

    fn view<D: Dialect>(&self, spot: Spot) -> Result<View<'_, D>> {
        Ok(View::at_spot(self.bytes(), &self.limits, spot)?.remembering(&self.known))
    }
}

/// The input where the engine can copy nothing: bytes that it does not read, or does not hold.
pub fn no_input<'a>() -> Input<'a> {
    Input::Owned(PackedByteArray::new())
}

/// Builds what `write` writes, of bytes in `input`.
///
/// # Errors
/// What is wrong with them.
pub fn built(
    input: &Input<'_>,
    limits: &Limits,
    keys: &mut KeyCache,
    write: impl FnOnce(&mut VariantBuilder<'_, '_>) -> Result<()>,
) -> Result<Variant> {
    let reading = Reading { input, strictness: Strictness::Strict, limits, keys };
    let mut builder = VariantBuilder::new(reading);
    write(&mut builder)?;
    Ok(builder.finish().into_value())
}

/// Decodes what a view shows, of bytes in `input`.
///
/// # Errors
/// What is wrong with them.
pub fn decode<D: Dialect>(
    view: &View<'_, D>,
    input: &Input<'_>,
    limits: &Limits,
    keys: &mut KeyCache,
) -> Result<Variant> {
    built(input, limits, keys, |builder| view.write_into(builder))
}

/// Decodes one of several records, for all of which the limits hold together: the others are in `spent`.
///
/// # Errors
/// What is wrong with its bytes.
pub fn decode_record(
    record: &[u8],
    format: Format,
    limits: &Limits,
    spent: &mut Spent,
    keys: &mut KeyCache,
) -> Result<Variant> {
    fn write_into<D: Dialect>(
        decoder: Decoder<'_, D>,
        builder: &mut VariantBuilder<'_, '_>,
        spent: &mut Spent,
    ) -> Result<()> {
        let mut decoder = decoder.after(*spent);
        decoder.decode_only(builder)?;
        *spent = decoder.spent();
        Ok(())
    }
    built(&no_input(), limits, keys, |builder| match format {
        Format::Godot4 => write_into(Decoder::new(record, Strictness::Strict, limits), builder, spent),
        Format::Godot3 => {
            write_into(Decoder::of_godot3(record, Strictness::Strict, limits, Loss::Refused), builder, spent)
        }
    })
}
