//! The contestants, each through the one call that it offers for a whole value.

use godot_binary_serialization::decoder::Decoder as PeerDecoder;
use godot_binary_serialization::encoder::Encoder as PeerEncoder;
use godot_binary_serialization::types::primitive::{GodotInteger, GodotString};
use godot_binary_serialization::types::structures::{GodotDictionary, GodotVector3};
use godot_binary_serialization::types::variant::{AsVariant, GodotVariant};
use variant_codec::{Limits, Reals, Value};

use crate::mirror::{Mirror, Plain};

/// A crate that turns a dynamic value into bytes and back.
pub trait Peer {
    /// The value as this crate takes and gives it.
    type Held;
    const NAME: &'static str;
    /// Whether its bytes are Godot's.
    const SAME_FORMAT: bool = false;
    /// The same value, ready to be encoded; `None` if this crate cannot hold it.
    fn from_value(value: &Value) -> Option<Self::Held>;
    fn to_value(held: &Self::Held) -> Value;
    fn encode(held: &Self::Held) -> Vec<u8>;
    fn decode(bytes: &[u8]) -> Self::Held;
}

/// This crate.
pub struct VariantCodec;

impl Peer for VariantCodec {
    type Held = Value;
    const NAME: &'static str = "variant_codec";
    const SAME_FORMAT: bool = true;

    fn from_value(value: &Value) -> Option<Value> {
        Some(value.clone())
    }

    fn to_value(held: &Value) -> Value {
        held.clone()
    }

    fn encode(held: &Value) -> Vec<u8> {
        held.encode().expect("a value within the format's limits")
    }

    fn decode(bytes: &[u8]) -> Value {
        Value::decode(bytes, &Limits::for_save_files()).expect("valid bytes")
    }
}

/// `godot-binary-serialization`, another crate for this format.
///
/// It has null, bool, int, float, String, Vector2, Vector3 and Dictionary, but neither Array nor any packed array, and
/// no Color. Of the workloads that leaves the message; all others are skipped.
pub struct GodotBinarySerialization;

impl Peer for GodotBinarySerialization {
    type Held = Box<dyn GodotVariant>;
    const NAME: &'static str = "godot-binary-serialization";
    const SAME_FORMAT: bool = true;

    fn from_value(value: &Value) -> Option<Self::Held> {
        Some(match value {
            Value::Int(value) => Box::new(GodotInteger::new_from_i64(*value)),
            Value::String(text) => Box::new(GodotString::new(text)),
            Value::Vector3(Reals::Single([x, y, z])) => Box::new(GodotVector3::new(*x, *y, *z)),
            Value::Dictionary(dictionary) => {
                let mut held = GodotDictionary::new();
                for (key, value) in &dictionary.entries {
                    held.map.insert(Self::from_value(key)?, Self::from_value(value)?);
                }
                Box::new(held)
            }
            _ => return None,
        })
    }

    fn to_value(held: &Self::Held) -> Value {
        if let Some(int) = held.as_var::<GodotInteger>() {
            Value::from(int.value)
        } else if let Some(text) = held.as_var::<GodotString>() {
            Value::from(text.value.as_str())
        } else if let Some(vector) = held.as_var::<GodotVector3>() {
            Value::Vector3(Reals::Single([vector.x, vector.y, vector.z]))
        } else if let Some(dictionary) = held.as_var::<GodotDictionary>() {
            let entries = dictionary.map.iter().map(|(k, v)| (Self::to_value(k), Self::to_value(v)));
            Value::from(entries.collect::<Vec<_>>())
        } else {
            unreachable!("from_value makes no such value: {held:?}")
        }
    }

    fn encode(held: &Self::Held) -> Vec<u8> {
        PeerEncoder::encode_variant(&**held).expect("a value of the supported types")
    }

    fn decode(bytes: &[u8]) -> Self::Held {
        PeerDecoder::decode_variant(bytes).expect("bytes of the supported types")
    }
}

/// `rmp-serde`: MessagePack.
pub struct MessagePack;

impl Peer for MessagePack {
    type Held = Mirror;
    const NAME: &'static str = "rmp-serde";

    fn from_value(value: &Value) -> Option<Mirror> {
        Some(value.into())
    }

    fn to_value(held: &Mirror) -> Value {
        held.into()
    }

    fn encode(held: &Mirror) -> Vec<u8> {
        rmp_serde::to_vec(&Plain(held)).expect("a value that MessagePack holds")
    }

    fn decode(bytes: &[u8]) -> Mirror {
        rmp_serde::from_slice::<Plain<Mirror>>(bytes).expect("valid MessagePack").0
    }
}

/// `postcard`: numbers of variable length, no descriptions but the mirror's own.
pub struct Postcard;

impl Peer for Postcard {
    type Held = Mirror;
    const NAME: &'static str = "postcard";

    fn from_value(value: &Value) -> Option<Mirror> {
        Some(value.into())
    }

    fn to_value(held: &Mirror) -> Value {
        held.into()
    }

    fn encode(held: &Mirror) -> Vec<u8> {
        postcard::to_allocvec(held).expect("a value that postcard holds")
    }

    fn decode(bytes: &[u8]) -> Mirror {
        postcard::from_bytes(bytes).expect("valid postcard bytes")
    }
}

/// `bincode` 2, in its standard configuration, through serde.
pub struct Bincode;

impl Peer for Bincode {
    type Held = Mirror;
    const NAME: &'static str = "bincode";

    fn from_value(value: &Value) -> Option<Mirror> {
        Some(value.into())
    }

    fn to_value(held: &Mirror) -> Value {
        held.into()
    }

    fn encode(held: &Mirror) -> Vec<u8> {
        bincode::serde::encode_to_vec(held, bincode::config::standard()).expect("a value that bincode holds")
    }

    fn decode(bytes: &[u8]) -> Mirror {
        bincode::serde::decode_from_slice(bytes, bincode::config::standard()).expect("valid bincode bytes").0
    }
}
