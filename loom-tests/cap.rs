//! The cap on keys: never one more than it, and no place that is lost or given to two.

use super::{Arc, Clock, check, check_within, per_ten, thread};
use crate::store::Places;
use crate::{Algorithm, AllOf, OneLimit, RateLimiter, TokenBucket};

/// A hash, as `Places` wants it.
const TAKEN: u64 = 1 << 48;

/// Late enough for new keys to note a reading of their own.
const LATER: u64 = 2_000_000;

type Limiter<A> = RateLimiter<u32, A, Clock, OneLimit>;

fn capped<A: Algorithm>(algorithm: A, keys: usize, clock: &Clock) -> Arc<Limiter<A>> {
    let limiter = RateLimiter::<u32>::builder(per_ten(2))
        .algorithm(algorithm)
        .ticker(clock.clone())
        .max_keys(keys)
        .build()
        .expect("a limit that every algorithm keeps");
    Arc::new(limiter)
}

/// The one place can be had, and no second one.
fn has_one_place<A: Algorithm>(limiter: &Limiter<A>, brought: [u32; 2]) {
    for key in brought {
        limiter.reset(&key);
    }
    assert_eq!(limiter.tracked_keys(), 0);
    assert!(limiter.try_acquire(&8).is_allowed(), "a place was lost");
    assert!(limiter.try_acquire(&9).is_denied(), "a place was made");
}

/// Two new keys, one place.
fn one_of_two_new_keys_is_tracked<A: Algorithm>(algorithm: A) {
    let limiter = capped(algorithm, 1, &Clock::new(3));
    let other = limiter.clone();
    let theirs = thread::spawn(move || other.try_acquire(&1).is_allowed());
    let mine = limiter.try_acquire(&2).is_allowed();
    let theirs = theirs.join().unwrap();
    assert!(mine != theirs, "{mine} and {theirs}");
    assert_eq!(limiter.tracked_keys(), 1);
    has_one_place(&limiter, [1, 2]);
}

/// Two new keys that meet one idle key: one of them takes its place.
fn one_of_two_takes_the_place_of_an_idle_key<A: Algorithm>(algorithm: A) {
    let clock = Clock::new(3);
    let limiter = capped(algorithm, 1, &clock);
    assert!(limiter.try_acquire(&7).is_allowed());
    clock.set(LATER);
    let other = limiter.clone();
    let theirs = thread::spawn(move || other.try_acquire(&1).is_allowed());
    let mine = limiter.try_acquire(&2).is_allowed();
    let theirs = theirs.join().unwrap();
    assert!(!(mine && theirs), "both were tracked");
    assert!(limiter.tracked_keys() <= 1);
    limiter.reset(&7);
    has_one_place(&limiter, [1, 2]);
}

/// A new key and a request for the idle key whose place it may take: what is spent stays spent.
fn a_key_that_makes_room_mints_nothing<A: Algorithm>(algorithm: A) {
    let clock = Clock::new(3);
    let limiter = capped(algorithm, 1, &clock);
    assert!(limiter.try_acquire(&1).is_allowed());
    clock.set(LATER);
    let other = limiter.clone();
    let theirs = thread::spawn(move || other.try_acquire(&1));
    let mine = limiter.try_acquire(&2);
    let theirs = theirs.join().unwrap();
    assert!(mine.is_untracked() || theirs.is_untracked());
    if !theirs.is_untracked() {
        assert_eq!(limiter.peek(&1).remaining(), 1);
    }
    has_one_place(&limiter, [1, 2]);
}

/// A new key while the one that has the place is reset, and is asked for again.
fn a_reset_gives_the_place_to_one<A: Algorithm>(algorithm: A) {
    let limiter = capped(algorithm, 1, &Clock::new(3));
    assert!(limiter.try_acquire(&1).is_allowed());
    let other = limiter.clone();
    let resetter = thread::spawn(move || {
        other.reset(&1);
        other.try_acquire(&1).is_allowed()
    });
    let mine = limiter.try_acquire(&2).is_allowed();
    let theirs = resetter.join().unwrap();
    assert!(mine != theirs, "{mine} and {theirs}");
    has_one_place(&limiter, [1, 2]);
}

/// Two first touches of one key, each with a place in hand: one of those is given back.
fn a_place_that_is_not_needed_is_given_back<A: Algorithm>(algorithm: A) {
    let limiter = capped(algorithm, 2, &Clock::new(3));
    let other = limiter.clone();
    let theirs = thread::spawn(move || other.try_acquire(&1).is_allowed());
    let mine = limiter.try_acquire(&1).is_allowed();
    assert!(mine && theirs.join().unwrap());
    assert!(limiter.try_acquire(&2).is_allowed(), "a place was lost");
}

/// A place that is taken, and free again, and no longer followed by the place that it was followed
/// by, while another thread is about to take it.
#[test]
fn a_place_that_comes_back_is_not_taken_for_what_it_was() {
    check(|| {
        let places = Arc::new(Places::new(2, 2));
        let take = |places: &Places| places.take(TAKEN, None::<fn(u32) -> bool>);
        let (one, two) = (take(&places).unwrap(), take(&places).unwrap());
        places.free(one);
        places.free(two);
        let other = thread::spawn({
            let places = places.clone();
            move || {
                let (first, kept) = (take(&places), take(&places));
                if let (Some(first), Some(_)) = (first, kept) {
                    places.free(first);
                }
                (first, kept)
            }
        });
        let mine = take(&places);
        let (first, kept) = other.join().unwrap();
        let held = match (first, kept) {
            (Some(_), Some(kept)) => Some(kept),
            (alone, _) => alone,
        };
        assert!(mine.is_none() || mine != held, "one place for two");
        if mine.is_some() && held.is_some() {
            assert_eq!(take(&places), None, "a place that is taken");
        }
    });
}

macro_rules! caps {
    ($($name:ident: $algorithm:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn two_new_keys_get_one_place() {
                check_within($preemptions, || one_of_two_new_keys_is_tracked($algorithm));
            }

            #[test]
            fn a_place_is_given_back() {
                check_within($preemptions, || a_place_that_is_not_needed_is_given_back($algorithm));
            }

            #[test]
            fn an_idle_key_makes_room_for_one() {
                check_within($preemptions, || one_of_two_takes_the_place_of_an_idle_key($algorithm));
            }

            #[test]
            fn who_makes_room_mints_nothing() {
                check_within($preemptions, || a_key_that_makes_room_mints_nothing($algorithm));
            }

            #[test]
            fn a_reset_makes_room_for_one() {
                check_within($preemptions, || a_reset_gives_the_place_to_one($algorithm));
            }
        })+
    };
}

// A state of one word and one of several: places know nothing of what is in a state.
caps! {
    token_bucket: TokenBucket, 3;
    all_of: AllOf, 2;
}
