//! Protobuf messages as Godot's Variants, without an engine.
//!
//! A [`Schema`] comes from `.proto` files or from a descriptor set. A message of it is a Dictionary with the names of
//! fields as keys. [`MessageEncoder`] is a [`Sink`](variant_codec::stream::Sink) that writes one, [`MessageDecoder`] is
//! a [`Source`](variant_codec::stream::Source) that reads one, so that both work with live values of an engine as with
//! [`Value`](variant_codec::Value), and nothing is built in between. There are two [`Wire`]s: Protocol Buffers, and the
//! smaller compact wire types. The repository's `docs/protobuf.md` describes the mapping of types and what is refused.
//!
//! ```
//! use variant_codec::Value;
//! use variant_protobuf::{DecodeOptions, EncodeOptions, Schema};
//!
//! let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
//! let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
//! let player = schema.message("Player")?;
//! let bytes = player.encode(&Value::from_iter([("hp", 7)]), &EncodeOptions::default())?;
//! assert_eq!(player.decode(&bytes, &DecodeOptions::default())?["hp"].as_i64(), Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod buffer;
mod charged;
mod compile;
mod decoder;
mod descriptors;
mod edition;
mod encoder;
mod error;
mod features;
mod floats;
mod kind;
mod names;
mod order;
mod reader;
mod schema;
mod tokens;
mod varint;
mod wire;

pub use decoder::{DecodeOptions, Defaults, MessageDecoder};
pub use encoder::{EncodeOptions, MessageEncoder};
pub use error::{Error, Oddity, Result};
pub use schema::{Field, Message, Schema, UNKNOWN_KEY};
pub use variant_codec::Strictness;
pub use wire::{MAX_NESTING, Wire};

/// The examples of the README run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
