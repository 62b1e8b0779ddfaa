//! Bytes → events.

use std::ops::Range;

use crate::changes::{Change, Loss};
use crate::dialect::{Dialect, Godot3, Godot4};
use crate::error::{Error, ErrorKind, Limit, Oddity, Result, Step};
use crate::events::{ElementType, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Source, Text};
use crate::findings::{Notes, Span, SpanKind, Spans};
use crate::format::{self, ContainerKind, Lane, Shape, VariantType};
use crate::lanes;
use crate::limits::{Budget, Limits, Spent, Strictness};
use crate::skim::Skimmer;

/// The key of the class in a Dictionary that stands for an object; no property can have this name.
const CLASS_KEY: &str = "class";
/// Values of entries that take fewer bytes are poured where they are.
const SMALLEST_VALUE_PART: usize = 64;
/// How often all bytes may be skimmed for parts.
const MAX_SKIMS: usize = 3;

/// Reads values from a byte buffer, one after the other.
///
/// Nothing is allocated from an announced count before the bytes for it are known to be there.
///
/// With `NOTES`, what only strict reading refuses is noted and read on; see [`Decoder::noting`].
#[derive(Debug)]
pub struct Decoder<'a, D: Dialect = Godot4, const NOTES: bool = false> {
    dialect: D,
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    /// The deepest level of a container, which is limited inside of a key.
    max_container_depth: u32,
    in_key: bool,
    /// How many bytes may still be skimmed for parts: each is, at each level where it could be cut.
    skimmable: usize,
    strictness: Strictness,
    notes: Notes,
    spans: Spans,
    budget: Budget<'a>,
}

impl<'a> Decoder<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8], strictness: Strictness, limits: &'a Limits) -> Self {
        Self::at_start(Godot4, bytes, strictness, limits)
    }
}

impl<'a> Decoder<'a, Godot3> {
    /// A reader of Godot 3's format at the start of `bytes`. No parts come from it.
    ///
    /// Godot 4 cannot hold text with code units that are no characters, nor make objects of Godot 3: both are errors. With
    /// [`Loss::Accepted`], the units are replaced by U+FFFD, and objects are poured as Dictionaries of their properties, with the
    /// class under the first key, `class`.
    pub fn of_godot3(bytes: &'a [u8], strictness: Strictness, limits: &'a Limits, loss: Loss) -> Self {
        Self::at_start(Godot3 { loss, changes: Vec::new() }, bytes, strictness, limits)
    }

    /// What has been replaced.
    pub fn into_changes(self) -> Vec<Change> {
        self.dialect.changes
    }
}

impl<'a> Decoder<'a, Godot4, true> {
    /// A reader at the start of `bytes` that reads what the engine reads, and notes what is odd, and of which spans the
    /// bytes are made, up to so many.
    pub fn noting(bytes: &'a [u8], limits: &'a Limits, most_spans: usize) -> Self {
        let spans = Spans { found: Vec::new(), most: most_spans };
        Self { spans, ..Self::at_start(Godot4, bytes, Strictness::Strict, limits) }
    }

    /// What has been found odd so far, and the spans, in the order of the bytes.
    pub fn into_findings(self) -> (Notes, Vec<Span>) {
        (self.notes, self.spans.found)
    }
}

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    fn at_start(dialect: D, bytes: &'a [u8], strictness: Strictness, limits: &'a Limits) -> Self {
        let mut budget = Budget::new(limits);
        budget.input(bytes.len());
        let skimmable = bytes.len().saturating_mul(MAX_SKIMS);
        Self {
            dialect,
            bytes,
            at: 0,
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

    /// The same, where other values have used up some of the limits.
    pub fn after(self, spent: Spent) -> Self {
        let mut budget = Budget::after(spent, self.budget.limits);
        budget.input(self.bytes.len());
        Self { budget, ..self }
    }

    /// What values have used up of the limits, this one included.
    pub fn spent(&self) -> Spent {
        self.budget.spent()
    }

    /// Pours the one value that the buffer holds into `sink`, and returns where it ended.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset; also too many bytes, and bytes after the value, if the limits
    /// do not allow them.
    pub fn pour_only<S: Sink>(&mut self, sink: &mut S) -> Result<usize> {
        let limits = self.budget.limits;
        if self.bytes.len() > limits.max_bytes {
            return Err(self.error(ErrorKind::LimitExceeded(Limit::Bytes, limits.max_bytes as u64)));
        }
        self.pour(sink)?;
        let left = self.left();
        if left > 0 && !limits.allow_trailing_bytes {
            return Err(self.error(ErrorKind::TrailingBytes(left)));
        }
        Ok(self.at)
    }

    /// Pours a part of the same bytes that another decoder has passed over into `sink`, whose `array` is open.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset; also where the part does not end where it should.
    pub fn pour_part<S: Sink>(&mut self, part: &Part, sink: &mut S, array: &mut S::Array) -> Result<()> {
        self.at = part.bytes.start;
        self.depth = part.depth;
        self.pour_elements(sink, array, &ElementType::Untyped, 0..part.count)?;
        self.ends_at(part.bytes.end)
    }

    /// The same for elements of a PackedStringArray.
    ///
    /// # Errors
    /// As [`Decoder::pour_part`].
    pub fn pour_strings_part<S: Sink>(
        &mut self,
        part: &Part,
        sink: &mut S,
        strings: &mut S::Strings,
    ) -> Result<()> {
        self.at = part.bytes.start;
        for _ in 0..part.count {
            self.pour_terminated_string(sink, strings)?;
        }
        self.ends_at(part.bytes.end)
    }

    fn ends_at(&self, end: usize) -> Result<()> {
        if self.at == end {
            Ok(())
        } else {
            Err(Error::argument("part does not end where it was expected to").at(self.at))
        }
    }

    /// Where the next value starts. Past the end where the engine's own count is: when the padding of a final
    /// PackedByteArray is missing.
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    #[cold]
    #[inline(never)]
    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).at(self.at.min(self.bytes.len()))
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self) -> Error {
        let limit = self.max_depth();
        self.error(match limit {
            format::MAX_DEPTH => ErrorKind::TooDeep,
            _ => ErrorKind::LimitExceeded(Limit::Depth, limit.into()),
        })
    }

    #[inline(always)]
    fn max_depth(&self) -> u32 {
        self.budget.limits.max_depth.min(format::MAX_DEPTH)
    }

    /// Refuses a container that is too deep inside of a key, in both manners: an engine that hashes one complains about
    /// each container down there.
    #[inline(always)]
    fn check_key_depth(&mut self, at: usize) -> Result<()> {
        if self.depth > self.max_container_depth {
            return Err(self.error_at(at, ErrorKind::KeyTooDeep { limit: format::MAX_KEY_DEPTH }));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn error_at(&self, at: usize, kind: ErrorKind) -> Error {
        Error::new(kind).at(at)
    }

    /// In strict reading an error, in the engine's nothing.
    #[inline(always)]
    fn odd(&mut self, is_odd: bool, at: usize, oddity: Oddity) -> Result<()> {
        if is_odd
            && self.strictness == Strictness::Strict
            && !(self.budget.limits.allow_non_canonical && oddity.is_harmless())
        {
            return self.refuse(at, || ErrorKind::NotCanonical(oddity));
        }
        Ok(())
    }

    /// Refuses, or only notes, what the engine reads.
    #[inline(always)]
    fn refuse(&mut self, at: usize, kind: impl FnOnce() -> ErrorKind) -> Result<()> {
        if NOTES {
            self.notes.add(at, kind);
            return Ok(());
        }
        Err(self.error_at(at, kind()))
    }

    /// Notes what the bytes from `start` on are there for.
    #[inline(always)]
    fn span(&mut self, start: usize, kind: SpanKind) {
        if NOTES {
            self.spans.add(start, kind);
        }
    }

    #[inline(always)]
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(self.error(ErrorKind::UnexpectedEnd { needed: count, left: self.left() })),
        }
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(taken) => {
                self.at += N;
                Ok(*taken)
            }
            None => Err(self.error(ErrorKind::UnexpectedEnd { needed: N, left: self.left() })),
        }
    }

    #[inline(always)]
    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number that is not itself what the value is made of.
    #[inline(always)]
    fn u32_of(&mut self, kind: SpanKind) -> Result<u32> {
        self.span(self.at, kind);
        let number = self.u32()?;
        self.span(self.at, SpanKind::Content);
        Ok(number)
    }

    #[inline(always)]
    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A count of things that take at least `smallest` bytes each; a negative one is an error.
    #[inline(always)]
    fn count(&mut self, smallest: usize) -> Result<usize> {
        let at = self.at;
        let count = self.u32_of(SpanKind::Count)? as i32;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() / smallest => Ok(count),
            _ => Err(self
                .error_at(at, ErrorKind::BadCount { count: count.into(), left: self.bytes.len() - self.at })),
        }
    }

    /// The count of a container, whose top bit is ignored.
    #[inline(always)]
    fn container_count(&mut self, smallest: usize) -> Result<usize> {
        let at = self.at;
        let raw = self.u32_of(SpanKind::Count)?;
        self.odd(raw & !format::COUNT_MASK != 0, at, Oddity::SharedBit)?;
        let count = (raw & format::COUNT_MASK) as usize;
        if count > self.left() / smallest {
            return Err(self.error_at(at, ErrorKind::BadCount { count: count as i64, left: self.left() }));
        }
        Ok(count)
    }

    /// What follows so many bytes up to the next word.
    #[inline(always)]
    fn padding(&mut self, count: usize) -> Result<&'a [u8]> {
        self.span(self.at, SpanKind::Padding);
        let padding = self.take(format::padding(count))?;
        self.span(self.at, SpanKind::Content);
        Ok(padding)
    }

    /// The bytes of a counted text; what follows is skipped as padding.
    #[inline(always)]
    fn counted_bytes(&mut self, garbage_padding: bool) -> Result<&'a [u8]> {
        let garbage_padding = garbage_padding || D::HAS_CARELESS_WRITERS;
        let at = self.at;
        let count = self.count(1)?;
        let bytes = self.take(count)?;
        let padding = self.padding(count)?;
        if !garbage_padding {
            self.odd(padding.iter().any(|&byte| byte != 0), at, Oddity::Padding)?;
        }
        Ok(bytes)
    }

    /// A counted text, as the engine reads it: one byte-order mark dropped, cut at the first NUL.
    #[inline(always)]
    fn string(&mut self) -> Result<&'a str> {
        let at = self.at;
        let bytes = self.counted_bytes(false)?;
        self.name_text(bytes, at)
    }

    /// A counted text that the engine keeps as a name.
    #[inline(always)]
    fn name(&mut self) -> Result<&'a str> {
        located(self.at, self.budget.name())?;
        self.string()
    }

    /// A part of a NodePath, whose padding engines before 4.6.3 leave uninitialised.
    #[inline(always)]
    fn node_path_part(&mut self) -> Result<(&'a [u8], usize)> {
        let at = self.at;
        located(at, self.budget.name())?;
        Ok((self.counted_bytes(true)?, at))
    }

    /// An element of a PackedStringArray, whose closing NUL is counted.
    #[inline(always)]
    fn pour_terminated_string<S: Sink>(&mut self, sink: &mut S, strings: &mut S::Strings) -> Result<()> {
        let at = self.at;
        let counted = self.counted_bytes(false)?;
        let (is_terminated, bytes) = match counted.split_last() {
            Some((0, bytes)) => (true, bytes),
            _ => (false, counted),
        };
        self.odd(!is_terminated, at, Oddity::MissingNul)?;
        if self.may_be_raw(bytes) && sink.raw_string(strings, bytes)? {
            return located(at, self.budget.text(bytes.len()));
        }
        let text = self.text(bytes, at)?;
        sink.string(strings, Text::Utf8(&text))
    }

    /// Whether a sink may look for itself whether these bytes are text: that there is no mark to be taken away, and
    /// that no limit depends on where a NUL cuts them.
    #[inline(always)]
    fn may_be_raw(&self, bytes: &[u8]) -> bool {
        bytes.first() != format::BOM.as_bytes().first() && self.budget.allows_text(bytes.len())
    }

    /// Text that is a value.
    #[inline(always)]
    fn text(&mut self, bytes: &'a [u8], at: usize) -> Result<D::Text<'a>> {
        let text = self.text_bytes(bytes, at)?;
        self.dialect.text(text).map_err(|kind| self.error_at(at, kind))
    }

    /// Text that names something: UTF-8 in every dialect.
    #[inline(always)]
    fn name_text(&mut self, bytes: &'a [u8], at: usize) -> Result<&'a str> {
        let text = self.text_bytes(bytes, at)?;
        simdutf8::basic::from_utf8(text).map_err(|_| self.error_at(at, ErrorKind::InvalidUtf8))
    }

    /// What is read of a counted text: no mark at its start, nothing from a NUL on.
    #[inline(always)]
    fn text_bytes(&mut self, bytes: &'a [u8], at: usize) -> Result<&'a [u8]> {
        let marked = bytes.strip_prefix(format::BOM.as_bytes());
        self.odd(marked.is_some(), at, Oddity::ByteOrderMark)?;
        let mut text = marked.unwrap_or(bytes);
        if let Some(nul) = memchr::memchr(0, text) {
            self.odd(true, at, Oddity::Nul)?;
            text = &text[..nul];
        }
        located(at, self.budget.text(text.len()))?;
        Ok(text)
    }

    /// The header of the next value, where there is one.
    #[inline(always)]
    fn next_header(&self) -> Option<u32> {
        self.bytes.get(self.at..)?.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// The type of the next value, where there is a valid one.
    #[inline(always)]
    fn next_type(&self) -> Option<VariantType> {
        D::type_of(self.next_header()? as u8)
    }

    /// The type of the next value, if a typed container does not take it.
    #[inline(always)]
    fn misfit(&self, element: &ElementType<'_>) -> Option<VariantType> {
        self.next_type().filter(|found| !element.takes(*found))
    }

    /// What the engine converts, or leaves out.
    #[inline(always)]
    fn odd_misfit(&mut self, container: &'static str, element: &ElementType<'_>) -> Result<()> {
        match self.misfit(element) {
            Some(found) => self.refuse(self.at, || Self::wrong_type(container, element, found)),
            None => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn wrong_type(container: &'static str, element: &ElementType<'_>, found: VariantType) -> ErrorKind {
        ErrorKind::WrongElementType { container, expected: element.to_string(), found: found.to_string() }
    }

    #[inline]
    fn element_type(&mut self, kind: ContainerKind) -> Result<ElementType<'a>> {
        let objects = self.budget.limits.allow_objects;
        let at = self.at;
        let element = match kind {
            ContainerKind::Untyped => return Ok(ElementType::Untyped),
            ContainerKind::Builtin => {
                let id = self.u32_of(SpanKind::ElementType)? as i32;
                let ty = u8::try_from(id).ok().and_then(VariantType::from_id);
                match ty.ok_or_else(|| self.error_at(at, ErrorKind::UnknownElementType(id)))? {
                    VariantType::Nil => {
                        self.odd(true, at, Oddity::ElementType)?;
                        ElementType::Untyped
                    }
                    ty => ElementType::Builtin(ty),
                }
            }
            ContainerKind::Class => match self.name()? {
                "" => {
                    self.odd(true, at, Oddity::ElementType)?;
                    ElementType::Builtin(VariantType::Object)
                }
                name => ElementType::Class(name.into()),
            },
            ContainerKind::Script => {
                let path = self.string()?;
                self.odd(!path.starts_with(format::SCRIPT_PATH_PREFIX), at, Oddity::ScriptPath)?;
                ElementType::Script(path.into())
            }
        };
        // Without objects, elements can only be what stands for an object, whatever was declared.
        Ok(match element.builtin() {
            Some(VariantType::Object) if !objects => ElementType::Class(format::ENCODED_OBJECT_AS_ID.into()),
            _ => element,
        })
    }

    /// From how many bytes on the sink wants parts. The skimmer that finds them knows Godot 4's format alone.
    #[inline(always)]
    fn part_bytes<S: Sink>(sink: &mut S) -> Option<usize> {
        sink.in_parts().filter(|_| D::HAS_FLAGS).map(|parts| parts.part_bytes())
    }

    #[inline(always)]
    fn precision(header: u32) -> Precision {
        if header & format::FLAG_64 != 0 { Precision::Double } else { Precision::Single }
    }

    #[inline(always)]
    fn pour_fixed<S: Sink>(&mut self, sink: &mut S, ty: VariantType, header: u32) -> Result<()> {
        let Shape::Fixed(lane, count) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        let precision = Self::precision(header);
        let le = self.take(count * lane.width(precision == Precision::Double))?;
        sink.fixed(ty, Lanes { precision, le })
    }

    #[inline(never)]
    fn pour_packed<S: Sink>(&mut self, sink: &mut S, ty: VariantType, header: u32) -> Result<()> {
        let Shape::Packed(lane, per_element) = ty.shape() else { unreachable!("{ty} is no packed array") };
        let precision = Self::precision(header);
        let element = per_element * lane.width(precision == Precision::Double);
        let at = self.at;
        let count = self.count(element)?;
        let le = self.take(count * element)?;
        located(at, self.budget.packed(count, le.len()))?;
        if lane == Lane::Byte {
            // The engine counts this padding as read even where the data end before it.
            let padding = format::padding(count);
            let there = self.bytes.get(self.at..).unwrap_or_default();
            self.odd(there.len() < padding, self.at, Oddity::MissingPadding)?;
            let nonzero = there.iter().take(padding).any(|&byte| byte != 0);
            self.odd(nonzero && !D::HAS_CARELESS_WRITERS, self.at, Oddity::Padding)?;
            self.span(self.at, SpanKind::Padding);
            self.at += padding;
            self.span(self.at, SpanKind::Content);
        }
        sink.packed(ty, Lanes { precision, le })
    }

    #[inline(never)]
    fn pour_strings<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.at;
        let count = self.u32_of(SpanKind::Count)? as i32;
        self.odd(count < 0, at, Oddity::NegativeCount)?;
        // The engine takes a negative count for zero.
        let count = usize::try_from(count).unwrap_or(0);
        if count > self.left() / 4 {
            return Err(self.error_at(at, ErrorKind::BadCount { count: count as i64, left: self.left() }));
        }
        located(at, self.budget.strings(count))?;
        let mut strings = located(at, sink.begin_strings(count))?;
        let first = match Self::part_bytes(sink) {
            Some(bytes) if !self.in_key && self.left() > bytes => {
                self.hand_strings_over(sink, &mut strings, count, bytes)?
            }
            _ => 0,
        };
        for index in first..count {
            self.pour_terminated_string(sink, &mut strings)
                .map_err(|error| error.inside(Step::Index(index)))?;
        }
        located(at, sink.end_strings(strings))
    }

    /// Hands texts over in parts of at least so many bytes. Returns how many of all that was.
    #[inline(never)]
    fn hand_strings_over<S: Sink>(
        &mut self,
        sink: &mut S,
        strings: &mut S::Strings,
        count: usize,
        bytes: usize,
    ) -> Result<usize> {
        let mut first = 0;
        let mut skimmer = Skimmer::new(self.bytes, self.at);
        for index in 0..count {
            if skimmer.skip_text().is_none() {
                break;
            }
            let end = skimmer.position();
            if end - self.at >= bytes {
                taker(sink)?.strings_part(
                    strings,
                    Part { bytes: self.at..end, count: index + 1 - first, depth: self.depth },
                )?;
                self.at = end;
                first = index + 1;
            }
        }
        Ok(first)
    }

    #[inline(never)]
    fn pour_node_path<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let at = self.at;
        let first = self.u32_of(SpanKind::Count)?;
        if first & format::NODE_PATH_NEW_FORMAT == 0 {
            return Err(self.error_at(at, ErrorKind::OldNodePath));
        }
        let names = first & !format::NODE_PATH_NEW_FORMAT;
        let mut subnames = self.u32_of(SpanKind::Count)?;
        let flags = self.u32_of(SpanKind::Count)?;
        if flags & format::NODE_PATH_EXTRA_SUBNAME != 0 {
            subnames = subnames.wrapping_add(1);
        }
        // The engine's counters wrap around.
        let total = names.wrapping_add(subnames);
        let odd = names > total || flags & !format::NODE_PATH_ABSOLUTE != 0;
        self.odd(odd, at, Oddity::NodePathCounters)?;
        if total as usize > self.left() / 4 {
            return Err(self.error_at(at, ErrorKind::BadCount { count: total.into(), left: self.left() }));
        }
        located(at, self.budget.node_path(total as usize))?;
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        let converted = if D::HAS_LENIENT_TEXT { total } else { 0 };
        if parts.try_reserve_exact(total as usize).is_err()
            || texts.try_reserve_exact(converted as usize).is_err()
        {
            let bytes = total as usize * size_of::<Text<'_>>();
            return Err(self.error_at(at, ErrorKind::OutOfMemory(bytes)));
        }
        for _ in 0..converted {
            let (bytes, at) = self.node_path_part()?;
            texts.push(self.text(bytes, at)?);
        }
        parts.extend(texts.iter().map(|text| Text::Utf8(text)));
        for _ in converted..total {
            let (bytes, at) = self.node_path_part()?;
            parts.push(Text::Utf8(self.name_text(bytes, at)?));
        }
        let (names, subnames) = parts.split_at(parts.len().min(names as usize));
        // Godot 3 makes nothing of the flag alone.
        let absolute = flags & format::NODE_PATH_ABSOLUTE != 0 && (D::HAS_FLAGS || total > 0);
        located(at, sink.node_path(NodePathParts { absolute, names, subnames }))
    }

    #[inline(never)]
    fn pour_array<S: Sink>(&mut self, sink: &mut S, header: u32) -> Result<()> {
        let at = self.at;
        self.check_key_depth(at - 4)?;
        let element = self.element_type(ContainerKind::of(header, format::KIND_SHIFT))?;
        let count = self.container_count(4)?;
        located(at, self.budget.array(count, element))?;
        let mut array = located(at, sink.begin_array(count, element))?;
        self.depth += 1;
        let first = match Self::part_bytes(sink) {
            Some(bytes) if !self.in_key && self.left() > bytes => {
                self.pour_parts(sink, &mut array, count, element, bytes)?
            }
            _ => 0,
        };
        self.pour_elements(sink, &mut array, &element, first..count)?;
        self.depth -= 1;
        located(at, sink.end_array(array))
    }

    fn pour_elements<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<()> {
        let Range { start: mut index, end } = indexes;
        while index < end {
            if !S::WANTS_PLACES && self.is_at_run() {
                let poured = self.pour_run(sink, array, element, index..end)?;
                index += poured;
                if poured > 0 {
                    continue;
                }
            }
            self.pour_element(sink, array, element).map_err(|error| error.inside(Step::Index(index)))?;
            index += 1;
        }
        Ok(())
    }

    /// Hands elements over in parts of at least so many bytes, and pours the others. Returns how many of all that was.
    #[inline(never)]
    fn pour_parts<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        count: usize,
        element: ElementType<'_>,
        bytes: usize,
    ) -> Result<usize> {
        // Numbers are poured faster than others could get at them.
        let mut first = 0;
        while first < count && self.is_at_run() {
            match self.pour_run(sink, array, &element, first..count)? {
                0 => break,
                poured => first += poured,
            }
        }
        let whole = first;
        let mut skimmer = Skimmer::new(self.bytes, self.at);
        for index in whole..count {
            let start = skimmer.position();
            if !Self::surely_takes(&element, &skimmer) || self.skimmable == 0 {
                return Ok(first);
            }
            // Where something is wrong, pouring as usual finds out what.
            let Some(is_part) = skimmer.skip_value(bytes) else { return Ok(first) };
            let end = skimmer.position();
            self.skimmable = self.skimmable.saturating_sub(end - start);
            if !is_part {
                self.hand_over(sink, array, start, index - first)?;
                self.pour_element(sink, array, &element).map_err(|error| error.inside(Step::Index(index)))?;
                first = index + 1;
                skimmer = Skimmer::new(self.bytes, self.at);
            } else if end - self.at >= bytes {
                self.hand_over(sink, array, end, index + 1 - first)?;
                first = index + 1;
            }
        }
        // What is left is not worth it where it is all there is.
        if first > whole {
            self.hand_over(sink, array, skimmer.position(), count - first)?;
            first = count;
        }
        Ok(first)
    }

    /// Whether a container takes the next value without more being known of it: typed ones may convert, drop or refuse
    /// values of other types.
    #[inline(always)]
    fn surely_takes(element: &ElementType<'_>, skimmer: &Skimmer<'_>) -> bool {
        match element.builtin() {
            None => true,
            Some(ty) => ty != VariantType::Object && skimmer.next_type() == Some(ty),
        }
    }

    /// Hands the value of an entry over, if it is worth it and no more than a part.
    #[inline(never)]
    fn hand_value_over<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        value: &ElementType<'_>,
        bytes: usize,
    ) -> Result<bool> {
        let mut skimmer = Skimmer::new(self.bytes, self.at);
        if self.skimmable == 0 || !Self::surely_takes(value, &skimmer) {
            return Ok(false);
        }
        let is_part = skimmer.skip_value(bytes);
        let end = skimmer.position();
        self.skimmable = self.skimmable.saturating_sub(end - self.at);
        if is_part != Some(true) || end - self.at < SMALLEST_VALUE_PART {
            return Ok(false);
        }
        taker(sink)?.value_part(dictionary, Part { bytes: self.at..end, count: 1, depth: self.depth })?;
        self.at = end;
        Ok(true)
    }

    /// Hands the next `count` elements over, which end at `end`.
    fn hand_over<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        end: usize,
        count: usize,
    ) -> Result<()> {
        if count > 0 {
            taker(sink)?.part(array, Part { bytes: self.at..end, count, depth: self.depth })?;
            self.at = end;
        }
        Ok(())
    }

    /// Whether the next two values are numbers of one type: that is worth a run.
    #[inline(always)]
    fn is_at_run(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some([id, _, flags, _]) = rest.first_chunk() else { return false };
        let size = run_bytes::<D>(*id, u32::from(*flags) << 16);
        size > 0 && rest.get(4 + size) == Some(id)
    }

    /// Pours those of the next elements that are of one type with nothing to be said against any of them, and returns
    /// how many there were.
    #[inline(never)]
    fn pour_run<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<usize> {
        let Some(header) = self.next_header() else { return Ok(0) };
        let Some(ty) = D::type_of(header as u8) else { return Ok(0) };
        if header & !D::header_mask(ty) != 0
            || self.depth > self.max_depth()
            || (self.strictness == Strictness::Strict && !element.takes(ty))
        {
            return Ok(0);
        }
        // What is odd about numbers is harmless.
        let all = self.strictness == Strictness::Lenient || self.budget.limits.allow_non_canonical;
        let most = self.budget.values_left(ty).min(indexes.len());
        let mut run = Run { bytes: self.bytes, at: self.at, last: self.at, left: most };
        let poured = match (ty, run_bytes::<D>(header as u8, header)) {
            (VariantType::Int, _) => sink.ints(array, &mut run.ints(all || D::HAS_CARELESS_WRITERS)),
            (VariantType::Float, _) => sink.floats(array, &mut run.floats(all)),
            (_, 8) => sink.fixed_run::<8>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 12) => sink.fixed_run::<12>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 16) => sink.fixed_run::<16>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 24) => sink.fixed_run::<24>(array, ty, Self::precision(header), &mut run.fixed(header)),
            (_, 32) => sink.fixed_run::<32>(array, ty, Self::precision(header), &mut run.fixed(header)),
            _ => return Ok(0),
        };
        let count = most - run.left;
        if let Err(error) = poured {
            return Err(error.at(run.last).inside(Step::Index(indexes.start + count.saturating_sub(1))));
        }
        self.at = run.at;
        located(run.last, self.budget.values(ty, count))?;
        Ok(count)
    }

    #[inline(always)]
    fn pour_element<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
    ) -> Result<()> {
        sink.begin_element(array)?;
        if self.strictness == Strictness::Strict {
            self.odd_misfit("Array", element)?;
        }
        let at = self.at;
        self.pour(sink)?;
        located(at, sink.end_element(array))
    }

    #[inline(never)]
    fn pour_dictionary<S: Sink>(&mut self, sink: &mut S, header: u32) -> Result<()> {
        let at = self.at;
        self.check_key_depth(at - 4)?;
        let key = self.element_type(ContainerKind::of(header, format::KIND_SHIFT))?;
        let value = self.element_type(ContainerKind::of(header, format::VALUE_KIND_SHIFT))?;
        let count = self.container_count(8)?;
        located(at, self.budget.dictionary(count))?;
        let mut dictionary = located(at, sink.begin_dictionary(count, key, value))?;
        self.depth += 1;
        let part_bytes = Self::part_bytes(sink).filter(|bytes| !self.in_key && self.left() > *bytes);
        for index in 0..count {
            let key_at = self.at;
            self.pour_key(sink, &mut dictionary, &key).map_err(|error| error.inside(Step::KeyAt(index)))?;
            if let Some(bytes) = part_bytes
                && self.hand_value_over(sink, &mut dictionary, &value, bytes)?
            {
                continue;
            }
            self.pour_value(sink, &mut dictionary, &value)
                .map_err(|error| error.inside(self.step_of_key(key_at, index)))?;
        }
        self.depth -= 1;
        located(at, sink.end_dictionary(dictionary))
    }

    #[inline(always)]
    fn pour_key<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        key: &ElementType<'_>,
    ) -> Result<()> {
        let at = self.at;
        sink.begin_key(dictionary)?;
        let (max_container_depth, in_key) = (self.max_container_depth, self.in_key);
        self.in_key = true;
        self.max_container_depth = max_container_depth.min(self.depth + format::MAX_KEY_DEPTH);
        if self.strictness == Strictness::Strict {
            self.odd_misfit("Dictionary's keys", key)?;
        }
        self.pour(sink)?;
        (self.max_container_depth, self.in_key) = (max_container_depth, in_key);
        if in_key {
            located(at, self.budget.nested_key(self.at - at))?;
        }
        located(at, sink.begin_value(dictionary))
    }

    #[inline(always)]
    fn pour_value<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        value: &ElementType<'_>,
    ) -> Result<()> {
        let at = self.at;
        // In every manner: a typed script would take the value for what it is not.
        if let Some(found) = self.misfit(value)
            && sink.keeps_entry(dictionary)
        {
            return Err(self.error(Self::wrong_type("Dictionary's values", value, found)));
        }
        self.pour(sink)?;
        located(at, sink.end_entry(dictionary))
    }

    /// Names the value of the entry whose key starts at `key_at`: by the key where it is text or a number.
    #[cold]
    #[inline(never)]
    fn step_of_key(&self, key_at: usize, index: usize) -> Step {
        let mut key = Decoder::<'_, D>::at_start(
            self.dialect.clone(),
            self.bytes,
            Strictness::Lenient,
            self.budget.limits,
        );
        key.at = key_at;
        let Ok(header) = key.u32() else { return Step::KeyAt(index) };
        let step = match D::type_of(header as u8) {
            Some(VariantType::String | VariantType::StringName) => key.string().map(Step::text_key),
            Some(VariantType::Int) if header & format::FLAG_64 != 0 => {
                key.u64().map(|int| Step::int_key(int as i64))
            }
            Some(VariantType::Int) => key.u32().map(|int| Step::int_key((int as i32).into())),
            _ => Ok(Step::KeyAt(index)),
        };
        step.unwrap_or(Step::KeyAt(index))
    }

    #[inline(never)]
    fn pour_object<S: Sink>(&mut self, sink: &mut S, header: u32, at: usize) -> Result<()> {
        if header & format::FLAG_OBJECT_AS_ID != 0 {
            let id = self.u64()?;
            self.odd(id == 0, at, Oddity::NullObject)?;
            located(at, self.budget.object())?;
            return located(at, sink.object_id(id));
        }
        if !D::HAS_CLASSES {
            return self.pour_foreign_object(sink, at);
        }
        if !self.budget.limits.allow_objects {
            return Err(self.error_at(at, ErrorKind::ObjectsNotAllowed));
        }
        let class = self.name()?;
        if class.is_empty() {
            self.odd(true, at, Oddity::NullObject)?;
            return sink.object_id(0);
        }
        let allowed = &self.budget.limits.allowed_classes;
        if !allowed.is_empty() && !allowed.iter().any(|name| name == class) {
            return Err(self.error_at(at, ErrorKind::ClassNotAllowed(class.to_owned())));
        }
        let count = self.property_count()?;
        located(at, self.budget.object())?;
        let mut object = located(at, sink.begin_object(class.into(), count))?;
        self.depth += 1;
        for _ in 0..count {
            let name_at = self.at;
            let name = self.name()?;
            located(name_at, sink.begin_property(&mut object, name.into()))
                .and_then(|()| self.pour(sink))
                .and_then(|()| located(name_at, sink.end_property(&mut object)))
                .map_err(|error| error.inside(Step::property(name)))?;
        }
        self.depth -= 1;
        located(at, sink.end_object(object))
    }

    fn property_count(&mut self) -> Result<usize> {
        let at = self.at;
        let raw = self.u32_of(SpanKind::Count)? as i32;
        self.odd(raw < 0, at, Oddity::NegativeCount)?;
        let count = usize::try_from(raw).unwrap_or(0);
        if count > self.left() / 8 {
            return Err(self.error_at(at, ErrorKind::BadCount { count: raw.into(), left: self.left() }));
        }
        Ok(count)
    }

    /// Pours an object that no Godot 4 can make as a Dictionary, if that is asked for.
    fn pour_foreign_object<S: Sink>(&mut self, sink: &mut S, at: usize) -> Result<()> {
        let class = self.name()?;
        // As Godot 3 without permission for objects: also one without a class, which is null with it.
        if !self.dialect.replaces_object() {
            return Err(self.error_at(at, ErrorKind::Godot3Object(class.to_owned())));
        }
        if class.is_empty() {
            self.odd(true, at, Oddity::NullObject)?;
            return sink.nil();
        }
        self.check_key_depth(at)?;
        let count = self.property_count()?;
        located(at, self.budget.value(VariantType::Dictionary))?;
        located(at, self.budget.dictionary(count + 1))?;
        let untyped = ElementType::Untyped;
        let mut dictionary = located(at, sink.begin_dictionary(count + 1, untyped, untyped))?;
        sink.begin_key(&mut dictionary)?;
        located(at, sink.text(VariantType::String, CLASS_KEY.into()))?;
        located(at, sink.begin_value(&mut dictionary))?;
        located(at, sink.text(VariantType::String, class.into()))?;
        located(at, sink.end_entry(&mut dictionary))?;
        self.depth += 1;
        for _ in 0..count {
            let name_at = self.at;
            let name = self.name()?;
            sink.begin_key(&mut dictionary)?;
            located(name_at, sink.text(VariantType::String, name.into()))
                .and_then(|()| located(name_at, sink.begin_value(&mut dictionary)))
                .and_then(|()| self.pour(sink))
                .and_then(|()| located(name_at, sink.end_entry(&mut dictionary)))
                .map_err(|error| error.inside(Step::property(name)))?;
        }
        self.depth -= 1;
        located(at, sink.end_dictionary(dictionary))
    }

    /// Pours what follows the header of a value that starts at `at`.
    #[inline(always)]
    fn pour_payload<S: Sink>(&mut self, sink: &mut S, at: usize, header: u32, ty: VariantType) -> Result<()> {
        use VariantType as T;

        let wide = header & format::FLAG_64 != 0;
        match ty {
            T::Nil => sink.nil(),
            T::Bool => {
                let value = self.u32()?;
                self.odd(value > 1, at, Oddity::Bool)?;
                sink.bool(value != 0)
            }
            T::Int if wide => {
                let value = self.u64()? as i64;
                self.odd(!D::HAS_CARELESS_WRITERS && i32::try_from(value).is_ok(), at, Oddity::WideNumber)?;
                sink.int(value)
            }
            T::Int => {
                let value = self.u32()? as i32;
                sink.int(value.into())
            }
            T::Float if wide => {
                let value = f64::from_bits(self.u64()?);
                self.odd(f64::from(value as f32) == value, at, Oddity::WideNumber)?;
                sink.float(value)
            }
            T::Float => {
                let value = f32::from_bits(self.u32()?);
                self.odd(value.is_nan(), at, Oddity::NarrowNan)?;
                sink.float(lanes::widen_quieting_nan(value))
            }
            T::String | T::StringName => {
                let text_at = self.at;
                if ty == T::StringName {
                    located(at, self.budget.name())?;
                }
                let bytes = self.counted_bytes(false)?;
                if self.may_be_raw(bytes) && located(at, sink.raw_text(ty, bytes))? {
                    return located(text_at, self.budget.text(bytes.len()));
                }
                let text = self.text(bytes, text_at)?;
                located(at, sink.text(ty, Text::Utf8(&text)))
            }
            // One arm for each type, so that each is compiled for the size it has.
            T::Vector2 => self.pour_fixed(sink, T::Vector2, header),
            T::Vector2i => self.pour_fixed(sink, T::Vector2i, header),
            T::Rect2 => self.pour_fixed(sink, T::Rect2, header),
            T::Rect2i => self.pour_fixed(sink, T::Rect2i, header),
            T::Vector3 => self.pour_fixed(sink, T::Vector3, header),
            T::Vector3i => self.pour_fixed(sink, T::Vector3i, header),
            T::Transform2D => self.pour_fixed(sink, T::Transform2D, header),
            T::Vector4 => self.pour_fixed(sink, T::Vector4, header),
            T::Vector4i => self.pour_fixed(sink, T::Vector4i, header),
            T::Plane => self.pour_fixed(sink, T::Plane, header),
            T::Quaternion => self.pour_fixed(sink, T::Quaternion, header),
            T::Aabb => self.pour_fixed(sink, T::Aabb, header),
            T::Basis => self.pour_fixed(sink, T::Basis, header),
            T::Transform3D => self.pour_fixed(sink, T::Transform3D, header),
            T::Projection => self.pour_fixed(sink, T::Projection, header),
            T::Color => self.pour_fixed(sink, T::Color, header),
            T::NodePath => self.pour_node_path(sink),
            T::Rid => {
                let id = if D::HAS_FLAGS { self.u64()? } else { 0 };
                sink.rid(id)
            }
            T::Object => self.pour_object(sink, header, at),
            T::Callable => sink.callable(),
            T::Signal => {
                let name = self.name()?;
                let object = self.u64()?;
                located(at, sink.signal(name.into(), object))
            }
            T::Dictionary => self.pour_dictionary(sink, header),
            T::Array => self.pour_array(sink, header),
            T::PackedByteArray
            | T::PackedInt32Array
            | T::PackedInt64Array
            | T::PackedFloat32Array
            | T::PackedFloat64Array
            | T::PackedVector2Array
            | T::PackedVector3Array
            | T::PackedColorArray
            | T::PackedVector4Array => self.pour_packed(sink, ty, header),
            T::PackedStringArray => self.pour_strings(sink),
        }
    }
}

/// What takes parts: asked for only where it has said from how many bytes on.
#[inline(always)]
fn taker<S: Sink>(sink: &mut S) -> Result<&mut impl PartSink<S>> {
    sink.in_parts().ok_or_else(|| Error::argument("this sink does not accept parts"))
}

/// How many bytes follow the header of a value that may be part of a run; 0 for other types.
#[inline(always)]
fn run_bytes<D: Dialect>(id: u8, header: u32) -> usize {
    D::RUN_BYTES[usize::from(id)][usize::from(header & format::FLAG_64 != 0)].into()
}

/// Values of one type that follow one another.
struct Run<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the last value started.
    last: usize,
    /// How many more there may be.
    left: usize,
}

impl Run<'_> {
    /// The header and payload of the next int or float and whether it is wide. None of the last few bytes, where a wide
    /// one would not fit.
    #[inline(always)]
    fn next_number(&mut self, ty: VariantType, accept: impl Fn(bool, u64) -> bool) -> Option<(bool, u64)> {
        let chunk = self.bytes.get(self.at..)?.first_chunk::<12>()?;
        let [a, b, c, d, payload @ ..] = *chunk;
        let payload = u64::from_le_bytes(payload);
        // In every dialect.
        let narrow = u32::from(ty.id());
        let header = u32::from_le_bytes([a, b, c, d]);
        let wide = header != narrow;
        if self.left == 0 || (wide && header != narrow | format::FLAG_64) || !accept(wide, payload) {
            return None;
        }
        self.left -= 1;
        self.last = self.at;
        self.at += if wide { 12 } else { 8 };
        Some((wide, payload))
    }

    #[inline(always)]
    fn ints(&mut self, all: bool) -> impl Iterator<Item = i64> {
        let accept = move |wide: bool, payload: u64| !wide || all || i32::try_from(payload as i64).is_err();
        std::iter::from_fn(move || {
            let (wide, payload) = self.next_number(VariantType::Int, accept)?;
            Some(if wide { payload as i64 } else { (payload as i32).into() })
        })
    }

    #[inline(always)]
    fn floats(&mut self, all: bool) -> impl Iterator<Item = f64> {
        let accept = move |wide: bool, payload: u64| {
            let value = f64::from_bits(payload);
            all || if wide {
                f64::from(value as f32) != value
            } else {
                !f32::from_bits(payload as u32).is_nan()
            }
        };
        std::iter::from_fn(move || {
            let (wide, payload) = self.next_number(VariantType::Float, accept)?;
            Some(if wide {
                f64::from_bits(payload)
            } else {
                lanes::widen_quieting_nan(f32::from_bits(payload as u32))
            })
        })
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self, header: u32) -> impl Iterator<Item = [u8; N]> {
        std::iter::from_fn(move || {
            let value = self.bytes.get(self.at..)?.get(..4 + N)?;
            if self.left == 0 || value.first_chunk() != Some(&header.to_le_bytes()) {
                return None;
            }
            self.left -= 1;
            self.last = self.at;
            self.at += 4 + N;
            value.last_chunk().copied()
        })
    }
}

/// Puts a place on an error of the budget or of the sink, which know none.
#[inline(always)]
fn located<T>(at: usize, result: Result<T>) -> Result<T> {
    result.map_err(|error| error.at(at))
}

impl<D: Dialect, const NOTES: bool> Source for Decoder<'_, D, NOTES> {
    fn pour<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        if !S::BUILDS {
            self.budget.builds_nothing();
        }
        let at = self.at;
        if self.depth > self.max_depth() {
            return Err(self.too_deep());
        }
        let header = self.u32_of(SpanKind::Header)?;
        let id = (header & format::TYPE_MASK) as u8;
        let ty = D::type_of(id).ok_or_else(|| self.error_at(at, D::unknown_type(id)))?;
        self.odd(header & !D::header_mask(ty) != 0, at, Oddity::HeaderBits)?;
        let header = if D::HAS_FLAGS { header } else { header & D::header_mask(ty) };
        located(at, self.budget.value(ty))?;
        sink.value_starts(at, header, ty);
        let poured = self.pour_payload(sink, at, header, ty);
        if S::WANTS_PLACES && poured.is_ok() {
            sink.value_ends(self.at);
        }
        poured
    }
}
