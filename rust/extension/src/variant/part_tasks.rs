//! Parts of the bytes that a builder hands to other threads, with the slots for their values.

use variant_codec::Result;
use variant_codec::stream::Part;
use variant_engine::{DeferredValue, Slots, StagedValues, StringSlots};

pub struct PartTask<'s> {
    pub parts: Vec<Part>,
    pub slots: PartSlots<'s>,
}

pub enum PartSlots<'s> {
    /// Elements of an Array, or values of entries.
    Values(Slots<'s>),
    /// Elements of a PackedStringArray.
    Strings(StringSlots<'s>),
}

pub struct PartDispatcher<'k, 's> {
    bytes: usize,
    take: &'k dyn Fn(PartTask<'s>),
    /// Values of entries that do not fill a task yet, and the number of their bytes.
    values: Vec<(DeferredValue<'s>, Part)>,
    value_bytes: usize,
    late: Vec<StagedValues<'s>>,
}

impl<'k, 's> PartDispatcher<'k, 's> {
    /// A dispatcher that passes tasks of about `bytes` bytes each to `take`.
    pub fn new(bytes: usize, take: &'k dyn Fn(PartTask<'s>)) -> Self {
        Self { bytes, take, values: Vec::new(), value_bytes: 0, late: Vec::new() }
    }

    /// Hands over the value of an entry.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](variant_codec::ErrorKind::OutOfMemory).
    pub fn add_value(&mut self, value: DeferredValue<'s>, part: Part) -> Result<()> {
        self.value_bytes += part.bytes.len();
        self.values.push((value, part));
        if self.value_bytes >= self.bytes { self.submit_values() } else { Ok(()) }
    }

    pub fn add_elements(&self, slots: Slots<'s>, part: Part) {
        (self.take)(PartTask { parts: vec![part], slots: PartSlots::Values(slots) });
    }

    pub fn add_strings(&self, slots: StringSlots<'s>, part: Part) {
        (self.take)(PartTask { parts: vec![part], slots: PartSlots::Strings(slots) });
    }

    /// Hands over the remaining values. Returns the values that must be moved to their entries once all
    /// slots are filled.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](variant_codec::ErrorKind::OutOfMemory).
    pub fn finish(mut self) -> Result<Vec<StagedValues<'s>>> {
        self.submit_values()?;
        Ok(self.late)
    }

    /// The size in bytes from which a container is split.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn submit_values(&mut self) -> Result<()> {
        self.value_bytes = 0;
        if self.values.is_empty() {
            return Ok(());
        }
        let (left, parts) = self.values.drain(..).unzip();
        let (late, slots) = StagedValues::new(left)?;
        self.late.push(late);
        (self.take)(PartTask { parts, slots: PartSlots::Values(slots) });
        Ok(())
    }
}
