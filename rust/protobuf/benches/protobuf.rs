//! The same snapshot of a game in Godot's format and in both wires: how fast it is encoded and decoded, and how large it is.
//!
//! `cargo bench -p variant_protobuf`; with `-- --test` it only checks.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use variant_codec::stream::{Buffer, Decoder, Encoder, Measure, Source, ValueBuilder};
use variant_codec::{Limits, Strictness, Value};
use variant_protobuf::{DecodeOptions, EncodeOptions, Message, MessageDecoder, MessageEncoder, Schema, Wire};

const ENTITIES: i64 = 200;
const WIRES: [(&str, Wire); 2] = [("protobuf", Wire::Protobuf), ("compact", Wire::Compact)];

const SCHEMA: &str = r#"
    syntax = "proto3";
    message Vector { float x = 1; float y = 2; float z = 3; }
    message Entity {
        uint32 id = 1; string name = 2; sint32 hp = 3; bool alive = 4; Vector position = 5; Vector velocity = 6;
        int32 team = 7; repeated string tags = 8; repeated int32 effects = 9;
    }
    message Snapshot { uint64 tick = 1; repeated Entity entities = 2; }
    message List { repeated sint32 numbers = 1; }
"#;

fn dictionary<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.map(|(key, value)| (Value::from(key), value)).to_vec())
}

fn entity(i: i64) -> Value {
    let vector = |x: f32, y: f32, z: f32| {
        dictionary([("x", f64::from(x).into()), ("y", f64::from(y).into()), ("z", f64::from(z).into())])
    };
    let count = i as f32;
    dictionary([
        ("id", i.into()),
        ("name", format!("entity_{i}").into()),
        ("hp", (100 - i % 97).into()),
        ("alive", (i % 5 != 0).into()),
        ("position", vector(count % 640.0, 1.5, count / 640.0)),
        ("velocity", vector(0.5, -9.81, 1.0)),
        ("team", (i % 3 - 1).into()),
        ("tags", Value::PackedStringArray(vec!["enemy".into()])),
        ("effects", Value::PackedInt32Array(vec![1, -1, (i % 60) as i32])),
    ])
}

/// The same with the entries of all Dictionaries from the last to the first.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Dictionary(dictionary) => {
            let entries = dictionary.entries.iter().rev();
            Value::from(entries.map(|(key, value)| (key.clone(), reversed(value))).collect::<Vec<_>>())
        }
        Value::Array(array) => Value::from(array.values.iter().map(reversed).collect::<Vec<_>>()),
        other => other.clone(),
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    let resolve = |name: &str| (name == "game.proto").then(|| SCHEMA.to_owned());
    let schema = Schema::compile("game.proto", resolve).expect("it compiles");
    let message = schema.message("Snapshot").expect("it is there");
    let entities: Vec<Value> = (0..ENTITIES).map(entity).collect();
    let value = dictionary([("tick", 123_456.into()), ("entities", entities.into())]);
    let godot = value.encode().expect("it is small");
    let bytes = WIRES.map(|(_, wire)| message.encode(&value, &EncodeOptions { wire }).expect("it is one"));
    eprintln!("bytes: Godot {}, protobuf {}, compact {}", godot.len(), bytes[0].len(), bytes[1].len());

    encode(&mut criterion, &message, &value);
    decode(&mut criterion, &message, &godot, &bytes);
    lists(&mut criterion, &schema.message("List").expect("it is there"));
    criterion.final_summary();
}

/// Into memory that stays from call to call, as the addon does.
fn encode(criterion: &mut Criterion, message: &Message, value: &Value) {
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(ENTITIES as u64));
    let mut memory = Vec::new();
    group.bench_function("Godot", |bencher| {
        bencher.iter(|| {
            let mut encoder = Encoder::new(Buffer::new(&mut memory), variant_codec::EncodeOptions::default());
            black_box(value).write_into(&mut encoder).expect("it is small");
            encoder.into_output().written().len()
        });
    });
    for (name, wire) in WIRES {
        let mut encoder = MessageEncoder::new(message, &EncodeOptions { wire });
        for (order, value) in [("in order", value), ("in another order", &reversed(value))] {
            group.bench_function(BenchmarkId::new(name, order), |bencher| {
                bencher.iter(|| {
                    encoder.clear();
                    black_box(value).write_into(&mut encoder).expect("it is one");
                    encoder.written().len()
                });
            });
        }
    }
    group.finish();
}

/// Into values, and without building anything.
fn decode(criterion: &mut Criterion, message: &Message, godot: &[u8], bytes: &[Vec<u8>; 2]) {
    let limits = Limits::unlimited();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(ENTITIES as u64));
    let build = |mut source: Decoder<'_>| {
        let mut builder = ValueBuilder::default();
        source.write_into(&mut builder).expect("it is a value");
        builder.into_value()
    };
    let measure = || Measure::counting(variant_codec::EncodeOptions::default());
    group.bench_function(BenchmarkId::new("Godot", "build"), |bencher| {
        let decoder = || Decoder::new(black_box(godot), Strictness::Lenient, &limits);
        bencher.iter_batched(decoder, build, BatchSize::LargeInput);
    });
    group.bench_function(BenchmarkId::new("Godot", "validate"), |bencher| {
        bencher
            .iter(|| Decoder::new(black_box(godot), Strictness::Lenient, &limits).write_into(&mut measure()));
    });
    for ((name, wire), bytes) in WIRES.into_iter().zip(bytes) {
        let options = DecodeOptions { wire, limits: limits.clone(), ..DecodeOptions::default() };
        group.bench_function(BenchmarkId::new(name, "build"), |bencher| {
            bencher.iter_batched(
                || (),
                |()| message.decode(black_box(bytes), &options),
                BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new(name, "validate"), |bencher| {
            bencher
                .iter(|| MessageDecoder::new(message, black_box(bytes), &options).write_into(&mut measure()));
        });
    }
    group.finish();
}

/// Packed arrays of numbers of all sizes, which Godot's format copies.
fn lists(criterion: &mut Criterion, message: &Message) {
    const NUMBERS: i32 = 10_000;
    let numbers = (0..NUMBERS).map(|i| i.wrapping_mul(0x9E37_79B9_u32 as i32) >> (i % 32)).collect();
    let value = dictionary([("numbers", Value::PackedInt32Array(numbers))]);
    let mut group = criterion.benchmark_group("list");
    group.throughput(Throughput::Elements(NUMBERS as u64));
    let mut encoder = MessageEncoder::new(message, &EncodeOptions::default());
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            encoder.clear();
            black_box(&value).write_into(&mut encoder)
        });
    });
    let bytes = message.encode(&value, &EncodeOptions::default()).expect("it is one");
    let options = DecodeOptions::default();
    group.bench_function("decode", |bencher| bencher.iter(|| message.decode(black_box(&bytes), &options)));
    group.finish();
}
