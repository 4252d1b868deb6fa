//! The limiter that decides in this process while the store does not.

use super::recipe::Recipe;
use super::set_up::SetUpError;
use crate::algorithm::{AnyAlgorithm, Limits};
use crate::decision::Decision;
use crate::limit::Limit;
use crate::limiter::RateLimiter;

/// So many keys are followed at most.
const KEYS: usize = 1_000_000;

/// This server's share of a limit, kept as empty as the store last said.
#[derive(Debug)]
pub(super) struct Local {
    limiter: RateLimiter<Vec<u8>, AnyAlgorithm>,
    servers: u64,
}

impl Local {
    pub(super) fn new(recipe: &Recipe, servers: u32) -> Result<Self, SetUpError> {
        let limits: Result<Vec<Limit>, _> = recipe
            .limits
            .iter()
            .map(|limit| part(limit, 0, servers, Round::Down))
            .collect();
        let limiter = RateLimiter::builder(Limits::from(limits?))
            .algorithm(recipe.algorithm)
            .max_keys(KEYS)
            .build()?;
        Ok(Self {
            limiter,
            servers: u64::from(servers.max(1)),
        })
    }

    pub(super) fn decide(&self, key: &[u8], cost: u64) -> Decision {
        self.limiter.try_acquire_n(key, cost)
    }

    pub(super) fn peek(&self, key: &[u8], cost: u64) -> Decision {
        self.limiter.peek_n(key, cost)
    }

    pub(super) fn charge(&self, key: &[u8], cost: u64) -> Decision {
        self.limiter.charge(key, cost)
    }

    pub(super) fn refund(&self, key: &[u8], decision: Decision) {
        self.limiter.refund(key, decision);
    }

    pub(super) fn reset(&self, key: &[u8]) {
        self.limiter.reset(key);
    }

    /// Leaves the key no more than this server's share of what the store says is left.
    pub(super) fn follow(&self, key: &[u8], remaining: u64) {
        let share = remaining / self.servers;
        let own = self.limiter.peek(key).remaining();
        if own > share {
            let _ = self.limiter.charge(key, own - share);
        }
    }
}

/// What happens to what does not divide evenly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// Nobody has it.
    Down,
    /// The first parts have one more: all together are exactly the whole.
    Spread,
}

/// The `at`-th of so many parts of a limit.
pub(super) fn part(limit: &Limit, at: u32, of: u32, round: Round) -> Result<Limit, SetUpError> {
    let none = || SetUpError::Split {
        limit: *limit,
        parts: of,
    };
    let of = u64::from(of);
    if of == 0 {
        return Err(none());
    }
    let of_it = |whole: u64| {
        let more = round == Round::Spread && u64::from(at) < whole % of;
        whole / of + u64::from(more)
    };
    let part = Limit::new(of_it(limit.permits()), limit.period()).map_err(|_| none())?;
    part.try_with_burst(of_it(limit.burst()))
        .map_err(|_| none())
}

/// As [`part`], of each limit.
pub(super) fn parts(recipe: &Recipe, at: u32, of: u32) -> Result<Recipe, SetUpError> {
    let limits: Result<Vec<Limit>, _> = recipe
        .limits
        .iter()
        .map(|limit| part(limit, at, of, Round::Spread))
        .collect();
    Recipe::new(recipe.algorithm, limits?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_share_of_nothing_is_refused_with_the_numbers() {
        let error = part(&Limit::per_second(3), 0, 4, Round::Down).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("3/s cannot be split into 4 parts"),
            "{error}"
        );
        assert!(part(&Limit::per_second(3), 0, 0, Round::Down).is_err());
    }

    #[test]
    fn what_the_store_says_is_left_is_shared_and_never_raised() {
        let limit = Limit::per_hour(100);
        let recipe = Recipe::new(AnyAlgorithm::TokenBucket, limit.into()).expect("it fits");
        let local = Local::new(&recipe, 4).expect("a share");
        local.follow(b"ada", 100);
        assert_eq!(local.peek(b"ada", 1).remaining(), 25);
        local.follow(b"ada", 41);
        assert_eq!(local.peek(b"ada", 1).remaining(), 10);
        local.follow(b"ada", 100);
        assert_eq!(local.peek(b"ada", 1).remaining(), 10, "it fills by itself");
        local.follow(b"ada", 0);
        assert!(local.decide(b"ada", 1).is_denied(), "no fresh burst");
    }

    proptest! {
        #[test]
        fn parts_come_to_exactly_the_whole(
            permits in 1..10_000_u64, burst in 1..10_000_u64, of in 1..64_u32,
        ) {
            let limit = Limit::per_hour(permits).with_burst(burst);
            let all: Result<Vec<_>, _> =
                (0..of).map(|at| part(&limit, at, of, Round::Spread)).collect();
            match all {
                Ok(all) => {
                    prop_assert_eq!(all.iter().map(Limit::permits).sum::<u64>(), permits);
                    prop_assert_eq!(all.iter().map(Limit::burst).sum::<u64>(), burst);
                    let (most, least) = (all[0].burst(), all[all.len() - 1].burst());
                    prop_assert!(most - least <= 1);
                }
                Err(_) => prop_assert!(permits.min(burst) < u64::from(of)),
            }
        }
    }
}
