//! Godot 3's vectors in `vectors/godot3.tsv`, and values as text.

use std::fs;
use std::path::Path;

use variant_codec::godot3::{Downgrade, Loss};
use variant_codec::stream::{Decoder, ValueBuilder};
use variant_codec::{
    Error, ErrorKind, Limits, NodePath, Object, PackedReals, Reals, Result, Strictness, Value,
};

use crate::{any_inside, has_equal_keys, has_instance_ids};

/// The origin of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Written by the engine.
    Engine,
    /// Written by the engine, with full objects.
    Objects,
    /// Made by hand.
    Crafted,
}

/// One line of `vectors/godot3.tsv`.
#[derive(Clone, Debug)]
pub struct Row {
    /// The versions of the engines that agree on the row.
    pub engines: String,
    /// The origin of the input.
    pub origin: Origin,
    /// The input.
    pub bytes: Vec<u8>,
    /// The engine's answer.
    pub answer: Answer,
    /// A description of the input.
    pub label: String,
}

/// An engine's answer to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The engine refuses the input.
    Refused,
    /// The engine was not asked.
    NotAsked,
    /// The engine reads the input.
    Read {
        /// The rewritten value in hexadecimal, with `<ID64>` in place of instance ids.
        again: String,
        /// The value as text.
        text: String,
    },
}

/// Every vector that Godot 3 wrote.
pub fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/godot3.tsv");
    let text = fs::read_to_string(file).expect("`cargo xtask accept godot3` writes the vectors");
    let rows: Vec<Row> = text.lines().skip(1).map(row).collect();
    assert!(rows.len() > 900, "only {} vectors", rows.len());
    rows
}

fn row(line: &str) -> Row {
    let columns: Vec<&str> = line.split('\t').collect();
    let [engines, mode, input, result, again, text, label] = columns[..] else {
        panic!("not seven columns: {line}");
    };
    Row {
        engines: engines.to_owned(),
        origin: match mode {
            "plain" => Origin::Engine,
            "objects" => Origin::Objects,
            "crafted" => Origin::Crafted,
            _ => panic!("unknown mode: {line}"),
        },
        bytes: hex::decode(input).expect("hexadecimal bytes"),
        answer: match result {
            "ok" => Answer::Read { again: again.to_owned(), text: text.to_owned() },
            "error" => Answer::Refused,
            "written" => Answer::NotAsked,
            _ => panic!("unknown result: {line}"),
        },
        label: label.to_owned(),
    }
}

/// Reads a value of Godot 3.
///
/// # Errors
/// Fails if the bytes are invalid.
pub fn read(bytes: &[u8], strictness: Strictness, limits: &Limits, lossy: bool) -> Result<Value> {
    let mut builder = ValueBuilder::default();
    Decoder::of_godot3(bytes, strictness, limits, Loss::accepted_if(lossy)).decode_only(&mut builder)?;
    Ok(builder.into_value())
}

/// Reads a value of Godot 3, and writes it again without building it.
///
/// # Errors
/// Fails if the reader or the writer fails.
pub fn transcode(bytes: &[u8], strictness: Strictness, limits: &Limits, lossy: bool) -> Result<Vec<u8>> {
    let mut downgrade = Downgrade::new(Vec::new(), Loss::accepted_if(lossy));
    Decoder::of_godot3(bytes, strictness, limits, Loss::accepted_if(lossy)).decode_only(&mut downgrade)?;
    Ok(downgrade.into_output())
}

/// Compares lenient reading with the engine's answer. Returns `Ok(false)` if the value is the same, but
/// written differently by design.
///
/// # Errors
/// Fails with the difference.
pub fn judge(bytes: &[u8], answer: &Answer) -> std::result::Result<bool, String> {
    let limits = Limits { allow_objects: true, ..Limits::unlimited() };
    let value = read(bytes, Strictness::Lenient, &limits, true);
    let (value, again, text) = match (value, answer) {
        (_, Answer::NotAsked) | (Err(_), Answer::Refused) => return Ok(true),
        (Err(error), Answer::Read { .. }) => return Err(format!("refused: {error}")),
        (Ok(_), Answer::Refused) => {
            let without_objects = read(bytes, Strictness::Lenient, &limits, false);
            let is_object = |error: &Error| matches!(error.kind(), ErrorKind::Godot3Object(_));
            return match without_objects {
                Err(error) if is_object(&error) => Ok(true),
                _ => Err("read, but the engine refuses it".into()),
            };
        }
        (Ok(value), Answer::Read { again, text }) => (value, again, text),
    };
    let (characters, has_others) = characters_of(text);
    // The engine keeps one of two equal keys; the bytes contain both.
    let merged = has_equal_keys(&value);
    let ours = text_of(&value);
    if ours != characters && !merged {
        let same = ours.bytes().zip(characters.bytes()).take_while(|(a, b)| a == b).count();
        let [ours, theirs] = [&ours, &characters].map(|text| &text[same.saturating_sub(80)..]);
        return Err(format!("read as …{ours:.400}, by the engine as …{theirs:.400}"));
    }
    // Written differently by design: invalid text, full objects (they become Dictionaries), ids of wrappers,
    // and entries whose keys contain NaN, which the engine cannot find.
    if merged || has_others || has_lost_keys(&value) || ours.contains("Object(") || has_instance_ids(&value) {
        return Ok(false);
    }
    match value.encode_godot3(Loss::Accepted) {
        Ok(bytes) if hex::encode(&bytes) == *again => Ok(true),
        Ok(bytes) => Err(format!("written as {}, by the engine as {again}", hex::encode(bytes))),
        Err(error) => Err(format!("not written: {error}")),
    }
}

fn has_lost_keys(value: &Value) -> bool {
    any_inside(value, |inner| {
        let Value::Dictionary(dictionary) = inner else { return false };
        let is_lost = |key: &Value| !matches!(key, Value::Float(_)) && format!("{key:?}").contains("NaN");
        dictionary.entries.iter().any(|(key, _)| is_lost(key))
    })
}

/// The engine's text with characters in place of code units: surrogate pairs are joined, and invalid units
/// are replaced. Also returns whether any unit was invalid.
fn characters_of(text: &str) -> (String, bool) {
    let mut has_others = false;
    let mut parts = text.split('\'');
    let mut made = parts.next().unwrap_or_default().to_owned();
    // Every second part is between quotes.
    for (index, part) in parts.enumerate() {
        made.push('\'');
        if index % 2 == 1 {
            made.push_str(part);
            continue;
        }
        let mut units =
            part.split_whitespace().map(|unit| u32::from_str_radix(unit, 16).unwrap_or(u32::MAX)).peekable();
        let mut characters = Vec::new();
        while let Some(mut unit) = units.next() {
            if let 0xD800..0xDC00 = unit
                && let Some(trail) = units.next_if(|unit| (0xDC00..0xE000).contains(unit))
            {
                unit = 0x1_0000 + ((unit - 0xD800) << 10) + (trail - 0xDC00);
                has_others = true;
            }
            has_others |= char::from_u32(unit).is_none();
            characters.push(format!("{:x}", char::from_u32(unit).map_or(0xFFFD, u32::from)));
        }
        made.push_str(&characters.join(" "));
    }
    (made, has_others)
}

/// The value as `godot3/describe.gd` prints it.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => numbers("float", &[*value]),
        Value::String(text) | Value::StringName(text) => characters(text),
        Value::Vector2(lanes) => reals("Vector2", lanes),
        Value::Rect2(lanes) => reals("Rect2", lanes),
        Value::Vector3(lanes) => reals("Vector3", lanes),
        Value::Transform2D(lanes) => reals("Transform2D", lanes),
        Value::Plane(lanes) => reals("Plane", lanes),
        Value::Quaternion(lanes) => reals("Quaternion", lanes),
        Value::Aabb(lanes) => reals("AABB", lanes),
        Value::Basis(lanes) => numbers("Basis", &axes(&wide(lanes))),
        Value::Transform3D(lanes) => numbers("Transform3D", &axes(&wide(lanes))),
        Value::Color(lanes) => numbers("Color", &lanes.map(f64::from)),
        Value::NodePath(path) => node_path(path),
        Value::Rid(id) => format!("RID({id})"),
        Value::Object(Object::Id(id)) => format!("Object({})", *id as i64),
        Value::Dictionary(dictionary) => match &dictionary.entries[..] {
            // The form of an object read from Godot 3.
            [(Value::String(key), Value::String(class)), properties @ ..]
                if key == "class" && is_object(properties) =>
            {
                format!("Object({class}, {})", entries(properties))
            }
            all => format!("{{{}}}", entries(all)),
        },
        Value::Array(array) => format!("[{}]", joined(array.values.iter().map(text_of))),
        Value::PackedByteArray(bytes) => format!("PackedByteArray({})", hex::encode(bytes)),
        Value::PackedInt32Array(ints) => packed("PackedInt32Array", ints.iter().map(i32::to_string)),
        Value::PackedFloat32Array(floats) => {
            packed("PackedFloat32Array", floats.iter().map(|float| numbers("float", &[f64::from(*float)])))
        }
        Value::PackedStringArray(texts) => {
            packed("PackedStringArray", texts.iter().map(|text| characters(text)))
        }
        Value::PackedVector2Array(vectors) => packed_reals("PackedVector2Array", "Vector2", vectors),
        Value::PackedVector3Array(vectors) => packed_reals("PackedVector3Array", "Vector3", vectors),
        Value::PackedColorArray(colors) => {
            packed("PackedColorArray", colors.iter().map(|color| numbers("Color", &color.map(f64::from))))
        }
        _ => "nil".to_owned(),
    }
}

/// Returns whether these are the properties of an object, which always include `script`.
fn is_object(properties: &[(Value, Value)]) -> bool {
    properties.iter().any(|(name, _)| *name == Value::String("script".into()))
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

fn entries(entries: &[(Value, Value)]) -> String {
    joined(entries.iter().map(|(key, value)| format!("{}: {}", text_of(key), text_of(value))))
}

fn packed(name: &str, elements: impl Iterator<Item = String>) -> String {
    format!("{name}({})", joined(elements))
}

/// The bits of the numbers, each in the smallest width that represents the number.
fn numbers(name: &str, numbers: &[f64]) -> String {
    let bits = numbers.iter().map(|number| match *number as f32 {
        small if f64::from(small) == *number => hex::encode(small.to_le_bytes()),
        _ => hex::encode(number.to_le_bytes()),
    });
    format!("{name}({})", bits.collect::<Vec<_>>().join(" "))
}

fn wide<const N: usize>(lanes: &Reals<N>) -> [f64; N] {
    match lanes {
        Reals::Single(lanes) => lanes.map(f64::from),
        Reals::Double(lanes) => *lanes,
    }
}

fn reals<const N: usize>(name: &str, lanes: &Reals<N>) -> String {
    numbers(name, &wide(lanes))
}

fn packed_reals<const N: usize>(name: &str, element: &str, vectors: &PackedReals<N>) -> String {
    match vectors {
        PackedReals::Single(all) => {
            packed(name, all.iter().map(|lanes| numbers(element, &lanes.map(f64::from))))
        }
        PackedReals::Double(all) => packed(name, all.iter().map(|lanes| numbers(element, lanes))),
    }
}

/// Transposes the first nine numbers: the bytes contain rows, but scripts see axes. The other components stay
/// in place.
fn axes<const N: usize>(lanes: &[f64; N]) -> [f64; N] {
    let mut made = *lanes;
    for at in 0..9 {
        made[at] = lanes[at % 3 * 3 + at / 3];
    }
    made
}

fn characters(text: &str) -> String {
    let numbers: Vec<_> = text.chars().map(|character| format!("{:x}", u32::from(character))).collect();
    format!("'{}'", numbers.join(" "))
}

fn node_path(path: &NodePath) -> String {
    let names = path.names.iter().map(|name| format!("/{}", characters(name)));
    let subnames = path.subnames.iter().map(|name| format!(":{}", characters(name)));
    let parts: String = names.chain(subnames).collect();
    format!("NodePath({}{parts})", if path.absolute { "absolute " } else { "" })
}
