//! Arrays, and the types that containers declare.

use std::ops::Range;

use super::Decoder;
use crate::dialect::Dialect;
use crate::error::{ErrorKind, Locate, Oddity, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::findings::SpanKind;
use crate::format::{self, ContainerKind, VariantType};
use crate::limits::Strictness;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[inline]
    pub(super) fn element_type(&mut self, kind: ContainerKind) -> Result<ElementType<'a>> {
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
                if objects {
                    self.check_script(path, at)?;
                }
                ElementType::Script(path.into())
            }
        };
        // Without objects, elements can only be what stands for an object, whatever was declared.
        Ok(match element.builtin() {
            Some(VariantType::Object) if !objects => ElementType::Class(format::ENCODED_OBJECT_AS_ID.into()),
            _ => element,
        })
    }

    /// The type of the next value, where there is a valid one.
    #[inline(always)]
    pub(super) fn next_type(&self) -> Option<VariantType> {
        D::type_of(self.next_header()? as u8)
    }

    /// The type of the next value, if a typed container does not take it.
    #[inline(always)]
    pub(super) fn misfit(&self, element: &ElementType<'_>) -> Option<VariantType> {
        self.next_type().filter(|found| !element.takes(*found))
    }

    /// What the engine converts, or leaves out.
    #[inline(always)]
    pub(super) fn odd_misfit(&mut self, container: &'static str, element: &ElementType<'_>) -> Result<()> {
        match self.misfit(element) {
            Some(found) => self.refuse(self.at, || Self::wrong_type(container, element, found)),
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
    pub(super) fn decode_array<S: Sink>(&mut self, sink: &mut S, header: u32) -> Result<()> {
        let at = self.at;
        self.check_key_depth(at - 4)?;
        let element = self.element_type(ContainerKind::of(header, format::KIND_SHIFT))?;
        let count = self.container_count(4)?;
        self.budget.array(count, element).at(at)?;
        let mut array = sink.begin_array(count, element).at(at)?;
        self.depth += 1;
        let first = match Self::part_bytes(sink) {
            Some(bytes) if !self.in_key && self.left() > bytes => {
                self.decode_parts(sink, &mut array, count, element, bytes)?
            }
            _ => 0,
        };
        self.decode_elements(sink, &mut array, &element, first..count)?;
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
            if !S::WANTS_PLACES && self.is_at_run() {
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
        let at = self.at;
        self.write_into(sink)?;
        sink.end_element(array).at(at)
    }
}
