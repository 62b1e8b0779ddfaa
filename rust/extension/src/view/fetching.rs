//! Builds the values that a view has found.

use godot::builtin::{GString, Variant};
use variant_codec::dialect::Dialect;
use variant_codec::godot3::Loss;
use variant_codec::limits::Spent;
use variant_codec::stream::{Decoder, Text};
use variant_codec::{ErrorKind, Limits, Result, Strictness, View};
use variant_engine::string;
use variant_live::decode::builder::VariantBuilder;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;

/// The format of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Godot 4's.
    Godot4,
    /// Godot 3's.
    Godot3,
}

/// The limits of a view.
#[derive(Clone)]
pub struct ViewLimits {
    /// For finding values, also inside objects.
    pub finding: Limits,
    /// For building values: without objects, which a view never creates.
    building: Limits,
}

impl ViewLimits {
    /// A view that finds values within these limits.
    pub fn new(finding: Limits) -> Self {
        let building = Limits { allow_objects: false, ..finding.clone() };
        Self { finding, building }
    }

    /// A budget and caches for building values from bytes in `input`. Pass no input that the engine cannot read.
    pub fn fetching<'l>(&'l self, input: Option<Input<'l>>) -> Fetching<'l> {
        let allows_objects = self.finding.allow_objects;
        Fetching { input, decoding: Decoding::strict(&self.building), allows_objects }
    }
}

/// The budget and the caches for building the values of one access.
pub struct Fetching<'l> {
    input: Option<Input<'l>>,
    decoding: Decoding<'l>,
    /// Whether the view finds values inside objects.
    allows_objects: bool,
}

impl<'l> Fetching<'l> {
    /// Builds the value that `read` decodes within the given limits.
    ///
    /// # Errors
    /// Fails if the bytes are invalid or contain objects.
    pub fn build(
        &mut self,
        read: impl FnOnce(&'l Limits, &mut VariantBuilder<'_, '_>, &mut Spent) -> Result<()>,
    ) -> Result<Variant> {
        const REASON: &str = "a view creates no objects; fetch their properties, or decode the bytes";

        let limits = self.decoding.limits;
        let built = self.decoding.build(self.input.as_ref(), |builder, spent| read(limits, builder, spent));
        match built {
            Ok((built, ())) => Ok(built.into_value()),
            Err(error) if self.allows_objects && *error.kind() == ErrorKind::ObjectsNotAllowed => {
                Err(error.with_kind(ErrorKind::Object(REASON.into())))
            }
            Err(error) => Err(error),
        }
    }

    /// Builds the value of `view`.
    ///
    /// # Errors
    /// As [`Fetching::build`].
    pub fn value<D: Dialect>(&mut self, view: &View<'_, D>) -> Result<Variant> {
        self.build(|limits, builder, spent| view.with_limits(limits).write_part_into(builder, spent))
    }

    /// Builds the String for the text of `view`.
    ///
    /// # Errors
    /// As [`Fetching::build`].
    pub fn text<D: Dialect>(&mut self, view: &View<'_, D>) -> Result<GString> {
        let text = view.as_str()?;
        match self.decoding.charge_text(text.len()) {
            Ok(()) => Ok(string(Text::Utf8(&text))),
            // Fails in the same way, but with the offset.
            Err(_) => self.value(view).map(|value| value.stringify()),
        }
    }

    /// Builds the value of one of several records.
    ///
    /// # Errors
    /// As [`Fetching::build`].
    pub fn record(&mut self, record: &[u8], format: Format) -> Result<Variant> {
        fn read<D: Dialect>(
            decoder: Decoder<'_, D>,
            builder: &mut VariantBuilder<'_, '_>,
            spent: &mut Spent,
        ) -> Result<()> {
            let mut decoder = decoder.after(std::mem::take(spent));
            let end = decoder.decode_only(builder);
            *spent = decoder.spent();
            end.map(|_| ())
        }
        self.build(|limits, builder, spent| match format {
            Format::Godot4 => read(Decoder::new(record, Strictness::Strict, limits), builder, spent),
            Format::Godot3 => {
                let decoder = Decoder::of_godot3(record, Strictness::Strict, limits, Loss::Refused);
                read(decoder, builder, spent)
            }
        })
    }
}
