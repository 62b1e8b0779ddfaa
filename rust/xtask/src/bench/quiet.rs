//! Checks that the machine is quiet enough for published figures.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The time for which the processors are watched before each measuring process.
const WATCHED: Duration = Duration::from_millis(500);
/// The share of one processor that other processes may use.
const TOLERATED: f64 = 0.15;
/// The number of attempts to find the processors idle. A short burst, such as the end of the previous
/// process, may spoil an attempt.
const ATTEMPTS: u32 = 6;

/// Fails while other processes use the processors, because they would distort the ratios.
pub fn require() -> Result<()> {
    let mut busy = 0.0;
    for _ in 0..ATTEMPTS {
        busy = busy_processors()?;
        if busy <= TOLERATED {
            return Ok(());
        }
    }
    bail!(
        "other processes use {busy:.1} processors; expected a quiet machine. End them, or run without --document"
    );
}

fn busy_processors() -> Result<f64> {
    let before = ticks()?;
    thread::sleep(WATCHED);
    let after = ticks()?;
    let total = (after.total - before.total).max(1) as f64;
    let busy = total - (after.idle - before.idle) as f64;
    Ok(busy / total * thread::available_parallelism().map_or(1, usize::from) as f64)
}

struct Ticks {
    total: u64,
    idle: u64,
}

/// The ticks of all processors since the system started.
fn ticks() -> Result<Ticks> {
    let stat = fs::read_to_string("/proc/stat").context("only Linux tells how busy its processors are")?;
    parse(&stat).context("/proc/stat has no line of all processors")
}

/// Reads user, nice, system, idle, iowait, irq, softirq and steal. The later fields, guest and guest_nice,
/// are already counted in user and nice.
fn parse(stat: &str) -> Option<Ticks> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let fields: Vec<u64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(Ticks { total: fields.iter().sum(), idle: fields.get(3)? + fields.get(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle() {
        let ticks = parse("cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 1\n").unwrap();
        assert_eq!((ticks.total, ticks.idle), (100, 84));
        assert!(parse("intr 5\n").is_none());
    }
}
