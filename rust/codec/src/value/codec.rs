//! Decodes and encodes values.

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
    /// Decodes the single value in `bytes`, strictly: fails on anything that no encoder writes.
    ///
    /// # Errors
    /// Fails if the bytes are invalid or exceed a limit. The error has the offset.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self> {
        Self::decode_as(bytes, Strictness::Strict, limits)
    }

    /// Decodes the single value in `bytes` with the given strictness.
    ///
    /// # Errors
    /// Fails if the bytes are invalid or exceed a limit. The error has the offset.
    pub fn decode_as(bytes: &[u8], strictness: Strictness, limits: &Limits) -> Result<Self> {
        let mut builder = match strictness {
            Strictness::Strict => ValueBuilder::strict(),
            Strictness::Lenient => ValueBuilder::default(),
        };
        Decoder::new(bytes, strictness, limits).decode_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// Encodes the value as an official engine does.
    ///
    /// # Errors
    /// Fails if a value is nested deeper than level 1024, or the bytes reach 2 GiB. The error has the path.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_as(EncodeOptions::default())
    }

    /// Encodes the value with these options, for example for an engine of another precision.
    ///
    /// # Errors
    /// Fails as [`Value::encode`] does and, with `strict_text`, on text that does not survive a round trip.
    pub fn encode_as(&self, options: EncodeOptions) -> Result<Vec<u8>> {
        let mut encoder = Encoder::new(Vec::new(), options);
        (&*self).write_into(&mut encoder)?;
        Ok(encoder.into_output())
    }

    /// Decodes the single value in `bytes` of Godot 3's format, strictly. With [`Loss::Accepted`], values that
    /// Godot 4 cannot hold are replaced; see [`Decoder::of_godot3`].
    ///
    /// # Errors
    /// Fails if the bytes are invalid or exceed a limit. The error has the offset.
    pub fn decode_godot3(bytes: &[u8], limits: &Limits, loss: Loss) -> Result<Self> {
        let mut builder = ValueBuilder::strict();
        Decoder::of_godot3(bytes, Strictness::Strict, limits, loss).decode_only(&mut builder)?;
        Ok(builder.into_value())
    }

    /// Encodes the value in Godot 3's format. With [`Loss::Accepted`], [`Downgrade`] replaces values that the
    /// format cannot hold.
    ///
    /// # Errors
    /// Fails as [`Value::encode`] does, and on values that Godot 3 cannot hold. The error has the path.
    pub fn encode_godot3(&self, loss: Loss) -> Result<Vec<u8>> {
        let mut downgrade = Downgrade::new(Vec::new(), loss);
        (&*self).write_into(&mut downgrade)?;
        Ok(downgrade.into_output())
    }

    /// The number of bytes that [`Value::encode`] returns.
    ///
    /// # Errors
    /// Fails as [`Value::encode`] does.
    pub fn encoded_size(&self) -> Result<usize> {
        let mut measure = Measure::counting(EncodeOptions::default());
        (&*self).write_into(&mut measure)?;
        Ok(measure.bytes())
    }
}
