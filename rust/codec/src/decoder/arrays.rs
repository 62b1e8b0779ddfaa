//! Decodes Arrays, and the types that containers declare.

use std::ops::Range;

use super::Decoder;
use crate::error::{ErrorKind, Locate, Oddity, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::findings::SpanKind;
use crate::format::{self, ContainerKind, VariantType};
use crate::limits::Strictness;
use crate::wire::cursor::RawElementType;
use crate::wire::dialect::Dialect;
use crate::wire::header::{Header, run_bytes};

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[inline]
    pub(super) fn element_type(&mut self, kind: ContainerKind) -> Result<ElementType<'a>> {
        let objects = self.budget.limits.allow_objects;
        let start = self.cursor;
        let at = start.position();
        let element = match self.cursor.declared(kind).ok_or_else(|| start.declared_fault(kind))? {
            RawElementType::Untyped => return Ok(ElementType::Untyped),
            RawElementType::Builtin(id) => {
                self.span(at, SpanKind::ElementType);
                self.span(at + 4, SpanKind::Content);
                let ty = u8::try_from(id).ok().and_then(VariantType::from_id);
                match ty.ok_or_else(|| self.error_at(at, ErrorKind::UnknownElementType(id as i32)))? {
                    VariantType::Nil => {
                        self.odd(true, at, Oddity::ElementType)?;
                        ElementType::Untyped
                    }
                    ty => ElementType::Builtin(ty),
                }
            }
            RawElementType::Class(name) => {
                let name = self.padded_name(name, at)?;
                self.budget.name(name.as_bytes()).at(at)?;
                match name {
                    "" => {
                        self.odd(true, at, Oddity::ElementType)?;
                        ElementType::Builtin(VariantType::Object)
                    }
                    name => ElementType::Class(name.into()),
                }
            }
            RawElementType::Script(path) => {
                let path = self.padded_name(path, at)?;
                self.odd(!path.starts_with(format::SCRIPT_PATH_PREFIX), at, Oddity::ScriptPath)?;
                if objects {
                    self.check_script(path, at)?;
                }
                ElementType::Script(path.into())
            }
        };
        // If objects are not allowed, placeholders replace them, so the element type is the class of the
        // placeholders.
        Ok(match element.builtin() {
            Some(VariantType::Object) if !objects => ElementType::Class(format::ENCODED_OBJECT_AS_ID.into()),
            _ => element,
        })
    }

    /// The declared element type of an Array with this header, and the number of elements.
    #[inline(always)]
    pub(super) fn array_head(&mut self, header: Header) -> Result<(ElementType<'a>, usize)> {
        Ok((self.element_type(header.element_kind())?, self.container_count(4)?))
    }

    /// The type of the next value, if it is valid.
    #[inline(always)]
    pub(super) fn next_type(&self) -> Option<VariantType> {
        D::type_of(self.cursor.peek()? as u8)
    }

    /// The type of the next value, if a typed container does not accept it.
    #[inline(always)]
    pub(super) fn misfit(&self, element: &ElementType<'_>) -> Option<VariantType> {
        self.next_type().filter(|found| !element.accepts(*found))
    }

    /// Refuses or notes a value that the engine converts or drops.
    #[inline(always)]
    pub(super) fn odd_misfit(&mut self, container: &'static str, element: &ElementType<'_>) -> Result<()> {
        match self.misfit(element) {
            Some(found) => self.refuse(self.position(), || Self::wrong_type(container, element, found)),
            None => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn wrong_type(
        container: &'static str,
        element: &ElementType<'_>,
        found: VariantType,
    ) -> ErrorKind {
        ErrorKind::WrongElementType { container, expected: element.to_string(), found: found.to_string() }
    }

    #[inline(never)]
    pub(super) fn decode_array<S: Sink>(&mut self, sink: &mut S, header: Header) -> Result<()> {
        let at = self.position();
        self.check_container_in_key(at - 4)?;
        let (element, count) = self.array_head(header)?;
        let bad_count = self.take_bad_count();
        self.budget.array(count, element).at(at)?;
        let mut array = sink.begin_array(count, element).at(at)?;
        self.depth += 1;
        let first = match Self::part_bytes(sink) {
            Some(bytes) if !self.in_key && self.cursor.rest().len() > bytes => {
                self.decode_parts(sink, &mut array, count, element, bytes)?
            }
            _ => 0,
        };
        let decoded = self.decode_elements(sink, &mut array, &element, first..count);
        bad_count.map_or(decoded, Err)?;
        self.depth -= 1;
        sink.end_array(array).at(at)
    }

    // See `Decoder::write_into`.
    #[cfg_attr(target_family = "wasm", inline(always))]
    pub(super) fn decode_elements<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<()> {
        let Range { start: mut index, end } = indexes;
        while index < end {
            if !S::WANTS_PLACES && self.cursor.is_at_run::<D>() {
                let written = self.decode_run(sink, array, element, index..end)?;
                index += written;
                if written > 0 {
                    continue;
                }
            }
            self.decode_element(sink, array, element).map_err(|error| error.inside(Step::Index(index)))?;
            index += 1;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn decode_element<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
    ) -> Result<()> {
        sink.begin_element(array)?;
        if self.strictness == Strictness::Strict {
            self.odd_misfit("Array", element)?;
        }
        let at = self.position();
        self.write_into(sink)?;
        sink.end_element(array).at(at)
    }

    /// Writes the next elements as long as they are valid and of one type, and returns their number.
    #[inline(never)]
    pub(super) fn decode_run<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        element: &ElementType<'_>,
        indexes: Range<usize>,
    ) -> Result<usize> {
        let Some(header) = self.cursor.peek().and_then(Header::of::<D>) else { return Ok(0) };
        let Header { ty, bits } = header;
        if bits & !D::header_mask(ty) != 0
            || self.depth > self.budget.limits.deepest()
            || (self.strictness == Strictness::Strict && !element.accepts(ty))
        {
            return Ok(0);
        }
        // All oddities of numbers are harmless, so `allow_non_canonical` accepts them.
        let all = self.strictness == Strictness::Lenient || self.budget.limits.allow_non_canonical;
        let most = self.budget.values_left(ty).min(indexes.len());
        let precision = header.precision();
        let mut run = self.cursor.run(most);
        let written = match (ty, run_bytes::<D>(bits)) {
            (VariantType::Int, _) => sink.ints(array, &mut run.ints(all || D::HAS_CARELESS_WRITERS)),
            (VariantType::Float, _) => sink.floats(array, &mut run.floats(all)),
            (_, 8) => sink.fixed_run::<8>(array, ty, precision, &mut run.fixed(bits)),
            (_, 12) => sink.fixed_run::<12>(array, ty, precision, &mut run.fixed(bits)),
            (_, 16) => sink.fixed_run::<16>(array, ty, precision, &mut run.fixed(bits)),
            (_, 24) => sink.fixed_run::<24>(array, ty, precision, &mut run.fixed(bits)),
            (_, 32) => sink.fixed_run::<32>(array, ty, precision, &mut run.fixed(bits)),
            _ => return Ok(0),
        };
        let count = most - run.left;
        if let Err(error) = written {
            return Err(error.at(run.last).inside(Step::Index(indexes.start + count.saturating_sub(1))));
        }
        self.cursor.jump(run.at);
        self.budget.values(ty, count).at(run.last)?;
        Ok(count)
    }
}
