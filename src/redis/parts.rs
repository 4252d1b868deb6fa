//! Which part of a split limit a request goes to: the fuller of two.
//!
//! Of two parts drawn at random, the one that has more left is taken, by what the last answer of each said
//! and what has come back since. With one drawn at random some part would be empty long before the others
//! are; with the better of two they empty together (Azar, Broder, Karlin and Upfal, *Balanced
//! Allocations*, 1994).

use crate::decision::Decision;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// So many keys are followed; of others nothing is known.
const KEYS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Estimates(Mutex<HashMap<Vec<u8>, Vec<Option<Seen>>>>);

/// What a part said last.
#[derive(Clone, Copy, Debug)]
struct Seen {
    remaining: u64,
    at: Instant,
    full_after: Duration,
}

impl Seen {
    /// What is left by now, of so much: it comes back evenly until all is there.
    fn remaining(&self, capacity: u64) -> u64 {
        let gone = self.at.elapsed();
        if gone >= self.full_after {
            return capacity;
        }
        let share = gone.as_secs_f64() / self.full_after.as_secs_f64();
        let missing = capacity.saturating_sub(self.remaining);
        self.remaining + (missing as f64 * share) as u64
    }
}

impl Estimates {
    /// Two parts, the one that seems to have more left first. `draw` gives two numbers from 0 to 1.
    pub(super) fn choose(&self, key: &[u8], capacities: &[u64], draw: (f64, f64)) -> [usize; 2] {
        let count = capacities.len();
        let first = ((draw.0 * count as f64) as usize).min(count - 1);
        let step = 1 + ((draw.1 * (count - 1) as f64) as usize).min(count.saturating_sub(2));
        let second = (first + step) % count;
        let estimates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = estimates.get(key);
        let left = |part: usize| match known.and_then(|parts| parts[part]) {
            Some(seen) => seen.remaining(capacities[part]),
            None => capacities[part],
        };
        if left(second) > left(first) {
            [second, first]
        } else {
            [first, second]
        }
    }

    /// What a part said.
    pub(super) fn learn(&self, key: &[u8], part: usize, parts: usize, decision: &Decision) {
        let mut estimates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !estimates.contains_key(key) && estimates.len() >= KEYS {
            // Those that are full again are as those that are not known.
            estimates.retain(|_, parts| {
                let old = |seen: &Option<Seen>| seen.is_none_or(|s| s.at.elapsed() >= s.full_after);
                !parts.iter().all(old)
            });
            if estimates.len() >= KEYS {
                return;
            }
        }
        let known = estimates.entry(key.to_vec()).or_default();
        known.resize(parts, None);
        known[part] = Some(Seen {
            remaining: decision.remaining(),
            at: Instant::now(),
            full_after: decision.reset_after(),
        });
    }

    pub(super) fn forget(&self, key: &[u8]) {
        let mut estimates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        estimates.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Standing, Verdict};

    fn left(remaining: u64) -> Decision {
        let standing = Standing {
            remaining,
            next_permit_after: 1,
            reset_after: 1_000_000_000,
        };
        Decision::new(Verdict::Allowed, 0, 1, 0, standing)
    }

    #[tokio::test(start_paused = true)]
    async fn the_fuller_of_two_comes_first_and_fills_with_time() {
        let estimates = Estimates::default();
        let capacities = [10; 4];
        assert_eq!(estimates.choose(b"k", &capacities, (0.0, 0.0)), [0, 1]);
        estimates.learn(b"k", 0, 4, &left(3));
        assert_eq!(estimates.choose(b"k", &capacities, (0.0, 0.0)), [1, 0]);
        estimates.learn(b"k", 1, 4, &left(2));
        assert_eq!(estimates.choose(b"k", &capacities, (0.0, 0.0)), [0, 1]);
        tokio::time::advance(Duration::from_millis(500)).await;
        estimates.learn(b"k", 1, 4, &left(5));
        assert_eq!(
            estimates.choose(b"k", &capacities, (0.0, 0.0)),
            [0, 1],
            "6 by now"
        );
        estimates.forget(b"k");
        assert_eq!(estimates.choose(b"k", &capacities, (0.3, 0.0)), [1, 2]);
    }

    #[test]
    fn two_different_parts_are_drawn_whatever_the_draw() {
        let estimates = Estimates::default();
        for count in 2..9 {
            for a in 0..=20 {
                for b in 0..=20 {
                    let draw = (f64::from(a) / 20.0, f64::from(b) / 20.0);
                    let [first, second] = estimates.choose(b"k", &vec![1; count], draw);
                    assert!(first != second && first.max(second) < count);
                }
            }
        }
    }
}
