//! Decodes messages that stand for a value with components, and lists of them.

use std::ops::Range;

use variant_codec::error::{Locate, Step};
use variant_codec::stream::{Lanes, Precision, Sink};
use variant_codec::{Error as CodecError, Result};

use super::{Gathered, MessageDecoder, Number};
use crate::components::Components;
use crate::error::Error;
use crate::floats::narrow_keeping_nan;
use crate::schema::{Default as FieldDefault, Field, MessageTable};

/// The components of a value, little-endian.
pub(super) struct ComponentBytes {
    bytes: [u8; 32],
    len: usize,
    precision: Precision,
}

impl ComponentBytes {
    pub(super) fn lanes(&self) -> Lanes<'_> {
        Lanes { precision: self.precision, le: &self.bytes[..self.len] }
    }

    fn push(&mut self, component: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.len..self.len + component.len()) {
            place.copy_from_slice(component);
            self.len += component.len();
        }
    }
}

impl<'a> MessageDecoder<'a> {
    /// The components of the message merged from the records `pieces`. Unknown fields are dropped.
    pub(super) fn components(
        &mut self,
        message: &'a MessageTable,
        components: &Components,
        pieces: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<ComponentBytes> {
        let Gathered { first, first_group, unknown } = self.gather(message, pieces, depth, level)?;
        let precision = if components.is_wide { Precision::Double } else { Precision::Single };
        let mut value = ComponentBytes { bytes: [0; 32], len: 0, precision };
        for &rank in components.ranks() {
            let field = &message.fields[usize::from(rank)];
            match self.component(field, rank, first, level)? {
                Number::Float(float) if components.is_wide => value.push(&float.to_le_bytes()),
                Number::Float(float) => value.push(&narrow_keeping_nan(float).to_le_bytes()),
                Number::Int(int) => value.push(&(int as i32).to_le_bytes()),
                Number::Bool(_) => {}
            }
        }
        self.memory.found.truncate(first);
        self.memory.groups.truncate(first_group);
        self.memory.unknown.truncate(unknown);
        Ok(value)
    }

    /// The last value of a component's field, or its default.
    fn component(&mut self, field: &'a Field, rank: u16, first: usize, level: u32) -> Result<Number> {
        let found = &self.memory.found[first..];
        let start = first + found.partition_point(|found| found.rank < rank);
        let end = first + found.partition_point(|found| found.rank <= rank);
        if start == end {
            return Ok(match field.default {
                FieldDefault::Float(float) => Number::Float(float),
                FieldDefault::Int(int) => Number::Int(int),
                _ => Number::Int(0),
            });
        }
        let found = self.memory.found[end - 1];
        let at = found.at as usize;
        let number =
            self.check_last(field, start..end, level).and_then(|()| self.number(field.kind, found, at));
        match number {
            Ok(Number::Int(value)) if i32::try_from(value).is_err() => {
                let expected = "an int of 32 bits".to_owned();
                Err(CodecError::other(Error::OutOfRange { value, expected }))
            }
            number => number,
        }
        .map_err(|error| error.at(at).inside(Step::text_key(&field.name)))
    }

    /// Writes a list of messages that stand for values: as a packed array if there is one, else as an Array.
    pub(super) fn decode_list_of_components<S: Sink>(
        &mut self,
        sink: &mut S,
        message: &'a MessageTable,
        components: &Components,
        records: Range<usize>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        let at = self.memory.found.get(records.start).map_or(0, |found| found.at as usize);
        let read = |this: &mut Self, index: usize, record: usize| {
            this.components(message, components, record..record + 1, depth + 1, level + 1)
                .map_err(|error| error.inside(Step::Index(index)))
        };
        let Some(packed) = components.packed() else {
            let mut array = self.begin_array(sink, records.clone(), records.len(), components.ty, depth)?;
            for (index, record) in records.enumerate() {
                let value = read(self, index, record)?;
                self.budget.value(components.ty).at(at)?;
                sink.begin_element(&mut array)?;
                sink.fixed(components.ty, value.lanes())?;
                sink.end_element(&mut array)?;
            }
            return sink.end_array(array);
        };
        let size = records.len() * components.ranks().len() * if components.is_wide { 8 } else { 4 };
        self.charge_packed(packed, records.len(), size).at(at)?;
        let mut elements = std::mem::take(&mut self.memory.elements);
        elements.clear();
        elements.reserve(size, &mut self.budget).at(at)?;
        for (index, record) in records.enumerate() {
            let value = read(self, index, record)?;
            elements.extend(value.lanes().le, &mut self.budget).at(at)?;
        }
        let precision = if components.is_wide { Precision::Double } else { Precision::Single };
        let written = sink.packed(packed, Lanes { precision, le: &elements }).at(at);
        self.memory.elements = elements;
        written
    }
}
