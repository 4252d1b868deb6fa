//! Rule 4: `retry_after` is exact and tight.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{TokenBucket, Verdict};

use crate::config::config;
use crate::numbers::{after_the_start, limits, of_any_size, starts};
use crate::plain::{big, ceil};
use crate::support::{self, KEY};
use crate::traffic::{
    Tally, back_and_forth, built, capacity, check, cost_within, horizon, kept, requests,
};
use crate::{retry_after, whole_inflow};

#[test]
fn rule_4_retrying_after_the_wait_is_allowed_and_1_ns_earlier_denied() {
    let retried = Tally::default();
    let cases = (kept(), starts(), requests(back_and_forth()));
    check(3_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut now = start;
        for (when, cost) in requests {
            let cost = cost_within(cost, capacity(&limits));
            now = when.after(now, &limiter, cost).clamp(start, horizon(start));
            ticker.set(now);
            let Some(wait) = retry_after(&limiter.try_acquire_n(KEY, cost)) else {
                continue;
            };
            prop_assert_ne!(wait, 0);
            let then = now.saturating_add(wait);
            if then > horizon(start) || then == u64::MAX {
                continue;
            }
            ticker.set(then - 1);
            let earlier = limiter.try_acquire_n(KEY, cost);
            prop_assert_eq!(retry_after(&earlier), Some(1), "{}", algorithm);
            ticker.set(then);
            let later = limiter.peek_n(KEY, cost);
            prop_assert!(later.is_allowed(), "{}: {:?}", algorithm, later);
            // Spent, or still to be waited for from where the denied request stood.
            if cost.is_multiple_of(2) {
                prop_assert!(limiter.try_acquire_n(KEY, cost).is_allowed());
                now = then;
            }
            retried.count(algorithm, 1);
        }
        Ok(())
    });
    retried.at_least(500);
}

#[test]
fn rule_4_the_next_permit_and_the_end_of_all_debt_are_told_to_the_nanosecond() {
    let told = Tally::default();
    let cases = (kept(), starts(), requests(back_and_forth()));
    check(3_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut now = start;
        for (when, cost) in requests {
            let cost = cost_within(cost, capacity(&limits));
            now = when.after(now, &limiter, cost).clamp(start, horizon(start));
            ticker.set(now);
            let standing = limiter.try_acquire_n(KEY, cost).standing();
            let is_full = standing.remaining == capacity(&limits);
            prop_assert_eq!(standing.next_permit_after == 0, is_full);

            let then = now.saturating_add(standing.next_permit_after);
            if !is_full && then <= horizon(start) && then < u64::MAX {
                ticker.set(then - 1);
                prop_assert_eq!(limiter.peek(KEY).remaining(), standing.remaining);
                ticker.set(then);
                prop_assert!(limiter.peek(KEY).remaining() > standing.remaining);
                told.count(algorithm, 1);
            }
            let then = now.saturating_add(standing.reset_after);
            if standing.reset_after > 0 && then <= horizon(start) && then < u64::MAX {
                ticker.set(then - 1);
                prop_assert_eq!(limiter.peek(KEY).standing().reset_after, 1);
                ticker.set(then);
                prop_assert_eq!(limiter.peek(KEY).standing().reset_after, 0);
                told.count(algorithm, 1);
            }
        }
        Ok(())
    });
    told.at_least(500);
}

#[test]
fn rule_4_never_is_told_of_a_cost_above_the_capacity_and_of_no_other() {
    let never = Tally::default();
    let cases = (kept(), starts(), requests(back_and_forth()));
    check(1_000, cases, |((algorithm, limits), start, requests)| {
        let (limiter, ticker) = built(algorithm, &limits, start);
        let mut now = start;
        for (when, cost) in requests {
            now = when.after(now, &limiter, cost).clamp(start, horizon(start));
            ticker.set(now);
            let before = limiter.peek_n(KEY, 0);
            let decision = limiter.try_acquire_n(KEY, cost);
            let is_never = cost > capacity(&limits);
            prop_assert_eq!(decision.verdict() == Verdict::Never, is_never);
            if is_never {
                prop_assert_eq!(limiter.peek_n(KEY, 0), before, "nothing is spent");
                never.count(algorithm, 1);
            }
        }
        Ok(())
    });
    never.at_least(500);
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn rule_4_a_bucket_s_wait_is_the_exact_fraction_rounded_up(
        limit in limits(),
        start in starts(),
        times in vec(after_the_start(), 1..8),
        cost in of_any_size(),
    ) {
        let (limiter, ticker) = support::built(TokenBucket, limit, start);
        let cost = cost % limit.burst() + 1;
        prop_assert!(limiter.try_acquire_n(KEY, limit.burst()).is_allowed());
        for after in times {
            ticker.set(start + after);
            let decision = limiter.peek_n(KEY, cost);
            let there = whole_inflow(limit, after).min(big(limit.burst()));
            prop_assert_eq!(big(decision.remaining()), there.clone());
            prop_assert_eq!(decision.is_allowed(), big(cost) <= there);
            match retry_after(&decision) {
                None => prop_assert!(decision.is_allowed()),
                Some(wait) => {
                    let due = ceil(big(cost) * limit.period_ns(), limit.permits());
                    prop_assert_eq!(big(wait), due - after);
                }
            }
        }
    }
}
