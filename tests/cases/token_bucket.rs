//! Token bucket: `burst` at once, then `permits` per period.

use crate::common::reference::Kind::TokenBucket;
use crate::script::{Case, DAY, HOUR, MS, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // A permit takes 250 ms.
        Case::new(
            "retry-below-a-second",
            TokenBucket,
            [limit(4, S).with_burst(1)],
        )
        .allowed(0, 1, 0)
        .more_after(250 * MS, 250 * MS)
        .denied(1, 1, 0, 250 * MS - 1)
        .denied(250 * MS - 1, 1, 0, 1)
        .allowed(250 * MS, 1, 0),
        // Seven permits flow in within a nanosecond, three find room.
        Case::new(
            "seven-per-nanosecond",
            TokenBucket,
            [limit(7_000_000_000, S).with_burst(3)],
        )
        .allowed(0, 3, 0)
        .more_after(1, 1)
        .denied(0, 1, 0, 1)
        .denied(0, 3, 0, 1)
        .allowed(1, 3, 0)
        .denied(1, 3, 0, 1),
        // A permit takes a tenth of a nanosecond: five take half of one, eleven take more than one.
        Case::new(
            "ten-per-nanosecond",
            TokenBucket,
            [limit(10_000_000_000, S)],
        )
        .allowed(0, 10_000_000_000, 0)
        .more_after(1, S)
        .denied(0, 5, 0, 1)
        .denied(0, 11, 0, 2)
        .denied(1, 11, 10, 1)
        .allowed(1, 10, 0),
        // A permit takes 66 666 666.67 ns. Whole milliseconds would make it 909 a minute.
        Case::new(
            "nine-hundred-a-minute",
            TokenBucket,
            [limit(900, 60 * S).with_burst(1)],
        )
        .allowed(0, 1, 0)
        .denied(66 * MS, 1, 0, 666_667)
        .denied(66_666_666, 1, 0, 1)
        .allowed(66_666_667, 1, 0),
        // The nth permit is back at ⌈n · 10⁹ / 9⌉ ns: fractions do not add up.
        Case::new("ninths-of-a-second", TokenBucket, [limit(9, S)])
            .allowed(0, 9, 0)
            .denied(111_111_111, 1, 0, 1)
            .allowed(111_111_112, 1, 0)
            .denied(222_222_222, 1, 0, 1)
            .allowed(222_222_223, 1, 0)
            .allowed(333_333_334, 1, 0)
            .denied(999_999_999, 6, 5, 1)
            .allowed(S, 6, 0),
        Case::new("one-in-thirty-days", TokenBucket, [limit(1, 30 * DAY)])
            .allowed(0, 1, 0)
            .denied(30 * DAY - 1, 1, 0, 1)
            .allowed(30 * DAY, 1, 0)
            .denied(60 * DAY - 1, 1, 0, 1)
            .allowed(60 * DAY, 1, 0)
            .more_after(30 * DAY, 30 * DAY),
        Case::new("three-a-day", TokenBucket, [limit(3, DAY)])
            .allowed(5 * S, 3, 0)
            .denied(5 * S, 1, 0, 8 * HOUR)
            .denied(5 * S + 8 * HOUR - 1, 1, 0, 1)
            .allowed(5 * S + 8 * HOUR, 1, 0),
        // 2⁴⁰ a day is one in 78.58 ns. Permits times nanoseconds would pass 64 bits in 10 minutes.
        Case::new("long-idle", TokenBucket, [limit(1 << 40, DAY)])
            .allowed(0, 1 << 40, 0)
            .denied(0, 1, 0, 79)
            .never(3_650 * DAY, (1 << 40) + 1, 1 << 40)
            .allowed(3_650 * DAY, 1 << 40, 0),
        // Three permits are left and five wanted; two take 200 ms.
        Case::new("part-of-the-cost-is-there", TokenBucket, [limit(10, S)])
            .allowed(0, 7, 3)
            .denied(0, 5, 3, 200 * MS)
            .allowed(100 * MS, 1, 4)
            .by_peek()
            .denied(150 * MS, 5, 4, 50 * MS)
            .allowed(200 * MS, 5, 0),
        Case::new(
            "burst-above-the-rate",
            TokenBucket,
            [limit(1, S).with_burst(10)],
        )
        .allowed(0, 10, 0)
        .more_after(S, 10 * S)
        .denied(0, 4, 0, 4 * S)
        .denied(4 * S - 1, 4, 3, 1)
        .allowed(4 * S, 4, 0),
        // Burst and rate together are five: no second sees more.
        Case::new(
            "burst-below-the-rate",
            TokenBucket,
            [limit(4, S).with_burst(1)],
        )
        .allowed(0, 1, 0)
        .allowed(250 * MS, 1, 0)
        .allowed(500 * MS, 1, 0)
        .allowed(750 * MS, 1, 0)
        .denied(S - 1, 1, 0, 1)
        .never(S, 2, 1)
        .allowed(S, 1, 0),
        // The wait is told by the clock that stepped back: from 90 s until 100.25 s.
        Case::new("clock-steps-back", TokenBucket, [limit(4, S)])
            .allowed(50 * S, 0, 4)
            .allowed(100 * S, 4, 0)
            .denied(90 * S, 1, 0, 10_250 * MS)
            .denied(100 * S + 250 * MS - 1, 1, 0, 1)
            .allowed(100 * S + 250 * MS, 1, 0),
        Case::new("clock-steps-back-a-little", TokenBucket, [limit(4, S)])
            .allowed(0, 0, 4)
            .allowed(10 * S, 1, 3)
            // Of the three that are left two had not yet flowed in, half a second before.
            .denied(9_500 * MS, 2, 1, 250 * MS)
            .allowed(9_500 * MS, 1, 0)
            .allowed(10 * S, 2, 0),
        // A reading from before the limiter was built counts as the moment of building.
        Case::new("clock-before-the-start", TokenBucket, [limit(4, S)])
            .allowed(100 * S, 4, 0)
            .denied(90 * S, 1, 0, 250 * MS)
            .denied(0, 1, 0, 250 * MS)
            .allowed(100 * S + 250 * MS, 1, 0),
        Case::new("near-the-end-of-time", TokenBucket, [limit(5, S)])
            .allowed(u64::MAX - 10, 5, 0)
            .more_after(200 * MS, S)
            .denied(u64::MAX, 1, 0, 200 * MS - 10)
            .never(u64::MAX, u64::MAX, 0),
        Case::new(
            "cost-above-the-burst",
            TokenBucket,
            [limit(3, 2 * S).with_burst(5)],
        )
        .never(0, 6, 5)
        .never(0, u64::MAX, 5)
        .more_after(0, 0)
        .allowed(0, 5, 0)
        .never(0, 6, 0)
        .denied(0, 1, 0, 666_666_667),
        Case::new("cost-zero-spends-nothing", TokenBucket, [limit(2, S)])
            .allowed(0, 0, 2)
            .evict(0, 0)
            .allowed(0, 2, 0)
            .allowed(0, 0, 0)
            .allowed(250 * MS, 0, 0)
            .more_after(250 * MS, 750 * MS)
            .allowed(500 * MS, 0, 1)
            .allowed(500 * MS, 1, 0),
        Case::new("keys-are-apart", TokenBucket, [limit(2, 10 * S)])
            .allowed(0, 2, 0)
            .denied(0, 1, 0, 5 * S)
            .key(1)
            .allowed(0, 1, 1)
            .key(0)
            .denied(0, 1, 0, 5 * S)
            .key(1)
            .allowed(0, 1, 0),
    ]
}
