//! Limits, times and costs, as proptest makes them up.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use tollgate::{Algorithm, Limit, TokenBucket};

pub(crate) const S: u64 = 1_000_000_000;
pub(crate) const DAY: u64 = 86_400 * S;
/// 30 years of 365.25 days.
pub(crate) const THIRTY_YEARS: u64 = 10_957 * DAY + DAY / 2;

pub(crate) fn limit(permits: u64, period_ns: u64) -> Limit {
    Limit::new(permits, Duration::from_nanos(period_ns)).unwrap()
}

/// From one permit a month to 10¹⁰ a second, with and without a burst of their own.
pub(crate) fn everyday_limits() -> Vec<Limit> {
    vec![
        limit(1, 30 * DAY),
        limit(1, THIRTY_YEARS / 360),
        limit(3, DAY),
        limit(1, 3_600 * S),
        limit(7, 3_600 * S),
        limit(100, 60 * S),
        limit(700, 60 * S),
        limit(5, S),
        limit(7, S),
        limit(7, S).with_burst(1),
        limit(1_000_000, S),
        limit(999_999_937, S),
        limit(3_000_000_000, S),
        limit(1 << 30, S).with_burst(10 << 30),
        limit(10_000_000_000, S),
        limit(10, 1),
        limit(7, 3),
    ]
}

/// Numbers from 1, as many of each length in bits.
pub(crate) fn of_any_size() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..u64::BITS).prop_map(|(number, shift)| (number >> shift).max(1))
}

/// Limits that a token bucket keeps.
pub(crate) fn limits() -> impl Strategy<Value = Limit> {
    let permits = prop_oneof![2 => 1..=20u64, 1 => of_any_size()];
    let period = prop_oneof![
        2 => select(vec![S, 60 * S, 3_600 * S, DAY, 30 * DAY, THIRTY_YEARS]),
        1 => 1..=20u64,
        2 => of_any_size(),
    ];
    let burst = prop_oneof![2 => Just(None), 1 => of_any_size().prop_map(Some)];
    (permits, period, burst)
        .prop_map(|(permits, period, burst)| {
            let limit = limit(permits, period);
            burst.map_or(limit, |burst| limit.with_burst(burst))
        })
        .prop_filter("a limit that a token bucket keeps", |limit| {
            TokenBucket.plan(*limit).is_ok()
        })
}

/// Starts that leave 30 years before the end of time.
pub(crate) fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1_764_547_200 * S),
        Just(u64::MAX - THIRTY_YEARS),
        0..=u64::MAX - THIRTY_YEARS,
    ]
}

/// Times after the start: about as long as the limit's numbers, or any, within 30 years.
pub(crate) fn after_the_start() -> impl Strategy<Value = u64> {
    of_any_size().prop_map(|ns| ns.min(THIRTY_YEARS))
}

pub(crate) fn any_limit() -> impl Strategy<Value = Limit> {
    let burst = prop_oneof![3 => Just(None), 1 => of_any_size().prop_map(Some)];
    (any_cost(), any_cost(), burst).prop_map(|(permits, period, burst)| {
        let limit = limit(permits.max(1), period.max(1));
        burst.map_or(limit, |burst| limit.with_burst(burst))
    })
}

pub(crate) fn any_cost() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => of_any_size(),
        2 => 0..4u64,
        1 => (0..4u64).prop_map(|below| u64::MAX - below),
        1 => (0..64u32).prop_map(|bit| 1 << bit),
    ]
}

pub(crate) fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => of_any_size(),
        1 => (0..4u64).prop_map(|below| u64::MAX - below),
        1 => of_any_size().prop_map(|before| u64::MAX - before),
        1 => 0..4u64,
        1 => (0..4u64).prop_map(|later| THIRTY_YEARS - 1 + later),
    ]
}
