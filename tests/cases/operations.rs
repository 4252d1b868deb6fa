//! Peek, refund, reset, refresh and eviction, for every algorithm.

use crate::common::reference::Kind::{AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};
use crate::script::{Case, MS, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = refunds();
    cases.extend(refreshes());
    cases.extend(evictions());
    cases
}

fn refunds() -> Vec<Case> {
    vec![
        Case::new("refund-of-one-of-two", TokenBucket, [limit(5, S)])
            .allowed(0, 3, 2)
            .allowed(0, 2, 0)
            .refund(0, 0)
            .allowed(0, 3, 3)
            .by_peek()
            .allowed(0, 3, 0),
        // Half a permit had flowed back: five are full, not five and a half.
        Case::new("refund-to-full-and-no-further", TokenBucket, [limit(5, S)])
            .allowed(0, 5, 0)
            .refund(100 * MS, 0)
            .allowed(100 * MS, 5, 5)
            .by_peek()
            .more_after(0, 0)
            .allowed(100 * MS, 5, 0)
            .denied(100 * MS, 1, 0, 200 * MS),
        Case::new("refund-of-a-denial", TokenBucket, [limit(5, S)])
            .allowed(0, 5, 0)
            .denied(0, 2, 0, 400 * MS)
            .refund(0, 1)
            .denied(0, 2, 0, 400 * MS),
        Case::new("refund-in-the-same-window", FixedWindow, [limit(3, 10 * S)])
            .allowed(5 * S, 2, 1)
            .refund(9 * S, 0)
            .allowed(9 * S, 3, 0),
        Case::new("refund-in-another-window", FixedWindow, [limit(3, 10 * S)])
            .allowed(5 * S, 2, 1)
            .allowed(12 * S, 1, 2)
            .refund(12 * S, 0)
            .allowed(12 * S, 0, 2),
        // What was spent at 2 s is not touched, though it is newer.
        Case::new(
            "refund-not-later-than-its-reading",
            SlidingLog,
            [limit(3, 10 * S)],
        )
        .allowed(S, 1, 2)
        .allowed(2 * S, 2, 0)
        .refund(3 * S, 0)
        .denied(3 * S, 2, 1, 9 * S)
        .allowed(3 * S, 1, 0),
        // Newest first: what is left is the permit of 1 s, which leaves at 11 s.
        Case::new("refund-newest-first", SlidingLog, [limit(3, 10 * S)])
            .allowed(S, 1, 2)
            .allowed(2 * S, 2, 0)
            .refund(3 * S, 1)
            .denied(3 * S, 3, 2, 8 * S),
        // The six weighed 4.8 at 12 s.
        Case::new(
            "refund-in-the-last-window",
            SlidingCounter,
            [limit(10, 10 * S)],
        )
        .allowed(0, 6, 4)
        .allowed(12 * S, 1, 4)
        .refund(12 * S, 0)
        .allowed(12 * S, 0, 9),
        Case::new("refund-in-this-window", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 6, 4)
            .allowed(12 * S, 1, 4)
            .refund(12 * S, 1)
            .allowed(12 * S, 0, 5),
        Case::new(
            "refund-of-a-window-long-gone",
            SlidingCounter,
            [limit(10, 10 * S)],
        )
        .allowed(0, 6, 4)
        .allowed(22 * S, 1, 9)
        .refund(22 * S, 0)
        .allowed(22 * S, 0, 9),
        Case::new("refund-of-each", AllOf, [limit(5, S), limit(8, 60 * S)])
            .allowed(0, 5, 0)
            .refund(0, 0)
            .allowed(0, 5, 0)
            .allowed(S, 3, 0)
            .by_limit(1),
        Case::new("reset-forgets", SlidingLog, [limit(2, S)])
            .allowed(0, 2, 0)
            .denied(1, 1, 0, S - 1)
            .reset(1)
            .allowed(1, 2, 0),
    ]
}

fn refreshes() -> Vec<Case> {
    vec![
        Case::new("raise-a-bucket", TokenBucket, [limit(5, S)])
            .allowed(0, 4, 1)
            .refresh(0, [limit(10, S)])
            .allowed(0, 0, 6)
            .allowed(100 * MS, 7, 0),
        // Three and a half are owed: four.
        Case::new("owed-is-rounded-up", TokenBucket, [limit(5, S)])
            .allowed(0, 4, 1)
            .refresh(100 * MS, [limit(10, S)])
            .allowed(100 * MS, 0, 6)
            .more_after(100 * MS, 400 * MS),
        Case::new("lower-a-bucket", TokenBucket, [limit(10, S)])
            .allowed(0, 10, 0)
            .refresh(0, [limit(3, S)])
            .denied(0, 1, 0, 333_333_334),
        Case::new("raise-a-window", FixedWindow, [limit(5, 10 * S)])
            .allowed(0, 4, 1)
            .refresh(S, [limit(10, 10 * S)])
            .denied(S, 7, 6, 9 * S)
            .allowed(S, 6, 0),
        // The count of [20 s, 30 s) goes to [0, 60 s).
        Case::new("another-window", FixedWindow, [limit(5, 10 * S)])
            .allowed(25 * S, 4, 1)
            .refresh(27 * S, [limit(8, 60 * S)])
            .denied(27 * S, 5, 4, 33 * S),
        Case::new("another-window-later", FixedWindow, [limit(5, 10 * S)])
            .allowed(25 * S, 4, 1)
            .refresh(31 * S, [limit(8, 60 * S)])
            .allowed(31 * S, 8, 0),
        // The two of 0 s are older than the new period; the three of 6 s leave at 11 s.
        Case::new("shorten-a-log", SlidingLog, [limit(5, 10 * S)])
            .allowed(0, 2, 3)
            .allowed(6 * S, 3, 0)
            .refresh(8 * S, [limit(4, 5 * S)])
            .denied(8 * S, 2, 1, 3 * S),
        Case::new("cut-a-log", SlidingLog, [limit(5, 10 * S)])
            .allowed(0, 2, 3)
            .allowed(6 * S, 3, 0)
            .refresh(8 * S, [limit(2, 10 * S)])
            .denied(8 * S, 1, 0, 8 * S)
            .more_after(8 * S, 8 * S),
        Case::new("cut-a-counter", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 10, 0)
            .allowed(12 * S, 1, 1)
            .refresh(15 * S, [limit(4, 10 * S)])
            // Four weigh two, and one is of this window.
            .allowed(15 * S, 0, 1),
        // Ten weigh five, and one is of this window: six go to [0, 60 s).
        Case::new("another-counter", SlidingCounter, [limit(10, 10 * S)])
            .allowed(0, 10, 0)
            .allowed(12 * S, 1, 1)
            .refresh(15 * S, [limit(20, 60 * S)])
            .allowed(15 * S, 0, 14)
            .allowed(60 * S, 0, 14)
            .allowed(70 * S, 0, 15),
        Case::new("one-more-limit", AllOf, [limit(5, S), limit(20, 60 * S)])
            .allowed(0, 3, 2)
            .refresh(0, [limit(5, S), limit(4, 60 * S), limit(100, S)])
            .allowed(0, 0, 1)
            .by_limit(1)
            .more_after(15 * S, 45 * S),
        Case::new("one-limit-fewer", AllOf, [limit(5, S), limit(20, 60 * S)])
            .allowed(0, 3, 2)
            .refresh(0, [limit(5, S)])
            .allowed(0, 2, 0)
            .denied(0, 1, 0, 200 * MS),
    ]
}

fn evictions() -> Vec<Case> {
    vec![
        Case::new("evict-a-full-bucket", TokenBucket, [limit(2, S)])
            .allowed(0, 1, 1)
            .key(1)
            .allowed(0, 2, 0)
            .evict(500 * MS - 1, 0)
            .evict(500 * MS, 1)
            .evict(S - 1, 0)
            .evict(S, 1)
            .evict(S, 0),
        Case::new(
            "evict-a-window-that-is-over",
            FixedWindow,
            [limit(2, 10 * S)],
        )
        .allowed(5 * S, 1, 1)
        .evict(10 * S - 1, 0)
        .evict(10 * S, 1),
        Case::new("evict-a-log-one-period-old", SlidingLog, [limit(2, 10 * S)])
            .allowed(5 * S, 1, 1)
            .evict(15 * S - 1, 0)
            .evict(15 * S, 1),
        Case::new(
            "evict-a-counter-two-windows-on",
            SlidingCounter,
            [limit(2, 10 * S)],
        )
        .allowed(5 * S, 1, 1)
        .evict(20 * S - 1, 0)
        .evict(20 * S, 1),
        Case::new(
            "evict-when-all-are-full",
            AllOf,
            [limit(5, S), limit(6, 60 * S)],
        )
        .allowed(0, 1, 4)
        .evict(10 * S - 1, 0)
        .evict(10 * S, 1),
        Case::new("evict-what-was-given-back", FixedWindow, [limit(2, 10 * S)])
            .allowed(5 * S, 2, 0)
            .evict(5 * S, 0)
            .refund(5 * S, 0)
            .evict(5 * S, 1),
    ]
}
