//! Sliding counter: this window's count, and the last one's by what is left of this window.

use crate::common::reference::Kind::SlidingCounter;
use crate::script::{Case, HOUR, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // 10 in the last window weigh 10, 9, 8, … as its permits slide out, one a second.
        Case::new("retry-in-this-window", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 10, 0)
            .more_after(11 * S, 20 * S)
            .denied(10 * S, 1, 0, S)
            .denied(11 * S - 1, 1, 0, 1)
            .allowed(12 * S, 2, 0)
            .more_after(S, 18 * S)
            .denied(12 * S, 1, 0, S)
            .denied(12 * S, 8, 0, 8 * S)
            .denied(13 * S - 1, 1, 0, 1)
            .allowed(13 * S, 1, 0),
        // At 20 s two permits are in the last window. Eight fit beside them at once, nine when
        // they weigh one, at 25 s, and ten when they weigh nothing.
        Case::new(
            "retry-in-the-next-window",
            SlidingCounter,
            [limit(10, 10 * S)],
        )
        .allowed(0, 10, 0)
        .allowed(12 * S, 2, 0)
        .denied(12 * S, 9, 0, 13 * S)
        .denied(25 * S - 1, 9, 8, 1)
        .allowed(25 * S, 9, 0),
        Case::new(
            "retry-at-the-start-of-the-next-window",
            SlidingCounter,
            [limit(10, 10 * S)],
        )
        .allowed(0, 10, 0)
        .allowed(12 * S, 2, 0)
        .denied(20 * S - 1, 8, 7, 1)
        .allowed(20 * S, 8, 0),
        Case::new(
            "retry-after-the-next-window",
            SlidingCounter,
            [limit(10, 10 * S)],
        )
        .allowed(0, 10, 0)
        .allowed(12 * S, 2, 0)
        .denied(12 * S, 10, 0, 18 * S)
        .denied(30 * S - 1, 10, 9, 1)
        .allowed(30 * S, 10, 0),
        Case::new("a-window-passed-empty", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 10, 0)
            .denied(20 * S - 1, 10, 9, 1)
            .allowed(20 * S, 10, 0),
        // 3 · (P − e) / P is two at 13 333 333 333.3 ns.
        Case::new("a-third-of-a-window", SlidingCounter, [limit(3, 10 * S)])
            .allowed(0, 3, 0)
            .denied(13_333_333_333, 1, 0, 1)
            .allowed(13_333_333_334, 1, 0),
        // At 5 s it is judged as at 10 s. The first of the ten has slid out at 21 s.
        Case::new("clock-steps-back", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 0, 10)
            .allowed(15 * S, 10, 0)
            .denied(5 * S, 1, 0, 16 * S)
            .more_after(16 * S, 25 * S)
            .denied(21 * S - 1, 1, 0, 1)
            .allowed(21 * S, 1, 0),
        // The window ends at 18 446 745 600 s, and the permit weighs for one more hour.
        Case::new("near-the-end-of-time", SlidingCounter, [limit(1, HOUR)])
            .allowed(u64::MAX - 5, 1, 0)
            .denied(u64::MAX, 1, 0, 5_126_290_448_385)
            .never(u64::MAX, u64::MAX, 0),
        Case::new("cost-above-the-permits", SlidingCounter, [limit(2, S)])
            .never(0, 3, 2)
            .more_after(0, 0)
            .allowed(0, 2, 0)
            .never(0, u64::MAX, 0),
        // Half a window on, three permits weigh one and a half, which leaves one.
        Case::new(
            "cost-zero-spends-nothing",
            SlidingCounter,
            [limit(3, 10 * S)],
        )
        .allowed(0, 0, 3)
        .allowed(0, 3, 0)
        .allowed(10 * S, 0, 0)
        .allowed(15 * S, 0, 1)
        .allowed(15 * S, 1, 0),
        Case::new("keys-are-apart", SlidingCounter, [limit(1, S)])
            .allowed(0, 1, 0)
            .key(1)
            .allowed(1, 1, 0)
            .key(0)
            .denied(1, 1, 0, 2 * S - 1),
    ]
}
