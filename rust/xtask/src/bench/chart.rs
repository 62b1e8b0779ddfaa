//! Draws the ratios as bars.

use std::path::Path;

use anyhow::{Result, ensure};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::samples::{Op, Row};

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Panel<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::combinators::LogCoord<f64>, RangedCoordf64>,
>;

const WIDTH: u32 = 1200;
/// The width of the column of names.
const NAMES: u32 = 210;
const TITLE: u32 = 92;
const SCALE: u32 = 34;
const ROW: u32 = 30;
const FONT: &str = "sans-serif";
/// The line height, relative to the font size. Plotters includes the line height in a font's size; SVG does
/// not.
const LINE: f64 = 1.24;
/// The scale is at least this many times as long as the longest bar, to leave room for the number after the bar.
const BEYOND: f64 = 1.5;
/// Colours of the bars for one thread and for all threads.
const COLOURS: [RGBColor; 2] = [RGBColor(150, 188, 224), RGBColor(38, 92, 160)];

pub fn draw(rows: &[Row], names: &[&str], to: &Path) -> Result<()> {
    let rows: Vec<_> = rows.iter().filter(|row| names.contains(&row.workload.as_str())).collect();
    ensure!(!rows.is_empty(), "there is nothing to draw");
    let lowest = rows.iter().fold(0.5_f64, |low, row| low.min(row.ratio / BEYOND));
    let highest = rows.iter().fold(2.0_f64, |high, row| high.max(row.ratio * BEYOND));

    let root = SVGBackend::new(to, (WIDTH, TITLE + ROW * names.len() as u32 + SCALE)).into_drawing_area();
    root.fill(&WHITE)?;
    let title =
        "Time of the engine's function over time of the codec: to the right of 1× the codec is faster";
    root.draw(&Text::new(title, (16, 14), (FONT, 17.0 * LINE)))?;
    for (x, colour, text) in [(16, COLOURS[0], "1 thread"), (111, COLOURS[1], "all threads")] {
        root.draw(&Rectangle::new([(x, 46), (x + 14, 58)], colour.filled()))?;
        root.draw(&Text::new(text, (x + 20, 52), label(13, HPos::Left)))?;
    }

    let (_, below_title) = root.split_vertically(TITLE);
    let (_, bars) = below_title.split_horizontally(NAMES);
    for (area, op) in bars.split_evenly((1, 2)).iter().zip([Op::Encode, Op::Decode]) {
        let mut panel = ChartBuilder::on(area)
            .margin_left(14)
            .margin_right(14)
            .set_label_area_size(LabelAreaPosition::Bottom, SCALE)
            .build_cartesian_2d((lowest..highest).log_scale(), 0.0..names.len() as f64)?;
        scale(&root, &panel, op, names.len())?;
        for (index, name) in names.iter().enumerate() {
            let middle = (names.len() - index) as f64 - 0.5;
            if op == Op::Encode {
                let (left, y) = panel.backend_coord(&(lowest, middle));
                root.draw(&Text::new(*name, (left - 10, y), label(14, HPos::Right)))?;
            }
            for row in rows.iter().filter(|row| row.workload == *name && row.op == op) {
                bar(&root, &mut panel, row, middle)?;
            }
        }
        let one = [(1.0, 0.0), (1.0, names.len() as f64)];
        panel.draw_series([PathElement::new(one, BLACK.stroke_width(2))])?;
    }
    root.present()?;
    Ok(())
}

/// Draws one bar, which starts at the line of 1×, and its number.
fn bar(root: &Area<'_>, panel: &mut Panel<'_, '_>, row: &Row, middle: f64) -> Result<()> {
    let place = usize::from(row.threads > 1);
    let top = middle + 0.4 - 0.4 * place as f64;
    let bottom = top - 0.37;
    panel.draw_series([Rectangle::new([(1.0, bottom), (row.ratio, top)], COLOURS[place].filled())])?;
    let (end, y) = panel.backend_coord(&(row.ratio.max(1.0), (top + bottom) / 2.0));
    root.draw(&Text::new(format!("{:.1}", row.ratio), (end + 4, y), label(11, HPos::Left)))?;
    Ok(())
}

fn scale(root: &Area<'_>, panel: &Panel<'_, '_>, op: Op, rows: usize) -> Result<()> {
    let range = panel.x_range();
    for ratio in (-3..8).map(|power| 2_f64.powi(power)).filter(|ratio| range.contains(ratio)) {
        let (x, bottom) = panel.backend_coord(&(ratio, 0.0));
        let (_, top) = panel.backend_coord(&(ratio, rows as f64));
        root.draw(&PathElement::new([(x, top), (x, bottom)], RGBColor(222, 222, 222)))?;
        root.draw(&Text::new(format!("{ratio}×"), (x, bottom + 14), label(13, HPos::Center)))?;
    }
    let (x, top) = panel.backend_coord(&(1.0, rows as f64));
    root.draw(&Text::new(op.to_string(), (x, top - 12), label(16, HPos::Left)))?;
    Ok(())
}

fn label(size: u32, side: HPos) -> TextStyle<'static> {
    (FONT, f64::from(size) * LINE).into_text_style(&(WIDTH, WIDTH)).pos(Pos::new(side, VPos::Center))
}
