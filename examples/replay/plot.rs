//! What was allowed and denied over time, drawn: a panel for each trial on each log, below each
//! other, with what was denied on top of what was allowed.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use tollgate_replay::{Outcome, Replayed, Request, show_time};

const WIDTH: u32 = 1000;
const PANEL: u32 = 220;
const ALLOWED: RGBColor = RGBColor(74, 124, 178);
const DENIED: RGBColor = RGBColor(205, 72, 58);

const SECOND: u64 = 1_000_000_000;

/// At most so many bars in a panel.
const BARS: u64 = 150;

/// At most so many times below it, or one more.
const TIMES: u64 = 6;

type DrawError = DrawingAreaErrorKind<io::Error>;

/// An SVG file's text.
pub(crate) fn draw(all: &[Replayed]) -> Result<String, DrawError> {
    let panels: Vec<_> = all
        .iter()
        .filter(|replayed| !replayed.log.requests().is_empty())
        .flat_map(|replayed| {
            replayed
                .outcomes
                .iter()
                .map(move |outcome| (replayed, outcome))
        })
        .collect();
    let count = panels.len().max(1);
    let height = u32::try_from(count).map_or(u32::MAX, |count| PANEL.saturating_mul(count));

    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, (replayed, outcome)) in root.split_evenly((count, 1)).iter().zip(panels) {
            draw_panel(area, replayed, outcome)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    replayed: &Replayed,
    outcome: &Outcome,
) -> Result<(), DrawError> {
    let bars = Bars::new(replayed.log.requests(), &outcome.verdicts);
    let highest = bars.counts.iter().map(|bar| bar.allowed + bar.denied).max();
    let highest = highest.unwrap_or(0);
    let end = bars.start + bars.width * bars.counts.len() as u64;
    let times = (bars.start..end).with_key_points(round_times(bars.start, end));

    let caption = format!(
        "{}, {}: {} allowed, {} denied, per {}",
        replayed.name,
        outcome.trial,
        outcome.allowed,
        outcome.denied,
        show_length(bars.width)
    );
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 15))
        .margin(8)
        .margin_right(70)
        .x_label_area_size(28)
        .y_label_area_size(56)
        .build_cartesian_2d(times, 0..highest + highest / 3 + 1)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(5)
        .x_label_formatter(&|second| show_time(second.saturating_mul(SECOND)))
        .draw()?;

    let rectangles = |color: RGBColor, span: fn(&Bar) -> (u64, u64)| {
        let (start, width) = (bars.start, bars.width);
        let counts = bars.counts.iter().zip(0..);
        counts.filter_map(move |(bar, position)| {
            let (bottom, top) = span(bar);
            let left = start + width * position;
            (bottom < top)
                .then(|| Rectangle::new([(left, bottom), (left + width, top)], color.filled()))
        })
    };
    let legend = |color: RGBColor| {
        move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled())
    };
    chart
        .draw_series(rectangles(ALLOWED, |bar| (0, bar.allowed)))?
        .label("allowed")
        .legend(legend(ALLOWED));
    chart
        .draw_series(rectangles(DENIED, |bar| {
            (bar.allowed, bar.allowed + bar.denied)
        }))?
        .label("denied")
        .legend(legend(DENIED));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}

/// How many requests fell into each stretch of time.
#[derive(Debug)]
struct Bars {
    /// When the first bar begins, in seconds.
    start: u64,
    /// How long each is, in seconds.
    width: u64,
    counts: Vec<Bar>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bar {
    allowed: u64,
    denied: u64,
}

impl Bars {
    fn new(requests: &[Request], verdicts: &[bool]) -> Self {
        let second = |request: Option<&Request>| request.map_or(0, |it| it.time_ns / SECOND);
        let (first, last) = (second(requests.first()), second(requests.last()));
        let width = round_length((last - first + 1).div_ceil(BARS));
        let start = first / width * width;

        let bars = (last - start) / width + 1;
        let mut counts = vec![Bar::default(); bars as usize];
        for (request, allowed) in requests.iter().zip(verdicts) {
            let bar = &mut counts[((request.time_ns / SECOND - start) / width) as usize];
            match allowed {
                true => bar.allowed += 1,
                false => bar.denied += 1,
            }
        }
        Self {
            start,
            width,
            counts,
        }
    }
}

/// The times, in seconds, to be written below a panel.
fn round_times(start: u64, end: u64) -> Vec<u64> {
    let step = round_length((end - start).div_ceil(TIMES));
    (start.div_ceil(step)..=end / step)
        .map(|times| times * step)
        .collect()
}

/// A length of time, in seconds, that people count in, and not below `least`.
fn round_length(least: u64) -> u64 {
    const LENGTHS: [u64; 19] = [
        1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200,
        86_400, 604_800,
    ];
    let length = LENGTHS.into_iter().find(|length| *length >= least);
    length.unwrap_or_else(|| least.next_multiple_of(86_400))
}

fn show_length(seconds: u64) -> String {
    for (length, unit) in [(86_400, "d"), (3600, "h"), (60, "min")] {
        if seconds.is_multiple_of(length) {
            return format!("{} {unit}", seconds / length);
        }
    }
    format!("{seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_replay::access_log::Layout;
    use tollgate_replay::{Choice, KeyKind, LogBuilder, made_up, replay, trials};

    fn requests(seconds: &[u64]) -> Vec<Request> {
        let at = |second: &u64| Request {
            time_ns: second * SECOND,
            key: 0,
        };
        seconds.iter().map(at).collect()
    }

    #[test]
    fn every_request_is_in_the_bar_of_its_time() {
        let bars = Bars::new(&requests(&[100, 100, 101, 103]), &[true, false, true, true]);
        assert_eq!((bars.start, bars.width), (100, 1));
        let expected =
            [(1, 1), (1, 0), (0, 0), (1, 0)].map(|(allowed, denied)| Bar { allowed, denied });
        assert_eq!(bars.counts, expected);

        let bars = Bars::new(&requests(&[59, 3600]), &[true, false]);
        assert_eq!((bars.start, bars.width, bars.counts.len()), (30, 30, 120));
    }

    #[test]
    fn a_span_of_any_length_has_few_bars() {
        for last in [0, 149, 150, 3600, 86_400 * 365, u64::MAX / SECOND] {
            let bars = Bars::new(&requests(&[0, last]), &[true, true]);
            assert!(bars.counts.len() <= BARS as usize, "{last}");
        }
    }

    #[test]
    fn there_is_a_panel_for_each_trial() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        made_up(1, &mut builder);
        let log = builder.finish();
        let (possible, _) = trials(&["60/min".parse().unwrap()], Choice::All);
        let outcomes = possible
            .iter()
            .map(|trial| replay(&log, trial, &mut |_| {}).unwrap())
            .collect();
        let name = "a <log> & more".to_owned();
        let svg = draw(&[Replayed {
            name,
            log,
            outcomes,
        }])
        .unwrap();
        for trial in possible {
            assert!(svg.contains(&trial.to_string()), "{trial}");
        }
        assert!(svg.contains("a &lt;log&gt; &amp; more"));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(draw(&[]).unwrap().contains("<svg"));
    }
}
