//! Snapshots over simulated networks, beside a second decoder: `cargo xtask soak snapshots`.
//!
//! Each run has its own schema, network and world. In some runs, `decoder.py`, which was written from docs/snapshot_format.md
//! alone, reads every packet, too. Both must accept the same bytes, whole or damaged, with the same values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use conformance::network::{self, Nobody, Witness};
use conformance::python::Python;
use fastrand::Rng;
use serde_json::{Map, Value as Json, json};
use variant_snapshot::{Kind, Reader, Row, Schema, Value};
use xxhash_rust::xxh3::xxh3_64;

/// The number of ticks of a run.
const TICKS: u64 = 1000;
/// The longest packet that is damaged at every bit and every length.
const SMALL: usize = 40;
/// The number of frames that a reader keeps.
const KEPT: usize = 32;

#[derive(Parser)]
struct Options {
    /// The Python interpreter
    #[arg(long, value_name = "PROGRAM")]
    python: PathBuf,
    /// Seed of the first run; each further run adds one
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run for this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Run for this many ticks
    #[arg(long, value_name = "N")]
    ticks: Option<u64>,
    /// The second decoder takes part in one of this many runs; with 7, all networks take turns
    #[arg(long, value_name = "N", default_value_t = 7)]
    every: u64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut decoder =
        Decoder::new(Python::start(&options.python, "snapshots/decoder.py", &[])?, options.seed);
    let (mut runs, mut ticks, mut accepted, mut beside) = (0, 0, 0, 0);
    let started = Instant::now();
    let in_time = || options.seconds.is_none_or(|seconds| started.elapsed() < Duration::from_secs(seconds));
    while in_time() && options.ticks.is_none_or(|wanted| ticks < wanted) {
        let seed = options.seed + runs;
        let count = options.ticks.map_or(TICKS, |wanted| TICKS.min(wanted - ticks));
        let run = if runs % options.every == 0 {
            beside += count;
            network::run(seed, count as u32, &mut decoder)
        } else {
            network::run(seed, count as u32, &mut Nobody)
        };
        accepted += u64::from(run.with_context(|| format!("seed {seed}"))?);
        (runs, ticks) = (runs + 1, ticks + count);
    }
    println!("{ticks} ticks in {:.1} s, {accepted} snapshots accepted", started.elapsed().as_secs_f32());
    println!("the second decoder beside {beside} ticks:");
    for ((question, is_read), count) in &decoder.counts {
        println!("{count:>9}  {question}: {}", if *is_read { "the same values" } else { "refused by both" });
    }
    println!("{ticks} passed, 0 failed");
    Ok(())
}

/// The second decoder, beside the reader.
struct Decoder {
    python: Python,
    random: Rng,
    /// The ticks of the snapshots of one writer that this reader has accepted.
    received: Vec<u32>,
    /// Whether the next snapshot is another writer's.
    is_followed: bool,
    /// Whether a packet for this reader was damaged everywhere.
    has_damaged: bool,
    /// The number of equal answers, by the question and whether the bytes could be read.
    counts: BTreeMap<(&'static str, bool), u64>,
}

impl Witness for Decoder {
    fn starts(&mut self, schema: &Schema) -> Result<()> {
        (self.received, self.is_followed, self.has_damaged) = (Vec::new(), false, false);
        let fields: Vec<Json> =
            schema.fields().iter().map(|field| described(field.name(), field.kind())).collect();
        let answer: Json = self.python.ask(&json!({ "schema": fields, "hash": schema.hash() }))?;
        let hashed = hex::decode(answer["hashed"].as_str().context("no bytes to hash")?)?;
        ensure!(xxh3_64(&hashed) as u32 == schema.hash(), "another hash of {fields:?}");
        Ok(())
    }

    fn follows(&mut self) {
        self.is_followed = true;
    }

    fn arrives(&mut self, packet: &[u8], reader: &Reader) -> Result<()> {
        let mut damaged = vec![self.damaged(packet)];
        if !self.has_damaged && packet.len() <= SMALL && self.received.len() > KEPT {
            self.has_damaged = true;
            damaged.extend((0..packet.len()).map(|length| packet[..length].to_owned()));
            damaged.extend((0..packet.len() * 8).map(|bit| flipped(packet, bit)));
        }
        damaged.iter().try_for_each(|packet| {
            let mut reader = reader.clone();
            let is_read = reader.read(packet).is_ok();
            self.compare("try", packet, is_read.then(|| state(&reader)))
        })
    }

    fn has_read(&mut self, packet: &[u8], is_accepted: bool, reader: &Reader) -> Result<()> {
        self.compare("snapshot", packet, is_accepted.then(|| state(reader)))?;
        let Some((tick, frame)) = reader.last().filter(|_| is_accepted) else { return Ok(()) };
        if std::mem::take(&mut self.is_followed) {
            self.received.clear();
        }
        self.received.push(tick);
        let question = json!({ "acknowledgement": hex::encode(reader.acknowledgement()) });
        let acknowledged: Json = self.python.ask(&question)?;
        let ticks = acknowledged["ticks"].as_array().context("no ticks")?;
        let are_received = ticks.iter().all(|known| self.received.iter().any(|tick| known == tick));
        // A baseline may be older than the other frames.
        let kept = self.received.iter().rev().take(KEPT - 1);
        let least = kept.filter(|known| tick - **known <= 32).count();
        ensure!(
            ticks.first() == Some(&json!(tick)) && are_received && (least..=least + 1).contains(&ticks.len()),
            "{question}: {acknowledged}"
        );
        if self.random.u8(..) < 30 && !frame.is_empty() {
            let schema = reader.schema();
            let rows: Vec<Row> = (0..frame.len()).map(|index| frame.row(schema, index)).collect();
            let (row, series) = (schema.pack(&rows[0]), schema.pack_series(&rows)?);
            for row in [self.damaged(&row), row] {
                let ours = schema.unpack(&row).ok();
                self.compare("row", &row, ours.map(|row| json!({ "values": values(schema, &row) })))?;
            }
            for series in [self.damaged(&series), series] {
                let ours = schema.unpack_series(&series).ok();
                let ours = ours.map(|rows| rows.iter().map(|row| values(schema, row)).collect::<Vec<_>>());
                self.compare("series", &series, ours.map(|rows| json!({ "values": rows })))?;
            }
        }
        Ok(())
    }
}

impl Decoder {
    fn new(python: Python, seed: u64) -> Self {
        let (random, received, counts) = (Rng::with_seed(seed), Vec::new(), BTreeMap::new());
        Self { python, random, received, is_followed: false, has_damaged: false, counts }
    }

    /// Fails unless the second decoder gives our answer to this question about bytes, or an error if we have none.
    fn compare(&mut self, question: &'static str, bytes: &[u8], ours: Option<Json>) -> Result<()> {
        let hex = hex::encode(bytes);
        let answer: Json = self.python.ask(&json!({ question: hex }))?;
        let is_same = ours.as_ref().map_or(answer.get("error").is_some(), |ours| *ours == answer);
        ensure!(is_same, "{question} {hex}\nour answer: {}\nits answer: {answer}", json!(ours));
        *self.counts.entry((question, ours.is_some())).or_default() += 1;
        Ok(())
    }

    /// The bytes with a flipped bit, or some of them.
    fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.random.bool() {
            flipped(bytes, self.random.usize(..bytes.len() * 8))
        } else {
            bytes[..self.random.usize(..bytes.len())].to_owned()
        }
    }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut flipped = bytes.to_owned();
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

/// A field as `FastSnapshotSchema.fields` has it.
fn described(name: &str, kind: Kind) -> Json {
    let ty = match kind {
        Kind::Bool => "bool",
        Kind::Int { .. } => "int",
        Kind::Float(_) => "float",
        Kind::Vector2(_) => "vector2",
        Kind::Vector3(_) => "vector3",
        Kind::Angle { .. } => "angle",
        Kind::Quaternion { .. } => "quaternion",
        Kind::Variant { .. } => "variant",
    };
    match kind {
        Kind::Bool => json!({ "name": name, "type": ty }),
        Kind::Int { min, max } => json!({ "name": name, "type": ty, "min": min, "max": max }),
        Kind::Float(steps) | Kind::Vector2(steps) | Kind::Vector3(steps) => {
            json!({ "name": name, "type": ty, "min": steps.min, "max": steps.max, "step": steps.step })
        }
        Kind::Angle { bits } | Kind::Quaternion { bits } => json!({ "name": name, "type": ty, "bits": bits }),
        Kind::Variant { max_bytes } => json!({ "name": name, "type": ty, "max_bytes": max_bytes }),
    }
}

/// The answer to a snapshot that was read.
fn state(reader: &Reader) -> Json {
    let Some((tick, _)) = reader.last() else { return Json::Null };
    let (schema, frame) = (reader.schema(), reader.newest());
    let rows = (0..frame.len()).map(|index| values(schema, &frame.row(schema, index)));
    let entities: Map<_, _> = frame.ids().iter().map(u32::to_string).zip(rows).collect();
    json!({ "tick": tick, "entities": entities, "acknowledgement": hex::encode(reader.acknowledgement()) })
}

fn values(schema: &Schema, row: &Row) -> Json {
    let value = |index| match schema.get(row, index) {
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Float(value) => value.into(),
        Value::Vector2(value) => value.to_vec().into(),
        Value::Vector3(value) => value.to_vec().into(),
        Value::Quaternion(value) => value.to_vec().into(),
        Value::Variant(bytes) => hex::encode(bytes).into(),
    };
    let fields = schema.fields().iter().enumerate();
    fields.map(|(index, field)| (field.name().to_owned(), value(index))).collect::<Map<_, Json>>().into()
}
