//! [`View`] and the steps that it makes.

use std::marker::PhantomData;
use std::ops::Range;

use super::key::{self, Key};
use super::known_offsets::KnownOffsets;

use crate::decoder::Decoder;
use crate::decoder::heads::Head;
use crate::dialect::{Dialect, Godot3, Godot4};
use crate::ends::Ends;
use crate::error::{Error, ErrorKind, Limit, Oddity, Result, Step};
use crate::events::{ElementType, Precision, Sink, Source};
use crate::format::{self, Shape, VariantType};
use crate::limits::Limits;
use crate::value::Value;
use crate::value::builder::ValueBuilder;
use crate::wire::Cursor;

static SAVE_FILES: Limits = Limits::for_save_files();

/// A value in encoded bytes, or a part of one.
///
/// A view borrows the bytes, allocates nothing and is copied freely. Bytes are passed over by their lengths and counts; only
/// what is asked for is judged, as strictly as [`Value::decode`] does, with the same errors at the same offsets. Nothing is found
/// that decoding would not give: a key that a Dictionary repeats is an error, and so is a value of another type than its container
/// declares.
///
/// Each step walks from the start of its container. [`KnownOffsets`] remembers what has been walked.
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
    pub(super) at: usize,
    pub(super) depth: u32,
    pub(super) form: Form,
    dialect: PhantomData<D>,
}

/// Where a view's value is: [`View::spot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    at: usize,
    end: usize,
    depth: u32,
    form: Form,
}

impl Spot {
    /// That of the value in these bytes: of a record.
    pub fn of(bytes: Range<usize>) -> Self {
        Self { at: bytes.start, end: bytes.end, depth: 0, form: Form::Value(VariantType::Nil) }
    }
}

/// From this level on, it is remembered where large values end.
const DEEP: u32 = 16;

/// What passes over an element.
type Pass<'a, D> = fn(&mut Decoder<'a, D>) -> Result<()>;

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// With its header.
    Value(VariantType),
    /// As components in a packed array of this type.
    Lanes(VariantType, Precision),
    /// As text in a PackedStringArray.
    Text,
    /// As the name of a property.
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
    /// A header that is none; more bytes than the limits allow.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Self::within(bytes, &SAVE_FILES)
    }

    /// The value at the start of `bytes`. The limits hold for each part that is read.
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

    /// Where the value is, to come back to it.
    pub fn spot(&self) -> Spot {
        Spot { at: self.at, end: self.bytes.len(), depth: self.depth, form: self.form }
    }

    /// The value at a spot that a view of the same bytes has given. In others it is whatever stands there, or an error.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn at_spot(bytes: &'a [u8], limits: &'a Limits, spot: Spot) -> Result<Self> {
        let Spot { at, end, depth, form } = spot;
        let bytes = bytes.get(..end).unwrap_or(bytes);
        if depth == 0 && bytes.len().saturating_sub(at) > limits.max_bytes {
            let kind = ErrorKind::LimitExceeded(Limit::Bytes, limits.max_bytes as u64);
            return Err(Error::new(kind).at(at));
        }
        let view = Self { bytes, limits, known: None, ends: None, at, depth, form, dialect: PhantomData };
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

    /// This view of bytes in which these ends have been found.
    pub(crate) fn knowing(self, ends: &'a Ends) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// The same value in the same bytes, without anything that is known of them.
    pub(crate) fn detached<'b>(self, bytes: &'b [u8], limits: &'b Limits) -> View<'b, D> {
        let Self { at, depth, form, dialect, .. } = self;
        View { bytes, limits, known: None, ends: None, at, depth, form, dialect }
    }

    /// The limits for what is read.
    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// The same value, of which other limits hold for what is read.
    #[must_use]
    pub fn with_limits(self, limits: &'a Limits) -> Self {
        Self { limits, ..self }
    }

    /// The value with a header at `at`.
    #[inline]
    pub(super) fn value_at(self, at: usize, depth: u32) -> Result<Self> {
        if let Some(ty) = self.plain_type(at, depth) {
            return Ok(Self { at, depth, form: Form::Value(ty), ..self });
        }
        let header = Decoder::<D>::starting_at(self.bytes, at, depth, self.limits).header_here()?;
        Ok(Self { at, depth, form: Form::Value(header.ty), ..self })
    }

    /// The type in a header with which nothing is wrong at first sight.
    #[inline]
    fn plain_type(&self, at: usize, depth: u32) -> Option<VariantType> {
        /// More than any value is charged by itself.
        const MEMORY: u64 = 1 << 10;
        let limits = self.limits;
        let ty = D::type_of(self.word(at)? as u8)?;
        let is_allowed = limits.allowed_types >> ty.id() & 1 == 1
            && depth <= limits.max_depth.min(format::MAX_DEPTH)
            && limits.max_elements > 0
            && limits.max_memory >= MEMORY;
        is_allowed.then_some(ty)
    }

    /// The four bytes at `at`.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Option<u32> {
        Cursor::new(self.bytes, at).peek()
    }

    /// So many bytes from `at` on.
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

    /// The type, of values that may hold others; Nil stands for the others.
    #[inline]
    pub(super) fn holder(&self) -> VariantType {
        match self.form {
            Form::Value(ty) => ty,
            _ => VariantType::Nil,
        }
    }

    /// What is written so in this value.
    #[inline]
    pub(super) fn written_as(self, form: Form, at: usize) -> Self {
        Self { at, depth: self.depth + 1, form, ..self }
    }

    /// What stands before the values that this one holds.
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

    /// Goes on to the end of the value at which the decoder is.
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

    /// Refuses elements of another type than an Array declares: the engine converts them, or leaves them out, so that others have their
    /// indexes.
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

    /// Whether it can hold other values: elements, entries or properties.
    pub fn is_container(&self) -> bool {
        matches!(
            self.holder().shape(),
            Shape::Array | Shape::Dictionary | Shape::Object | Shape::Packed(..) | Shape::PackedStrings
        )
    }

    /// How many elements, entries or properties it has; 0 where it holds none. Walks over a Dictionary or typed Array.
    ///
    /// # Errors
    /// A count that the bytes have no room for; a key that is repeated.
    #[expect(clippy::len_without_is_empty, reason = "it can fail")]
    pub fn len(&self) -> Result<usize> {
        let head = self.head()?;
        self.refuse_misfits(&head)?;
        self.refuse_repeated_keys(&head)?;
        Ok(head.count)
    }

    /// The same for a value that has been [checked](crate::check::check).
    pub(crate) fn count(&self) -> Result<usize> {
        Ok(self.head()?.count)
    }

    /// All bytes from its first one on, also those behind it. Takes no time, unlike [`View::bytes`].
    pub fn remaining(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Where it lies, from its header to the end of its padding. Walks to its end.
    ///
    /// # Errors
    /// Bytes in which it has no end.
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

    /// Fails if bytes follow, unless the limits allow that. Walks to its end.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingBytes`]; bytes in which it has no end.
    pub fn check_end(&self) -> Result<()> {
        let end = self.range()?.end;
        match self.bytes.len() - end {
            left if left > 0 && !self.limits.allow_trailing_bytes => {
                Err(Error::new(ErrorKind::TrailingBytes(left)).at(end))
            }
            _ => Ok(()),
        }
    }

    /// Its bytes: encoded, if it has a header of its own; elements of packed arrays have none.
    ///
    /// # Errors
    /// As [`View::range`].
    pub fn bytes(&self) -> Result<&'a [u8]> {
        let range = self.range()?;
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    /// Where it starts.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// All bytes that the view was made of.
    pub(crate) fn whole(&self) -> &'a [u8] {
        self.bytes
    }

    /// Of a container, what stands before its count: the header, and the types that it declares; of others, the header.
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

    /// Bytes of each element of a packed array; 0 for others.
    pub(crate) fn element_width(&self) -> Result<usize> {
        Ok(self.holder().lanes_bytes(self.head()?.precision))
    }

    /// The element at `index` of an Array or packed array.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; bytes in which it cannot be found.
    pub fn index(&self, index: usize) -> Result<Self> {
        let found = self.element(index)?;
        found.ok_or_else(|| self.not_found(&Key::Int(i64::try_from(index).unwrap_or(i64::MAX))))
    }

    /// The value at a key of a Dictionary, the property of an Object, or the element of an Array or packed array, of which
    /// negative ones count from the end.
    ///
    /// # Errors
    /// As [`View::index`].
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Self> {
        let key = key.into();
        self.find(&key)?.ok_or_else(|| self.not_found(&key))
    }

    /// What a path of keys and indexes leads to.
    ///
    /// # Errors
    /// As [`View::get`], with the path to the place.
    pub fn at(&self, path: &[Key<'_>]) -> Result<Self> {
        let mut view = *self;
        for (done, key) in path.iter().enumerate() {
            view = view.get(*key).map_err(|error| self.after(&path[..done], error))?;
        }
        Ok(view)
    }

    /// Calls `look` with the value that the path leads to. What goes wrong there has the path in front of its own.
    ///
    /// # Errors
    /// As [`View::at`]; what `look` returns.
    pub fn look_at<R>(&self, path: &[Key<'_>], look: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        look(self.at(path)?).map_err(|error| self.after(path, error))
    }

    /// The error of a value that this path leads to.
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
            (Shape::Array | Shape::Packed(..) | Shape::PackedStrings, Some(index)) => {
                let back = || self.len().unwrap_or_default().saturating_sub(index.unsigned_abs() as usize);
                Step::Index(usize::try_from(index).unwrap_or_else(|_| back()))
            }
            _ => key.step(),
        }
    }

    /// The same as [`View::get`]; `None` where there is none.
    ///
    /// # Errors
    /// Bytes in which it cannot be found.
    pub fn find(&self, key: &Key<'_>) -> Result<Option<Self>> {
        match (self.holder().shape(), key) {
            (Shape::Array | Shape::Packed(..) | Shape::PackedStrings, _) => {
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
            (Shape::Array | Shape::Packed(..) | Shape::PackedStrings, Some(index)) => {
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

    /// Where the element at `index` starts, of those of which the first starts at `first`.
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

    /// Where the key starts, and where the last entry ends. Tells where each entry starts.
    ///
    /// # Errors
    /// Bytes that cannot be walked; a key that is there twice.
    pub(super) fn scan(
        &self,
        head: &Head<'_>,
        key: &Key<'_>,
        started: &mut dyn FnMut(usize, usize),
    ) -> Result<(Option<usize>, usize)> {
        let mut found = None;
        let end = self.walk_entries(head, |index, at| {
            started(index, at);
            if key.is_at::<D>(self.bytes, at) && found.replace(at).is_some() {
                return Err(self.repeated_key());
            }
            Ok(())
        })?;
        Ok((found, end))
    }

    /// Calls `each` with the index and the start of each entry of a Dictionary, and returns where the last one ends. A key of another
    /// type than declared is an error: the engine converts it, perhaps to the one that is looked for.
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

    /// Whether the key at `at` may be read as another one: a container, in which the engine converts elements or leaves entries out, or
    /// an object.
    #[inline]
    pub(super) fn has_converted_key(&self, at: usize) -> bool {
        let ty = self.word(at).and_then(|header| D::type_of(header as u8));
        ty.is_some_and(|ty| matches!(ty.shape(), Shape::Array | Shape::Dictionary | Shape::Object))
    }

    #[cold]
    pub(super) fn repeated_key(&self) -> Error {
        Error::new(ErrorKind::NotCanonical(Oddity::DuplicateKey)).at(self.at + 4)
    }

    /// Refuses a Dictionary that has a key twice.
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

    /// The property of this name; of several, the last, which the engine sets last.
    fn property(&self, wanted: &str) -> Result<Option<Self>> {
        let head = self.head()?;
        let mut decoder = Decoder::<D>::starting_at(self.bytes, head.first, self.depth + 1, self.limits);
        let mut found = None;
        for _ in 0..head.count {
            let name = decoder.property_name()?;
            let inside = |error: Error| error.inside(Step::property(name));
            if name == wanted {
                found = Some(self.value_at(decoder.position(), self.depth + 1).map_err(inside)?);
            }
            self.pass(&mut decoder).map_err(inside)?;
        }
        Ok(found)
    }

    /// Writes the value into a sink.
    ///
    /// # Errors
    /// What is wrong with its bytes, with the offset; what the sink refuses.
    pub fn write_into<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let mut decoder = self.decoder();
        match self.form {
            Form::Value(_) => decoder.write_into(sink),
            Form::Text => decoder.decode_string(sink),
            Form::Name => decoder.decode_name(sink),
            Form::Lanes(packed, precision) => decoder.decode_packed_element(sink, packed, precision),
        }
    }

    /// The value itself.
    ///
    /// # Errors
    /// As [`Value::decode`].
    pub fn value(&self) -> Result<Value> {
        let mut builder = ValueBuilder::strict();
        self.write_into(&mut builder)?;
        Ok(builder.into_value())
    }
}
