//! The API for scripts: classes, their help, errors and results.

mod arguments;
mod call_class;
mod class_class;
mod classes_class;
mod codec_class;
mod engine_report;
mod error_code;
mod file_calls;
mod godot3_class;
mod guard;
mod inspection;
mod inspector_class;
pub mod job_class;
mod limits_class;
mod patch_class;
mod properties;
pub mod registration;
mod report;
mod result_class;
mod schema_class;
mod snapshot_reader_class;
mod snapshot_schema_class;
mod snapshot_writer_class;
mod summary;
mod view_class;
