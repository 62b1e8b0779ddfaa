//! Where values end, without reading them.

use std::marker::PhantomData;

use crate::dialect::{Dialect, Godot4};
use crate::ends::Ends;
use crate::format::{self, ContainerKind, Shape, VariantType};

/// Objects in objects are passed over to this depth: each takes stack.
const MAX_OBJECTS: u32 = format::MAX_DEPTH;

/// Walks over values.
pub struct Skimmer<'a, D: Dialect = Godot4> {
    bytes: &'a [u8],
    at: usize,
    objects: u32,
    dialect: PhantomData<D>,
}

impl<'a, D: Dialect> Skimmer<'a, D> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, objects: 0, dialect: PhantomData }
    }

    /// The same for values that hold no objects with properties.
    #[inline(always)]
    pub fn without_objects(self) -> Self {
        Self { objects: MAX_OBJECTS, ..self }
    }

    #[inline(always)]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The type of the next value.
    #[inline(always)]
    pub fn next_type(&self) -> Option<VariantType> {
        D::type_of(*self.bytes.get(self.at)?)
    }

    /// Goes on to the end of the next value, nested ones included, and says whether it takes at most so many bytes; if not,
    /// that is all that is found out. `None` where the bytes are not those of a value. Otherwise the value may still turn
    /// out to be none when it is read.
    #[inline(always)]
    pub fn skip_value(&mut self, most: usize) -> Option<bool> {
        let header = self.peek()?;
        match Self::fixed_bytes(header) {
            0 => self.skip_long(header, most),
            bytes => self.skip(bytes).map(|()| true),
        }
    }

    /// Goes on to the end of the next value, nested ones included.
    #[inline(always)]
    pub fn skip_all(&mut self) -> Option<()> {
        self.skip_value(usize::MAX).map(drop)
    }

    /// The same, and notes where the containers in it end. `None` also if there is no memory to note that.
    pub fn skip_noting(&mut self, ends: &mut Ends) -> Option<()> {
        struct Open {
            start: usize,
            values_left: usize,
            has_names: bool,
        }
        let mut open: Vec<Open> = Vec::new();
        loop {
            if open.last().is_some_and(|container| container.has_names) {
                self.skip_text()?;
            }
            let (start, header) = (self.at, self.peek()?);
            let fixed = Self::fixed_bytes(header);
            let has_names = fixed == 0 && self.next_type() == Some(VariantType::Object);
            let values_left = if has_names {
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
                ends.add(container.start, self.at);
                open.pop();
            }
            if open.is_empty() {
                return Some(());
            }
        }
    }

    #[inline(always)]
    fn fixed_bytes(header: u32) -> usize {
        D::FIXED_BYTES[(header & format::TYPE_MASK) as usize][usize::from(header & format::FLAG_64 != 0)]
            .into()
    }

    #[inline(never)]
    fn skip_long(&mut self, first: u32, most: usize) -> Option<bool> {
        let start = self.at;
        let mut values = self.skip_head(first)?;
        while values > 0 {
            if self.at - start > most {
                return Some(false);
            }
            values -= 1;
            let header = self.peek()?;
            match Self::fixed_bytes(header) {
                0 => values = values.checked_add(self.skip_head(header)?)?,
                bytes => self.skip(bytes)?,
            }
        }
        Some(self.at - start <= most)
    }

    /// Skips what belongs to a value of no fixed size itself. Returns how many values in it follow.
    #[inline(always)]
    fn skip_head(&mut self, header: u32) -> Option<usize> {
        self.skip(4)?;
        let wide = D::HAS_FLAGS && header & format::FLAG_64 != 0;
        match D::type_of((header & format::TYPE_MASK) as u8)?.shape() {
            Shape::Text => self.skip_text()?,
            Shape::Array => {
                self.skip_element_type(header, format::KIND_SHIFT)?;
                return self.container_count(4);
            }
            Shape::Dictionary => {
                self.skip_element_type(header, format::KIND_SHIFT)?;
                self.skip_element_type(header, format::VALUE_KIND_SHIFT)?;
                return self.container_count(8)?.checked_mul(2);
            }
            Shape::Packed(lane, per_element) => {
                let element = per_element * lane.width(wide);
                let bytes = self.count(element)? * element;
                self.skip(bytes + format::padding(bytes))?;
            }
            Shape::PackedStrings => {
                for _ in 0..self.count(4)? {
                    self.skip_text()?;
                }
            }
            Shape::NodePath => {
                let (names, subnames, flags) = (self.u32()?, self.u32()?, self.u32()?);
                if names & format::NODE_PATH_NEW_FORMAT == 0 || flags & format::NODE_PATH_EXTRA_SUBNAME != 0 {
                    return None;
                }
                let parts = (names & !format::NODE_PATH_NEW_FORMAT).checked_add(subnames)?;
                for _ in 0..parts {
                    self.skip_text()?;
                }
            }
            Shape::Signal => {
                self.skip_text()?;
                self.skip(8)?;
            }
            Shape::Object => self.skip_object()?,
            _ => return None,
        }
        Some(0)
    }

    /// Skips class and properties of an object.
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

    /// Skips the class of an object. Returns how many properties follow.
    fn skip_object_head(&mut self) -> Option<usize> {
        let has_class = self.peek()? != 0;
        // The engine drops a mark, and ends a text at a NUL: what remains may be no class.
        if has_class && matches!(self.bytes.get(self.at + 4), Some(0 | 0xEF)) {
            return None;
        }
        self.skip_text()?;
        if has_class { self.count(8) } else { Some(0) }
    }

    #[inline(always)]
    fn skip_element_type(&mut self, header: u32, shift: u32) -> Option<()> {
        if !D::HAS_FLAGS {
            return Some(());
        }
        match ContainerKind::of(header, shift) {
            ContainerKind::Untyped => Some(()),
            ContainerKind::Builtin => self.skip(4),
            ContainerKind::Class | ContainerKind::Script => self.skip_text(),
        }
    }

    /// Goes on to the end of a counted text.
    #[inline(always)]
    pub fn skip_text(&mut self) -> Option<()> {
        let bytes = self.u32()? as usize;
        self.skip(bytes.checked_add(format::padding(bytes))?)
    }

    /// A count of things that take at least `smallest` bytes each. Negative ones are for the reader to judge.
    #[inline(always)]
    fn count(&mut self, smallest: usize) -> Option<usize> {
        let count = usize::try_from(self.u32()? as i32).ok()?;
        (count <= (self.bytes.len() - self.at) / smallest).then_some(count)
    }

    /// The count of a container, whose top bit is ignored.
    #[inline(always)]
    fn container_count(&mut self, smallest: usize) -> Option<usize> {
        let count = (self.u32()? & format::COUNT_MASK) as usize;
        (count <= (self.bytes.len() - self.at) / smallest).then_some(count)
    }

    #[inline(always)]
    fn peek(&self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
    }

    #[inline(always)]
    fn u32(&mut self) -> Option<u32> {
        let value = self.peek()?;
        self.at += 4;
        Some(value)
    }

    /// Never goes beyond the end.
    #[inline(always)]
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        if bytes > self.bytes.len() - self.at {
            return None;
        }
        self.at += bytes;
        Some(())
    }
}
