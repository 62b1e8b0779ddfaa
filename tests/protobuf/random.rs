//! Random messages, and the many values that encode to the same message.

use fastrand::Rng;
use serde_json::{Value as Json, json};
use variant_codec::Value;

use crate::described::{self, Form, Shown};
use crate::process::{Field, Label, Messages};

/// The maximum depth of messages, except those in required fields.
const DEPTH: u32 = 5;
const TEXTS: [&str; 9] = ["", "a", "testing", "Größe", "日本語", "😀", "\0", "a\0b", "\u{FEFF}x"];
const FORM: Form = Form { shown: Shown::Held, enum_names: false, string_name_keys: false };

/// A random message, in the form in which the oracle describes messages.
pub fn message(rng: &mut Rng, messages: &Messages, name: &str) -> Json {
    let messages_left = [10, 100, 300][rng.usize(0..3)];
    Maker { rng, messages, messages_left }.message(name, 0)
}

/// Returns whether a message requires itself, directly or indirectly, so that no such message can be written.
pub fn is_endless(messages: &Messages, name: &str, around: &[&str]) -> bool {
    let around = [around, &[name]].concat();
    around[..around.len() - 1].contains(&name)
        || (messages.get(name).into_iter().flatten())
            .filter(|field| field.required)
            .filter_map(|field| field.message.as_deref())
            .any(|inner| is_endless(messages, inner, &around))
}

struct Maker<'a> {
    rng: &'a mut Rng,
    messages: &'a Messages,
    /// Bounds the number of messages, because messages may be recursive and contain several messages.
    messages_left: i32,
}

impl Maker<'_> {
    fn message(&mut self, name: &str, depth: u32) -> Json {
        let density = self.rng.f32();
        let mut oneofs = Vec::new();
        let mut held = Vec::new();
        self.messages_left -= 1;
        for field in &self.messages[name] {
            let is_enough = depth > DEPTH || self.messages_left < 0;
            let is_left_out = is_enough && (field.label != Label::One || field.message.is_some())
                || field.message.as_deref().is_some_and(|name| is_endless(self.messages, name, &[]));
            if !field.required && (is_left_out || self.rng.f32() > density) {
                continue;
            }
            if let Some(oneof) = &field.oneof {
                if oneofs.contains(&oneof) {
                    continue;
                }
                oneofs.push(oneof);
            }
            let value = match field.label {
                Label::One => self.one(field, depth),
                Label::Many => (0..self.count(depth)).map(|_| self.one(field, depth)).collect(),
                Label::Map => self.map(field, depth),
            };
            let is_absent = match field.label {
                Label::One => !field.presence && value == field.default,
                _ => value == json!([]),
            };
            if !is_absent {
                held.push(json!([field.name, value]));
            }
        }
        Json::Array(held)
    }

    fn count(&mut self, depth: u32) -> usize {
        let counts: &[usize] = match depth {
            0 => &[0, 1, 2, 3, 9, 200],
            1 => &[0, 1, 2, 3, 9],
            _ => &[0, 1, 2],
        };
        *self.rng.choice(counts).expect("it is not empty")
    }

    fn map(&mut self, field: &Field, depth: u32) -> Json {
        let (key, value) = described::entry(field);
        let mut entries: Vec<(Json, Json)> = Vec::new();
        for _ in 0..self.count(depth).min(9) {
            let entry = (self.one(key, depth), self.one(value, depth));
            if entries.iter().all(|(known, _)| *known != entry.0) {
                entries.push(entry);
            }
        }
        entries.sort_by(|(a, _), (b, _)| described::key_order(a).cmp(&described::key_order(b)));
        json!(entries)
    }

    fn one(&mut self, field: &Field, depth: u32) -> Json {
        let rng = &mut *self.rng;
        match field.ty.as_str() {
            "bool" => json!(rng.bool()),
            "float" => json!(format!("{:08x}", float_bits(rng))),
            "double" => json!(format!("{:016x}", double_bits(rng))),
            "string" if rng.u8(..) < 8 => json!("é".repeat(rng.usize(8190..8194))),
            "string" if rng.bool() => json!("x".repeat(rng.usize(0..300))),
            "string" => json!(rng.choice(TEXTS)),
            "bytes" => {
                let most = if rng.bool() { 3 } else { 140 };
                let len = rng.usize(0..most);
                json!(hex::encode((0..len).map(|_| rng.u8(..)).collect::<Vec<_>>()))
            }
            "enum" if field.closed || rng.bool() => {
                let values = field.values.as_ref().expect("an enum has values");
                json!(rng.choice(values).expect("it is not empty").1)
            }
            "enum" => json!(rng.i32(..)),
            "message" => self.message(described::message_of(field), depth + 1),
            "uint32" | "fixed32" => json!(rng.u32(..) >> rng.u32(0..32)),
            "uint64" | "fixed64" => json!(rng.u64(..) >> rng.u32(0..64)),
            "int32" | "sint32" | "sfixed32" => json!(rng.i32(..) >> rng.u32(0..32)),
            _ => json!(rng.i64(..) >> rng.u32(0..64)),
        }
    }
}

/// The bits of a random float. NaNs are quiet, because signalling NaNs do not survive a 64-bit float. Most
/// NaNs are the default NaN.
fn float_bits(rng: &mut Rng) -> u32 {
    match rng.u8(0..4) {
        0 => (rng.i16(..) as f32).to_bits(),
        1 => [0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 1, 0x7F7F_FFFF][rng.usize(0..7)],
        _ => match rng.u32(..) {
            bits if f32::from_bits(bits).is_nan() => bits | 1 << 22,
            bits => bits,
        },
    }
}

fn double_bits(rng: &mut Rng) -> u64 {
    match rng.u8(0..3) {
        0 => f64::from(rng.i16(..)).to_bits(),
        1 => [0, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 1][rng.usize(0..6)],
        _ => rng.u64(..),
    }
}

/// A value that encodes to this message: entries in random order, each in a random valid form.
pub fn spelled(rng: &mut Rng, messages: &Messages, name: &str, described: &Json) -> Value {
    let mut entries = Vec::new();
    for field in &messages[name] {
        let value = match described::held(described, &field.name) {
            Some(value) => spelled_field(rng, messages, field, value),
            None if rng.u8(0..4) > 0 => continue,
            None => absent(rng, messages, field),
        };
        entries.push((text(rng, &field.name), value));
    }
    rng.shuffle(&mut entries);
    Value::from(entries)
}

/// A value that leaves the field absent.
fn absent(rng: &mut Rng, messages: &Messages, field: &Field) -> Value {
    match field.label {
        _ if rng.bool() => Value::Nil,
        Label::One if field.presence => Value::Nil,
        Label::One => spelled_one(rng, messages, field, &field.default),
        _ => spelled_field(rng, messages, field, &json!([])),
    }
}

fn spelled_field(rng: &mut Rng, messages: &Messages, field: &Field, described: &Json) -> Value {
    match field.label {
        Label::One => spelled_one(rng, messages, field, described),
        Label::Many => spelled_list(rng, messages, field, described),
        Label::Map => {
            let (key, value) = described::entry(field);
            let entry = |pair: &Json| {
                let key = spelled_one(rng, messages, key, &pair[0]);
                (key, spelled_one(rng, messages, value, &pair[1]))
            };
            let mut entries: Vec<_> = described::list(described).iter().map(entry).collect();
            rng.shuffle(&mut entries);
            Value::from(entries)
        }
    }
}

fn spelled_one(rng: &mut Rng, messages: &Messages, field: &Field, described: &Json) -> Value {
    let plain = described::decoded_one(messages, field, described, FORM);
    match (field.ty.as_str(), plain) {
        ("message", _) => spelled(rng, messages, described::message_of(field), described),
        ("string", Value::String(value)) => text(rng, &value),
        ("enum", Value::Int(number)) if rng.bool() => {
            let values = field.values.as_ref().expect("an enum has values");
            let names: Vec<_> = values.iter().filter(|(_, value)| *value == number).collect();
            rng.choice(names).map_or(Value::Int(number), |(name, _)| text(rng, name))
        }
        ("float" | "double", Value::Float(float)) if rng.bool() && is_int(float) => Value::Int(float as i64),
        (_, plain) => plain,
    }
}

fn spelled_list(rng: &mut Rng, messages: &Messages, field: &Field, described: &Json) -> Value {
    let items = described::list(described);
    let plain = described::decoded_list(messages, field, items, FORM);
    if rng.bool() {
        let items: Vec<_> = items.iter().map(|item| spelled_one(rng, messages, field, item)).collect();
        return Value::from(items);
    }
    match plain {
        Value::PackedInt32Array(ints) if rng.bool() => {
            Value::PackedInt64Array(ints.into_iter().map(i64::from).collect())
        }
        Value::PackedInt32Array(ints) => match ints.iter().map(|int| u8::try_from(*int)).collect() {
            Ok(bytes) => Value::PackedByteArray(bytes),
            Err(_) => Value::PackedInt32Array(ints),
        },
        Value::PackedInt64Array(ints) => match ints.iter().map(|int| i32::try_from(*int)).collect() {
            Ok(short) => Value::PackedInt32Array(short),
            Err(_) => Value::PackedInt64Array(ints),
        },
        Value::PackedFloat32Array(floats) if rng.bool() => {
            Value::PackedFloat64Array(floats.into_iter().map(f64::from).collect())
        }
        plain => plain,
    }
}

/// Returns whether the float is an integer below 1e9 in magnitude, and not −0.0.
fn is_int(float: f64) -> bool {
    float.abs() < 1e9 && float.fract() == 0.0 && (float != 0.0 || float.is_sign_positive())
}

fn text(rng: &mut Rng, text: &str) -> Value {
    if rng.bool() { Value::StringName(text.to_owned()) } else { Value::from(text) }
}
