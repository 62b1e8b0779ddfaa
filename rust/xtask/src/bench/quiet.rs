//! Whether the machine is quiet enough for figures that are published.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// How long the processors are watched, before each process that measures.
const WATCHED: Duration = Duration::from_millis(500);
/// A share of one processor that the system itself may use.
const TOLERATED: f64 = 0.15;
/// A short burst, such as this program's own end of a process, gets another chance.
const ATTEMPTS: u32 = 6;

/// Fails while other processes use the processors: figures would be too low on one side or the other.
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

/// How many processors worked, on average, while they were watched.
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

/// Of all processors, since the system started.
fn ticks() -> Result<Ticks> {
    let stat = fs::read_to_string("/proc/stat").context("only Linux tells how busy its processors are")?;
    parse(&stat).context("/proc/stat has no line of all processors")
}

/// Reads user, nice, system, idle, iowait, irq, softirq and steal; what follows is counted among user already.
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
