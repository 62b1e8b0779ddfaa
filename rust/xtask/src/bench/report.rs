//! What one build of the engine was measured to do, as `--json` writes it.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Below this a codec counts as slower; above it, and below 1, the difference is noise.
pub const SLOWER: f64 = 0.95;

/// A build of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Build {
    /// What shipped games are made of; the one that counts.
    Release,
    /// The editor program, which is a debug build.
    Editor,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Value to bytes.
    Encode,
    /// Bytes to value.
    Decode,
}

/// All rows of one build.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The engine's version.
    pub engine: String,
    /// Which build of it.
    pub build: Build,
    /// What was measured.
    pub rows: Vec<Row>,
    /// The processor and how many there are.
    #[serde(default)]
    pub machine: String,
    /// How the heap was set up for `warm_ratio`.
    #[serde(default)]
    pub warm_heap: String,
    /// Whether it was a quick run, which has few samples.
    #[serde(default)]
    pub quick: bool,
    /// Workloads that could not be measured, and why.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// A workload that could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its name.
    pub workload: String,
    /// What stood in the way.
    pub reason: String,
}

/// One workload in one direction. Times are medians, in nanoseconds for one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub workload: String,
    /// The direction.
    pub op: Op,
    /// How many threads the codec had.
    pub threads: usize,
    /// What the engine's function took.
    pub engine_ns: f64,
    /// What the codec took.
    pub codec_ns: f64,
    /// The median of engine time over codec time, pair by pair.
    pub ratio: f64,
    /// The width of the middle half of these ratios, over their median.
    pub spread: f64,
    /// The ratio in a process that keeps the memory that it frees.
    #[serde(default)]
    pub warm_ratio: Option<f64>,
    /// The size of the encoded form.
    pub bytes: u64,
    /// The same for the codec, which has other formats, too.
    #[serde(default)]
    pub codec_bytes: Option<u64>,
    /// Encoding: the bytes copied into a fresh array. Decoding: `duplicate(true)` of the value.
    pub floor_ns: Option<f64>,
    /// How many pairs were measured.
    #[serde(default)]
    pub pairs: usize,
    /// What freeing the engine's result took.
    #[serde(default)]
    pub engine_free_ns: f64,
    /// What freeing the codec's result took.
    #[serde(default)]
    pub free_ns: f64,
    /// `JSON.stringify` or `JSON.parse_string`.
    #[serde(default)]
    pub json_ns: Option<f64>,
    /// `var_to_str` or `str_to_var`.
    #[serde(default)]
    pub text_ns: Option<f64>,
    /// GUS 2, another extension.
    #[serde(default)]
    pub peer_ns: Option<f64>,
    /// The most memory that the codec added during a call, its result included.
    #[serde(default)]
    pub peak_bytes: Option<i64>,
    /// The same for the engine's function.
    #[serde(default)]
    pub engine_peak_bytes: Option<i64>,
    /// What of `peak_bytes` was gone again when the call returned.
    #[serde(default)]
    pub scratch_bytes: Option<i64>,
    /// What the codec still had after its result was freed.
    #[serde(default)]
    pub kept_bytes: Option<i64>,
    /// The same for the engine's function: what freed memory the allocator keeps.
    #[serde(default)]
    pub engine_kept_bytes: Option<i64>,
    /// The ratio to reach.
    #[serde(default)]
    pub target: Option<f64>,
}

/// What a row is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Slower than the engine.
    Slower,
    /// Not slower, but the target was not reached.
    Missed,
    /// The target was reached.
    Met,
    /// Nothing was to be reached.
    Open,
}

impl Row {
    /// Whether both measure the same work with as many threads.
    pub fn is_same_work(&self, other: &Self) -> bool {
        (&self.workload, self.op, self.threads) == (&other.workload, other.op, other.threads)
    }

    /// A target of 1 is met where the codec does not count as slower.
    pub fn verdict(&self) -> Verdict {
        match self.target {
            _ if self.ratio < SLOWER => Verdict::Slower,
            Some(target) if self.ratio < target && target > 1.0 => Verdict::Missed,
            Some(_) => Verdict::Met,
            None => Verdict::Open,
        }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Release => "release",
            Self::Editor => "editor",
        })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encode => "encode",
            Self::Decode => "decode",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slower => "slower",
            Self::Missed => "missed",
            Self::Met => "met",
            Self::Open => "",
        })
    }
}

/// One build is one object in the file, several are an array of them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum File {
    One(Report),
    Several(Vec<Report>),
}

/// Writes what `--json` asks for.
pub fn write(reports: &[Report], to: &Path) -> Result<()> {
    let file = match reports {
        [one] => File::One(one.clone()),
        several => File::Several(several.to_vec()),
    };
    fs::write(to, serde_json::to_string_pretty(&file)? + "\n")
        .with_context(|| format!("cannot write {}", to.display()))
}

/// Reads what [`write`] wrote.
pub fn read(from: &Path) -> Result<Vec<Report>> {
    let text = fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    let file = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a file of `cargo xtask bench --json`", from.display()))?;
    Ok(match file {
        File::One(report) => vec![report],
        File::Several(reports) => reports,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn report(build: Build, rows: Vec<Row>) -> Report {
        let (machine, warm_heap) = (String::new(), String::new());
        Report { engine: "4.6".into(), build, rows, machine, warm_heap, quick: true, skipped: vec![] }
    }

    pub fn row(workload: &str, ratio: f64, spread: f64) -> Row {
        Row {
            workload: workload.into(),
            op: Op::Encode,
            threads: 2,
            engine_ns: 1000.0 * ratio,
            codec_ns: 1000.0,
            ratio,
            spread,
            warm_ratio: None,
            bytes: 8,
            codec_bytes: None,
            floor_ns: None,
            pairs: 5,
            engine_free_ns: 0.0,
            free_ns: 0.0,
            json_ns: None,
            text_ns: None,
            peer_ns: None,
            peak_bytes: None,
            engine_peak_bytes: None,
            scratch_bytes: None,
            kept_bytes: None,
            engine_kept_bytes: None,
            target: None,
        }
    }

    #[test]
    fn verdicts() {
        let verdict = |ratio, target| Row { target, ..row("x", ratio, 0.0) }.verdict();
        assert_eq!(verdict(0.94, None), Verdict::Slower);
        assert_eq!(verdict(0.94, Some(1.0)), Verdict::Slower);
        assert_eq!(verdict(0.96, Some(1.0)), Verdict::Met);
        assert_eq!(verdict(0.96, None), Verdict::Open);
        assert_eq!(verdict(4.9, Some(5.0)), Verdict::Missed);
        assert_eq!(verdict(5.0, Some(5.0)), Verdict::Met);
    }

    #[test]
    fn files_hold_one_report_or_several() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.json");
        let reports = [report(Build::Release, vec![row("x", 2.0, 0.1)]), report(Build::Editor, vec![])];
        for count in [1, 2] {
            write(&reports[..count], &file).unwrap();
            let back = read(&file).unwrap();
            assert_eq!(back.len(), count);
            assert_eq!(back[0].rows[0].workload, "x");
        }
        fs::write(&file, "{}").unwrap();
        assert!(read(&file).is_err());
    }

    #[test]
    fn the_fields_that_others_read_are_enough() {
        let text = r#"{"engine":"4.6","build":"editor","rows":[{"workload":"x","op":"decode","threads":1,
            "engine_ns":2,"codec_ns":1,"ratio":2,"spread":0.1,"bytes":8,"floor_ns":null}]}"#;
        assert!(matches!(serde_json::from_str(text).unwrap(), File::One(_)));
    }
}
