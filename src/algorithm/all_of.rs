//! Several token buckets on one key: 5 a second *and* 20 a minute.
//!
//! The state is one `full` per limit, as for the [token bucket](super::token_bucket), behind a
//! [sequence lock](super::seqlock). A request asks every bucket and spends from all of them, or
//! from none. Two limiters one after the other do worse: what the first gives is lost when the
//! second refuses. At 5 a second and 20 a minute, with a request every 100 ms for two minutes, one
//! AllOf allows 59 and two chained limiters 53.

use super::seqlock::{SeqLock, Version, get, set};
use super::token_bucket::Bucket;
use super::{Algorithm, Gone, Reading};
use crate::decision::{Decision, NEVER, Standing};
use crate::error::LimitError;
use crate::limit::Limit;
use crate::sync::atomic::AtomicU64;
use std::fmt;

/// Every limit of a list at once, each as a [`TokenBucket`](crate::TokenBucket).
///
/// `retry_after` is the longest wait of the limits that refuse, `remaining` the smallest over all;
/// [`Decision::limit`] tells which one that was. `try_acquire_each` tells each limit's own.
///
/// # Promise
///
/// Each limit's: its burst at once, then its permits per period. All are spent, or none.
///
/// # Worst case
///
/// Each limit's.
///
/// # Linearization point
///
/// The compare-exchange of the version that begins the write; for a denial, the last load of the
/// version. It is not lock-free: a thread that is descheduled while it writes delays everyone on
/// that key, who spin and then yield.
///
/// # Errors
///
/// Refuses an empty list, and a limit that a token bucket refuses. Up to four limits are stored in
/// the map's entry; a longer list takes an allocation more for a new key.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{AllOf, Limit, ManualTicker, RateLimiter};
///
/// let ticker = ManualTicker::new(0);
/// let limiter = RateLimiter::<u64>::builder([Limit::per_second(5), Limit::per_minute(7)])
///     .algorithm(AllOf)
///     .ticker(ticker.clone())
///     .build()?;
/// assert!(limiter.try_acquire_n(&1, 5).is_allowed());
/// let denied = limiter.try_acquire(&1);
/// assert_eq!((denied.limit(), denied.retry_after()), (0, Some(Duration::from_millis(200))));
///
/// ticker.advance(Duration::from_secs(1));
/// assert!(limiter.try_acquire_n(&1, 2).is_allowed());
/// assert_eq!(limiter.try_acquire(&1).limit(), 1, "now it is the minute that refuses");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AllOf;

/// The limits, ready for the step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Buckets {
    buckets: Box<[Bucket]>,
    /// The smallest burst.
    capacity: u64,
}

/// One key's buckets: a version and four words, and a box that is empty up to four limits.
pub struct Fulls(SeqLock<Words>);

impl fmt::Debug for Fulls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fulls").finish_non_exhaustive()
    }
}

/// How many words are stored inline.
const INLINE: usize = 4;

struct Words {
    first: [AtomicU64; INLINE],
    more: Box<[AtomicU64]>,
}

impl Words {
    fn new(count: usize, word: impl Fn(usize) -> u64) -> Self {
        Self {
            first: std::array::from_fn(|index| {
                AtomicU64::new(if index < count { word(index) } else { 0 })
            }),
            more: (INLINE..count)
                .map(|index| AtomicU64::new(word(index)))
                .collect(),
        }
    }

    #[inline]
    fn at(&self, index: usize) -> &AtomicU64 {
        match self.first.get(index) {
            Some(word) => word,
            None => &self.more[index - INLINE],
        }
    }

    /// The words as they are, each of the first ones read once.
    #[inline]
    fn look(&self, count: usize) -> Seen<'_> {
        Seen {
            first: std::array::from_fn(|index| {
                if index < count {
                    get(&self.first[index])
                } else {
                    0
                }
            }),
            more: &self.more,
        }
    }
}

/// What was read of the words: the later ones of a long list stay where they are.
struct Seen<'w> {
    first: [u64; INLINE],
    more: &'w [AtomicU64],
}

impl Seen<'_> {
    #[inline]
    fn at(&self, index: usize) -> u64 {
        match self.first.get(index) {
            Some(full) => *full,
            None => get(&self.more[index - INLINE]),
        }
    }
}

/// What a request does to the buckets if all admit it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Intent {
    Spend,
    Look,
}

/// Gathers the answer of the whole list from the answers of its limits.
struct Gathered {
    /// The longest wait of the limits that refuse.
    wait: u64,
    decided: usize,
    fewest: usize,
    standing: Standing,
}

impl Gathered {
    fn new() -> Self {
        Self {
            wait: 0,
            decided: 0,
            fewest: 0,
            standing: Standing {
                remaining: u64::MAX,
                next_permit_after: 0,
                reset_after: 0,
            },
        }
    }

    #[inline]
    fn add(&mut self, index: usize, wait: u64, own: Standing) {
        if wait > self.wait {
            self.wait = wait;
            self.decided = index;
        }
        let all = &mut self.standing;
        if own.remaining < all.remaining || index == 0 {
            self.fewest = index;
            all.remaining = own.remaining;
            all.next_permit_after = own.next_permit_after;
        } else if own.remaining == all.remaining {
            all.next_permit_after = all.next_permit_after.max(own.next_permit_after);
        }
        all.reset_after = all.reset_after.max(own.reset_after);
    }

    #[inline]
    fn decision(mut self, capacity: u64, cost: u64, at: Reading) -> Decision {
        let limit = if self.wait == 0 {
            self.fewest
        } else {
            self.decided
        };
        if self.standing.remaining == capacity {
            self.standing.next_permit_after = 0;
        }
        // A list of more than 2^32 limits does not fit in memory.
        Decision::after(self.wait, limit as u32, cost, at.now(), self.standing)
    }
}

impl Buckets {
    /// The most permits that any limit is short of, of a state that nobody else knows.
    pub(super) fn missing(&self, state: &Fulls, at: Reading) -> u64 {
        let words = state.0.words();
        let missing = |(index, bucket): (usize, &Bucket)| {
            let full = get(words.at(index));
            bucket.burst() - bucket.remaining(bucket.spent(full, at))
        };
        self.buckets
            .iter()
            .enumerate()
            .map(missing)
            .max()
            .unwrap_or(0)
    }

    /// What every limit says of the words as they are, and whether all admit the request.
    #[inline]
    fn ask(
        &self,
        seen: &Seen<'_>,
        at: Reading,
        cost: u64,
        intent: Intent,
        each: &mut [Decision],
    ) -> (Decision, bool) {
        let admitted = self.buckets.iter().enumerate().all(|(index, bucket)| {
            cost <= bucket.burst() && bucket.spend(seen.at(index), at, cost).is_some()
        });
        let spends = admitted && intent == Intent::Spend;

        let mut gathered = Gathered::new();
        for (index, bucket) in self.buckets.iter().enumerate() {
            let full = seen.at(index);
            // With words that were torn meanwhile there may be nothing to spend: asked again.
            let after = if spends {
                bucket.spend(full, at, cost).unwrap_or(full)
            } else {
                full
            };
            let wait = if admitted || cost == 0 {
                0
            } else if cost > bucket.burst() {
                NEVER
            } else if bucket.spend(full, at, cost).is_some() {
                0
            } else {
                bucket.retry_after(full, at, cost).min(NEVER - 1)
            };
            let own = bucket.standing(after, at);
            gathered.add(index, wait, own);
            if let Some(slot) = each.get_mut(index) {
                *slot = Decision::after(wait, index as u32, cost, at.now(), own);
            }
        }
        (gathered.decision(self.capacity, cost, at), spends)
    }
}

impl Algorithm for AllOf {
    type Rule = Buckets;
    type State = Fulls;
    type Held = Version;

    fn rule(&self, limits: &[Limit]) -> Result<Buckets, LimitError> {
        let buckets: Box<[Bucket]> = limits.iter().map(Bucket::new).collect::<Result<_, _>>()?;
        let capacity = buckets.iter().map(Bucket::burst).min();
        Ok(Buckets {
            capacity: capacity.ok_or(LimitError::WrongNumberOfLimits {
                algorithm: "AllOf",
                given: 0,
            })?,
            buckets,
        })
    }

    #[inline]
    fn capacity(rule: &Buckets) -> u64 {
        rule.capacity
    }

    fn fresh(rule: &Buckets) -> Fulls {
        Fulls(SeqLock::new(Words::new(rule.buckets.len(), |_| 0)))
    }

    #[inline]
    fn try_acquire(
        rule: &Buckets,
        state: &Fulls,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone> {
        Self::try_acquire_each(rule, state, at, cost, &mut []).map(|(decision, _)| decision)
    }

    #[inline]
    fn peek(rule: &Buckets, state: &Fulls, at: Reading, cost: u64) -> Result<Decision, Gone> {
        Self::peek_each(rule, state, at, cost, &mut []).map(|(decision, _)| decision)
    }

    #[inline]
    fn try_acquire_each(
        rule: &Buckets,
        state: &Fulls,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        let decision = loop {
            let (version, (seen, (decision, spends))) = state.0.read(|words| {
                let seen = words.look(rule.buckets.len());
                let answer = rule.ask(&seen, at, cost, Intent::Spend, each);
                (seen, answer)
            })?;
            let spend = |words: &Words| {
                for (index, bucket) in rule.buckets.iter().enumerate() {
                    // Nothing has changed since they were asked, so that all of them admit.
                    if let Some(next) = bucket.spend(seen.at(index), at, cost) {
                        set(words.at(index), next);
                    }
                }
            };
            if !spends || state.0.write(version, spend) {
                break decision;
            }
        };
        Ok((decision, rule.buckets.len()))
    }

    #[inline]
    fn peek_each(
        rule: &Buckets,
        state: &Fulls,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        let (_, (decision, _)) = state.0.read(|words| {
            rule.ask(
                &words.look(rule.buckets.len()),
                at,
                cost,
                Intent::Look,
                each,
            )
        })?;
        Ok((decision, rule.buckets.len()))
    }

    fn refund(rule: &Buckets, state: &Fulls, at: Reading, decision: &Decision) -> Result<(), Gone> {
        state.0.update(
            |_| ((), true),
            |words| {
                for (index, bucket) in rule.buckets.iter().enumerate() {
                    let word = words.at(index);
                    set(word, bucket.refund(get(word), at, decision.spent()));
                }
            },
        )
    }

    fn charge(rule: &Buckets, state: &Fulls, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let buckets = || rule.buckets.iter().enumerate();
        state.0.update(
            |words| {
                let mut gathered = Gathered::new();
                for (index, bucket) in buckets() {
                    let after = bucket.charge(get(words.at(index)), at, cost);
                    gathered.add(index, 0, bucket.standing(after, at));
                }
                (gathered.decision(rule.capacity, 0, at), true)
            },
            |words| {
                for (index, bucket) in buckets() {
                    let word = words.at(index);
                    set(word, bucket.charge(get(word), at, cost));
                }
            },
        )
    }

    fn clear(rule: &Buckets, state: &Fulls) {
        // Never gone, where it is called.
        let _ = state.0.update(
            |_| ((), true),
            |words| (0..rule.buckets.len()).for_each(|index| set(words.at(index), 0)),
        );
    }

    fn retire_if_idle(rule: &Buckets, state: &Fulls, at: Reading) -> bool {
        state.0.retire_if(|words| {
            let mut buckets = rule.buckets.iter().enumerate();
            buckets.all(|(index, bucket)| bucket.spent(get(words.at(index)), at) == 0)
        })
    }

    fn retire(state: &Fulls) -> Result<(), Gone> {
        state.0.retire()
    }

    fn is_retired(state: &Fulls) -> bool {
        state.0.is_retired()
    }

    fn hold(state: &Fulls) -> Result<Version, Gone> {
        state.0.hold()
    }

    fn release(state: &Fulls, held: Version) {
        state.0.release(held);
    }

    fn moved(rule: &Buckets, state: &Fulls, _: Version, at: Reading, to: &Buckets) -> Fulls {
        let words = state.0.words();
        let word = |index: usize| {
            // Limits match by position; an added one starts full.
            match rule.buckets.get(index) {
                Some(bucket) => bucket.convert(get(words.at(index)), at, &to.buckets[index]),
                None => to.buckets[index].convert(0, at, &to.buckets[index]),
            }
        };
        Fulls(SeqLock::new(Words::new(to.buckets.len(), word)))
    }
}
