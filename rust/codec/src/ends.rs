//! The recorded ends of containers. With them, each container is walked once, not once per level that
//! encloses it.

use crate::error::Result;
use crate::events::{ElementType, Sink, Text};
use crate::format::VariantType;
use crate::wire::header::Header;

/// The minimum size in bytes of a recorded container. Smaller ones are walked again.
const SMALLEST: usize = 256;

/// The starts and ends of containers in bytes that have been walked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// The start and end of each container, ordered by start once [sorted](Self::sorted).
    found: Vec<(u32, u32)>,
    open: Vec<u32>,
}

impl Ends {
    /// Records a container. If there is no memory for the record, the container is walked again.
    #[inline]
    pub fn add(&mut self, start: usize, end: usize) {
        if end - start >= SMALLEST && self.found.try_reserve(1).is_ok() {
            self.found.push((start as u32, end as u32));
        }
    }

    pub fn into_found(self) -> Vec<(u32, u32)> {
        self.found
    }

    /// Sorts the containers, so that [`Ends::end_of`] can search them.
    pub fn sorted(mut self) -> Self {
        self.found.sort_unstable();
        self
    }

    /// The end of the container that starts at `at`; `None` if it is small or unknown.
    #[inline]
    pub fn end_of(&self, at: usize) -> Option<usize> {
        let at = u32::try_from(at).ok()?;
        let index = self.found.binary_search_by_key(&at, |(start, _)| *start).ok()?;
        Some(self.found[index].1 as usize)
    }
}

/// Finds the ends while a decoder reads the bytes, without keeping values.
impl Sink for Ends {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();
    const WANTS_PLACES: bool = true;

    fn value_starts(&mut self, at: usize, _header: Header) {
        self.open.push(at as u32);
    }

    fn value_ends(&mut self, end: usize) {
        let start = self.open.pop().unwrap_or_default() as usize;
        self.add(start, end);
    }

    fn other(&mut self, _: VariantType) -> Result<()> {
        Ok(())
    }

    fn begin_array(&mut self, _: usize, _: ElementType<'_>) -> Result<()> {
        Ok(())
    }

    fn begin_dictionary(&mut self, _: usize, _: ElementType<'_>, _: ElementType<'_>) -> Result<()> {
        Ok(())
    }

    fn begin_object(&mut self, _: Text<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn begin_strings(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
}
