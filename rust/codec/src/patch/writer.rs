//! [`Writer`]: encodes containers whose counts are known only at the end.

use crate::encoder::Encoder;
use crate::error::Result;
use crate::events::{ElementType, Sink as _};
use crate::format::{self, VariantType};

#[derive(Debug, Default)]
pub(super) struct Writer {
    encoder: Encoder<Vec<u8>>,
}

/// The offset of a container's count.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountAt(usize);

impl Writer {
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.encoder.output_mut()
    }

    pub fn into_out(self) -> Vec<u8> {
        self.encoder.into_output()
    }

    pub fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.encoder.put_raw(bytes)
    }

    /// Begins an untyped container. Its count is [set](Self::set_count) later.
    pub fn container(&mut self, ty: VariantType) -> Result<CountAt> {
        self.raw(&u32::from(ty.id()).to_le_bytes())?;
        self.count_later()
    }

    /// Reserves the bytes of a count, which is [set](Self::set_count) later.
    pub fn count_later(&mut self) -> Result<CountAt> {
        let at = CountAt(self.out().len());
        self.raw(&[0; 4])?;
        Ok(at)
    }

    pub fn set_count(&mut self, CountAt(at): CountAt, count: usize) {
        if let Some(place) = self.out().get_mut(at..at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
    }

    pub fn array(&mut self, count: usize) -> Result<()> {
        self.encoder.begin_array(count, ElementType::Untyped)
    }

    pub fn text(&mut self, text: &str) -> Result<()> {
        self.encoder.text(VariantType::String, text.into())
    }

    pub fn int(&mut self, int: usize) -> Result<()> {
        self.encoder.int(int as i64)
    }

    /// Writes a PackedInt32Array.
    pub fn ints(&mut self, ints: &[u32]) -> Result<()> {
        let at = self.container(VariantType::PackedInt32Array)?;
        self.set_count(at, ints.len());
        ints.iter().try_for_each(|int| self.raw(&int.to_le_bytes()))
    }

    pub fn padded(&mut self, bytes: &[u8]) -> Result<()> {
        self.raw(bytes)?;
        self.raw(&[0; 3][..format::padding(bytes.len())])
    }
}
