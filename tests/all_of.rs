//! `AllOf`, from outside: several token buckets on one key, all or none.

mod support;

use support::*;
use tollgate::{AllOf, Decision, Limit, Ticker, TokenBucket};

fn five_and_twenty() -> [Limit; 2] {
    [Limit::per_second(5), Limit::per_minute(20)]
}

/// How many of a request every 100 ms are allowed in each second of two minutes.
fn by_second(mut try_at: impl FnMut(u64) -> bool) -> Vec<usize> {
    (0..120)
        .map(|second| {
            let requests = (0..10).map(|tenth| second * S + tenth * 100 * MS);
            requests.filter(|time| try_at(*time)).count()
        })
        .collect()
}

#[test]
fn a_second_and_a_minute_together_admit_as_much_as_the_contract_says() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    let seconds = by_second(|time| {
        ticker.set(time);
        limiter.try_acquire(KEY).is_allowed()
    });
    assert_eq!(seconds[..6], [9, 5, 5, 2, 0, 0]);
    assert_eq!(seconds.iter().sum::<usize>(), 59);
}

#[test]
fn two_limiters_in_a_chain_lose_what_the_first_gave() {
    let (minute, clock) = built(TokenBucket, Limit::per_minute(20), 0);
    let (second, ticker) = built(TokenBucket, Limit::per_second(5), 0);
    let seconds = by_second(|time| {
        clock.set(time);
        ticker.set(time);
        minute.try_acquire(KEY).is_allowed() && second.try_acquire(KEY).is_allowed()
    });
    assert_eq!(seconds[..6], [9, 5, 0, 1, 0, 0]);
    assert_eq!(seconds.iter().sum::<usize>(), 53);
}

#[test]
fn a_request_spends_from_every_limit_or_from_none() {
    let (limiter, ticker) = built(AllOf, [limit("5/s"), limit("8/min"), limit("9/h")], 0);
    let mut each = [limiter.peek(KEY); 3];
    assert_eq!(limiter.try_acquire_each(KEY, 5, &mut each).0.remaining(), 0);
    assert_eq!(each.map(|own| own.remaining()), [0, 3, 4]);
    ticker.set(S);
    // The minute has brought 0.13 permits, so that it refuses four.
    let (denied, limits) = limiter.try_acquire_each(KEY, 4, &mut each);
    assert!(denied.is_denied());
    assert_eq!((denied.limit(), limits), (1, 3));
    assert_eq!(each.map(|own| own.is_allowed()), [true, false, true]);
    assert_eq!(
        each.map(|own| own.remaining()),
        [5, 3, 4],
        "nothing was spent"
    );
    assert_eq!(denied.remaining(), 3);
    assert_eq!(limiter.try_acquire_each(KEY, 3, &mut each).0.remaining(), 0);
    assert_eq!(each.map(|own| own.remaining()), [2, 0, 1]);
}

#[test]
fn the_longest_wait_of_those_that_refuse_is_told_with_its_limit() {
    let limits = [limit("6/s"), limit("4/min burst 6"), limit("6/min burst 9")];
    let (limiter, ticker) = built(AllOf, limits, 0);
    let _ = limiter.try_acquire_n(KEY, 6);
    let mut each = [limiter.peek(KEY); 3];
    let (denied, _) = limiter.peek_each(KEY, 4, &mut each);
    assert_eq!((denied.limit(), wait(denied)), (1, 60 * S));
    assert_eq!(each.map(|own| own.limit()), [0, 1, 2]);
    assert_eq!(wait(each[0]), 666_666_667);
    assert_eq!(wait(each[1]), 60 * S);
    assert_eq!(wait(each[2]), 10 * S);
    let _ = tight(&limiter, &ticker, 4);
}

#[test]
fn of_equal_limits_the_first_decides() {
    let (limiter, _) = built(AllOf, [limit("9/s"), limit("5/s"), limit("5/s")], 0);
    assert_eq!(limiter.try_acquire_n(KEY, 5).limit(), 1);
    assert_eq!(limiter.try_acquire(KEY).limit(), 1);
    assert_eq!(limiter.try_acquire_n(KEY, 6).limit(), 1);
    assert_eq!(
        limiter.try_acquire_n(KEY, 10).limit(),
        0,
        "the first that cannot hold ten"
    );
}

#[test]
fn the_limit_with_the_fewest_permits_left_decides_what_is_allowed() {
    let (limiter, ticker) = built(AllOf, [limit("5/s"), limit("7/min")], 0);
    assert_eq!(limiter.peek(KEY).limit(), 0);
    let spent = limiter.try_acquire_n(KEY, 4);
    assert_eq!((spent.limit(), spent.remaining()), (0, 1));
    ticker.set(S);
    let spent = limiter.try_acquire_n(KEY, 2);
    assert_eq!((spent.limit(), spent.remaining()), (1, 1));
    assert_eq!(tight(&limiter, &ticker, 2).limit(), 1);
}

#[test]
fn a_cost_above_the_smallest_burst_is_never_allowed() {
    let (limiter, _) = built(AllOf, [limit("9/s"), limit("9/min burst 3")], 0);
    let mut each = [limiter.peek(KEY); 2];
    let (never, limits) = limiter.try_acquire_each(KEY, 4, &mut each);
    assert!(never.is_never());
    assert_eq!((never.limit(), never.remaining(), limits), (1, 3, 2));
    assert_eq!(each.map(|own| own.is_never()), [false, true]);
    assert!(each[0].is_allowed(), "alone it would have");
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn where_the_smallest_limit_is_full_there_is_no_next_permit() {
    let (limiter, ticker) = built(AllOf, [limit("4/s"), limit("9/min")], 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(S);
    let _ = limiter.try_acquire(KEY);
    ticker.set(S + S / 4);
    let full = limiter.peek(KEY);
    assert_eq!(full.remaining(), 4, "of the second, too, four are left");
    assert_eq!(full.next_permit_after(), ns(0));
    assert!(full.reset_after() > ns(30 * S));
}

#[test]
fn a_cost_of_zero_tells_what_is_left() {
    let (limiter, _) = built(AllOf, five_and_twenty(), 0);
    let _ = limiter.try_acquire_n(KEY, 5);
    let mut each = [limiter.peek(KEY); 2];
    let (told, _) = limiter.try_acquire_each(KEY, 0, &mut each);
    assert!(told.is_allowed() && each.iter().all(Decision::is_allowed));
    assert_eq!(told.remaining(), 0);
    assert_eq!(each.map(|own| own.remaining()), [0, 15]);
}

#[test]
fn the_key_is_reset_when_the_last_of_its_limits_is_full() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    assert_eq!(limiter.try_acquire(KEY).reset_after(), ns(3 * S));
    let _ = limiter.try_acquire_n(KEY, 4);
    let _ = tight(&limiter, &ticker, 2);
    ticker.set(15 * S - 1);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (0, 1));
    ticker.set(15 * S);
    assert_eq!((limiter.evict_idle(), limiter.tracked_keys()), (1, 0));
}

#[test]
fn a_slice_may_be_shorter_or_longer_than_the_list() {
    let (limiter, _) = built(AllOf, five_and_twenty(), 0);
    let blank = limiter.peek(&8);
    let mut each = [blank; 3];
    assert_eq!(limiter.try_acquire_each(KEY, 1, &mut each[..1]).1, 2);
    assert_eq!((each[0].remaining(), each[1]), (4, blank));
    assert_eq!(limiter.try_acquire_each(KEY, 1, &mut each).1, 2);
    assert_eq!((each[1].remaining(), each[2]), (18, blank));
    assert_eq!(limiter.peek_each(KEY, 1, &mut []).1, 2);
    assert_eq!(limiter.peek(KEY).remaining(), 3);
}

#[test]
fn more_than_four_limits_are_kept_alike() {
    let limits: Vec<Limit> = (1..=7).map(|n| Limit::per_minute(10 + n)).rev().collect();
    let (limiter, ticker) = built(AllOf, limits.clone(), 0);
    let mut each = [limiter.peek(KEY); 7];
    assert_eq!(limiter.try_acquire_each(KEY, 11, &mut each).1, 7);
    for (own, limit) in each.iter().zip(&limits) {
        assert_eq!(own.remaining(), limit.permits() - 11);
    }
    let denied = tight(&limiter, &ticker, 1);
    assert_eq!((denied.limit(), wait(denied)), (6, 60 * S / 11 + 1));
    limiter.refund(KEY, limiter.try_acquire_n(KEY, 11));
    ticker.set(MINUTE);
    assert_eq!(limiter.evict_idle(), 1);
    assert_eq!(limiter.try_acquire_n(KEY, 11).remaining(), 0);
    limiter.reset(KEY);
    assert_eq!(limiter.try_acquire_n(KEY, 11).remaining(), 0);
}

#[test]
fn a_refund_gives_back_to_every_limit() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    let spent = limiter.try_acquire_n(KEY, 4);
    let _ = limiter.try_acquire(KEY);
    ticker.set(S);
    let mut each = [spent; 2];
    limiter.refund(KEY, spent);
    let _ = limiter.peek_each(KEY, 1, &mut each);
    assert_eq!(
        each.map(|own| own.remaining()),
        [5, 19],
        "the second's have flowed back"
    );
    limiter.refund(KEY, spent);
    let _ = limiter.peek_each(KEY, 1, &mut each);
    assert_eq!(
        each.map(|own| own.remaining()),
        [5, 20],
        "never fuller than full"
    );
    assert_eq!(admitted(&limiter, 10), 5);
    ticker.set(20 * S);
    limiter.refund(KEY, spent);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_denial_refunds_nothing() {
    let (limiter, _) = built(AllOf, five_and_twenty(), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    let mut each = [limiter.peek(KEY); 2];
    let (denied, _) = limiter.try_acquire_each(KEY, 2, &mut each);
    assert!(each[1].is_allowed(), "alone it would have");
    for refused in [denied, each[0], each[1], limiter.try_acquire_n(KEY, 6)] {
        limiter.refund(KEY, refused);
        limiter.refund(KEY, limiter.try_acquire_n(KEY, 0));
        assert_eq!(limiter.peek(KEY).remaining(), 1);
    }
}

#[test]
fn a_refund_at_an_older_reading_mints_nothing() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    ticker.set(S);
    let spent = limiter.try_acquire_n(KEY, 4);
    ticker.set(600 * MS);
    limiter.refund(KEY, spent);
    limiter.refund(KEY, spent);
    ticker.set(S);
    assert_eq!(admitted(&limiter, 10), 5);
    assert_eq!(limiter.peek(KEY).reset_after(), ns(15 * S));
}

#[test]
fn a_reset_key_is_as_if_never_seen() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    ticker.set(17 * S);
    let unseen = limiter.peek_n(KEY, 2);
    let _ = limiter.try_acquire_n(KEY, 5);
    limiter.reset(KEY);
    assert_eq!(limiter.peek_n(KEY, 2), unseen);
    assert_eq!(admitted(&limiter, 10), 5);
}

#[test]
fn a_refresh_matches_limits_by_position_and_added_ones_start_full() {
    let (limiter, ticker, limits) = switched(AllOf, five_and_twenty(), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    let mut each = [limiter.peek(KEY); 5];
    let mut left = |list: &[Limit]| {
        limits.to(list);
        limiter.refresh(KEY);
        let (_, filled) = limiter.peek_each(KEY, 1, &mut each);
        each[..filled]
            .iter()
            .map(Decision::remaining)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        left(&[limit("10/s"), limit("30/min"), limit("50/h")]),
        [6, 26, 50]
    );
    assert_eq!(
        left(&[limit("30/min"), limit("3/s")]),
        [26, 0],
        "by position; cut to the burst"
    );
    assert_eq!(left(&[limit("30/min")]), [26]);
    let five = ["9/s", "8/s", "7/s", "6/s", "5/s"].map(limit);
    assert_eq!(left(&five), [5, 8, 7, 6, 5]);
    assert_eq!(left(&five[..2]), [5, 8]);
    ticker.set(S);
    assert_eq!(left(&five), [9, 8, 7, 6, 5]);
}

#[test]
fn a_refresh_rounds_each_debt_up_to_whole_permits() {
    let (limiter, ticker, limits) = switched(AllOf, five_and_twenty(), 0);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(100 * MS); // 3.5 and 3.97 are owed.
    limits.to([limit("10/s"), limit("40/min")]);
    limiter.refresh_all();
    let mut each = [limiter.peek(KEY); 2];
    let _ = limiter.peek_each(KEY, 1, &mut each);
    assert_eq!(each.map(|own| own.remaining()), [6, 36]);
    assert_eq!(each[0].next_permit_after(), ns(100 * MS));
    let before = limiter.peek(KEY);
    limiter.refresh_all();
    assert_eq!(limiter.peek(KEY), before, "equal limits change nothing");
}

#[test]
fn a_clock_that_steps_back_only_denies_more_until_it_has_caught_up() {
    let (limiter, ticker) = built(AllOf, five_and_twenty(), 0);
    ticker.set(10 * S);
    let _ = limiter.try_acquire_n(KEY, 4);
    ticker.set(5 * S);
    assert_eq!(limiter.peek(KEY).remaining(), 0);
    assert_eq!(wait(tight(&limiter, &ticker, 1)), 5 * S);
    assert_eq!(admitted(&limiter, 10), 0);
    ticker.set(10 * S);
    assert_eq!(admitted(&limiter, 10), 1);
}

#[test]
fn at_the_end_of_time_every_limit_stays_exact_or_denies() {
    for start in [0, u64::MAX - S, u64::MAX] {
        let (limiter, ticker) = built(AllOf, five_and_twenty(), start);
        for now in [start, u64::MAX - 1, u64::MAX, start] {
            ticker.set(now);
            let before = limiter.peek(KEY).remaining();
            assert_eq!(admitted(&limiter, 10) as u64, before, "{now} from {start}");
            let denied = limiter.try_acquire_n(KEY, 5);
            assert!(wait(denied) > 0);
            assert!(limiter.try_acquire_n(KEY, u64::MAX).is_never());
        }
    }
}

#[test]
fn an_empty_list_and_a_limit_that_a_bucket_refuses_are_refused() {
    assert_eq!(
        refusal(AllOf, Vec::new()),
        "AllOf cannot keep a list of 0 limits"
    );
    let slow = limit("1/d burst 1000000");
    assert_eq!(
        refusal(AllOf, [limit("5/s"), slow]),
        refusal(TokenBucket, slow)
    );
}

#[test]
fn a_list_of_one_is_a_token_bucket() {
    let (list, ticker) = built(AllOf, [limit("3/7s burst 4")], 0);
    let (bucket, clock) = built(TokenBucket, limit("3/7s burst 4"), 0);
    for step in 0..50 {
        ticker.set(step * S);
        clock.set(step * S);
        assert_eq!(ticker.now(), clock.now());
        let cost = step % 6;
        assert_eq!(
            list.try_acquire_n(KEY, cost),
            bucket.try_acquire_n(KEY, cost)
        );
    }
}
