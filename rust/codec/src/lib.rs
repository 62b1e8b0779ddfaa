//! Godot binary Variant format.
#![forbid(unsafe_code)]
