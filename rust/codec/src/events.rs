//! Where sources and sinks meet: the events of walking a value, and the small borrowed types they carry.
//!
//! A [`Source`] walks a value and *pours* it into a [`Sink`], event by event:
//!
//! ```text
//! value       = leaf | array | dictionary | object | strings
//! array       = begin_array (begin_element value end_element | run)* end_array
//! dictionary  = begin_dictionary (begin_key value begin_value value end_entry)* end_dictionary
//! object      = begin_object (begin_property value end_property)* end_object
//! strings     = begin_strings string* end_strings
//! ```
//!
//! A run is what numbers of one type in an Array may come as: many elements in one event.
//!
//! The half-built container lives in the source's stack frame, so an error anywhere cleans up by returning.

use crate::error::{Error, QUOTED, Result, quoted};
use crate::format::VariantType;

/// Text as its source has it; the sink converts at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// Valid UTF-8.
    Utf8(&'a str),
    /// The engine's own code units: any 32-bit numbers, usually Unicode scalar values.
    Utf32(&'a [u32]),
}

impl Text<'_> {
    /// The text as characters; code units that are none are replaced.
    pub fn to_lossy(self) -> String {
        match self {
            Text::Utf8(text) => text.to_owned(),
            Text::Utf32(_) => self.start(usize::MAX),
        }
    }

    /// The first so many characters; code units that are none are replaced.
    pub fn start(self, characters: usize) -> String {
        let lossy = |&unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        match self {
            Text::Utf8(text) => text.chars().take(characters).collect(),
            Text::Utf32(units) => units.iter().take(characters).map(lossy).collect(),
        }
    }

    /// The text for messages, as [`quoted`] gives it.
    pub fn quoted(self) -> String {
        quoted(&self.start(QUOTED + 1))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Utf8(text)
    }
}

/// Whether `real_t` has 32 or 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits, as in official builds.
    #[default]
    Single,
    /// 64 bits, as in builds with `precision=double`.
    Double,
}

/// Components of a mathematical value or of packed array elements.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// The width of components that are `real_t`; the others have one width only.
    pub precision: Precision,
    /// The components, little-endian, in the order of the wire.
    pub le: &'a [u8],
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
    /// The type that elements must have, Object for classes and scripts; `None` for untyped.
    #[inline(always)]
    pub fn builtin(&self) -> Option<VariantType> {
        match self {
            Self::Untyped => None,
            Self::Builtin(ty) => Some(*ty),
            Self::Class(_) | Self::Script(_) => Some(VariantType::Object),
        }
    }

    /// Whether a value of type `found` may be held: the same type, or Nil for Object.
    #[inline(always)]
    pub fn takes(&self, found: VariantType) -> bool {
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

/// Elements of an Array or PackedStringArray, or the value of an entry, that a [`Decoder`](crate::Decoder) passes over, to be poured by another
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where they stand.
    pub bytes: std::ops::Range<usize>,
    /// How many there are.
    pub count: usize,
    /// The level that they lie at.
    pub depth: u32,
}

/// Walks a value and pours it into a sink.
pub trait Source {
    /// Pours exactly one value.
    ///
    /// # Errors
    /// Whatever source or sink refuses; the sink is then left with a part of the value.
    fn pour<S: Sink>(&mut self, sink: &mut S) -> Result<()>;
}

/// Receives the events of one value.
///
/// Each leaf method completes a value; each `begin_*` opens a container that its `end_*` completes. Counts are
/// known before the elements come, and exactly that many come.
pub trait Sink {
    /// A half-built Array.
    type Array;
    /// A half-built Dictionary.
    type Dictionary;
    /// A half-built Object.
    type Object;
    /// A half-built PackedStringArray.
    type Strings;

    /// Whether this sink wants to know where values lie in the bytes that they are read from. Then no runs come.
    const WANTS_PLACES: bool = false;

    /// Whether this sink makes the value, so that there must be memory for it.
    const BUILDS: bool = false;

    /// A value with this header starts at the byte `at`: its events follow.
    #[inline(always)]
    fn value_starts(&mut self, _at: usize, _header: u32, _ty: VariantType) {}
    /// The value that has started last and not ended yet ends before the byte `end`.
    #[inline(always)]
    fn value_ends(&mut self, _end: usize) {}

    /// Bytes written so far, by a sink that writes.
    #[inline(always)]
    fn written(&self) -> usize {
        0
    }

    /// Nil.
    fn nil(&mut self) -> Result<()>;
    /// bool.
    fn bool(&mut self, value: bool) -> Result<()>;
    /// int.
    fn int(&mut self, value: i64) -> Result<()>;
    /// float; every bit of a NaN counts.
    fn float(&mut self, value: f64) -> Result<()>;
    /// String or StringName.
    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()>;
    /// A String or StringName whose bytes should be UTF-8 without NULs. Says whether it has taken them; if not, nothing
    /// has happened, and they come again as [`Sink::text`] once they have been looked at.
    ///
    /// For sinks that look at each character anyway.
    #[inline(always)]
    fn raw_text(&mut self, _ty: VariantType, _bytes: &[u8]) -> Result<bool> {
        Ok(false)
    }
    /// Any type of [`Shape::Fixed`](crate::format::Shape::Fixed); `lanes` has exactly its components.
    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()>;
    /// Any type of [`Shape::Packed`](crate::format::Shape::Packed); `lanes` has whole elements.
    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()>;
    /// NodePath.
    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()>;
    /// RID.
    fn rid(&mut self, id: u64) -> Result<()>;
    /// Callable, of which nothing is written.
    fn callable(&mut self) -> Result<()>;
    /// Signal with the instance id of its object.
    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()>;
    /// Object by instance id; 0 is a null object.
    fn object_id(&mut self, id: u64) -> Result<()>;

    /// Opens an Array of `len` elements.
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<Self::Array>;
    /// The next value is the next element.
    fn begin_element(&mut self, array: &mut Self::Array) -> Result<()>;
    /// The element is complete.
    fn end_element(&mut self, array: &mut Self::Array) -> Result<()>;
    /// All elements are complete.
    fn end_array(&mut self, array: Self::Array) -> Result<()>;

    /// From how many bytes on elements come in parts, if this sink has others fill them in. No keys come so.
    #[inline(always)]
    fn part_bytes(&self) -> Option<usize> {
        None
    }
    /// The next elements come from elsewhere: from [`Decoder::pour_part`](crate::Decoder::pour_part).
    ///
    /// # Errors
    /// Always, if the sink does not offer it.
    fn part(&mut self, _array: &mut Self::Array, _part: Part) -> Result<()> {
        Err(Error::argument("this sink takes no parts"))
    }

    /// The value of the open entry comes from elsewhere, in the same way; it ends the entry. No two entries may then have
    /// the same key.
    ///
    /// # Errors
    /// Always, if the sink does not offer it.
    fn value_part(&mut self, _dictionary: &mut Self::Dictionary, _part: Part) -> Result<()> {
        Err(Error::argument("this sink takes no parts"))
    }

    /// The next elements of the open PackedStringArray come from elsewhere:
    /// from [`Decoder::pour_strings_part`](crate::Decoder::pour_strings_part).
    ///
    /// # Errors
    /// Always, if the sink does not offer it.
    fn strings_part(&mut self, _strings: &mut Self::Strings, _part: Part) -> Result<()> {
        Err(Error::argument("this sink takes no parts"))
    }

    /// The next elements are these ints: a run.
    ///
    /// Here and below a sink may do better than for one element after the other. It takes all of them, unless it
    /// refuses one, which is then the one that it took last.
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

    /// The next elements are of one type of [`Shape::Fixed`](crate::format::Shape::Fixed), whose components take `N`
    /// bytes in this precision.
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
    fn begin_key(&mut self, dictionary: &mut Self::Dictionary) -> Result<()>;
    /// The key is complete; the next value belongs to it.
    fn begin_value(&mut self, dictionary: &mut Self::Dictionary) -> Result<()>;
    /// Whether the open entry is kept. What is wrong with its value does no harm otherwise.
    #[inline(always)]
    fn keeps_entry(&self, _dictionary: &Self::Dictionary) -> bool {
        true
    }
    /// The entry is complete.
    fn end_entry(&mut self, dictionary: &mut Self::Dictionary) -> Result<()>;
    /// All entries are complete.
    fn end_dictionary(&mut self, dictionary: Self::Dictionary) -> Result<()>;

    /// Opens an Object of a native class with `properties` properties.
    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<Self::Object>;
    /// The next value belongs to the property `name`.
    fn begin_property(&mut self, object: &mut Self::Object, name: Text<'_>) -> Result<()>;
    /// The property is complete.
    fn end_property(&mut self, object: &mut Self::Object) -> Result<()>;
    /// All properties are complete.
    fn end_object(&mut self, object: Self::Object) -> Result<()>;

    /// Opens a PackedStringArray of `len` elements.
    fn begin_strings(&mut self, len: usize) -> Result<Self::Strings>;
    /// One element.
    fn string(&mut self, strings: &mut Self::Strings, text: Text<'_>) -> Result<()>;
    /// One element, on the terms of [`Sink::raw_text`].
    #[inline(always)]
    fn raw_string(&mut self, _strings: &mut Self::Strings, _bytes: &[u8]) -> Result<bool> {
        Ok(false)
    }
    /// All elements are complete.
    fn end_strings(&mut self, strings: Self::Strings) -> Result<()>;
}
