//! Plain containers as JSON, in the forms of `variant_codec::serde`. The engine's `JSON.from_native` would lose digits of
//! floats and of large ints in packed arrays.

use godot::builtin::PackedByteArray;
use variant_codec::error::Limit;
use variant_codec::serde::MemoryBound;
use variant_codec::{EncodeOptions, Error, Limits, Result, Value};
use variant_engine::{PRECISION, set_bytes};

/// The JSON for an encoded value.
///
/// # Errors
/// Fails if [`from_json`] could not read the JSON, because it nests too deeply.
pub fn to_json(bytes: &[u8]) -> Result<String> {
    let value = Value::decode(bytes, &Limits::unlimited())?;
    let json = serde_json::to_string(&value).map_err(Error::other)?;
    match serde_json::from_str::<Value>(&json) {
        Ok(_) => Ok(json),
        Err(error) => {
            Err(Error::argument(format!("cannot be written as JSON, but as bytes with `encode`: {error}")))
        }
    }
}

/// The encoded value for JSON.
///
/// # Errors
/// Fails if the text is not such JSON, or is longer than the limits allow.
pub fn from_json(json: &str, limits: &Limits) -> Result<PackedByteArray> {
    if json.len() > limits.max_bytes {
        return Err(limits.exceeded(Limit::Bytes).into());
    }
    let memory = MemoryBound::new(usize::try_from(limits.max_memory).unwrap_or(usize::MAX));
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = memory.read(&mut reader).and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| match memory.is_exceeded() {
        true => limits.exceeded(Limit::Memory).into(),
        false => Error::argument(format!("not JSON that `to_json` writes: {error}")),
    })?;
    let mut bytes = PackedByteArray::new();
    set_bytes(
        &mut bytes,
        &value.encode_as(EncodeOptions { precision: Some(PRECISION), strict_text: true })?,
    )?;
    Ok(bytes)
}
