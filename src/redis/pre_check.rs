//! Denials that need no round trip: what the store has denied, it will deny until the time that it named.
//!
//! It only ever denies, and only requests of at least the cost that was denied. What this process gives
//! back or resets drops what it knows; what other processes give back it does not see, so that for the
//! time that the store named a request may be denied that the store would let through by then.

use papaya::{HashMap, Operation};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// So many keys are remembered, unless told otherwise.
pub(super) const KEYS: usize = 100_000;

#[derive(Clone, Copy, Debug)]
struct Denied {
    cost: u64,
    until: Instant,
}

#[derive(Debug)]
pub(super) struct PreCheck {
    denied: HashMap<Vec<u8>, Denied>,
    most: usize,
    /// Counts what makes old denials wrong. Who asked before one of these learns nothing from the answer.
    changes: AtomicU64,
    /// How many more denials are not remembered before the next look for some that are over.
    skip: AtomicUsize,
}

/// The state of affairs before the store was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    at: Instant,
    changes: u64,
}

impl PreCheck {
    pub(super) fn new(most: usize) -> Self {
        Self {
            denied: HashMap::new(),
            most,
            changes: AtomicU64::new(0),
            skip: AtomicUsize::new(0),
        }
    }

    pub(super) fn asks(&self) -> Asked {
        Asked {
            at: Instant::now(),
            // Acquire: pairs with the Release in `drop_key`; the answer that follows is newer.
            changes: self.changes.load(Ordering::Acquire),
        }
    }

    /// How long a request has to wait still, if the store has said so.
    pub(super) fn denies(&self, key: &[u8], cost: u64) -> Option<Duration> {
        let guard = self.denied.guard();
        let denied = self.denied.get(key, &guard)?;
        if cost < denied.cost {
            return None;
        }
        let left = denied.until.checked_duration_since(Instant::now())?;
        (left > Duration::ZERO).then_some(left)
    }

    /// Remembers a denial. The time counts from before the store was asked: so this ends, if anything, a
    /// little before the time that the store named.
    pub(super) fn learn(&self, key: &[u8], cost: u64, retry_after: Duration, asked: Asked) {
        let Some(until) = asked.at.checked_add(retry_after) else {
            return;
        };
        let guard = self.denied.guard();
        if self.denied.len() >= self.most && !self.denied.contains_key(key, &guard) {
            self.make_room();
            if self.denied.len() >= self.most {
                return;
            }
        }
        let new = Denied { cost, until };
        self.denied.compute(
            key.to_vec(),
            |known| match known {
                // Both hold; the one for less says more while it lasts.
                Some((_, known)) if known.cost <= cost && known.until > asked.at => {
                    Operation::Abort(())
                }
                _ => Operation::Insert(new),
            },
            &guard,
        );
        // Acquire: whoever drops the key from here on finds the entry; who did before is seen here.
        if self.changes.load(Ordering::Acquire) != asked.changes {
            self.denied.remove(key, &guard);
        }
    }

    /// Forgets a denial that something has made wrong.
    pub(super) fn drop_key(&self, key: &[u8]) {
        // AcqRel: before the entry goes, so that one that comes after this is taken out by who put it in.
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.denied.pin().remove(key);
    }

    pub(super) fn drop_all(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.denied.pin().clear();
    }

    /// Takes out what is over, at most once for as many denials as there are places.
    fn make_room(&self) {
        // Relaxed: a figure by itself.
        let skip = self
            .skip
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        if skip.is_ok() {
            return;
        }
        let now = Instant::now();
        self.denied.pin().retain(|_, denied| denied.until > now);
        self.skip.store(self.most / 8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_denial_holds_for_its_cost_and_more_until_its_time() {
        let check = PreCheck::new(10);
        check.learn(b"ada", 3, SECOND, check.asks());
        assert_eq!(check.denies(b"ada", 2), None, "less was not denied");
        assert_eq!(check.denies(b"ada", 3), Some(SECOND));
        assert_eq!(check.denies(b"bob", 3), None);
        tokio::time::advance(SECOND - Duration::from_millis(1)).await;
        assert_eq!(check.denies(b"ada", 4), Some(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(check.denies(b"ada", 4), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_denied_of_less_says_more() {
        let check = PreCheck::new(10);
        check.learn(b"ada", 1, SECOND, check.asks());
        check.learn(b"ada", 5, 9 * SECOND, check.asks());
        assert_eq!(check.denies(b"ada", 1), Some(SECOND));
        tokio::time::advance(2 * SECOND).await;
        check.learn(b"ada", 5, SECOND, check.asks());
        assert_eq!(check.denies(b"ada", 1), None);
        assert_eq!(check.denies(b"ada", 5), Some(SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_from_before_a_refund_teaches_nothing() {
        let check = PreCheck::new(10);
        let asked = check.asks();
        check.drop_key(b"ada");
        check.learn(b"ada", 1, SECOND, asked);
        assert_eq!(check.denies(b"ada", 1), None);
        let asked = check.asks();
        check.drop_all();
        check.learn(b"ada", 1, SECOND, asked);
        assert_eq!(check.denies(b"ada", 1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_bounded_and_makes_room_of_what_is_over() {
        let check = PreCheck::new(100);
        for key in 0..1_000_u32 {
            check.learn(&key.to_be_bytes(), 1, SECOND, check.asks());
        }
        assert_eq!(check.denied.len(), 100);
        tokio::time::advance(2 * SECOND).await;
        for key in 0..100_u32 {
            check.learn(&(5_000 + key).to_be_bytes(), 1, SECOND, check.asks());
        }
        assert!(check.denied.len() <= 100);
        assert!(check.denies(&5_099_u32.to_be_bytes(), 1).is_some());
    }
}
