//! A token bucket from outside the crate, each step of which can be taken apart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    Algorithm, Decision, Gone, Limit, LimitError, OneWord, Reading, Standing, TokenBucket, Verdict,
};

const RETIRED: u64 = u64::MAX;
const MOVING: u64 = u64::MAX - 1;

/// The step that is a load and a store, where it should be one.
pub(crate) const NONE: u8 = 0;
pub(crate) const SPEND: u8 = 1;
pub(crate) const REFUND: u8 = 2;
pub(crate) const RETIRE: u8 = 3;
pub(crate) const HOLD: u8 = 4;

/// Decides as [`TokenBucket`] does, but for the broken step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Torn<const STEP: u8>;

type Bucket = <TokenBucket as OneWord>::Rule;

fn live(state: &AtomicU64) -> Result<u64, Gone> {
    match state.load(Ordering::SeqCst) {
        RETIRED => Err(Gone::Retired),
        MOVING => Err(Gone::Moving),
        word => Ok(word),
    }
}

impl<const STEP: u8> Torn<STEP> {
    /// Puts a word in the place of another; if this is the broken step, of whatever is there by
    /// then. Returns whether it did.
    fn put(step: u8, state: &AtomicU64, from: u64, to: u64) -> bool {
        if step == STEP {
            // Wide enough for others to come between.
            thread::yield_now();
            state.store(to, Ordering::SeqCst);
            return true;
        }
        let put = state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        put.is_ok()
    }

    fn decision(rule: &Bucket, word: u64, at: Reading, cost: u64, verdict: Verdict) -> Decision {
        let remaining = TokenBucket::remaining(rule, word, at);
        let standing = Standing {
            remaining,
            next_permit_after: if remaining < <TokenBucket as OneWord>::capacity(rule) {
                TokenBucket::retry_after(rule, word, at, remaining + 1)
            } else {
                0
            },
            reset_after: TokenBucket::reset_after(rule, word, at),
        };
        Decision::new(verdict, 0, cost, at.now(), standing)
    }

    fn denial(rule: &Bucket, word: u64, at: Reading, cost: u64) -> Verdict {
        Verdict::Denied {
            retry_after: Duration::from_nanos(TokenBucket::retry_after(rule, word, at, cost)),
        }
    }
}

impl<const STEP: u8> Algorithm for Torn<STEP> {
    type Rule = Bucket;
    type State = AtomicU64;
    type Held = u64;

    fn rule(&self, limits: &[Limit]) -> Result<Bucket, LimitError> {
        OneWord::rule(&TokenBucket, limits)
    }

    fn capacity(rule: &Bucket) -> u64 {
        <TokenBucket as OneWord>::capacity(rule)
    }

    fn fresh(rule: &Bucket) -> AtomicU64 {
        AtomicU64::new(<TokenBucket as OneWord>::fresh(rule))
    }

    fn try_acquire(
        rule: &Bucket,
        state: &AtomicU64,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone> {
        loop {
            let word = live(state)?;
            let Some(next) = TokenBucket::spend(rule, word, at, cost) else {
                let denied = Self::denial(rule, word, at, cost);
                return Ok(Self::decision(rule, word, at, cost, denied));
            };
            if Self::put(SPEND, state, word, next) {
                return Ok(Self::decision(rule, next, at, cost, Verdict::Allowed));
            }
        }
    }

    fn peek(rule: &Bucket, state: &AtomicU64, at: Reading, cost: u64) -> Result<Decision, Gone> {
        let word = live(state)?;
        let verdict = if cost > <TokenBucket as OneWord>::capacity(rule) {
            Verdict::Never
        } else if cost == 0 || TokenBucket::spend(rule, word, at, cost).is_some() {
            Verdict::Allowed
        } else {
            Self::denial(rule, word, at, cost)
        };
        Ok(Self::decision(rule, word, at, cost, verdict))
    }

    fn refund(
        rule: &Bucket,
        state: &AtomicU64,
        at: Reading,
        decision: &Decision,
    ) -> Result<(), Gone> {
        loop {
            let word = live(state)?;
            let next = <TokenBucket as OneWord>::refund(rule, word, at, decision);
            if Self::put(REFUND, state, word, next) {
                return Ok(());
            }
        }
    }

    fn clear(rule: &Bucket, state: &AtomicU64) {
        state.store(<TokenBucket as OneWord>::fresh(rule), Ordering::SeqCst);
    }

    fn retire_if_idle(rule: &Bucket, state: &AtomicU64, at: Reading) -> bool {
        while let Ok(word) = live(state) {
            if TokenBucket::reset_after(rule, word, at) > 0 {
                return false;
            }
            if Self::put(RETIRE, state, word, RETIRED) {
                return true;
            }
        }
        false
    }

    fn retire(state: &AtomicU64) -> Result<(), Gone> {
        loop {
            let word = live(state)?;
            if Self::put(RETIRE, state, word, RETIRED) {
                return Ok(());
            }
        }
    }

    fn is_retired(state: &AtomicU64) -> bool {
        state.load(Ordering::SeqCst) == RETIRED
    }

    fn hold(state: &AtomicU64) -> Result<u64, Gone> {
        loop {
            let word = live(state)?;
            if Self::put(HOLD, state, word, MOVING) {
                return Ok(word);
            }
        }
    }

    fn release(state: &AtomicU64, held: u64) {
        state.store(held, Ordering::SeqCst);
    }

    fn moved(rule: &Bucket, _: &AtomicU64, held: u64, at: Reading, to: &Bucket) -> AtomicU64 {
        AtomicU64::new(TokenBucket::convert(rule, held, at, to))
    }
}
