//! [`Plain`]: values as the nearest JSON, without their types.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use variant_codec::Value;
use variant_codec::value::Object;

/// Writes a value as `json --plain` does.
pub struct Plain<'v>(pub &'v Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) | Value::StringName(text) => serializer.serialize_str(text),
            Value::NodePath(path) => serializer.collect_str(path),
            Value::Signal { name, .. } => serializer.serialize_str(name),
            Value::Array(array) => serializer.collect_seq(array.values.iter().map(Plain)),
            Value::Dictionary(dictionary) => {
                let entries = dictionary.iter().map(|(key, value)| Ok((key_text(key)?, Plain(value))));
                let entries: serde_json::Result<Vec<_>> = entries.collect();
                serializer.collect_map(entries.map_err(S::Error::custom)?)
            }
            Value::Object(Object::Full { class, properties }) => {
                let class = Value::from(class.as_str());
                let properties = properties.iter().map(|(name, value)| (name.as_str(), Plain(value)));
                serializer.collect_map([("@class", Plain(&class))].into_iter().chain(properties))
            }
            other => bare(serde_json::to_value(other).map_err(S::Error::custom)?).serialize(serializer),
        }
    }
}

/// A key as JSON, whose keys are texts. Containers keep their lossless form, which needs no escapes within escapes.
fn key_text(key: &Value) -> serde_json::Result<String> {
    match key {
        Value::String(text) | Value::StringName(text) => Ok(text.clone()),
        Value::NodePath(path) => Ok(path.to_string()),
        Value::Array(_) | Value::Dictionary(_) => serde_json::to_string(key),
        other => serde_json::to_string(&Plain(other)),
    }
}

/// The content of a lossless form.
fn bare(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Object(form) => {
            form.into_iter().next().map(|(_, content)| bare(content)).unwrap_or_default()
        }
        serde_json::Value::Array(list) => list.into_iter().map(bare).collect(),
        other => other,
    }
}
