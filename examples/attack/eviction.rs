//! A million clients that ask once and never come back.
//!
//! Under 100 a minute a permit is back after 0.6 s, and a key is as good as new from then on. A
//! sweep at 0.5 s must therefore keep every key, and one at 1.5 s none.

use tollgate::{Limit, LimitError, ManualTicker, RateLimiter};

use crate::MILLISECOND;

/// The limit on each key.
pub const LIMIT: Limit = Limit::per_minute(100);

/// How many keys there are.
pub const KEYS: u64 = 1_000_000;

/// The readings at which the limiter is swept.
pub const SWEEPS: [u64; 2] = [500 * MILLISECOND, 1_500 * MILLISECOND];

/// What the limiter held before and after its sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// Requests allowed, one for each key.
    pub allowed: u64,
    /// Keys in the map before the first sweep.
    pub tracked: u64,
    /// The sweeps, in order.
    pub sweeps: [Sweep; SWEEPS.len()],
}

/// One sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The ticker's reading.
    pub at: u64,
    /// Keys that were forgotten.
    pub evicted: u64,
    /// Keys that are still in the map.
    pub tracked: u64,
}

/// Lets every key ask once, and sweeps twice.
pub fn sweep() -> Result<Eviction, LimitError> {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<u64>::builder(LIMIT)
        .ticker(ticker.clone())
        .capacity(KEYS as usize)
        .build()?;

    let allowed = (0..KEYS)
        .filter(|key| limiter.try_acquire(key).is_allowed())
        .count() as u64;
    let tracked = limiter.tracked_keys() as u64;
    let sweeps = SWEEPS.map(|at| {
        ticker.set(at);
        Sweep {
            at,
            evicted: limiter.evict_idle() as u64,
            tracked: limiter.tracked_keys() as u64,
        }
    });
    Ok(Eviction {
        allowed,
        tracked,
        sweeps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_forgets_a_key_only_once_its_permit_is_back() {
        let eviction = sweep().unwrap();
        assert_eq!((eviction.allowed, eviction.tracked), (1_000_000, 1_000_000));
        let [early, late] = eviction.sweeps;
        assert_eq!((early.evicted, early.tracked), (0, 1_000_000));
        assert_eq!((late.evicted, late.tracked), (1_000_000, 0));
    }
}
