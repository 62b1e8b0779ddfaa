//! Iterators over the values inside a value.

use std::ops::Range;

use super::cursor::{Form, View};
use crate::decoder::heads::Head;
use crate::error::{Error, Result, Step};
use crate::events::{ElementType, Sink};
use crate::format::{Shape, VariantType};
use crate::wire::dialect::Dialect;

impl<'a, D: Dialect> View<'a, D> {
    /// The elements of an Array or packed array; none for other values.
    ///
    /// # Errors
    /// Fails if the bytes cannot hold the count, or if an element does not have the declared type.
    pub fn elements(&self) -> Result<Elements<'a, D>> {
        let elements = Elements::of(*self)?;
        self.refuse_misfits(&elements.head)?;
        Ok(elements)
    }

    /// Writes the elements with indexes in `range` of an Array or packed array, as an Array. Indexes past the
    /// end are ignored. A typed Array stays typed. The limits apply to all these elements together.
    ///
    /// # Errors
    /// Fails if the value has no elements, their bytes are invalid, or the sink refuses them.
    pub fn decode_slice<S: Sink>(&self, range: Range<usize>, sink: &mut S) -> Result<()> {
        let (list, head) = (self.holder(), self.head()?);
        if !list.shape().is_list() {
            return Err(self.unexpected("Array"));
        }
        let start = range.start.min(head.count);
        let end = range.end.min(head.count).max(start);
        self.refuse_misfits(&head)?;
        let at = self.element(start)?.map_or(head.first, |first| first.at);
        self.decoder_inside(at).decode_slice(sink, (list, head.precision), head.declared[0], start..end)
    }

    /// Writes the keys of a Dictionary, or the names of an Object's properties, as an Array; an empty one for
    /// other values. The limits apply to all keys together.
    ///
    /// # Errors
    /// Fails if the bytes are invalid or the sink refuses a key.
    pub fn decode_keys<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let head = self.head()?;
        self.refuse_repeated_keys(&head)?;
        let (count, are_names, declared) = match self.holder().shape() {
            Shape::Dictionary => (head.count, false, head.declared[0]),
            Shape::Object => (head.count, true, ElementType::Untyped),
            _ => (0, false, ElementType::Untyped),
        };
        self.decoder_inside(head.first).decode_keys(sink, are_names, declared, count)
    }

    /// The keys and values of a Dictionary, or the names and values of an Object; none for other values.
    /// Walks over the keys of a Dictionary first.
    ///
    /// # Errors
    /// Fails if the bytes cannot hold the count or a key is repeated.
    pub fn entries(&self) -> Result<Entries<'a, D>> {
        let entries = Entries::of(*self)?;
        self.refuse_repeated_keys(&entries.head)?;
        Ok(entries)
    }

    /// Like [`View::entries`], for a value that has been [checked](crate::check::check).
    pub(crate) fn checked_entries(&self) -> Result<Entries<'a, D>> {
        Entries::of(*self)
    }
}

/// An iterator over elements: see [`View::elements`]. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Elements<'a, D: Dialect> {
    view: View<'a, D>,
    head: Head<'a>,
    ty: VariantType,
    index: usize,
    at: usize,
}

impl<'a, D: Dialect> Elements<'a, D> {
    fn of(view: View<'a, D>) -> Result<Self> {
        let ty = view.holder();
        let mut head = view.head()?;
        if !ty.shape().is_list() {
            head.count = 0;
        }
        Ok(Self { view, head, ty, index: 0, at: head.first })
    }

    /// The offset of the next element, or the end of the last one.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The bytes of the next `count` elements.
    pub(crate) fn take_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let start = self.at;
        match self.ty.shape() {
            // Elements of a fixed width need no walk.
            Shape::Packed(..) => {
                let width = self.ty.lanes_bytes(self.head.precision);
                self.at = start.saturating_add(count.saturating_mul(width));
            }
            _ => {
                for _ in 0..count {
                    self.step()?;
                }
            }
        }
        self.view.bytes_at(start, self.at - start)
    }

    fn step(&mut self) -> Result<View<'a, D>> {
        let mut decoder = self.view.decoder_inside(self.at);
        let found = match self.ty.shape() {
            Shape::Packed(..) => {
                let found = self.view.written_as(Form::Lanes(self.ty, self.head.precision), self.at);
                self.at += self.ty.lanes_bytes(self.head.precision);
                return Ok(found);
            }
            Shape::PackedStrings => {
                decoder.skip_text()?;
                self.view.written_as(Form::Text, self.at)
            }
            _ => {
                let found = self.view.value_at(self.at, self.view.depth + 1)?;
                self.view.skip(&mut decoder)?;
                found
            }
        };
        self.at = decoder.position();
        Ok(found)
    }
}

impl<'a, D: Dialect> Iterator for Elements<'a, D> {
    type Item = Result<View<'a, D>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.head.count {
            return None;
        }
        let index = self.index;
        let found = self.step();
        self.index = if found.is_ok() { index + 1 } else { self.head.count };
        Some(found.map_err(|error| error.inside(Step::Index(index))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.head.count - self.index))
    }
}

/// An iterator over entries: see [`View::entries`]. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Entries<'a, D: Dialect> {
    view: View<'a, D>,
    head: Head<'a>,
    is_object: bool,
    index: usize,
    at: usize,
}

impl<'a, D: Dialect> Entries<'a, D> {
    fn of(view: View<'a, D>) -> Result<Self> {
        let shape = view.holder().shape();
        let mut head = view.head()?;
        if !matches!(shape, Shape::Dictionary | Shape::Object) {
            head.count = 0;
        }
        Ok(Self { view, head, is_object: shape == Shape::Object, index: 0, at: head.first })
    }

    fn step(&mut self) -> Result<(View<'a, D>, View<'a, D>)> {
        let (index, start, [keys, values]) = (self.index, self.at, &self.head.declared);
        let mut decoder = self.view.decoder_inside(start);
        let at_key = |error: Error| error.inside(Step::KeyAt(index));
        let key = if self.is_object {
            decoder.property_name().map_err(at_key)?;
            self.view.written_as(Form::Name, start)
        } else {
            self.view.refuse_misfit(start, "Dictionary's keys", keys).map_err(at_key)?;
            let key = self.view.value_at(start, self.view.depth + 1).map_err(at_key)?;
            self.view.skip(&mut decoder).map_err(at_key)?;
            key
        };
        let at = decoder.position();
        let fits = self.view.refuse_misfit(at, "Dictionary's values", values);
        let value = fits.and_then(|()| self.view.value_at(at, self.view.depth + 1));
        let entry = value.and_then(|value| self.view.skip(&mut decoder).map(|()| (key, value)));
        self.at = decoder.position();
        entry.map_err(|error| {
            error.inside(match key.form {
                Form::Name => key.as_str().map_or(Step::KeyAt(index), |name| Step::property(&name)),
                _ => self.view.decoder().step_of_key(start, index),
            })
        })
    }
}

impl<'a, D: Dialect> Iterator for Entries<'a, D> {
    type Item = Result<(View<'a, D>, View<'a, D>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.head.count {
            return None;
        }
        let found = self.step();
        self.index = if found.is_ok() { self.index + 1 } else { self.head.count };
        Some(found)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.head.count - self.index))
    }
}
