//! Sliding log: so many permits in any period; a permit exactly one period old is out.

use crate::common::reference::Kind::SlidingLog;
use crate::script::{Case, HOUR, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // Three permits leave at 10 s, five at 11 s and two at 12 s.
        Case::new("retry-of-several", SlidingLog, [limit(10, 10 * S)])
            .allowed(0, 3, 7)
            .allowed(S, 5, 2)
            .denied(2 * S, 3, 2, 8 * S)
            .allowed(2 * S, 2, 0)
            .denied(3 * S, 1, 0, 7 * S)
            .more_after(7 * S, 9 * S)
            .denied(3 * S, 3, 0, 7 * S)
            .denied(3 * S, 4, 0, 8 * S)
            .denied(3 * S, 8, 0, 8 * S)
            .denied(3 * S, 9, 0, 9 * S)
            .denied(3 * S, 10, 0, 9 * S)
            .denied(10 * S - 1, 3, 0, 1)
            .allowed(10 * S, 3, 0),
        Case::new("one-period-old-is-out", SlidingLog, [limit(1, S)])
            .allowed(4, 1, 0)
            .denied(5, 1, 0, S - 1)
            .denied(S + 3, 1, 0, 1)
            .allowed(S + 4, 1, 0)
            .denied(2 * S + 3, 1, 0, 1)
            .allowed(2 * S + 4, 1, 0),
        // No hour sees more than five, whatever its edges.
        Case::new("no-edge-to-double-at", SlidingLog, [limit(5, HOUR)])
            .allowed(HOUR - 1, 5, 0)
            .denied(HOUR, 1, 0, HOUR - 1)
            .denied(2 * HOUR - 2, 5, 0, 1)
            .allowed(2 * HOUR - 1, 5, 0),
        Case::new("clock-steps-back", SlidingLog, [limit(2, 10 * S)])
            .allowed(S, 1, 1)
            .allowed(8 * S, 1, 0)
            .denied(4 * S, 1, 0, 7 * S)
            .more_after(7 * S, 14 * S)
            .denied(11 * S - 1, 1, 0, 1)
            .allowed(11 * S, 1, 0),
        // What is spent at 4 s counts as spent at 8 s: the log knows no older time.
        Case::new("clock-steps-back-with-room", SlidingLog, [limit(2, 10 * S)])
            .allowed(0, 0, 2)
            .allowed(8 * S, 1, 1)
            .allowed(4 * S, 1, 0)
            .denied(14 * S, 1, 0, 4 * S)
            .denied(18 * S - 1, 2, 0, 1)
            .allowed(18 * S, 2, 0),
        Case::new("near-the-end-of-time", SlidingLog, [limit(1, 10 * S)])
            .allowed(u64::MAX - 5, 1, 0)
            .denied(u64::MAX, 1, 0, 10 * S - 5)
            .never(u64::MAX, u64::MAX, 0),
        Case::new(
            "three-billion-at-once",
            SlidingLog,
            [limit(3_000_000_000, S)],
        )
        .allowed(0, 3_000_000_000, 0)
        .denied(1, 1, 0, S - 1)
        .allowed(S, 1, 2_999_999_999),
        Case::new("cost-above-the-permits", SlidingLog, [limit(2, S)])
            .never(0, 3, 2)
            .more_after(0, 0)
            .allowed(0, 2, 0)
            .never(S - 1, 3, 0)
            .never(S, 3, 2),
        Case::new("cost-zero-spends-nothing", SlidingLog, [limit(2, S)])
            .allowed(0, 0, 2)
            .allowed(0, 1, 1)
            .allowed(1, 0, 1)
            .more_after(S - 1, S - 1)
            .allowed(S, 0, 2),
        Case::new("keys-are-apart", SlidingLog, [limit(1, S)])
            .allowed(0, 1, 0)
            .key(1)
            .allowed(1, 1, 0)
            .key(0)
            .denied(1, 1, 0, S - 1),
    ]
}
