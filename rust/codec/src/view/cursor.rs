//! [`View`] and its steps.

use std::marker::PhantomData;
use std::ops::Range;

use super::key::{self, Key};
use super::known_offsets::KnownOffsets;
use super::tagged::Tags;

use crate::decoder::Decoder;
use crate::decoder::heads::Head;
use crate::ends::Ends;
use crate::error::{Error, ErrorKind, Limit, Oddity, Result, Step};
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
    known: Option<&'a KnownOffsets>,
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

/// A function that skips an element.
type Pass<'a, D> = fn(&mut Decoder<'a, D>) -> Result<()>;

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

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
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
    pub(super) fn pass(&self, decoder: &mut Decoder<'a, D>) -> Result<()> {
        let at = decoder.position();
        let known = || self.known.filter(|_| self.depth >= DEEP)?.end_of(self, at);
        match self.ends.map_or_else(known, |ends| ends.end_of(at)) {
            Some(end) => {
                decoder.jump(end);
                Ok(())
            }
            None => decoder.pass(),
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
        match found.filter(|found| !declared.takes(*found)) {
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
                fits.and_then(|()| self.pass(&mut decoder))
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

    /// The number of elements, entries or properties; 0 for other values. Walks over a Dictionary or typed Array.
    ///
    /// # Errors
    /// Fails if the bytes cannot hold the count, a key is repeated, or an element has another type than declared.
    #[expect(clippy::len_without_is_empty, reason = "it can fail")]
    pub fn len(&self) -> Result<usize> {
        let head = self.head()?;
        self.refuse_misfits(&head)?;
        self.refuse_repeated_keys(&head)?;
        Ok(head.count)
    }

    /// Like [`View::len`], for a value that has been [checked](crate::check::check).
    pub(crate) fn count(&self) -> Result<usize> {
        Ok(self.head()?.count)
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
                self.pass(&mut decoder)?;
                decoder.position()
            }
            Form::Lanes(ty, precision) => self.at + ty.lanes_bytes(precision),
            Form::Text | Form::Name => {
                let mut decoder = self.decoder();
                decoder.pass_text()?;
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

    /// The element at `index` of an Array or packed array.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; also fails if invalid bytes prevent the search.
    pub fn index(&self, index: usize) -> Result<Self> {
        let found = self.element(index)?.map(Self::resolved).transpose()?;
        found.ok_or_else(|| self.not_found(&Key::Int(i64::try_from(index).unwrap_or(i64::MAX))))
    }

    /// The value at a key of a Dictionary, the property of an Object, or the element of an Array or packed
    /// array. Negative indexes count from the end.
    ///
    /// # Errors
    /// As [`View::index`].
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Self> {
        let key = key.into();
        self.find(&key)?.ok_or_else(|| self.not_found(&key))
    }

    /// The value at the end of a path of keys and indexes.
    ///
    /// # Errors
    /// As [`View::get`], with the path to the failing step.
    pub fn at(&self, path: &[Key<'_>]) -> Result<Self> {
        let mut view = *self;
        for (done, key) in path.iter().enumerate() {
            view = view.get(*key).map_err(|error| self.after(&path[..done], error))?;
        }
        Ok(view)
    }

    /// Calls `look` with the value at the end of the path. Errors of `look` get the path as a prefix.
    ///
    /// # Errors
    /// As [`View::at`]; also fails if `look` does.
    pub fn look_at<R>(&self, path: &[Key<'_>], look: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        look(self.at(path)?).map_err(|error| self.after(path, error))
    }

    /// Prefixes an error with the path to its value.
    #[cold]
    fn after(&self, path: &[Key<'_>], error: Error) -> Error {
        let mut steps = Vec::new();
        let mut view = *self;
        for key in path {
            steps.push(view.step_of(key));
            match view.get(*key) {
                Ok(next) => view = next,
                Err(_) => break,
            }
        }
        steps.into_iter().rev().fold(error, Error::inside)
    }

    fn step_of(&self, key: &Key<'_>) -> Step {
        match (self.holder().shape(), key.index()) {
            (shape, Some(index)) if shape.is_list() => {
                let back = || self.len().unwrap_or_default().saturating_sub(index.unsigned_abs() as usize);
                Step::Index(usize::try_from(index).unwrap_or_else(|_| back()))
            }
            _ => key.step(),
        }
    }

    /// Like [`View::get`], but `None` if there is no such value.
    ///
    /// # Errors
    /// Fails if invalid bytes prevent the search.
    pub fn find(&self, key: &Key<'_>) -> Result<Option<Self>> {
        self.find_literal(key)?.map(Self::resolved).transpose()
    }

    /// Like [`View::find`], without following the tag of the value that is found.
    pub(super) fn find_literal(&self, key: &Key<'_>) -> Result<Option<Self>> {
        match (self.holder().shape(), key) {
            (shape, _) if shape.is_list() => {
                let Some(index) = key.index() else { return Ok(None) };
                let index = match usize::try_from(index) {
                    Ok(index) => Some(index),
                    Err(_) => {
                        let back = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                        self.len()?.checked_sub(back)
                    }
                };
                index.map_or(Ok(None), |index| self.element(index))
            }
            (Shape::Dictionary, Key::Segment(text)) => {
                if let Some(found) = self.entry(&Key::Text(text))? {
                    return Ok(Some(found));
                }
                match key.index() {
                    Some(int) => self.entry(&Key::Int(int)),
                    None => Ok(None),
                }
            }
            (Shape::Dictionary, key) => self.entry(key),
            (Shape::Object, Key::Text(name) | Key::Segment(name)) => self.property(name),
            _ => Ok(None),
        }
    }

    #[cold]
    fn not_found(&self, key: &Key<'_>) -> Error {
        let found = self.ty();
        let key = match (found.shape(), key.index()) {
            (shape, Some(index)) if shape.is_list() => {
                format!("element {index}: it has {}", self.len().unwrap_or_default())
            }
            (Shape::Object, _) => format!("property {key}"),
            _ => format!("key {key}"),
        };
        Error::new(ErrorKind::NotFound { key, found }).at(self.at)
    }

    pub(super) fn element(&self, index: usize) -> Result<Option<Self>> {
        let (ty, head) = (self.holder(), self.head()?);
        if index >= head.count {
            return Ok(None);
        }
        match ty.shape() {
            Shape::Packed(..) => {
                let at = head.first + index * ty.lanes_bytes(head.precision);
                Ok(Some(self.written_as(Form::Lanes(ty, head.precision), at)))
            }
            Shape::Array => {
                self.refuse_misfits(&head)?;
                let at = self.walk(head.first, index, Decoder::pass)?;
                let found = self.value_at(at, self.depth + 1);
                found.map(Some).map_err(|error| error.inside(Step::Index(index)))
            }
            Shape::PackedStrings => {
                let at = self.walk(head.first, index, Decoder::pass_text)?;
                Ok(Some(self.written_as(Form::Text, at)))
            }
            _ => Ok(None),
        }
    }

    /// The offset of the element at `index`; the first one starts at `first`.
    fn walk(&self, first: usize, index: usize, pass: Pass<'a, D>) -> Result<usize> {
        match self.known {
            None => self.walk_from((0, first), index, pass, |_, _| ()),
            Some(known) => known.with_marks(self.at, |marks| {
                let from = marks.before(index).unwrap_or((0, first));
                self.walk_from(from, index, pass, |index, at| marks.passed(index, at, first))
            }),
        }
    }

    fn walk_from(
        &self,
        (mut index, at): (usize, usize),
        wanted: usize,
        pass: Pass<'a, D>,
        mut passed: impl FnMut(usize, usize),
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(at);
        while index < wanted {
            pass(&mut decoder).map_err(|error| error.inside(Step::Index(index)))?;
            index += 1;
            passed(index, decoder.position());
        }
        Ok(decoder.position())
    }

    /// The start of the key, if it exists, and the end of the last entry. Calls `started` with the index and
    /// start of each entry.
    ///
    /// # Errors
    /// Fails if the entries are invalid or repeat the key.
    pub(super) fn scan(
        &self,
        head: &Head<'_>,
        key: &Key<'_>,
        started: &mut dyn FnMut(usize, usize),
    ) -> Result<(Option<usize>, usize)> {
        let mut found = None;
        let end = self.walk_entries(head, |index, at| {
            started(index, at);
            if key.is_at::<D>(self.bytes, at)? && found.replace(at).is_some() {
                return Err(self.repeated_key());
            }
            Ok(())
        })?;
        Ok((found, end))
    }

    /// Calls `each` with the index and the start of each entry of a Dictionary, and returns the end of the last
    /// one. A key of another type than declared is an error: the engine converts it, perhaps to the wanted key.
    pub(super) fn walk_entries(
        &self,
        head: &Head<'_>,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(head.first);
        for index in 0..head.count {
            let at = decoder.position();
            let keys = &head.declared[0];
            self.refuse_misfit(at, "Dictionary's keys", keys)
                .map_err(|error| error.inside(Step::KeyAt(index)))?;
            if self.has_converted_key(at) {
                key::check::<D>(self.bytes, at, self.depth + 1, self.limits)
                    .map_err(|error| error.inside(Step::KeyAt(index)))?;
            }
            each(index, at)?;
            self.pass(&mut decoder).map_err(|error| error.inside(Step::KeyAt(index)))?;
            self.pass(&mut decoder).map_err(|error| error.inside(decoder.step_of_key(at, index)))?;
        }
        Ok(decoder.position())
    }

    /// Whether the engine may read the key at `at` as another key. This holds for objects, and for
    /// containers, since the engine may convert or drop their elements.
    #[inline]
    pub(super) fn has_converted_key(&self, at: usize) -> bool {
        let ty = self.word(at).and_then(|header| D::type_of(header as u8));
        ty.is_some_and(|ty| matches!(ty.shape(), Shape::Array | Shape::Dictionary | Shape::Object))
    }

    #[cold]
    pub(super) fn repeated_key(&self) -> Error {
        Error::new(ErrorKind::NotCanonical(Oddity::DuplicateKey)).at(self.at + 4)
    }

    pub(super) fn refuse_repeated_keys(&self, head: &Head<'_>) -> Result<()> {
        match self.known {
            _ if self.holder().shape() != Shape::Dictionary || head.count == 0 => Ok(()),
            Some(known) => known.refuse_repeated_keys(self, head),
            None => KnownOffsets::default().refuse_repeated_keys(self, head),
        }
    }

    /// The value at a key of a Dictionary.
    fn entry(&self, key: &Key<'_>) -> Result<Option<Self>> {
        let head = self.head()?;
        let found = match self.known {
            Some(known) => known.find_key(self, &head, key)?,
            None => self.scan(&head, key, &mut |_, _| ())?.0,
        };
        let Some(key_at) = found else { return Ok(None) };
        if key.may_be_another() {
            self.refuse_repeated_keys(&head)?;
        }
        let mut decoder = self.decoder_inside(key_at);
        self.pass(&mut decoder)?;
        let at = decoder.position();
        let fits = self.refuse_misfit(at, "Dictionary's values", &head.declared[1]);
        let found = fits.and_then(|()| self.value_at(at, self.depth + 1));
        found.map(Some).map_err(|error| error.inside(key.step()))
    }

    /// The property of this name. If several properties have this name, the last one counts, since the engine
    /// sets it last.
    fn property(&self, wanted: &str) -> Result<Option<Self>> {
        let head = self.head()?;
        let found = match self.known {
            Some(known) => known.find_property(self, &head, wanted)?,
            None => {
                let mut found = None;
                self.walk_properties(&head, |at, name| {
                    if name == wanted {
                        found = Some(at);
                    }
                    Ok(())
                })?;
                found
            }
        };
        let Some(at) = found else { return Ok(None) };
        let mut decoder = self.decoder_inside(at);
        decoder.property_name()?;
        let found = self.value_at(decoder.position(), self.depth + 1);
        found.map(Some).map_err(|error| error.inside(Step::property(wanted)))
    }

    /// Calls `each` with the start of each property and its name. Returns the end of the last property.
    pub(super) fn walk_properties(
        &self,
        head: &Head<'_>,
        mut each: impl FnMut(usize, &str) -> Result<()>,
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(head.first);
        for _ in 0..head.count {
            let at = decoder.position();
            let name = decoder.property_name()?;
            each(at, name)?;
            self.pass(&mut decoder).map_err(|error| error.inside(Step::property(name)))?;
        }
        Ok(decoder.position())
    }

    /// The name of the property at `at`.
    pub(super) fn name_at(&self, at: usize) -> Result<&'a str> {
        self.decoder_inside(at).property_name()
    }

    /// Writes the value into a sink.
    ///
    /// # Errors
    /// Fails with the offset if the bytes are invalid, or if the sink refuses the value.
    pub fn write_into<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.write_part_into(sink, &mut Spent::default())
    }

    /// Like [`View::write_into`], for one of several parts of an input. `spent` is the share of the
    /// common limits that earlier parts have used: of all limits if the parts [may be shared](View::may_be_shared).
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
        let all = decoder.spent();
        *spent = if self.may_be_shared() { all } else { all.shared_by_parts() };
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
