//! Limits that change beside requests and evictions.

use super::{Arc, Clock, check, check_within, per_ten, thread};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::{
    Algorithm, AllOf, FixedWindow, PerKey, RateLimiter, SlidingCounter, SlidingLog, TokenBucket,
};
// Not loom's, which has no weak ones.
use std::sync::{Arc as Shared, Weak, atomic::AtomicUsize};

const BEFORE: u64 = 2;
const AFTER: u64 = 3;

/// A limiter whose limit is `BEFORE` until `raise`, and `AFTER` from then on.
struct Changing<A: Algorithm> {
    limiter: Arc<RateLimiter<u32, A, Clock, PerKey>>,
    raised: Arc<AtomicBool>,
    clock: Clock,
}

impl<A: Algorithm> Clone for Changing<A> {
    fn clone(&self) -> Self {
        Self {
            limiter: self.limiter.clone(),
            raised: self.raised.clone(),
            clock: self.clock.clone(),
        }
    }
}

impl<A: Algorithm + Copy> Changing<A> {
    fn new(algorithm: A) -> Self {
        let before = algorithm.plan(per_ten(BEFORE)).expect("a plan");
        let after = algorithm.plan(per_ten(AFTER)).expect("a plan");
        let raised = Arc::new(AtomicBool::new(false));
        let clock = Clock::new(3);
        let plan = {
            let raised = raised.clone();
            // Relaxed: the refresh's own count is what makes the change seen.
            move |_: &u32| match raised.load(Ordering::Relaxed) {
                true => after.clone(),
                false => before.clone(),
            }
        };
        let limiter = RateLimiter::<u32>::by_plan(plan)
            .evict_in_passing(false)
            .ticker(clock.clone())
            .build()
            .expect("plans are accepted already");
        Self {
            limiter: Arc::new(limiter),
            raised,
            clock,
        }
    }

    fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }
}

/// A permit that is spent while the limit changes is neither lost nor counted twice.
fn owed_permits_move<A: Algorithm + Copy>(algorithm: A) {
    let changing = Changing::new(algorithm);
    assert!(changing.limiter.try_acquire(&1).is_allowed());

    let refreshing = changing.clone();
    let refresher = thread::spawn(move || {
        refreshing.raise();
        refreshing.limiter.refresh(&1);
    });
    let asking = changing.clone();
    let asker = thread::spawn(move || asking.limiter.try_acquire(&1).is_allowed());
    let mine = changing.limiter.try_acquire(&1).is_allowed();
    let theirs = asker.join().unwrap();
    refresher.join().unwrap();

    let spent = 1 + u64::from(mine) + u64::from(theirs);
    assert!(spent >= BEFORE, "a permit that was there was refused");
    let left = changing.limiter.peek(&1);
    assert_eq!(left.remaining(), AFTER - spent, "{spent} spent");
}

/// After a refresh a key uses the new limit, even if another thread was just beginning it.
fn the_next_check_uses_the_new_limit<A: Algorithm + Copy>(algorithm: A) {
    let changing = Changing::new(algorithm);
    let asking = changing.clone();
    let asker = thread::spawn(move || asking.limiter.try_acquire(&1).is_allowed());
    changing.raise();
    changing.limiter.refresh(&1);
    let mine = changing.limiter.try_acquire_n(&1, AFTER);
    assert!(
        !mine.is_never(),
        "the old limit is in force after the refresh"
    );
    let theirs = asker.join().unwrap();
    assert!(theirs || mine.is_allowed());
}

/// As above, for all keys.
fn the_next_check_of_any_key_uses_the_new_limit<A: Algorithm + Copy>(algorithm: A) {
    let changing = Changing::new(algorithm);
    let asking = changing.clone();
    let asker = thread::spawn(move || asking.limiter.try_acquire(&1).is_allowed());
    changing.raise();
    changing.limiter.refresh_all();
    assert!(!changing.limiter.peek_n(&1, AFTER).is_never());
    assert!(asker.join().unwrap());
    assert_eq!(changing.limiter.peek(&1).remaining(), AFTER - 1);
}

/// A refresh and an eviction of one idle key: it is there under the new limit, or not at all.
fn an_idle_key_is_moved_or_evicted<A: Algorithm + Copy>(algorithm: A) {
    let changing = Changing::new(algorithm);
    assert!(changing.limiter.try_acquire(&1).is_allowed());
    changing.clock.set(40);

    let evicting = changing.clone();
    let evictor = thread::spawn(move || evicting.limiter.evict_idle());
    let asking = changing.clone();
    let asker = thread::spawn(move || asking.limiter.try_acquire(&1).is_allowed());
    changing.raise();
    changing.limiter.refresh(&1);
    assert!(asker.join().unwrap());
    evictor.join().unwrap();
    assert_eq!(changing.limiter.peek(&1).remaining(), AFTER - 1);
}

/// Two refreshes at once: whoever calls one after the change ends up with the change.
fn the_later_refresh_prevails<A: Algorithm + Copy>(algorithm: A) {
    let changing = Changing::new(algorithm);
    assert!(changing.limiter.try_acquire(&1).is_allowed());
    let other = changing.clone();
    let earlier = thread::spawn(move || other.limiter.refresh(&1));
    changing.raise();
    changing.limiter.refresh(&1);
    assert_eq!(changing.limiter.peek(&1).remaining(), AFTER - 1);
    earlier.join().unwrap();
    assert_eq!(changing.limiter.peek(&1).remaining(), AFTER - 1);
}

/// As above, beside a refresh that was counted, and has resolved the old limit, before the change:
/// it must not settle the entry that the later one could not find. The later one comes while the
/// key's first plan is resolved, so that the key is sure to be begun under the old limit.
///
/// It does not show that `Settles::No` is needed: of all the orders loom tries none has the older
/// refresh between the insertion and the look whether the entry is settled. That is argued in
/// `limiter/source.rs`.
fn an_older_refresh_does_not_settle_a_key<A: Algorithm + Copy>(algorithm: A) {
    type Tiered<A> = RateLimiter<u32, A, Clock, PerKey>;
    let before = algorithm.plan(per_ten(BEFORE)).expect("a plan");
    let after = algorithm.plan(per_ten(AFTER)).expect("a plan");
    let calls = AtomicUsize::new(0);
    let limiter = Shared::new_cyclic(|weak: &Weak<Tiered<A>>| {
        let weak = weak.clone();
        let plan = move |_: &u32| match calls.fetch_add(1, Ordering::Relaxed) {
            0 => before.clone(),
            1 => {
                weak.upgrade().expect("it asks").refresh(&1);
                before.clone()
            }
            _ => after.clone(),
        };
        RateLimiter::by_plan(plan)
            .evict_in_passing(false)
            .ticker(Clock::new(3))
            .build()
            .expect("plans are accepted already")
    });
    let resolved = limiter.begin_refresh(&1);
    let other = limiter.clone();
    let older = thread::spawn(move || other.finish_refresh(resolved, 1));
    assert!(limiter.try_acquire(&1).is_allowed());
    older.join().unwrap();
    let left = limiter.peek_n(&1, AFTER);
    assert!(!left.is_never(), "the old limit is in force");
    assert_eq!(left.remaining(), AFTER - 1);
}

macro_rules! refreshes {
    ($($name:ident: $algorithm:expr, $preemptions:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn owed_permits_are_never_forgotten_by_a_refresh() {
                check_within($preemptions, || owed_permits_move($algorithm));
            }

            #[test]
            fn a_refresh_never_misses_a_key() {
                check(|| the_next_check_uses_the_new_limit($algorithm));
            }

            #[test]
            fn an_older_refresh_settles_no_key() {
                check(|| an_older_refresh_does_not_settle_a_key($algorithm));
            }

            #[test]
            fn a_refresh_of_all_never_misses_a_key() {
                check(|| the_next_check_of_any_key_uses_the_new_limit($algorithm));
            }

            #[test]
            fn a_key_is_refreshed_or_evicted() {
                check_within($preemptions, || an_idle_key_is_moved_or_evicted($algorithm));
            }

            #[test]
            fn of_two_refreshes_the_later_prevails() {
                check(|| the_later_refresh_prevails($algorithm));
            }
        })+
    };
}

// The bound is that of the two models with three threads.
refreshes! {
    token_bucket: TokenBucket, 3;
    fixed_window: FixedWindow, 3;
    sliding_log: SlidingLog, 3;
    sliding_counter: SlidingCounter, 2;
    all_of: AllOf, 2;
}
