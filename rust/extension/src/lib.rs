//! The FastVariantCodec GDExtension.
//!
//! | folder or file | purpose |
//! |---|---|
//! | `entry_point.rs` | starts and stops the library |
//! | `api/` | the API for scripts: classes, help, errors, results |
//! | `jobs.rs` | background jobs for batches and files |
//! | `godot3.rs`, `protobuf.rs` | Godot 3's format, and protobuf messages |
//! | `compare.rs` | differences, patches and fingerprints |
//! | `view/` | parts of encoded data |
//! | `files.rs`, `file_queue.rs` | files of values, and the order of access |
//! | `batch/` | batches |
//! | `value.rs`, `parts.rs` | one value, and a large one on several threads |
//! | `variant/` | live Variant → events, events → live Variant |
//! | `threads/` | threads |
//! | `panics.rs`, `encode_buffer.rs`, `settings.rs`, `thresholds.rs` | shared helpers |
//!
//! Each file or folder imports only from rows below its own. The crate `variant_engine` has all access to
//! engine memory, and `variant_disk` writes files atomically.

mod api;
mod batch;
mod compare;
mod encode_buffer;
mod entry_point;
mod file_queue;
mod files;
mod godot3;
mod jobs;
mod json;
mod panics;
mod parts;
mod protobuf;
mod settings;
mod threads;
mod thresholds;
mod value;
mod variant;
mod view;
