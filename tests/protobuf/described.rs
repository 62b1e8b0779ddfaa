//! Converts the oracle's descriptions of messages into values for Godot.

use serde_json::{Value as Json, json};
use variant_codec::value::OwnedElementType;
use variant_codec::{Array, Value, VariantType};

use crate::process::{Field, Label, Messages};

/// The fields that a decoded value contains although they are not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// None.
    Held,
    /// Fields without presence.
    Implicit,
    /// All fields that have a default.
    Defaults,
}

/// The form of decoded values.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub shown: Shown,
    pub enum_names: bool,
    pub string_name_keys: bool,
}

/// The expected decoded value of a message.
pub fn decoded(messages: &Messages, name: &str, described: &Json, form: Form) -> Value {
    let entries = messages[name].iter().filter_map(|field| {
        let value = match held(described, &field.name) {
            Some(value) => decoded_field(messages, field, value, form),
            None => absent(field, form)?,
        };
        Some((form.key(&field.name), value))
    });
    Value::from(entries.collect::<Vec<_>>())
}

/// The description of this field, if it is set.
pub fn held<'a>(described: &'a Json, name: &str) -> Option<&'a Json> {
    let pairs = described.as_array().expect("a message is a list of pairs");
    pairs.iter().find(|pair| pair[0] == name).map(|pair| &pair[1])
}

fn decoded_field(messages: &Messages, field: &Field, described: &Json, form: Form) -> Value {
    match field.label {
        Label::One => decoded_one(messages, field, described, form),
        Label::Many => decoded_list(messages, field, list(described), form),
        Label::Map => {
            let (key, value) = entry(field);
            let pair = |pair: &Json| {
                let key = decoded_one(messages, key, &pair[0], form);
                (key, decoded_one(messages, value, &pair[1], form))
            };
            Value::from(list(described).iter().map(pair).collect::<Vec<_>>())
        }
    }
}

pub fn decoded_one(messages: &Messages, field: &Field, described: &Json, form: Form) -> Value {
    match field.ty.as_str() {
        "bool" => Value::Bool(described.as_bool().expect("a bool")),
        "string" => Value::String(text(described).to_owned()),
        "bytes" => Value::PackedByteArray(hex::decode(text(described)).expect("hexadecimal bytes")),
        "float" => Value::Float(f64::from(float(described))),
        "double" => Value::Float(double(described)),
        "enum" => enum_value(field, int(described), form),
        "message" => decoded(messages, message_of(field), described, form),
        _ => Value::Int(int(described)),
    }
}

pub fn decoded_list(messages: &Messages, field: &Field, items: &[Json], form: Form) -> Value {
    let typed = |ty| {
        let values = items.iter().map(|item| decoded_one(messages, field, item, form)).collect();
        Value::Array(Array { element: OwnedElementType::Builtin(ty), values })
    };
    let int32s = || Value::PackedInt32Array(items.iter().map(|item| int(item) as i32).collect());
    match field.ty.as_str() {
        "bool" => typed(VariantType::Bool),
        "bytes" => typed(VariantType::PackedByteArray),
        "message" => typed(VariantType::Dictionary),
        "string" => Value::PackedStringArray(items.iter().map(|item| text(item).to_owned()).collect()),
        "float" => Value::PackedFloat32Array(items.iter().map(float).collect()),
        "double" => Value::PackedFloat64Array(items.iter().map(double).collect()),
        "enum" if form.enum_names => {
            let values = items.iter().map(|item| decoded_one(messages, field, item, form));
            let values: Vec<_> = values.collect();
            let name =
                |value: &Value| if let Value::String(name) = value { Some(name.clone()) } else { None };
            match values.iter().map(name).collect() {
                Some(names) => Value::PackedStringArray(names),
                // Numbers without a name stay numbers.
                None => Value::from(values),
            }
        }
        "int32" | "sint32" | "sfixed32" | "enum" => int32s(),
        _ => Value::PackedInt64Array(items.iter().map(int).collect()),
    }
}

/// The value of an absent field, if the form contains it.
fn absent(field: &Field, form: Form) -> Option<Value> {
    let shown = match form.shown {
        Shown::Held => false,
        Shown::Implicit => !field.presence,
        Shown::Defaults => !field.presence || (field.oneof.is_none() && field.message.is_none()),
    };
    let nothing = Messages::new();
    shown.then(|| match field.label {
        Label::One => decoded_one(&nothing, field, &field.default, form),
        _ => decoded_field(&nothing, field, &json!([]), form),
    })
}

impl Form {
    fn key(self, name: &str) -> Value {
        if self.string_name_keys { Value::StringName(name.to_owned()) } else { Value::from(name) }
    }
}

fn enum_value(field: &Field, number: i64, form: Form) -> Value {
    let values = field.values.as_ref().expect("an enum has values");
    match values.iter().find(|(_, value)| *value == number) {
        Some((name, _)) if form.enum_names => Value::from(name.as_str()),
        _ => Value::Int(number),
    }
}

pub fn entry(field: &Field) -> (&Field, &Field) {
    let (key, value) = &**field.entry.as_ref().expect("a map has entries");
    (key, value)
}

pub fn key_order(key: &Json) -> (i128, &str) {
    match key {
        Json::Bool(value) => (i128::from(*value), ""),
        Json::Number(number) => (number.as_i128().expect("an int"), ""),
        _ => (0, text(key)),
    }
}

pub fn message_of(field: &Field) -> &str {
    field.message.as_deref().expect("a message has a type")
}

pub fn list(described: &Json) -> &[Json] {
    described.as_array().expect("a list")
}

fn text(described: &Json) -> &str {
    described.as_str().expect("a text")
}

/// An int; unsigned numbers keep their 64 bits.
pub fn int(described: &Json) -> i64 {
    described.as_i64().or(described.as_u64().map(|value| value as i64)).expect("an int")
}

fn float(described: &Json) -> f32 {
    f32::from_bits(u32::from_str_radix(text(described), 16).expect("the bits of a float"))
}

fn double(described: &Json) -> f64 {
    f64::from_bits(u64::from_str_radix(text(described), 16).expect("the bits of a double"))
}
