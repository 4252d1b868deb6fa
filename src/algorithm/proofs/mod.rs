//! The arithmetic against the contract's formulae, bit for bit.
//!
//! What can be reached from outside is proved in `tests/arithmetic.rs`; here is what cannot: the
//! conversions by themselves, the words of a bucket, and whether a state was written.

mod bucket;
mod conversion;
mod denial;
mod division;
mod floors;
#[path = "../../../tests/common/plain.rs"]
mod plain;

use super::units::Units;
use crate::limit::Limit;
use plain::Terms;
use proptest::num::u64::ANY;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::time::Duration;

/// Points at random for each conversion in every run: so many limits, and points for each.
const LIMITS: u64 = 4_000;
const POINTS_EACH: u64 = 2_500;

fn limit(terms: &Terms) -> Limit {
    Limit::new(terms.permits, Duration::from_nanos(terms.period))
        .expect("neither is zero")
        .with_burst(terms.burst)
}

fn units(terms: &Terms) -> Units {
    Units::new(&limit(terms)).unwrap_or_else(|error| panic!("{terms:?}: {error}"))
}

/// Numbers that are others in every run, unless `PROPTEST_RNG_SEED` is set. A failure tells the
/// numbers that it was found with.
fn random() -> impl FnMut() -> u64 {
    let mut runner = TestRunner::default();
    move || {
        ANY.new_tree(&mut runner)
            .expect("any number will do")
            .current()
    }
}

/// A limit that a bucket keeps: every other one within the claims, the rest of any numbers.
fn draw(next: &mut impl FnMut() -> u64, count: u64) -> Terms {
    if count.is_multiple_of(2) {
        return Terms::of_any_rate([next(), next(), next()]);
    }
    loop {
        let [permits, period, burst] = [next(), next(), next()].map(plain::of_any_length);
        let terms = Terms {
            permits,
            period,
            burst,
        };
        if terms.fraction_bits().is_some() {
            return terms;
        }
    }
}

/// Limits at the edges: the rates that the contract names, powers of two and beside them, the
/// longest period, and the largest bursts.
fn edge_limits() -> Vec<Terms> {
    let powers = (0..64).map(|bit| 1_u64 << bit);
    let beside = powers.flat_map(|power| [power - 1, power, power.saturating_add(1)]);
    let numbers: Vec<u64> = beside
        .filter(|number| *number > 0)
        .chain([3, 7, 10, 60, 100, plain::SECOND, 10 * plain::SECOND])
        .chain([plain::MONTH, plain::THIRTY_YEARS, u64::MAX - 1, u64::MAX])
        .collect();
    let mut limits = Vec::new();
    for &period in &numbers {
        for &permits in &numbers {
            let Some(largest) = Terms::largest_burst(permits, period) else {
                continue;
            };
            limits.extend([1, largest].map(|burst| Terms {
                permits,
                period,
                burst,
            }));
        }
    }
    limits
}
