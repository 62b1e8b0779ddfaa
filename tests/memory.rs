//! Memory use of reading, measured with a counting allocator.

use variant_codec::{Limits, Strictness, Value};

/// The maximum memory use for each byte of input.
const PER_BYTE: u64 = 100;
/// The allowance for elements reserved by containers that are still open.
const BESIDE: u64 = 1 << 20;

#[test]
fn large_counts_allocate_nothing() {
    let claims = [
        "1b000000ffffff0f",
        "1c000000ffffff7f",
        "1d000000ffffff7f",
        "1e000000ffffff1f",
        "22000000ffffff7f",
        "16000000ffffff80ffffff0000000000",
        "04000000ffffff7f",
    ];
    for claim in claims {
        let bytes = hex::decode(claim).unwrap();
        for tail in [0, 1000, 1 << 20] {
            let bytes = [bytes.clone(), vec![0; tail]].concat();
            let (result, memory) = reading(&bytes);
            assert!(result.is_err(), "{claim}");
            assert!(memory < 4096, "{claim} and {tail} bytes: {memory} bytes of memory");
        }
    }
}

fn reading(bytes: &[u8]) -> (variant_codec::Result<()>, u64) {
    let mut result = Ok(());
    let limits = Limits::unlimited();
    let memory = allocation_counter::measure(|| {
        result = Value::decode_as(bytes, Strictness::Lenient, &limits).map(drop);
    });
    (result, memory.bytes_max)
}

#[test]
fn memory_is_proportional_to_the_input() {
    let array = |count: u32| [28_u32.to_le_bytes(), count.to_le_bytes()].concat();
    let nils = |count: usize| vec![0; count * 4];
    // Nested Arrays: each except the innermost announces more elements than it contains, and is still open
    // at the end.
    let openers = [array(100_000).repeat(64), nils(100_000)].concat();
    let cases: [(&str, Vec<u8>); 5] = [
        ("nils", [array(1_000_000), nils(1_000_000)].concat()),
        ("empty arrays", [array(500_000), array(0).repeat(500_000)].concat()),
        ("empty strings", [array(500_000), [4, 0, 0, 0, 0, 0, 0, 0].repeat(500_000)].concat()),
        (
            "empty packed strings",
            [[34, 0, 0, 0].to_vec(), 1_000_000_u32.to_le_bytes().to_vec(), nils(1_000_000)].concat(),
        ),
        ("nested announcements", openers),
    ];
    for (name, bytes) in cases {
        let (_, memory) = reading(&bytes);
        assert!(
            memory < PER_BYTE * bytes.len() as u64 + BESIDE,
            "{name}: {} bytes take {memory}",
            bytes.len()
        );
    }
}
