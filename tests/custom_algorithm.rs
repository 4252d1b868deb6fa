//! Algorithms from outside the crate: one whose numbers are one word, and one that is written
//! against the whole trait.

mod support;

#[path = "custom_algorithm/overgrown.rs"]
mod overgrown;
#[path = "custom_algorithm/plain_log.rs"]
mod plain_log;
#[path = "custom_algorithm/spree.rs"]
mod spree;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use overgrown::Overgrown;
use plain_log::PlainLog;
use spree::{Model, Spree};
use support::*;
use tollgate::{
    Algorithm, Decision, LimitError, LimitSource, ManualTicker, OneWord, RateLimiter, SlidingLog,
    Ticker, UnkeyedLimiter, try_acquire_all,
};

/// Whatever the algorithm: how many requests pass until one is denied.
fn until_denied<A: Algorithm, L: LimitSource>(
    limiter: &RateLimiter<u64, A, ManualTicker, L>,
    key: u64,
) -> usize {
    (0..1_000)
        .take_while(|_| limiter.try_acquire(&key).is_allowed())
        .count()
}

#[test]
fn a_word_of_its_own_layout_decides_as_its_plain_model() {
    let texts = ["3/s", "5/10s", "1/250ms"];
    let (limiter, ticker, limits) = switched(Spree, limit(texts[0]), 4 * S);
    let mut current = limit(texts[0]);
    let mut models: HashMap<u64, Model> = HashMap::new();
    let mut numbers = Numbers(11);
    let mut last: HashMap<u64, Decision> = HashMap::new();
    let (mut evicted, mut allowed) = (0, 0);
    for _ in 0..20_000 {
        let (key, cost) = (numbers.below(4), 1 + numbers.below(4));
        let now = ticker.now();
        match numbers.below(16) {
            0 => {
                let idle = |model: &mut Model| model.left(now) == current.permits();
                let before = models.len();
                models.retain(|_, model| !idle(model));
                assert_eq!(limiter.evict_idle(), before - models.len());
                evicted += before - models.len();
            }
            1 => {
                current = limit(texts[numbers.below(3) as usize]);
                limits.to(current);
                limiter.refresh_all();
                for model in models.values_mut() {
                    model.change(current);
                }
            }
            2 => {
                limiter.reset(&key);
                models.remove(&key);
                last.remove(&key);
            }
            3 => {
                if let (Some(model), Some(spent)) = (models.get_mut(&key), last.remove(&key)) {
                    limiter.refund(&key, spent);
                    model.refund(spent.cost());
                }
            }
            _ => {
                let mut fresh = Model::new(current);
                let model = models.get_mut(&key).unwrap_or(&mut fresh);
                let seen = limiter.peek_n(&key, cost);
                assert_eq!(seen.remaining(), model.left(now));
                let answer = limiter.try_acquire_n(&key, cost);
                assert_eq!(seen.verdict(), answer.verdict());
                match model.spend(now, cost) {
                    Ok(()) => {
                        assert!(answer.is_allowed());
                        allowed += 1;
                        last.insert(key, answer);
                        models.entry(key).or_insert(fresh);
                    }
                    Err(Some(retry_after)) => assert_eq!(wait(answer), retry_after),
                    Err(None) => assert!(answer.is_never()),
                }
                if let Some(model) = models.get_mut(&key) {
                    assert_eq!(answer.remaining(), model.left(now));
                    assert_eq!(answer.standing().reset_after, model.quiet_after(now));
                }
            }
        }
        assert_eq!(limiter.tracked_keys(), models.len());
        if numbers.below(3) == 0 {
            ticker.advance(ns(numbers.below(400 * MS)));
        }
    }
    assert!(
        evicted > 100 && allowed > 1_000,
        "{evicted} evicted, {allowed} allowed"
    );
}

#[test]
fn a_spree_ends_in_a_rest_that_is_exact() {
    let (limiter, ticker) = built(Spree, limit("3/s"), 0);
    let _ = limiter.try_acquire_n(KEY, 2);
    assert!(tight(&limiter, &ticker, 2).is_denied());
    ticker.set(900 * MS);
    assert_eq!(limiter.try_acquire(KEY).remaining(), 0);
    assert_eq!(wait(tight(&limiter, &ticker, 1)), S);
    assert!(limiter.try_acquire_n(KEY, 4).is_never());
}

#[test]
fn an_algorithm_from_outside_refuses_with_a_reason_of_its_own() {
    let why = "a spree is of at most 65535 permits, not 65536";
    assert_eq!(refusal(Spree, limit("65536/s")), why);
    assert_eq!(
        Spree.plan(limit("65536/s")).err(),
        Some(LimitError::Refused(why.to_owned()))
    );
    assert_eq!(
        refusal(PlainLog, [limit("1/s"), limit("2/s")]),
        "a plain log takes one limit"
    );
}

#[test]
fn an_algorithm_from_outside_is_evicted_refreshed_and_asked_with_others() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (limiter, ticker, limits) = switched(algorithm, limit("3/s"), 0);
        for key in 0..10 {
            assert_eq!(until_denied(&limiter, key), 3);
        }
        assert_eq!(limiter.evict_idle(), 0);
        limits.to(limit("5/s"));
        limiter.refresh_all();
        for key in 0..10 {
            assert_eq!(until_denied(&limiter, key), 2);
        }
        ticker.set(S);
        assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (10, 0));
        assert_eq!(until_denied(&limiter, 3), 5);

        let plan = algorithm.plan(limit("3/s")).expect("a limit that it keeps");
        let unkeyed = UnkeyedLimiter::from_plan(plan, ticker);
        assert!(try_acquire_all(&[&unkeyed.ask_n(3), &limiter.ask_n(&4, 5)]).is_allowed());
        assert!(try_acquire_all(&[&unkeyed.ask(), &limiter.ask(&5)]).is_denied());
        assert_eq!(until_denied(&limiter, 5), 5, "it was given back");
        unkeyed.reset();
        assert_eq!(unkeyed.try_acquire_n(3).remaining(), 0);
    }
    check(Spree);
    check(PlainLog);
}

#[test]
fn a_word_from_outside_is_never_taken_for_a_mark() {
    const LARGEST: u64 = Overgrown::LARGEST;
    assert_eq!(LARGEST, u64::MAX - 2);
    let (limiter, _, limits) = switched(Overgrown, limit("1/s"), 0);
    let word = || {
        assert_eq!(limiter.tracked_keys(), 1);
        limiter.peek(KEY).remaining()
    };
    for cost in [1, 2] {
        let spent = limiter.try_acquire_n(KEY, cost);
        assert_eq!((spent.remaining(), word()), (LARGEST, LARGEST));
        limiter.refund(KEY, spent);
        assert_eq!(word(), LARGEST);
        limits.to(limit(["2/s", "3/s"][cost as usize - 1]));
        limiter.refresh(KEY);
        assert_eq!(word(), LARGEST);
    }
    let plan = Overgrown.plan(limit("1/s")).expect("a limit");
    let unkeyed = UnkeyedLimiter::from_plan(plan, ManualTicker::new(0));
    assert_eq!(unkeyed.peek().remaining(), LARGEST, "fresh");
    unkeyed.reset();
    assert_eq!(unkeyed.peek().remaining(), LARGEST, "as fresh");
}

#[test]
fn a_state_that_is_no_word_decides_as_the_log_of_the_crate() {
    let (limiter, ticker, limits) = switched(PlainLog, limit("5/10s"), 4 * S);
    let (log, clock, log_limits) = switched(SlidingLog, limit("5/10s"), 4 * S);
    let mut numbers = Numbers(13);
    let mut last = log.peek_n(KEY, 0);
    for _ in 0..10_000 {
        let (key, cost) = (numbers.below(3), numbers.below(7));
        match numbers.below(12) {
            0 => assert_eq!(limiter.evict_idle(), log.evict_idle()),
            1 => {
                let limit = limit(["5/10s", "8/10s", "3/6s"][numbers.below(3) as usize]);
                limits.to(limit);
                log_limits.to(limit);
                limiter.refresh(&key);
                log.refresh(&key);
            }
            2 => {
                limiter.reset(&key);
                log.reset(&key);
            }
            3 => {
                limiter.refund(&key, last);
                log.refund(&key, last);
            }
            4 => assert_eq!(limiter.peek_n(&key, cost), log.peek_n(&key, cost)),
            _ => {
                last = log.try_acquire_n(&key, cost);
                assert_eq!(limiter.try_acquire_n(&key, cost), last);
            }
        }
        assert_eq!(limiter.tracked_keys(), log.tracked_keys());
        let step = ns(numbers.below(4 * S));
        ticker.advance(step);
        clock.advance(step);
    }
}

#[test]
fn threads_and_evictions_mint_nothing_on_a_state_from_outside() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, limit("50/s"), 0);
        let limiter = Arc::new(limiter);
        let (rounds, allowed) = (100, AtomicU64::new(0));
        for round in 0..rounds {
            ticker.set(round * S);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let count = (0..100).filter(|_| limiter.try_acquire(KEY).is_allowed());
                        allowed.fetch_add(count.count() as u64, Ordering::Relaxed);
                    });
                }
                scope.spawn(|| (0..50).for_each(|_| _ = limiter.evict_idle()));
            });
        }
        assert_eq!(allowed.into_inner(), rounds * 50);
    }
    check(Spree);
    check(PlainLog);
}
