//! The token bucket, from outside: B at once, then N per period.

mod support;

use proptest::prelude::*;
use support::*;
use tollgate::{Gcra, Limit, Ticker, TokenBucket};

#[test]
fn seven_requests_at_one_instant_are_answered_as_the_contract_says() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    for left in [4, 3, 2, 1, 0] {
        assert_eq!(limiter.try_acquire(KEY).remaining(), left);
    }
    for _ in 0..2 {
        assert_eq!(wait(limiter.try_acquire(KEY)), 200 * MS);
    }
    ticker.set(200 * MS);
    let later = limiter.try_acquire(KEY);
    assert!(later.is_allowed());
    assert_eq!(later.remaining(), 0);
    assert_eq!(limiter.try_acquire(&8).remaining(), 4, "another key");
}

#[test]
fn a_full_bucket_holds_exactly_its_burst_in_any_mix_of_costs() {
    for text in [
        "5/s",
        "3/s burst 7",
        "100/min burst 1",
        "10/30d",
        "1GiB/s",
        "7/7ns",
    ] {
        let limit = limit(text);
        let (limiter, _) = built(TokenBucket, limit, 12_345);
        let (mut left, mut cost) = (limit.burst(), 1);
        while left > 0 {
            let spent = limiter.try_acquire_n(KEY, cost);
            assert!(spent.is_allowed(), "{cost} of {left} at {text}");
            left -= cost;
            assert_eq!(spent.remaining(), left);
            cost = (cost * 3).min(left);
        }
        assert!(limiter.try_acquire(KEY).is_denied(), "{text}");
    }
}

#[test]
fn the_worst_period_brings_a_burst_and_the_refill_but_one() {
    assert_eq!(attack(TokenBucket, Limit::per_minute(100)), (599, 199));
}

#[test]
fn a_burst_and_permits_that_sum_to_n_and_one_keep_n_in_any_period() {
    let (_, most) = attack(TokenBucket, Limit::per_minute(60).with_burst(41));
    assert_eq!(most, 100);
}

#[test]
fn the_rate_is_kept_for_thirty_years_with_nothing_accumulating() {
    for text in [
        "7/s",
        "3/min",
        "1/30d",
        "1GiB/s burst 100",
        "10000000000/s burst 30",
    ] {
        let limit = limit(text);
        let (limiter, ticker) = built(TokenBucket, limit, 987_654_321);
        let period = limit.period_ns();
        let last = 27 * 365 * DAY / period;
        // Whole periods from the building, where what has flowed in is a whole number of permits.
        for periods in [0, 1, 7.min(last), last] {
            let then = 987_654_321 + periods * period;
            ticker.set(then);
            limiter.reset(KEY);
            assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());
            for permit in 1..=20_u64 {
                let due = u128::from(permit) * u128::from(period);
                let due = due.div_ceil(u128::from(limit.permits())) as u64;
                ticker.set(then + due - 1);
                assert!(limiter.try_acquire(KEY).is_denied(), "{text}: {permit}");
                ticker.set(then + due);
                assert!(limiter.try_acquire(KEY).is_allowed(), "{text}: {permit}");
            }
        }
    }
}

#[test]
fn a_wait_is_exact_for_every_cost() {
    for text in [
        "5/s",
        "7/s",
        "3/min burst 10",
        "10/30d",
        "1GiB/s",
        "9/7ns",
        "2/5d burst 3",
    ] {
        let limit = limit(text);
        let (limiter, ticker) = built(TokenBucket, limit, 3);
        assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());
        for elapsed in [3, 4, limit.period_ns() / 3 + 5] {
            ticker.set(elapsed);
            for cost in [1, 2, 3, limit.burst() / 2, limit.burst()] {
                let _ = tight(&limiter, &ticker, cost.clamp(1, limit.burst()));
            }
        }
    }
}

#[test]
fn a_cost_above_the_burst_is_never_allowed_even_if_a_period_brings_as_much() {
    let (limiter, _) = built(TokenBucket, Limit::per_second(5).with_burst(3), 0);
    let never = limiter.try_acquire_n(KEY, 4);
    assert!(never.is_never() && never.is_denied());
    assert_eq!((never.retry_after(), never.remaining()), (None, 3));
    assert!(
        limiter.try_acquire_n(KEY, 3).is_allowed(),
        "nothing was spent"
    );
    assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
}

#[test]
fn a_burst_above_the_permits_is_there_at_once() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(2).with_burst(10), 0);
    assert_eq!(limiter.try_acquire_n(KEY, 10).remaining(), 0);
    assert_eq!(tight(&limiter, &ticker, 10).reset_after(), ns(5 * S));
}

#[test]
fn a_cost_of_zero_tells_what_is_left() {
    let (limiter, _) = built(TokenBucket, Limit::per_second(5), 0);
    for left in [3, 0] {
        let _ = limiter.try_acquire_n(KEY, limiter.peek(KEY).remaining() - left);
        let told = limiter.try_acquire_n(KEY, 0);
        assert!(told.is_allowed());
        assert_eq!(told.remaining(), left);
    }
}

#[test]
fn a_refund_gives_back_what_was_spent() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    let _ = limiter.try_acquire_n(KEY, 2);
    ticker.set(100 * MS);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 3);
    assert_eq!(
        tight(&limiter, &ticker, 4).retry_after(),
        Some(ns(100 * MS))
    );
}

#[test]
fn a_refund_never_makes_a_bucket_fuller_than_full() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    for (then, twice) in [(0, true), (500 * MS, false), (10 * S, false)] {
        ticker.set(then);
        limiter.refund(KEY, spent);
        if twice {
            limiter.refund(KEY, spent);
        }
        assert_eq!(limiter.peek(KEY).reset_after(), ns(0));
        assert_eq!(admitted(&limiter, 10), 5, "at {then}");
        ticker.advance(ns(S));
    }
}

#[test]
fn what_has_flowed_back_is_not_refunded_again() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    // Idle in between: the refund finds nothing that is owed.
    ticker.set(2 * S);
    limiter.refund(KEY, spent);
    let _ = limiter.try_acquire_n(KEY, 5);
    assert_eq!(wait(limiter.try_acquire(KEY)), 200 * MS);
}

#[test]
fn a_refund_at_an_older_reading_mints_nothing() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    ticker.set(S);
    let spent = limiter.try_acquire_n(KEY, 4);
    ticker.set(600 * MS);
    limiter.refund(KEY, spent);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        3,
        "as of 0.6 s two have not flowed in"
    );
    limiter.refund(KEY, spent);
    ticker.set(S);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_denial_refunds_nothing() {
    let (limiter, _) = built(TokenBucket, Limit::per_second(5), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    for refused in [limiter.try_acquire_n(KEY, 2), limiter.try_acquire_n(KEY, 6)] {
        limiter.refund(KEY, refused);
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
}

#[test]
fn a_reset_key_is_as_if_never_seen() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    ticker.set(S / 3);
    let unseen = limiter.peek_n(KEY, 2);
    let _ = limiter.try_acquire_n(KEY, 5);
    limiter.reset(KEY);
    assert_eq!(limiter.tracked_keys(), 0);
    assert_eq!(limiter.peek_n(KEY, 2), unseen);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_raised_limit_gives_its_extra_permits_at_once_and_forgets_no_debt() {
    let (limiter, ticker, limits) = switched(TokenBucket, Limit::per_second(5), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    limits.to(Limit::per_second(10));
    assert_eq!(limiter.peek(KEY).remaining(), 1, "not before the refresh");
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 6);
    assert_eq!(
        tight(&limiter, &ticker, 7).retry_after(),
        Some(ns(100 * MS))
    );
}

#[test]
fn a_lowered_limit_cuts_the_debt_to_its_burst() {
    let (limiter, ticker, limits) = switched(TokenBucket, Limit::per_second(10), 0);
    let _ = limiter.try_acquire_n(KEY, 9);
    limits.to(Limit::per_second(2).with_burst(4));
    limiter.refresh_all();
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 500 * MS);
    assert_eq!(limiter.peek(KEY).reset_after(), ns(2 * S));
}

#[test]
fn a_refresh_rounds_the_debt_up_to_whole_permits() {
    let (limiter, ticker, limits) = switched(TokenBucket, Limit::per_second(5), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(100 * MS); // Three and a half are owed.
    limits.to(Limit::per_minute(5));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 1);
    assert_eq!(limiter.peek(KEY).next_permit_after(), ns(12 * S));
}

#[test]
fn a_refresh_to_equal_limits_changes_nothing() {
    let (limiter, ticker, limits) = switched(TokenBucket, Limit::per_second(5), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(100 * MS);
    let before = limiter.peek(KEY);
    limits.to(Limit::per_second(5));
    limiter.refresh(KEY);
    limiter.refresh_all();
    assert_eq!(
        limiter.peek(KEY),
        before,
        "half a permit was not rounded away"
    );
}

#[test]
fn a_key_that_is_idle_is_refreshed_to_a_full_bucket() {
    let (limiter, ticker, limits) = switched(TokenBucket, Limit::per_second(5), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    ticker.set(S);
    limits.to(Limit::per_second(8));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).reset_after(), ns(0));
    assert_eq!(admitted(&limiter, 20), 8);
}

#[test]
fn a_clock_that_steps_back_only_denies_more_until_it_has_caught_up() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    ticker.set(10 * S);
    assert!(limiter.try_acquire_n(KEY, 4).is_allowed());
    ticker.set(10 * S - 200 * MS);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        0,
        "the fifth has yet to flow in"
    );
    ticker.set(5 * S);
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 5 * S);
    assert_eq!(admitted(&limiter, 10), 0);
    ticker.set(10 * S);
    assert_eq!(admitted(&limiter, 10), 1, "caught up, and nothing minted");
}

#[test]
fn a_reading_from_before_the_building_counts_as_the_building() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 10 * S);
    ticker.set(0);
    let first = limiter.try_acquire_n(KEY, 5);
    assert!(first.is_allowed());
    assert_eq!(first.reading(), 10 * S);
    assert_eq!(wait(limiter.try_acquire(KEY)), 200 * MS);
    ticker.set(10 * S + 200 * MS);
    assert_eq!(admitted(&limiter, 10), 1);
}

#[test]
fn at_the_end_of_time_the_bucket_stays_exact_or_denies() {
    for start in [0, S, u64::MAX - S, u64::MAX - 1, u64::MAX] {
        let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), start);
        for now in [start, u64::MAX - 1, u64::MAX, start] {
            ticker.set(now);
            let before = limiter.peek(KEY).remaining();
            assert_eq!(admitted(&limiter, 10) as u64, before, "{now} from {start}");
            let denied = limiter.try_acquire_n(KEY, 2);
            assert!(wait(denied) > 0);
            limiter.refund(KEY, denied);
            assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
        }
        assert!(limiter.evict_idle() <= 1);
    }
}

#[test]
fn past_thirty_years_time_stands_still_and_nothing_is_minted() {
    let (limiter, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    ticker.set(31 * 366 * DAY);
    assert_eq!(admitted(&limiter, 10), 5);
    ticker.set(u64::MAX);
    assert_eq!(admitted(&limiter, 10), 0);
    assert!(wait(limiter.try_acquire(KEY)) > 0);
}

#[test]
fn limits_that_cannot_be_kept_are_refused_with_the_reason() {
    assert_eq!(
        refusal(TokenBucket, limit("1G/ns")),
        "1000000000 permits per 1ns with a burst of 1000000000 cannot be counted for 30 years in \
         64 bits"
    );
    assert_eq!(
        refusal(TokenBucket, limit("1/d burst 1000000")),
        "a burst of 1000000 takes 2737 years to fill: with 30 years of running, that is too long to be \
         counted in nanoseconds (up to 260 years always can)"
    );
    let two = [Limit::per_second(1), Limit::per_minute(2)];
    assert_eq!(
        refusal(TokenBucket, two),
        "a token bucket cannot keep a list of 2 limits (AllOf keeps several)"
    );
    let none: [Limit; 0] = [];
    assert_eq!(
        refusal(TokenBucket, none),
        "a token bucket cannot keep a list of 0 limits"
    );
}

#[test]
fn the_limits_that_the_contract_names_are_kept() {
    for text in [
        "1/30d",
        "10000000000/s",
        "1TiB/min",
        "1/365d burst 200",
        "19/ns burst 1",
    ] {
        let (limiter, _) = built(TokenBucket, limit(text), 0);
        assert_eq!(
            limiter.try_acquire(KEY).remaining(),
            limit(text).burst() - 1
        );
    }
}

#[test]
fn a_bucket_is_evicted_from_the_nanosecond_on_at_which_it_is_full() {
    let (limiter, ticker) = built(TokenBucket, limit("3/s"), 0);
    let reset = limiter.try_acquire_n(KEY, 2).reset_after();
    ticker.set(reset.as_nanos() as u64 - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1));
    ticker.advance(ns(1));
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
    assert_eq!(admitted(&limiter, 10), 3);
}

#[test]
fn the_algorithm_is_one_under_both_names() {
    let (limiter, _): (Limiter<TokenBucket>, _) = built(Gcra::default(), limit("1/s"), 0);
    assert_eq!(admitted(&limiter, 2), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_interval_admits_more_than_burst_and_refill(
        permits in 1..12_u64,
        period in prop_oneof![1..40_u64, Just(S), Just(7 * S + 1)],
        burst in 1..9_u64,
        start in 0..3_u64,
        steps in prop::collection::vec((0..1_000_u64, 1..4_u64), 40),
    ) {
        let limit = Limit::new(permits, ns(period)).expect("positive").with_burst(burst);
        let (limiter, ticker) = built(TokenBucket, limit, start);
        let mut spent: Vec<(u64, u64)> = Vec::new();
        for (gap, cost) in steps {
            // Up to two periods on in a step; often not at all.
            ticker.advance(ns((u128::from(period) * u128::from(gap) / 500) as u64 * (gap % 3)));
            if limiter.try_acquire_n(KEY, cost).is_allowed() {
                spent.push((ticker.now(), cost));
            }
        }
        for (from, (begin, _)) in spent.iter().enumerate() {
            let mut sum = 0;
            for (end, cost) in &spent[from..] {
                sum += cost;
                let refill = u128::from(permits) * u128::from(end - begin + 1);
                let most = u128::from(burst) * u128::from(period) + refill;
                prop_assert!(u128::from(sum) * u128::from(period) <= most);
            }
        }
    }
}
