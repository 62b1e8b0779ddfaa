//! Godot 4's binary Variant format, and Godot 3's, without an engine.
//!
//! What `var_to_bytes` writes and `bytes_to_var` reads, byte for byte: for servers, tools and tests in Rust, and the
//! core of the FastVariantCodec addon. The format itself is described in the repository's `docs/format.md`.
//!
//! ```
//! use variant_codec::{Limits, Value};
//!
//! let value = Value::from(vec![Value::from(7), Value::from("hp")]);
//! let bytes = value.encode()?;
//! assert_eq!(Value::decode(&bytes, &Limits::for_network())?, value);
//! # Ok::<(), variant_codec::Error>(())
//! ```
//!
//! A [`Source`] walks a value and pours it into a [`Sink`]; everything else is a source or a sink:
//!
//! | path | source → sink |
//! |---|---|
//! | encode | [`&Value`](Value) → [`Encoder`] |
//! | decode | [`Decoder`] → [`ValueBuilder`] |
//! | size without encoding | [`&Value`](Value) → [`Measure`] |
//! | validate without building | [`Decoder`] → [`Measure`] |
//! | re-encode | [`Decoder`] → [`Encoder`] |
//! | read Godot 3's format | [`Decoder::of_godot_3`] → any of these |
//! | write Godot 3's format | any of these → [`Downgrade`] |
//! | inspect | [`Decoder`] → [`Outline`] |
#![forbid(unsafe_code)]

mod changes;
mod decoder;
mod dialect;
mod downgrade;
mod encoder;
mod error;
pub mod format;
pub mod frames;
mod lanes;
mod limits;
mod outline;
mod room;
mod skim;
mod stream;
mod utf8;
mod value;

pub use changes::{Change, add as add_change};
pub use decoder::{Decoder, Manner, Notes, Piece, PieceKind};
pub use dialect::{Dialect, GODOT_3_TYPES, Godot3, Godot4};
pub use downgrade::{COUNTERPARTS, Counterpart, Downgrade};
pub use encoder::{Count, EncodeOptions, Encoder, Measure, Memory, Output, Room, utf8_len};
pub use error::{Error, ErrorKind, Foreign, Limit, Oddity, Result, Step, quoted};
pub use format::VariantType;
pub use lanes::convert as convert_lanes;
pub use limits::{ALL_TYPES, Budget, Limits, Spent};
pub use outline::{LeftOut, Node, Outline, Role};
pub use room::{check_room, copied};
pub use stream::{ElementType, Lanes, NodePathParts, Part, Precision, Sink, Source, Text};
pub use utf8::{is_ascii_without_nul, to_utf32};
pub use value::{
    Array, Dictionary, NodePath, Object, OwnedElementType, PackedReals, Reals, Value, ValueBuilder,
};
