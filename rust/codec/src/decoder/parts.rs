//! Splits large values into parts for other decoders.

use super::Decoder;
use crate::error::{Error, Result, Step};
use crate::events::{ElementType, Part, PartSink, Sink};
use crate::format::VariantType;
use crate::skim::Skimmer;
use crate::wire::dialect::Dialect;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    /// The part size that the sink wants. `None` if the sink takes no parts, and for Godot 3's format, which
    /// is never split.
    #[inline(always)]
    pub(super) fn part_bytes<S: Sink>(sink: &mut S) -> Option<usize> {
        sink.in_parts().filter(|_| D::HAS_FLAGS).map(|parts| parts.part_bytes())
    }

    /// Hands over texts in parts of at least `bytes` bytes. Returns the number of texts handed over.
    #[inline(never)]
    pub(super) fn hand_strings_over<S: Sink>(
        &mut self,
        sink: &mut S,
        strings: &mut S::Strings,
        count: usize,
        bytes: usize,
    ) -> Result<usize> {
        let mut first = 0;
        let mut skimmer = Skimmer::<D>::at(self.cursor).without_objects();
        for index in 0..count {
            if skimmer.skip_text().is_none() {
                break;
            }
            let end = skimmer.position();
            if end - self.position() >= bytes {
                taker(sink)?.strings_part(
                    strings,
                    Part { bytes: self.position()..end, count: index + 1 - first, depth: self.depth },
                )?;
                self.cursor.jump(end);
                first = index + 1;
            }
        }
        Ok(first)
    }

    /// Hands over elements in parts of about `bytes` bytes, and writes the other elements. Returns the number
    /// of elements handed over or written.
    #[inline(never)]
    pub(super) fn decode_parts<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        count: usize,
        element: ElementType<'_>,
        bytes: usize,
    ) -> Result<usize> {
        // Writing numbers here is faster than handing them to other decoders. A million ints took 4.4 ms in
        // parts, and 2.4 ms in runs on one thread (`cargo xtask bench ints`).
        let mut first = 0;
        while first < count && self.cursor.is_at_run::<D>() {
            match self.decode_run(sink, array, &element, first..count)? {
                0 => break,
                written => first += written,
            }
        }
        let whole = first;
        let mut skimmer = Skimmer::<D>::at(self.cursor).without_objects();
        for index in whole..count {
            let start = skimmer.position();
            if !Self::surely_takes(&element, &skimmer) || self.skimmable == 0 {
                return Ok(first);
            }
            // If skimming fails, decoding reports the error. Skimming stops at a value larger than a part.
            // Without this, each level would skim such values whole, and decoding would take as long as on one
            // thread (canada.json: 5.5 instead of 2.5 ms).
            let is_part = skimmer.skip_value(bytes);
            let end = skimmer.position();
            self.skimmable = self.skimmable.saturating_sub(end - start);
            let Some(is_part) = is_part else { return Ok(first) };
            if !is_part {
                self.hand_over(sink, array, start, index - first)?;
                self.decode_element(sink, array, &element)
                    .map_err(|error| error.inside(Step::Index(index)))?;
                first = index + 1;
                skimmer = Skimmer::<D>::at(self.cursor).without_objects();
            } else if end - self.position() >= bytes {
                self.hand_over(sink, array, end, index + 1 - first)?;
                first = index + 1;
            }
        }
        // A single part is not worth handing over.
        if first > whole {
            self.hand_over(sink, array, skimmer.position(), count - first)?;
            first = count;
        }
        Ok(first)
    }

    /// Whether a container certainly accepts the next value. Typed containers may convert, drop or refuse
    /// values of other types.
    #[inline(always)]
    pub(super) fn surely_takes(element: &ElementType<'_>, skimmer: &Skimmer<'_, D>) -> bool {
        match element.builtin() {
            None => true,
            Some(ty) => ty != VariantType::Object && skimmer.next_type() == Some(ty),
        }
    }

    /// Hands over the next `count` elements, which end at `end`.
    pub(super) fn hand_over<S: Sink>(
        &mut self,
        sink: &mut S,
        array: &mut S::Array,
        end: usize,
        count: usize,
    ) -> Result<()> {
        if count > 0 {
            taker(sink)?.part(array, Part { bytes: self.position()..end, count, depth: self.depth })?;
            self.cursor.jump(end);
        }
        Ok(())
    }
}

/// The sink's receiver of parts. Called only if `part_bytes` has returned a size.
#[inline(always)]
fn taker<S: Sink>(sink: &mut S) -> Result<&mut impl PartSink<S>> {
    sink.in_parts().ok_or_else(|| Error::argument("this sink does not accept parts"))
}
