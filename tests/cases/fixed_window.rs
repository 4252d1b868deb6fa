//! Fixed window: so many permits in each window; windows start at multiples of the period.

use crate::common::reference::Kind::FixedWindow;
use crate::script::{Case, HOUR, MS, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "what-is-left-of-the-window",
            FixedWindow,
            [limit(3, 60 * S)],
        )
        .allowed(45 * S, 3, 0)
        .more_after(15 * S, 15 * S)
        .denied(45 * S, 1, 0, 15 * S)
        .denied(60 * S - 1, 3, 0, 1)
        .allowed(60 * S, 3, 0)
        .denied(60 * S, 1, 0, 60 * S),
        Case::new(
            "twice-the-permits-across-an-edge",
            FixedWindow,
            [limit(100, 60 * S)],
        )
        .allowed(59 * S, 100, 0)
        .allowed(60 * S + 500 * MS, 100, 0)
        .denied(60 * S + 500 * MS, 1, 0, 59_500 * MS),
        // Windows follow the clock, not the first request.
        Case::new("windows-are-the-clock-s", FixedWindow, [limit(2, 60 * S)])
            .allowed(90 * S, 2, 0)
            .denied(120 * S - 1, 1, 0, 1)
            .allowed(120 * S, 2, 0),
        Case::new("part-of-the-cost-is-there", FixedWindow, [limit(10, S)])
            .allowed(100 * MS, 6, 4)
            .denied(300 * MS, 5, 4, 700 * MS)
            .allowed(300 * MS, 4, 0),
        // At 5 s it is judged as at 10 s, the start of the window of 15 s.
        Case::new("clock-steps-back", FixedWindow, [limit(2, 10 * S)])
            .allowed(5 * S, 0, 2)
            .allowed(15 * S, 1, 1)
            .allowed(5 * S, 1, 0)
            .more_after(15 * S, 15 * S)
            .denied(5 * S, 1, 0, 15 * S)
            .denied(12 * S, 1, 0, 8 * S)
            .denied(20 * S - 1, 1, 0, 1)
            .allowed(20 * S, 2, 0),
        // The window ends at 18 446 745 600 s, after the last reading there is.
        Case::new("near-the-end-of-time", FixedWindow, [limit(1, HOUR)])
            .allowed(u64::MAX - 5, 1, 0)
            .denied(u64::MAX - 5, 1, 0, 1_526_290_448_390)
            .denied(u64::MAX, 1, 0, 1_526_290_448_385)
            .never(u64::MAX, u64::MAX, 0),
        Case::new("cost-above-the-permits", FixedWindow, [limit(2, S)])
            .never(0, 3, 2)
            .more_after(0, 0)
            .allowed(0, 2, 0)
            .never(0, 3, 0),
        Case::new("cost-zero-spends-nothing", FixedWindow, [limit(2, S)])
            .allowed(0, 0, 2)
            .allowed(0, 2, 0)
            .allowed(1, 0, 0)
            .more_after(S - 1, S - 1)
            .allowed(S, 0, 2)
            .more_after(0, 0),
        Case::new("keys-are-apart", FixedWindow, [limit(1, S)])
            .allowed(0, 1, 0)
            .key(1)
            .allowed(999 * MS, 1, 0)
            .key(0)
            .denied(999 * MS, 1, 0, MS)
            .allowed(S, 1, 0),
    ]
}
