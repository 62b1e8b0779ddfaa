//! [`View`]: the position of a value, and its extent in the bytes.

use std::marker::PhantomData;
use std::ops::Range;

use super::known_offsets::KnownOffsets;

use crate::decoder::Decoder;
use crate::decoder::heads::Head;
use crate::ends::Ends;
use crate::error::{Error, ErrorKind, Limit, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::format::{Shape, VariantType};
use crate::lanes::Precision;
use crate::limits::{Limits, Spent};
use crate::value::Value;
use crate::value::builder::ValueBuilder;
use crate::wire::cursor::Cursor;
use crate::wire::dialect::{Dialect, Godot3, Godot4};

static SAVE_FILES: Limits = Limits::for_save_files();

/// A view of encoded bytes: of one value, or of a part of it.
///
/// A view borrows the bytes, allocates nothing and is cheap to copy. It skips bytes by their lengths and
/// counts, and validates only the parts that are read: as strictly as [`Value::decode`], with the same errors
/// at the same offsets. It never finds a value that decoding would not return. A repeated key in a Dictionary
/// is an error, and so is a value of another type than its container declares.
///
/// Each step walks from the start of its container. [`KnownOffsets`] caches the offsets that have been found.
///
/// ```
/// use variant_codec::{Value, View};
///
/// let bytes = Value::from(vec!["sword", "rope"]).encode()?;
/// let items = View::new(&bytes)?;
/// assert_eq!(items.len()?, 2);
/// assert_eq!(items.index(1)?.as_str()?, "rope");
/// assert_eq!(items.index(2).unwrap_err().to_string(), "Array has no element 2: it has 2 (at byte 0)");
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct View<'a, D: Dialect = Godot4> {
    pub(super) bytes: &'a [u8],
    pub(super) limits: &'a Limits,
    pub(super) known: Option<&'a KnownOffsets>,
    ends: Option<&'a Ends>,
    pub(super) tags: Tags,
    pub(super) at: usize,
    pub(super) depth: u32,
    pub(super) form: Form,
    dialect: PhantomData<D>,
}

/// The position of a view's value: see [`View::spot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    at: usize,
    end: usize,
    depth: u32,
    form: Form,
    tags: Tags,
}

impl Spot {
    /// The spot of a value that fills these bytes, such as a record.
    pub fn of(bytes: Range<usize>) -> Self {
        let form = Form::Value(VariantType::Nil);
        Self { at: bytes.start, end: bytes.end, depth: 0, form, tags: Tags::LITERAL }
    }
}

/// The nesting level from which the ends of large values are cached.
const DEEP: u32 = 16;

/// The form in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A whole value, with its header.
    Value(VariantType),
    /// Components in a packed array of this type.
    Lanes(VariantType, Precision),
    /// Text in a PackedStringArray.
    Text,
    /// The name of a property.
    Name,
}

/// How the steps of a view treat Dictionaries with a [tag](crate::tag): as they are written, or as the values that they
/// stand for. One word, because each field of each row has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tags(pub(super) usize);

impl Tags {
    /// As they are written.
    pub const LITERAL: Self = Self(0);
    /// Followed, without a table of objects.
    pub const FOLLOWED: Self = Self(usize::MAX);

    /// The offset of the table of objects. Its key precedes it.
    pub fn table(self) -> Option<usize> {
        (self != Self::LITERAL && self != Self::FOLLOWED).then_some(self.0)
    }
}

impl<D: Dialect> Clone for View<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Dialect> Copy for View<'_, D> {}

impl<'a> View<'a> {
    /// The value at the start of `bytes`, within [`Limits::for_save_files`].
    ///
    /// # Errors
    /// Fails if the header is invalid or the bytes exceed [`Limits::max_bytes`].
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Self::within(bytes, &SAVE_FILES)
    }

    /// The value at the start of `bytes`. The limits apply to each part that is read.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn within(bytes: &'a [u8], limits: &'a Limits) -> Result<Self> {
        Self::start(bytes, limits)
    }
}

impl<'a> View<'a, Godot3> {
    /// The value at the start of bytes in Godot 3's format.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn of_godot3(bytes: &'a [u8], limits: &'a Limits) -> Result<Self> {
        Self::start(bytes, limits)
    }
}

impl<'a, D: Dialect> View<'a, D> {
    fn start(bytes: &'a [u8], limits: &'a Limits) -> Result<Self> {
        Self::at_spot(bytes, limits, Spot::of(0..bytes.len()))
    }

    /// The position of the value, for [`View::at_spot`].
    pub fn spot(&self) -> Spot {
        Spot { at: self.at, end: self.bytes.len(), depth: self.depth, form: self.form, tags: self.tags }
    }

    /// The value at a spot of these bytes. For a spot of other bytes, the result is arbitrary or an error.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn at_spot(bytes: &'a [u8], limits: &'a Limits, spot: Spot) -> Result<Self> {
        let Spot { at, end, depth, form, tags } = spot;
        let bytes = bytes.get(..end).unwrap_or(bytes);
        if depth == 0 && bytes.len().saturating_sub(at) > limits.max_bytes {
            return Err(Error::new(limits.exceeded(Limit::Bytes)).at(at));
        }
        let view =
            Self { bytes, limits, known: None, ends: None, tags, at, depth, form, dialect: PhantomData };
        match form {
            Form::Value(_) => view.value_at(at, depth),
            _ => Ok(view),
        }
    }

    /// This view with a cache of the offsets that it finds. One [`KnownOffsets`] serves one buffer.
    #[must_use]
    pub fn remembering(self, known: &'a KnownOffsets) -> Self {
        Self { known: Some(known), ..self }
    }

    /// This view with the ends of containers that have been found in its bytes.
    pub(crate) fn knowing(self, ends: &'a Ends) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// The same value in the same bytes, without caches.
    pub(crate) fn detached<'b>(self, bytes: &'b [u8], limits: &'b Limits) -> View<'b, D> {
        let Self { tags, at, depth, form, dialect, .. } = self;
        View { bytes, limits, known: None, ends: None, tags, at, depth, form, dialect }
    }

    pub(super) fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }

    /// A value inside this one that another view has found, with the caches of this view.
    pub(super) fn moved_to(&self, found: &View<'_, D>) -> Self {
        Self { at: found.at, depth: found.depth, form: found.form, ..*self }
    }

    /// This view with different limits.
    #[must_use]
    pub fn with_limits(self, limits: &'a Limits) -> Self {
        Self { limits, ..self }
    }

    /// The value with a header at `at`.
    // Inlined, because each field of each row is found by it.
    #[inline(always)]
    pub(super) fn value_at(self, at: usize, depth: u32) -> Result<Self> {
        match self.plain_type(at, depth) {
            Some(ty) => Ok(Self { at, depth, form: Form::Value(ty), ..self }),
            None => self.checked_value_at(at, depth),
        }
    }

    #[cold]
    #[inline(never)]
    fn checked_value_at(self, at: usize, depth: u32) -> Result<Self> {
        let header = Decoder::<D>::starting_at(self.bytes, at, depth, self.limits).header_here()?;
        Ok(Self { at, depth, form: Form::Value(header.ty), ..self })
    }

    /// The type of a header that passes the cheap checks.
    #[inline]
    fn plain_type(&self, at: usize, depth: u32) -> Option<VariantType> {
        /// An upper bound on the charge for a single value.
        const MEMORY: u64 = 1 << 10;
        let limits = self.limits;
        let ty = D::type_of(self.word(at)? as u8)?;
        let is_allowed = limits.allowed_types >> ty.id() & 1 == 1
            && depth <= limits.deepest()
            && limits.max_elements > 0
            && limits.max_memory >= MEMORY;
        is_allowed.then_some(ty)
    }

    #[inline]
    pub(super) fn word(&self, at: usize) -> Option<u32> {
        Cursor::new(self.bytes, at).peek()
    }

    pub(super) fn bytes_at(&self, at: usize, count: usize) -> Result<&'a [u8]> {
        Cursor::new(self.bytes, at).try_take(count)
    }

    #[inline]
    pub(super) fn decoder(&self) -> Decoder<'a, D> {
        Decoder::starting_at(self.bytes, self.at, self.depth, self.limits)
    }

    #[inline]
    pub(super) fn decoder_inside(&self, at: usize) -> Decoder<'a, D> {
        Decoder::starting_at(self.bytes, at, self.depth + 1, self.limits)
    }

    /// The value's type.
    pub fn ty(&self) -> VariantType {
        match self.form {
            Form::Value(ty) => ty,
            Form::Lanes(packed, _) => packed.element(),
            Form::Text => VariantType::String,
            Form::Name => VariantType::StringName,
        }
    }

    /// The type of a value with a header; Nil for values without one, which contain no others.
    #[inline]
    pub(super) fn holder(&self) -> VariantType {
        match self.form {
            Form::Value(ty) => ty,
            _ => VariantType::Nil,
        }
    }

    /// The value of this form at `at`, inside this value.
    #[inline]
    pub(super) fn written_as(self, form: Form, at: usize) -> Self {
        Self { at, depth: self.depth + 1, form, ..self }
    }

    pub(super) fn head(&self) -> Result<Head<'a>> {
        match self.form {
            Form::Value(_) => self.decoder().head(),
            Form::Lanes(..) | Form::Text | Form::Name => Ok(Head {
                count: 0,
                first: self.at,
                precision: Precision::default(),
                declared: [ElementType::Untyped; 2],
            }),
        }
    }

    /// Moves the decoder to the end of the value at its position.
    #[inline]
    pub(super) fn skip(&self, decoder: &mut Decoder<'a, D>) -> Result<()> {
        let at = decoder.position();
        let known =
            || self.known.filter(|_| self.depth >= DEEP)?.end_of(self.bytes, at, || self.decoder_inside(at));
        match self.ends.map_or_else(known, |ends| ends.end_of(at)) {
            Some(end) => {
                decoder.jump(end);
                Ok(())
            }
            None => decoder.skip_value(),
        }
    }

    /// Refuses the value at `at` if the container declares another type.
    #[inline]
    pub(super) fn refuse_misfit(
        &self,
        at: usize,
        container: &'static str,
        declared: &ElementType<'_>,
    ) -> Result<()> {
        let found = self.word(at).and_then(|header| D::type_of(header as u8));
        match found.filter(|found| !declared.accepts(*found)) {
            None => Ok(()),
            Some(found) => {
                let kind = Decoder::<D>::wrong_type(container, declared, found);
                Err(Error::new(kind).at(at))
            }
        }
    }

    /// Refuses elements of another type than an Array declares. The engine converts or drops them, which
    /// changes the indexes of other elements.
    pub(super) fn refuse_misfits(&self, head: &Head<'_>) -> Result<()> {
        if head.declared[0].builtin().is_none() || self.holder().shape() != Shape::Array {
            return Ok(());
        }
        let walk = || {
            let mut decoder = self.decoder_inside(head.first);
            for index in 0..head.count {
                let fits = self.refuse_misfit(decoder.position(), "Array", &head.declared[0]);
                fits.and_then(|()| self.skip(&mut decoder))
                    .map_err(|error| error.inside(Step::Index(index)))?;
            }
            Ok(())
        };
        match self.known {
            None => walk(),
            Some(known) => known.check_once(self.at, walk),
        }
    }

    /// Whether the value starts with a header. Elements of packed arrays and names of properties have none.
    pub fn has_header(&self) -> bool {
        matches!(self.form, Form::Value(_))
    }

    /// Whether the value can contain others: elements, entries or properties.
    pub fn is_container(&self) -> bool {
        let shape = self.holder().shape();
        shape.is_list() || matches!(shape, Shape::Dictionary | Shape::Object)
    }

    /// All bytes from the start of the value on, including the bytes after it. Takes constant time, unlike
    /// [`View::bytes`].
    pub fn remaining(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The byte range of the value, header and padding included. Walks to its end.
    ///
    /// # Errors
    /// Fails if the value has no valid end.
    pub fn range(&self) -> Result<Range<usize>> {
        let end = match self.form {
            Form::Value(_) => {
                let mut decoder = self.decoder();
                self.skip(&mut decoder)?;
                decoder.position()
            }
            Form::Lanes(ty, precision) => self.at + ty.lanes_bytes(precision),
            Form::Text | Form::Name => {
                let mut decoder = self.decoder();
                decoder.skip_text()?;
                decoder.position()
            }
        };
        // Padding may be missing at the end.
        Ok(self.at..end.min(self.bytes.len()))
    }

    /// Fails if bytes follow the value, unless the limits allow that. Walks to its end.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingBytes`]; also fails if the value has no valid end.
    pub fn check_end(&self) -> Result<()> {
        let end = self.range()?.end;
        match self.bytes.len() - end {
            left if left > 0 && !self.limits.allow_trailing_bytes => {
                Err(Error::new(ErrorKind::TrailingBytes(left)).at(end))
            }
            _ => Ok(()),
        }
    }

    /// The bytes of the value, header included. Elements of packed arrays and names of properties have no header.
    ///
    /// # Errors
    /// As [`View::range`].
    pub fn bytes(&self) -> Result<&'a [u8]> {
        let range = self.range()?;
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// All bytes that the view was created from.
    pub(crate) fn whole(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header and, for a container, its declared types: all bytes before the count.
    pub(crate) fn declared(&self) -> Result<&'a [u8]> {
        let end = if self.is_container() { self.head()?.first.saturating_sub(4) } else { self.at + 4 };
        Ok(self.bytes.get(self.at..end).unwrap_or_default())
    }

    /// The element of an Array or PackedStringArray that starts at `at`.
    pub(crate) fn element_at(&self, at: usize) -> Result<Self> {
        match self.holder().shape() {
            Shape::PackedStrings => Ok(self.written_as(Form::Text, at)),
            _ => self.value_at(at, self.depth + 1),
        }
    }

    /// The bytes of all elements of an Array or packed array, one after the other.
    pub(crate) fn inner(&self) -> Result<&'a [u8]> {
        let head = self.head()?;
        let end = match self.holder().shape() {
            Shape::Packed(..) => head.first + head.count * self.element_width()?,
            _ => self.range()?.end,
        };
        self.bytes_at(head.first, end - head.first)
    }

    /// Bytes per element of a packed array; 0 for other values.
    pub(crate) fn element_width(&self) -> Result<usize> {
        Ok(self.holder().lanes_bytes(self.head()?.precision))
    }

    /// Writes the value into a sink.
    ///
    /// # Errors
    /// Fails with the offset if the bytes are invalid, or if the sink refuses the value.
    pub fn write_into<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.write_part_into(sink, &mut Spent::default())
    }

    /// Like [`View::write_into`], for one of several parts of an input, which share the limits. `spent` is what earlier
    /// parts have used of them.
    ///
    /// # Errors
    /// As [`View::write_into`].
    pub fn write_part_into<S: Sink>(&self, sink: &mut S, spent: &mut Spent) -> Result<()> {
        let mut decoder = self.decoder().after(spent.clone());
        match self.form {
            Form::Value(_) => decoder.write_into(sink),
            Form::Text => decoder.decode_string(sink),
            Form::Name => decoder.decode_name(sink),
            Form::Lanes(packed, precision) => decoder.decode_packed_element(sink, packed, precision),
        }?;
        *spent = decoder.spent();
        Ok(())
    }

    /// Decodes the value.
    ///
    /// # Errors
    /// As [`Value::decode`].
    pub fn value(&self) -> Result<Value> {
        let mut builder = ValueBuilder::strict();
        self.write_into(&mut builder)?;
        Ok(builder.into_value())
    }
}
