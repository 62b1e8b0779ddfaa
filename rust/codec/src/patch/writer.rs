//! Encoded containers of which the count comes last.

use crate::error::{ErrorKind, Result};
use crate::format::{self, VariantType};

/// Writes encoded values.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub out: Vec<u8>,
}

/// Where the count of a container stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountAt(usize);

impl Writer {
    /// Appends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() > format::MAX_BYTES.saturating_sub(self.out.len()) {
            return Err(ErrorKind::TooLarge.into());
        }
        self.out.try_reserve(bytes.len()).map_err(|_| ErrorKind::OutOfMemory(bytes.len()))?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn u32(&mut self, number: u32) -> Result<()> {
        self.raw(&number.to_le_bytes())
    }

    fn header(&mut self, ty: VariantType) -> Result<()> {
        self.u32(ty.id().into())
    }

    /// An untyped container, whose count is [set](Self::set_count) later.
    pub fn container(&mut self, ty: VariantType) -> Result<CountAt> {
        self.header(ty)?;
        self.count_later()
    }

    /// A count that is [set](Self::set_count) later.
    pub fn count_later(&mut self) -> Result<CountAt> {
        let at = CountAt(self.out.len());
        self.u32(0)?;
        Ok(at)
    }

    pub fn set_count(&mut self, CountAt(at): CountAt, count: usize) {
        if let Some(place) = self.out.get_mut(at..at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
    }

    /// An Array of so many elements, which follow.
    pub fn array(&mut self, count: usize) -> Result<()> {
        let at = self.container(VariantType::Array)?;
        self.set_count(at, count);
        Ok(())
    }

    pub fn text(&mut self, text: &str) -> Result<()> {
        self.header(VariantType::String)?;
        self.u32(text.len() as u32)?;
        self.padded(text.as_bytes())
    }

    /// A number that is not negative.
    pub fn int(&mut self, int: usize) -> Result<()> {
        let narrow = u32::from(VariantType::Int.id());
        match i32::try_from(int) {
            Ok(int) => {
                self.u32(narrow)?;
                self.u32(int as u32)
            }
            Err(_) => {
                self.u32(narrow | format::FLAG_64)?;
                self.raw(&(int as u64).to_le_bytes())
            }
        }
    }

    /// A PackedByteArray.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let at = self.container(VariantType::PackedByteArray)?;
        self.set_count(at, bytes.len());
        self.padded(bytes)
    }

    /// A PackedInt32Array.
    pub fn ints(&mut self, ints: &[u32]) -> Result<()> {
        let at = self.container(VariantType::PackedInt32Array)?;
        self.set_count(at, ints.len());
        ints.iter().try_for_each(|int| self.u32(*int))
    }

    pub fn padded(&mut self, bytes: &[u8]) -> Result<()> {
        self.raw(bytes)?;
        self.raw(&[0; 3][..format::padding(bytes.len())])
    }
}
