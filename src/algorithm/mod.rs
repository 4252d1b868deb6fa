//! The recipes: how one key's numbers decide whether a request may go ahead.
//!
//! | algorithm | promise | worst case | state | can wait for another thread? |
//! |---|---|---|---|---|
//! | [`TokenBucket`] (GCRA) | B at once, then N per P | B + N − 1 in one period, 2N − 1 where B = N | one word | no |
//! | [`FixedWindow`] | N per window | 2N across the boundary of two windows | one word | no |
//! | [`SlidingLog`] | N in any period | none | up to N entries of 8 bytes (16 for long periods) | on the same key |
//! | [`SlidingCounter`] | about N in any period, if traffic is even | near 2N on bursts | four words | on the same key |
//! | [`AllOf`] | what a token bucket promises, for each limit | as for each limit | seven words, and one a limit beyond four | on the same key |
//!
//! P is the period, N the permits, B the burst. [`AnyAlgorithm`] is one of the five, chosen at run
//! time.
//!
//! Whoever needs *never more than N in any period* takes a [`SlidingLog`], or a [`TokenBucket`]
//! whose burst and permits add up to N (50 per minute with a burst of 50, for 100).
//!
//! # Operations
//!
//! | | token bucket, each of AllOf | fixed window | sliding log | sliding counter |
//! |---|---|---|---|---|
//! | `peek` | what `try_acquire` would answer; nothing changed | same | same | same |
//! | `refund` | as if the permits had not been spent, at most full | only in the same window | what is still held, newest first, not later than the decision | only in its window, the current or the one before |
//! | `reset` | as if never seen | same | same | same |
//! | `refresh` to a new limit | permits owed, rounded up, at most the new burst | same period: the count, cut to N; another: the count goes to the window now running | what is older than the new period goes; of the rest the newest N stay | same period: both counts, cut to N; another: the estimate, rounded up and cut, goes to the window now running |
//!
//! Lists of AllOf match by position; an added limit starts full.
//!
//! # An algorithm of your own
//!
//! Implement [`OneWord`] if a key's numbers fit in 64 bits: five or six pure functions, no atomics;
//! the crate adds the atomic step, eviction and refresh. Implement [`Algorithm`] itself for a state
//! of any other shape.

mod all_of;
mod any;
mod divider;
mod fixed_window;
mod one_word;
mod plan;
// The numbers are the same under loom, and need not be proved twice.
#[cfg(all(test, not(feature = "loom")))]
mod proofs;
pub(crate) mod seqlock;
mod sliding_counter;
mod sliding_log;
mod token_bucket;
mod units;

pub use all_of::AllOf;
pub use any::{AnyAlgorithm, ParseAlgorithmError};
pub use fixed_window::FixedWindow;
pub use one_word::{OneWord, Word};
pub use plan::{Limits, Plan};
pub use sliding_counter::SlidingCounter;
pub use sliding_log::SlidingLog;
pub use token_bucket::{Gcra, TokenBucket};

use crate::decision::{Decision, NEVER, Standing};
use crate::error::LimitError;
use crate::limit::Limit;
use std::fmt;

/// A moment, as a state sees it: the ticker's reading, and when the limiter was built.
///
/// A reading from before the limiter was built counts as the moment of building.
///
/// # Examples
///
/// ```
/// use tollgate::Reading;
///
/// let at = Reading::new(1_000, 1_250);
/// assert_eq!((at.now(), at.elapsed()), (1_250, 250));
/// assert_eq!(Reading::new(1_000, 3).elapsed(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    start: u64,
    now: u64,
}

impl Reading {
    /// A reading of `now` for a limiter that was built at `start`, both in the ticker's
    /// nanoseconds.
    #[inline]
    pub const fn new(start: u64, now: u64) -> Self {
        let now = if now < start { start } else { now };
        Self { start, now }
    }

    /// When the limiter was built.
    #[inline]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The time, not before the limiter was built.
    #[inline]
    pub const fn now(self) -> u64 {
        self.now
    }

    /// How long ago the limiter was built.
    #[inline]
    pub const fn elapsed(self) -> u64 {
        self.now - self.start
    }
}

/// Why a state cannot answer: it is no longer the key's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It was idle and has been evicted, or was reset: the key begins anew.
    Retired,
    /// A refresh has taken its numbers and is about to put another state in its place.
    Moving,
}

/// A recipe: how limits become a rule, what a key's state looks like, and how the state decides.
///
/// The recipe holds no key's numbers; the state reads no clock. All functions but
/// [`rule`](Self::rule) are associated ones: the rule carries what they need. For a state of one
/// word implement [`OneWord`] instead, which is far less work.
///
/// # Contract
///
/// `cost` is never 0 and never above [`capacity`](Self::capacity) where a function takes one.
/// Once a state is retired it stays so: every function answers [`Gone::Retired`]. After
/// [`hold`](Self::hold) every function answers [`Gone::Moving`] until [`release`](Self::release).
/// A retiring or holding store must be Release or stronger, and whoever answers `Gone` must have
/// read it with Acquire: the caller reads the clock again and trusts it to be no older than the
/// evictor's.
pub trait Algorithm: Sized + Send + Sync + 'static {
    /// Limits, made ready for the decision: what can be computed once.
    type Rule: fmt::Debug + PartialEq + Send + Sync + 'static;
    /// One key's numbers.
    type State: Send + Sync + 'static;
    /// What [`hold`](Self::hold) took out of a state.
    type Held: Copy;

    /// Makes the rule for these limits.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot keep them, for 30 years and without rounding in the client's
    /// favour.
    fn rule(&self, limits: &[Limit]) -> Result<Self::Rule, LimitError>;

    /// The most that a single request may cost.
    fn capacity(rule: &Self::Rule) -> u64;

    /// The state of a key that has not been seen.
    fn fresh(rule: &Self::Rule) -> Self::State;

    /// Decides, and spends `cost` permits if the request is allowed.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn try_acquire(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone>;

    /// Answers what [`try_acquire`](Self::try_acquire) would, and changes nothing. Here `cost`
    /// may be 0 or above the capacity.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn peek(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone>;

    /// Decides, and fills `each` with every limit's own answer from the same step; the number of
    /// limits comes second. An algorithm of one limit has no need to write this.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn try_acquire_each(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        let decision = Self::try_acquire(rule, state, at, cost)?;
        Ok((decision, fill_one(each, decision)))
    }

    /// As [`try_acquire_each`](Self::try_acquire_each), and changes nothing.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn peek_each(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        let decision = Self::peek(rule, state, at, cost)?;
        Ok((decision, fill_one(each, decision)))
    }

    /// Gives back what a decision [spent](Decision::spent), and never more. Called only where that
    /// is something.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn refund(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        decision: &Decision,
    ) -> Result<(), Gone>;

    /// Charges `cost` permits for what has happened already, whether or not there are so many, and
    /// answers as a [`peek`](Self::peek) of nothing would after it. As much is charged as the
    /// algorithm can hold; unless this is written, what is left.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn charge(
        rule: &Self::Rule,
        state: &Self::State,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone> {
        loop {
            let stands = Self::peek(rule, state, at, 0)?;
            let cost = cost.min(stands.remaining()).min(Self::capacity(rule));
            if cost == 0 {
                return Ok(stands);
            }
            // If another request came between there is less to be charged than a moment ago.
            let spent = Self::try_acquire(rule, state, at, cost)?;
            if spent.is_allowed() {
                return Ok(spent.with_cost(0));
            }
        }
    }

    /// Makes the state as good as new, where it stands. Called only where no state is ever
    /// retired or moved.
    fn clear(rule: &Self::Rule, state: &Self::State);

    /// Retires the state in one atomic step if it is idle: equal to new. Returns whether it did.
    fn retire_if_idle(rule: &Self::Rule, state: &Self::State, at: Reading) -> bool;

    /// Retires the state, whatever it holds.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's.
    fn retire(state: &Self::State) -> Result<(), Gone>;

    /// Whether the state has been retired.
    fn is_retired(state: &Self::State) -> bool;

    /// Marks the state as moving and takes its numbers.
    ///
    /// # Errors
    ///
    /// If the state is no longer the key's, or is being moved already.
    fn hold(state: &Self::State) -> Result<Self::Held, Gone>;

    /// Puts the numbers back: the state is the key's again, as it was.
    fn release(state: &Self::State, held: Self::Held);

    /// The state under another rule of one whose numbers are held: what is owed stays owed.
    fn moved(
        rule: &Self::Rule,
        state: &Self::State,
        held: Self::Held,
        at: Reading,
        to: &Self::Rule,
    ) -> Self::State;

    /// Limits under this algorithm, ready to be used by a limiter.
    ///
    /// # Errors
    ///
    /// If the algorithm cannot keep them.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Algorithm, AllOf, Limit, TokenBucket};
    ///
    /// let free = TokenBucket.plan(Limit::per_minute(60))?;
    /// assert_eq!(free.capacity(), 60);
    /// let paid = AllOf.plan([Limit::per_second(50), Limit::per_minute(600)])?;
    /// assert_eq!(paid.capacity(), 50);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    fn plan(self, limits: impl Into<Limits>) -> Result<Plan<Self>, LimitError> {
        Plan::new(&self, &limits.into())
    }
}

fn fill_one(each: &mut [Decision], decision: Decision) -> usize {
    if let Some(first) = each.first_mut() {
        *first = decision;
    }
    1
}

/// The one limit of an algorithm that takes one and has no burst of its own.
fn single_without_burst(algorithm: &'static str, limits: &[Limit]) -> Result<Limit, LimitError> {
    let limit = single(algorithm, limits)?;
    if limit.burst() != limit.permits() {
        return Err(LimitError::BurstNotSupported {
            algorithm,
            permits: limit.permits(),
            burst: limit.burst(),
        });
    }
    Ok(limit)
}

fn single(algorithm: &'static str, limits: &[Limit]) -> Result<Limit, LimitError> {
    match limits {
        [limit] => Ok(*limit),
        _ => Err(LimitError::WrongNumberOfLimits {
            algorithm,
            given: limits.len(),
        }),
    }
}

/// The answer for a key that stands so, when `retry_after` says how long a request of this cost
/// has to wait: `Some(0)` not at all, `None` for ever.
#[inline]
fn answer(retry_after: Option<u64>, cost: u64, reading: u64, standing: Standing) -> Decision {
    // A wait that is too long to be told is not for ever.
    let wait = retry_after.map_or(NEVER, |wait| wait.min(NEVER - 1));
    Decision::after(wait, 0, cost, reading, standing)
}
