//! The contract's formulae as they are written there, in integers without bounds.
//!
//! Nothing here is shared with `src/`: a limit is three numbers. The unit tests of the pure steps
//! mount it as well as `tests/arithmetic.rs`.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

use num_bigint::BigInt;
use num_rational::BigRational;

pub const SECOND: u64 = 1_000_000_000;
pub const DAY: u64 = 86_400 * SECOND;
/// 30 years of 365.25 days.
pub const THIRTY_YEARS: u64 = 10_957 * DAY + DAY / 2;
/// The longest month.
pub const MONTH: u64 = 31 * DAY;
/// At 10¹⁰ permits a second 30 years are just above half of 2⁶⁴, so that the rest holds a burst of
/// 28 years.
pub const LONGEST_BURST: u64 = 28 * 365 * DAY;

pub fn big(number: impl Into<BigInt>) -> BigInt {
    number.into()
}

pub fn fraction(over: impl Into<BigInt>, under: impl Into<BigInt>) -> BigRational {
    BigRational::new(over.into(), under.into())
}

pub fn ceil(over: BigInt, under: impl Into<BigInt>) -> BigInt {
    fraction(over, under).ceil().to_integer()
}

/// A limit: N permits in P nanoseconds, B at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub permits: u64,
    pub period: u64,
    pub burst: u64,
}

impl Terms {
    /// ⌈N · 30 years / P⌉.
    fn permits_in_thirty_years(&self) -> BigInt {
        ceil(big(self.permits) * THIRTY_YEARS, self.period)
    }

    /// f, by trying: the largest number with (⌈N · 30 years / P⌉ + B) · 2^f < 2⁶⁴ − 2. None where
    /// the limit is to be refused: f < 0, or P / (N · 2^f) > 1.
    pub fn fraction_bits(&self) -> Option<u32> {
        let most = self.permits_in_thirty_years() + self.burst;
        let fits = |f: &u32| &most << *f < (big(1) << 64) - 2;
        let f = (0..64).take_while(fits).last()?;
        (big(self.period) <= big(self.permits) << f).then_some(f)
    }

    /// The largest burst that the rate is accepted with, if there is any.
    pub fn largest_burst(permits: u64, period: u64) -> Option<u64> {
        let with_burst = |burst| Self {
            permits,
            period,
            burst,
        };
        // The smallest f with which a unit is no more than 1 ns.
        let f = (0..64).find(|f| big(period) <= big(permits) << *f)?;
        let most = ((big(1) << 64) - 3) >> f;
        let burst = most - with_burst(1).permits_in_thirty_years();
        u64::try_from(burst).ok().filter(|burst| *burst > 0)
    }

    /// Whether the rate is from one permit a month to 10¹⁰ a second, and the burst fills within 28
    /// years: such a limit is never refused by a token bucket.
    pub fn is_claimed(&self) -> bool {
        let burst = big(self.burst) * self.period;
        big(self.permits) * MONTH >= big(self.period)
            && big(self.permits) <= big(self.period) * 10
            && (self.burst == 1 || burst <= big(self.permits) * LONGEST_BURST)
    }

    /// A limit from one permit a month to 10¹⁰ a second with a burst from 1 to the largest, as many
    /// of each length; the numbers decide which.
    pub fn of_any_rate(numbers: [u64; 3]) -> Self {
        let period = 1 + of_any_length(numbers[0]) % LONGEST_BURST;
        let fewest = period.div_ceil(MONTH);
        let most = period.saturating_mul(10);
        let permits = fewest + of_any_length(numbers[1]) % (most - fewest + 1);
        let largest = Self::largest_burst(permits, period).expect("a claimed rate");
        let burst = match numbers[2] >> 61 {
            0 => largest,
            1 => permits.min(largest),
            _ => 1 + of_any_length(numbers[2] << 3) % largest,
        };
        Self {
            permits,
            period,
            burst,
        }
    }
}

/// A number from 1 as short as the last six bits say.
pub fn of_any_length(number: u64) -> u64 {
    (number >> (number % 64)).max(1)
}

/// A token bucket: when it will be full again is counted in fractions of a permit.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub terms: Terms,
    /// f: a permit is 2^f fractions.
    pub f: u32,
}

impl Bucket {
    pub fn new(terms: Terms) -> Option<Self> {
        terms.fraction_bits().map(|f| Self { terms, f })
    }

    pub fn permits(&self, count: u64) -> BigInt {
        big(count) << self.f
    }

    pub fn capacity(&self) -> BigInt {
        self.permits(self.terms.burst)
    }

    /// What has flowed in so long after the building, before it is rounded down.
    pub fn flowed(&self, elapsed: impl Into<BigInt>) -> BigRational {
        fraction(
            elapsed.into() * self.permits(self.terms.permits),
            self.terms.period,
        )
    }

    /// τ, without an end: the caller cuts the time at 30 years.
    pub fn tau(&self, elapsed: impl Into<BigInt>) -> BigInt {
        elapsed.into() * self.permits(self.terms.permits) / self.terms.period
    }

    /// The new `full`, if the request is allowed.
    pub fn spend(&self, full: &BigInt, tau: &BigInt, cost: u64) -> Option<BigInt> {
        let next = full.max(tau) + self.permits(cost);
        (&next - tau <= self.capacity()).then_some(next)
    }

    /// Whole permits left; none where a reading older than the last spend finds more owed than the
    /// bucket holds.
    pub fn remaining(&self, full: &BigInt, tau: &BigInt) -> BigInt {
        let left = self.capacity() - (full.max(tau) - tau);
        left.max(big(0)) >> self.f
    }

    /// The τ at which a request that is denied now is allowed.
    pub fn allowed_at(&self, full: &BigInt, cost: u64) -> BigInt {
        full + self.permits(cost) - self.capacity()
    }
}
