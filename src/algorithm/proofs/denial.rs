//! A denial reads only, and so does a look: nothing is written that other threads would have to
//! fetch again.
//!
//! What was written shows in the version that stands before several words, even if the words are
//! the same afterwards. Of a state of one word it shows only if the word is another.

use crate::{Algorithm, AllOf, FixedWindow, Limit, Reading, SlidingCounter, TokenBucket};
use std::fmt::Debug;
use std::time::Duration;

/// The version of words that stand behind one, or the word itself.
fn mark<A: Algorithm>(state: &A::State) -> A::Held {
    let held = A::hold(state).expect("it is live");
    A::release(state, held);
    held
}

fn leaves_the_state_alone<A: Algorithm<Held: PartialEq + Debug>>(algorithm: A) {
    let limit = Limit::new(3, Duration::from_nanos(10)).expect("neither is zero");
    let rule = algorithm.rule(&[limit]).expect("a rule");
    let state = A::fresh(&rule);
    let fresh = mark::<A>(&state);
    let spent = A::try_acquire(&rule, &state, Reading::new(0, 15), 3).expect("it is live");
    assert!(spent.is_allowed());
    let before = mark::<A>(&state);
    assert_ne!(before, fresh, "a request that is allowed shows");

    // At the same reading, at older ones, and a moment later.
    for (at, cost) in [(15, 1), (15, 3), (14, 1), (0, 2), (16, 3)] {
        let at = Reading::new(0, at);
        let denied = A::try_acquire(&rule, &state, at, cost).expect("it is live");
        assert!(denied.is_denied(), "{cost} at {at:?}");
        assert_eq!(mark::<A>(&state), before, "a denial of {cost} at {at:?}");
        let _ = A::peek(&rule, &state, at, cost).expect("it is live");
        assert_eq!(mark::<A>(&state), before, "a look at {cost} at {at:?}");
    }
}

#[test]
fn a_denial_by_a_token_bucket_writes_nothing() {
    leaves_the_state_alone(TokenBucket);
}

#[test]
fn a_denial_by_a_fixed_window_writes_nothing() {
    leaves_the_state_alone(FixedWindow);
}

#[test]
fn a_denial_by_a_sliding_counter_writes_nothing() {
    leaves_the_state_alone(SlidingCounter);
}

#[test]
fn a_denial_by_one_of_all_limits_writes_nothing() {
    leaves_the_state_alone(AllOf);
}
