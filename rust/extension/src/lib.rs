//! The FastVariantCodec GDExtension.
//!
//! | folder or file | does |
//! |---|---|
//! | `entry_point.rs` | start and stop |
//! | `api/` | what scripts see: classes, help, errors, results |
//! | `jobs.rs` | batches and files whose result comes later |
//! | `godot3.rs`, `protobuf.rs` | Godot 3's format, and messages |
//! | `files.rs`, `turns.rs`, `disk/` | files of values, in which order they are used, how they are written |
//! | `batch/` | many values |
//! | `value.rs`, `parts.rs` | one value, and a large one on several threads |
//! | `variant/` | live Variant → events, events → live Variant |
//! | `threads/` | the threads that work on all this |
//! | `panics.rs`, `scratch.rs`, `settings.rs`, `thresholds.rs` | what all of them use |
//!
//! Each imports only what stands below it. What touches engine memory is the crate `variant_engine`.

mod api;
mod batch;
mod disk;
mod entry_point;
mod files;
mod godot3;
mod jobs;
mod panics;
mod parts;
mod protobuf;
mod scratch;
mod settings;
mod threads;
mod thresholds;
mod turns;
mod value;
mod variant;
