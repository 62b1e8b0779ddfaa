//! Values from and into bytes.

use super::builder::ValueBuilder;
use super::types::Value;
use crate::changes::Loss;
use crate::decoder::Decoder;
use crate::downgrade::Downgrade;
use crate::encoder::{EncodeOptions, Encoder, Measure};
use crate::error::Result;
use crate::events::Source;
use crate::limits::{Limits, Strictness};

impl Value {
    /// Reads the one value that `bytes` hold, strictly: what no encoder writes is an error.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self> {
        Self::decode_as(bytes, Strictness::Strict, limits)
    }

    /// Reads one value with the given strictness.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode_as(bytes: &[u8], strictness: Strictness, limits: &Limits) -> Result<Self> {
        let mut builder = match strictness {
            Strictness::Strict => ValueBuilder::strict(),
            Strictness::Lenient => ValueBuilder::default(),
        };
        Decoder::new(bytes, strictness, limits).decode_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// The bytes that an official engine writes.
    ///
    /// # Errors
    /// Nesting below level 1024, or 2 GiB of bytes, with the path to the place.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_as(EncodeOptions::default())
    }

    /// The bytes for an engine of the precision given.
    ///
    /// # Errors
    /// As [`Value::encode`].
    pub fn encode_as(&self, options: EncodeOptions) -> Result<Vec<u8>> {
        let mut encoder = Encoder::new(Vec::new(), options);
        (&*self).write_into(&mut encoder)?;
        Ok(encoder.into_output())
    }

    /// Reads the one value that `bytes` in Godot 3's format hold, strictly. With [`Loss::Accepted`], what Godot 4
    /// cannot hold is replaced, as [`Decoder::of_godot3`] says.
    ///
    /// # Errors
    /// What is wrong with the bytes, with its offset.
    pub fn decode_godot3(bytes: &[u8], limits: &Limits, loss: Loss) -> Result<Self> {
        let mut builder = ValueBuilder::strict();
        Decoder::of_godot3(bytes, Strictness::Strict, limits, loss).decode_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// The bytes for Godot 3. With [`Loss::Accepted`], what it cannot hold is replaced, as [`Downgrade`] says.
    ///
    /// # Errors
    /// As [`Value::encode`]; and what Godot 3 cannot hold, with the path to the place.
    pub fn encode_godot3(&self, loss: Loss) -> Result<Vec<u8>> {
        let mut downgrade = Downgrade::new(Vec::new(), loss);
        (&*self).write_into(&mut downgrade)?;
        Ok(downgrade.into_output())
    }

    /// How many bytes [`Value::encode`] gives.
    ///
    /// # Errors
    /// As [`Value::encode`].
    pub fn encoded_size(&self) -> Result<usize> {
        let mut measure = Measure::counting(EncodeOptions::default());
        (&*self).write_into(&mut measure)?;
        Ok(measure.bytes())
    }
}
