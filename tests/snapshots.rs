//! Snapshots over bad networks; `cargo xtask soak snapshots` runs more of them.

use conformance::network::{self, Nobody};

#[test]
fn every_accepted_frame_is_the_one_that_was_sent() {
    for seed in 0..24 {
        let accepted =
            network::run(seed, 1000, &mut Nobody).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
        assert!(accepted > 30, "seed {seed}: {accepted} of 1000 were accepted");
    }
}
