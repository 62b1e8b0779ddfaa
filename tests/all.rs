//! All tests of this package in one program: `cargo test -p conformance views::` runs those of `views.rs`.

mod checks;
mod depth;
mod dialects;
mod documents;
mod errors;
mod events;
mod format_document;
mod frames;
mod fuzz;
mod godot3_vectors;
mod limits;
mod memory;
mod messages;
mod outline;
mod output;
mod pages;
mod parts;
mod patches;
mod precision;
mod runs;
mod serde;
mod text;
mod values;
mod vectors;
mod views;
mod wires;
