//! Whatever threads do to one limiter at the same time, their answers are those of the oracle, asked
//! one after another in some order that keeps apart what did not overlap.
//!
//! Three threads run a short script each against a limiter over the real map; every call is
//! recorded with a ticket drawn before it and one drawn after it. Todc-utils' checker, after Wing,
//! Gong and Lowe, then looks for such an order. Answers are compared whole: the verdict, the waits,
//! what remains, the reading, and each limit's own.
//!
//! # What is an argument, and what is state
//!
//! The state is what each key has spent and under which limits it stands. Three things come from
//! outside, and a limiter asks for them somewhere within a call, sometimes again: the time, the
//! limits of a key, and the key itself in its owned form. They are the test's own, and note what
//! they told; so the call that is put in order is "acquire 2 at this reading". Any thread may set
//! the time, on or back.
//!
//! * The *last* reading is the one that counts for a request, a peek or a refund: an earlier one
//!   belongs to a state that was found gone. A sweep has one, a refresh one for each key that it
//!   brings over.
//! * No reading counts as older than that of a sweep that was over before, and it may count as late
//!   as one beside it: whether the call had seen that is not known, so either will do. A key that
//!   *was* forgotten is never begun again at an older reading.
//!
//! # What is not one step
//!
//! Everything that is done to one key is one step, with these exceptions; the specification gives
//! way exactly there.
//!
//! * `evict_idle` and `refresh_all` are one step for each key, in no order.
//! * A request begins a key that is not there, and then asks it: two steps. Between the two a sweep
//!   may count the key, which has spent nothing, and a refresh may bring it over. A sweep meets a
//!   key once, and once more for each time that it is begun meanwhile.
//! * A sweep may leave an idle key whose entry is begun or refreshed beside it.
//! * A refresh has no effect of its own if a later one, or a request that does its work, has come
//!   first; but whoever asks after it finds limits that were told since it began.
//! * Refreshes are counted for all keys together: a key that is being begun beside a refresh of
//!   *another* key may be brought over, too, to the limits that its function tells by then.
//! * `tracked_keys` is an estimate, and is asked only when all is quiet.
//!
//! # What it can miss
//!
//! Threads are held up where a limiter calls what it was given, and nowhere else. A step torn into a
//! load and a store with nothing between is met only if two threads are within the same few
//! instructions: such a spend is found in nearly every run, such a retirement, refund or hold in
//! some. The models in `loom-tests/` are for those.
//!
//! # How much
//!
//! `LINEARIZABLE_HISTORIES` says how many histories for each algorithm, `LINEARIZABLE_SEED` from
//! which seed on. A seed makes the same script again, not the same order of what threads do.

mod common;
mod support;

#[path = "linearizable/broken.rs"]
mod broken;
#[path = "linearizable/by_hand.rs"]
mod by_hand;
#[path = "linearizable/history.rs"]
mod history;
#[path = "linearizable/script.rs"]
mod script;
#[path = "linearizable/spec.rs"]
mod spec;
#[path = "linearizable/steps.rs"]
mod steps;
#[path = "linearizable/threads.rs"]
mod threads;
#[path = "linearizable/watched.rs"]
mod watched;

use broken::Torn;
use common::reference::Kind;
use history::{History, Op};
use script::Move;
use tollgate::{Algorithm, AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

/// How many histories for each algorithm.
const HISTORIES: u64 = 3_000;

fn told(variable: &str) -> Option<u64> {
    let told = std::env::var(variable).ok()?;
    Some(told.parse().expect("a number"))
}

fn every_history_has_an_order(kind: Kind, algorithm: impl Algorithm + Copy) {
    let count = told("LINEARIZABLE_HISTORIES").unwrap_or(HISTORIES);
    let first = told("LINEARIZABLE_SEED").unwrap_or(0);
    let mut overlapping = 0;
    for seed in first..first + count {
        let (case, script) = script::make_up(kind, None, seed);
        let history = threads::record(algorithm, &case, &script);
        assert!(
            spec::is_linearizable(&history),
            "no order of these calls is the oracle's:\n{history}"
        );
        overlapping += u64::from(history.overlaps());
    }
    println!("{kind:?}: calls overlap in {overlapping} of {count} histories");
    assert!(
        overlapping * 2 >= count,
        "calls overlap in only {overlapping} of {count} histories"
    );
}

#[test]
fn a_token_bucket_is_linearizable() {
    every_history_has_an_order(Kind::TokenBucket, TokenBucket);
}

#[test]
fn a_fixed_window_is_linearizable() {
    every_history_has_an_order(Kind::FixedWindow, FixedWindow);
}

#[test]
fn a_sliding_log_is_linearizable() {
    every_history_has_an_order(Kind::SlidingLog, SlidingLog);
}

#[test]
fn a_sliding_counter_is_linearizable() {
    every_history_has_an_order(Kind::SlidingCounter, SlidingCounter);
}

#[test]
fn several_limits_at_once_are_linearizable() {
    every_history_has_an_order(Kind::AllOf, AllOf);
}

/// The first history that has no order, of so many.
fn first_without_an_order<const STEP: u8>(
    by_plan: bool,
    keeps: fn(&Op) -> bool,
) -> Option<History> {
    (0..HISTORIES).find_map(|seed| {
        let (case, mut script) = script::make_up(Kind::TokenBucket, Some(by_plan), seed);
        for moves in &mut script.beside {
            moves.retain(|one| match one {
                Move::Call(op) => keeps(op),
                Move::Refund { .. } => true,
            });
        }
        let history = threads::record(Torn::<STEP>, &case, &script);
        (!spec::is_linearizable(&history)).then_some(history)
    })
}

#[test]
fn a_bucket_from_outside_is_linearizable_if_no_step_is_torn() {
    for by_plan in [false, true] {
        if let Some(history) = first_without_an_order::<{ broken::NONE }>(by_plan, |_| true) {
            panic!("no order of these calls is the oracle's:\n{history}");
        }
    }
}

#[test]
fn a_spend_that_overwrites_another_is_found() {
    assert!(first_without_an_order::<{ broken::SPEND }>(false, |_| true).is_some());
}

#[test]
fn a_refund_that_overwrites_a_spend_is_found() {
    assert!(first_without_an_order::<{ broken::REFUND }>(false, |_| true).is_some());
}

#[test]
fn an_eviction_that_overwrites_a_spend_is_found() {
    // A reset may overwrite what it likes.
    let keeps = |op: &Op| !matches!(op, Op::Reset { .. });
    assert!(first_without_an_order::<{ broken::RETIRE }>(false, keeps).is_some());
}

#[test]
fn a_refresh_that_overwrites_a_spend_is_found() {
    // A state that is retired while it is being moved is more than a lost spend.
    let keeps = |op: &Op| !matches!(op, Op::Reset { .. } | Op::EvictIdle);
    assert!(first_without_an_order::<{ broken::HOLD }>(true, keeps).is_some());
}
