//! The ratios as bars.

use std::path::Path;

use anyhow::{Result, ensure};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::report::{Build, Op, Report, Row};

type Panel<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::combinators::LogCoord<f64>, RangedCoordf64>,
>;

const WIDTH: u32 = 1200;
/// The column of names.
const NAMES: u32 = 210;
const TITLE: u32 = 92;
const SCALE: u32 = 34;
const ROW: u32 = 30;
const FONT: &str = "sans-serif";
/// Plotters counts a font's size with its line; an SVG counts without.
const LINE: f64 = 1.24;

/// Room for the number behind the longest bar.
const BEYOND: f64 = 1.5;

/// Draws the rows named, as measured with the most threads, into an SVG file.
pub fn draw(reports: &[Report], names: &[&str], to: &Path) -> Result<()> {
    let ratios: Vec<f64> =
        reports.iter().flat_map(|report| names.iter().flat_map(|name| shown(report, name))).collect();
    ensure!(!ratios.is_empty(), "there is nothing to draw");
    let lowest = ratios.iter().fold(0.5_f64, |low, ratio| low.min(*ratio / BEYOND));
    let highest = ratios.iter().fold(2.0_f64, |high, ratio| high.max(*ratio * BEYOND));

    let height = TITLE + ROW * names.len() as u32 + SCALE;
    let root = SVGBackend::new(to, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let title =
        "Time of the engine's function over time of the codec's: to the right of 1× the codec is faster";
    root.draw(&Text::new(title, (16, 14), (FONT, 17.0 * LINE)))?;
    legend(&root, reports)?;

    let (_, below_title) = root.split_vertically(TITLE);
    let (_, bars) = below_title.split_horizontally(NAMES);
    for (area, op) in bars.split_evenly((1, 2)).iter().zip([Op::Encode, Op::Decode]) {
        let mut panel = ChartBuilder::on(area)
            .margin_left(14)
            .margin_right(14)
            .set_label_area_size(LabelAreaPosition::Bottom, SCALE)
            .build_cartesian_2d((lowest..highest).log_scale(), 0.0..names.len() as f64)?;
        scale(&root, &panel, op, names.len())?;
        for (row, name) in names.iter().enumerate() {
            let middle = (names.len() - row) as f64 - 0.5;
            if op == Op::Encode {
                let (left, y) = panel.backend_coord(&(lowest, middle));
                root.draw(&Text::new(*name, (left - 10, y), label(14, HPos::Right)))?;
            }
            for (place, report) in reports.iter().enumerate() {
                if let Some(found) = find(report, name, op) {
                    bar(&root, &mut panel, found, report.build, middle, place, reports.len())?;
                }
            }
        }
        let one = [(1.0, 0.0), (1.0, names.len() as f64)];
        panel.draw_series([PathElement::new(one, BLACK.stroke_width(2))])?;
    }
    root.present()?;
    Ok(())
}

/// One bar from the line at 1×, its number, and a mark at its target.
fn bar(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    panel: &mut Panel<'_, '_>,
    row: &Row,
    build: Build,
    middle: f64,
    place: usize,
    places: usize,
) -> Result<()> {
    let thickness = 0.8 / places as f64;
    let top = middle + 0.4 - thickness * place as f64;
    let bottom = top - thickness * 0.92;
    panel.draw_series([Rectangle::new([(1.0, bottom), (row.ratio, top)], colour(build).filled())])?;
    if let Some(target) = row.target {
        panel.draw_series([PathElement::new([(target, bottom), (target, top)], RED.stroke_width(2))])?;
    }
    let (end, y) = panel.backend_coord(&(row.ratio.max(1.0), (top + bottom) / 2.0));
    let number = format!("{:.1}", row.ratio);
    root.draw(&Text::new(number, (end + 4, y), label(11, HPos::Left)))?;
    Ok(())
}

/// Lines and numbers at the powers of two, and the direction above them.
fn scale(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    panel: &Panel<'_, '_>,
    op: Op,
    rows: usize,
) -> Result<()> {
    let range = panel.x_range();
    for power in -3..8 {
        let ratio = 2_f64.powi(power);
        if !range.contains(&ratio) {
            continue;
        }
        let (x, bottom) = panel.backend_coord(&(ratio, 0.0));
        let (_, top) = panel.backend_coord(&(ratio, rows as f64));
        root.draw(&PathElement::new([(x, top), (x, bottom)], RGBColor(222, 222, 222)))?;
        root.draw(&Text::new(format!("{ratio}×"), (x, bottom + 14), label(13, HPos::Center)))?;
    }
    let (x, top) = panel.backend_coord(&(1.0, rows as f64));
    root.draw(&Text::new(op.to_string(), (x, top - 12), label(16, HPos::Left)))?;
    Ok(())
}

fn legend(root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, reports: &[Report]) -> Result<()> {
    let mut x = 16;
    for report in reports {
        root.draw(&Rectangle::new([(x, 46), (x + 14, 58)], colour(report.build).filled()))?;
        root.draw(&Text::new(report.build.to_string(), (x + 20, 52), label(13, HPos::Left)))?;
        x += 85;
    }
    root.draw(&PathElement::new([(x + 6, 45), (x + 6, 59)], RED.stroke_width(2)))?;
    root.draw(&Text::new("to reach", (x + 20, 52), label(13, HPos::Left)))?;
    Ok(())
}

fn colour(build: Build) -> RGBColor {
    match build {
        Build::Release => RGBColor(38, 92, 160),
        Build::Editor => RGBColor(150, 188, 224),
    }
}

fn label(size: u32, side: HPos) -> TextStyle<'static> {
    (FONT, f64::from(size) * LINE).into_text_style(&(WIDTH, WIDTH)).pos(Pos::new(side, VPos::Center))
}

fn shown(report: &Report, name: &str) -> Vec<f64> {
    [Op::Encode, Op::Decode].into_iter().filter_map(|op| Some(find(report, name, op)?.ratio)).collect()
}

fn find<'a>(report: &'a Report, name: &str, op: Op) -> Option<&'a Row> {
    let rows = report.rows.iter().filter(|row| row.workload == name && row.op == op);
    rows.max_by_key(|row| row.threads)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::report::tests::{report, row};
    use super::*;

    #[test]
    fn a_chart_names_its_workloads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.svg");
        let reports = [
            report(Build::Release, vec![row("ints", 6.0, 0.0), row("floats", 0.4, 0.0)]),
            report(Build::Editor, vec![row("ints", 9.3, 0.0)]),
        ];
        draw(&reports, &["ints", "floats"], &file).unwrap();
        let svg = fs::read_to_string(&file).unwrap();
        for text in ["ints", "floats", "9.3", "0.4", "editor", "1×"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(draw(&reports, &["nothing"], &file).is_err());
    }

    #[test]
    fn the_most_threads_are_shown() {
        let rows = vec![Row { threads: 1, ..row("x", 2.0, 0.0) }, row("x", 3.0, 0.0)];
        assert_eq!(shown(&report(Build::Release, rows), "x"), [3.0]);
    }
}
