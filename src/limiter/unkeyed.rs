//! One state, one limit, no map.

use crate::algorithm::{Algorithm, Gone, Limits, Plan, Reading, TokenBucket};
use crate::decision::Decision;
use crate::error::LimitError;
use crate::ticker::{Ticker, TscTicker};
use std::fmt;

/// Limits the rate of one thing: a process as a whole, or the calls that it makes elsewhere.
///
/// As a [`RateLimiter`](crate::RateLimiter) with a single key, and without the look-up. It has the
/// same promises, and the same operations but for those that concern keys.
///
/// # Examples
///
/// ```
/// use tollgate::{Limit, UnkeyedLimiter};
///
/// let outbound = UnkeyedLimiter::new(Limit::per_second(2))?;
/// assert!(outbound.try_acquire().is_allowed());
/// assert!(outbound.try_acquire().is_allowed());
/// assert!(outbound.try_acquire().is_denied());
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub struct UnkeyedLimiter<A: Algorithm = TokenBucket, T = TscTicker> {
    plan: Plan<A>,
    state: A::State,
    ticker: T,
    start: u64,
}

impl UnkeyedLimiter {
    /// A token bucket in real time.
    ///
    /// # Errors
    ///
    /// If a token bucket cannot keep the limit; see [`TokenBucket`].
    pub fn new(limit: impl Into<Limits>) -> Result<Self, LimitError> {
        Ok(Self::from_plan(TokenBucket.plan(limit)?, TscTicker::new()))
    }
}

impl<A: Algorithm, T: Ticker> UnkeyedLimiter<A, T> {
    /// A limiter with any algorithm and ticker. Its time begins now.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Algorithm, Limit, ManualTicker, SlidingLog, UnkeyedLimiter};
    ///
    /// let ticker = ManualTicker::new(0);
    /// let plan = SlidingLog.plan(Limit::per_minute(1))?;
    /// let limiter = UnkeyedLimiter::from_plan(plan, ticker.clone());
    /// assert!(limiter.try_acquire().is_allowed());
    /// ticker.advance(Duration::from_secs(60));
    /// assert!(limiter.try_acquire().is_allowed());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn from_plan(plan: Plan<A>, ticker: T) -> Self {
        Self {
            state: A::fresh(plan.rule()),
            start: ticker.now(),
            plan,
            ticker,
        }
    }

    /// The limits that are kept.
    pub fn plan(&self) -> &Plan<A> {
        &self.plan
    }

    /// Asks whether a request may go ahead now, and spends one permit if it may.
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire(&self) -> Decision {
        self.try_acquire_n(1)
    }

    /// Asks for `cost` permits at once: all, or none. See
    /// [`RateLimiter::try_acquire_n`](crate::RateLimiter::try_acquire_n).
    #[must_use = "a decision that nobody reads limits nothing"]
    #[inline(always)]
    pub fn try_acquire_n(&self, cost: u64) -> Decision {
        // As in `RateLimiter`: what nearly every request comes to, by itself.
        let rule = self.plan.rule();
        if cost == 0 || cost > A::capacity(rule) {
            return self.peek_n(cost);
        }
        match A::try_acquire(rule, &self.state, self.reading(), cost) {
            Ok(decision) => decision,
            Err(_) => self.try_again(cost),
        }
    }

    #[cold]
    fn try_again(&self, cost: u64) -> Decision {
        self.answer(|at| A::try_acquire(self.plan.rule(), &self.state, at, cost))
    }

    /// As [`try_acquire_n`](Self::try_acquire_n), and fills `each` with every limit's own answer.
    /// See [`RateLimiter::try_acquire_each`](crate::RateLimiter::try_acquire_each).
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn try_acquire_each(&self, cost: u64, each: &mut [Decision]) -> (Decision, usize) {
        let rule = self.plan.rule();
        if cost == 0 || cost > A::capacity(rule) {
            return self.peek_each(cost, each);
        }
        let (decision, limits) =
            self.answer(|at| A::try_acquire_each(rule, &self.state, at, cost, each));
        if decision.is_denied() {
            super::unspent(each, limits);
        }
        (decision, limits)
    }

    /// Charges for what has been used already; see [`RateLimiter::charge`](crate::RateLimiter::charge).
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limit, UnkeyedLimiter};
    ///
    /// let outbound = UnkeyedLimiter::new(Limit::per_hour(1_000_000))?;
    /// assert!(outbound.charge(2_000_000).remaining() == 0);
    /// assert!(outbound.try_acquire().is_denied());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn charge(&self, cost: u64) -> Decision {
        if cost == 0 {
            return self.peek_n(0);
        }
        self.answer(|at| A::charge(self.plan.rule(), &self.state, at, cost))
            .unspent()
    }

    /// Answers what [`try_acquire`](Self::try_acquire) would, and changes nothing.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek(&self) -> Decision {
        self.peek_n(1)
    }

    /// Answers what [`try_acquire_n`](Self::try_acquire_n) would, and changes nothing.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_n(&self, cost: u64) -> Decision {
        self.answer(|at| A::peek(self.plan.rule(), &self.state, at, cost))
            .unspent()
    }

    /// Answers what [`try_acquire_each`](Self::try_acquire_each) would, and changes nothing but
    /// `each`.
    #[must_use = "a decision that nobody reads limits nothing"]
    pub fn peek_each(&self, cost: u64, each: &mut [Decision]) -> (Decision, usize) {
        let (decision, limits) =
            self.answer(|at| A::peek_each(self.plan.rule(), &self.state, at, cost, each));
        super::unspent(each, limits);
        (decision.unspent(), limits)
    }

    /// Gives back what an allowed decision spent. See
    /// [`RateLimiter::refund`](crate::RateLimiter::refund).
    pub fn refund(&self, decision: Decision) {
        if decision.spent() > 0 {
            self.answer(|at| A::refund(self.plan.rule(), &self.state, at, &decision));
        }
    }

    /// Forgets what has been spent: all is as new.
    pub fn reset(&self) {
        A::clear(self.plan.rule(), &self.state);
    }

    /// The most that a single request may cost.
    pub(super) fn capacity(&self) -> u64 {
        A::capacity(self.plan.rule())
    }

    #[inline]
    fn reading(&self) -> Reading {
        Reading::new(self.start, self.ticker.now())
    }

    fn answer<R>(&self, mut ask: impl FnMut(Reading) -> Result<R, Gone>) -> R {
        loop {
            // Nothing here ever retires or moves the state, so that the first answer is one.
            if let Ok(answer) = ask(self.reading()) {
                return answer;
            }
        }
    }
}

impl<A: Algorithm, T: fmt::Debug> fmt::Debug for UnkeyedLimiter<A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnkeyedLimiter")
            .field("limits", &self.plan)
            .field("ticker", &self.ticker)
            .finish_non_exhaustive()
    }
}
