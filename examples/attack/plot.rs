//! The sieges as curves: how many permits were allowed in the trailing period.
//!
//! Each algorithm has a panel of its own, one above the other on the same scale. In a single one
//! the curves would hide each other, as most of the time they run along the line of the limit.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::SECOND;
use crate::clock::Clock;
use crate::siege::{LENGTH, LIMIT, START, Siege};

const SIZE: (u32, u32) = (960, 880);
const TITLE_HEIGHT: u32 = 50;
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(222, 222, 222);
const LIMIT_COLOUR: RGBColor = RGBColor(200, 40, 40);
const CURVE_COLOUR: RGBColor = RGBColor(31, 97, 160);

type Drawn<T> = Result<T, Box<dyn std::error::Error>>;

/// Draws the curves as an SVG.
///
/// # Errors
///
/// If the drawing library fails; it has no reason to, as this writes to memory.
pub fn draw(sieges: &[Siege]) -> Drawn<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (title, panels) = root.split_vertically(TITLE_HEIGHT);
        let text = format!(
            "Permits allowed in the trailing {:?}, limit {LIMIT}",
            LIMIT.period()
        );
        title.draw_text(
            &text,
            &("sans-serif", 22)
                .into_font()
                .color(&INK)
                .pos(Pos::new(HPos::Left, VPos::Top)),
            (20, 16),
        )?;

        let highest = sieges.iter().map(|siege| siege.trailing.most()).max();
        let top = highest.unwrap_or(0).max(LIMIT.permits()) * 11 / 10;
        for (siege, panel) in sieges.iter().zip(panels.split_evenly((sieges.len(), 1))) {
            draw_panel(siege, top, &panel)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_panel(siege: &Siege, top: u64, panel: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn<()> {
    const MINUTE: u64 = 60 * SECOND;
    let end = START + LENGTH;
    let mut labelled = vec![START];
    labelled.extend((START / MINUTE + 1..=end / MINUTE).map(|minute| minute * MINUTE));
    let clock = (START..end).with_key_points(labelled);
    let counts = (0..top).with_key_points((0..=top).step_by(50).collect());

    let caption = format!(
        "{}: {} allowed in all, at most {} in any {:?}",
        siege.algorithm,
        siege.allowed,
        siege.trailing.most(),
        LIMIT.period()
    );
    let mut chart = ChartBuilder::on(panel)
        .margin_left(12)
        .margin_right(72)
        .margin_bottom(8)
        .x_label_area_size(24)
        .y_label_area_size(40)
        .caption(caption, ("sans-serif", 16).into_font().color(&INK))
        .build_cartesian_2d(clock, counts)?;
    chart
        .configure_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .x_label_formatter(&|at| format!("{:.0}", Clock(*at)))
        .draw()?;

    chart.draw_series(LineSeries::new(
        staircase(siege, end),
        CURVE_COLOUR.stroke_width(2),
    ))?;
    let line = [(START, LIMIT.permits()), (end, LIMIT.permits())];
    chart.draw_series(DashedLineSeries::new(
        line,
        6,
        4,
        LIMIT_COLOUR.stroke_width(1),
    ))?;
    let (x, y) = chart.backend_coord(&line[1]);
    let (left, above) = panel.get_pixel_range();
    panel.draw_text(
        "the limit",
        &("sans-serif", 13)
            .into_font()
            .color(&LIMIT_COLOUR)
            .pos(Pos::new(HPos::Left, VPos::Center)),
        (x + 6 - left.start, y - above.start),
    )?;
    Ok(())
}

/// The corners of the curve up to `end`: it keeps its height until the next step.
fn staircase(siege: &Siege, end: u64) -> Vec<(u64, u64)> {
    let mut corners = Vec::new();
    let mut height = 0;
    for &(at, count) in siege
        .trailing
        .steps()
        .iter()
        .take_while(|step| step.0 <= end)
    {
        if count != height {
            corners.extend([(at, height), (at, count)]);
            height = count;
        }
    }
    corners.push((end, height));
    corners
}
