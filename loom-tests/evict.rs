//! Eviction beside requests, while the ticker moves: a permit is spent at 0 and is back at
//! `back_at`, and not one nanosecond earlier, whoever evicts the key and begins it again.

use super::{Arc, Clock, check, check_within, limiter, per_ten, thread};
use crate::{
    Algorithm, AllOf, FixedWindow, Gone, Reading, SlidingCounter, SlidingLog, Ticker, TokenBucket,
};

/// A state by itself, without the map, whose locks would order more than the state promises: who
/// meets the mark of an evictor reads no older time than the evictor did.
fn a_mark_publishes_the_reading<A: Algorithm>(algorithm: A, back_at: u64) {
    let rule = algorithm.rule(&[per_ten(1)]).expect("a rule");
    let state = A::fresh(&rule);
    let spent = A::try_acquire(&rule, &state, Reading::new(0, 0), 1).expect("it is live");
    assert!(spent.is_allowed());
    let shared = Arc::new((rule, state));
    let clock = Clock::new(back_at - 1);

    let (evicting, its_clock) = (shared.clone(), clock.clone());
    let evictor = thread::spawn(move || {
        let (rule, state) = &*evicting;
        A::retire_if_idle(rule, state, Reading::new(0, its_clock.now()));
    });
    let its_clock = clock.clone();
    let asker = thread::spawn(move || {
        let (rule, state) = &*shared;
        match A::try_acquire(rule, state, Reading::new(0, its_clock.now()), 1) {
            Ok(decision) => assert!(decision.is_denied() || decision.reading() >= back_at),
            Err(gone) => {
                assert_eq!(gone, Gone::Retired);
                let now = its_clock.now();
                assert!(now >= back_at, "the key would be begun anew at {now}");
            }
        }
    });
    clock.set(back_at);
    asker.join().unwrap();
    evictor.join().unwrap();
}

/// Two threads ask as the clock reaches the moment at which the key is idle, and an evictor runs.
fn a_key_is_not_reborn_early<A: Algorithm>(algorithm: A, back_at: u64) {
    let clock = Clock::new(0);
    let limiter = limiter(algorithm, 1, &clock);
    assert!(limiter.try_acquire(&1).is_allowed());
    clock.set(back_at - 1);

    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1));
    let evicting = limiter.clone();
    let evictor = thread::spawn(move || evicting.evict_idle());

    clock.set(back_at);
    let decisions = [limiter.try_acquire(&1), asker.join().unwrap()];
    evictor.join().unwrap();

    let allowed = decisions.iter().filter(|decision| decision.is_allowed());
    assert!(allowed.clone().count() <= 1, "one permit was spent twice");
    for decision in allowed {
        assert!(
            decision.reading() >= back_at,
            "allowed at {}",
            decision.reading()
        );
    }
}

/// The first request after an eviction: it must not use a reading from before it.
fn a_reading_is_taken_after_the_look_up<A: Algorithm>(algorithm: A, back_at: u64) {
    let clock = Clock::new(0);
    let limiter = limiter(algorithm, 1, &clock);
    assert!(limiter.try_acquire(&1).is_allowed());
    clock.set(back_at - 1);

    let asking = limiter.clone();
    let asker = thread::spawn(move || {
        let decision = asking.try_acquire(&1);
        assert!(
            decision.is_denied() || decision.reading() >= back_at,
            "allowed at {}",
            decision.reading()
        );
    });
    let evictor = thread::spawn(move || limiter.evict_idle());
    clock.set(back_at);
    asker.join().unwrap();
    evictor.join().unwrap();
}

/// Two threads that meet the same retired state, and a third that retires it.
fn two_helpers_remove_a_retired_state_once<A: Algorithm>(algorithm: A, back_at: u64) {
    let clock = Clock::new(0);
    let limiter = limiter(algorithm, 2, &clock);
    assert!(limiter.try_acquire_n(&1, 2).is_allowed());
    clock.set(back_at);

    let evicting = limiter.clone();
    let evictor = thread::spawn(move || evicting.evict_idle());
    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1));
    let mine = limiter.try_acquire(&1);
    assert!(mine.is_allowed() && asker.join().unwrap().is_allowed());
    evictor.join().unwrap();

    assert_eq!(
        limiter.tracked_keys(),
        1,
        "the key that was begun again is there"
    );
    assert!(
        limiter.try_acquire(&1).is_denied(),
        "both were counted on the same state"
    );
}

macro_rules! evictions {
    ($($name:ident: $algorithm:expr, $back_at:expr, $preemptions:expr, $helpers:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn a_mark_is_no_younger_than_the_reading_that_it_stands_for() {
                check(|| a_mark_publishes_the_reading($algorithm, $back_at));
            }

            #[test]
            fn eviction_never_mints_quota() {
                check_within($preemptions, || a_key_is_not_reborn_early($algorithm, $back_at));
            }

            #[test]
            fn a_key_is_begun_at_no_older_reading_than_its_eviction() {
                check(|| a_reading_is_taken_after_the_look_up($algorithm, $back_at));
            }

            #[test]
            fn a_retired_state_is_removed_by_whoever_meets_it() {
                check_within($helpers, || two_helpers_remove_a_retired_state_once($algorithm, $back_at));
            }
        })+
    };
}

evictions! {
    token_bucket: TokenBucket, 10, 3, 3;
    fixed_window: FixedWindow, 10, 3, 3;
    sliding_log: SlidingLog, 10, 3, 3;
    // The window after the next: before that, the previous one's permit weighs.
    sliding_counter: SlidingCounter, 20, 2, 1;
    all_of: AllOf, 10, 2, 2;
}
