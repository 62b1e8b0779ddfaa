//! The tests of the crate.

mod bits;
mod network;
mod rows;
