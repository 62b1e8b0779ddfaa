//! Protobuf messages as Godot's Variants, without an engine.
//!
//! A [`Schema`] comes from `.proto` files or a descriptor set. A message is a Dictionary with field names as
//! keys. [`MessageEncoder`] is a [`Sink`](variant_codec::stream::Sink), and [`MessageDecoder`] is a
//! [`Source`](variant_codec::stream::Source). Both work with live values of an engine as well as with
//! [`Value`](variant_codec::Value), and build nothing in between. There are two [`Wire`] formats: Protocol
//! Buffers and one of this crate. The repository's `docs/protobuf.md` describes the mapping of types and the
//! refused input.
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
mod components;
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

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
