//! The tests of the crate.

mod bits;
mod damage;
mod rows;
mod waiting;
