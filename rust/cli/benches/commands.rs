//! `cargo bench --package gdvar`: times the commands on large files. Times jq and jaq, if installed, on the
//! same data in JSON form. Prints the shortest time of several runs.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use variant_codec::{Reals, Value, frames};

const RUNS: usize = 7;
const MIB: f64 = (1 << 20) as f64;

fn creature(index: i64, random: &mut Rng) -> Value {
    let item = |random: &mut Rng| Value::from_iter([("id", random.i64(..1000)), ("count", random.i64(..9))]);
    let position = [random.f32() * 100.0, 1.5, random.f32() * 50.0];
    Value::from_iter([
        ("id", index.into()),
        ("name", Value::from(format!("creature {index}"))),
        ("hp", random.i64(..100).into()),
        ("position", Value::Vector3(Reals::Single(position))),
        ("tags", ["a", "enemy", "flying"].map(Value::from).into_iter().collect()),
        ("speed", (random.f64() * 10.0).into()),
        ("is_alive", true.into()),
        ("items", (0..3).map(|_| item(random)).collect()),
    ])
}

fn save(place: &Path, count: i64, record: impl Fn(i64, &mut Rng) -> Value) -> std::io::Result<u64> {
    let mut random = Rng::with_seed(1);
    let mut file = BufWriter::new(File::create(place)?);
    for index in 0..count {
        let mut batch = Vec::new();
        frames::append(&mut batch, &record(index, &mut random).encode().map_err(std::io::Error::other)?);
        file.write_all(&batch)?;
    }
    file.flush()?;
    Ok(fs::metadata(place)?.len())
}

/// The shortest time of [`RUNS`] runs; `None` if the program is not installed or fails.
fn best(program: &str, arguments: &[&str], folder: &Path) -> Option<Duration> {
    let run = || {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdout(Stdio::null());
        let start = Instant::now();
        command.status().ok().filter(|status| status.success()).map(|_| start.elapsed())
    };
    (0..RUNS).map(|_| run()).collect::<Option<Vec<_>>>()?.into_iter().min()
}

fn row(what: &str, bytes: u64, time: Option<Duration>) {
    match time {
        Some(time) => {
            let (milliseconds, speed) = (time.as_secs_f64() * 1e3, bytes as f64 / MIB / time.as_secs_f64());
            println!("{what:50} {milliseconds:>9.1} ms {speed:>8.0} MiB/s");
        }
        None => println!("{what:50} not installed"),
    }
}

fn main() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let gdvar = env!("CARGO_BIN_EXE_gdvar");
    let creatures = save(&folder.join("creatures.dat"), 400_000, creature)?;
    let worlds = save(&folder.join("worlds.dat"), 1000, |index, random| {
        let heights: Vec<f32> = (0..1 << 18).map(|_| random.f32()).collect();
        Value::from_iter([("id", Value::from(index)), ("heights", Value::PackedFloat32Array(heights))])
    })?;
    let json = Command::new(gdvar)
        .args(["json", "creatures.dat", "--plain", "--lines"])
        .current_dir(folder)
        .stdout(File::create(folder.join("creatures.json"))?)
        .status()?;
    assert!(json.success());
    let text = fs::metadata(folder.join("creatures.json"))?.len();

    println!("\n400,000 records, {:.0} MiB; as JSON, {:.0} MiB", creatures as f64 / MIB, text as f64 / MIB);
    for command in ["check", "json", "stats", "fingerprint"] {
        row(&format!("gdvar {command}"), creatures, best(gdvar, &[command, "creatures.dat"], folder));
    }
    row("gdvar query .hp", creatures, best(gdvar, &["query", "creatures.dat", ".hp"], folder));
    row("jq .hp, of JSON", text, best("jq", &[".hp", "creatures.json"], folder));
    row("jaq .hp, of JSON", text, best("jaq", &[".hp", "creatures.json"], folder));
    row("gdvar get, the last record", creatures, best(gdvar, &["get", "creatures.dat", "399999/hp"], folder));
    println!("\n1,000 records, {:.0} MiB", worlds as f64 / MIB);
    row(
        "gdvar get, a number of the last record",
        worlds,
        best(gdvar, &["get", "worlds.dat", "999/id"], folder),
    );
    row("gdvar check", worlds, best(gdvar, &["check", "worlds.dat"], folder));
    Ok(())
}
