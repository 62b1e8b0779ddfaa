//! Live Variants of a running engine: encoded, decoded, in batches and on several threads.
//!
//! | folder or file | purpose |
//! |---|---|
//! | `batch/` | many values: batches, records |
//! | `value.rs`, `parts.rs` | one value, and a large one on several threads |
//! | `classes/` | objects of registered classes |
//! | `decode/` | events → live Variant |
//! | `encode/` | live Variant → events |
//! | `objects/` | what objects, classes and scripts are allowed, and how messages name them |
//! | `threads/` | the threads, and the progress of their work |
//! | `nested.rs`, `panics.rs`, `settings.rs`, `thresholds.rs` | limits on nested calls, panics as errors, settings, measured sizes |
//!
//! Each file or folder imports only from rows below its own. The crate `variant_engine` has all access to engine memory.

pub mod batch;
pub mod classes;
pub mod decode;
pub mod encode;
pub mod nested;
pub mod objects;
pub mod panics;
mod parts;
pub mod settings;
pub mod threads;
mod thresholds;
pub mod value;
