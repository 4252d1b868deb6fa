//! One client that never lets up: it tries every 10 ms for five minutes, whatever the answer.
//!
//! It begins at half past a minute of the ticker's clock. A window that ends at the full minute
//! is then half over, which is the worst moment for an algorithm that forgets at the boundary.

use tollgate::{AnyAlgorithm, Limit, LimitError, ManualTicker, RateLimiter};

use crate::trailing::Trailing;
use crate::{MILLISECOND, SECOND};

/// The limit under siege.
pub const LIMIT: Limit = Limit::per_minute(100);

/// The ticker's reading at the first try.
pub const START: u64 = 30 * SECOND;

/// How long the siege goes on.
pub const LENGTH: u64 = 300 * SECOND;

/// The time from one try to the next.
pub const EVERY: u64 = 10 * MILLISECOND;

/// The algorithms under siege: those that keep a single limit.
pub const ALGORITHMS: [AnyAlgorithm; 4] = [
    AnyAlgorithm::FixedWindow,
    AnyAlgorithm::SlidingLog,
    AnyAlgorithm::SlidingCounter,
    AnyAlgorithm::TokenBucket,
];

/// What one algorithm let through.
#[derive(Clone, Debug)]
pub struct Siege {
    /// The algorithm.
    pub algorithm: AnyAlgorithm,
    /// How often the client tried.
    pub tries: u64,
    /// How often it was allowed.
    pub allowed: u64,
    /// The permits allowed in the trailing period, from the first try on.
    pub trailing: Trailing,
}

impl Siege {
    /// Lays siege to `algorithm`.
    pub fn lay(algorithm: AnyAlgorithm) -> Result<Self, LimitError> {
        let ticker = ManualTicker::new(START);
        let limiter = RateLimiter::<String>::builder(LIMIT)
            .algorithm(algorithm)
            .ticker(ticker.clone())
            .build()?;

        let mut tries = 0;
        let mut spent = Vec::new();
        for now in (START..START + LENGTH).step_by(EVERY as usize) {
            ticker.set(now);
            tries += 1;
            if limiter.try_acquire("mallory").is_allowed() {
                spent.push(now);
            }
        }
        Ok(Self {
            algorithm,
            tries,
            allowed: spent.len() as u64,
            trailing: Trailing::new(&spent, LIMIT.period_ns()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed_in_all_and_at_most(algorithm: AnyAlgorithm) -> (u64, u64) {
        let siege = Siege::lay(algorithm).unwrap();
        assert_eq!(siege.tries, 30_000);
        (siege.allowed, siege.trailing.most())
    }

    #[test]
    fn a_fixed_window_lets_twice_the_limit_through_around_a_boundary() {
        let found = allowed_in_all_and_at_most(AnyAlgorithm::FixedWindow);
        assert_eq!(found, (600, 200));
    }

    #[test]
    fn a_sliding_log_never_lets_more_than_the_limit_through() {
        let found = allowed_in_all_and_at_most(AnyAlgorithm::SlidingLog);
        assert_eq!(found, (500, 100));
    }

    #[test]
    fn a_sliding_counter_is_half_wrong_about_a_burst() {
        let found = allowed_in_all_and_at_most(AnyAlgorithm::SlidingCounter);
        assert_eq!(found, (546, 149));
    }

    #[test]
    fn a_token_bucket_lets_a_burst_and_a_refill_through_in_one_period() {
        let found = allowed_in_all_and_at_most(AnyAlgorithm::TokenBucket);
        assert_eq!(found, (599, 199));
    }
}
