//! [`Mirror`]: the dynamic value that the serde formats encode and decode.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use variant_codec::{PackedReals, Reals, Value};

/// A [`Value`] with the variants that the workloads have.
///
/// Its derived form names each value's variant, by number where the format can. That is what a format without types of
/// its own needs; see [`Plain`] for one that has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Mirror {
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Vector3([f32; 3]),
    Color([f32; 4]),
    Dictionary(Vec<(Mirror, Mirror)>),
    Array(Vec<Mirror>),
    PackedVector3Array(Vec<[f32; 3]>),
}

impl From<&Value> for Mirror {
    fn from(value: &Value) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) => Self::Float(*value),
            Value::String(text) => Self::String(text.clone()),
            Value::Vector3(Reals::Single(lanes)) => Self::Vector3(*lanes),
            Value::Color(lanes) => Self::Color(*lanes),
            Value::Dictionary(dictionary) => {
                Self::Dictionary(dictionary.entries.iter().map(|(k, v)| (k.into(), v.into())).collect())
            }
            Value::Array(array) => Self::Array(array.values.iter().map(Self::from).collect()),
            Value::PackedVector3Array(PackedReals::Single(vectors)) => {
                Self::PackedVector3Array(vectors.clone())
            }
            other => unreachable!("no workload has a {}", other.ty()),
        }
    }
}

impl From<&Mirror> for Value {
    fn from(mirror: &Mirror) -> Self {
        match mirror {
            Mirror::Bool(value) => Self::Bool(*value),
            Mirror::Int(value) => Self::Int(*value),
            Mirror::Float(value) => Self::Float(*value),
            Mirror::String(text) => Self::String(text.clone()),
            Mirror::Vector3(lanes) => Self::Vector3(Reals::Single(*lanes)),
            Mirror::Color(lanes) => Self::Color(*lanes),
            Mirror::Dictionary(entries) => {
                entries.iter().map(|(k, v)| (k.into(), v.into())).collect::<Vec<_>>().into()
            }
            Mirror::Array(values) => values.iter().map(Self::from).collect::<Vec<_>>().into(),
            Mirror::PackedVector3Array(vectors) => {
                Self::PackedVector3Array(PackedReals::Single(vectors.clone()))
            }
        }
    }
}

/// A [`Mirror`] in MessagePack's own types, which say themselves what they are; vectors and colours are extensions.
///
/// The derived form would spell out the variant's name before each value there, which nobody would write by choice.
pub struct Plain<M>(pub M);

/// The name by which `rmp-serde` knows an extension.
const EXTENSION: &str = rmp_serde::MSGPACK_EXT_STRUCT_NAME;
const VECTOR3: i8 = 9;
const COLOR: i8 = 20;
const PACKED_VECTOR3_ARRAY: i8 = 36;

/// Bytes that are written as such, not as a sequence of numbers.
struct Blob<'a>(&'a [u8]);

impl Serialize for Blob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl Serialize for Plain<&Mirror> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Mirror::Bool(value) => serializer.serialize_bool(*value),
            Mirror::Int(value) => serializer.serialize_i64(*value),
            Mirror::Float(value) => serializer.serialize_f64(*value),
            Mirror::String(text) => serializer.serialize_str(text),
            Mirror::Vector3(lanes) => serialize_extension(serializer, VECTOR3, lanes),
            Mirror::Color(lanes) => serialize_extension(serializer, COLOR, lanes),
            Mirror::Dictionary(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(&Plain(key), &Plain(value)))?;
                map.end()
            }
            Mirror::Array(values) => {
                let mut sequence = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| sequence.serialize_element(&Plain(value)))?;
                sequence.end()
            }
            Mirror::PackedVector3Array(vectors) => {
                serialize_extension(serializer, PACKED_VECTOR3_ARRAY, vectors.as_flattened())
            }
        }
    }
}

fn serialize_extension<S: Serializer>(serializer: S, id: i8, lanes: &[f32]) -> Result<S::Ok, S::Error> {
    let le: Vec<u8> = lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect();
    serializer.serialize_newtype_struct(EXTENSION, &(id, Blob(&le)))
}

impl<'de> Deserialize<'de> for Plain<Mirror> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Mirror;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bool, a number, a text, an array, a map or an extension")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Mirror, E> {
        Ok(Mirror::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Mirror, E> {
        Ok(Mirror::Int(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Mirror, E> {
        value.try_into().map(Mirror::Int).map_err(E::custom)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Mirror, E> {
        Ok(Mirror::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Mirror, E> {
        Ok(Mirror::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Mirror, A::Error> {
        let mut values = Vec::with_capacity(reserved(sequence.size_hint()));
        while let Some(Plain(value)) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Mirror::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mirror, A::Error> {
        let mut entries = Vec::with_capacity(reserved(map.size_hint()));
        while let Some((Plain(key), Plain(value))) = map.next_entry()? {
            entries.push((key, value));
        }
        Ok(Mirror::Dictionary(entries))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, extension: D) -> Result<Mirror, D::Error> {
        let (id, le) = <(i8, &[u8])>::deserialize(extension)?;
        let lanes = le.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        match id {
            VECTOR3 => fixed_lanes(lanes).map(Mirror::Vector3),
            COLOR => fixed_lanes(lanes).map(Mirror::Color),
            PACKED_VECTOR3_ARRAY => {
                Ok(Mirror::PackedVector3Array(lanes.collect::<Vec<_>>().as_chunks::<3>().0.to_vec()))
            }
            _ => Err(de::Error::custom("an unknown extension")),
        }
    }
}

/// Elements to make room for, as serde's own `Vec` does it: what is announced, up to 1 MiB.
fn reserved(announced: Option<usize>) -> usize {
    announced.unwrap_or(0).min((1 << 20) / size_of::<Mirror>())
}

/// Exactly `N` components.
fn fixed_lanes<const N: usize, E: de::Error>(
    lanes: impl ExactSizeIterator<Item = f32>,
) -> Result<[f32; N], E> {
    let count = lanes.len();
    let mut fixed = [0.0; N];
    if count != N {
        return Err(E::invalid_length(count, &"another number of components"));
    }
    fixed.iter_mut().zip(lanes).for_each(|(to, from)| *to = from);
    Ok(fixed)
}
