//! What a builder leaves to other threads: parts of the bytes, and the places where their values go.

use variant_codec::Result;
use variant_codec::stream::Part;
use variant_engine::{DeferredValue, Slots, StagedValues, StringSlots};

/// Parts that are left to another thread, and the places to fill.
pub struct PartTask<'s> {
    /// Which parts, in order.
    pub parts: Vec<Part>,
    /// Where their values go.
    pub places: Places<'s>,
}

/// Places to fill.
pub enum Places<'s> {
    /// Elements of an Array, or values of entries.
    Values(Slots<'s>),
    /// Elements of a PackedStringArray.
    Strings(StringSlots<'s>),
}

/// What is left to other threads.
pub struct PartDispatcher<'k, 's> {
    bytes: usize,
    take: &'k dyn Fn(PartTask<'s>),
    /// Values of entries that make no part yet, and how many bytes they take.
    values: Vec<(DeferredValue<'s>, Part)>,
    value_bytes: usize,
    late: Vec<StagedValues<'s>>,
}

impl<'k, 's> PartDispatcher<'k, 's> {
    /// Parts of so many bytes, each of which `take` takes with the places to fill.
    pub fn new(bytes: usize, take: &'k dyn Fn(PartTask<'s>)) -> Self {
        Self { bytes, take, values: Vec::new(), value_bytes: 0, late: Vec::new() }
    }

    /// Leaves the value of an entry.
    ///
    /// # Errors
    /// That there is no memory for it.
    pub fn add_value(&mut self, value: DeferredValue<'s>, part: Part) -> Result<()> {
        self.value_bytes += part.bytes.len();
        self.values.push((value, part));
        if self.value_bytes >= self.bytes { self.give_values() } else { Ok(()) }
    }

    /// Leaves the elements of an Array.
    pub fn add_elements(&self, slots: Slots<'s>, part: Part) {
        (self.take)(PartTask { parts: vec![part], places: Places::Values(slots) });
    }

    /// Leaves the elements of a PackedStringArray.
    pub fn add_strings(&self, slots: StringSlots<'s>, part: Part) {
        (self.take)(PartTask { parts: vec![part], places: Places::Strings(slots) });
    }

    /// What is to be settled when all is filled.
    ///
    /// # Errors
    /// That there is no memory for the last values.
    pub fn finish(mut self) -> Result<Vec<StagedValues<'s>>> {
        self.give_values()?;
        Ok(self.late)
    }

    /// From how many bytes on something is left.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn give_values(&mut self) -> Result<()> {
        self.value_bytes = 0;
        if self.values.is_empty() {
            return Ok(());
        }
        let (left, parts) = self.values.drain(..).unzip();
        let (late, slots) = StagedValues::new(left)?;
        self.late.push(late);
        (self.take)(PartTask { parts, places: Places::Values(slots) });
        Ok(())
    }
}
