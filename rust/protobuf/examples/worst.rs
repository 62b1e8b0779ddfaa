//! Measures the time to decode messages that are crafted to be slow. Prints nanoseconds per byte at two
//! sizes. If the larger size takes more time per byte, the time grows faster than the input.
//!
//! `cargo run --release -p variant_protobuf --example worst`

use std::time::Instant;

use variant_codec::Limits;
use variant_codec::stream::{Measure, Source};
use variant_protobuf::{DecodeOptions, Defaults, Message, MessageDecoder, Schema};

const SIZES: [usize; 2] = [1 << 17, 1 << 20];
/// The number of runs. The fastest one counts.
const RUNS: usize = 5;

const SCHEMA: &str = r#"
    edition = "2023";
    option features.field_presence = IMPLICIT;
    message M {
        int32 number = 1; M inner = 2; repeated M list = 3; map<string, M> by_text = 4; map<int32, int32> by_number = 5;
        oneof choice { M one = 6; int32 two = 7; M three = 8; }
        repeated int32 numbers = 9; string text = 10; repeated string texts = 11; repeated bool bools = 12;
        M group = 13 [features.message_encoding = DELIMITED];
        repeated M groups = 14 [features.message_encoding = DELIMITED];
        oneof other { M left = 16 [features.message_encoding = DELIMITED]; M right = 17 [features.message_encoding = DELIMITED]; }
    }
"#;

fn main() {
    let resolve = |name: &str| (name == "worst.proto").then(|| SCHEMA.to_owned());
    let schema = Schema::compile("worst.proto", resolve).expect("it compiles");
    let message = schema.message("M").expect("it is there");
    println!("| message | defaults | ns a byte, 128 KiB | ns a byte, 1 MiB |\n|---|---|---:|---:|");
    let [small, large] = SIZES.map(messages);
    for ((name, small), (_, large)) in small.iter().zip(&large) {
        for defaults in [Defaults::Omit, Defaults::Implicit] {
            let [small, large] = [small, large].map(|bytes| nanoseconds_a_byte(&message, bytes, defaults));
            println!("| {name} | {defaults:?} | {small:.1} | {large:.1} |");
        }
    }
}

fn nanoseconds_a_byte(message: &Message, bytes: &[u8], defaults: Defaults) -> f64 {
    let options = DecodeOptions { defaults, limits: Limits::unlimited(), ..DecodeOptions::default() };
    let run = || {
        let mut sink = Measure::counting(variant_codec::EncodeOptions::default());
        let started = Instant::now();
        MessageDecoder::new(message, bytes, &options).write_into(&mut sink).expect("it is read");
        started.elapsed().as_nanos() as f64 / bytes.len() as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Messages of about `size` bytes.
fn messages(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let repeated = |piece: &[u8]| piece.repeat(size / piece.len());
    let nested = |tag: u8, around: fn(&mut Vec<u8>)| {
        let nest = |inner: Vec<u8>, _| {
            let mut message = record(tag, &inner);
            around(&mut message);
            message
        };
        repeated(&(0..99).fold(Vec::new(), nest))
    };
    let around = |tag: u8, inner: Vec<u8>| [vec![tag; 99], inner, vec![tag + 1; 99]].concat();
    let alternating =
        (0..49).fold(Vec::new(), |inner, _| [&[0x6b], &*record(0x12, &inner), &[0x6c]].concat());
    let entries = |entry: fn(u32) -> Vec<u8>| {
        let (mut map, mut index) = (Vec::new(), 0_u32);
        while map.len() < size {
            // Scrambles the index, so that keys arrive out of order.
            map.extend(entry(index.wrapping_mul(0x9E37_79B9)));
            index += 1;
        }
        map
    };
    let tree = |double: fn(&[u8]) -> Vec<u8>| {
        let mut tree = Vec::new();
        while tree.len() < size / 2 {
            tree = double(&tree);
        }
        tree
    };
    vec![
        ("empty messages", repeated(&[0x1a, 0])),
        ("pieces of a message", repeated(&[0x12, 0])),
        ("members of a oneof in turn", repeated(&[0x32, 0, 0x42, 0])),
        ("numbers without packing", repeated(&[0x48, 1])),
        ("packed numbers", record(0x4a, &vec![1; size])),
        ("scalars again and again", repeated(&[0x08, 1])),
        ("texts again and again", repeated(&[0x52, 1, 0x61])),
        ("empty texts", repeated(&[0x5a, 0])),
        ("bools", record(0x62, &vec![1; size])),
        ("fields out of order", repeated(&[0x5a, 0, 0x08, 1, 0x52, 0])),
        ("entries without a number", repeated(&[0x2a, 0])),
        ("entries without a text", repeated(&[0x22, 0])),
        (
            "numbers as keys, out of order",
            entries(|key| record(0x2a, &[&[0x08], &*varint(key as usize >> 4)].concat())),
        ),
        (
            "long texts as keys, out of order",
            entries(|key| record(0x22, &record(0x0a, format!("{}{key:x}", "a".repeat(100)).as_bytes()))),
        ),
        ("messages in messages", nested(0x12, |_| ())),
        ("lists in lists", nested(0x1a, |_| ())),
        ("replaced members in replaced members", nested(0x32, |message| message.extend([0x38, 1]))),
        ("empty groups", repeated(&[0x73, 0x74])),
        ("unknown groups", repeated(&[0x7b, 0x7c])),
        ("groups in groups", repeated(&around(0x6b, Vec::new()))),
        ("unknown groups in groups", around(0x6b, repeated(&[0x7b, 0x7c]))),
        ("many fields in deep groups", around(0x6b, repeated(&[0x5a, 0]))),
        ("deep groups in turn with messages", repeated(&alternating)),
        (
            "a tree of replaced groups",
            tree(|inner| [&[0x83, 1], inner, &[0x84, 1, 0x8b, 1], inner, &[0x8c, 1]].concat()),
        ),
        ("a tree of replaced members", tree(|inner| [record(0x32, inner), record(0x42, inner)].concat())),
        ("a tree of replaced entries", tree(|inner| record(0x22, &record(0x12, inner)).repeat(2))),
    ]
}

fn record(tag: u8, bytes: &[u8]) -> Vec<u8> {
    [&[tag], &*varint(bytes.len()), bytes].concat()
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
