//! One limiter, built in another way: the same answers to the same questions.

#[macro_use]
mod support;

use support::*;
use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, FixedWindow, Limit, LimitSource, ManualTicker, Plan,
    RateLimiter, SlidingCounter, SlidingLog, Ticker, TokenBucket, UnkeyedLimiter,
};

/// Five permits in ten seconds, which every algorithm keeps.
fn five() -> Limit {
    limit("5/10s")
}

/// The same operations put to two limiters give the same answers.
fn agree<A: Algorithm, B: Algorithm, L: LimitSource>(
    one: (&RateLimiter<u64, A, ManualTicker, L>, &ManualTicker),
    other: (&RateLimiter<u64, B, ManualTicker, L>, &ManualTicker),
    mut refresh: impl FnMut(u64),
) {
    let (one, other, tickers) = (one.0, other.0, [one.1, other.1]);
    let mut numbers = Numbers(7);
    let mut last = one.peek(KEY);
    for _ in 0..2_000 {
        let (key, cost) = (numbers.below(3), numbers.below(7));
        match numbers.below(12) {
            0..=5 => {
                last = one.try_acquire_n(&key, cost);
                assert_eq!(other.try_acquire_n(&key, cost), last);
            }
            6 => assert_eq!(one.peek_n(&key, cost), other.peek_n(&key, cost)),
            7 => {
                let (mut each, mut other_each) = ([last; 3], [last; 3]);
                assert_eq!(
                    one.try_acquire_each(&key, cost, &mut each),
                    other.try_acquire_each(&key, cost, &mut other_each)
                );
                let _ = one.peek_each(&key, cost, &mut each[..1]);
                let _ = other.peek_each(&key, cost, &mut other_each[..1]);
                assert_eq!(each, other_each);
            }
            8 => {
                one.refund(&key, last);
                other.refund(&key, last);
            }
            9 => assert_eq!(one.evict_idle(), other.evict_idle()),
            10 => refresh(numbers.below(2)),
            _ => {
                one.reset(&key);
                other.reset(&key);
            }
        }
        let step = numbers.below(12 * S);
        for ticker in tickers {
            let now = ticker.now();
            ticker.set(if step > 9 * S {
                now.saturating_sub(step)
            } else {
                now + step
            });
        }
        assert_eq!(one.tracked_keys(), other.tracked_keys());
    }
}

#[test]
fn an_algorithm_chosen_at_run_time_answers_as_the_type_does() {
    fn check<A: Algorithm + Copy>(algorithm: A, any: AnyAlgorithm) {
        let (one, ticker, limits) = switched(algorithm, five(), 5 * S);
        let (other, clock, any_limits) = switched(any, five(), 5 * S);
        agree((&one, &ticker), (&other, &clock), |choice| {
            let limit = [limit("6/10s"), limit("4/7s")][choice as usize];
            limits.to(limit);
            any_limits.to(limit);
            one.refresh_all();
            other.refresh_all();
        });
    }
    check(TokenBucket, AnyAlgorithm::TokenBucket);
    check(FixedWindow, AnyAlgorithm::FixedWindow);
    check(SlidingLog, AnyAlgorithm::SlidingLog);
    check(SlidingCounter, AnyAlgorithm::SlidingCounter);
    check(AllOf, AnyAlgorithm::AllOf);
}

#[test]
fn a_limit_from_a_function_is_kept_as_one_for_all_is() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (one, ticker) = built(algorithm, five(), 5 * S);
        let (by_plan, clock, _) = switched(algorithm, five(), 5 * S);
        let mut numbers = Numbers(3);
        for _ in 0..500 {
            let (key, cost) = (numbers.below(3), numbers.below(7));
            assert_eq!(
                one.try_acquire_n(&key, cost),
                by_plan.try_acquire_n(&key, cost)
            );
            by_plan.refresh_all();
            if cost == 6 {
                assert_eq!(one.evict_idle(), by_plan.evict_idle());
            }
            let step = ns(numbers.below(6 * S));
            ticker.advance(step);
            clock.advance(step);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_limiter_without_keys_answers_as_one_with_a_single_key() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (keyed, ticker) = built(algorithm, five(), 5 * S);
        let plan: Plan<_> = algorithm.plan(five()).expect("a limit that it keeps");
        let unkeyed = UnkeyedLimiter::from_plan(plan, ticker.clone());
        let mut numbers = Numbers(5);
        let mut last = unkeyed.peek();
        for _ in 0..2_000 {
            let cost = numbers.below(7);
            match numbers.below(8) {
                0..=3 => {
                    last = unkeyed.try_acquire_n(cost);
                    assert_eq!(keyed.try_acquire_n(KEY, cost), last);
                }
                4 => {
                    let mut each = [[last; 2]; 2];
                    assert_eq!(
                        unkeyed.try_acquire_each(cost, &mut each[0]),
                        keyed.try_acquire_each(KEY, cost, &mut each[1])
                    );
                    assert_eq!(each[0], each[1]);
                    assert_eq!(unkeyed.peek_each(cost, &mut each[0]).1, 1);
                    // What was only looked at gives back nothing.
                    unkeyed.refund(each[0][0]);
                    unkeyed.refund(unkeyed.peek_n(cost));
                }
                5 => {
                    unkeyed.refund(last);
                    keyed.refund(KEY, last);
                }
                6 => assert_eq!(unkeyed.try_acquire(), keyed.try_acquire(KEY)),
                _ if cost == 0 => {
                    unkeyed.reset();
                    keyed.reset(KEY);
                }
                _ => {}
            }
            assert_eq!(unkeyed.peek_n(cost), keyed.peek_n(KEY, cost));
            let (now, step) = (ticker.now(), numbers.below(7 * S));
            ticker.set(if step > 6 * S {
                now.saturating_sub(step)
            } else {
                now + step
            });
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn a_key_may_change_from_one_algorithm_to_another() {
    for from in AnyAlgorithm::ALL {
        for to in AnyAlgorithm::ALL {
            let plans = [from, to].map(|any| any.plan(five()).expect("a limit that it keeps"));
            let ticker = ManualTicker::new(5 * S);
            let second = ManualTicker::new(0);
            let limiter = RateLimiter::by_plan({
                let second = second.clone();
                move |_: &u64| plans[second.now() as usize].clone()
            })
            .ticker(ticker)
            .build()
            .expect("accepted plans");
            let _ = limiter.try_acquire_n(KEY, 2);
            second.set(1);
            limiter.refresh(KEY);
            assert_eq!(limiter.peek(KEY).remaining(), 3, "{from} to {to}");
            assert_eq!(limiter.try_acquire_n(KEY, 3).remaining(), 0);
            assert!(limiter.try_acquire(KEY).is_denied());
        }
    }
}
