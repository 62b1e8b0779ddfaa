//! The real engine, headless and without the addon, reads what the codec writes, and the other way round.
//!
//! `CONFORMANCE_SEED` repeats a run, `CONFORMANCE_VALUES` makes it longer.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use conformance::{
    Records, Values, damaged_bytes, has_equal_keys, has_instance_ids, has_misfits, is_refusal, transcode,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use tempfile::TempDir;
use variant_codec::stream::{Decoder, Precision, ValueBuilder};
use variant_codec::{EncodeOptions, Limits, Strictness, Value};
use xtask::godot::Godot;
use xtask::project::Project;
use xtask::run::{self, Echo};
use xtask::workspace::Workspace;
use xtask::{godot, judge};

const LIMIT: Duration = Duration::from_secs(300);

/// What a project needs for the scripts to run.
const FILES: [(&str, &str); 4] = [
    ("project.godot", include_str!("godot/project.godot")),
    ("echo.gd", include_str!("godot/echo.gd")),
    ("objects.gd", include_str!("godot/objects.gd")),
    ("thing.gd", include_str!("godot/thing.gd")),
];

static ENGINE: LazyLock<(Workspace, Godot)> = LazyLock::new(|| {
    let workspace = Workspace::find().expect("the workspace is here");
    let godot = godot::find_or_install(&workspace).expect("a Godot is here");
    println!("{} at {}", godot.version, godot.editor.display());
    (workspace, godot)
});

/// Runs a script with an input and an output file; returns the output.
fn engine(script: &str, input: Option<&[u8]>) -> Result<Vec<u8>> {
    let (workspace, godot) = &*ENGINE;
    let folder = TempDir::new()?;
    for (name, text) in FILES {
        fs::write(folder.path().join(name), text)?;
    }
    let output = folder.path().join("output");
    let mut arguments = Vec::new();
    if let Some(bytes) = input {
        let input = folder.path().join("input");
        fs::write(&input, bytes)?;
        arguments.push(input.display().to_string());
    }
    arguments.push(output.display().to_string());
    let project = Project::new(workspace, godot, folder.path())?;
    let outcome = run::watch(&mut project.script(script, &arguments), Echo::Nothing, LIMIT)?;
    judge::clean(&outcome).with_context(|| outcome.log.clone())?;
    fs::read(&output).with_context(|| outcome.log)
}

/// How many bytes the engine read, and what it wrote then; `None` where it refused.
type Echoed = Option<(usize, Vec<u8>)>;

/// What the engine makes of each input.
fn echo(inputs: &[Vec<u8>]) -> Result<Vec<Echoed>> {
    let records =
        inputs.iter().flat_map(|bytes| [&(bytes.len() as u32).to_le_bytes(), bytes.as_slice()].concat());
    let output = engine("res://echo.gd", Some(&records.collect::<Vec<u8>>()))?;
    let mut records = Records(&output);
    let echoed = inputs.iter().map(|_| {
        let consumed = records.number()?;
        let bytes = records.bytes()?.to_vec();
        Ok((consumed > 0).then_some((consumed, bytes)))
    });
    let echoed = echoed.collect::<Result<_>>()?;
    ensure!(records.0.is_empty(), "the engine wrote more records than it read");
    Ok(echoed)
}

/// Random things from a seed that a failing run shows.
struct Random {
    seed: u64,
    runner: TestRunner,
}

impl Random {
    fn new() -> Self {
        let seed = match env::var("CONFORMANCE_SEED") {
            Ok(seed) => seed.parse().expect("CONFORMANCE_SEED is a number"),
            Err(_) => SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64),
        };
        println!("CONFORMANCE_SEED={seed}");
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self { seed, runner: TestRunner::new_with_rng(Default::default(), rng) }
    }

    fn draw<S: Strategy>(&mut self, count: usize, strategy: S) -> Vec<S::Value> {
        let mut one = || strategy.new_tree(&mut self.runner).expect("a value").current();
        (0..count).map(|_| one()).collect()
    }
}

fn count() -> usize {
    env::var("CONFORMANCE_VALUES")
        .map_or(4000, |count| count.parse().expect("CONFORMANCE_VALUES is a number"))
}

/// Whether the bytes are the same but for instance ids, which the engine replaces by those of wrappers.
fn same_but_ids(ours: &[u8], engines: &[u8]) -> bool {
    const BY_ID: [u8; 4] = [24, 0, 1, 0];
    let (ours, engines) = (ours.as_chunks::<4>().0, engines.as_chunks::<4>().0);
    let is_id = |at: usize| ours[at.saturating_sub(2)..at].contains(&BY_ID);
    ours.len() == engines.len() && (0..ours.len()).all(|at| ours[at] == engines[at] || is_id(at))
}

#[test]
fn the_engine_writes_our_values_the_same() -> Result<()> {
    let mut random = Random::new();
    let values = random.draw(count(), Values::default().any());
    let inputs: Vec<_> = values.iter().map(|value| value.encode().expect("no value is too deep")).collect();
    for ((value, ours), engines) in values.iter().zip(&inputs).zip(echo(&inputs)?) {
        let what = || format!("seed {}: {value:?} as {}", random.seed, hex::encode(ours));
        let (consumed, bytes) = engines.with_context(|| format!("refused: {}", what()))?;
        ensure!(consumed == ours.len(), "{consumed} bytes read: {}", what());
        let same = *ours == bytes || has_instance_ids(value) && same_but_ids(ours, &bytes);
        ensure!(same, "written as {}: {}", hex::encode(bytes), what());
    }
    Ok(())
}

#[test]
fn the_engine_narrows_as_we_do() -> Result<()> {
    let mut random = Random::new();
    let wide = EncodeOptions { precision: Precision::Double, ..EncodeOptions::default() };
    let values = random.draw(count() / 2, Values { precision: Precision::Double, ..Values::default() }.any());
    let inputs: Vec<_> =
        values.iter().map(|value| value.encode_as(wide).expect("no value is too deep")).collect();
    for (input, engines) in inputs.iter().zip(echo(&inputs)?) {
        let what = || format!("seed {}: {}", random.seed, hex::encode(input));
        let (consumed, bytes) = engines.with_context(|| format!("refused: {}", what()))?;
        ensure!(consumed == input.len(), "{consumed} bytes read: {}", what());
        let ours = transcode(input, Strictness::Strict, &Limits::unlimited(), Precision::Single)?;
        let narrow = Value::decode(&ours, &Limits::unlimited())?;
        // Different keys may be equal once they are narrow.
        let same = ours == bytes
            || has_equal_keys(&narrow)
            || has_instance_ids(&narrow) && same_but_ids(&ours, &bytes);
        ensure!(same, "written as {}, by us as {}: {}", hex::encode(bytes), hex::encode(ours), what());
    }
    Ok(())
}

#[test]
fn the_engine_judges_damaged_bytes_as_we_do() -> Result<()> {
    let mut random = Random::new();
    let inputs = random.draw(count() * 2, damaged_bytes(Values::default()));
    let limits = Limits::unlimited();
    let (mut refused_by_both, mut same, mut refusals, mut unlike) = (0, 0, 0, 0);
    for (input, engines) in inputs.iter().zip(echo(&inputs)?) {
        let what = || format!("seed {}: {}", random.seed, hex::encode(input));
        let mut builder = ValueBuilder::default();
        let ours = Decoder::new(input, Strictness::Lenient, &limits).decode_only(&mut builder);
        match (ours, engines) {
            (Err(_), None) => refused_by_both += 1,
            (Err(error), Some(_)) if is_refusal(&error) => refusals += 1,
            (Err(error), Some(_)) => anyhow::bail!("refused only by us: {error}: {}", what()),
            (Ok(_), None) => anyhow::bail!("refused only by the engine: {}", what()),
            (Ok(position), Some((consumed, bytes))) => {
                ensure!(position == consumed, "read {position} bytes, the engine {consumed}: {}", what());
                let value = builder.into_value();
                let ours = value.encode()?;
                if ours == bytes || has_instance_ids(&value) && same_but_ids(&ours, &bytes) {
                    same += 1;
                } else {
                    // Where the engine converts, drops or merges, the bytes cannot be the same.
                    let explained = has_misfits(&value) || has_equal_keys(&value);
                    ensure!(
                        explained,
                        "written as {}, by us as {}: {}",
                        hex::encode(bytes),
                        hex::encode(ours),
                        what()
                    );
                    unlike += 1;
                }
            }
        }
    }
    println!(
        "{} inputs: {same} read and written the same, {refused_by_both} refused by both, {refusals} refused on purpose, \
         {unlike} with misfits or equal keys",
        inputs.len()
    );
    ensure!(refusals + unlike < inputs.len() / 20, "too many exceptions");
    ensure!(refused_by_both > inputs.len() / 10 && same > inputs.len() / 10, "the inputs are one-sided");
    Ok(())
}

#[test]
fn we_write_the_engines_objects_the_same() -> Result<()> {
    let output = engine("res://objects.gd", None)?;
    let mut records = Records(&output);
    let limits = Limits { allow_objects: true, ..Limits::for_save_files() };
    let mut checked = 0;
    while !records.0.is_empty() {
        let bytes = records.bytes()?;
        let streamed = transcode(bytes, Strictness::Strict, &limits, Precision::Single);
        let streamed = streamed.with_context(|| hex::encode(bytes))?;
        ensure!(streamed == bytes, "{} written as {}", hex::encode(bytes), hex::encode(streamed));
        ensure!(Value::decode(bytes, &limits)?.encode()? == bytes, "{}", hex::encode(bytes));
        checked += 1;
    }
    ensure!(checked == 53, "{checked} values with objects");
    Ok(())
}
