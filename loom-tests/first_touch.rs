//! A key that two threads see for the first time.

use super::{Clock, check, check_within, limiter, thread};
use crate::{Algorithm, AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

fn one_of_two_is_admitted<A: Algorithm>(algorithm: A) {
    let limiter = limiter(algorithm, 1, &Clock::new(0));
    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1));
    let mine = limiter.try_acquire(&1);
    let theirs = asker.join().unwrap();
    assert!(
        mine.is_allowed() != theirs.is_allowed(),
        "{mine:?} and {theirs:?}"
    );
    assert_eq!(limiter.tracked_keys(), 1);
}

/// The same, with an evictor that may take the state between its insertion and its first spend.
fn an_unspent_state_is_forgotten_without_harm<A: Algorithm>(algorithm: A) {
    let limiter = limiter(algorithm, 1, &Clock::new(0));
    let evicting = limiter.clone();
    let evictor = thread::spawn(move || evicting.evict_idle());
    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1));
    let mine = limiter.try_acquire(&1);
    let theirs = asker.join().unwrap();
    evictor.join().unwrap();
    assert!(
        mine.is_allowed() != theirs.is_allowed(),
        "{mine:?} and {theirs:?}"
    );
}

macro_rules! first_touches {
    ($($name:ident: $algorithm:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn first_touch_admits_once() {
                check(|| one_of_two_is_admitted($algorithm));
            }

            #[test]
            fn first_touch_admits_once_beside_an_evictor() {
                check_within($preemptions, || an_unspent_state_is_forgotten_without_harm($algorithm));
            }
        })+
    };
}

// The bound is that of the model beside an evictor.
first_touches! {
    token_bucket: TokenBucket, 3;
    fixed_window: FixedWindow, 3;
    sliding_log: SlidingLog, 3;
    sliding_counter: SlidingCounter, 2;
    all_of: AllOf, 2;
}
