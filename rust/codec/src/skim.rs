//! Finds the ends of values without decoding the values.

use std::marker::PhantomData;

use crate::ends::Ends;
use crate::format::{self, Shape, VariantType};
use crate::wire::cursor::Cursor;
use crate::wire::dialect::{Dialect, Godot4};
use crate::wire::header::Header;
use crate::wire::header::{bits::STRING, fixed_bytes};

/// The deepest nesting of objects that is skipped: each level takes stack.
const MAX_OBJECTS: u32 = format::MAX_DEPTH;

pub struct Skimmer<'a, D: Dialect = Godot4> {
    cursor: Cursor<'a>,
    objects: u32,
    dialect: PhantomData<D>,
}

impl<'a, D: Dialect> Skimmer<'a, D> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self::at(Cursor::new(bytes, at))
    }

    #[inline(always)]
    pub fn at(cursor: Cursor<'a>) -> Self {
        Self { cursor, objects: 0, dialect: PhantomData }
    }

    /// This skimmer, refusing objects with properties.
    #[inline(always)]
    pub fn without_objects(self) -> Self {
        Self { objects: MAX_OBJECTS, ..self }
    }

    #[inline(always)]
    pub fn position(&self) -> usize {
        self.cursor.position()
    }

    #[inline(always)]
    pub fn next_type(&self) -> Option<VariantType> {
        D::type_of(*self.cursor.rest().first()?)
    }

    /// Skips the next value, nested values included. Returns whether it takes at most `most` bytes; if not,
    /// only a part of it may have been skipped. `None` if the bytes are not a value. Decoding may still
    /// reject a skipped value.
    #[inline(always)]
    pub fn skip_value(&mut self, most: usize) -> Option<bool> {
        let header = self.cursor.peek()?;
        match fixed_bytes::<D>(header) {
            0 => self.skip_long(header, most),
            bytes => self.skip(bytes).map(|()| true),
        }
    }

    #[inline(always)]
    pub fn skip_all(&mut self) -> Option<()> {
        self.skip_value(usize::MAX).map(drop)
    }

    /// Like [`Skimmer::skip_all`], but records the ends of containers. Also returns `None` if there is no
    /// memory for the open containers.
    pub fn skip_noting(&mut self, ends: &mut Ends) -> Option<()> {
        struct Open {
            start: usize,
            values_left: usize,
            has_names: bool,
        }
        let (mut open, mut objects): (Vec<Open>, u32) = (Vec::new(), 0);
        loop {
            if open.last().is_some_and(|container| container.has_names) {
                self.skip_text()?;
            }
            let (start, header) = (self.position(), self.cursor.peek()?);
            let fixed = fixed_bytes::<D>(header);
            let has_names = fixed == 0 && self.next_type() == Some(VariantType::Object);
            let values_left = if has_names {
                objects += 1;
                (objects <= MAX_OBJECTS).then_some(())?;
                self.skip(4)?;
                self.skip_object_head()?
            } else if fixed > 0 {
                self.skip(fixed).map(|()| 0)?
            } else {
                self.skip_head(header)?
            };
            open.try_reserve(1).ok()?;
            open.push(Open { start, values_left, has_names });
            while let Some(container) = open.last_mut() {
                if container.values_left > 0 {
                    container.values_left -= 1;
                    break;
                }
                ends.add(container.start, self.position());
                objects -= u32::from(container.has_names);
                open.pop();
            }
            if open.is_empty() {
                return Some(());
            }
        }
    }

    #[inline(never)]
    fn skip_long(&mut self, first: u32, most: usize) -> Option<bool> {
        let end = self.position().saturating_add(most);
        let mut values = self.skip_head(first)?;
        while values > 0 {
            if self.position() > end {
                return Some(false);
            }
            values -= 1;
            let header = self.cursor.peek()?;
            match fixed_bytes::<D>(header) {
                0 => values = values.checked_add(self.skip_head(header)?)?,
                bytes => self.skip(bytes)?,
            }
        }
        Some(self.position() <= end)
    }

    /// Skips the header of a value without a fixed size, and all content before its nested values. Returns
    /// the number of nested values that follow.
    #[inline(always)]
    fn skip_head(&mut self, header: u32) -> Option<usize> {
        self.skip(4)?;
        // The most frequent type; its id is the same in both dialects.
        if header == STRING {
            return self.skip_text().map(|()| 0);
        }
        let header = Header::of::<D>(header)?;
        match header.ty.shape() {
            Shape::Text => self.skip_text()?,
            Shape::Array => {
                self.cursor.skip_declared(header.element_kind())?;
                return self.cursor.container_count(4);
            }
            Shape::Dictionary => {
                self.cursor.skip_declared(header.element_kind())?;
                self.cursor.skip_declared(header.value_kind())?;
                return self.cursor.container_count(8)?.checked_mul(2);
            }
            _ => self.skip_other(header)?,
        }
        Some(0)
    }

    #[inline(never)]
    fn skip_other(&mut self, header: Header) -> Option<()> {
        match header.ty.shape() {
            Shape::Packed(..) => {
                let element = header.ty.lanes_bytes(header.precision());
                let bytes = self.cursor.count(element)? * element;
                self.skip(bytes + format::padding(bytes))
            }
            Shape::PackedStrings => {
                let count = self.cursor.count(4)?;
                (0..count).try_for_each(|_| self.skip_text())
            }
            Shape::NodePath => {
                if self.cursor.is_at_old_node_path() {
                    return None;
                }
                let counters = self.cursor.node_path().filter(|counters| counters.are_canonical)?;
                (0..counters.total).try_for_each(|_| self.skip_text())
            }
            Shape::Signal => {
                self.skip_text()?;
                self.skip(8)
            }
            Shape::Object => self.skip_object(),
            _ => None,
        }
    }

    #[inline(never)]
    fn skip_object(&mut self) -> Option<()> {
        if self.objects == MAX_OBJECTS {
            return None;
        }
        self.objects += 1;
        for _ in 0..self.skip_object_head()? {
            self.skip_text()?;
            self.skip_all()?;
        }
        self.objects -= 1;
        Some(())
    }

    /// Skips the class of an object. Returns the number of properties that follow.
    fn skip_object_head(&mut self) -> Option<usize> {
        let class = self.cursor.text()?.text;
        // The engine drops a byte-order mark and ends a text at a NUL, so the class may be empty.
        let class = class.strip_prefix(format::BOM.as_bytes()).unwrap_or(class);
        match class.first() {
            None | Some(0) => Some(0),
            Some(_) => self.cursor.count(8),
        }
    }

    #[inline(always)]
    pub fn skip_text(&mut self) -> Option<()> {
        self.cursor.skip_text()
    }

    #[inline(always)]
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        self.cursor.skip(bytes)
    }
}
