//! Protobuf messages as Godot's Variants, without an engine.
//!
//! A [`Schema`] comes from `.proto` files or from a descriptor set. A message of it is a Dictionary with the names of
//! fields as keys. [`MessageEncoder`] is a [`Sink`](variant_codec::stream::Sink) that writes one, [`MessageDecoder`] is
//! a [`Source`](variant_codec::stream::Source) that reads one, so that both work with live values of an engine as with
//! [`Value`](variant_codec::Value), and nothing is built in between. There are two [`Wire`]s: Protocol Buffers, and the
//! smaller compact wire types. The repository's `docs/protobuf.md` describes the mapping of types and what is refused.
#![forbid(unsafe_code)]

mod buffer;
mod charged;
mod compile;
mod decoder;
mod descriptors;
mod encoder;
mod error;
mod floats;
mod kind;
mod order;
mod reader;
mod schema;
mod text;
mod varint;
mod wire;

pub use decoder::{DecodeOptions, Defaults, MessageDecoder};
pub use encoder::{EncodeOptions, MessageEncoder};
pub use error::{Error, Oddity, Result};
pub use schema::{Field, Message, Schema, UNKNOWN_KEY};
pub use variant_codec::Strictness;
pub use wire::{MAX_NESTING, Wire};
