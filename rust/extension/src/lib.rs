//! The FastVariantCodec GDExtension: start and stop only.
//!
//! | file | does |
//! |---|---|
//! | `codec_class.rs`, `call_class.rs`, `result_class.rs`, `limits_class.rs`, `job_class.rs`, `error_code.rs`, `help.rs` | what scripts see |
//! | `outline.rs` | what bytes hold, for scripts |
//! | `codec.rs`, `shared.rs`, `batch.rs` | one value, a large one on several threads, many values |
//! | `godot3.rs` | Godot 3's format |
//! | `protobuf.rs`, `protobuf_class.rs`, `schema_class.rs` | messages, and what scripts see of them |
//! | `files.rs`, `turns.rs`, `disk/` | files of values, in which order they are used, how they are written |
//! | `jobs.rs` | batches and files whose result comes later |
//! | `pool.rs`, `background.rs` | the threads that work on all this |
//! | `source.rs`, `builder.rs`, `objects.rs` | live Variant → events, events → live Variant, which objects may be made |
//! | `keys.rs` | what repeats from Dictionary to Dictionary |
//! | `summary.rs` | what `print()` shows of objects |
//! | `engine_report.rs` | what runs here, for bug reports |
//! | `report.rs`, `guard.rs` | errors for people, and panics as such |
//! | `settings.rs` | what users may choose |
//! | `engine/` | engine memory: all unsafe code |

#![deny(unsafe_code)]

mod background;
mod batch;
mod builder;
mod call_class;
mod codec;
mod codec_class;
mod collisions;
mod disk;
#[expect(unsafe_code, reason = "the room for it")]
mod engine;
mod engine_report;
mod error_code;
mod files;
mod godot3;
mod guard;
mod help;
mod job_class;
mod jobs;
mod keys;
mod limits_class;
mod objects;
mod outline;
mod pool;
mod protobuf;
mod protobuf_class;
mod report;
mod result_class;
mod schema_class;
mod settings;
mod shared;
mod source;
mod summary;
mod turns;
mod validator;

/// Called by the engine when its classes exist and the library's have been registered.
fn start() {
    guard::open();
    settings::register();
    settings::load();
    pool::open();
    background::open();
    engine::measure();
    error_code::register();
    call_class::register();
}

/// Called by the engine before the library is unloaded, and at exit.
fn stop() {
    job_class::stop();
    pool::stop();
}
