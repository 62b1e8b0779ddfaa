//! Compares the sizes of typical game messages in Godot's format, protobuf, and this crate's wire format.
//!
//! `cargo run -p variant_protobuf --example sizes` prints the sizes as a table.

use variant_codec::Value;
use variant_protobuf::{DecodeOptions, EncodeOptions, Schema, Wire};

const GAME: &str = include_str!("game.proto");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| GAME.to_owned()))?;
    println!("| message | Godot | protobuf | own | Godot ÷ protobuf | own ÷ protobuf |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (what, name, value) in corpus() {
        let message = schema.message(name)?;
        let [protobuf, own] = [Wire::Protobuf, Wire::Own].map(|wire| {
            let bytes = message.encode(&value, &EncodeOptions { wire })?;
            // Only bytes that can be decoded again count.
            let read = message.decode(&bytes, &DecodeOptions { wire, ..DecodeOptions::default() })?;
            assert_eq!(message.encode(&read, &EncodeOptions { wire })?, bytes);
            Ok::<_, variant_codec::Error>(bytes.len())
        });
        let (godot, protobuf, own) = (value.encode()?.len(), protobuf?, own?);
        let ratio = |a: usize, b: usize| a as f64 / b as f64;
        println!(
            "| {what} | {godot} | {protobuf} | {own} | {:.2} | {:.2} |",
            ratio(godot, protobuf),
            ratio(own, protobuf)
        );
    }
    Ok(())
}

/// The values to encode, each with a description and the name of its message.
fn corpus() -> [(&'static str, &'static str, Value); 11] {
    let entities = |count| list(0..count, entity);
    let tiles = || {
        Value::PackedInt32Array((0..1024).map(|i| (i * i % 37) * if i % 11 == 0 { 5 } else { 1 }).collect())
    };
    [
        (
            "snapshot of 200 entities",
            "Snapshot",
            dictionary([("tick", 123_456.into()), ("entities", entities(200))]),
        ),
        (
            "snapshot of 1 entity",
            "Snapshot",
            dictionary([("tick", 123_456.into()), ("entities", entities(1))]),
        ),
        ("changes of 50 entities", "Delta", delta()),
        ("input of a player", "Input", input()),
        (
            "line of chat",
            "Chat",
            dictionary([
                ("channel", 1.into()),
                ("from", 7.into()),
                ("text", "Two of them behind the mill, one is hurt".into()),
            ]),
        ),
        ("inventory of 40 items", "Inventory", inventory()),
        ("chunk of 32 × 32 cells", "Chunk", chunk(tiles())),
        ("its tiles as `repeated int32`", "SignedTiles", dictionary([("tiles", tiles())])),
        ("settings", "Settings", settings()),
        ("30 quests", "Quests", dictionary([("quests", list(0..30, quest))])),
        ("100 scores", "Scores", dictionary([("scores", list(0..100, score))])),
    ]
}

fn entity(i: i64) -> Value {
    dictionary([
        ("id", i.into()),
        ("name", format!("entity_{i}").into()),
        ("hp", (100 - i % 97).into()),
        ("alive", (i % 5 != 0).into()),
        ("position", vector(i as f32 % 640.0, 1.5, i as f32 / 640.0)),
        ("velocity", vector(0.5, -9.81, 1.0)),
        ("team", (i % 3 - 1).into()),
        ("tags", Value::PackedStringArray(vec!["enemy".into()])),
        ("effects", Value::PackedInt32Array(vec![1, -1, (i % 60) as i32])),
    ])
}

fn vector(x: f32, y: f32, z: f32) -> Value {
    dictionary([("x", f64::from(x).into()), ("y", f64::from(y).into()), ("z", f64::from(z).into())])
}

fn delta() -> Value {
    let change = |i: i64| {
        let mut change = vec![
            ("id", (i * 3).into()),
            ("dx", (i * 37 % 201 - 100).into()),
            ("dy", (-981 * (i % 2)).into()),
            ("dz", (i * 53 % 41 - 20).into()),
            ("turn", (i % 7 - 3).into()),
        ];
        if i % 4 == 0 {
            change.extend([("hp", Value::from(100 - i)), ("alive", Value::from(i % 8 == 0))]);
        }
        entries(change)
    };
    let removed = Value::PackedInt32Array(vec![17, 230, 231]);
    dictionary([("tick", 123_457.into()), ("changes", list(0..50, change)), ("removed", removed)])
}

fn input() -> Value {
    dictionary([
        ("frame", 7312.into()),
        ("move_x", (-1).into()),
        ("move_y", 1.into()),
        ("jump", true.into()),
        ("fire", true.into()),
        ("crouch", false.into()),
        ("reload", false.into()),
        ("aim_x", 0.25.into()),
        ("aim_y", (-0.5).into()),
    ])
}

fn inventory() -> Value {
    let names = ["sword", "shield", "potion", "arrow", "helmet", "rope", "lamp", "ring"];
    let item = |i: i64| {
        let bonuses = dictionary([("strength", (i % 9 - 4).into()), ("luck", (i % 5).into())]);
        let item = dictionary([
            ("count", (1 + i % 20).into()),
            ("quality", (i % 4 - 1).into()),
            ("bound", (i % 3 == 0).into()),
            ("bonuses", if i % 2 == 0 { bonuses } else { dictionary([]) }),
        ]);
        (Value::from(format!("{}_{i}", names[i as usize % names.len()])), item)
    };
    dictionary([("items", Value::from((0..40).map(item).collect::<Vec<_>>())), ("gold", 184_250.into())])
}

fn chunk(tiles: Value) -> Value {
    let heights = (0..1024).map(|i: i32| (i % 32) * (i / 32) % 25 - 12).collect();
    let walkable: Vec<Value> = (0..1024).map(|i| Value::from(i % 7 != 0)).collect();
    let light = (0..1024_u32).map(|i| (i * 31 % 256) as u8).collect();
    dictionary([
        ("at", dictionary([("x", (-3).into()), ("y", 12.into())])),
        ("tiles", tiles),
        ("heights", Value::PackedInt32Array(heights)),
        ("walkable", walkable.into()),
        ("light", Value::PackedByteArray(light)),
    ])
}

fn settings() -> Value {
    dictionary([
        (
            "switches",
            dictionary([
                ("fullscreen", true.into()),
                ("vsync", true.into()),
                ("subtitles", false.into()),
                ("invert_y", false.into()),
                ("shake", true.into()),
            ]),
        ),
        (
            "sliders",
            dictionary([
                ("music", 0.8.into()),
                ("effects", 1.0.into()),
                ("voice", 0.65.into()),
                ("sensitivity", 2.4.into()),
            ]),
        ),
        (
            "keys",
            dictionary([
                ("jump", "space".into()),
                ("fire", "mouse_left".into()),
                ("reload", "r".into()),
                ("crouch", "control".into()),
            ]),
        ),
    ])
}

fn quest(i: i64) -> Value {
    let state = match i % 4 {
        0 => ("open", true.into()),
        1 => ("step", (i / 4).into()),
        2 => ("done_at", (1_760_000_000 + i * 86_400).into()),
        _ => ("failed", true.into()),
    };
    let goals = (0..i % 5).map(|goal| (Value::from(goal), Value::from(goal % 2 == 0))).collect::<Vec<_>>();
    dictionary([("id", format!("chapter_{}/quest_{i}", i / 10).into()), state, ("goals", Value::from(goals))])
}

fn score(i: i64) -> Value {
    dictionary([
        ("name", format!("player {i}").into()),
        ("points", (1_000_000 - i * 7919).into()),
        ("change", (i % 9 - 4).into()),
        ("seconds", (61.5 + i as f64 * 0.37).into()),
        ("device", i.wrapping_mul(0x1E37_79B9_7F4A_7C15).into()),
    ])
}

fn dictionary<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    entries(pairs.to_vec())
}

fn entries(pairs: Vec<(&str, Value)>) -> Value {
    Value::from(pairs.into_iter().map(|(key, value)| (Value::from(key), value)).collect::<Vec<_>>())
}

fn list(range: std::ops::Range<i64>, element: impl Fn(i64) -> Value) -> Value {
    Value::from(range.map(element).collect::<Vec<_>>())
}
