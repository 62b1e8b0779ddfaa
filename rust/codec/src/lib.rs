//! Godot 4's binary Variant format, and Godot 3's, without an engine.
//!
//! Encodes and decodes the same bytes as `var_to_bytes` and `bytes_to_var`, for servers, tools and tests in
//! Rust. This crate is the core of the FastVariantCodec addon. The repository's `docs/format.md` describes
//! the format.
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
//! A [`Source`](stream::Source) walks a value and writes it into a [`Sink`](stream::Sink). Most tasks connect
//! a source to a sink:
//!
//! | path | source → sink |
//! |---|---|
//! | encode | [`&Value`](Value) → [`Encoder`](stream::Encoder) |
//! | decode | [`Decoder`](stream::Decoder) → [`ValueBuilder`](stream::ValueBuilder) |
//! | size without encoding | [`&Value`](Value) → [`Measure`](stream::Measure) |
//! | validate without building | [`validate`] |
//! | re-encode | [`Decoder`](stream::Decoder) → [`Encoder`](stream::Encoder) |
//! | read Godot 3's format | [`Decoder::of_godot3`](stream::Decoder::of_godot3) → any of these |
//! | write Godot 3's format | any of these → [`Downgrade`](godot3::Downgrade) |
//! | inspect | [`Decoder`](stream::Decoder) → [`Outline`](outline::Outline) |
#![forbid(unsafe_code)]

mod changes;
mod check;
mod code;
mod code_units;
mod decoder;
mod downgrade;
mod encoder;
mod ends;
pub mod error;
mod events;
mod findings;
mod fingerprint;
pub mod format;
pub mod frames;
pub mod lanes;
pub mod limits;
pub mod outline;
mod output;
pub mod patch;
pub mod saves;
#[cfg(feature = "serde")]
pub mod serde;
mod skim;
pub mod sync;
pub mod tag;
mod utf8;
pub mod value;
pub mod view;
mod wire;

pub use check::{QuickCheck, quick_check, validate};
pub use encoder::EncodeOptions;
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::fingerprint;
pub use format::VariantType;
pub use limits::{Limits, Strictness};
pub use value::{Array, Dictionary, NodePath, Object, PackedReals, Reals, Value};
pub use view::View;
pub use wire::dialect;

/// Values as events: the traits that produce and consume events, and the types that events carry.
///
/// For tasks that [`Value`] does not cover: reading into types of your own, measuring, re-encoding.
pub mod stream {
    pub use crate::decoder::Decoder;
    pub use crate::encoder::{Encoder, Measure};
    pub use crate::events::{ElementType, NodePathParts, Part, PartSink, Sink, Source, Text};
    pub use crate::fingerprint::Fingerprint;
    pub use crate::lanes::{Lanes, Precision};
    pub use crate::output::{Buffer, Count, Output, Storage};
    pub use crate::value::builder::ValueBuilder;
    pub use crate::wire::header::Header;
    pub use crate::wire::leaf::{Leaf, Number, leaf, number};
}

/// Godot 3's format: writing it, and the changes that a conversion in either direction makes.
pub mod godot3 {
    pub use crate::changes::{Change, Loss, add_change};
    pub use crate::downgrade::{COUNTERPARTS, Counterpart, Downgrade};
}

/// Text conversion between UTF-8 and the engine's code units, for crates that hold strings of a live engine.
pub mod text {
    pub use crate::code_units::{Utf8Rule, put_utf8, utf8_len};
    pub use crate::utf8::{is_ascii_without_nul, to_utf32};
}

/// Runs the examples of the README.
#[cfg(all(doctest, feature = "serde"))]
#[doc = include_str!("../README.md")]
struct Readme;
