//! Objects: which classes, scripts and paths data may name, and how messages name them.

pub(crate) mod labels;
pub mod lost_objects;
pub(crate) mod native_classes;
pub(crate) mod scripts;
