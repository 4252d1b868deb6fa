//! Eviction beside requests, while the ticker moves: a permit is spent at 0 and is back at
//! `back_at`, and not one nanosecond earlier, whoever evicts the key and begins it again.

use super::{Clock, check_within, limiter, thread};
use crate::{Algorithm, AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

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
    ($($name:ident: $algorithm:expr, $back_at:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn eviction_never_mints_quota() {
                check_within($preemptions, || a_key_is_not_reborn_early($algorithm, $back_at));
            }

            #[test]
            fn a_key_is_begun_at_no_older_reading_than_its_eviction() {
                check_within($preemptions, || a_reading_is_taken_after_the_look_up($algorithm, $back_at));
            }

            #[test]
            fn a_retired_state_is_removed_by_whoever_meets_it() {
                check_within($preemptions, || two_helpers_remove_a_retired_state_once($algorithm, $back_at));
            }
        })+
    };
}

evictions! {
    token_bucket: TokenBucket, 10, 3;
    fixed_window: FixedWindow, 10, 3;
    sliding_log: SlidingLog, 10, 3;
    // The window after the next: before that, the previous one's permit weighs.
    sliding_counter: SlidingCounter, 20, 2;
    all_of: AllOf, 10, 2;
}
