//! The sliding log, from outside: N in any period, exactly.

mod support;

use proptest::prelude::*;
use support::*;
use tollgate::{Limit, SlidingLog, Ticker};

/// The same behaviour is asked of entries of one word and of two: a count and a period that fit in
/// 64 bits together, and one pair that does not. Both hold ten permits where the cost is `unit`.
fn narrow_and_wide(check: impl Fn(Limit, u64)) {
    check(limit("10/10s"), 1);
    check(limit("100000000000000000/10s"), 10_000_000_000_000_000);
}

#[test]
fn one_client_that_always_tries_gets_its_permits_in_every_period() {
    assert_eq!(attack(SlidingLog, limit("100/min")), (500, 100));
}

#[test]
fn a_permit_that_is_exactly_one_period_old_is_out() {
    let (limiter, ticker) = built(SlidingLog, limit("2/10s"), 3);
    assert_eq!(admitted(&limiter, 5), 2);
    ticker.set(10 * S + 2);
    assert_eq!(admitted(&limiter, 5), 0);
    ticker.set(10 * S + 3);
    assert_eq!(admitted(&limiter, 5), 2);
}

#[test]
fn a_wait_lasts_until_enough_of_the_oldest_have_aged_out() {
    narrow_and_wide(|limit, unit| {
        let (limiter, ticker) = built(SlidingLog, limit, 0);
        for (then, cost) in [(1, 2), (4 * S, 3), (5 * S, 1), (7 * S, 4)] {
            ticker.set(then);
            assert!(limiter.try_acquire_n(KEY, cost * unit).is_allowed());
        }
        let out = [
            (1, 10 * S + 1),
            (2, 10 * S + 1),
            (3, 14 * S),
            (5, 14 * S),
            (6, 15 * S),
            (7, 17 * S),
            (10, 17 * S),
        ];
        for now in [7 * S, 9 * S + 17] {
            ticker.set(now);
            for (cost, free) in out {
                assert_eq!(wait(tight(&limiter, &ticker, cost * unit)), free - now);
            }
        }
        assert_eq!(limiter.peek(KEY).next_permit_after(), ns(S - 16));
        assert_eq!(limiter.peek(KEY).reset_after(), ns(8 * S - 17));
    });
}

#[test]
fn a_request_is_admitted_whole_or_not_at_all() {
    narrow_and_wide(|limit, unit| {
        let (limiter, _) = built(SlidingLog, limit, 0);
        assert_eq!(limiter.try_acquire_n(KEY, 7 * unit).remaining(), 3 * unit);
        let refused = limiter.try_acquire_n(KEY, 3 * unit + 1);
        assert!(refused.is_denied());
        assert_eq!(refused.remaining(), 3 * unit);
        assert_eq!(limiter.try_acquire_n(KEY, 3 * unit).remaining(), 0);
    });
}

#[test]
fn a_log_that_runs_long_stays_exact() {
    narrow_and_wide(|limit, unit| {
        let (limiter, ticker) = built(SlidingLog, limit, 0);
        // One unit a second is just what the limit brings: the sums and times pass every range.
        for second in 0..2_000 {
            ticker.set(second * S);
            let spent = limiter.try_acquire_n(KEY, unit);
            assert!(spent.is_allowed());
            assert_eq!(spent.remaining(), (9_u64.saturating_sub(second)) * unit);
            assert_eq!(limiter.peek(KEY).remaining(), spent.remaining());
            if second >= 9 {
                assert_eq!(wait(limiter.try_acquire_n(KEY, unit)), S);
            }
        }
    });
}

#[test]
fn a_cost_above_the_permits_is_never_allowed() {
    let (limiter, _) = built(SlidingLog, limit("5/s"), 0);
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
    let (limiter, ticker) = built(SlidingLog, limit("5/s"), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    let told = limiter.try_acquire_n(KEY, 0);
    assert!(told.is_allowed());
    assert_eq!(told.remaining(), 0);
    ticker.set(S);
    assert_eq!(limiter.try_acquire_n(KEY, 0).remaining(), 5);
}

#[test]
fn a_refund_takes_off_the_newest_that_are_not_later_than_its_reading() {
    narrow_and_wide(|limit, unit| {
        let (limiter, ticker) = built(SlidingLog, limit, 0);
        let mut spent = Vec::new();
        for (then, cost) in [(S, 2), (2 * S, 3), (3 * S, 5)] {
            ticker.set(then);
            spent.push(limiter.try_acquire_n(KEY, cost * unit));
        }
        limiter.refund(KEY, spent[1]);
        assert_eq!(limiter.peek(KEY).remaining(), 3 * unit);
        assert_eq!(
            wait(tight(&limiter, &ticker, 5 * unit)),
            8 * S,
            "what was spent at 1 s"
        );
        limiter.refund(KEY, spent[0]);
        assert_eq!(
            wait(tight(&limiter, &ticker, 6 * unit)),
            10 * S,
            "what was spent at 3 s"
        );
        limiter.refund(KEY, spent[2]);
        assert_eq!(limiter.peek(KEY).reset_after(), ns(0));
        limiter.refund(KEY, spent[2]);
        assert_eq!(limiter.try_acquire_n(KEY, 10 * unit).remaining(), 0);
        assert!(
            limiter.try_acquire(KEY).is_denied(),
            "never fuller than full"
        );
    });
}

#[test]
fn a_refund_takes_no_more_off_than_was_spent() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 2);
    let spent = limiter.try_acquire_n(KEY, 2);
    limiter.refund(KEY, spent);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        3,
        "at one instant both are one entry"
    );
    assert_eq!(wait(tight(&limiter, &ticker, 4)), 10 * S);
}

#[test]
fn a_refund_of_what_has_aged_out_is_nothing() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(6 * S);
    let _ = limiter.try_acquire_n(KEY, 2);
    ticker.set(12 * S);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 3);
    let _ = limiter.try_acquire(KEY);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 2);
}

#[test]
fn a_refund_after_the_key_was_idle_is_nothing() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(30 * S);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 5);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 0);
}

#[test]
fn a_refund_at_an_older_reading_gives_back_what_was_spent() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    ticker.set(20 * S);
    let _ = limiter.try_acquire_n(KEY, 1);
    ticker.set(5 * S);
    let late = limiter.try_acquire_n(KEY, 3);
    assert_eq!(
        late.reading(),
        20 * S,
        "judged at the time of the newest entry"
    );
    limiter.refund(KEY, late);
    assert_eq!(limiter.peek(KEY).remaining(), 4);
    ticker.set(30 * S - 1);
    assert_eq!(admitted(&limiter, 10), 4);
}

#[test]
fn a_denial_refunds_nothing() {
    let (limiter, _) = built(SlidingLog, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    for refused in [limiter.try_acquire_n(KEY, 2), limiter.try_acquire_n(KEY, 6)] {
        limiter.refund(KEY, refused);
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
}

#[test]
fn a_reset_key_is_as_if_never_seen() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    ticker.set(17 * S);
    let unseen = limiter.peek_n(KEY, 2);
    let _ = limiter.try_acquire_n(KEY, 5);
    limiter.reset(KEY);
    assert_eq!(limiter.peek_n(KEY, 2), unseen);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_raised_limit_gives_its_extra_permits_at_once_and_keeps_every_entry() {
    let (limiter, ticker, limits) = switched(SlidingLog, limit("5/10s"), 0);
    for then in [S, 2 * S, 3 * S] {
        ticker.set(then);
        let _ = limiter.try_acquire(KEY);
    }
    // To entries of two words, and back.
    for (text, left) in [
        ("9/10s", 6),
        ("100000000000000000/10s", 99_999_999_999_999_997),
    ] {
        limits.to(limit(text));
        assert!(
            limiter.peek(KEY).remaining() < left,
            "not before the refresh"
        );
        limiter.refresh(KEY);
        assert_eq!(limiter.peek(KEY).remaining(), left);
    }
    limits.to(limit("4/10s"));
    limiter.refresh_all();
    assert_eq!(limiter.peek(KEY).remaining(), 1);
    for (cost, out) in [(2, 11), (3, 12), (4, 13)] {
        assert_eq!(wait(tight(&limiter, &ticker, cost)), (out - 3) * S);
    }
}

#[test]
fn a_lowered_limit_keeps_the_newest_permits() {
    let (limiter, ticker, limits) = switched(SlidingLog, limit("9/10s"), 0);
    for (then, cost) in [(S, 3), (2 * S, 3), (3 * S, 2)] {
        ticker.set(then);
        let _ = limiter.try_acquire_n(KEY, cost);
    }
    limits.to(limit("4/10s"));
    limiter.refresh(KEY);
    for (cost, out) in [(1, 12), (2, 12), (3, 13), (4, 13)] {
        assert_eq!(
            wait(tight(&limiter, &ticker, cost)),
            (out - 3) * S,
            "{cost}"
        );
    }
    limits.to(limit("9/10s"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 5, "four are left of eight");
}

#[test]
fn a_refresh_to_a_shorter_period_drops_what_is_older_than_it() {
    let (limiter, ticker, limits) = switched(SlidingLog, limit("5/10s"), 0);
    for then in [0, S, 2 * S] {
        ticker.set(then);
        let _ = limiter.try_acquire(KEY);
    }
    ticker.set(6 * S);
    limits.to(limit("5/5s"));
    limiter.refresh(KEY);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        4,
        "what is exactly 5 s old is out"
    );
    limits.to(limit("5/min"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 4, "and does not come back");
    assert_eq!(
        wait(tight(&limiter, &ticker, 5)),
        56 * S,
        "what was spent at 2 s"
    );
}

#[test]
fn a_refresh_to_a_longer_period_does_not_call_back_what_has_aged_out() {
    let (limiter, ticker, limits) = switched(SlidingLog, limit("5/10s"), 0);
    for then in [0, 8 * S] {
        ticker.set(then);
        let _ = limiter.try_acquire_n(KEY, 2);
    }
    ticker.set(10 * S);
    limits.to(limit("5/min"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 3);
    assert_eq!(wait(tight(&limiter, &ticker, 4)), 58 * S);
}

#[test]
fn a_clock_that_steps_back_is_judged_at_the_newest_entry() {
    let (limiter, ticker) = built(SlidingLog, limit("3/10s"), 0);
    ticker.set(2 * S);
    let _ = limiter.try_acquire(KEY);
    ticker.set(20 * S);
    let _ = limiter.try_acquire(KEY);
    ticker.set(3 * S);
    assert_eq!(
        admitted(&limiter, 10),
        2,
        "at 20 s, what was spent at 2 s is out"
    );
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 27 * S);
    assert_eq!(limiter.evict_idle(), 0);
    ticker.set(30 * S - 1);
    assert_eq!(admitted(&limiter, 10), 0);
    ticker.set(30 * S);
    assert_eq!(admitted(&limiter, 10), 3, "caught up");
}

#[test]
fn a_reading_from_before_the_building_counts_as_the_building() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 25 * S);
    ticker.set(S);
    let first = limiter.try_acquire_n(KEY, 5);
    assert_eq!((first.reading(), first.reset_after()), (25 * S, ns(10 * S)));
}

#[test]
fn at_the_end_of_time_the_log_stays_exact() {
    let longest = Limit::new(5, ns(u64::MAX)).expect("the longest period");
    for limit in [limit("5/s"), limit("5/400d"), longest] {
        for start in [0, 1, u64::MAX - S, u64::MAX] {
            let (limiter, ticker) = built(SlidingLog, limit, start);
            let mut newest = start;
            assert_eq!(admitted(&limiter, 10), 5);
            for now in [u64::MAX - 1, start, u64::MAX] {
                ticker.set(now);
                let out = now.saturating_sub(newest) >= limit.period_ns();
                newest = if out { now } else { newest };
                assert_eq!(
                    admitted(&limiter, 10),
                    if out { 5 } else { 0 },
                    "{limit} {start}"
                );
                assert!(wait(limiter.try_acquire_n(KEY, 2)) > 0);
                assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
                assert_eq!(limiter.evict_idle(), 0);
            }
        }
    }
    let (limiter, _) = built(
        SlidingLog,
        Limit::new(u64::MAX, ns(9)).expect("positive"),
        0,
    );
    assert_eq!(limiter.try_acquire_n(KEY, u64::MAX).remaining(), 0);
    assert_eq!(wait(limiter.try_acquire_n(KEY, u64::MAX)), 9);
}

#[test]
fn a_burst_of_its_own_and_a_list_are_refused() {
    assert_eq!(
        refusal(SlidingLog, limit("5/s burst 4")),
        "a sliding log has no burst of its own: it allows 5 per period, and was given a burst \
         of 4"
    );
    assert_eq!(
        refusal(SlidingLog, [limit("5/s"), limit("9/min")]),
        "a sliding log cannot keep a list of 2 limits (AllOf keeps several)"
    );
}

#[test]
fn a_key_is_evicted_when_its_newest_entry_is_one_period_old_or_none_is_held() {
    let (limiter, ticker) = built(SlidingLog, limit("5/10s"), 0);
    let _ = limiter.try_acquire(KEY);
    ticker.set(3 * S);
    let spent = limiter.try_acquire(KEY);
    ticker.set(13 * S - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1));
    limiter.refund(KEY, spent);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
    let _ = limiter.try_acquire(KEY);
    ticker.set(23 * S - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_period_holds_more_than_its_permits(
        permits in 1..9_u64,
        start in 0..3_u64,
        steps in prop::collection::vec((0..40_u64, 1..4_u64), 80),
    ) {
        const PERIOD: u64 = 100;
        let limit = Limit::new(permits, ns(PERIOD)).expect("positive");
        let (limiter, ticker) = built(SlidingLog, limit, start);
        let mut spent = Vec::new();
        for (gap, cost) in steps {
            ticker.advance(ns(gap));
            if limiter.try_acquire_n(KEY, cost).is_allowed() {
                spent.extend((0..cost).map(|_| ticker.now()));
            } else {
                let _ = tight(&limiter, &ticker, cost);
            }
        }
        prop_assert!(most_in_any(PERIOD, &spent) <= permits as usize);
    }
}
