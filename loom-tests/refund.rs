//! Permits given back beside requests.

use super::{Clock, check, check_within, limiter, thread};
use crate::{Algorithm, AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};

/// One permit is given back while two threads ask: one of them gets it, or nobody yet.
fn a_permit_given_back_is_spent_once<A: Algorithm>(algorithm: A) {
    let limiter = limiter(algorithm, 2, &Clock::new(3));
    let given = limiter.try_acquire(&1);
    assert!(limiter.try_acquire(&1).is_allowed());

    let refunding = limiter.clone();
    let refunder = thread::spawn(move || refunding.refund(&1, given));
    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1).is_allowed());
    let mine = limiter.try_acquire(&1).is_allowed();
    let theirs = asker.join().unwrap();
    refunder.join().unwrap();

    let spent = u64::from(mine) + u64::from(theirs);
    assert!(spent <= 1, "one permit was spent twice");
    assert_eq!(limiter.peek(&1).remaining(), 1 - spent);
}

/// One permit is given back while another is spent: both count.
fn a_refund_loses_no_spend<A: Algorithm>(algorithm: A) {
    let limiter = limiter(algorithm, 2, &Clock::new(3));
    let given = limiter.try_acquire(&1);
    let refunding = limiter.clone();
    let refunder = thread::spawn(move || refunding.refund(&1, given));
    assert!(limiter.try_acquire(&1).is_allowed());
    refunder.join().unwrap();
    assert_eq!(limiter.peek(&1).remaining(), 1);
}

/// One permit is given back while an evictor forgets the key and two threads begin it again. At most
/// `late` of what was given back counts: a bucket does not know that it is from before.
fn a_refund_on_a_forgotten_key_mints_nothing<A: Algorithm>(algorithm: A, idle_at: u64, late: u64) {
    let clock = Clock::new(0);
    let limiter = limiter(algorithm, 2, &clock);
    let given = limiter.try_acquire(&1);
    assert!(limiter.try_acquire(&1).is_allowed());
    clock.set(idle_at);

    let refunding = limiter.clone();
    let refunder = thread::spawn(move || refunding.refund(&1, given));
    let asking = limiter.clone();
    let asker = thread::spawn(move || asking.try_acquire(&1).is_allowed());
    limiter.evict_idle();
    let mine = limiter.try_acquire(&1).is_allowed();
    assert!(mine && asker.join().unwrap());
    refunder.join().unwrap();
    assert!(limiter.peek(&1).remaining() <= late);
}

macro_rules! refunds {
    ($($name:ident: $algorithm:expr, $idle_at:expr, $late:expr, $step:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn what_is_given_back_is_spent_once() {
                check_within($step, || a_permit_given_back_is_spent_once($algorithm));
            }

            #[test]
            fn what_is_spent_meanwhile_stays_spent() {
                check(|| a_refund_loses_no_spend($algorithm));
            }

            #[test]
            fn a_refund_beside_an_eviction_mints_nothing() {
                check_within($preemptions, || a_refund_on_a_forgotten_key_mints_nothing($algorithm, $idle_at, $late));
            }
        })+
    };
}

refunds! {
    token_bucket: TokenBucket, 10, 1, 3, 3;
    fixed_window: FixedWindow, 10, 0, 3, 3;
    sliding_log: SlidingLog, 10, 0, 3, 3;
    // With two preemptions these two take minutes, and the step itself is the same as above.
    sliding_counter: SlidingCounter, 20, 0, 2, 1;
    all_of: AllOf, 10, 1, 2, 1;
}
