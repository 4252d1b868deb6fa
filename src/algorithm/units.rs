//! Time as fractions of a permit, and back.
//!
//! Whole nanoseconds cannot hold the time that a permit costs (3 a second, 7 a second, a gigabyte
//! a second). So a bucket counts time in *units* of 2^−f permits:
//!
//! ```text
//! τ(x) = ⌊x · N · 2^f / P⌋
//! ```
//!
//! with x the nanoseconds since the limiter was built, N the permits, P the period, and f the
//! largest number for which 30 years and a burst fit in 64 bits. A unit is at most 1 ns of
//! refill; for 5 a second it is 0.09 ns.
//!
//! # How it is computed
//!
//! The ratio N·2^f/P lies between 1 and 19.5 (a unit is at most 1 ns; 30 years of units are below
//! 2⁶⁴). Rounded *up* to a multiple of 2^−123 it fits in two words, and the product with x is too
//! large by less than x·2^−123. x is at most 30 years, below 2⁶⁰, so the error is below 2^−63;
//! the exact product is at least 1/P away from the next whole number above it, so its floor is
//! right while P ≤ 2⁶³.
//!
//! The way back, ⌈T·P / (N·2^f)⌉, has a ratio of at most 1, rounded *down* to a multiple of
//! 2^−127. Product and truncation lose less than 2^−62 together, and the exact value is a multiple
//! of 1/(N·2^f) ≥ 2^−62 for P ≤ 2⁵⁷, so its ceiling is right.
//!
//! Periods above 2⁵⁷ ns, 4.5 years, take a plain division in 128 bits.

use crate::error::LimitError;
use crate::limit::Limit;
use std::num::NonZeroU128;

/// The longest time that is counted exactly, in nanoseconds: 30 years of 365¼ days. Later times
/// count as this one.
pub(crate) const HORIZON: u64 = 946_728_000 * 1_000_000_000;

/// Converts between nanoseconds and units for one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// N·2^f / P rounded up to a multiple of 2^−123, as two words, the high one first.
    per_ns: (u64, u64),
    /// P / (N·2^f) rounded down to a multiple of 2^−127, as two words.
    per_unit: (u64, u64),
    /// f: a permit is 2^f units.
    shift: u32,
    /// Whether the period is too long for the two ratios.
    divide: bool,
    /// P. That neither of the two can be zero is known to the compiler, or it would keep a division
    /// whose result nobody reads, and all that leads up to it, for the panic.
    period: NonZeroU128,
    /// N·2^f.
    units: NonZeroU128,
}

const PER_NS_BITS: u32 = 123;
const PER_UNIT_BITS: u32 = 127;

impl Units {
    /// The finest units in which 30 years and one burst can be counted.
    pub(crate) fn new(limit: &Limit) -> Result<Self, LimitError> {
        let (permits, period) = (u128::from(limit.permits()), u128::from(limit.period_ns()));
        let burst = u128::from(limit.burst());
        // Two values at the top of a word are kept for states that are retired or moving.
        let most = (1_u128 << 64) - 2;

        let horizon = (permits * u128::from(HORIZON)).div_ceil(period) + burst;
        if horizon >= most {
            return Err(LimitError::TooManyPermits {
                permits: limit.permits(),
                period: limit.period(),
                burst: limit.burst(),
            });
        }
        // The largest f with horizon · 2^f < most.
        let shift = ((most - 1) / horizon).ilog2();
        let units = permits << shift;
        if period > units {
            let years = burst * period / permits / u128::from(HORIZON / 30);
            return Err(LimitError::BurstFillsTooSlowly {
                burst: limit.burst(),
                years: u64::try_from(years).unwrap_or(u64::MAX),
            });
        }
        Ok(Self {
            per_ns: words(ratio(units, period, PER_NS_BITS, true)),
            per_unit: words(ratio(period, units, PER_UNIT_BITS, false)),
            shift,
            divide: period > 1 << 57,
            period: NonZeroU128::new(period).expect("a limit has a period"),
            units: NonZeroU128::new(units).expect("a limit has permits"),
        })
    }

    /// f: a permit is 2^f units.
    #[inline]
    pub(crate) const fn shift(&self) -> u32 {
        self.shift
    }

    /// τ: the units that `elapsed` nanoseconds bring, rounded down.
    #[inline]
    pub(crate) fn after(&self, elapsed: u64) -> u64 {
        let elapsed = elapsed.min(HORIZON);
        if self.divide {
            return self.after_by_division(elapsed);
        }
        let high = u128::from(elapsed) * u128::from(self.per_ns.0);
        let low = (u128::from(elapsed) * u128::from(self.per_ns.1)) >> 64;
        ((high + low) >> (PER_NS_BITS - 64)) as u64
    }

    /// The nanoseconds until τ is at least `units`, from the building of the limiter, rounded up.
    #[inline]
    pub(crate) fn time_of(&self, units: u64) -> u64 {
        if self.divide {
            return self.time_of_by_division(units);
        }
        let high = u128::from(units) * u128::from(self.per_unit.0);
        let low = (u128::from(units) * u128::from(self.per_unit.1)) >> 64;
        let up = (1 << (PER_UNIT_BITS - 64)) - 1;
        ((high + low + up) >> (PER_UNIT_BITS - 64)) as u64
    }

    #[cold]
    fn after_by_division(&self, elapsed: u64) -> u64 {
        (u128::from(elapsed) * self.units.get() / self.period) as u64
    }

    #[cold]
    fn time_of_by_division(&self, units: u64) -> u64 {
        let product = u128::from(units) * self.period.get();
        let time = product / self.units + u128::from(product % self.units > 0);
        time as u64 // A unit is at most 1 ns.
    }
}

/// `over` / `under` as a multiple of 2^−bits, by long division.
fn ratio(over: u128, under: u128, bits: u32, round_up: bool) -> u128 {
    let mut quotient = over / under;
    let mut rest = over % under;
    for _ in 0..bits {
        rest *= 2;
        quotient *= 2;
        if rest >= under {
            rest -= under;
            quotient += 1;
        }
    }
    quotient + u128::from(round_up && rest > 0)
}

fn words(number: u128) -> (u64, u64) {
    ((number >> 64) as u64, number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Limits of every size that a bucket can keep.
    fn limits() -> impl Strategy<Value = Limit> {
        (
            any::<u64>(),
            0..64_u32,
            any::<u64>(),
            0..64_u32,
            any::<u64>(),
            0..64_u32,
        )
            .prop_map(|(permits, a, period, b, burst, c)| {
                let period = Duration::from_nanos((period >> b).max(1));
                Limit::new((permits >> a).max(1), period)
                    .expect("neither is zero")
                    .with_burst((burst >> c).max(1))
            })
            .prop_filter("a bucket can keep it", |limit| Units::new(limit).is_ok())
    }

    fn agrees(units: &Units, elapsed: u64) {
        let elapsed = elapsed.min(HORIZON);
        let tau = units.after_by_division(elapsed);
        assert_eq!(units.after(elapsed), tau, "{elapsed} ns in {units:?}");
    }

    fn agrees_back(units: &Units, target: u64) {
        let time = units.time_of_by_division(target);
        assert_eq!(units.time_of(target), time, "{target} units in {units:?}");
    }

    #[test]
    fn the_unit_is_the_finest_that_fits() {
        for (text, shift) in [("5/s", 31), ("1/h burst 1", 45), ("10000000000/s", 0)] {
            let limit: Limit = text.parse().expect("a limit");
            let units = Units::new(&limit).expect("one that can be kept");
            assert_eq!(units.shift(), shift, "{text}");
        }
    }

    #[test]
    fn a_limit_that_cannot_be_counted_is_refused() {
        let text = |text: &str| Units::new(&text.parse().expect("a limit")).unwrap_err();
        assert!(matches!(text("1G/ns"), LimitError::TooManyPermits { .. }));
        assert!(matches!(
            text("1/d burst 1000000"),
            LimitError::BurstFillsTooSlowly { years: 2737, .. }
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn multiplying_agrees_with_dividing(
            limit in limits(), elapsed in 0..=HORIZON, shift in 0..60_u32, target in any::<u64>(),
        ) {
            let units = Units::new(&limit).expect("filtered");
            for elapsed in [elapsed, elapsed >> shift, HORIZON, u64::MAX] {
                agrees(&units, elapsed);
            }
            for target in [target, target >> shift, u64::MAX] {
                agrees_back(&units, target);
            }
            // Where the exact quotient is a whole number, or just beside one.
            let tau = units.after(elapsed >> shift);
            let edge = units.time_of(tau);
            for elapsed in [edge.saturating_sub(1), edge, edge + 1] {
                agrees(&units, elapsed);
            }
            let whole = (elapsed >> shift) / limit.period_ns() * limit.period_ns();
            for elapsed in [whole.saturating_sub(1), whole, whole + 1] {
                agrees(&units, elapsed);
                let tau = units.after(elapsed);
                for target in [tau.saturating_sub(1), tau, tau + 1] {
                    agrees_back(&units, target);
                }
            }
        }

        #[test]
        fn the_way_back_is_the_first_nanosecond_that_brings_so_much(
            limit in limits(), elapsed in 0..HORIZON,
        ) {
            let units = Units::new(&limit).expect("filtered");
            let target = units.after(elapsed);
            let time = units.time_of(target);
            prop_assert!(time <= elapsed);
            prop_assert!(units.after(time) >= target);
            if time > 0 {
                prop_assert!(units.after(time - 1) < target);
            }
        }
    }
}
