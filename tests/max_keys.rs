//! A cap on keys, and idle keys that new ones take the place of.

#[macro_use]
mod support;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use support::*;
use tollgate::{
    Algorithm, Builder, FixedWindow, Gate, ManualTicker, OneLimit, RandomState, RateLimiter,
    TokenBucket, WhenFull, peek_all_each, try_acquire_all_each,
};

/// Five at once, one more every 2 s.
fn capped<A: Algorithm>(
    algorithm: A,
    keys: usize,
) -> (
    Builder<u64, A, ManualTicker, OneLimit, RandomState>,
    ManualTicker,
) {
    let ticker = ManualTicker::new(0);
    let builder = RateLimiter::<u64>::builder(limit("5/10s"))
        .algorithm(algorithm)
        .ticker(ticker.clone())
        .max_keys(keys);
    (builder, ticker)
}

#[test]
fn a_new_key_is_refused_while_all_places_are_in_use() {
    fn check(algorithm: impl Algorithm) {
        let (builder, ticker) = capped(algorithm, 3);
        let limiter = builder.build().expect("a limit");
        for key in 0..3 {
            let decision = limiter.try_acquire(&key);
            assert!(decision.is_allowed() && !decision.is_untracked(), "{key}");
        }
        for key in 3..1_000 {
            let decision = limiter.try_acquire(&key);
            assert!(decision.is_denied() && decision.is_untracked(), "{key}");
            assert!(!decision.is_never() && decision.retry_after().is_some());
            assert_eq!((decision.remaining(), decision.spent()), (0, 0));
            limiter.refund(&key, decision);
            assert_eq!(limiter.tracked_keys(), 3);
        }
        // Who is tracked is served as ever, with what is left.
        for key in 0..3 {
            assert_eq!(limiter.try_acquire(&key).remaining(), 3, "{key}");
        }
        // All are idle: the first new key finds a place.
        ticker.advance(Duration::from_secs(100));
        for key in 10..13 {
            assert_eq!(limiter.try_acquire(&key).remaining(), 4, "{key}");
        }
        assert!(limiter.try_acquire(&13).is_untracked());
        assert_eq!(limiter.tracked_keys(), 3);
    }
    for_every_algorithm!(check);
}

#[test]
fn a_place_is_free_again_after_a_reset_and_after_a_sweep() {
    let (builder, ticker) = capped(TokenBucket, 100);
    let limiter = builder.evict_in_passing(false).build().expect("a limit");
    for round in 0..50 {
        for key in 0..100 {
            assert!(limiter.try_acquire(&(round * 100 + key)).is_allowed());
        }
        assert!(limiter.try_acquire(&u64::MAX).is_denied());
        if round % 2 == 0 {
            for key in 0..100 {
                limiter.reset(&(round * 100 + key));
            }
        } else {
            ticker.advance(Duration::from_secs(10));
            assert!(limiter.try_acquire(&u64::MAX).is_denied(), "nobody swept");
            assert_eq!(limiter.evict_idle(), 100);
        }
        assert_eq!(limiter.tracked_keys(), 0);
    }
}

/// The key that is reset over and over must not come to hold more than one place.
#[test]
fn a_key_that_is_reset_over_and_over_holds_one_place() {
    let (builder, _) = capped(TokenBucket, 8);
    let limiter = builder.build().expect("a limit");
    for _ in 0..1_000 {
        assert!(limiter.try_acquire(&1).is_allowed());
        limiter.reset(&1);
    }
    for key in 0..8 {
        assert!(limiter.try_acquire(&key).is_allowed(), "{key}");
    }
}

#[test]
fn an_idle_key_is_found_within_a_quarter_of_the_places() {
    // Whatever round the hand is in when the limiter is full, and wherever the idle key is.
    for keys in [8, 1_000, 1_023, 1_024, 1_025, 1_500] {
        for idle in [0, keys / 2, 777 % keys, keys - 1] {
            let (builder, ticker) = capped(TokenBucket, keys as usize);
            let limiter = builder.build().expect("a limit");
            for key in 0..keys {
                assert!(limiter.try_acquire(&key).is_allowed());
            }
            ticker.advance(Duration::from_secs(10));
            // All but one are in use again.
            for key in (0..keys).filter(|key| *key != idle) {
                assert!(limiter.try_acquire(&key).is_allowed());
            }
            let refused = (keys..).take_while(|key| limiter.try_acquire(key).is_untracked());
            let refused = refused.count() as u64;
            assert!(refused <= keys / 4, "{refused} of {keys}, {idle}");
            assert!(limiter.peek(&idle).is_untracked(), "it made room");
        }
    }
}

#[test]
fn new_keys_may_be_let_through_uncounted() {
    fn check(algorithm: impl Algorithm) {
        let (builder, _) = capped(algorithm, 1);
        let limiter = builder.when_full(WhenFull::Allow).build().expect("a limit");
        assert!(limiter.try_acquire(&1).is_allowed());
        for _ in 0..10 {
            let decision = limiter.try_acquire_n(&2, 5);
            assert!(decision.is_allowed() && decision.is_untracked());
            assert_eq!((decision.remaining(), decision.spent()), (0, 0));
            limiter.refund(&2, decision);
        }
        assert!(limiter.try_acquire_n(&2, 6).is_never());
        assert_eq!(limiter.tracked_keys(), 1);
        // Nothing was given back to the key that came to have a place meanwhile.
        let before = limiter.try_acquire(&2);
        limiter.reset(&1);
        assert!(limiter.try_acquire(&2).is_allowed());
        limiter.refund(&2, before);
        assert_eq!(limiter.peek(&2).remaining(), 4);
    }
    for_every_algorithm!(check);
}

#[test]
fn new_keys_may_share_a_state() {
    fn check<A: Algorithm + Copy>(algorithm: A) {
        let (builder, ticker) = capped(algorithm, 1);
        let shared = algorithm.plan(limit("3/10s")).expect("a plan");
        let limiter = builder
            .when_full(WhenFull::Share(shared))
            .build()
            .expect("a limit");
        assert!(limiter.try_acquire(&1).is_allowed());
        let first = limiter.try_acquire(&2);
        assert!(first.is_untracked() && first.spent() == 1);
        assert_eq!(first.remaining(), 2);
        assert_eq!(limiter.try_acquire_n(&3, 2).remaining(), 0);
        assert!(limiter.try_acquire(&4).is_denied());
        // What a stranger gives back goes to all of them, and not to who is tracked.
        limiter.refund(&2, first);
        assert_eq!(limiter.peek(&1).remaining(), 4);
        assert!(limiter.try_acquire(&5).is_allowed());
        assert!(limiter.try_acquire(&6).is_denied());
        ticker.advance(Duration::from_secs(100));
        assert_eq!(limiter.tracked_keys(), 1);
    }
    for_every_algorithm!(check);
}

#[test]
fn every_part_of_an_answer_says_that_it_is_untracked() {
    let (builder, _) = capped(TokenBucket, 0);
    let limiter = builder.build().expect("a limit");
    let mut each = [limiter.peek(&1); 1];
    let (decision, limits) = limiter.try_acquire_each(&1, 1, &mut each);
    assert!(decision.is_denied() && decision.is_untracked());
    assert_eq!(limits, 1);
    assert_eq!(each[0], decision, "one limit's answer is the whole");
    assert_eq!(limiter.tracked_keys(), 0);
}

/// Whether it finds a place, too: by its own, one that is free, or that of an idle key in reach.
#[test]
fn a_peek_answers_as_the_request_would_however_full_it_is() {
    fn check<A: Algorithm + Copy>(algorithm: A) {
        let shared = || algorithm.plan(limit("7/10s")).expect("a plan");
        let choices = [WhenFull::Deny, WhenFull::Allow, WhenFull::Share(shared())];
        for (seed, when_full) in (1..).zip(choices) {
            let shares = matches!(when_full, WhenFull::Share(_));
            for in_passing in [true, false] {
                let (builder, ticker) = capped(algorithm, 20);
                let builder = builder.when_full(when_full.clone());
                let limiter = builder.evict_in_passing(in_passing).build();
                let limiter = limiter.expect("a limit");
                let mut numbers = Numbers(seed);
                let (mut tracked, mut untracked) = (0, 0);
                for step in 0..6_000 {
                    let (key, cost) = (numbers.below(200), numbers.below(7));
                    let mut each = [limiter.peek_n(&key, cost); 1];
                    let seen = each[0];
                    assert_eq!(limiter.peek_each(&key, cost, &mut each), (each[0], 1));
                    assert_eq!(each[0], seen, "a peek changes nothing, step {step}");
                    let answer = limiter.try_acquire_n(&key, cost);
                    assert_eq!(answer.is_allowed(), seen.is_allowed(), "step {step}");
                    assert_eq!(answer.is_never(), seen.is_never(), "step {step}");
                    assert_eq!(answer.retry_after(), seen.retry_after(), "step {step}");
                    assert_eq!(answer.is_untracked(), seen.is_untracked(), "step {step}");
                    let taken = seen.remaining() - answer.remaining();
                    let counts = shares || !answer.is_untracked() || answer.is_denied();
                    assert_eq!(taken, if counts { answer.spent() } else { cost });
                    *(if answer.is_untracked() {
                        &mut untracked
                    } else {
                        &mut tracked
                    }) += 1;
                    ticker.advance(ns(numbers.below(500 * MS)));
                    if !in_passing && step % 100 == 0 {
                        limiter.evict_idle();
                    }
                }
                assert!(tracked > 100 && untracked > 100, "{tracked}, {untracked}");
            }
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_request_to_several_limiters_keeps_nothing_where_one_is_full() {
    let (builder, _) = capped(TokenBucket, 0);
    let full = builder.build().expect("a limit");
    let (open, _) = built(FixedWindow, limit("5/10s"), 0);
    let gates: [&dyn Gate; 2] = [&open.ask(KEY), &full.ask(KEY)];
    let mut each = [open.peek(KEY); 2];
    for decision in [
        peek_all_each(&gates, &mut each),
        try_acquire_all_each(&gates, &mut each),
    ] {
        assert!(decision.is_denied() && decision.is_untracked());
        assert_eq!(decision.limit(), 1, "the full one refuses");
        assert!(each[0].is_allowed() && !each[0].is_untracked());
        assert!(each[1].is_denied() && each[1].is_untracked());
    }
    assert_eq!(open.peek(KEY).remaining(), 5);
}

#[test]
#[should_panic(expected = "choose the algorithm before")]
fn a_plan_for_another_algorithm_is_refused() {
    let plan = TokenBucket.plan(limit("3/10s")).expect("a plan");
    let (builder, _) = capped(TokenBucket, 0);
    let _ = builder
        .when_full(WhenFull::Share(plan))
        .algorithm(FixedWindow);
}

/// Nobody sweeps, and every key is seen once: what is tracked stays within twice what is in use.
#[test]
fn a_limiter_that_nobody_sweeps_does_not_grow_for_ever() {
    fn check(algorithm: impl Algorithm) {
        const IN_USE: u64 = 1_000;
        let ticker = ManualTicker::new(0);
        let limiter = RateLimiter::<u64>::builder(limit("1/10s"))
            .algorithm(algorithm)
            .ticker(ticker.clone())
            .build()
            .expect("a limit");
        // In use for 10 s, or 20 by a window or a counter.
        let step = Duration::from_secs(20) / IN_USE as u32;
        let mut most = 0;
        for key in 0..40 * IN_USE {
            ticker.advance(step);
            assert!(limiter.try_acquire(&key).is_allowed(), "{key}");
            most = most.max(limiter.tracked_keys() as u64);
        }
        println!("{}: {most}", std::any::type_name_of_val(&limiter));
        assert!(most <= 2 * IN_USE, "{most} of {IN_USE}");
    }
    for_every_algorithm!(check);
}

/// Whoever sees only decisions cannot tell whether new keys take the places of idle ones: on a clock
/// that does not step back, each is the same as without.
#[test]
fn evicting_in_passing_changes_no_decision() {
    fn check<A: Algorithm + Copy>(algorithm: A) {
        let ticker = ManualTicker::new(0);
        let with = |evicts| {
            RateLimiter::<u64>::builder(limit("3/10ms"))
                .algorithm(algorithm)
                .ticker(ticker.clone())
                .evict_in_passing(evicts)
                .build()
                .expect("a limit")
        };
        let (one, other) = (with(true), with(false));
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let mut fewer = 0;
        for step in 0..60_000 {
            // Few keys often, many seldom: some come back after they were forgotten.
            let key = if next(3) == 0 { next(4) } else { next(2_000) };
            let cost = 1 + next(2);
            ticker.advance(ns(next(100_000)));
            let (mine, theirs) = (
                one.try_acquire_n(&key, cost),
                other.try_acquire_n(&key, cost),
            );
            assert_eq!(mine, theirs, "key {key}, cost {cost}, step {step}");
            if mine.is_allowed() && next(10) == 0 {
                one.refund(&key, mine);
                other.refund(&key, theirs);
            }
            fewer += u64::from(one.tracked_keys() < other.tracked_keys());
        }
        assert!(fewer > 10_000, "it forgot hardly any key: {fewer}");
    }
    for_every_algorithm!(check);
}

/// Threads that bring new keys without end, a sweep and resets beside: never one more than the cap,
/// and at the end every place can be had.
#[test]
fn the_cap_is_strict_and_no_place_is_lost() {
    const KEYS: usize = 50;
    let (builder, ticker) = capped(TokenBucket, KEYS);
    let limiter = Arc::new(builder.build().expect("a limit"));
    for round in 0..20_u64 {
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let limiter = limiter.clone();
                scope.spawn(move || {
                    for key in 0..2_000 {
                        // Some keys are brought by all of them at once.
                        let key = if key % 3 == 0 {
                            key
                        } else {
                            key + (thread << 32)
                        };
                        let _ = limiter.try_acquire(&(key + (round << 16)));
                        assert!(limiter.tracked_keys() <= KEYS);
                        if key % 7 == 0 {
                            limiter.reset(&(key + (round << 16)));
                        }
                        if key % 501 == 0 {
                            limiter.evict_idle_step(20);
                        }
                    }
                });
            }
            for _ in 0..200 {
                ticker.advance(Duration::from_millis(100));
                thread::yield_now();
            }
        });
        ticker.advance(Duration::from_secs(100));
        limiter.evict_idle();
        assert_eq!(limiter.tracked_keys(), 0);
        for key in 0..KEYS as u64 {
            assert!(
                !limiter.try_acquire(&(key + (1 << 60))).is_untracked(),
                "{key}"
            );
        }
        assert!(limiter.try_acquire(&(1 << 61)).is_untracked());
    }
}

/// A handle decides as the limiter does, and sees what others do meanwhile.
#[test]
fn a_pinned_handle_decides_as_its_limiter() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, limit("5/10s"), 0);
        let mut pinned = limiter.pin();
        for time in 0..500 {
            let key = time % 3;
            let expected = limiter.peek(&key);
            let decision = pinned.try_acquire(&key);
            assert_eq!(decision.is_allowed(), expected.is_allowed(), "{time}");
            if time % 50 == 0 {
                ticker.advance(Duration::from_secs(30));
                assert!(limiter.evict_idle() > 0);
            }
            if time % 70 == 0 {
                pinned.limiter().reset(&key);
            }
        }
    }
    for_every_algorithm!(check);
}
