//! The fixed window, from outside: N in each window of the ticker's clock.

mod support;

use support::*;
use tollgate::FixedWindow;

#[test]
fn a_window_admits_its_permits_and_no_more() {
    let (limiter, ticker) = built(FixedWindow, limit("100/min"), 0);
    for now in [0, 1, MINUTE / 2, MINUTE - 1] {
        ticker.set(now);
        let _ = limiter.try_acquire_n(KEY, 25);
    }
    assert_eq!(wait(limiter.try_acquire(KEY)), 1);
    ticker.set(MINUTE);
    assert_eq!(limiter.try_acquire(KEY).remaining(), 99);
}

#[test]
fn a_request_is_admitted_whole_or_not_at_all() {
    let (limiter, _) = built(FixedWindow, limit("10/s"), 0);
    assert_eq!(limiter.try_acquire_n(KEY, 7).remaining(), 3);
    let refused = limiter.try_acquire_n(KEY, 4);
    assert!(refused.is_denied());
    assert_eq!(refused.remaining(), 3, "nothing was spent");
    assert_eq!(limiter.try_acquire_n(KEY, 3).remaining(), 0);
}

#[test]
fn the_worst_moment_is_twice_the_permits_across_a_boundary() {
    let (limiter, ticker) = built(FixedWindow, limit("100/min"), 0);
    ticker.set(59 * S);
    assert_eq!(admitted(&limiter, 150), 100);
    ticker.set(60 * S + S / 2);
    assert_eq!(admitted(&limiter, 150), 100);
    assert_eq!(attack(FixedWindow, limit("100/min")), (600, 200));
}

#[test]
fn windows_start_at_multiples_of_the_period_whenever_the_limiter_was_built() {
    for start in [0, 90 * S, 119 * S + 1, 7 * DAY + 90 * S] {
        let (limiter, ticker) = built(FixedWindow, limit("2/min"), start);
        let spent = limiter.try_acquire_n(KEY, 2);
        let end = (start / MINUTE + 1) * MINUTE;
        assert_eq!(spent.reset_after(), ns(end - start));
        ticker.set(end - 1);
        assert!(limiter.try_acquire(KEY).is_denied());
        ticker.set(end);
        assert!(limiter.try_acquire(KEY).is_allowed());
    }
}

#[test]
fn a_wait_lasts_to_the_end_of_the_window_for_every_cost() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    ticker.set(3 * S + 1);
    let spent = limiter.try_acquire_n(KEY, 4);
    assert_eq!(spent.next_permit_after(), ns(7 * S - 1));
    for cost in [2, 5] {
        assert_eq!(wait(tight(&limiter, &ticker, cost)), 7 * S - 1);
    }
    assert!(tight(&limiter, &ticker, 1).is_allowed());
}

#[test]
fn a_full_window_waits_for_nothing() {
    let (limiter, _) = built(FixedWindow, limit("5/10s"), 3);
    let answer = limiter.peek(KEY);
    assert_eq!(answer.remaining(), 5);
    assert_eq!(
        (answer.next_permit_after(), answer.reset_after()),
        (ns(0), ns(0))
    );
}

#[test]
fn a_cost_above_the_permits_is_never_allowed() {
    let (limiter, _) = built(FixedWindow, limit("5/s"), 0);
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
    let (limiter, _) = built(FixedWindow, limit("5/s"), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    let told = limiter.try_acquire_n(KEY, 0);
    assert!(told.is_allowed());
    assert_eq!(told.remaining(), 0);
}

#[test]
fn a_refund_in_the_same_window_gives_back_what_was_spent() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    ticker.set(12 * S);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(20 * S - 1);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 5);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 5, "never fuller than full");
}

#[test]
fn a_refund_takes_off_only_its_own_permits() {
    let (limiter, _) = built(FixedWindow, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 2);
    let _ = limiter.try_acquire_n(KEY, 3);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 2);
}

#[test]
fn a_refund_from_another_window_is_nothing() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(10 * S);
    let _ = limiter.try_acquire_n(KEY, 3);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 2);
    ticker.set(0);
    limiter.refund(KEY, spent);
    ticker.set(10 * S);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        2,
        "nor when the clock has stepped back"
    );
}

#[test]
fn a_refund_after_the_key_was_idle_is_nothing() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 3);
    ticker.set(25 * S);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 5);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 0);
}

#[test]
fn a_refund_at_an_older_reading_finds_the_window_that_was_spent_in() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    ticker.set(15 * S);
    let _ = limiter.try_acquire_n(KEY, 3);
    ticker.set(5 * S);
    let late = limiter.try_acquire_n(KEY, 2);
    assert_eq!(
        late.reading(),
        10 * S,
        "judged at the start of the later window"
    );
    limiter.refund(KEY, late);
    ticker.set(15 * S);
    assert_eq!(limiter.peek(KEY).remaining(), 2);
}

#[test]
fn a_denial_refunds_nothing() {
    let (limiter, _) = built(FixedWindow, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    for refused in [limiter.try_acquire_n(KEY, 2), limiter.try_acquire_n(KEY, 6)] {
        limiter.refund(KEY, refused);
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
}

#[test]
fn a_reset_key_is_as_if_never_seen() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    ticker.set(17 * S);
    let unseen = limiter.peek_n(KEY, 2);
    let spent = limiter.try_acquire_n(KEY, 5);
    limiter.reset(KEY);
    assert_eq!(limiter.peek_n(KEY, 2), unseen);
    let _ = limiter.try_acquire_n(KEY, 1);
    limiter.refund(KEY, spent);
    assert_eq!(limiter.peek(KEY).remaining(), 5, "no fuller than full");
}

#[test]
fn a_refresh_with_the_same_period_keeps_the_count() {
    let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 0);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 4);
    limits.to(limit("10/10s"));
    assert_eq!(limiter.peek(KEY).remaining(), 1, "not before the refresh");
    limiter.refresh(KEY);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        6,
        "the extra permits are there at once"
    );
    assert_eq!(wait(tight(&limiter, &ticker, 7)), 8 * S);
}

#[test]
fn a_lowered_limit_cuts_the_count() {
    let (limiter, ticker, limits) = switched(FixedWindow, limit("10/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 9);
    limits.to(limit("3/10s"));
    limiter.refresh_all();
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 10 * S);
    limits.to(limit("10/10s"));
    limiter.refresh_all();
    assert_eq!(
        limiter.peek(KEY).remaining(),
        7,
        "three are left of the count"
    );
}

#[test]
fn a_count_of_another_width_survives_a_refresh() {
    let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 3 * S);
    ticker.set(34 * S);
    let _ = limiter.try_acquire_n(KEY, 5);
    for (text, left) in [("1000000/10s", 999_995), ("6/10s", 1), ("5/10s", 0)] {
        limits.to(limit(text));
        limiter.refresh(KEY);
        assert_eq!(limiter.peek(KEY).remaining(), left, "{text}");
        assert_eq!(limiter.peek(KEY).reset_after(), ns(6 * S));
    }
}

#[test]
fn a_refresh_to_another_period_brings_the_count_to_the_window_that_runs_now() {
    let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 0);
    ticker.set(12 * S);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(19 * S);
    limits.to(limit("6/min"));
    limiter.refresh(KEY);
    assert_eq!(limiter.peek(KEY).remaining(), 2);
    assert_eq!(wait(tight(&limiter, &ticker, 3)), 41 * S);
    limits.to(limit("2/7s"));
    limiter.refresh(KEY);
    assert_eq!(
        wait(tight(&limiter, &ticker, 1)),
        2 * S,
        "cut to two; a window ends at 21 s"
    );
}

#[test]
fn a_refresh_after_the_window_is_over_finds_the_key_new() {
    for text in ["6/min", "6/10s"] {
        let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 0);
        let _ = limiter.try_acquire_n(KEY, 5);
        ticker.set(10 * S);
        limits.to(limit(text));
        limiter.refresh(KEY);
        assert_eq!(limiter.peek(KEY).reset_after(), ns(0));
        assert_eq!(admitted(&limiter, 10), 6, "{text}");
    }
}

#[test]
fn a_refresh_with_the_same_period_keeps_the_count_of_a_window_that_is_over() {
    let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(10 * S);
    limits.to(limit("6/10s"));
    limiter.refresh(KEY);
    ticker.set(9 * S);
    assert_eq!(
        limiter.peek(KEY).remaining(),
        2,
        "should the clock step back"
    );
}

#[test]
fn a_refresh_while_the_clock_has_stepped_back_keeps_the_later_window() {
    for text in ["8/10s", "8/5s"] {
        let (limiter, ticker, limits) = switched(FixedWindow, limit("5/10s"), 0);
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
fn a_clock_that_steps_back_is_judged_in_the_latest_window() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    ticker.set(25 * S);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(4 * S);
    let last = limiter.try_acquire(KEY);
    assert!(last.is_allowed(), "one was left in that window");
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 26 * S);
    assert_eq!(limiter.evict_idle(), 0);
    ticker.set(30 * S - 1);
    assert!(limiter.try_acquire(KEY).is_denied());
    ticker.set(30 * S);
    assert_eq!(admitted(&limiter, 10), 5, "caught up");
}

#[test]
fn a_reading_from_before_the_building_counts_as_the_building() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 25 * S);
    ticker.set(S);
    let first = limiter.try_acquire_n(KEY, 5);
    assert_eq!((first.reading(), first.reset_after()), (25 * S, ns(5 * S)));
}

#[test]
fn at_the_end_of_time_a_window_stays_exact_or_denies() {
    for text in ["5/s", "5/h", "5/400d", "5/3650d"] {
        let limit = limit(text);
        for start in [0, 1, u64::MAX - S, u64::MAX] {
            let (limiter, ticker) = built(FixedWindow, limit, start);
            let mut last = start / limit.period_ns();
            assert_eq!(admitted(&limiter, 10), 5);
            for now in [u64::MAX - 1, start, u64::MAX] {
                ticker.set(now);
                let fresh = now / limit.period_ns() > last;
                last = last.max(now / limit.period_ns());
                assert_eq!(
                    admitted(&limiter, 10),
                    if fresh { 5 } else { 0 },
                    "{text} {start}"
                );
                assert!(wait(limiter.try_acquire_n(KEY, 2)) > 0);
                assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
                assert_eq!(limiter.evict_idle(), 0);
            }
        }
    }
}

#[test]
fn past_the_last_window_that_fits_nothing_is_minted() {
    // 34 bits of count leave 30 bits of window: 34 years of seconds.
    let (limiter, ticker) = built(FixedWindow, limit("10000000000/s"), 0);
    ticker.set(u64::MAX - 2 * S);
    assert!(limiter.try_acquire_n(KEY, 10_000_000_000).is_allowed());
    ticker.set(u64::MAX);
    assert!(limiter.try_acquire(KEY).is_denied());
    assert_eq!(limiter.evict_idle(), 0);
}

#[test]
fn a_burst_of_its_own_is_refused() {
    assert_eq!(
        refusal(FixedWindow, limit("5/s burst 6")),
        "a fixed window has no burst of its own: it allows 5 per period, and was given a burst \
         of 6"
    );
    let (limiter, _) = built(FixedWindow, limit("5/s burst 5"), 0);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_count_that_does_not_fit_beside_its_windows_is_refused() {
    // 30 years hold 946 728 000 seconds: 30 bits, and 34 are left.
    assert_eq!(
        refusal(FixedWindow, limit("17179869184/s")),
        "a fixed window needs 35 bits for its count and 30 for 30 years of windows, 65 in all, \
         and has 64"
    );
    let most = limit("17179869183/s");
    let (limiter, ticker) = built(FixedWindow, most, S / 2);
    for year in [0, 15, 29] {
        ticker.set(year * 365 * DAY + S / 2);
        assert!(limiter.try_acquire_n(KEY, most.permits()).is_allowed());
        assert_eq!(wait(limiter.try_acquire(KEY)), S / 2);
    }
}

#[test]
fn a_list_of_limits_is_refused() {
    assert_eq!(
        refusal(FixedWindow, [limit("5/s"), limit("9/min")]),
        "a fixed window cannot keep a list of 2 limits (AllOf keeps several)"
    );
}

#[test]
fn a_key_is_evicted_when_its_window_is_over_or_its_count_is_nothing() {
    let (limiter, ticker) = built(FixedWindow, limit("5/10s"), 0);
    let spent = limiter.try_acquire_n(KEY, 2);
    ticker.set(10 * S - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1));
    limiter.refund(KEY, spent);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
    let _ = limiter.try_acquire(KEY);
    ticker.set(10 * S);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
    assert_eq!(limiter.peek(KEY).remaining(), 5);
}
