//! The lines that `godot-project/bench/` prints.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::report::{Op, Row};
use super::statistics::{median, spread};

/// What such a line starts with.
const MARK: &str = "@@ ";

/// One line.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// One direction was timed.
    Samples(Box<Samples>),
    /// The workload cannot be run, because…
    Skipped {
        /// What is missing.
        skipped: String,
    },
    /// One call's memory was watched.
    Memory(Memory),
}

/// Nanoseconds for one call, one for each pair.
#[derive(Debug, Deserialize)]
pub struct Samples {
    op: Op,
    /// A float, as every number in Godot's JSON.
    bytes: f64,
    #[serde(default)]
    codec_bytes: Option<f64>,
    engine: Vec<f64>,
    codec: Vec<f64>,
    /// The loop alone, without a call in it.
    idle: Vec<f64>,
    engine_free: Vec<f64>,
    codec_free: Vec<f64>,
    #[serde(default)]
    floor: Vec<f64>,
    #[serde(default)]
    json: Vec<f64>,
    #[serde(default)]
    text: Vec<f64>,
    #[serde(default)]
    peer: Vec<f64>,
}

/// Bytes that one call added to the process; absent where the system does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// At most, while it ran.
    pub peak: Option<f64>,
    /// When it had returned, with its result.
    pub held: Option<f64>,
    /// When its result was freed.
    pub kept: Option<f64>,
}

/// The marked lines among what Godot printed.
pub fn lines(stdout: &str) -> Result<Vec<Line>> {
    stdout
        .lines()
        .filter_map(|line| line.strip_prefix(MARK))
        .map(|line| serde_json::from_str(line).with_context(|| format!("cannot understand `{line}`")))
        .collect()
}

impl Samples {
    /// The row without what other processes find out. `None` if nothing was measured.
    pub fn row(&self, workload: &str, threads: usize) -> Option<Row> {
        let idle = median(&self.idle)?;
        // The clock counts microseconds; a call that is as fast as nothing still took some time.
        let calls = |times: &[f64]| times.iter().map(|time| (time - idle).max(0.1)).collect::<Vec<_>>();
        let (engine, codec) = (calls(&self.engine), calls(&self.codec));
        let ratios: Vec<_> = engine.iter().zip(&codec).map(|(engine, codec)| engine / codec).collect();
        Some(Row {
            workload: workload.to_owned(),
            op: self.op,
            threads,
            engine_ns: rounded(median(&engine)?),
            codec_ns: rounded(median(&codec)?),
            ratio: median(&ratios)?,
            spread: spread(&ratios)?,
            warm_ratio: None,
            bytes: self.bytes as u64,
            codec_bytes: self.codec_bytes.map(|bytes| bytes as u64),
            floor_ns: median(&calls(&self.floor)).map(rounded),
            pairs: ratios.len(),
            engine_free_ns: rounded(median(&self.engine_free)?),
            free_ns: rounded(median(&self.codec_free)?),
            json_ns: median(&calls(&self.json)).map(rounded),
            text_ns: median(&calls(&self.text)).map(rounded),
            peer_ns: median(&calls(&self.peer)).map(rounded),
            peak_bytes: None,
            engine_peak_bytes: None,
            scratch_bytes: None,
            kept_bytes: None,
            engine_kept_bytes: None,
            target: None,
        })
    }
}

/// No digits that mean nothing.
fn rounded(nanoseconds: f64) -> f64 {
    (nanoseconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_made_of_pairs() {
        let log = "Godot Engine\n@@ {\"bytes\":8.0,\"calls\":1,\"op\":\"encode\",\"engine\":[110.0,210.0,310.0],\
                   \"codec\":[60.0,60.0,60.0],\"idle\":[10.0,10.0,10.0],\"engine_free\":[1.0,2.0,3.0],\
                   \"codec_free\":[4.0,4.0,4.0],\"floor\":[20.0]}\n@@ {\"peak\":9,\"held\":8,\"kept\":null}\n\
                   @@ {\"skipped\":\"no x\"}\n";
        let lines = lines(log).unwrap();
        let Line::Samples(samples) = &lines[0] else { panic!("{lines:?}") };
        let row = samples.row("x", 2).unwrap();
        assert_eq!((row.engine_ns, row.codec_ns, row.ratio, row.pairs), (200.0, 50.0, 4.0, 3));
        assert_eq!(
            (row.floor_ns, row.json_ns, row.engine_free_ns, row.free_ns),
            (Some(10.0), None, 2.0, 4.0)
        );
        assert_eq!(row.spread, 0.5);
        let memory = Memory { peak: Some(9.0), held: Some(8.0), kept: None };
        assert!(matches!(&lines[1], Line::Memory(found) if *found == memory));
        assert!(matches!(&lines[2], Line::Skipped { skipped } if skipped == "no x"));
    }

    #[test]
    fn unknown_lines_are_refused() {
        assert!(lines("@@ {\"op\":\"encode\"}\n").is_err());
        assert!(lines("@@ x\n").is_err());
        assert!(lines("nothing marked\n").unwrap().is_empty());
    }

    #[test]
    fn nothing_measured_is_no_row() {
        let line = "@@ {\"op\":\"decode\",\"bytes\":1,\"engine\":[],\"codec\":[],\"idle\":[],\"engine_free\":[],\
                    \"codec_free\":[]}";
        let lines = lines(line).unwrap();
        assert!(matches!(&lines[0], Line::Samples(samples) if samples.row("x", 1).is_none()));
    }
}
