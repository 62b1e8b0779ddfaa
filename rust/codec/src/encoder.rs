//! Encodes events as bytes: [`Encoder`] writes the bytes, [`Measure`] only counts them.

use std::marker::PhantomData;

use crate::code_units::{BOM, Utf8Rule, utf8_len};
use crate::error::{ErrorKind, Result};
use crate::events::{ElementType, NodePathParts, Sink, Text};
use crate::format::{self, ContainerKind, Lane, Shape, VariantType};
use crate::lanes::{self, Lanes, Precision};
use crate::output::{Count, Output};
use crate::wire::dialect::{Dialect, Godot3, Godot4};

/// Options of an [`Encoder`].
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// The width of `real_t` on the wire. An engine writes its own width. Components of the other width are
    /// converted. `None` keeps the width of each value.
    pub precision: Option<Precision>,
    /// Whether to refuse text that does not survive a round trip: lone surrogates, a leading byte-order mark,
    /// NULs. If not, such text is written as the engine writes it.
    pub strict_text: bool,
}

impl Default for EncodeOptions {
    /// As official engines encode.
    fn default() -> Self {
        Self { precision: Some(Precision::Single), strict_text: false }
    }
}

/// Writes a header, then a payload of 4 bytes if `narrow`, otherwise of 8 bytes. Returns their size. Both
/// cases use the same stores.
#[inline(always)]
fn put_number(target: &mut [u8; LONGEST], header: u32, payload: u64, narrow: bool) -> usize {
    target[..8].copy_from_slice(&(u64::from(header) | payload << 32).to_le_bytes());
    target[8..12].copy_from_slice(&((payload >> 32) as u32).to_le_bytes());
    if narrow { 8 } else { 12 }
}

/// Returns the text. Fails if `strict` and the text would not survive a round trip.
#[inline]
fn utf8_checked(text: &str, strict: bool) -> Result<&str> {
    if strict && text.starts_with(format::BOM) {
        return Err(ErrorKind::InvalidCodeUnit(BOM).into());
    }
    if strict && has_nul(text.as_bytes()) {
        return Err(ErrorKind::InvalidCodeUnit(0).into());
    }
    Ok(text)
}

/// Whether text contains a NUL. Most text is so short that the call of a vectorised search takes longer than a loop.
#[inline]
fn has_nul(text: &[u8]) -> bool {
    const SHORT: usize = 32;
    if text.len() <= SHORT {
        text.iter().fold(false, |found, byte| found | (*byte == 0))
    } else {
        memchr::memchr(0, text).is_some()
    }
}

/// Writes values in the format of Godot 4, or of another [`Dialect`], one after the other.
///
/// ```
/// use variant_codec::stream::{Encoder, Sink};
/// use variant_codec::EncodeOptions;
///
/// let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
/// encoder.int(7)?;
/// assert_eq!(encoder.into_output(), variant_codec::Value::from(7).encode()?);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Encoder<O, D = Godot4> {
    out: O,
    options: EncodeOptions,
    dialect: PhantomData<D>,
}

/// Counts the bytes that an [`Encoder`] would write, with the same code.
pub type Measure = Encoder<Count>;

impl Measure {
    /// A counter at zero.
    pub fn counting(options: EncodeOptions) -> Self {
        Self::new(Count(0), options)
    }

    /// Bytes counted so far.
    pub fn bytes(&self) -> usize {
        self.out.0
    }
}

impl<O: Output> Encoder<O> {
    /// An encoder that appends to `out`.
    pub fn new(out: O, options: EncodeOptions) -> Self {
        Self { out, options, dialect: PhantomData }
    }
}

impl<O: Output> Encoder<O, Godot3> {
    /// An encoder that appends to `out` in Godot 3's format. It accepts only types that Godot 3 has.
    pub(crate) fn for_godot3(out: O, strict_text: bool) -> Self {
        let options = EncodeOptions { strict_text, ..EncodeOptions::default() };
        Self { out, options, dialect: PhantomData }
    }
}

impl<O: Output, D: Dialect> Encoder<O, D> {
    /// A type's header, without flags.
    #[inline(always)]
    fn header(ty: VariantType) -> Result<u32> {
        match D::id_of(ty) {
            Some(id) => Ok(id.into()),
            None => Err(ErrorKind::NoCounterpart(format!("Godot 3 has no {ty}").into()).into()),
        }
    }

    /// The output so far.
    pub fn output(&self) -> &O {
        &self.out
    }

    pub(crate) fn output_mut(&mut self) -> &mut O {
        &mut self.out
    }

    /// The complete output.
    pub fn into_output(self) -> O {
        self.out
    }

    #[inline(always)]
    fn utf8_rule(&self) -> Utf8Rule {
        if self.options.strict_text { Utf8Rule::RoundTrip } else { Utf8Rule::Generalized }
    }

    /// Reserves exactly `bytes` more bytes. Fails if the value would be too large for the engine to read.
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > format::MAX_BYTES - self.out.len().min(format::MAX_BYTES) {
            return Err(ErrorKind::TooLarge.into());
        }
        self.out.reserve(bytes)
    }

    pub(crate) fn put_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        self.out.put(bytes);
        Ok(())
    }

    #[inline(always)]
    fn put_u32(&mut self, value: u32) {
        self.out.put(&value.to_le_bytes());
    }

    /// Writes a header and a 4-byte payload as one store.
    #[inline(always)]
    fn put_header_and_u32(&mut self, header: u32, payload: u32) -> Result<()> {
        self.reserve(8)?;
        self.out.put(&(u64::from(header) | u64::from(payload) << 32).to_le_bytes());
        Ok(())
    }

    #[inline(always)]
    fn put_header_and_u64(&mut self, header: u32, payload: u64) -> Result<()> {
        self.reserve(12)?;
        self.out.put(&(u128::from(header) | u128::from(payload) << 32).to_le_bytes()[..12]);
        Ok(())
    }

    /// Writes a run in blocks and reserves space once per block.
    ///
    /// `put` writes one value to the start of [`LONGEST`] bytes and returns its length. `put_exactly` writes
    /// one value if there is no space for a block.
    #[inline(always)]
    fn put_run<T>(
        &mut self,
        values: &mut impl Iterator<Item = T>,
        put: impl Fn(&mut [u8; LONGEST], T) -> usize,
        put_exactly: impl Fn(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut more = true;
            let write = |block: &mut [u8; BLOCK]| {
                let mut at = 0;
                while let Some(target) = block.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                    match values.next() {
                        Some(value) => at += put(target, value),
                        None => {
                            more = false;
                            break;
                        }
                    }
                }
                at
            };
            let allowed = self.out.len() <= format::MAX_BYTES - BLOCK;
            if !(allowed && self.out.put_block(write)) {
                match values.next() {
                    Some(value) => put_exactly(self, value)?,
                    None => more = false,
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn put_text(&mut self, text: Text<'_>) -> Result<()> {
        self.put_text_and_tail(text, 0)
    }

    /// Writes length-prefixed, padded text with `tail` NULs at its end, which the length includes.
    #[inline(always)]
    fn put_text_and_tail(&mut self, text: Text<'_>, tail: usize) -> Result<()> {
        if let Text::Utf32(units) = text
            && !self.options.strict_text
            && units.len() < (format::MAX_BYTES - self.out.len().min(format::MAX_BYTES)) / 8
            && self.out.put_text(units, tail)
        {
            return Ok(());
        }
        let bytes = match text {
            Text::Utf8(text) => utf8_checked(text, self.options.strict_text)?.len(),
            Text::Utf32(units) => utf8_len(units, self.utf8_rule())?,
        };
        let counted = bytes.saturating_add(tail);
        self.reserve(format::padded(counted).saturating_add(4))?;
        self.put_u32(counted as u32);
        match text {
            Text::Utf8(text) => self.out.put(text.as_bytes()),
            Text::Utf32(units) => self.out.put_utf32(units, bytes),
        }
        self.out.put_zeros(tail);
        self.out.put_zeros(format::padding(counted));
        Ok(())
    }

    /// The header of a type with components, with the flag for their width.
    #[inline(always)]
    fn lanes_header(&self, ty: VariantType, lane: Lane, precision: Precision) -> Result<u32> {
        let wide = lane == Lane::Real && self.precision(precision) == Precision::Double;
        Ok(Self::header(ty)? | if wide { format::FLAG_64 } else { 0 })
    }

    /// The width in which components of this width are written.
    #[inline(always)]
    fn precision(&self, given: Precision) -> Precision {
        self.options.precision.unwrap_or(given)
    }

    /// Writes components, converted to the encoder's precision. The caller must have reserved the space.
    #[inline(always)]
    fn put_lanes(&mut self, lane: Lane, lanes: Lanes<'_>) {
        if lane != Lane::Real || lanes.precision == self.precision(lanes.precision) {
            self.out.put(lanes.le);
        } else {
            lanes::convert(lanes.le, lanes.precision, |bytes| self.out.put(bytes));
        }
    }

    /// The number of bytes that these components take on the wire.
    #[inline(always)]
    fn lanes_len(&self, lane: Lane, lanes: Lanes<'_>) -> usize {
        if lane != Lane::Real || lanes.precision == self.precision(lanes.precision) {
            lanes.le.len()
        } else {
            let wide = |precision| precision == Precision::Double;
            lanes.le.len() / lane.width(wide(lanes.precision))
                * lane.width(wide(self.precision(lanes.precision)))
        }
    }

    #[inline]
    fn put_element_type(&mut self, element: ElementType<'_>) -> Result<()> {
        match element {
            ElementType::Untyped => Ok(()),
            ElementType::Builtin(ty) => {
                self.reserve(4)?;
                self.put_u32(u32::from(ty.id()));
                Ok(())
            }
            ElementType::Class(text) | ElementType::Script(text) => self.put_text(text),
        }
    }

    /// Writes a count, which the format stores as a signed number.
    #[inline(always)]
    fn put_count(&mut self, count: usize) -> Result<()> {
        if count > format::MAX_BYTES {
            return Err(ErrorKind::TooLarge.into());
        }
        self.reserve(4)?;
        self.put_u32(count as u32);
        Ok(())
    }
}

/// The size in bytes of a block, for which space is reserved once. A block holds many elements. It is
/// also small, because `put_run` writes elements one by one where a whole block no longer fits. Reserving once
/// per block shortens the encoding of a million ints from 3.4 to 1.8 ms (`cargo xtask bench ints`).
const BLOCK: usize = 512;
/// The longest element of a run: a header and four 64-bit `real_t` components.
const LONGEST: usize = 36;

#[inline(always)]
fn kind_bits(element: &ElementType<'_>, shift: u32) -> u32 {
    let kind = match element {
        ElementType::Untyped => ContainerKind::Untyped,
        ElementType::Builtin(_) => ContainerKind::Builtin,
        ElementType::Class(_) => ContainerKind::Class,
        ElementType::Script(_) => ContainerKind::Script,
    };
    (kind as u32) << shift
}

impl<O: Output, D: Dialect> Sink for Encoder<O, D> {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    #[inline(always)]
    fn written(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Nil)?);
        Ok(())
    }

    #[inline(always)]
    fn bool(&mut self, value: bool) -> Result<()> {
        self.put_header_and_u32(Self::header(VariantType::Bool)?, u32::from(value))
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<()> {
        match i32::try_from(value) {
            Ok(small) => self.put_header_and_u32(Self::header(VariantType::Int)?, small as u32),
            Err(_) => {
                self.put_header_and_u64(Self::header(VariantType::Int)? | format::FLAG_64, value as u64)
            }
        }
    }

    #[inline(always)]
    fn float(&mut self, value: f64) -> Result<()> {
        let small = value as f32;
        // The comparison is false for every NaN, which therefore keeps all its bits.
        if f64::from(small) == value {
            self.put_header_and_u32(Self::header(VariantType::Float)?, small.to_bits())
        } else {
            self.put_header_and_u64(Self::header(VariantType::Float)? | format::FLAG_64, value.to_bits())
        }
    }

    #[inline(always)]
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        if let Text::Utf8(text) = text {
            let bytes = utf8_checked(text, self.options.strict_text)?.as_bytes();
            self.reserve(format::padded(bytes.len()).saturating_add(8))?;
            let (header, count) = (Self::header(ty)?, bytes.len() as u64);
            self.out.put(&(u64::from(header) | count << 32).to_le_bytes());
            self.out.put(bytes);
            self.out.put_zeros(format::padding(bytes.len()));
            return Ok(());
        }
        self.reserve(4)?;
        self.put_u32(Self::header(ty)?);
        self.put_text(text)
    }

    #[inline(always)]
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let Shape::Fixed(lane, _) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        self.reserve(4 + self.lanes_len(lane, lanes))?;
        self.put_u32(self.lanes_header(ty, lane, lanes.precision)?);
        self.put_lanes(lane, lanes);
        Ok(())
    }

    #[inline(always)]
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
        let bytes = self.lanes_len(lane, lanes);
        let element = lane.width(lane == Lane::Real && lanes.precision == Precision::Double) * per_element;
        self.reserve(format::padded(bytes).saturating_add(8))?;
        self.put_u32(self.lanes_header(ty, lane, lanes.precision)?);
        self.put_u32((lanes.le.len() / element) as u32);
        self.put_lanes(lane, lanes);
        self.out.put_zeros(format::padding(bytes));
        Ok(())
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        self.reserve(16)?;
        self.put_u32(Self::header(VariantType::NodePath)?);
        self.put_u32(path.names.len() as u32 | format::NODE_PATH_NEW_FORMAT);
        self.put_u32(path.subnames.len() as u32);
        self.put_u32(if path.absolute { format::NODE_PATH_ABSOLUTE } else { 0 });
        path.names.iter().chain(path.subnames).try_for_each(|part| self.put_text(*part))
    }

    #[inline(always)]
    fn rid(&mut self, id: u64) -> Result<()> {
        if !D::HAS_FLAGS {
            self.reserve(4)?;
            self.put_u32(Self::header(VariantType::Rid)?);
            return Ok(());
        }
        self.put_header_and_u64(Self::header(VariantType::Rid)?, id)
    }

    #[inline(always)]
    fn callable(&mut self) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Callable)?);
        Ok(())
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Signal)?);
        self.put_text(name)?;
        self.reserve(8)?;
        self.out.put(&object.to_le_bytes());
        Ok(())
    }

    #[inline(always)]
    fn object_id(&mut self, id: u64) -> Result<()> {
        if id == 0 {
            return self.nil();
        }
        self.put_header_and_u64(Self::header(VariantType::Object)? | format::FLAG_OBJECT_AS_ID, id)
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Array)? | kind_bits(&element, format::KIND_SHIFT));
        self.put_element_type(element)?;
        self.put_count(len)
    }

    #[inline(always)]
    fn ints(&mut self, (): &mut (), ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        let int_header = Self::header(VariantType::Int)?;
        let put = |target: &mut [u8; LONGEST], int: i64| {
            let narrow = i64::from(int as i32) == int;
            let header = int_header | if narrow { 0 } else { format::FLAG_64 };
            put_number(target, header, int as u64, narrow)
        };
        self.put_run(ints, put, Self::int)
    }

    #[inline(always)]
    fn floats(&mut self, (): &mut (), floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        let float_header = Self::header(VariantType::Float)?;
        let put = |target: &mut [u8; LONGEST], float: f64| {
            let small = float as f32;
            let narrow = f64::from(small) == float;
            let header = float_header | if narrow { 0 } else { format::FLAG_64 };
            let payload = if narrow { u64::from(small.to_bits()) } else { float.to_bits() };
            put_number(target, header, payload, narrow)
        };
        self.put_run(floats, put, Self::float)
    }

    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        (): &mut (),
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        let Shape::Fixed(lane, _) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let put_exactly = |encoder: &mut Self, le: [u8; N]| encoder.fixed(ty, Lanes { precision, le: &le });
        if 4 + N > LONGEST || (lane == Lane::Real && precision != self.precision(precision)) {
            return values.try_for_each(|le| put_exactly(self, le));
        }
        let header = self.lanes_header(ty, lane, precision)?.to_le_bytes();
        let put = |target: &mut [u8; LONGEST], le: [u8; N]| {
            target[..4].copy_from_slice(&header);
            target[4..4 + N].copy_from_slice(&le);
            4 + N
        };
        self.put_run(values, put, put_exactly)
    }

    #[inline(always)]
    fn begin_dictionary(&mut self, len: usize, key: ElementType<'_>, value: ElementType<'_>) -> Result<()> {
        self.reserve(4)?;
        let kinds = kind_bits(&key, format::KIND_SHIFT) | kind_bits(&value, format::VALUE_KIND_SHIFT);
        self.put_u32(Self::header(VariantType::Dictionary)? | kinds);
        self.put_element_type(key)?;
        self.put_element_type(value)?;
        self.put_count(len)
    }

    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::Object)?);
        self.put_text(class)?;
        self.put_count(properties)
    }

    fn begin_property(&mut self, (): &mut (), name: Text<'_>) -> Result<()> {
        self.put_text(name)
    }

    #[inline(always)]
    fn begin_strings(&mut self, len: usize) -> Result<()> {
        self.reserve(4)?;
        self.put_u32(Self::header(VariantType::PackedStringArray)?);
        self.put_count(len)
    }

    #[inline(always)]
    fn string(&mut self, (): &mut (), text: Text<'_>) -> Result<()> {
        self.put_text_and_tail(text, 1)
    }
}
