//! Every interleaving of a few threads, checked up to a bound of preemptions.
//!
//! With `--features loom` each scenario is a model: loom runs it under every schedule with at most
//! three preemptions, and under every value that the memory model lets a load return. Some
//! models that take many steps have two or one, and say so: with more they take minutes.
//! `LOOM_MAX_PREEMPTIONS` asks for another bound. Without the feature the same scenario runs a
//! thousand times on real threads, over the real map, which keeps these tests compiling and the
//! stand-in map honest.
//!
//! Mutations of `src` that models must catch are in `mutations/`, one patch each, with the model that
//! fails; `scripts/model-mutations` runs them.

mod cap;
mod evict;
mod first_touch;
mod log;
mod refresh;
mod refund;
mod seqlock;
mod step;
mod waiting;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::{Algorithm, Limit, RateLimiter, Ticker};
use std::time::Duration;

#[cfg(feature = "loom")]
use loom::{sync::Arc, thread};
#[cfg(not(feature = "loom"))]
use std::{sync::Arc, thread};

/// Runs a scenario under every schedule with at most three preemptions.
fn check(scenario: impl Fn() + Send + Sync + 'static) {
    check_within(3, scenario);
}

/// Runs a scenario under every schedule with at most so many preemptions, unless the environment
/// asks for another bound.
#[cfg(feature = "loom")]
fn check_within(preemptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(preemptions);
    model.max_branches = 10_000;
    model.check(scenario);
}

#[cfg(not(feature = "loom"))]
fn check_within(_: usize, scenario: impl Fn() + Send + Sync + 'static) {
    for _ in 0..1_000 {
        scenario();
    }
}

/// A clock that loom sees. The loads are Relaxed, so that a reading is as old as it may be.
#[derive(Clone, Debug)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn new(now: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now)))
    }

    fn set(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }
}

impl Ticker for Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn disagreement(&self) -> u64 {
        0
    }
}

/// `permits` every ten nanoseconds.
fn per_ten(permits: u64) -> Limit {
    Limit::new(permits, Duration::from_nanos(10)).expect("neither is zero")
}

type Limiter<A> = RateLimiter<u32, A, Clock>;

fn limiter<A: Algorithm>(algorithm: A, permits: u64, clock: &Clock) -> Arc<Limiter<A>> {
    let limiter = RateLimiter::<u32>::builder(per_ten(permits))
        .algorithm(algorithm)
        .ticker(clock.clone())
        // The models in `cap` do.
        .evict_in_passing(false)
        .build()
        .expect("a limit that every algorithm keeps");
    Arc::new(limiter)
}
