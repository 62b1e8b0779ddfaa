//! Code that the fuzz targets share. The checks of the targets are in `tests/fuzzing`.

use std::alloc::System;

use cap::Cap;
use conformance::fuzzing::mutate::mutate;

/// The memory limit of a target. No input of a few kilobytes may need more.
const MEMORY: usize = 64 << 20;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);

/// Mutates the first `size` bytes: with libFuzzer if the seed is even, otherwise with [`mutate`]. Returns the
/// new size.
pub fn mutated(data: &mut [u8], size: usize, max: usize, seed: u32) -> usize {
    if seed % 2 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max);
    }
    let mut bytes = data[..size].to_vec();
    mutate(&mut bytes, max, seed.into());
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

/// A target whose inputs are values or batches.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| conformance::fuzzing::$name::check(data));
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max: usize, seed: u32| {
            $crate::mutated(data, size, max, seed)
        });
    };
}
