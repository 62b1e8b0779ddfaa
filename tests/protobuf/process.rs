//! The official implementation in a separate process, and its answers.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use conformance::python::Python;
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// The process of `oracle.py`.
pub struct Oracle(Python);

/// The versions of the implementation and of Python.
#[derive(Deserialize)]
pub struct About {
    pub version: String,
    pub python: String,
}

/// A random schema, or a schema from the official implementation's tests.
#[derive(Deserialize)]
pub struct RandomSchema {
    /// Texts by path. `main.proto` imports the others.
    pub files: HashMap<String, String>,
    /// The official compiler's descriptor set.
    pub set: Hex,
    pub messages: Messages,
}

/// The fields of each message in order of their numbers, by the message's full name.
pub type Messages = HashMap<String, Vec<Field>>;

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    One,
    Many,
    Map,
}

#[derive(Deserialize)]
pub struct Field {
    pub name: String,
    pub number: u32,
    /// `int32` and so on, `enum` or `message`.
    #[serde(rename = "type")]
    pub ty: String,
    pub label: Label,
    pub presence: bool,
    pub required: bool,
    pub oneof: Option<String>,
    /// The default value, as the oracle describes it.
    pub default: Json,
    pub message: Option<String>,
    /// The names and numbers of the enum's values.
    #[serde(rename = "enum")]
    pub values: Option<Vec<(String, i64)>>,
    /// Whether the enum is closed.
    pub closed: bool,
    /// The key and the value of a map.
    pub entry: Option<Box<(Field, Field)>>,
}

/// A message, and the oracle's reading of its bytes.
#[derive(Deserialize)]
pub struct Row {
    pub message: String,
    pub bytes: Hex,
    pub reading: Reading,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Reading {
    Accepted {
        value: Json,
        /// The rewritten value, if it is known.
        bytes: Option<Hex>,
        /// The rewritten value with unknown fields, unless these include map entries.
        with_unknown: Option<Hex>,
        /// Whether unknown fields include map entries.
        unknown_entries: bool,
        /// Whether all required fields are set.
        complete: bool,
    },
    Refused {
        error: String,
    },
    /// Accepted, but with texts that are invalid UTF-8.
    #[expect(dead_code, reason = "it says that it is so")]
    NotUtf8 {
        not_utf8: bool,
    },
}

impl Reading {
    pub fn value(&self) -> Option<&Json> {
        match self {
            Self::Accepted { value, .. } => Some(value),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Hex(#[serde(with = "hex::serde")] pub Vec<u8>);

impl Oracle {
    /// Starts the oracle with the packages in `PYTHONPATH`. `implementation` is `upb` (the default) or
    /// `python`.
    pub fn start(python: &Path, implementation: &str) -> Result<(Self, About)> {
        let variables = [("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", implementation)];
        let mut oracle = Self(Python::start(python, "protobuf/oracle.py", &variables)?);
        let about = oracle.0.answer()?;
        Ok((oracle, about))
    }

    /// Sets the schema of later questions: this text, or a random one.
    pub fn schema(&mut self, text: Option<&str>, seed: u64) -> Result<RandomSchema> {
        match text {
            Some(text) => self.0.ask(&json!({"ask": "schema", "text": text})),
            None => self.0.ask(&json!({"ask": "schema", "seed": seed})),
        }
    }

    pub fn messages(&mut self, seed: u64, count: usize, kind: &str) -> Result<Vec<Row>> {
        self.0.ask(&json!({"ask": "messages", "seed": seed, "count": count, "kind": kind}))
    }

    /// The oracle's reading of these bytes as messages of these types.
    pub fn read(&mut self, inputs: &[(&str, &[u8])]) -> Result<Vec<Row>> {
        let inputs: Vec<_> =
            inputs.iter().map(|(message, bytes)| json!([message, hex::encode(bytes)])).collect();
        self.0.ask(&json!({"ask": "read", "inputs": inputs}))
    }
}
