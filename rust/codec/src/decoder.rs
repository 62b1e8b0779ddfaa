//! Decodes bytes to events.

mod arrays;
mod bytes;
mod dictionaries;
pub(crate) mod heads;
mod objects;
mod parts;
mod texts;

use crate::changes::{Change, Loss};
use crate::error::{Error, ErrorKind, Limit, Locate, Oddity, Result};
use crate::events::{ElementType, Part, Sink, Source, Text};
use crate::findings::{Notes, Span, SpanKind, Spans};
use crate::format::{self, Lane, Shape, VariantType};
use crate::lanes::{Lanes, Precision};
use crate::limits::{Budget, Limits, Spent, Strictness};
use crate::wire::cursor::Cursor;
use crate::wire::dialect::{Dialect, Godot3, Godot4};
use crate::wire::header::Header;

/// Limit on how many times the input may be skimmed for split points.
const MAX_SKIMS: usize = 3;

/// Reads values from a byte buffer, one after the other.
///
/// Before it allocates for a count, the decoder checks that the input holds enough bytes.
///
/// With `NOTES`, the decoder notes oddities that only strict reading refuses, and continues; see
/// [`Decoder::noting`].
///
/// ```
/// use variant_codec::stream::{Decoder, Source, ValueBuilder};
/// use variant_codec::{Limits, Strictness, Value};
///
/// // Two values, one after the other.
/// let bytes = [Value::from(1).encode()?, Value::from(2).encode()?].concat();
/// let limits = Limits::for_network();
/// let mut decoder = Decoder::new(&bytes, Strictness::Strict, &limits);
/// for expected in [1, 2] {
///     let mut builder = ValueBuilder::default();
///     decoder.write_into(&mut builder)?;
///     assert_eq!(builder.into_value(), Value::from(expected));
/// }
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<'a, D: Dialect = Godot4, const NOTES: bool = false> {
    dialect: D,
    cursor: Cursor<'a>,
    depth: u32,
    /// The deepest level allowed for a container; lower inside a key.
    max_container_depth: u32,
    in_key: bool,
    /// Bytes that may still be skimmed for split points. Each level that could be split skims its bytes again.
    skimmable: usize,
    strictness: Strictness,
    notes: Notes,
    spans: Spans,
    budget: Budget<'a>,
}

impl<'a> Decoder<'a> {
    /// A decoder at the start of `bytes`.
    pub fn new(bytes: &'a [u8], strictness: Strictness, limits: &'a Limits) -> Self {
        Self::at_start(Godot4, bytes, strictness, limits)
    }
}

impl<'a> Decoder<'a, Godot3> {
    /// A decoder of Godot 3's format at the start of `bytes`. It never hands parts to the sink.
    ///
    /// Text with invalid code units is an error, since Godot 4 cannot hold it. An object is also an error,
    /// since Godot 4 cannot create it. With [`Loss::Accepted`], U+FFFD replaces the units, and an object
    /// becomes a Dictionary of its properties. The first entry holds the class at the key `class`.
    pub fn of_godot3(bytes: &'a [u8], strictness: Strictness, limits: &'a Limits, loss: Loss) -> Self {
        Self::at_start(Godot3 { loss, changes: Vec::new() }, bytes, strictness, limits)
    }

    /// The replacements made.
    pub fn into_changes(self) -> Vec<Change> {
        self.dialect.changes
    }
}

impl<'a, D: Dialect> Decoder<'a, D, true> {
    /// A decoder at the start of `bytes` that accepts what the engine accepts. It notes oddities and records
    /// at most `most_spans` spans. If a container announces more items than the bytes can hold, it reads those that
    /// are there, and then fails.
    pub fn noting(dialect: D, bytes: &'a [u8], limits: &'a Limits, most_spans: usize) -> Self {
        let spans = Spans { most: most_spans, ..Spans::default() };
        Self { spans, ..Self::at_start(dialect, bytes, Strictness::Strict, limits) }
    }

    /// The notes and the spans so far; the spans are in byte order.
    pub fn into_findings(self) -> (Notes, Vec<Span>) {
        (self.notes, self.spans.found)
    }
}

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    fn at_start(dialect: D, bytes: &'a [u8], strictness: Strictness, limits: &'a Limits) -> Self {
        let budget = Budget::new(limits);
        let skimmable = bytes.len().saturating_mul(MAX_SKIMS);
        Self {
            dialect,
            cursor: Cursor::new(bytes, 0),
            depth: 0,
            max_container_depth: u32::MAX,
            in_key: false,
            skimmable,
            strictness,
            notes: Notes::default(),
            spans: Spans::default(),
            budget,
        }
    }

    /// This decoder, with limits that other values have used in part.
    pub fn after(self, spent: Spent) -> Self {
        Self { budget: Budget::after(spent, self.budget.limits), ..self }
    }

    /// The usage of the limits so far, earlier values included.
    pub fn spent(&self) -> Spent {
        self.budget.spent()
    }

    /// Writes the only value in the buffer into `sink` and returns the value's end.
    ///
    /// # Errors
    /// Fails with the offset if the bytes are invalid, exceed `max_bytes`, or continue after the value
    /// although the limits forbid that.
    pub fn decode_only<S: Sink>(&mut self, sink: &mut S) -> Result<usize> {
        let limits = self.budget.limits;
        if self.cursor.bytes().len() > limits.max_bytes {
            return Err(self.error(limits.exceeded(Limit::Bytes)));
        }
        self.write_into(sink)?;
        let left = self.cursor.rest().len();
        if left > 0 && !limits.allow_trailing_bytes {
            return Err(self.error(ErrorKind::TrailingBytes(left)));
        }
        Ok(self.position())
    }

    /// Decodes a part that another decoder of the same bytes has skipped. `array` is open in `sink`.
    ///
    /// # Errors
    /// Fails with the offset if the bytes are invalid or the part does not end where it should.
    pub fn decode_part<S: Sink>(&mut self, part: &Part, sink: &mut S, array: &mut S::Array) -> Result<()> {
        self.cursor.jump(part.bytes.start);
        self.depth = part.depth;
        self.decode_elements(sink, array, &ElementType::Untyped, 0..part.count)?;
        self.ends_at(part.bytes.end)
    }

    /// Like [`Decoder::decode_part`], for elements of a PackedStringArray.
    ///
    /// # Errors
    /// As [`Decoder::decode_part`].
    pub fn decode_strings_part<S: Sink>(
        &mut self,
        part: &Part,
        sink: &mut S,
        strings: &mut S::Strings,
    ) -> Result<()> {
        self.cursor.jump(part.bytes.start);
        for _ in 0..part.count {
            self.decode_terminated_string(sink, strings)?;
        }
        self.ends_at(part.bytes.end)
    }

    fn ends_at(&self, end: usize) -> Result<()> {
        if self.position() == end {
            Ok(())
        } else {
            Err(Error::argument("part does not end where it was expected to").at(self.position()))
        }
    }

    /// The offset of the next value. It lies past the end, as in the engine, if a final PackedByteArray lacks
    /// its padding.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.cursor.position()
    }

    #[inline(always)]
    fn decode_fixed<S: Sink>(&mut self, sink: &mut S, ty: VariantType, precision: Precision) -> Result<()> {
        let le = self.take(ty.lanes_bytes(precision))?;
        sink.fixed(ty, Lanes { precision, le })
    }

    #[inline(never)]
    fn decode_packed<S: Sink>(&mut self, sink: &mut S, header: Header) -> Result<()> {
        let Shape::Packed(lane, _) = header.ty.shape() else {
            unreachable!("{} is no packed array", header.ty)
        };
        let precision = header.precision();
        let element = header.ty.lanes_bytes(precision);
        let at = self.position();
        let count = self.count(element)?;
        let le = self.take(count * element)?;
        self.budget.packed_lanes(lane, precision, count, le.len()).at(at)?;
        if lane == Lane::Byte {
            // The engine counts this padding as read even if the data ends before it.
            let (at, padding, there) = (self.position(), format::padding(count), self.cursor.rest());
            self.odd(there.len() < padding, at, Oddity::MissingPadding)?;
            let nonzero = there.iter().take(padding).any(|&byte| byte != 0);
            self.odd(nonzero && !D::HAS_CARELESS_WRITERS, at, Oddity::Padding)?;
            self.span(at, SpanKind::Padding);
            self.cursor.jump(at + padding);
            self.span(at + padding, SpanKind::Content);
        }
        sink.packed(header.ty, Lanes { precision, le })
    }

    /// Decodes the payload of a value that starts at `at` and is not an Array, Dictionary or Object. Not inlined
    /// in WebAssembly: its locals would enlarge the frame of the recursive caller at each level of nesting.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    fn decode_leaf<S: Sink>(&mut self, sink: &mut S, at: usize, header: Header) -> Result<()> {
        use VariantType as T;

        let (ty, wide, precision) = (header.ty, header.is_wide(), header.precision());
        match ty {
            T::Nil => sink.nil(),
            T::Bool => {
                let value = self.u32()?;
                self.odd(value > 1, at, Oddity::Bool)?;
                sink.bool(value != 0)
            }
            T::Int => {
                let value = self.int(wide)?;
                let fits = wide && !D::HAS_CARELESS_WRITERS && i32::try_from(value).is_ok();
                self.odd(fits, at, Oddity::WideNumber)?;
                sink.int(value)
            }
            T::Float => {
                let value = self.float(wide)?;
                self.odd(wide && f64::from(value as f32) == value, at, Oddity::WideNumber)?;
                self.odd(!wide && value.is_nan(), at, Oddity::NarrowNan)?;
                sink.float(value)
            }
            T::String | T::StringName => {
                let text_at = self.position();
                let bytes = self.counted_bytes(false)?;
                if ty == T::StringName {
                    self.budget.name(bytes).at(at)?;
                }
                if self.may_be_raw(bytes) && sink.raw_text(ty, bytes).at(at)? {
                    return self.budget.text(bytes.len()).at(text_at);
                }
                let text = self.text(bytes, text_at)?;
                sink.text(ty, Text::Utf8(&text)).at(at)
            }
            // One arm per type, so that the compiler specialises each for its size.
            T::Vector2 => self.decode_fixed(sink, T::Vector2, precision),
            T::Vector2i => self.decode_fixed(sink, T::Vector2i, precision),
            T::Rect2 => self.decode_fixed(sink, T::Rect2, precision),
            T::Rect2i => self.decode_fixed(sink, T::Rect2i, precision),
            T::Vector3 => self.decode_fixed(sink, T::Vector3, precision),
            T::Vector3i => self.decode_fixed(sink, T::Vector3i, precision),
            T::Transform2D => self.decode_fixed(sink, T::Transform2D, precision),
            T::Vector4 => self.decode_fixed(sink, T::Vector4, precision),
            T::Vector4i => self.decode_fixed(sink, T::Vector4i, precision),
            T::Plane => self.decode_fixed(sink, T::Plane, precision),
            T::Quaternion => self.decode_fixed(sink, T::Quaternion, precision),
            T::Aabb => self.decode_fixed(sink, T::Aabb, precision),
            T::Basis => self.decode_fixed(sink, T::Basis, precision),
            T::Transform3D => self.decode_fixed(sink, T::Transform3D, precision),
            T::Projection => self.decode_fixed(sink, T::Projection, precision),
            T::Color => self.decode_fixed(sink, T::Color, precision),
            T::NodePath => self.decode_node_path(sink),
            T::Rid => {
                let id = if D::HAS_FLAGS { self.u64()? } else { 0 };
                sink.rid(id)
            }
            T::Callable => sink.callable(),
            T::Signal => {
                let name = self.name()?;
                let object = self.u64()?;
                sink.signal(name.into(), object).at(at)
            }
            T::Object | T::Dictionary | T::Array => unreachable!("{ty} can contain other values"),
            T::PackedByteArray
            | T::PackedInt32Array
            | T::PackedInt64Array
            | T::PackedFloat32Array
            | T::PackedFloat64Array
            | T::PackedVector2Array
            | T::PackedVector3Array
            | T::PackedColorArray
            | T::PackedVector4Array => self.decode_packed(sink, header),
            T::PackedStringArray => self.decode_strings(sink),
        }
    }
}

impl<D: Dialect, const NOTES: bool> Source for Decoder<'_, D, NOTES> {
    // In WebAssembly, inlining leaves one frame per level of nesting instead of three.
    #[cfg_attr(target_family = "wasm", inline(always))]
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.position();
        self.check_depth()?;
        let bits = self.u32_of(SpanKind::Header)?;
        let header = self.header_of(bits, at)?;
        let ty = header.ty;
        self.check_header_bits(bits, ty, at)?;
        self.budget.value(ty).at(at)?;
        sink.value_starts(at, header);
        let written = match ty {
            VariantType::Array => self.decode_array(sink, header),
            VariantType::Dictionary => self.decode_dictionary(sink, header),
            VariantType::Object => self.decode_object(sink, header, at),
            _ => self.decode_leaf(sink, at, header),
        };
        if S::WANTS_PLACES && written.is_ok() {
            sink.value_ends(self.position());
        }
        written
    }
}
