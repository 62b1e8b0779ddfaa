//! Bytes that a view keeps, and the values that it finds in them.

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::dialect::{Dialect, Godot3, Godot4};
use variant_codec::godot3::Loss;
use variant_codec::limits::Spent;
use variant_codec::stream::{Decoder, Measure, Sink};
use variant_codec::view::{Key, KnownOffsets, Spot};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, View};
use variant_engine::{self as engine, OwnedBytes};

use super::path::Step;
use crate::variant::builder::VariantBuilder;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;

/// The format of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Godot 4's.
    Godot4,
    /// Godot 3's.
    Godot3,
}

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
    limits: Limits,
    format: Format,
    known: KnownOffsets,
}

impl Held {
    /// Bytes that start at `offset` in a file, read within `limits`.
    pub fn new(bytes: PackedByteArray, offset: u64, limits: Limits, format: Format) -> Self {
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

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The input for decoding values.
    pub fn input(&self) -> Input<'_> {
        match self.format {
            Format::Godot4 => Input::Shared(self.bytes.get()),
            Format::Godot3 => no_input(),
        }
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
        View::at_spot(self.bytes(), &self.limits, spot)?.remembering(&self.known).following_tags()
    }

    /// Fails if bytes follow the value at the spot, unless the limits allow that.
    ///
    /// # Errors
    /// As [`View::check_end`].
    pub fn check_end(&self, spot: Spot) -> Result<()> {
        match self.format {
            Format::Godot4 => View::<Godot4>::at_spot(self.bytes(), &self.limits, spot)?.check_end(),
            Format::Godot3 => View::<Godot3>::at_spot(self.bytes(), &self.limits, spot)?.check_end(),
        }
    }
}

/// An empty input, so that the builder never lets the engine copy values from the input. Use it for bytes
/// that the engine cannot read, or that are not in a PackedByteArray.
pub fn no_input<'a>() -> Input<'a> {
    Input::Owned(PackedByteArray::new())
}

/// Builds the value that `write` writes from bytes in `input`. Refuses objects even if the limits allow them.
/// Before it reports an object that the limits allow, it runs `measure`; if `measure` fails, it reports that
/// error instead.
///
/// # Errors
/// Fails if the bytes are invalid or contain objects.
pub fn built(
    input: &Input<'_>,
    limits: &Limits,
    keys: &mut KeyCache,
    write: impl FnOnce(&Limits, &mut VariantBuilder<'_, '_>) -> Result<()>,
    measure: impl FnOnce(&mut Measure) -> Result<()>,
) -> Result<Variant> {
    let without_objects;
    let building = if limits.allow_objects {
        without_objects = Limits { allow_objects: false, ..limits.clone() };
        &without_objects
    } else {
        limits
    };
    let reading = Reading { input, strictness: Strictness::Strict, limits: building, keys };
    let mut builder = VariantBuilder::new(reading);
    match write(building, &mut builder) {
        Ok(()) => Ok(builder.finish().into_value()),
        Err(error) if limits.allow_objects && *error.kind() == ErrorKind::ObjectsNotAllowed => {
            measure(&mut Measure::counting(EncodeOptions::default()))?;
            const REASON: &str = "a view creates no objects; fetch their properties, or decode the bytes";
            Err(error.with_kind(ErrorKind::Object(REASON.into())))
        }
        Err(error) => Err(error),
    }
}

/// Decodes the value of `view`. `input` contains the bytes of the view, or comes from [`no_input`].
///
/// # Errors
/// Fails if the bytes are invalid or contain objects.
pub fn decode<D: Dialect>(
    view: &View<'_, D>,
    input: &Input<'_>,
    limits: &Limits,
    keys: &mut KeyCache,
) -> Result<Variant> {
    decode_part(view, input, limits, keys, &mut Spent::default())
}

/// Like [`decode`], for one of several parts of an input. Some limits apply to all parts together; `spent` is
/// the share that earlier parts have used.
///
/// # Errors
/// As [`decode`].
pub fn decode_part<D: Dialect>(
    view: &View<'_, D>,
    input: &Input<'_>,
    limits: &Limits,
    keys: &mut KeyCache,
    spent: &mut Spent,
) -> Result<Variant> {
    let mut before = spent.clone();
    let write = |limits: &Limits, builder: &mut VariantBuilder<'_, '_>| {
        view.with_limits(limits).write_part_into(builder, spent)
    };
    built(input, limits, keys, write, |measure| view.write_part_into(measure, &mut before))
}

/// Decodes one of several records. The limits apply to all records together; `spent` is the share that
/// earlier records have used.
///
/// # Errors
/// Fails if the bytes are invalid or contain objects.
pub fn decode_record(
    record: &[u8],
    format: Format,
    limits: &Limits,
    spent: &mut Spent,
    keys: &mut KeyCache,
) -> Result<Variant> {
    fn write_into<S: Sink>(
        (record, format): (&[u8], Format),
        limits: &Limits,
        sink: &mut S,
        spent: &mut Spent,
    ) -> Result<()> {
        fn decode_only<D: Dialect>(
            decoder: Decoder<'_, D>,
            sink: &mut impl Sink,
            spent: &mut Spent,
        ) -> Result<()> {
            let mut decoder = decoder.after(spent.clone());
            decoder.decode_only(sink)?;
            *spent = decoder.spent();
            Ok(())
        }
        match format {
            Format::Godot4 => decode_only(Decoder::new(record, Strictness::Strict, limits), sink, spent),
            Format::Godot3 => {
                let decoder = Decoder::of_godot3(record, Strictness::Strict, limits, Loss::Refused);
                decode_only(decoder, sink, spent)
            }
        }
    }
    let (source, mut before) = ((record, format), spent.clone());
    built(
        &no_input(),
        limits,
        keys,
        |limits, builder| write_into(source, limits, builder, spent),
        |measure| write_into(source, limits, measure, &mut before),
    )
}
