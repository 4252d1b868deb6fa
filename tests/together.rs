//! One request, several limiters: all or none.

#[macro_use]
mod support;

use std::sync::Arc;

use support::*;
use tollgate::{
    Algorithm, AllOf, Decision, FixedWindow, Gate, LimitSource, ManualTicker, RateLimiter,
    SlidingCounter, SlidingLog, TokenBucket, UnkeyedLimiter, peek_all, peek_all_each, refund_all,
    try_acquire_all, try_acquire_all_each,
};

fn left<A: Algorithm, L: LimitSource>(limiter: &RateLimiter<u64, A, ManualTicker, L>) -> u64 {
    limiter.peek(KEY).remaining()
}

#[test]
fn a_request_takes_from_every_limiter_or_from_none() {
    fn check(algorithm: impl Algorithm) {
        let (large, _) = built(algorithm, limit("9/10s"), 0);
        let (small, _) = built(FixedWindow, limit("4/10s"), 0);
        let gates = [large.ask_n(KEY, 2), large.ask_n(&8, 1)];
        let other = small.ask_n(KEY, 2);
        let gates: [&dyn Gate; 3] = [&gates[0], &other, &gates[1]];
        for _ in 0..2 {
            assert!(try_acquire_all(&gates).is_allowed());
        }
        for _ in 0..9 {
            assert!(try_acquire_all(&gates).is_denied());
        }
        assert_eq!((left(&large), left(&small)), (5, 0));
        assert_eq!(large.peek(&8).remaining(), 7, "behind the one that refused");
    }
    for_every_algorithm!(check);
}

#[test]
fn limiters_of_every_kind_take_part() {
    let per_route = RateLimiter::<(u64, String)>::new(limit("9/h")).expect("a limit");
    let per_name = RateLimiter::<String>::builder(limit("8/h"))
        .algorithm(SlidingLog)
        .build()
        .expect("a limit");
    let per_host = RateLimiter::<Arc<str>>::new(limit("7/h")).expect("a limit");
    let (by_plan, _, _) = switched(AllOf, [limit("6/h"), limit("7/d")], 0);
    let in_all = UnkeyedLimiter::new(limit("5/h")).expect("a limit");
    let route = (7, "/search".to_owned());
    let gates: [&dyn Gate; 5] = [
        &per_route.ask(&route),
        &per_name.ask("ada"),
        &per_host.ask_n_with("host", 1, |host: &str| Arc::from(host)),
        &by_plan.ask(KEY),
        &in_all.ask(),
    ];
    let mut each = [in_all.peek(); 5];
    assert_eq!(try_acquire_all_each(&gates, &mut each).limit(), 4);
    assert_eq!(each.map(|own| own.remaining()), [8, 7, 6, 5, 4]);
    assert_eq!(in_all.try_acquire_n(4).remaining(), 0);
    let denied = try_acquire_all(&gates);
    assert!(denied.is_denied());
    assert_eq!(denied.limit(), 4);
    assert_eq!(per_route.peek(&route).remaining(), 8);
    assert_eq!(per_name.peek("ada").remaining(), 7);
    assert_eq!(
        per_host
            .peek_with("host", |host| Arc::from(host))
            .remaining(),
        6
    );
    assert_eq!(by_plan.peek(KEY).remaining(), 5);
}

#[test]
fn the_whole_tells_the_fewest_permits_and_the_gate_that_has_them() {
    let (one, _) = built(TokenBucket, limit("9/9s"), 0);
    let (other, _) = built(TokenBucket, limit("5/20s"), 0);
    let (third, _) = built(TokenBucket, limit("5/10s"), 0);
    let gates: [&dyn Gate; 3] = [
        &one.ask_n(KEY, 3),
        &other.ask_n(KEY, 2),
        &third.ask_n(KEY, 2),
    ];
    let allowed = try_acquire_all(&gates);
    assert!(allowed.is_allowed());
    assert_eq!(
        (allowed.remaining(), allowed.limit(), allowed.cost()),
        (3, 1, 7)
    );
    assert_eq!(
        allowed.next_permit_after(),
        ns(4 * S),
        "one more under both"
    );
    assert_eq!(allowed.reset_after(), ns(8 * S));
    assert_eq!(gates.map(|gate| gate.cost()), [3, 2, 2]);
}

#[test]
fn the_wait_is_the_longest_of_all_that_would_refuse() {
    let (quick, clock) = built(TokenBucket, limit("5/s"), 0);
    let (slow, ticker) = built(TokenBucket, limit("5/min"), 0);
    let (free, _) = built(TokenBucket, limit("9/min"), 0);
    let _ = quick.try_acquire_n(KEY, 5);
    let _ = slow.try_acquire_n(KEY, 5);
    // The first refuses; the third would have as well, and for longer.
    let (first, second, third) = (quick.ask(KEY), free.ask_n(KEY, 9), slow.ask_n(KEY, 2));
    let gates: [&dyn Gate; 3] = [&first, &second, &third];
    let mut each = [quick.peek(KEY); 3];
    let denied = try_acquire_all_each(&gates, &mut each);
    assert_eq!((wait(denied), denied.limit()), (24 * S, 2));
    assert_eq!(wait(each[0]), 200 * MS);
    assert!(each[1].is_allowed());
    assert_eq!(each[1].remaining(), 9);
    assert_eq!(wait(each[2]), 24 * S);
    assert_eq!(denied, peek_all(&gates));
    for (now, allowed) in [(24 * S - 1, false), (24 * S, true)] {
        clock.set(now);
        ticker.set(now);
        assert_eq!(try_acquire_all(&gates).is_allowed(), allowed);
    }
    assert_eq!((left(&quick), left(&slow), left(&free)), (4, 0, 0));
}

#[test]
fn what_one_can_never_give_is_never_given() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(SlidingLog, limit("9/s"), 0);
    let _ = one.try_acquire_n(KEY, 5);
    let (first, second) = (one.ask(KEY), other.ask_n(KEY, 10));
    for gates in [[&first as &dyn Gate, &second], [&second, &first]] {
        let never = try_acquire_all(&gates);
        assert!(never.is_never());
        assert_eq!(never.retry_after(), None);
        assert!(gates[never.limit()].cost() == 10);
        assert!(peek_all(&gates).is_never());
    }
    assert_eq!(left(&other), 9);
}

#[test]
fn a_request_that_can_never_fit_begins_no_key() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (one, _) = built(algorithm, limit("5/10s"), 0);
        let (other, _, _) = switched(algorithm, limit("5/10s"), 0);
        let nothing = || assert_eq!((one.tracked_keys(), other.tracked_keys()), (0, 0));
        let (fits, too_much) = (
            (one.ask(KEY), other.ask(KEY)),
            (one.ask_n(KEY, 6), other.ask_n(KEY, 6)),
        );
        let requests: [&[&dyn Gate]; 4] = [
            &[&fits.0, &too_much.1],
            &[&fits.1, &too_much.0],
            &[&fits.0, &one.ask_n(KEY, 5)],
            &[&fits.1, &other.ask_n(KEY, 5)],
        ];
        for gates in requests {
            assert!(try_acquire_all(gates).is_never());
            nothing();
        }
        let gates: [&dyn Gate; 2] = [&one.ask_n(&8, 5), &other.ask(KEY)];
        assert!(
            try_acquire_all(&gates).is_allowed(),
            "six in all, of two keys"
        );
    }
    for_every_algorithm!(check);
}

#[test]
fn one_key_may_be_asked_twice() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, limit("5/10s"), 0);
        let (two, one) = (limiter.ask_n(KEY, 2), limiter.ask(KEY));
        let gates: [&dyn Gate; 2] = [&two, &one];
        let mut each = [limiter.peek(KEY); 2];
        let both = try_acquire_all_each(&gates, &mut each);
        assert!(both.is_allowed());
        assert_eq!((both.remaining(), both.limit(), both.cost()), (2, 1, 3));
        assert_eq!(each.map(|own| own.remaining()), [3, 2]);

        // Two are left: enough for either, not for both.
        let denied = try_acquire_all(&gates);
        assert_eq!(left(&limiter), 2);
        assert_eq!(wait(denied), wait(limiter.peek_n(KEY, 3)));
        assert_eq!(denied, peek_all(&gates));
        ticker.advance(ns(wait(denied)));
        assert!(try_acquire_all(&gates).is_allowed());

        let fresh: [&dyn Gate; 2] = [&limiter.ask_n(&8, 3), &limiter.ask_n(&8, 3)];
        assert!(try_acquire_all(&fresh).is_never(), "six of five");
        assert!(peek_all(&fresh).is_never());
        assert_eq!(limiter.peek(&8).remaining(), 5);
        let much: [&dyn Gate; 2] = [&limiter.ask(&8), &limiter.ask_n(&8, u64::MAX)];
        assert!(try_acquire_all(&much).is_never());
        assert!(peek_all(&much).is_never(), "the sum does not wrap");
    }
    for_every_algorithm!(check);
}

#[test]
fn one_key_in_two_borrowed_forms_is_one_key() {
    let limiter = RateLimiter::<String>::new(limit("5/h")).expect("a limit");
    let owned = "ada".to_owned();
    let gates: [&dyn Gate; 2] = [&limiter.ask_n("ada", 3), &limiter.ask_n(&owned, 3)];
    assert!(peek_all(&gates).is_never());
    let gates: [&dyn Gate; 2] = [&limiter.ask_n("ada", 3), &limiter.ask_n("bob", 3)];
    assert!(peek_all(&gates).is_allowed());
}

#[test]
fn one_limiter_without_keys_may_be_asked_twice() {
    let limiter = UnkeyedLimiter::new(limit("5/h")).expect("a limit");
    let other = UnkeyedLimiter::new(limit("5/h")).expect("a limit");
    let gates: [&dyn Gate; 2] = [&limiter.ask_n(3), &limiter.ask_n(2)];
    assert_eq!(try_acquire_all(&gates).remaining(), 0);
    let gates: [&dyn Gate; 2] = [&other.ask_n(3), &other.ask_n(3)];
    assert!(try_acquire_all(&gates).is_never());
    assert_eq!(other.peek().remaining(), 5);
    let gates: [&dyn Gate; 2] = [&other.ask_n(3), &limiter.ask_n(3)];
    assert!(!peek_all(&gates).is_never(), "two limiters are not one");
}

#[test]
fn a_refusal_refunds_what_the_others_gave_and_nothing_else() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, ticker) = built(algorithm, limit("9/10s"), 0);
        let (refuses, _) = built(TokenBucket, limit("1/h"), 0);
        let _ = refuses.try_acquire(KEY);
        for now in [0, S, 7 * S] {
            ticker.set(now);
            let _ = limiter.try_acquire_n(KEY, 2);
            let before = limiter.peek(KEY);
            let gates: [&dyn Gate; 2] = [&limiter.ask_n(KEY, 3), &refuses.ask(KEY)];
            assert!(try_acquire_all(&gates).is_denied());
            assert_eq!(limiter.peek(KEY), before);
        }
    }
    for_every_algorithm!(check);
}

#[test]
fn more_than_eight_gates_are_asked_alike() {
    let (limiter, _) = built(TokenBucket, limit("9/h"), 0);
    let keys: Vec<u64> = (0..30).collect();
    let asks: Vec<_> = keys
        .iter()
        .map(|key| limiter.ask_n(key, 1 + key % 4))
        .collect();
    let gates: Vec<&dyn Gate> = asks.iter().map(|ask| ask as &dyn Gate).collect();
    let mut each = vec![limiter.peek(KEY); 30];
    for times in 1..=2 {
        let allowed = try_acquire_all_each(&gates, &mut each);
        assert_eq!((allowed.limit(), allowed.remaining()), (3, 9 - 4 * times));
        for (key, own) in keys.iter().zip(&each) {
            assert_eq!(own.remaining(), 9 - (1 + key % 4) * times);
        }
    }
    let denied = try_acquire_all_each(&gates, &mut each);
    assert_eq!((denied.limit(), denied.is_denied()), (3, true));
    assert_eq!(each.iter().filter(|own| own.is_denied()).count(), 7);
    for key in &keys {
        assert_eq!(limiter.peek(key).remaining(), 9 - (1 + key % 4) * 2);
    }
}

#[test]
fn no_gate_at_all_refuses_nothing() {
    let nothing = try_acquire_all(&[]);
    assert!(nothing.is_allowed() && peek_all(&[]).is_allowed());
    assert_eq!((nothing.cost(), nothing.remaining()), (0, u64::MAX));
    refund_all(&[], &[]);
}

#[test]
fn a_peek_at_all_changes_nothing() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(SlidingCounter, limit("4/s"), 0);
    let gates: [&dyn Gate; 2] = [&one.ask_n(KEY, 2), &other.ask_n(KEY, 2)];
    let mut each = [one.peek(KEY); 2];
    let seen = peek_all_each(&gates, &mut each);
    assert_eq!((seen.remaining(), seen.limit()), (4, 1));
    assert_eq!(each, [one.peek_n(KEY, 2), other.peek_n(KEY, 2)]);
    assert_eq!(one.tracked_keys() + other.tracked_keys(), 0);
}

#[test]
fn a_cost_of_zero_takes_nothing_and_is_told_what_is_left() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(TokenBucket, limit("4/s"), 0);
    let _ = other.try_acquire_n(KEY, 4);
    let gates: [&dyn Gate; 2] = [&one.ask_n(KEY, 2), &other.ask_n(KEY, 0)];
    let allowed = try_acquire_all(&gates);
    assert!(allowed.is_allowed());
    assert_eq!((allowed.remaining(), allowed.limit()), (0, 1));
    assert_eq!(left(&one), 3);
}

#[test]
fn all_that_was_taken_is_refunded_together() {
    fn check(algorithm: impl Algorithm) {
        let (limiter, _) = built(algorithm, limit("9/10s"), 0);
        let in_all = UnkeyedLimiter::new(limit("7/h")).expect("a limit");
        let gates: [&dyn Gate; 3] = [
            &limiter.ask_n(KEY, 4),
            &in_all.ask_n(2),
            &limiter.ask_n(KEY, 1),
        ];
        let mut each = [limiter.peek(KEY); 3];
        assert!(try_acquire_all_each(&gates, &mut each).is_allowed());
        assert_eq!((left(&limiter), in_all.peek().remaining()), (4, 5));
        refund_all(&gates[..1], &each);
        assert_eq!((left(&limiter), in_all.peek().remaining()), (8, 5));
        refund_all(&gates[1..], &each[1..]);
        assert_eq!((left(&limiter), in_all.peek().remaining()), (9, 7));
    }
    for_every_algorithm!(check);
}

#[test]
fn a_slice_may_be_shorter_or_longer_than_the_gates() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(TokenBucket, limit("4/s"), 0);
    let gates: [&dyn Gate; 2] = [&one.ask(KEY), &other.ask(KEY)];
    let blank = one.peek_n(&8, 3);
    let mut each = [blank; 3];
    let _ = try_acquire_all_each(&gates, &mut each[..1]);
    assert_eq!((each[0].remaining(), each[1]), (4, blank));
    let _ = peek_all_each(&gates, &mut each);
    assert_eq!((each[1].remaining(), each[2]), (3, blank));
}

#[test]
fn a_denial_has_nothing_to_refund() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(TokenBucket, limit("4/s"), 0);
    let _ = one.try_acquire_n(KEY, 3);
    let _ = other.try_acquire_n(KEY, 3);
    let gates: [&dyn Gate; 2] = [&one.ask_n(KEY, 2), &other.ask_n(KEY, 2)];
    let mut each = [one.peek(KEY); 2];
    let denied: Decision = try_acquire_all_each(&gates, &mut each);
    assert!(denied.is_denied());
    one.refund(KEY, denied);
    assert_eq!((left(&one), left(&other)), (2, 1));
}

#[test]
fn refunding_all_of_a_denial_gives_back_nothing() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(TokenBucket, limit("4/s"), 0);
    let _ = one.try_acquire_n(KEY, 3);
    let _ = other.try_acquire_n(KEY, 3);
    let gates: [&dyn Gate; 2] = [&one.ask_n(KEY, 2), &other.ask_n(KEY, 2)];
    let mut each = [one.peek(KEY); 2];
    assert!(try_acquire_all_each(&gates, &mut each).is_denied());
    refund_all(&gates, &each);
    assert_eq!((left(&one), left(&other)), (2, 1));
}

#[test]
fn what_is_refunded_is_each_gate_s_own_decision_and_no_look() {
    let (one, _) = built(TokenBucket, limit("5/s"), 0);
    let (other, _) = built(TokenBucket, limit("4/s"), 0);
    let gates: [&dyn Gate; 2] = [&one.ask_n(KEY, 2), &other.ask_n(KEY, 2)];
    let mut each = [one.peek(KEY); 2];
    let whole = try_acquire_all_each(&gates, &mut each);
    assert_eq!((whole.spent(), each.map(|own| own.spent())), (0, [2, 2]));
    one.refund(KEY, whole);
    let seen = peek_all_each(&gates, &mut each);
    assert_eq!((seen.spent(), each.map(|own| own.spent())), (0, [0, 0]));
    refund_all(&gates, &each);
    assert_eq!((left(&one), left(&other)), (3, 2));
}

#[test]
fn where_one_of_those_with_the_fewest_is_full_there_will_never_be_more() {
    let (full, _) = built(TokenBucket, limit("3/10s"), 0);
    let (partly, _) = built(TokenBucket, limit("5/10s"), 0);
    assert!(partly.try_acquire_n(KEY, 2).is_allowed());
    for order in [[0, 1], [1, 0]] {
        let gates = [full.ask(KEY), partly.ask(KEY)];
        let gates = order.map(|index| &gates[index] as &dyn Gate);
        let seen = peek_all(&gates).standing();
        assert_eq!((seen.remaining, seen.next_permit_after), (3, 0));
        assert!(seen.reset_after > 0);
    }
}
