//! The interface between sources and sinks: the events of walking a value, and the small borrowed types they carry.
//!
//! A [`Source`] walks a value and *writes* it into a [`Sink`], event by event:
//!
//! ```text
//! value       = leaf | array | dictionary | object | strings
//! array       = begin_array (begin_element value end_element | run)* end_array
//! dictionary  = begin_dictionary (begin_key value begin_value value end_entry)* end_dictionary
//! object      = begin_object (begin_property value end_property)* end_object
//! strings     = begin_strings string* end_strings
//! ```
//!
//! A run is many elements in one event. Ints, floats or mathematical values of one type in an Array may arrive
//! as a run.
//!
//! The half-built container lives in the source's stack frame, so returning an error also drops the
//! container.

use crate::error::{Error, QUOTED, Result, quoted};
use crate::format::VariantType;
use crate::lanes::{Lanes, Precision};
use crate::wire::header::Header;

/// Text in the form that its source has; the sink converts it at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// Valid UTF-8.
    Utf8(&'a str),
    /// The engine's own code units: any 32-bit numbers, usually Unicode scalar values.
    Utf32(&'a [u32]),
}

impl Text<'_> {
    /// The text as a Rust string; U+FFFD replaces invalid code units.
    pub fn to_lossy(self) -> String {
        match self {
            Text::Utf8(text) => text.to_owned(),
            Text::Utf32(_) => self.start(usize::MAX),
        }
    }

    /// The first `characters` characters; U+FFFD replaces invalid code units.
    pub fn start(self, characters: usize) -> String {
        let lossy = |&unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        match self {
            Text::Utf8(text) => text.chars().take(characters).collect(),
            Text::Utf32(units) => units.iter().take(characters).map(lossy).collect(),
        }
    }

    /// The text for messages, formatted by [`quoted`].
    pub fn quoted(self) -> String {
        quoted(&self.start(QUOTED + 1))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Utf8(text)
    }
}

/// The type that a container declares for its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType<'a> {
    /// Any Variant.
    Untyped,
    /// A built-in type; Object means any object.
    Builtin(VariantType),
    /// Objects of a native class.
    Class(Text<'a>),
    /// Objects with a script, named by its resource path.
    Script(Text<'a>),
}

impl ElementType<'_> {
    /// The built-in type that elements must have: Object for classes and scripts, `None` for untyped.
    #[inline(always)]
    pub fn builtin(&self) -> Option<VariantType> {
        match self {
            Self::Untyped => None,
            Self::Builtin(ty) => Some(*ty),
            Self::Class(_) | Self::Script(_) => Some(VariantType::Object),
        }
    }

    /// Whether a value of type `found` fits: any type if untyped, else the same type. Nil also fits Object.
    #[inline(always)]
    pub fn accepts(&self, found: VariantType) -> bool {
        match self.builtin() {
            None => true,
            Some(ty) => ty == found || (ty == VariantType::Object && found == VariantType::Nil),
        }
    }
}

impl std::fmt::Display for ElementType<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Untyped => f.write_str("Variant"),
            Self::Builtin(ty) => f.write_str(ty.name()),
            Self::Class(name) | Self::Script(name) => f.write_str(&name.quoted()),
        }
    }
}

/// The parts of a NodePath. Parts are opaque: they may be empty or hold `/` and `:`.
#[derive(Clone, Copy, Debug)]
pub struct NodePathParts<'a> {
    /// Whether the path starts at the root.
    pub absolute: bool,
    /// The names of nodes.
    pub names: &'a [Text<'a>],
    /// The names of properties, after the colons.
    pub subnames: &'a [Text<'a>],
}

/// A part of a value that a [`Decoder`](crate::stream::Decoder) leaves to another decoder: elements of an
/// Array or PackedStringArray.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The byte range of the values.
    pub bytes: std::ops::Range<usize>,
    /// The number of values.
    pub count: usize,
    /// The nesting level of the values.
    pub depth: u32,
}

/// Walks a value and writes it into a sink.
///
/// ```
/// use variant_codec::Result;
/// use variant_codec::stream::{ElementType, Sink, Source};
///
/// /// Squares, as an Array of ints.
/// struct Squares(usize);
///
/// impl Source for Squares {
///     fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
///         let mut array = sink.begin_array(self.0, ElementType::Untyped)?;
///         sink.ints(&mut array, &mut (0..self.0 as i64).map(|int| int * int))?;
///         sink.end_array(array)
///     }
/// }
///
/// let mut encoder = variant_codec::stream::Encoder::new(Vec::new(), Default::default());
/// Squares(3).write_into(&mut encoder)?;
/// assert_eq!(encoder.into_output(), variant_codec::Value::from([0, 1, 4]).encode()?);
/// # Ok::<(), variant_codec::Error>(())
/// ```
pub trait Source {
    /// Writes exactly one value.
    ///
    /// # Errors
    /// Fails if the source or the sink refuses something. The sink then holds an incomplete value.
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()>;
}

/// Receives the events of one value.
///
/// Each leaf method completes a value. Each `begin_*` opens a container that its `end_*` completes, and
/// announces exactly how many elements follow.
///
/// Every sink must open containers; all other methods have defaults. If a sink leaves out the leaf method of
/// a type, values of that type are passed to [`Sink::other`]. This sink collects all text:
///
/// ```
/// use variant_codec::stream::{ElementType, Sink, Source, Text};
/// use variant_codec::{Result, Value, VariantType};
///
/// #[derive(Default)]
/// struct Texts(Vec<String>);
///
/// #[rustfmt::skip]
/// impl Sink for Texts {
///     type Array = ();
///     type Dictionary = ();
///     type Object = ();
///     type Strings = ();
///     fn text(&mut self, _: VariantType, text: Text<'_>) -> Result<()> { self.0.push(text.to_lossy()); Ok(()) }
///     fn other(&mut self, _: VariantType) -> Result<()> { Ok(()) }
///     fn begin_array(&mut self, _: usize, _: ElementType<'_>) -> Result<()> { Ok(()) }
///     fn begin_dictionary(&mut self, _: usize, _: ElementType<'_>, _: ElementType<'_>) -> Result<()> { Ok(()) }
///     fn begin_object(&mut self, _: Text<'_>, _: usize) -> Result<()> { Ok(()) }
///     fn begin_strings(&mut self, _: usize) -> Result<()> { Ok(()) }
/// }
///
/// let mut texts = Texts::default();
/// (&Value::from_iter([("name", "Ada")])).write_into(&mut texts)?;
/// assert_eq!(texts.0, ["name", "Ada"]);
/// # Ok::<(), variant_codec::Error>(())
/// ```
pub trait Sink {
    /// A half-built Array.
    type Array;
    /// A half-built Dictionary.
    type Dictionary;
    /// A half-built Object.
    type Object;
    /// A half-built PackedStringArray.
    type Strings;

    /// Whether this sink needs the byte offsets of values. If so, it receives no runs.
    const WANTS_PLACES: bool = false;

    /// Receives a value of a type whose leaf method the sink leaves out. The default fails.
    ///
    /// # Errors
    /// Fails if the sink refuses the value.
    #[cold]
    fn other(&mut self, ty: VariantType) -> Result<()> {
        Err(Error::argument(format!("this sink does not accept {ty}")))
    }

    /// A value with this header starts at offset `at`; its events follow.
    #[inline(always)]
    fn value_starts(&mut self, _at: usize, _header: Header) {}
    /// The innermost open value ends; `end` is the offset after it.
    #[inline(always)]
    fn value_ends(&mut self, _end: usize) {}

    /// Bytes written so far; 0 for sinks that do not write.
    #[inline(always)]
    fn written(&self) -> usize {
        0
    }

    /// The receiver of parts, if other decoders may supply elements of large Arrays and PackedStringArrays, or
    /// values of Dictionary entries.
    #[inline(always)]
    fn in_parts(&mut self) -> Option<&mut impl PartSink<Self>> {
        None::<&mut NoParts>
    }

    /// Receives Nil.
    #[inline(always)]
    fn nil(&mut self) -> Result<()> {
        self.other(VariantType::Nil)
    }
    /// Receives a bool.
    #[inline(always)]
    fn bool(&mut self, _value: bool) -> Result<()> {
        self.other(VariantType::Bool)
    }
    /// Receives an int.
    #[inline(always)]
    fn int(&mut self, _value: i64) -> Result<()> {
        self.other(VariantType::Int)
    }
    /// Receives a float; every bit of a NaN is significant.
    #[inline(always)]
    fn float(&mut self, _value: f64) -> Result<()> {
        self.other(VariantType::Float)
    }
    /// Receives a String or StringName.
    #[inline(always)]
    fn text(&mut self, ty: VariantType, _text: Text<'_>) -> Result<()> {
        self.other(ty)
    }
    /// Offers the bytes of a String or StringName, which should be UTF-8 without NULs. Returns whether the
    /// sink took them. If not, the sink must be unchanged, and receives the validated text through
    /// [`Sink::text`].
    ///
    /// This is meant for sinks that inspect each character anyway, and can validate the text in the same
    /// pass.
    #[inline(always)]
    fn raw_text(&mut self, _ty: VariantType, _bytes: &[u8]) -> Result<bool> {
        Ok(false)
    }
    /// Receives a value whose type has [`Shape::Fixed`](crate::format::Shape::Fixed); `lanes` has exactly
    /// the value's components.
    #[inline(always)]
    fn fixed(&mut self, ty: VariantType, _lanes: Lanes<'_>) -> Result<()> {
        self.other(ty)
    }
    /// Receives a value whose type has [`Shape::Packed`](crate::format::Shape::Packed); `lanes` has whole
    /// elements.
    #[inline(always)]
    fn packed(&mut self, ty: VariantType, _lanes: Lanes<'_>) -> Result<()> {
        self.other(ty)
    }
    /// Receives a NodePath.
    #[inline(always)]
    fn node_path(&mut self, _path: NodePathParts<'_>) -> Result<()> {
        self.other(VariantType::NodePath)
    }
    /// Receives an RID.
    #[inline(always)]
    fn rid(&mut self, _id: u64) -> Result<()> {
        self.other(VariantType::Rid)
    }
    /// Receives a Callable, which has no payload.
    #[inline(always)]
    fn callable(&mut self) -> Result<()> {
        self.other(VariantType::Callable)
    }
    /// Receives a Signal with the instance id of its object.
    #[inline(always)]
    fn signal(&mut self, _name: Text<'_>, _object: u64) -> Result<()> {
        self.other(VariantType::Signal)
    }
    /// Receives an Object as its instance id; 0 is a null object.
    #[inline(always)]
    fn object_id(&mut self, _id: u64) -> Result<()> {
        self.other(VariantType::Object)
    }

    /// Opens an Array of `len` elements.
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<Self::Array>;
    /// The next value is the next element.
    #[inline(always)]
    fn begin_element(&mut self, _array: &mut Self::Array) -> Result<()> {
        Ok(())
    }
    /// The element is complete.
    #[inline(always)]
    fn end_element(&mut self, _array: &mut Self::Array) -> Result<()> {
        Ok(())
    }
    /// All elements are complete.
    #[inline(always)]
    fn end_array(&mut self, __array: Self::Array) -> Result<()> {
        Ok(())
    }

    /// The next elements are these ints: a run.
    ///
    /// A sink may override this and the other run methods to be faster. It must take every value from the
    /// iterator, or stop right after a value that it refuses.
    #[inline(always)]
    fn ints(&mut self, array: &mut Self::Array, ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        ints.try_for_each(|int| {
            self.begin_element(array)?;
            self.int(int)?;
            self.end_element(array)
        })
    }

    /// The next elements are these floats.
    #[inline(always)]
    fn floats(&mut self, array: &mut Self::Array, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        floats.try_for_each(|float| {
            self.begin_element(array)?;
            self.float(float)?;
            self.end_element(array)
        })
    }

    /// The next elements have type `ty`, which has [`Shape::Fixed`](crate::format::Shape::Fixed). The
    /// components of each take `N` bytes in this precision.
    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        array: &mut Self::Array,
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        values.try_for_each(|le| {
            self.begin_element(array)?;
            self.fixed(ty, Lanes { precision, le: &le })?;
            self.end_element(array)
        })
    }

    /// Opens a Dictionary of `len` entries.
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Self::Dictionary>;
    /// The next value is the next entry's key.
    #[inline(always)]
    fn begin_key(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        Ok(())
    }
    /// The key is complete; the next value belongs to it.
    #[inline(always)]
    fn begin_value(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        Ok(())
    }
    /// Whether the sink keeps the open entry. If not, the entry's value may have the wrong type.
    #[inline(always)]
    fn keeps_entry(&self, _dictionary: &Self::Dictionary) -> bool {
        true
    }
    /// The entry is complete.
    #[inline(always)]
    fn end_entry(&mut self, _dictionary: &mut Self::Dictionary) -> Result<()> {
        Ok(())
    }
    /// All entries are complete.
    #[inline(always)]
    fn end_dictionary(&mut self, __dictionary: Self::Dictionary) -> Result<()> {
        Ok(())
    }

    /// Opens an Object of a native class with `properties` properties.
    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<Self::Object>;
    /// The next value belongs to the property `name`.
    #[inline(always)]
    fn begin_property(&mut self, _object: &mut Self::Object, _name: Text<'_>) -> Result<()> {
        Ok(())
    }
    /// The property is complete.
    #[inline(always)]
    fn end_property(&mut self, _object: &mut Self::Object) -> Result<()> {
        Ok(())
    }
    /// All properties are complete.
    #[inline(always)]
    fn end_object(&mut self, __object: Self::Object) -> Result<()> {
        Ok(())
    }

    /// Opens a PackedStringArray of `len` elements.
    fn begin_strings(&mut self, len: usize) -> Result<Self::Strings>;
    /// Receives one element. The default passes it on as a String.
    #[inline(always)]
    fn string(&mut self, _strings: &mut Self::Strings, text: Text<'_>) -> Result<()> {
        self.text(VariantType::String, text)
    }
    /// Offers the bytes of one element; see [`Sink::raw_text`].
    #[inline(always)]
    fn raw_string(&mut self, _strings: &mut Self::Strings, _bytes: &[u8]) -> Result<bool> {
        Ok(false)
    }
    /// All elements are complete.
    #[inline(always)]
    fn end_strings(&mut self, __strings: Self::Strings) -> Result<()> {
        Ok(())
    }
}

/// Receives the parts that a [`Sink`] delegates; never keys.
pub trait PartSink<S: Sink + ?Sized> {
    /// The target size of a part, in bytes.
    fn part_bytes(&self) -> usize;
    /// Another decoder supplies the next elements of the open Array: see
    /// [`Decoder::decode_part`](crate::stream::Decoder::decode_part).
    ///
    /// # Errors
    /// Fails if the sink refuses the part.
    fn part(&mut self, array: &mut S::Array, part: Part) -> Result<()>;
    /// Another decoder supplies the next elements of the open PackedStringArray: see
    /// [`Decoder::decode_strings_part`](crate::stream::Decoder::decode_strings_part).
    ///
    /// # Errors
    /// Fails if the sink refuses the part.
    fn strings_part(&mut self, strings: &mut S::Strings, part: Part) -> Result<()>;
}

/// The [`PartSink`] of sinks that take no parts; it has no instances.
enum NoParts {}

impl<S: Sink + ?Sized> PartSink<S> for NoParts {
    fn part_bytes(&self) -> usize {
        match *self {}
    }

    fn part(&mut self, _array: &mut S::Array, _part: Part) -> Result<()> {
        match *self {}
    }

    fn strings_part(&mut self, _strings: &mut S::Strings, _part: Part) -> Result<()> {
        match *self {}
    }
}
