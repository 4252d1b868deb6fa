//! The operations that every algorithm shares, from outside.

#[macro_use]
mod support;

use std::time::Duration;

use support::*;
use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Decision, Limit, ManualTicker, RateLimiter, Standing, Ticker,
    UnkeyedLimiter, Verdict,
};

/// Five permits in ten seconds, which every algorithm keeps.
fn five() -> Limit {
    limit("5/10s")
}

#[test]
fn a_peek_answers_what_a_request_would_and_tells_what_is_left_before_it() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), 0);
        let mut numbers = Numbers(1);
        for _ in 0..200 {
            ticker.advance(ns(numbers.below(5) * S));
            let cost = numbers.below(7);
            let (seen, left) = (limiter.peek_n(KEY, cost), limiter.peek_n(KEY, 0));
            assert_eq!(seen.standing(), left.standing());
            let answer = limiter.try_acquire_n(KEY, cost);
            assert_eq!(seen.verdict(), answer.verdict());
            assert_eq!((seen.cost(), seen.reading()), (cost, answer.reading()));
            let spent = if answer.is_allowed() { cost } else { 0 };
            assert_eq!(answer.remaining(), seen.remaining() - spent);
            assert_eq!(limiter.peek(KEY).standing(), answer.standing());
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn what_spends_nothing_begins_no_key() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, five(), 3);
        let mut each = [limiter.peek(KEY); 2];
        for cost in [0, 1, 5, 6, u64::MAX] {
            assert_eq!(limiter.peek_n(KEY, cost).remaining(), 5);
            assert_eq!(limiter.peek_each(KEY, cost, &mut each).0.remaining(), 5);
        }
        for cost in [0, 6, u64::MAX] {
            assert_eq!(limiter.try_acquire_n(KEY, cost).remaining(), 5);
            assert_eq!(limiter.try_acquire_each(KEY, cost, &mut each).1, 1);
        }
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        limiter.reset(KEY);
        assert_eq!(limiter.tracked_keys(), 0);
        let _ = limiter.try_acquire(KEY);
        assert_eq!(limiter.tracked_keys(), 1);
    }
    for_every_algorithm!(check);
}

#[test]
fn a_cost_of_zero_is_always_allowed() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), S);
        let mut each = [limiter.peek(KEY)];
        // Before the key is begun, when it is full, when it is empty, when the clock steps back.
        for (now, cost) in [(9 * S, 0), (9 * S, 5), (9 * S, 5), (2 * S, 5), (0, 5)] {
            ticker.set(now);
            let _ = limiter.try_acquire_n(KEY, cost);
            for answer in [
                limiter.try_acquire_n(KEY, 0),
                limiter.peek_n(KEY, 0),
                limiter.try_acquire_each(KEY, 0, &mut each).0,
                each[0],
            ] {
                assert!(answer.is_allowed(), "at {now}");
                assert_eq!((answer.cost(), answer.spent()), (0, 0));
            }
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_denied_request_spends_nothing_however_often_it_is_made() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), 0);
        let _ = limiter.try_acquire_n(KEY, 4);
        let before = limiter.peek_n(KEY, 2);
        for _ in 0..100 {
            assert_eq!(limiter.try_acquire_n(KEY, 2), before);
            assert!(limiter.try_acquire_n(KEY, 6).is_never());
        }
        let _ = tight(&limiter, &ticker, 2);
        assert_eq!(admitted(&limiter, 9), 1);
    }
    for_every_algorithm!(check);
}

#[test]
fn each_key_is_limited_by_itself() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, five(), 0);
        for key in 0..100 {
            assert_eq!(limiter.try_acquire_n(&key, 5).remaining(), 0);
            assert!(limiter.try_acquire(&key).is_denied());
        }
        limiter.reset(&17);
        assert_eq!(limiter.tracked_keys(), 99);
        for key in 0..100 {
            assert_eq!(limiter.peek(&key).is_allowed(), key == 17);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn the_parts_of_a_decision_agree() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), S);
        ticker.set(3 * S);
        let allowed = limiter.try_acquire_n(KEY, 4);
        let denied = limiter.try_acquire_n(KEY, 2);
        let never = limiter.try_acquire_n(KEY, 6);
        let flags = |d: Decision| (d.is_allowed(), d.is_denied(), d.is_never());
        assert_eq!(flags(allowed), (true, false, false));
        assert_eq!(flags(denied), (false, true, false));
        assert_eq!(flags(never), (false, true, true));
        assert_eq!(allowed.verdict(), Verdict::Allowed);
        assert_eq!(never.verdict(), Verdict::Never);
        assert_eq!((allowed.retry_after(), never.retry_after()), (None, None));
        assert_eq!(denied.retry_after(), Some(ns(wait(denied))));
        for (decision, cost) in [(allowed, 4), (denied, 2), (never, 6)] {
            assert_eq!((decision.cost(), decision.reading()), (cost, 3 * S));
            assert_eq!((decision.remaining(), decision.limit()), (1, 0));
            let Standing {
                remaining,
                next_permit_after,
                reset_after,
            } = decision.standing();
            assert_eq!(decision.remaining(), remaining);
            assert_eq!(decision.next_permit_after(), ns(next_permit_after));
            assert_eq!(decision.reset_after(), ns(reset_after));
            let (verdict, copy) = (decision.verdict(), decision);
            let made = Decision::new(verdict, 0, cost, 3 * S, decision.standing());
            assert_eq!(made, copy);
        }
        assert_eq!([allowed, denied, never].map(|d| d.spent()), [4, 0, 0]);
        let seen = limiter.peek(KEY);
        assert!(seen.is_allowed());
        assert_eq!((seen.spent(), seen.cost()), (0, 1));
        assert_ne!(allowed.unspent(), allowed);
        assert_eq!(seen.unspent(), seen);
    }
    for_every_algorithm!(check);
}

#[test]
fn each_limit_of_one_is_the_whole() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, five(), 0);
        let blank = Decision::new(Verdict::Never, 9, 9, 9, limiter.peek(KEY).standing());
        for cost in [2, 3, 1, 0, 6] {
            let mut each = [blank; 2];
            let (seen, limits) = limiter.peek_each(KEY, cost, &mut each);
            assert_eq!(
                (seen, limits, each),
                (limiter.peek_n(KEY, cost), 1, [seen, blank])
            );
            let (answer, limits) = limiter.try_acquire_each(KEY, cost, &mut each);
            assert_eq!((answer.verdict(), limits), (seen.verdict(), 1));
            assert_eq!(each, [answer, blank]);
            assert_eq!(limiter.try_acquire_each(KEY, 0, &mut []).1, 1);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_refund_of_a_peek_gives_back_nothing() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, five(), 0);
        let _ = limiter.try_acquire_n(KEY, 3);
        let mut each = [limiter.peek_n(KEY, 2)];
        let (seen, _) = limiter.peek_each(KEY, 2, &mut each);
        for peek in [limiter.peek_n(KEY, 2), seen, each[0]] {
            limiter.refund(KEY, peek);
            assert_eq!(limiter.peek(KEY).remaining(), 2);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn what_concerns_an_unknown_key_does_nothing() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (limiter, _, _) = switched(algorithm, five(), 0);
        let spent = limiter.try_acquire_n(KEY, 2);
        limiter.refund(&8, spent);
        limiter.reset(&8);
        limiter.refresh(&8);
        assert_eq!(limiter.tracked_keys(), 1);
        assert_eq!(
            (limiter.peek(KEY).remaining(), limiter.peek(&8).remaining()),
            (3, 5)
        );
    }
    for_every_algorithm!(check);
}

#[test]
fn eviction_forgets_the_idle_keys_and_only_those() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), 0);
        for key in 0..1_000 {
            let _ = limiter.try_acquire_n(&key, 1 + key % 5);
        }
        assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1_000));
        ticker.set(30 * S);
        for key in (0..1_000).step_by(4) {
            assert_eq!(limiter.try_acquire(&key).remaining(), 4);
        }
        assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (750, 250));
        assert_eq!(limiter.evict_idle(), 0);
        for key in 0..1_000 {
            let left = if key % 4 == 0 { 4 } else { 5 };
            assert_eq!(limiter.peek(&key).remaining(), left);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_key_that_was_evicted_mints_nothing_when_the_clock_steps_back() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, five(), 0);
        ticker.set(S);
        assert_eq!(admitted(&limiter, 9), 5);
        let idle = S + limiter.peek(KEY).standing().reset_after;
        ticker.set(idle);
        assert_eq!(limiter.evict_idle(), 1);
        ticker.set(S);
        let back = admitted(&limiter, 9);
        ticker.set(idle);
        assert_eq!(
            back + admitted(&limiter, 9),
            5,
            "{back} when it had stepped back"
        );
    }
    for_every_algorithm!(check);
}

/// A time that two threads may read two seconds apart.
struct Vague(ManualTicker);

impl Ticker for Vague {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn disagreement(&self) -> u64 {
        2 * S
    }
}

#[test]
fn a_key_is_forgotten_only_when_it_has_been_idle_for_longer_than_readings_disagree() {
    fn check(algorithm: impl Algorithm) {
        let ticker = ManualTicker::new(S);
        let limiter = RateLimiter::<u64>::builder(five())
            .algorithm(algorithm)
            .ticker(Vague(ticker.clone()))
            .build()
            .expect("a limit that it keeps");
        let idle = S + limiter.try_acquire(KEY).standing().reset_after;
        for (now, evicted) in [(idle, 0), (idle + 2 * S - 1, 0), (idle + 2 * S + 1, 1)] {
            ticker.set(now);
            assert_eq!(limiter.evict_idle(), evicted, "at {now}");
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn in_real_time_a_limiter_admits_and_denies() {
    let limiter = RateLimiter::<String>::new(Limit::per_day(2)).expect("a limit");
    let unkeyed = UnkeyedLimiter::new(Limit::per_day(2)).expect("a limit");
    for left in [1, 0] {
        assert_eq!(limiter.try_acquire("ada").remaining(), left);
        assert_eq!(unkeyed.try_acquire().remaining(), left);
    }
    assert!(limiter.try_acquire("ada").retry_after() > Some(Duration::from_secs(43_000)));
    assert!(unkeyed.try_acquire().retry_after() > Some(Duration::from_secs(43_000)));
}

#[test]
fn a_refused_limit_fails_the_building_and_nothing_else() {
    assert!(RateLimiter::<u64>::new(limit("1G/ns")).is_err());
    assert!(UnkeyedLimiter::new(limit("1G/ns")).is_err());
    assert!(UnkeyedLimiter::new([five(), five()]).is_err());
    for any in [
        AnyAlgorithm::FixedWindow,
        AnyAlgorithm::SlidingLog,
        AnyAlgorithm::SlidingCounter,
    ] {
        assert!(any.plan(limit("5/s burst 9")).is_err(), "{any}");
        assert!(any.plan([five(), five()]).is_err(), "{any}");
    }
    let plan = AllOf.plan([limit("5/s"), limit("9/min")]).expect("a list");
    assert_eq!((plan.capacity(), plan.limits().len()), (5, 2));
}
