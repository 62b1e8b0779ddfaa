//! Converts your types to and from values and bytes with [serde](https://serde.rs). This module needs the
//! feature `serde`.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use variant_codec::Limits;
//!
//! #[derive(Debug, PartialEq, Deserialize, Serialize)]
//! struct Save {
//!     name: String,
//!     hp: i32,
//!     #[serde(with = "variant_codec::serde::vector2")]
//!     position: [f32; 2],
//!     weapon: Option<Weapon>,
//! }
//!
//! #[derive(Debug, PartialEq, Deserialize, Serialize)]
//! enum Weapon {
//!     Fists,
//!     Sword { sharpness: f32 },
//! }
//!
//! let weapon = Some(Weapon::Sword { sharpness: 0.5 });
//! let save = Save { name: "Ada".into(), hp: 87, position: [3.0, 4.0], weapon };
//! // The bytes of var_to_bytes({"name": "Ada", "hp": 87, "position": Vector2(3, 4), "weapon": {"Sword": {"sharpness": 0.5}}}).
//! let bytes = variant_codec::serde::to_bytes(&save)?;
//! assert_eq!(variant_codec::serde::from_bytes::<Save>(&bytes, &Limits::for_network())?, save);
//! # Ok::<(), variant_codec::Error>(())
//! ```
//!
//! # Type mapping
//!
//! | Rust | Godot | also read from |
//! |---|---|---|
//! | bool | bool | |
//! | integers | int; an error if it does not fit | RID, and objects by id |
//! | f32, f64 | float | int |
//! | char, text | String | StringName, NodePath |
//! | `()`, unit structs, `None` | Nil | Callable |
//! | `Some(x)`, newtype structs | the value inside | |
//! | sequences, tuples | Array | packed arrays; components of vectors, colors and the like |
//! | bytes (`serialize_bytes`) | PackedByteArray | Array of ints |
//! | maps | Dictionary | |
//! | structs | Dictionary with Strings as keys | StringNames as keys; Objects, by their properties |
//! | unit variants | String | StringName |
//! | other variants | Dictionary: the name of the variant → its content | |
//!
//! To write other Godot types, use `#[serde(with = "…")]` with a submodule of this module, such as
//! [`vector2`].
//!
//! Types with two serde forms, such as IP addresses, use the human-readable form, because scripts read the
//! values.
//!
//! A struct treats keys that are not text as unknown fields. `Some(None)` and `Some(())` are written as Nil, and
//! read as `None`. Two keys that the engine considers equal are an error. Examples: a field and the same name in a
//! flattened map; `Vector2(0, 1)` and `Vector2(-0.0, 1)`.
//!
//! # Flattened fields; untagged, internally tagged and adjacently tagged enums
//!
//! serde buffers the data for `#[serde(flatten)]`, `#[serde(untagged)]` and `#[serde(tag = "…")]`, and for
//! `#[serde(tag = "…", content = "…")]` if the content comes first. The buffer does not know Godot's types:
//!
//! | written | read as a [`Value`] | read by a submodule |
//! |---|---|---|
//! | Nil, bool, int, float, String, PackedByteArray | the same type | the same type |
//! | values with 32-bit components, PackedInt32Array, PackedFloat32Array | the same type | the same type |
//! | an empty packed array other than PackedByteArray | Array | an empty array, by the submodule of any packed array |
//! | values with 64-bit components | Array | an error |
//! | PackedInt64Array, PackedFloat64Array, PackedStringArray | Array | the same type; also from an Array of such elements |
//! | StringName, NodePath | String | the same type; also from the other text types |
//! | RID, Object by id | int | |
//! | Callable, null object | Nil | |
//! | Signal, Object with properties | Dictionary | |
//! | typed containers | untyped ones | |
//!
//! Other Rust types are read as usual, except i128 and u128, which are errors. A PackedByteArray for a `Vec<u8>` is
//! an error too: use [`byte_array`]. Dictionaries stay Dictionaries, even if they look like the forms below.
//! They are read as these forms only if serde buffers another format, such as JSON.
//!
//! A [`Value`] that is flattened, or is the whole content of a variant of an internally tagged enum, must be
//! an untyped Dictionary or Nil. Nil adds nothing, and is read back as an empty Dictionary.
//!
//! In a struct with flattened fields, a key other than Nil, bool, int, float or text is skipped, or is an
//! error if a flattened map would take it. An internally tagged enum accepts only text as keys.
//!
//! [`Limits::max_memory`] does not count the buffer's memory, and nested untagged enums keep one copy per level. For
//! example, 720 KB of ints inside 30 nested Arrays take 80 MB if they are read as an untagged enum whose values are
//! ints or sequences of the same enum. At 900 levels, they take 2.5 GB. For untrusted packets, lower
//! [`Limits::max_bytes`] and [`Limits::max_depth`], or avoid recursive untagged enums.
//!
//! # Deep data
//!
//! Each level of nesting uses stack, and a stack overflow aborts the process. [`Limits::for_network`] allows 32
//! levels, which fit on any stack. [`Limits::for_save_files`] allows the format's 1024, which need 4 MiB, but the
//! threads that Rust starts have 2 MiB. The deepest data that can be read:
//!
//! | build | stack | [`Value::decode`] | `struct Node { next: Option<Box<Node>> }` | flattened map of itself | untagged enum |
//! |---|---|---:|---:|---:|---:|
//! | release | 2 MiB | 1024 | 894 | 920 | 919 |
//! | release | 4 MiB | 1024 | 1024 | 1024 | 1024 |
//! | debug | 2 MiB | 105 | 104 | 104 | 104 |
//! | debug, with `opt-level = 1` in `[profile.dev.package."*"]` | 2 MiB | 1024 | 1002 | 321 | 321 |
//! | the same | 8 MiB | 1024 | 1024 | 1024 | 1024 |
//!
//! Read deep data on a thread with 8 MiB and optimise dependencies in debug builds, or lower [`Limits::max_depth`].
//!
//! Reading a type that contains nothing but itself, such as `struct List(Option<Box<List>>)`, recurses without end, as
//! with every serde format.
//!
//! # Values in other formats
//!
//! [`Value`] implements `Serialize` and `Deserialize` for self-describing formats such as JSON. Nil, bool,
//! int, float, String, untyped Arrays, and untyped Dictionaries with String keys look as expected. Other
//! values are variants named after their type:
//!
//! | type | form |
//! |---|---|
//! | non-finite float, in human-readable formats | `{"float": "inf"}`, `"-inf"`, `"nan"`; `"nan:fff8000000000000"` for other NaNs, with their bits |
//! | Vector2 and others made of numbers | `{"Vector2": [1.0, 2.0]}`; with 64 bits `{"Vector2": {"f64": [1.0, 2.0]}}` |
//! | StringName | `{"StringName": "idle"}` |
//! | untyped Dictionary whose first key is a [tag](crate::tag) and the others Strings | a map; a tag that is a String gets a second `@`: `{"@@class": "Hero"}` |
//! | NodePath | `{"NodePath": {"absolute": true, "names": ["root"], "subnames": []}}` |
//! | RID | `{"RID": 7}`, the bits of the id as an int |
//! | Object | `{"Object": 7}` with the bits of the instance id; `{"Object": null}`; or `{"Object": {"class": "Node", "properties": [["name", "A"]]}}` |
//! | Callable | `{"Callable": null}` |
//! | Signal | `{"Signal": {"name": "hit", "object": 7}}` |
//! | typed Array | `{"Array": {"element": {"builtin": "int"}, "values": [1, 2]}}`; also `class` and `script` |
//! | other Dictionaries | `{"Dictionary": {"key": null, "value": null, "entries": [[1, "one"]]}}` |
//! | packed arrays | `{"PackedInt32Array": [1, 2]}`, `{"PackedVector2Array": [[1.0, 2.0]]}` |
//!
//! Fields with a submodule of this module have the same forms. They also accept the bare content of a form,
//! such as `[1.0, 2.0]` or `{"x": 1.0, "y": 2.0}`. `null` is accepted as a missing value; a component must
//! not be `null`.
//!
//! To read floats exactly as they were written, `serde_json` needs its feature `float_roundtrip`.
//!
//! ```
//! use variant_codec::{Reals, Value};
//!
//! let value = Value::from_iter([("position", Value::Vector2(Reals::Single([1.0, 2.0])))]);
//! let json = serde_json::to_string(&value)?;
//! assert_eq!(json, r#"{"position":{"Vector2":[1.0,2.0]}}"#);
//! assert_eq!(serde_json::from_str::<Value>(&json)?, value);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod buffer;
mod de;
mod form;
mod handover;
mod ser;
mod value;
mod with;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decoder::Decoder;
use crate::encoder::{EncodeOptions, Measure};
use crate::error::{Error, Result};
use crate::limits::{Limits, Strictness};
use crate::value::Value;

pub use value::MemoryBound;
pub use with::*;

/// Decodes the single value in `bytes`, strictly, into a Rust type.
///
/// # Errors
/// Fails as [`Value::decode`] does, or with the path if the value does not fit the type.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8], limits: &Limits) -> Result<T> {
    from_value(Value::decode(bytes, limits)?)
}

/// Encodes a Rust value as an official engine would.
///
/// # Errors
/// Fails as [`to_value`] and [`Value::encode`] do, and on anything that [`from_bytes`] would refuse. An example is
/// text with a NUL, which the engine would truncate.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let options = EncodeOptions { strict_text: true, ..EncodeOptions::default() };
    let bytes = to_value(value)?.encode_as(options)?;
    // Finds everything else that a decoder would refuse.
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    Decoder::new(&bytes, Strictness::Strict, &limits)
        .decode_only(&mut Measure::counting(options))
        .map_err(Error::without_offset)?;
    Ok(bytes)
}

/// Converts a [`Value`] to a Rust type.
///
/// # Errors
/// Fails with the path if the value does not fit the type.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T> {
    T::deserialize(value)
}

/// Converts a Rust value to a [`Value`].
///
/// # Errors
/// Fails with the path if the Rust value does not fit a [`Value`].
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(ser::ValueSerializer::default())
}
