//! States of one word: pure steps, and the atomic loop around them.
//!
//! # Orderings
//!
//! The word is the whole state, and a limiter's rule is read through the map's entry, so that
//! there is nothing else to publish: Relaxed is enough for every spend, refund and clear. All
//! that is argued from is the order of the read-modify-writes of one word. A stale read costs one
//! failed exchange.
//!
//! Retiring and holding are AcqRel, and whoever meets the mark makes an Acquire fence: it goes on
//! to read the ticker, and must not read an older time than the evictor did when it found the
//! state idle. `loom_tests::evict::*::a_mark…` fails when the mark is Relaxed, or the fence missing.

use super::{Algorithm, Gone, Reading, answer};
use crate::decision::{Decision, NEVER, Standing};
use crate::error::LimitError;
use crate::limit::Limit;
use crate::sync::Backoff;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use std::fmt;

/// The word of a state that has been evicted or reset.
const RETIRED: u64 = u64::MAX;
/// The word of a state whose numbers a refresh has taken.
const MOVING: u64 = u64::MAX - 1;
/// The largest word that is no mark. Whatever a step from outside says, no other is written.
const LARGEST: u64 = MOVING - 1;

/// An algorithm whose state is one word of 64 bits, as pure functions of that word.
///
/// The crate supplies the rest: the compare-exchange loop, retiring, eviction, refresh. The two
/// largest words, [`OneWord::LARGEST`] + 1 and + 2, are kept for states that are no longer a
/// key's. No function may panic, whatever the time and the word.
///
/// # Examples
///
/// So many requests for the life of the limiter, and none after:
///
/// ```
/// use tollgate::{Decision, Limit, LimitError, OneWord, RateLimiter, Reading, Standing};
///
/// /// Counts up to the burst and never down; the period plays no part.
/// struct Quota;
///
/// impl OneWord for Quota {
///     type Rule = u64;
///
///     fn rule(&self, limits: &[Limit]) -> Result<u64, LimitError> {
///         match limits {
///             [limit] => Ok(limit.burst()),
///             _ => Err(LimitError::Refused("a quota takes one limit".into())),
///         }
///     }
///     fn capacity(quota: &u64) -> u64 {
///         *quota
///     }
///     fn fresh(_: &u64) -> u64 {
///         0
///     }
///     fn spend(quota: &u64, used: u64, _: Reading, cost: u64) -> Option<u64> {
///         used.checked_add(cost).filter(|used| used <= quota)
///     }
///     fn remaining(quota: &u64, used: u64, _: Reading) -> u64 {
///         quota - used
///     }
///     fn retry_after(_: &u64, _: u64, _: Reading, _: u64) -> u64 {
///         u64::MAX
///     }
///     fn reset_after(_: &u64, used: u64, _: Reading) -> u64 {
///         if used == 0 { 0 } else { u64::MAX }
///     }
///     fn refund(_: &u64, used: u64, _: Reading, decision: &Decision) -> u64 {
///         used.saturating_sub(decision.spent())
///     }
///     fn convert(_: &u64, used: u64, _: Reading, to: &u64) -> u64 {
///         used.min(*to)
///     }
/// }
///
/// let limiter = RateLimiter::<u64>::builder(Limit::per_day(2)).algorithm(Quota).build()?;
/// assert!(limiter.try_acquire_n(&1, 2).is_allowed());
/// assert!(limiter.try_acquire(&1).is_denied());
/// # Ok::<(), LimitError>(())
/// ```
pub trait OneWord: Sized + Send + Sync + 'static {
    /// The largest word that a state may hold.
    const LARGEST: u64 = LARGEST;

    /// Limits, made ready for the decision: what can be computed once.
    type Rule: fmt::Debug + PartialEq + Send + Sync + 'static;

    /// Makes the rule for these limits.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot keep them.
    fn rule(&self, limits: &[Limit]) -> Result<Self::Rule, LimitError>;

    /// The most that a single request may cost.
    fn capacity(rule: &Self::Rule) -> u64;

    /// The word of a key that has not been seen.
    fn fresh(rule: &Self::Rule) -> u64;

    /// The word after `cost` permits are spent, or `None` if there are not so many now. `cost` is
    /// from 1 to the capacity.
    fn spend(rule: &Self::Rule, word: u64, at: Reading, cost: u64) -> Option<u64>;

    /// Whole permits that are left.
    fn remaining(rule: &Self::Rule, word: u64, at: Reading) -> u64;

    /// Nanoseconds from `at` until a request of `cost`, from 1 to the capacity, is allowed. Asked
    /// only when it is denied now; never zero then.
    fn retry_after(rule: &Self::Rule, word: u64, at: Reading, cost: u64) -> u64;

    /// Nanoseconds from `at` until the state is idle; zero exactly when it is: when it is equal to
    /// new, also for a reading a little older than `at`. It is then evicted.
    fn reset_after(rule: &Self::Rule, word: u64, at: Reading) -> u64;

    /// The word after what an allowed decision spent is given back. Never fuller than full.
    fn refund(rule: &Self::Rule, word: u64, at: Reading, decision: &Decision) -> u64;

    /// The word after `cost` permits are charged for what has happened already, whether or not there
    /// are so many: as much of it as the algorithm can hold. Unless this is written, what is left.
    fn charge(rule: &Self::Rule, word: u64, at: Reading, cost: u64) -> u64 {
        match Self::remaining(rule, word, at).min(cost) {
            0 => word,
            cost => Self::spend(rule, word, at, cost).unwrap_or(word),
        }
    }

    /// The word under another rule: what is owed stays owed.
    fn convert(rule: &Self::Rule, word: u64, at: Reading, to: &Self::Rule) -> u64;

    /// The time at which the word judges: the reading, or a later one that the word has recorded.
    fn judged_at(rule: &Self::Rule, word: u64, at: Reading) -> u64 {
        let _ = (rule, word);
        at.now()
    }
}

/// One key's numbers in one atomic word.
pub struct Word(AtomicU64);

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: for a person to look at.
        f.debug_tuple("Word")
            .field(&self.0.load(Ordering::Relaxed))
            .finish()
    }
}

impl Word {
    fn new(word: u64) -> Self {
        Self(AtomicU64::new(word.min(LARGEST)))
    }

    /// The word, if the state is still the key's.
    #[inline]
    fn live(&self) -> Result<u64, Gone> {
        // Relaxed: see `# Orderings`.
        let word = self.0.load(Ordering::Relaxed);
        if word < MOVING {
            Ok(word)
        } else {
            Err(gone(word))
        }
    }

    /// Steps from word to word until nobody came between; `None` leaves it as it is.
    #[inline(always)]
    fn update(&self, mut step: impl FnMut(u64) -> Option<u64>) -> Result<Step, Gone> {
        let backoff = Backoff::new();
        let mut word = self.live()?;
        loop {
            let Some(next) = step(word) else {
                return Ok(Step::Stays(word));
            };
            let next = next.min(LARGEST);
            // Relaxed: see `# Orderings`.
            match self
                .0
                .compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Ok(Step::Became(next)),
                Err(found) if found < MOVING => word = found,
                Err(found) => return Err(gone(found)),
            }
            backoff.spin();
        }
    }

    /// Puts a mark in the place of `word`.
    ///
    /// # Errors
    ///
    /// The word that was found there instead.
    fn mark(&self, word: u64, mark: u64) -> Result<(), u64> {
        // AcqRel: the Release half pairs with the fence in `gone`; see `# Orderings`.
        self.0
            .compare_exchange(word, mark, Ordering::AcqRel, Ordering::Relaxed)
            .map(|_| ())
    }

    /// Puts a mark in the place of whatever word is there, and returns that.
    fn mark_any(&self, mark: u64) -> Result<u64, Gone> {
        loop {
            let word = self.live()?;
            if self.mark(word, mark).is_ok() {
                return Ok(word);
            }
        }
    }
}

enum Step {
    Stays(u64),
    Became(u64),
}

#[cold]
fn gone(word: u64) -> Gone {
    // Acquire: pairs with the mark. The next reading of the ticker is no older than the evictor's.
    fence(Ordering::Acquire);
    if word == RETIRED {
        Gone::Retired
    } else {
        Gone::Moving
    }
}

#[inline(always)]
fn standing<W: OneWord>(rule: &W::Rule, word: u64, at: Reading) -> Standing {
    let remaining = W::remaining(rule, word, at);
    let next_permit_after = if remaining >= W::capacity(rule) {
        0
    } else {
        W::retry_after(rule, word, at, remaining + 1)
    };
    Standing {
        remaining,
        next_permit_after,
        reset_after: W::reset_after(rule, word, at),
    }
}

impl<W: OneWord> Algorithm for W {
    type Rule = W::Rule;
    type State = Word;
    type Held = u64;

    fn rule(&self, limits: &[Limit]) -> Result<W::Rule, LimitError> {
        OneWord::rule(self, limits)
    }

    #[inline]
    fn capacity(rule: &W::Rule) -> u64 {
        W::capacity(rule)
    }

    #[inline]
    fn fresh(rule: &W::Rule) -> Word {
        Word::new(W::fresh(rule))
    }

    /// Its linearization point is the successful compare-exchange; on a denial, the load.
    #[inline(always)]
    fn try_acquire(rule: &W::Rule, state: &Word, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let (word, allowed) = match state.update(|word| W::spend(rule, word, at, cost))? {
            Step::Became(word) => (word, true),
            Step::Stays(word) => (word, false),
        };
        let wait = if allowed {
            0
        } else {
            W::retry_after(rule, word, at, cost).clamp(1, NEVER - 1)
        };
        let standing = standing::<W>(rule, word, at);
        let judged_at = W::judged_at(rule, word, at);
        Ok(Decision::known(allowed, wait, cost, judged_at, standing))
    }

    #[inline]
    fn peek(rule: &W::Rule, state: &Word, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let word = state.live()?;
        let retry_after = if cost == 0 {
            Some(0)
        } else if cost > W::capacity(rule) {
            None
        } else if W::spend(rule, word, at, cost).is_some() {
            Some(0)
        } else {
            Some(W::retry_after(rule, word, at, cost))
        };
        let standing = standing::<W>(rule, word, at);
        Ok(answer(
            retry_after,
            cost,
            W::judged_at(rule, word, at),
            standing,
        ))
    }

    fn refund(rule: &W::Rule, state: &Word, at: Reading, decision: &Decision) -> Result<(), Gone> {
        let refunded = |word| {
            let next = W::refund(rule, word, at, decision);
            (next != word).then_some(next)
        };
        state.update(refunded).map(|_| ())
    }

    fn charge(rule: &W::Rule, state: &Word, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let charged = |word| {
            let next = W::charge(rule, word, at, cost);
            (next != word).then_some(next)
        };
        let (Step::Became(word) | Step::Stays(word)) = state.update(charged)?;
        let judged_at = W::judged_at(rule, word, at);
        Ok(answer(Some(0), 0, judged_at, standing::<W>(rule, word, at)))
    }

    fn clear(rule: &W::Rule, state: &Word) {
        // Relaxed: see `# Orderings`.
        state
            .0
            .store(W::fresh(rule).min(LARGEST), Ordering::Relaxed);
    }

    fn retire_if_idle(rule: &W::Rule, state: &Word, at: Reading) -> bool {
        while let Ok(word) = state.live() {
            if W::reset_after(rule, word, at) > 0 {
                return false;
            }
            if state.mark(word, RETIRED).is_ok() {
                return true;
            }
        }
        false
    }

    fn retire(state: &Word) -> Result<(), Gone> {
        state.mark_any(RETIRED).map(|_| ())
    }

    #[inline]
    fn is_retired(state: &Word) -> bool {
        // Relaxed: whoever acts on it reads the map again, which orders the rest.
        state.0.load(Ordering::Relaxed) == RETIRED
    }

    fn hold(state: &Word) -> Result<u64, Gone> {
        state.mark_any(MOVING)
    }

    fn release(state: &Word, held: u64) {
        // Relaxed: the word is the whole state; see `# Orderings`.
        state.0.store(held, Ordering::Relaxed);
    }

    fn moved(rule: &W::Rule, _: &Word, held: u64, at: Reading, to: &W::Rule) -> Word {
        Word::new(W::convert(rule, held, at, to))
    }
}
