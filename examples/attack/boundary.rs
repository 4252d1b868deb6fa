//! A whole limit's worth just before the minute is full, and again just after.

use tollgate::{FixedWindow, Limit, LimitError, ManualTicker, RateLimiter};

use crate::{MILLISECOND, SECOND};

/// The limit on either side.
pub const LIMIT: Limit = Limit::per_minute(100);

/// How many requests came at one instant, and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volley {
    /// The ticker's reading.
    pub at: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests allowed.
    pub allowed: u64,
}

/// Sends a volley at 0:59 and one at 1:00.5 through a fixed window.
pub fn straddle() -> Result<[Volley; 2], LimitError> {
    const BEFORE: u64 = 59 * SECOND;
    const AFTER: u64 = 60 * SECOND + 500 * MILLISECOND;
    let ticker = ManualTicker::new(BEFORE);
    let limiter = RateLimiter::<String>::builder(LIMIT)
        .algorithm(FixedWindow)
        .ticker(ticker.clone())
        .build()?;

    Ok([BEFORE, AFTER].map(|at| {
        ticker.set(at);
        let sent = LIMIT.permits();
        let allowed = (0..sent)
            .filter(|_| limiter.try_acquire("mallory").is_allowed())
            .count() as u64;
        Volley { at, sent, allowed }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_window_allows_the_whole_limit_on_either_side_of_the_minute() {
        assert_eq!(straddle().unwrap().map(|volley| volley.allowed), [100, 100]);
    }
}
