//! The tests of the codec crate in one program, which is compiled soonest: for `cargo xtask mutants` and
//! `cargo xtask platforms`.

mod checks;
mod depth;
mod dialects;
mod errors;
mod events;
mod format_document;
mod frames;
mod godot3_vectors;
mod limits;
mod messages;
mod outline;
mod output;
mod parts;
mod patches;
mod precision;
mod properties;
mod runs;
mod serde;
mod text;
mod transcode;
mod values;
mod vectors;
mod views;
mod wires;
