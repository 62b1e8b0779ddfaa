//! The codec crate beside real engines. `CONFORMANCE_SEED` repeats a run, `CONFORMANCE_VALUES` makes it longer.

mod godot;
mod godot3_engine;

use std::env;
use std::time::SystemTime;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// A seed that a failing run shows.
fn seed() -> u64 {
    let seed = match env::var("CONFORMANCE_SEED") {
        Ok(seed) => seed.parse().expect("CONFORMANCE_SEED is a number"),
        Err(_) => SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64),
    };
    println!("CONFORMANCE_SEED={seed}");
    seed
}

fn count() -> usize {
    env::var("CONFORMANCE_VALUES")
        .map_or(2000, |count| count.parse().expect("CONFORMANCE_VALUES is a number"))
}

fn draw<S: Strategy>(seed: u64, count: usize, strategy: S) -> Vec<S::Value> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Default::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect()
}
