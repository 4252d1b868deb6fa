//! Arbitrary requests to arbitrary limits, for every algorithm alike.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tollgate::{Algorithm, AnyAlgorithm, Limit, ManualTicker, Verdict};

use crate::config::config;
use crate::numbers::{any_cost, any_time, limit, limits, of_any_size};
use crate::plain::{THIRTY_YEARS, Terms};
use crate::support::{self, KEY};

pub(crate) type Limiter = support::Limiter<AnyAlgorithm>;

/// Runs a property on so many cases, and never on fewer: what it counts is asserted afterwards.
pub(crate) fn check<S: Strategy>(
    cases: u32,
    cases_of: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) where
    S::Value: Debug,
{
    let config = Config {
        cases: config(cases).cases.max(cases),
        ..config(cases)
    };
    if let Err(error) = TestRunner::new(config).run(&cases_of, property) {
        panic!("{error}");
    }
}

/// Counts by algorithm, so that a property that was never put to the test is found out.
#[derive(Default)]
pub(crate) struct Tally(Cell<BTreeMap<&'static str, u32>>);

impl Tally {
    pub(crate) fn count(&self, algorithm: AnyAlgorithm, times: usize) {
        let mut counts = self.0.take();
        *counts.entry(algorithm.name()).or_default() += times as u32;
        self.0.set(counts);
    }

    /// Every algorithm was counted so often at least.
    #[track_caller]
    pub(crate) fn at_least(&self, least: u32) {
        for algorithm in AnyAlgorithm::ALL {
            self.has(algorithm, least);
        }
    }

    #[track_caller]
    pub(crate) fn has(&self, algorithm: AnyAlgorithm, least: u32) {
        let counts = self.0.take();
        let count = counts.get(algorithm.name()).copied().unwrap_or(0);
        assert!(count >= least, "{algorithm}: {count} in {counts:?}");
        self.0.set(counts);
    }
}

/// A token bucket's limit within the claims, or of any numbers.
fn kept_by_a_bucket() -> impl Strategy<Value = Limit> {
    let any_rate = any::<[u64; 3]>().prop_map(|numbers| limit_of(Terms::of_any_rate(numbers)));
    prop_oneof![2 => any_rate, 1 => limits()]
}

pub(crate) fn limit_of(terms: Terms) -> Limit {
    limit(terms.permits, terms.period).with_burst(terms.burst)
}

pub(crate) fn terms_of(limit: Limit) -> Terms {
    Terms {
        permits: limit.permits(),
        period: limit.period_ns(),
        burst: limit.burst(),
    }
}

/// An algorithm, and limits that it keeps.
pub(crate) fn kept() -> impl Strategy<Value = (AnyAlgorithm, Vec<Limit>)> {
    let one_burst = || (of_any_size(), of_any_size()).prop_map(|(n, p)| limit(n, p));
    let window = one_burst().prop_filter("a limit that a fixed window keeps", |limit| {
        AnyAlgorithm::FixedWindow.plan(*limit).is_ok()
    });
    let with = |algorithm, limit: BoxedStrategy<Limit>| {
        limit.prop_map(move |limit| (algorithm, vec![limit]))
    };
    prop_oneof![
        with(AnyAlgorithm::TokenBucket, kept_by_a_bucket().boxed()),
        with(AnyAlgorithm::FixedWindow, window.boxed()),
        with(AnyAlgorithm::SlidingLog, one_burst().boxed()),
        with(AnyAlgorithm::SlidingCounter, one_burst().boxed()),
        vec(kept_by_a_bucket(), 1..6).prop_map(|limits| (AnyAlgorithm::AllOf, limits)),
    ]
}

pub(crate) fn built(
    algorithm: AnyAlgorithm,
    limits: &[Limit],
    start: u64,
) -> (Limiter, ManualTicker) {
    support::built(algorithm, limits, start)
}

pub(crate) fn capacity(limits: &[Limit]) -> u64 {
    let bursts = limits.iter().map(Limit::burst);
    bursts.min().expect("at least one limit")
}

/// When the next request comes, after the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// At the same instant.
    AtOnce,
    /// When there is one permit more.
    NextPermit,
    /// As soon as it would be allowed.
    Allowed,
    /// So long after.
    After(u64),
    /// So long before: the clock steps back.
    Before(u64),
    /// At any time that there is.
    At(u64),
}

pub(crate) fn forwards() -> impl Strategy<Value = When> {
    prop_oneof![
        2 => Just(When::AtOnce),
        2 => Just(When::NextPermit),
        2 => Just(When::Allowed),
        4 => of_any_size().prop_map(When::After),
    ]
}

pub(crate) fn back_and_forth() -> impl Strategy<Value = When> {
    prop_oneof![4 => forwards(), 1 => of_any_size().prop_map(When::Before)]
}

pub(crate) fn anywhere() -> impl Strategy<Value = When> {
    prop_oneof![2 => back_and_forth(), 1 => any_time().prop_map(When::At)]
}

impl When {
    pub(crate) fn after(self, now: u64, limiter: &Limiter, cost: u64) -> u64 {
        match self {
            Self::AtOnce => now,
            Self::NextPermit => {
                let standing = limiter.peek(KEY).standing();
                now.saturating_add(standing.next_permit_after)
            }
            Self::Allowed => match limiter.peek_n(KEY, cost).verdict() {
                Verdict::Denied { retry_after } => {
                    now.saturating_add(retry_after.as_nanos() as u64)
                }
                Verdict::Allowed | Verdict::Never => now,
            },
            Self::After(ns) => now.saturating_add(ns),
            Self::Before(ns) => now.saturating_sub(ns),
            Self::At(then) => then,
        }
    }
}

/// A cost from 1 to the capacity: often the whole, or one permit.
pub(crate) fn cost_within(cost: u64, capacity: u64) -> u64 {
    match cost % 4 {
        0 => 1,
        1 => capacity,
        _ => cost % capacity + 1,
    }
}

/// Requests: when, and the number that becomes a cost.
pub(crate) fn requests(
    when: impl Strategy<Value = When>,
) -> impl Strategy<Value = Vec<(When, u64)>> {
    vec((when, any_cost()), 1..40)
}

/// The end of the time for which a limiter that was built at `start` is exact.
pub(crate) fn horizon(start: u64) -> u64 {
    start.saturating_add(THIRTY_YEARS)
}
