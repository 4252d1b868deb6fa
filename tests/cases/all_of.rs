//! AllOf: several limits on one key, all of which are spent, or none.

use crate::common::reference::Kind::AllOf;
use crate::script::{Case, HOUR, MS, S, limit};

pub(crate) fn cases() -> Vec<Case> {
    let second_and_minute = [limit(5, S), limit(20, 60 * S)];
    vec![
        // After 5, 5, 5 and 5 permits the second's limit is full again at 4 s, and the minute's
        // holds 4/3: a whole permit takes it 3 s.
        Case::new("the-longest-wait-decides", AllOf, second_and_minute)
            .allowed(0, 5, 0)
            .by_limit(0)
            .more_after(200 * MS, 15 * S)
            .denied(0, 1, 0, 200 * MS)
            .by_limit(0)
            .allowed(S, 5, 0)
            .allowed(2 * S, 5, 0)
            .allowed(3 * S, 5, 0)
            .by_limit(0)
            .denied(4 * S, 2, 1, 2 * S)
            .by_limit(1)
            .denied(4 * S, 5, 1, 11 * S)
            .by_limit(1)
            .never(4 * S, 6, 1)
            .by_limit(0)
            .allowed(4 * S, 1, 0)
            .by_limit(1)
            .more_after(2 * S, 59 * S)
            .denied(6 * S - 1, 1, 0, 1)
            .allowed(6 * S, 1, 0),
        // Were the refusals charged to the second's limit, it would refuse at 60 s.
        Case::new("all-or-none", AllOf, [limit(2, 100 * S), limit(1, 60 * S)])
            .allowed(0, 1, 0)
            .by_limit(1)
            .denied(0, 1, 0, 60 * S)
            .by_limit(1)
            .denied(59 * S, 1, 0, S)
            .allowed(60 * S, 1, 0)
            .by_limit(1)
            .denied(60 * S, 1, 0, 60 * S),
        Case::new(
            "the-first-whose-burst-is-too-small",
            AllOf,
            [limit(10, S), limit(3, 60 * S), limit(2, HOUR)],
        )
        .never(0, 3, 2)
        .by_limit(2)
        .never(0, 4, 2)
        .by_limit(1)
        .never(0, 11, 2)
        .by_limit(0)
        .allowed(0, 2, 0)
        .by_limit(2),
        Case::new("the-first-of-equals", AllOf, [limit(3, S), limit(3, S)])
            .allowed(0, 2, 1)
            .by_limit(0)
            .denied(0, 2, 1, 333_333_334)
            .by_limit(0)
            .allowed(0, 0, 1)
            .by_limit(0),
        // Both refuse; the one that waits longer is not the one with less left.
        Case::new(
            "fewer-left-but-sooner-back",
            AllOf,
            [limit(4, S), limit(5, 100 * S).with_burst(5)],
        )
        .allowed(0, 4, 0)
        .by_limit(0)
        .denied(0, 2, 0, 20 * S)
        .by_limit(1)
        .more_after(250 * MS, 80 * S)
        .denied(0, 1, 0, 250 * MS)
        .by_limit(0),
        // The smaller capacity is full, so there is no more to come; the other is still filling.
        Case::new(
            "full-is-the-smallest-capacity",
            AllOf,
            [limit(10, S).with_burst(2), limit(5, 10 * S)],
        )
        .allowed(0, 1, 1)
        .by_limit(0)
        .more_after(100 * MS, 2 * S)
        .allowed(100 * MS, 0, 2)
        .by_limit(0)
        .more_after(0, 1_900 * MS),
        Case::new("clock-steps-back", AllOf, second_and_minute)
            .allowed(0, 0, 5)
            .allowed(10 * S, 5, 0)
            .denied(4 * S, 1, 0, 6_200 * MS)
            .by_limit(0)
            .denied(10_200 * MS - 1, 1, 0, 1)
            .allowed(10_200 * MS, 1, 0),
        Case::new("near-the-end-of-time", AllOf, second_and_minute)
            .allowed(u64::MAX - 10, 5, 0)
            .denied(u64::MAX, 1, 0, 200 * MS - 10)
            .never(u64::MAX, u64::MAX, 0),
        Case::new(
            "six-limits",
            AllOf,
            [60, 50, 40, 7, 20, 8].map(|permits| limit(permits, S)),
        )
        .allowed(0, 1, 6)
        .by_limit(3)
        .allowed(0, 6, 0)
        .by_limit(3)
        .never(0, 8, 0)
        .by_limit(3)
        .denied(0, 2, 0, 285_714_286)
        .by_limit(3),
        Case::new("keys-are-apart", AllOf, second_and_minute)
            .allowed(0, 5, 0)
            .key(1)
            .allowed(0, 4, 1)
            .key(0)
            .denied(0, 1, 0, 200 * MS),
        Case::new("a-list-of-one", AllOf, [limit(5, S).with_burst(1)])
            .allowed(0, 1, 0)
            .denied(0, 1, 0, 200 * MS)
            .allowed(200 * MS, 1, 0),
    ]
}
