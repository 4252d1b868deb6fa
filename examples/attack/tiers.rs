//! Two limits on one key: five a second and twenty a minute.
//!
//! `AllOf` spends from both or from neither. Two limiters asked one after the other are not the
//! same: what the first has given is spent even when the second refuses, so the client pays for
//! answers that it never got.

use tollgate::{AllOf, Limit, LimitError, ManualTicker, RateLimiter, TokenBucket};

use crate::{MILLISECOND, SECOND};

/// The limit that stops a burst.
pub const PER_SECOND: Limit = Limit::per_second(5);

/// The limit that stops a crawl.
pub const PER_MINUTE: Limit = Limit::per_minute(20);

/// The time from one request to the next.
pub const EVERY: u64 = 100 * MILLISECOND;

/// How long the client goes on.
pub const LENGTH: u64 = 120 * SECOND;

/// How many seconds are told apart.
pub const FIRST_SECONDS: usize = 6;

/// What a client that asks every 100 ms for two minutes was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Requests sent.
    pub sent: u64,
    /// Requests allowed.
    pub allowed: u64,
    /// Requests allowed in each of the first seconds.
    pub by_second: [u64; FIRST_SECONDS],
}

/// Both limits in one `AllOf`.
pub fn all_of() -> Result<Tiers, LimitError> {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<String>::builder([PER_SECOND, PER_MINUTE])
        .algorithm(AllOf)
        .ticker(ticker.clone())
        .build()?;
    Ok(crawl(&ticker, || limiter.try_acquire("ada").is_allowed()))
}

/// A limiter for the minute, and behind it one for the second.
pub fn chained() -> Result<Tiers, LimitError> {
    let ticker = ManualTicker::new(0);
    let limiter = |limit| {
        RateLimiter::<String>::builder(limit)
            .algorithm(TokenBucket)
            .ticker(ticker.clone())
            .build()
    };
    let minute = limiter(PER_MINUTE)?;
    let second = limiter(PER_SECOND)?;
    Ok(crawl(&ticker, || {
        minute.try_acquire("ada").is_allowed() && second.try_acquire("ada").is_allowed()
    }))
}

fn crawl(ticker: &ManualTicker, ask: impl Fn() -> bool) -> Tiers {
    let mut tiers = Tiers {
        sent: 0,
        allowed: 0,
        by_second: [0; FIRST_SECONDS],
    };
    for now in (0..LENGTH).step_by(EVERY as usize) {
        ticker.set(now);
        tiers.sent += 1;
        if ask() {
            tiers.allowed += 1;
            if let Some(count) = tiers.by_second.get_mut((now / SECOND) as usize) {
                *count += 1;
            }
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_spends_from_both_limits_or_from_neither() {
        let tiers = all_of().unwrap();
        assert_eq!(tiers.sent, 1_200);
        assert_eq!(tiers.allowed, 59);
        assert_eq!(tiers.by_second, [9, 5, 5, 2, 0, 0]);
    }

    #[test]
    fn chained_limiters_spend_from_the_first_what_the_second_refuses() {
        let tiers = chained().unwrap();
        assert_eq!(tiers.sent, 1_200);
        assert_eq!(tiers.allowed, 53);
        assert_eq!(tiers.by_second, [9, 5, 0, 1, 0, 0]);
    }
}
