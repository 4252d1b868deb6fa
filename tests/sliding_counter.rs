//! The sliding counter, from outside: two windows' counts, the older weighed by how much of it is
//! still in sight.

mod support;

use proptest::prelude::*;
use support::*;
use tollgate::{Limit, SlidingCounter, Ticker};

#[test]
fn one_client_that_always_tries_gets_as_much_as_the_contract_says() {
    assert_eq!(attack(SlidingCounter, limit("100/min")), (546, 149));
}

#[test]
fn the_worst_period_brings_twice_the_permits_but_one() {
    let (limiter, ticker) = built(SlidingCounter, limit("100/min"), 0);
    ticker.set(MINUTE - 1);
    assert_eq!(admitted(&limiter, 200), 100);
    ticker.set(2 * MINUTE - 2);
    assert_eq!(admitted(&limiter, 200), 99);
}

#[test]
fn even_traffic_is_admitted_as_the_limit_says() {
    let (limiter, ticker) = built(SlidingCounter, limit("60/min"), 0);
    let mut allowed = Vec::new();
    for second in 0..600 {
        ticker.set(second * S);
        if limiter.try_acquire(KEY).is_allowed() {
            allowed.push(ticker.now());
        }
    }
    assert!(allowed.len() >= 590, "{} of 600", allowed.len());
    assert!(most_in_any(MINUTE, &allowed) <= 60);
}

#[test]
fn one_window_never_holds_more_than_its_permits() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let mut last = 0;
    for window in 0..6 {
        let mut count = 0;
        for step in 0..100 {
            ticker.set(window * 10 * S + step * 100 * MS);
            count += admitted(&limiter, 3);
        }
        assert!(count <= 10 && count + last >= 10, "{count} after {last}");
        last = count;
    }
}

#[test]
fn the_last_window_weighs_as_much_as_is_in_sight() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 10);
    // After the window's start so many nanoseconds: so many permits.
    let free = [
        (0, 0),
        (S - 1, 0),
        (S, 1),
        (S + 1, 1),
        (5 * S, 5),
        (9 * S, 9),
        (10 * S - 1, 9),
    ];
    for (elapsed, left) in free {
        ticker.set(10 * S + elapsed);
        assert_eq!(limiter.peek(KEY).remaining(), left, "{elapsed}");
        assert!(limiter.peek_n(KEY, left + 1).is_denied());
        assert!(limiter.peek_n(KEY, left.max(1)).is_allowed() || left == 0);
    }
    ticker.set(20 * S);
    assert_eq!(limiter.peek(KEY).remaining(), 10);
}

#[test]
fn a_window_that_passed_empty_leaves_nothing_to_weigh() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    for then in [3 * S, 20 * S, 45 * S] {
        ticker.set(then);
        assert_eq!(limiter.try_acquire_n(KEY, 10).remaining(), 0);
    }
}

#[test]
fn a_wait_ends_in_this_window_the_next_or_at_the_start_of_the_one_after() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 10);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 2);
    for (cost, free) in [(1, 13), (3, 15), (7, 19), (8, 20), (9, 25), (10, 30)] {
        assert_eq!(
            wait(tight(&limiter, &ticker, cost)),
            (free - 12) * S,
            "{cost}"
        );
    }
    assert_eq!(limiter.peek(KEY).next_permit_after(), ns(S));
    assert_eq!(limiter.peek(KEY).reset_after(), ns(18 * S));
}

#[test]
fn the_figures_of_the_docs_hold() {
    let (limiter, ticker) = built(SlidingCounter, limit("60/min"), 0);
    let _ = limiter.try_acquire_n(KEY, 60);
    ticker.set(72 * S);
    assert!(limiter.try_acquire_n(KEY, 13).is_denied());
    assert_eq!(limiter.try_acquire_n(KEY, 12).remaining(), 0);
    assert_eq!(wait(tight(&limiter, &ticker, 1)), S);
}

#[test]
fn a_cost_above_the_permits_is_never_allowed() {
    let (limiter, _) = built(SlidingCounter, limit("5/s"), 0);
    let _ = limiter.try_acquire(KEY);
    for cost in [6, u64::MAX] {
        let never = limiter.try_acquire_n(KEY, cost);
        assert!(never.is_never());
        assert_eq!((never.retry_after(), never.remaining()), (None, 4));
    }
    assert!(limiter.try_acquire_n(KEY, 4).is_allowed());
}

#[test]
fn a_cost_of_zero_tells_what_is_left() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/s"), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    for (now, left) in [(0, 0), (S, 0), (S + S / 2, 2), (2 * S, 5)] {
        ticker.set(now);
        let told = limiter.try_acquire_n(KEY, 0);
        assert!(told.is_allowed());
        assert_eq!(told.remaining(), left);
    }
}

#[test]
fn a_refund_gives_back_to_the_window_that_was_spent_in() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let first = limiter.try_acquire_n(KEY, 6);
    ticker.set(12 * S);
    let second = limiter.try_acquire_n(KEY, 2);
    assert_eq!(second.remaining(), 3, "4.8 of the six weigh");
    limiter.refund(KEY, second);
    assert_eq!(limiter.peek(KEY).remaining(), 5);
    limiter.refund(KEY, first);
    assert_eq!(limiter.peek(KEY).remaining(), 10);
    limiter.refund(KEY, second);
    limiter.refund(KEY, first);
    assert_eq!(admitted(&limiter, 20), 10, "never fuller than full");
}

#[test]
fn a_refund_takes_off_only_its_own_permits() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    let spent = limiter.try_acquire_n(KEY, 4);
    ticker.set(10 * S);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 6);
}

#[test]
fn a_refund_from_a_window_further_back_is_nothing() {
    let (limiter, ticker) = built(SlidingCounter, limit("10/10s"), 0);
    let first = limiter.try_acquire_n(KEY, 6);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 2);
    ticker.set(20 * S);
    let _ = limiter.try_acquire_n(KEY, 3);
    limiter.refund(KEY, first);
    assert_eq!(limiter.peek(KEY).remaining(), 5);
}

#[test]
fn a_refund_after_the_key_was_idle_is_nothing() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(30 * S);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 5);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 0);
}

#[test]
fn a_refund_at_an_older_reading_gives_back_what_was_spent() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 0);
    ticker.set(25 * S);
    let _ = limiter.try_acquire_n(KEY, 1);
    ticker.set(4 * S);
    let late = limiter.try_acquire_n(KEY, 3);
    assert_eq!(
        late.reading(),
        20 * S,
        "judged at the start of the later window"
    );
    limiter.refund(KEY, late);
    ticker.set(29 * S);
    assert_eq!(admitted(&limiter, 10), 4);
}

#[test]
fn a_denial_refunds_nothing() {
    let (limiter, _) = built(SlidingCounter, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    for refused in [limiter.try_acquire_n(KEY, 2), limiter.try_acquire_n(KEY, 6)] {
        limiter.refund(KEY, refused);
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
}

#[test]
fn a_reset_key_is_as_if_never_seen() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    ticker.set(17 * S);
    let unseen = limiter.peek_n(&8, 2);
    let _ = limiter.try_acquire_n(KEY, 2);
    limiter.reset(KEY);
    assert_eq!(limiter.peek_n(KEY, 2), unseen);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_refresh_with_the_same_period_keeps_both_counts() {
    let (limiter, ticker, limits) = switched(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 6);
    ticker.set(15 * S);
    let _ = limiter.try_acquire_n(KEY, 4);
    limits.to(limit("20/10s"));
    assert_eq!(limiter.peek(KEY).remaining(), 3, "not before the refresh");
    limiter.refresh(KEY);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        13,
        "the extra permits are there at once"
    );
    ticker.set(12 * S);
    assert_eq!(limiter.peek(KEY).remaining(), 11, "4 and 4.8 weigh");
    let _ = tight(&limiter, &ticker, 12);
}

#[test]
fn a_lowered_limit_cuts_both_counts() {
    let (limiter, ticker, limits) = switched(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 6);
    ticker.set(19 * S);
    let _ = limiter.try_acquire_n(KEY, 9);
    limits.to(limit("3/10s"));
    limiter.refresh_all();
    assert_eq!(limiter.peek(KEY).remaining(), 0);
    ticker.set(20 * S);
    assert_eq!(
        wait(tight(&limiter, &ticker, 1)),
        3_333_333_334,
        "three weigh, not nine"
    );
    ticker.set(15 * S);
    limits.to(limit("10/10s"));
    limiter.refresh_all();
    assert_eq!(limiter.peek(KEY).remaining(), 5, "three, and half of three");
}

#[test]
fn a_refresh_to_another_period_brings_the_estimate_rounded_up() {
    let (limiter, ticker, limits) = switched(SlidingCounter, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 6);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 1); // And 4.8.
    limits.to(limit("20/min"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 14);
    assert_eq!(
        wait(tight(&limiter, &ticker, 15)),
        58 * S,
        "at 70 s five of six weigh"
    );
    limits.to(limit("4/5s"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 0);
    assert_eq!(
        wait(tight(&limiter, &ticker, 1)),
        4_250 * MS,
        "cut to four; a window from 15 s"
    );
}

#[test]
fn a_refresh_of_an_idle_key_finds_it_new() {
    for text in ["6/min", "6/10s"] {
        let (limiter, ticker, limits) = switched(SlidingCounter, limit("5/10s"), 0);
        let _ = limiter.try_acquire_n(KEY, 5);
        ticker.set(20 * S);
        limits.to(limit(text));
        limiter.refresh(KEY);
        assert_eq!(limiter.peek(KEY).reset_after(), ns(0));
        assert_eq!(admitted(&limiter, 10), 6, "{text}");
    }
}

#[test]
fn a_refresh_while_the_clock_has_stepped_back_keeps_the_later_window() {
    for text in ["8/10s", "8/5s"] {
        let (limiter, ticker, limits) = switched(SlidingCounter, limit("5/10s"), 0);
        ticker.set(25 * S);
        let _ = limiter.try_acquire_n(KEY, 5);
        ticker.set(2 * S);
        limits.to(limit(text));
        limiter.refresh(KEY);
        assert_eq!(limiter.peek(KEY).remaining(), 3, "{text}");
        ticker.set(20 * S);
        assert_eq!(limiter.peek(KEY).remaining(), 3, "{text}");
    }
}

#[test]
fn a_clock_that_steps_back_is_judged_at_the_start_of_the_latest_window() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 0);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 3);
    ticker.set(25 * S);
    assert_eq!(limiter.try_acquire(KEY).remaining(), 2);
    ticker.set(4 * S);
    assert_eq!(limiter.peek(KEY).remaining(), 1, "all of the three weigh");
    assert_eq!(wait(tight(&limiter, &ticker, 2)), 19_333_333_334);
    assert_eq!(admitted(&limiter, 10), 1);
    assert_eq!(limiter.evict_idle(), 0);
    ticker.set(25 * S);
    assert_eq!(admitted(&limiter, 10), 1, "caught up: two and 1.5 weigh");
    ticker.set(40 * S);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_reading_from_before_the_building_counts_as_the_building() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 25 * S);
    ticker.set(S);
    let first = limiter.try_acquire_n(KEY, 5);
    assert_eq!((first.reading(), first.reset_after()), (25 * S, ns(15 * S)));
}

#[test]
fn at_the_end_of_time_the_counter_stays_exact_or_denies() {
    let longest = Limit::new(5, ns(u64::MAX)).expect("the longest period");
    for limit in [limit("5/s"), limit("5/400d"), longest] {
        for start in [0, 1, u64::MAX - S, u64::MAX] {
            let (limiter, ticker) = built(SlidingCounter, limit, start);
            assert_eq!(admitted(&limiter, 10), 5);
            let mut last = start / limit.period_ns();
            for now in [u64::MAX - 1, start, u64::MAX] {
                ticker.set(now);
                let window = now / limit.period_ns();
                let got = admitted(&limiter, 10);
                assert!(window > last || got == 0, "{limit} from {start} at {now}");
                assert!(
                    window < last + 2 || got == 5,
                    "{limit} from {start} at {now}"
                );
                last = last.max(window);
                assert!(limiter.try_acquire_n(KEY, 5).is_denied());
                assert!(wait(limiter.try_acquire_n(KEY, 5)) > 0);
                assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
            }
        }
    }
}

#[test]
fn products_wider_than_a_word_are_exact() {
    let most = Limit::new(u64::MAX, ns(10 * S)).expect("positive");
    let (limiter, ticker) = built(SlidingCounter, most, 0);
    assert_eq!(limiter.try_acquire_n(KEY, u64::MAX).remaining(), 0);
    ticker.set(15 * S);
    assert_eq!(limiter.peek(KEY).remaining(), u64::MAX / 2);
    for cost in [u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX] {
        let _ = tight(&limiter, &ticker, cost);
    }
}

#[test]
fn a_burst_of_its_own_and_a_list_are_refused() {
    assert_eq!(
        refusal(SlidingCounter, limit("5/s burst 4")),
        "a sliding counter has no burst of its own: it allows 5 per period, and was given a \
         burst of 4"
    );
    assert_eq!(
        refusal(SlidingCounter, [limit("5/s"), limit("9/min")]),
        "a sliding counter cannot keep a list of 2 limits (AllOf keeps several)"
    );
}

#[test]
fn a_key_is_evicted_when_it_is_two_windows_on_or_both_counts_are_nothing() {
    let (limiter, ticker) = built(SlidingCounter, limit("5/10s"), 0);
    let first = limiter.try_acquire(KEY);
    ticker.set(20 * S - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1));
    let second = limiter.try_acquire(KEY);
    limiter.refund(KEY, second);
    assert_eq!(limiter.evict_idle(), 0, "the last window's count is left");
    limiter.refund(KEY, first);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
    let _ = limiter.try_acquire(KEY);
    ticker.set(30 * S);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_answer_is_exact_to_the_nanosecond(
        permits in 1..30_u64,
        period in prop_oneof![1..40_u64, Just(S), Just(7 * S + 1)],
        steps in prop::collection::vec((0..1_000_u64, 1..30_u64), 40),
    ) {
        let limit = Limit::new(permits, ns(period)).expect("positive");
        let (limiter, ticker) = built(SlidingCounter, limit, 0);
        for (gap, cost) in steps {
            ticker.advance(ns((u128::from(period) * u128::from(gap) / 700) as u64));
            let cost = cost.min(permits);
            let _ = tight(&limiter, &ticker, cost);
            let _ = limiter.try_acquire_n(KEY, cost);
        }
    }
}
