//! Eight threads on one key while the clock stands still.
//!
//! No time passes, so no permit comes back, and exactly the limit may get through: in every round,
//! however the threads interleave. A window that looks and then counts, met by the same threads,
//! shows what is at stake.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use tollgate::{AnyAlgorithm, Limit, LimitError, RateLimiter};

use crate::restless::Restless;
use crate::unsynchronised::Unsynchronised;

/// The limit on the key.
pub const LIMIT: Limit = Limit::per_minute(1_000);

/// The second limit of `AllOf`: as much in an hour.
pub const HOURLY: Limit = Limit::per_hour(1_000);

/// How many threads there are.
pub const THREADS: usize = 8;

/// How many requests the threads send together.
pub const REQUESTS: usize = 40_000;

/// How often it is all done again, with a fresh key.
pub const ROUNDS: u64 = 100;

/// How many requests were allowed in each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stampede {
    allowed: Vec<u64>,
}

impl Stampede {
    /// Stampedes a limiter of this `algorithm`.
    pub fn through(algorithm: AnyAlgorithm) -> Result<Self, LimitError> {
        let limits = match algorithm {
            AnyAlgorithm::AllOf => vec![LIMIT, HOURLY],
            _ => vec![LIMIT],
        };
        let limiter = RateLimiter::<u64>::builder(limits)
            .algorithm(algorithm)
            .ticker(Restless::new())
            .build()?;
        let allowed = (0..ROUNDS)
            .map(|round| rush(|| limiter.try_acquire(&round).is_allowed()))
            .collect();
        Ok(Self { allowed })
    }

    /// Stampedes the unsynchronised window.
    pub fn through_unsynchronised() -> Self {
        let ticker = Restless::new();
        let allowed = (0..ROUNDS)
            .map(|_| {
                let window = Unsynchronised::new(LIMIT, &ticker);
                rush(|| window.try_acquire())
            })
            .collect();
        Self { allowed }
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.allowed.len() as u64
    }

    /// The fewest allowed in a round.
    pub fn fewest(&self) -> u64 {
        self.allowed.iter().copied().min().unwrap_or(0)
    }

    /// The most allowed in a round.
    pub fn most(&self) -> u64 {
        self.allowed.iter().copied().max().unwrap_or(0)
    }

    /// In how many rounds more than the limit were allowed.
    pub fn rounds_over(&self) -> u64 {
        let over = |allowed: &&u64| **allowed > LIMIT.permits();
        self.allowed.iter().filter(over).count() as u64
    }

    /// How many were allowed above the limit, in percent of it, over all rounds.
    pub fn percent_over(&self) -> f64 {
        let over: u64 = self
            .allowed
            .iter()
            .map(|allowed| allowed.saturating_sub(LIMIT.permits()))
            .sum();
        100.0 * over as f64 / (self.rounds() * LIMIT.permits()) as f64
    }
}

/// How many of [`REQUESTS`] are allowed when all threads put them to `ask` at once.
///
/// None starts before all are there: the whole limit can be spent in a few microseconds, by one
/// thread before another is awake.
fn rush(ask: impl Fn() -> bool + Sync) -> u64 {
    let ready = AtomicUsize::new(0);
    let run = || {
        // SeqCst: nothing hangs on the order. This gathers the threads, and does it closer
        // together than a `Barrier`, which wakes them one after the other.
        ready.fetch_add(1, SeqCst);
        while ready.load(SeqCst) < THREADS {
            thread::yield_now();
        }
        (0..REQUESTS / THREADS).filter(|_| ask()).count() as u64
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_limit_gets_through_every_algorithm_in_every_round() {
        for algorithm in AnyAlgorithm::ALL {
            let stampede = Stampede::through(algorithm).unwrap();
            assert_eq!(stampede.rounds(), ROUNDS);
            assert_eq!(
                (stampede.fewest(), stampede.most()),
                (1_000, 1_000),
                "{algorithm}"
            );
            assert_eq!(stampede.rounds_over(), 0);
        }
    }

    #[test]
    fn a_window_that_looks_and_then_counts_lets_too_many_through() {
        let stampede = Stampede::through_unsynchronised();
        assert!(stampede.fewest() >= 1_000, "it only ever loses counts");
        assert!(stampede.rounds_over() > 0, "{stampede:?}");
    }

    #[test]
    fn rounds_are_summed_up_against_the_limit() {
        let stampede = Stampede {
            allowed: vec![1_000, 1_500, 1_000, 1_100],
        };
        assert_eq!((stampede.fewest(), stampede.most()), (1_000, 1_500));
        assert_eq!(stampede.rounds_over(), 2);
        assert_eq!(stampede.percent_over(), 15.0);
    }
}
