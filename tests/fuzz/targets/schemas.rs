#![no_main]

use fuzz as _;

libfuzzer_sys::fuzz_target!(|data: &[u8]| conformance::fuzzing::schemas::check(data));
