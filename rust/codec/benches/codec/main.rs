//! The codec without an engine: how fast [`Value`]s are encoded and decoded, and bytes validated and transcoded,
//! beside another crate that reads this format and beside serde formats.
//!
//! What is compared is a self-describing, dynamic value: each contestant gets the same content in memory, as a tree of
//! enums, and must give back all of it, types included, which is checked before anything is timed. No contestant may
//! know a schema; a struct per workload would be faster with serde and would not be the same task.
//!
//! - `variant_codec` encodes from and decodes to [`Value`], strictly and within limits.
//! - `godot-binary-serialization` has types of its own; see [`peers::GodotBinarySerialization`] for what it leaves out.
//! - The serde formats share [`mirror::Mirror`], a `Value` with only the variants that occur here. It is much smaller
//!   in memory than `Value`, which is to their advantage.
//!
//! Elements per second compare across contestants; bytes are those that each writes itself, and are listed on stderr.
//! Results are freed outside of the time measured.
//!
//! `cargo bench -p variant_codec -- ints` runs some, `cargo bench -p variant_codec -- --test` only checks.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, Bencher, BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use serde::de::IgnoredAny;
use variant_codec::stream::{Buffer, Decoder, Encoder, Measure, Source};
use variant_codec::{EncodeOptions, Limits, Strictness, Value};

use crate::mirror::Mirror;
use crate::peers::{Bincode, GodotBinarySerialization, MessagePack, Peer, Postcard, VariantCodec};
use crate::workloads::Workload;

mod by_hand;
mod mirror;
mod peers;
mod workloads;

fn main() {
    // Short: some ninety benchmarks in about two minutes.
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(250))
        .measurement_time(Duration::from_millis(750))
        .sample_size(20)
        .nresamples(10_000)
        .configure_from_args();
    let workloads = workloads::all();
    eprintln!("memory of one value: Value {} B, Mirror {} B", size_of::<Value>(), size_of::<Mirror>());
    for workload in &workloads {
        check(workload);
    }

    let mut group = criterion.benchmark_group("encode");
    for workload in &workloads {
        encode::<VariantCodec>(&mut group, workload);
        encode_into_kept_memory(&mut group, workload);
        encode::<GodotBinarySerialization>(&mut group, workload);
        encode::<MessagePack>(&mut group, workload);
        encode::<Postcard>(&mut group, workload);
        encode::<Bincode>(&mut group, workload);
    }
    group.finish();

    let mut group = criterion.benchmark_group("decode");
    for workload in &workloads {
        decode::<VariantCodec>(&mut group, workload);
        decode::<GodotBinarySerialization>(&mut group, workload);
        decode::<MessagePack>(&mut group, workload);
        decode::<Postcard>(&mut group, workload);
        decode::<Bincode>(&mut group, workload);
    }
    group.finish();

    let mut group = criterion.benchmark_group("validate");
    workloads.iter().for_each(|workload| validate(&mut group, workload));
    group.finish();

    let mut group = criterion.benchmark_group("transcode");
    workloads.iter().for_each(|workload| transcode(&mut group, workload));
    group.finish();

    by_hand::bench(&mut criterion);
    criterion.final_summary();
}

/// Panics unless each contestant gives back the workload's value, and says how many bytes each writes.
fn check(workload: &Workload) {
    let mut sizes = Vec::new();
    let mut add = |name: &str, bytes: Option<usize>| match bytes {
        Some(bytes) => sizes.push(format!("{name} {bytes}")),
        None => sizes.push(format!("{name} cannot")),
    };
    add(VariantCodec::NAME, checked::<VariantCodec>(workload));
    add(GodotBinarySerialization::NAME, checked::<GodotBinarySerialization>(workload));
    add(MessagePack::NAME, checked::<MessagePack>(workload));
    add(Postcard::NAME, checked::<Postcard>(workload));
    add(Bincode::NAME, checked::<Bincode>(workload));
    eprintln!("bytes of {}: {}", workload.name, sizes.join(", "));

    assert_eq!(validated(&workload.bytes, &Limits::for_save_files()), workload.bytes.len());
    assert_eq!(transcoded(&workload.bytes, &Limits::for_save_files()), workload.bytes);
}

/// The contestant's bytes, counted; `None` if it cannot hold the value.
fn checked<P: Peer>(workload: &Workload) -> Option<usize> {
    let bytes = P::encode(&P::from_value(&workload.value)?);
    let again = P::to_value(&P::decode(&bytes));
    assert!(again == workload.value, "{} changes {}", P::NAME, workload.name);
    if P::SAME_FORMAT {
        assert!(bytes == workload.bytes, "{} writes other bytes for {}", P::NAME, workload.name);
    }
    Some(bytes.len())
}

fn encode<P: Peer>(group: &mut BenchmarkGroup<'_, WallTime>, workload: &Workload) {
    let Some(held) = P::from_value(&workload.value) else { return };
    let size = P::encode(&held).len();
    bench(group, P::NAME, workload, size, |bencher, kept| {
        bencher.iter_batched(|| (), |()| P::encode(black_box(&held)), kept);
    });
}

/// What the addon does: memory that stays from call to call.
fn encode_into_kept_memory(group: &mut BenchmarkGroup<'_, WallTime>, workload: &Workload) {
    let mut memory = Vec::new();
    bench(group, "variant_codec, kept memory", workload, workload.bytes.len(), |bencher, _| {
        bencher.iter(|| {
            let mut encoder = Encoder::new(Buffer::new(&mut memory), EncodeOptions::default());
            black_box(&workload.value).write_into(&mut encoder).expect("a value within the format's limits");
            black_box(encoder.into_output().written());
        });
    });
}

fn decode<P: Peer>(group: &mut BenchmarkGroup<'_, WallTime>, workload: &Workload) {
    let Some(held) = P::from_value(&workload.value) else { return };
    let bytes = P::encode(&held);
    bench(group, P::NAME, workload, bytes.len(), |bencher, kept| {
        bencher.iter_batched(|| (), |()| P::decode(black_box(&bytes)), kept);
    });
}

/// Of the others only MessagePack can be read without a value to fill: the rest do not describe themselves.
///
/// Its reader checks less: no limits, and nothing that an encoder would not write. Neither looks at each of the packed
/// vectors, whose throughput therefore means nothing.
fn validate(group: &mut BenchmarkGroup<'_, WallTime>, workload: &Workload) {
    let limits = Limits::for_save_files();
    bench(group, VariantCodec::NAME, workload, workload.bytes.len(), |bencher, _| {
        bencher.iter(|| validated(black_box(&workload.bytes), &limits));
    });
    let Some(held) = MessagePack::from_value(&workload.value) else { return };
    let bytes = MessagePack::encode(&held);
    bench(group, MessagePack::NAME, workload, bytes.len(), |bencher, _| {
        bencher.iter(|| rmp_serde::from_slice::<IgnoredAny>(black_box(&bytes)).expect("valid MessagePack"));
    });
}

fn transcode(group: &mut BenchmarkGroup<'_, WallTime>, workload: &Workload) {
    let limits = Limits::for_save_files();
    bench(group, VariantCodec::NAME, workload, workload.bytes.len(), |bencher, kept| {
        bencher.iter_batched(|| (), |()| transcoded(black_box(&workload.bytes), &limits), kept);
    });
}

fn validated(bytes: &[u8], limits: &Limits) -> usize {
    let mut measure = Measure::counting(EncodeOptions::default());
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut measure).expect("valid bytes");
    measure.bytes()
}

fn transcoded(bytes: &[u8], limits: &Limits) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    Decoder::new(bytes, Strictness::Strict, limits).decode_only(&mut encoder).expect("valid bytes");
    encoder.into_output()
}

/// Adds one benchmark; `size` is what its contestant writes for the workload.
fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    workload: &Workload,
    size: usize,
    mut run: impl FnMut(&mut Bencher<'_>, BatchSize),
) {
    group.throughput(Throughput::ElementsAndBytes { elements: workload.elements, bytes: size as u64 });
    // Results wait to be freed outside of the time: few, so that they do not push each other out of the caches.
    let kept = BatchSize::NumIterations((500_000 / size as u64).clamp(1, 64));
    group.bench_function(BenchmarkId::new(name, workload.name), |bencher| run(bencher, kept));
}
