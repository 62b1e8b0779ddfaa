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
//! | `saves.rs`, `snapshots.rs` | saves of one value, snapshots of entities |
//! | `files.rs`, `file_queue.rs` | files of values, and the order of access |
//!
//! Each file or folder imports only from rows below its own. The crate `variant_live` encodes and decodes Variants,
//! `variant_engine` has all access to engine memory, and `variant_disk` writes files atomically.

mod api;
mod compare;
mod entry_point;
mod file_queue;
mod files;
mod godot3;
mod jobs;
mod json;
mod protobuf;
mod saves;
mod snapshots;
mod view;
