//! Comparing a run with an earlier one.

use super::report::{Build, Report, Row};

/// The tolerated loss of a ratio, besides its spread.
const TOLERANCE: f64 = 0.10;

/// Rows that are in both runs.
#[derive(Debug, PartialEq)]
pub struct Comparison {
    /// Their number.
    pub compared: usize,
    /// Messages for those whose ratio fell too far.
    pub fallen: Vec<String>,
}

/// Compares each row of `now` with that in `before`; the runs may have different rows.
pub fn compare(before: &[Report], now: &[Report]) -> Comparison {
    let mut comparison = Comparison { compared: 0, fallen: Vec::new() };
    for report in now {
        for row in &report.rows {
            let Some(old) = find(before, report.build, row) else { continue };
            comparison.compared += 1;
            let allowed = old.ratio * (1.0 - TOLERANCE - old.spread.max(row.spread));
            if row.ratio < allowed {
                comparison.fallen.push(format!(
                    "{}, {} with {} thread(s), {} build: {:.2} × before, {:.2} × now, {:.2} × allowed",
                    row.workload, row.op, row.threads, report.build, old.ratio, row.ratio, allowed
                ));
            }
        }
    }
    comparison
}

fn find<'a>(reports: &'a [Report], build: Build, row: &Row) -> Option<&'a Row> {
    reports
        .iter()
        .filter(|report| report.build == build)
        .flat_map(|report| &report.rows)
        .find(|other| other.is_same_work(row))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{report, row};
    use super::*;

    fn fallen(before: Row, now: Row) -> usize {
        let comparison =
            compare(&[report(Build::Release, vec![before])], &[report(Build::Release, vec![now])]);
        assert_eq!(comparison.compared, 1);
        comparison.fallen.len()
    }

    #[test]
    fn ten_percent_are_tolerated() {
        assert_eq!(fallen(row("x", 4.0, 0.0), row("x", 3.7, 0.0)), 0);
        assert_eq!(fallen(row("x", 4.0, 0.0), row("x", 3.5, 0.0)), 1);
        assert_eq!(fallen(row("x", 4.0, 0.0), row("x", 9.0, 0.0)), 0);
    }

    #[test]
    fn the_larger_spread_is_tolerated_too() {
        assert_eq!(fallen(row("x", 4.0, 0.1), row("x", 3.3, 0.0)), 0);
        assert_eq!(fallen(row("x", 4.0, 0.0), row("x", 3.3, 0.1)), 0);
        assert_eq!(fallen(row("x", 4.0, 0.1), row("x", 3.1, 0.1)), 1);
    }

    #[test]
    fn only_equal_rows_are_compared() {
        let before = [report(Build::Release, vec![row("x", 4.0, 0.0), row("y", 4.0, 0.0)])];
        let other_build = [report(Build::Editor, vec![row("x", 1.0, 0.0)])];
        assert_eq!(compare(&before, &other_build), Comparison { compared: 0, fallen: vec![] });
        let other_threads = [report(Build::Release, vec![Row { threads: 1, ..row("x", 1.0, 0.0) }])];
        assert_eq!(compare(&before, &other_threads).compared, 0);
    }
}
