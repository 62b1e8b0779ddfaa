//! Snapshots of game entities, in few bits.
//!
//! A [`Schema`] names the fields of an entity and the numbers that each can hold. A [`Writer`] writes the state of the
//! entities for one peer: what differs from a prediction that the peer can make from the states that it has acknowledged.
//! A [`Reader`] makes the state again. The repository's `docs/snapshot_format.md` specifies the format.
//!
//! | file | purpose |
//! |---|---|
//! | `reader.rs`, `writer.rs` | the states that a peer has, and what is sent to it |
//! | `difference.rs` | a state as bits, beside earlier ones |
//! | `coding.rs` | one entity as bits |
//! | `frame.rs` | the entities of a tick |
//! | `row.rs` | one row of fields, by itself |
//! | `schema.rs`, `quantize.rs` | fields, and values as whole numbers |
//! | `bits.rs`, `error.rs` | bits in bytes, errors |
//!
//! Each file imports only from rows below its own.
#![forbid(unsafe_code)]

pub mod bits;
mod coding;
mod difference;
mod error;
mod frame;
mod quantize;
mod reader;
mod row;
mod schema;
mod writer;

pub use error::{Error, Result};
pub use frame::Frame;
pub use reader::{Changes, Reader};
pub use row::Row;
pub use schema::{Field, Kind, Schema, Steps, Value};
pub use writer::Writer;

/// The version of the format.
pub const VERSION: u32 = 1;
