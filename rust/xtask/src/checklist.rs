//! [`Checklist`]: runs steps one after the other and records their results.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::judge::Tally;

#[derive(Default)]
pub struct Checklist {
    lines: Vec<Line>,
}

struct Line {
    name: String,
    verdict: Verdict,
    elapsed: Duration,
}

enum Verdict {
    Passed(Tally),
    Failed,
    Skipped(&'static str),
}

impl Checklist {
    /// Runs a step that also returns a result; the step itself counts as one check.
    pub fn step<T>(&mut self, name: &str, step: impl FnOnce() -> Result<(Tally, T)>) -> Result<T> {
        println!("\n== {name}");
        let started = Instant::now();
        let result = step().with_context(|| format!("the step \"{name}\" failed"));
        let elapsed = started.elapsed();
        let verdict = match &result {
            Ok((tally, _)) => Verdict::Passed(*tally),
            Err(_) => Verdict::Failed,
        };
        println!("== {name}: {:.1} s", elapsed.as_secs_f32());
        self.lines.push(Line { name: name.to_owned(), verdict, elapsed });
        result.map(|(_, made)| made)
    }

    /// Records a step that cannot run on this machine.
    pub fn skip(&mut self, name: &str, reason: &'static str) {
        println!("\n== {name}: skipped: {reason}");
        self.lines.push(Line {
            name: name.to_owned(),
            verdict: Verdict::Skipped(reason),
            elapsed: Duration::ZERO,
        });
    }

    fn total(&self) -> Tally {
        let step = |line: &Line| match line.verdict {
            Verdict::Passed(tally) => tally + Tally { passed: 1, failed: 0 },
            Verdict::Failed => Tally { passed: 0, failed: 1 },
            Verdict::Skipped(_) => Tally::default(),
        };
        self.lines.iter().map(step).sum()
    }

    pub fn print(&self) {
        let width = self.lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
        println!();
        for Line { name, verdict, elapsed } in &self.lines {
            let seconds = elapsed.as_secs_f32();
            let text = match verdict {
                Verdict::Passed(tally) if tally.passed > 0 => format!("ok, {} checks", tally.passed),
                Verdict::Passed(_) => "ok".into(),
                Verdict::Failed => "FAILED".into(),
                Verdict::Skipped(reason) => format!("skipped: {reason}"),
            };
            println!("{name:width$}  {seconds:7.1} s  {text}");
        }
        let elapsed: Duration = self.lines.iter().map(|line| line.elapsed).sum();
        println!("{:width$}  {:7.1} s", "all", elapsed.as_secs_f32());
        println!("\n{}", self.total());
    }
}
