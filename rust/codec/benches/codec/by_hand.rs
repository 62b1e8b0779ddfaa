//! What the [`Sink`] abstraction costs: an Array of ints through it, and by code that knows only that.
//!
//! Both write the same bytes from the same slice, into the same kind of memory. What the encoder also does, and what
//! code that knows the whole Array can leave out, is to hold each value against the format's 2 GiB; a twin that does so
//! too tells the price of the abstraction from the price of that promise.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use variant_codec::format::{FLAG_64, MAX_BYTES};
use variant_codec::stream::{Buffer, ElementType, Encoder, Output, Sink, Source};
use variant_codec::{EncodeOptions, Result, Value, VariantType};

use crate::workloads;

/// The most that one int takes.
const WIDE: usize = 12;

struct Ints<'a>(&'a [i64]);

impl Source for Ints<'_> {
    #[inline(always)]
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let mut array = sink.begin_array(self.0.len(), ElementType::Untyped)?;
        for int in self.0 {
            sink.begin_element(&mut array)?;
            sink.int(*int)?;
            sink.end_element(&mut array)?;
        }
        sink.end_array(array)
    }
}

/// Through the sink.
#[inline(never)]
fn write_into<O: Output>(output: O, ints: &[i64]) -> O {
    let mut encoder = Encoder::new(output, EncodeOptions::default());
    Ints(ints).write_into(&mut encoder).expect("an Array within the format's limits");
    encoder.into_output()
}

/// Twin of [`write_into`] a `Vec`; `LIMITED` ones hold each value against the format's limit.
#[inline(never)]
fn append<const LIMITED: bool>(ints: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |next: &[u8]| {
        check_limit::<LIMITED>(bytes.len(), next);
        bytes.extend_from_slice(next);
    };
    put(&array_header(ints));
    for &int in ints {
        match i32::try_from(int) {
            Ok(small) => put(&narrow(small)),
            Err(_) => put(&wide(int)),
        }
    }
    bytes
}

/// Twin of [`write_into`] a [`Buffer`] that stays from call to call: returns how much of `memory` is written.
#[inline(never)]
fn write<const LIMITED: bool>(ints: &[i64], memory: &mut Vec<u8>) -> usize {
    let mut used = 0;
    let mut put = |next: &[u8]| {
        check_limit::<LIMITED>(used, next);
        if memory.len() - used < next.len() {
            memory.resize((memory.len() * 2).max(used + WIDE), 0);
        }
        memory[used..used + next.len()].copy_from_slice(next);
        used += next.len();
    };
    put(&array_header(ints));
    for &int in ints {
        match i32::try_from(int) {
            Ok(small) => put(&narrow(small)),
            Err(_) => put(&wide(int)),
        }
    }
    used
}

#[inline(always)]
fn check_limit<const LIMITED: bool>(used: usize, next: &[u8]) {
    assert!(!LIMITED || next.len() <= MAX_BYTES - used.min(MAX_BYTES), "an Array within the format's limits");
}

/// The Array's header and count.
fn array_header(ints: &[i64]) -> [u8; 8] {
    (u64::from(VariantType::Array.id()) | (ints.len() as u64) << 32).to_le_bytes()
}

/// Header and payload of an int of 32 bits.
#[inline(always)]
fn narrow(int: i32) -> [u8; 8] {
    (u64::from(VariantType::Int.id()) | u64::from(int as u32) << 32).to_le_bytes()
}

/// Header and payload of an int of 64 bits.
#[inline(always)]
fn wide(int: i64) -> [u8; WIDE] {
    let mut bytes = [0; WIDE];
    bytes[..4].copy_from_slice(&(u32::from(VariantType::Int.id()) | FLAG_64).to_le_bytes());
    bytes[4..].copy_from_slice(&int.to_le_bytes());
    bytes
}

/// Sink and twin, appending to a new `Vec` and writing into kept memory.
pub fn bench(criterion: &mut Criterion) {
    let ints = workloads::ints();
    let mut memory = Vec::new();
    check(&ints);
    check(&[0, -1, i32::MAX.into(), i32::MIN.into(), i64::from(i32::MAX) + 1, i64::MIN]);

    let mut group = criterion.benchmark_group("sink");
    let bytes = append::<true>(&ints).len() as u64;
    group.throughput(Throughput::ElementsAndBytes { elements: ints.len() as u64, bytes });
    group.bench_function(BenchmarkId::new("Encoder", "new Vec"), |bencher| {
        bencher.iter(|| write_into(Vec::new(), black_box(&ints)));
    });
    group.bench_function(BenchmarkId::new("by hand, limited", "new Vec"), |bencher| {
        bencher.iter(|| append::<true>(black_box(&ints)));
    });
    group.bench_function(BenchmarkId::new("by hand", "new Vec"), |bencher| {
        bencher.iter(|| append::<false>(black_box(&ints)));
    });
    group.bench_function(BenchmarkId::new("Encoder", "kept memory"), |bencher| {
        bencher.iter(|| black_box(write_into(Buffer::new(&mut memory), black_box(&ints)).written()).len());
    });
    group.bench_function(BenchmarkId::new("by hand, limited", "kept memory"), |bencher| {
        bencher.iter(|| {
            let used = write::<true>(black_box(&ints), &mut memory);
            black_box(&memory[..used]).len()
        });
    });
    group.bench_function(BenchmarkId::new("by hand", "kept memory"), |bencher| {
        bencher.iter(|| {
            let used = write::<false>(black_box(&ints), &mut memory);
            black_box(&memory[..used]).len()
        });
    });
    group.finish();
}

/// Panics unless all of them write what [`Value::encode`] writes.
fn check(ints: &[i64]) {
    let value = Value::from(ints.iter().copied().map(Value::from).collect::<Vec<_>>());
    let expected = value.encode().expect("an Array within the format's limits");
    assert_eq!(write_into(Vec::new(), ints), expected);
    assert_eq!(append::<true>(ints), expected);
    assert_eq!(append::<false>(ints), expected);
    assert_eq!(write_into(Buffer::new(&mut Vec::new()), ints).written(), expected);
    for write in [write::<true>, write::<false>] {
        let mut memory = Vec::new();
        let used = write(ints, &mut memory);
        assert_eq!(memory[..used], expected);
    }
}
