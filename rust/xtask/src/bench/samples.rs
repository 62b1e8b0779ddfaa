//! The lines that `godot-project/bench/` prints, and the rows computed from them.

use std::fmt;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The prefix of a line with samples.
const MARK: &str = "@@ ";

/// A direction of conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    Encode,
    Decode,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Encode { "encode" } else { "decode" })
    }
}

/// One workload in one direction. Times are medians, in nanoseconds for one call.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub workload: String,
    pub op: Op,
    /// The codec's number of threads.
    pub threads: usize,
    pub engine_ns: f64,
    pub codec_ns: f64,
    /// The median over all pairs of the engine's time divided by the codec's time.
    pub ratio: f64,
    /// The interquartile range of these ratios, divided by their median.
    pub spread: f64,
    pub engine_free_ns: f64,
    pub codec_free_ns: f64,
    /// The encoded size in bytes.
    pub bytes: u64,
    /// The size of the codec's output in bytes. It differs from `bytes` for protobuf and for patches.
    pub codec_bytes: u64,
}

/// The samples of one workload, in nanoseconds per call. Each list has one sample for each pair.
#[derive(Debug, Deserialize)]
struct Samples {
    op: Op,
    /// The encoded size; a float, like every number in Godot's JSON.
    bytes: f64,
    codec_bytes: f64,
    engine: Vec<f64>,
    codec: Vec<f64>,
    /// The time of the loop without a call.
    idle: Vec<f64>,
    engine_free: Vec<f64>,
    codec_free: Vec<f64>,
}

/// The marked lines of a standard output.
pub fn marked(stdout: &str) -> impl Iterator<Item = &str> {
    stdout.lines().filter_map(|line| line.strip_prefix(MARK))
}

pub fn rows(stdout: &str, workload: &str, threads: usize) -> Result<Vec<Row>> {
    marked(stdout)
        .map(|line| {
            let samples: Samples =
                serde_json::from_str(line).with_context(|| format!("cannot read `{line}`"))?;
            samples.row(workload, threads).context("nothing was measured")
        })
        .collect()
}

impl Samples {
    fn row(&self, workload: &str, threads: usize) -> Option<Row> {
        let idle = median(&self.idle)?;
        // The clock counts microseconds, so a fast call can measure as 0 or less.
        let calls = |times: &[f64]| times.iter().map(|time| (time - idle).max(0.1)).collect::<Vec<_>>();
        let (engine, codec) = (calls(&self.engine), calls(&self.codec));
        let ratios: Vec<_> = engine.iter().zip(&codec).map(|(engine, codec)| engine / codec).collect();
        let ratio = median(&ratios)?;
        Some(Row {
            workload: workload.to_owned(),
            op: self.op,
            threads,
            engine_ns: median(&engine)?,
            codec_ns: median(&codec)?,
            ratio,
            spread: (quantile(&ratios, 0.75)? - quantile(&ratios, 0.25)?) / ratio,
            engine_free_ns: median(&self.engine_free)?,
            codec_free_ns: median(&self.codec_free)?,
            bytes: self.bytes as u64,
            codec_bytes: self.codec_bytes as u64,
        })
    }
}

fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `fraction` of the values, interpolated between two of them; `None` if there are no values.
fn quantile(values: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = fraction * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(workload: &str, op: Op, threads: usize, ratio: f64) -> Row {
        Row {
            workload: workload.into(),
            op,
            threads,
            engine_ns: 1000.0 * ratio,
            codec_ns: 1000.0,
            ratio,
            spread: 0.02,
            engine_free_ns: 0.0,
            codec_free_ns: 0.0,
            bytes: 8,
            codec_bytes: 8,
        }
    }

    #[test]
    fn a_row_is_the_median_of_pairs() {
        let log = "Godot Engine\n@@ {\"bytes\":8.0,\"codec_bytes\":8.0,\"op\":\"encode\",\"engine\":[110,210,310],\
                   \"codec\":[60,60,60],\"idle\":[10,10,10],\"engine_free\":[1,2,3],\"codec_free\":[4,4,4]}\n";
        let row = rows(log, "x", 2).unwrap().remove(0);
        assert_eq!((row.engine_ns, row.codec_ns, row.ratio, row.spread), (200.0, 50.0, 4.0, 0.5));
        assert_eq!((row.engine_free_ns, row.codec_free_ns, row.threads), (2.0, 4.0, 2));
        assert!(rows("@@ {\"op\":\"encode\"}\n", "x", 2).is_err());
        assert!(rows(&log.replace("[110,210,310]", "[]"), "x", 2).is_err());
    }

    #[test]
    fn one_outlier_changes_no_median() {
        assert_eq!(median(&[1.0, 1.0, 1.0, 900.0]), Some(1.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
