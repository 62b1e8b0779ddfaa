//! Real Godot 3 engines read what the codec writes, and the codec judges bytes as they do.

use std::fs;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Result, ensure};
use conformance::fuzzing::mutate::mutate;
use conformance::godot3::{Answer, judge};
use conformance::{Records, Values};
use fastrand::Rng;
use tempfile::TempDir;
use variant_codec::Value;
use variant_codec::godot3::Loss;
use xtask::godot3::{self, Godot3, padding};
use xtask::run::{self, Echo};
use xtask::workspace::Workspace;

use crate::{count, draw, seed};

const LIMIT: Duration = Duration::from_secs(300);
/// No damaged input is longer.
const LONGEST: usize = 4096;

/// None where there is no Godot 3 for the system.
static ENGINES: LazyLock<(Workspace, Vec<Godot3>)> = LazyLock::new(|| {
    let workspace = Workspace::find().expect("the workspace is here");
    let can_be_had = godot3::can_be_had();
    let engines = can_be_had.then(|| godot3::find_or_install(&workspace).expect("Godot 3 is here"));
    (workspace, engines.unwrap_or_default())
});

/// What an engine makes of each input.
fn ask(workspace: &Workspace, engine: &Godot3, inputs: &[Vec<u8>]) -> Result<Vec<Answer>> {
    let folder = TempDir::new()?;
    let [input, output] = ["input", "output"].map(|name| folder.path().join(name));
    let records =
        inputs.iter().flat_map(|bytes| [&(bytes.len() as u32).to_le_bytes(), bytes.as_slice()].concat());
    fs::write(&input, records.collect::<Vec<u8>>())?;
    let arguments = ["--input", &input.display().to_string(), "--output", &output.display().to_string()];
    let mut command = engine.script(workspace, "res://echo.gd", &arguments.map(str::to_owned));
    // Each input that the engine refuses is a script error.
    let outcome = run::watch(&mut command, Echo::Nothing, LIMIT)?;
    let ended = outcome.bad_end().is_none() && outcome.stdout.ends_with("@@ end\n");
    ensure!(ended, "Godot {} stopped:\n{}", engine.version, outcome.log);
    let output = fs::read(&output)?;
    let mut records = Records(&output);
    let answers = inputs.iter().map(|_| {
        let is_read = records.number()? > 0;
        let mut again = records.bytes()?.to_vec();
        let text = String::from_utf8(records.bytes()?.to_vec())?;
        if !is_read {
            return Ok(Answer::Refused);
        }
        padding::clear(&mut again)?;
        Ok(Answer::Read { again: hex::encode(again), text })
    });
    let answers = answers.collect::<Result<_>>()?;
    ensure!(records.0.is_empty(), "the engine wrote more records than it read");
    Ok(answers)
}

/// Random values as Godot 3 has them.
fn random(seed: u64) -> Vec<Vec<u8>> {
    let encoded =
        |value: Value| value.encode_godot3(Loss::Accepted).expect("lossy values are always written");
    draw(seed, count(), Values::default().any()).into_iter().map(encoded).collect()
}

/// How many inputs were read, read but written in other bytes by design, and refused.
#[derive(Default, Debug)]
struct Tally {
    same: usize,
    unlike: usize,
    refused: usize,
}

fn compare(engine: &Godot3, inputs: &[Vec<u8>], answers: &[Answer], what: &str) -> Result<Tally> {
    let mut tally = Tally::default();
    for (input, answer) in inputs.iter().zip(answers) {
        let is_same = judge(input, answer).map_err(|problem| {
            anyhow::anyhow!("{what}, Godot {}: {}: {problem}", engine.version, hex::encode(input))
        })?;
        let counter = match answer {
            Answer::Read { .. } if is_same => &mut tally.same,
            Answer::Read { .. } => &mut tally.unlike,
            _ => &mut tally.refused,
        };
        *counter += 1;
    }
    println!("{what}, Godot {}: {tally:?}", engine.version);
    Ok(tally)
}

#[test]
fn the_engine_writes_our_values_the_same() -> Result<()> {
    let seed = seed();
    let (workspace, engines) = &*ENGINES;
    let inputs = random(seed);
    for engine in engines {
        let answers = ask(workspace, engine, &inputs)?;
        let tally = compare(engine, &inputs, &answers, &format!("values, seed {seed}"))?;
        ensure!(tally.refused == 0 && tally.unlike < inputs.len() / 4, "{tally:?}");
    }
    Ok(())
}

#[test]
fn the_engine_judges_damaged_bytes_as_we_do() -> Result<()> {
    let seed = seed();
    let (workspace, engines) = &*ENGINES;
    let mut rng = Rng::with_seed(seed);
    let mut inputs = random(seed.wrapping_add(1));
    inputs.iter_mut().for_each(|input| mutate(input, LONGEST, rng.u64(..)));
    for engine in engines {
        let answers = ask(workspace, engine, &inputs)?;
        let tally = compare(engine, &inputs, &answers, &format!("damaged bytes, seed {seed}"))?;
        let enough = inputs.len() / 20;
        ensure!(tally.same > enough && tally.refused > enough, "the inputs are one-sided: {tally:?}");
    }
    Ok(())
}

/// Every first byte of a character, with what decides about it behind it.
#[test]
fn the_engine_reads_text_as_we_do() -> Result<()> {
    const TAILS: [u8; 7] = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF];
    let mut inputs = Vec::new();
    for lead in 0x80..=0xFF_u8 {
        let tails = TAILS.iter().flat_map(|second| TAILS.map(|third| [*second, third]));
        for [second, third, rest] in
            tails.flat_map(|[second, third]| [0x80, 0xBF].map(|rest| [second, third, rest]))
        {
            let length = (lead.leading_ones() as usize).clamp(1, 6);
            let text = &[lead, second, third, rest, rest, rest][..length];
            let mut input = [4, 0, 0, 0, text.len() as u8, 0, 0, 0].to_vec();
            input.extend(text);
            input.resize(input.len().next_multiple_of(4), 0);
            if inputs.last() != Some(&input) {
                inputs.push(input);
            }
        }
    }
    let (workspace, engines) = &*ENGINES;
    for engine in engines {
        let answers = ask(workspace, engine, &inputs)?;
        compare(engine, &inputs, &answers, "text")?;
    }
    Ok(())
}
