//! Runs the checks of the fuzz targets on the inputs in `fuzz/corpus` and `fuzz/findings`, on the engine's
//! vectors, and on mutations of all these. `MADE_INPUTS` sets the number of mutations.

use std::env;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use conformance::fuzzing::{self, mutate::mutate};
use conformance::random_messages::{EVERYTHING, OLD, random_message, schema};
use conformance::{godot3, rows};
use fastrand::Rng;
use variant_codec::{Value, frames};
use variant_protobuf::{EncodeOptions, Wire};

/// The stack size that a thousand levels of nesting need without optimisation.
const STACK: usize = 64 << 20;
/// The default number of mutations for each target.
const MADE: u64 = 20_000;
/// The maximum length of a mutation.
const LONGEST: usize = 1024;

/// The inputs in a file of `tests/fuzz`: one hexadecimal line each, with an optional remark after `|`.
fn inputs(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder).join(format!("{target}.hex"));
    let text = fs::read_to_string(&file).unwrap_or_default();
    let input = |line: &str| {
        let hex = line.split('|').next().unwrap_or_default().trim();
        hex::decode(hex).unwrap_or_else(|error| panic!("{}: {error}: {line}", file.display()))
    };
    text.lines().map(input).collect()
}

fn values() -> Vec<Vec<u8>> {
    rows().into_iter().map(|row| row.bytes).collect()
}

fn values_of_both() -> Vec<Vec<u8>> {
    godot3::rows().into_iter().map(|row| row.bytes).chain(values()).collect()
}

fn batches() -> Vec<Vec<u8>> {
    let batch = |values: &[Vec<u8>]| {
        let mut batch = Vec::new();
        values.iter().for_each(|value| frames::append(&mut batch, value));
        batch
    };
    values().chunks(4).map(batch).collect()
}

fn files() -> Vec<Vec<u8>> {
    let table = include_str!("vectors/wrapped.tsv").lines().skip(1);
    let files =
        table.filter_map(|row| row.split('\t').nth(2)).map(|file| hex::decode(file).expect("hexadecimal"));
    files.chain(batches()).collect()
}

fn noise() -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(1);
    (0..1000)
        .map(|_| {
            let len = rng.usize(0..600);
            (0..len).map(|_| rng.u8(..)).collect()
        })
        .collect()
}

fn messages() -> Vec<Vec<u8>> {
    let message = schema(EVERYTHING).message("Everything").expect("it is there");
    let messages = (0..100).map(|seed| random_message(&mut Rng::with_seed(seed), &message, 30));
    let wires = [Wire::Protobuf, Wire::Own];
    let encode =
        |value: Value| wires.map(|wire| message.encode(&value, &EncodeOptions { wire }).expect("it fits"));
    messages.flat_map(encode).filter(|bytes| bytes.len() <= LONGEST).collect()
}

fn schemas() -> Vec<Vec<u8>> {
    // protoc's output for `message M { optional int32 a = 1; }` in the file "m", and a descriptor set that
    // made a library panic.
    let sets = ["0a130a016d220e0a014d12090a01611801200128050a", "0a055201616200"];
    let sets = sets.map(|set| hex::decode(set).expect("it is hexadecimal"));
    let files = [
        EVERYTHING,
        OLD,
        "edition = \"2023\"; message A {}",
        "import public \"1.proto\"; message A { optional B b = 1; }\0message B { optional C c = 1; }",
        "message A { required group G = 1 {} oneof o { group H = 2 {} int32 x = 3 [packed = true]; } }",
        "import \"google/protobuf/descriptor.proto\"; message A { optional A a = 1; } \
         extend google.protobuf.FileOptions { optional A a = 50000; } option (a) = { a { a < a {} > } };",
    ];
    sets.into_iter().chain(files.map(|file| file.as_bytes().to_vec())).collect()
}

fn snapshots() -> Vec<Vec<u8>> {
    fuzzing::snapshots::examples()
}

fn replay(target: &'static str, check: fn(&[u8]), vectors: fn() -> Vec<Vec<u8>>) {
    let run = move || {
        let check = |input: &[u8]| {
            assert!(catch_unwind(|| check(input)).is_ok(), "{target} fails on {}", hex::encode(input));
        };
        let kept = inputs("corpus", target);
        assert!(kept.len() > 20, "only {} inputs are kept", kept.len());
        let inputs = [kept, inputs("findings", target), vectors()].concat();
        inputs.iter().for_each(|input| check(input));
        let mut rng = Rng::with_seed(2);
        let made =
            env::var("MADE_INPUTS").map_or(MADE, |made| made.parse().expect("MADE_INPUTS is a number"));
        for seed in 0..made {
            let mut input = inputs[rng.usize(0..inputs.len())].clone();
            mutate(&mut input, LONGEST, seed);
            check(&input);
        }
    };
    conformance::with_stack(STACK, run);
}

macro_rules! targets {
    ($($target:ident: $vectors:ident;)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target), fuzzing::$target::check, super::$vectors);
        })*
    };
}

mod target {
    use super::*;

    targets! {
        decode: values;
        strict: values;
        transcode: values;
        parts: values;
        outline: values;
        frames: batches;
        values: noise;
        godot3: values_of_both;
        text: noise;
        views: values_of_both;
        patches: batches;
        commands: files;
        protobuf: messages;
        schemas: schemas;
        snapshots: snapshots;
    }
}
