//! Which limits are accepted: what the contract claims, and to the last permit what its formulae say.

use std::cell::Cell;

use proptest::prelude::*;
use tollgate::{Algorithm, AllOf, AnyAlgorithm, FixedWindow, Limit, LimitError, TokenBucket};

use crate::numbers::{any_limit, everyday_limits, limit};
use crate::plain::{MONTH, SECOND, THIRTY_YEARS, Terms, big, ceil};
use crate::traffic::{check, limit_of, terms_of};

#[test]
fn a_bucket_accepts_every_limit_within_the_claims() {
    let largest = Cell::new(0);
    check(20_000, any::<[u64; 3]>(), |numbers| {
        let terms = Terms::of_any_rate(numbers);
        prop_assert!(TokenBucket.plan(limit_of(terms)).is_ok(), "{:?}", terms);
        prop_assert!(AllOf.plan(limit_of(terms)).is_ok(), "{:?}", terms);
        let most = Terms::largest_burst(terms.permits, terms.period);
        largest.set(largest.get() + u32::from(most == Some(terms.burst)));

        let claimed = Terms {
            burst: terms.permits,
            ..terms
        };
        prop_assert!(claimed.is_claimed(), "{:?}", claimed);
        prop_assert!(TokenBucket.plan(limit_of(claimed)).is_ok(), "{:?}", claimed);
        Ok(())
    });
    assert!(largest.get() > 1_000, "{} largest bursts", largest.get());
    for limit in everyday_limits() {
        assert!(terms_of(limit).is_claimed(), "{limit}");
        assert!(TokenBucket.plan(limit).is_ok(), "{limit}");
    }
}

#[test]
fn the_largest_burst_is_accepted_and_the_one_after_it_refused() {
    let tried = Cell::new(0);
    check(20_000, any_limit(), |limit| {
        let (permits, period) = (limit.permits(), limit.period_ns());
        let with_burst = |burst| TokenBucket.plan(limit.with_burst(burst));
        match Terms::largest_burst(permits, period) {
            Some(largest) => {
                prop_assert!(with_burst(largest).is_ok(), "{} of {}", largest, limit);
                if let Some(more) = largest.checked_add(1) {
                    prop_assert!(with_burst(more).is_err(), "{} of {}", more, limit);
                }
                tried.set(tried.get() + 1);
            }
            None => prop_assert!(with_burst(1).is_err(), "{}", limit),
        }
        Ok(())
    });
    assert!(tried.get() > 5_000, "{} of them", tried.get());
}

#[test]
fn the_largest_bursts_of_limits_worked_out_by_hand() {
    // A unit of a month's permit is at most 1 ns with f = 52: (354 + B) · 2^52 < 2^64 − 2, 30
    // years being 353.5 months of 31 days.
    let month = limit(1, MONTH);
    assert_eq!(
        TokenBucket.plan(month.with_burst(4_095 - 354)).map(|_| ()),
        Ok(())
    );
    let refused = TokenBucket.plan(month.with_burst(4_096 - 354)).unwrap_err();
    assert!(
        matches!(refused, LimitError::BurstFillsTooSlowly { .. }),
        "{refused}"
    );

    // At 10 permits a nanosecond f is 0: 10 · 30 years + B < 2^64 − 2.
    let fast = limit(10 * SECOND, SECOND);
    let most = u64::MAX - 2 - 10 * THIRTY_YEARS;
    assert_eq!(TokenBucket.plan(fast.with_burst(most)).map(|_| ()), Ok(()));
    let refused = TokenBucket.plan(fast.with_burst(most + 1)).unwrap_err();
    assert!(
        matches!(refused, LimitError::TooManyPermits { .. }),
        "{refused}"
    );

    // 19 permits a nanosecond can be counted for 30 years, and 20 cannot.
    assert!(TokenBucket.plan(limit(19, 1)).is_ok());
    assert!(TokenBucket.plan(limit(20, 1)).is_err());
}

/// Whether a fixed window's count and number fit in a word for 30 years, whenever it is built, with
/// one number left for the special words; and whether they would with one window more.
fn fits_a_window(limit: Limit) -> (bool, bool) {
    let count_bits = 64 - limit.permits().leading_zeros();
    // From the last nanosecond of the first window.
    let last = ceil(big(THIRTY_YEARS), limit.period_ns());
    let numbers = big(1) << (64 - count_bits);
    (&last + 1 < numbers, last + 2 < numbers)
}

#[test]
fn any_limit_is_accepted_or_refused_as_the_contract_says() {
    let (accepted, refused) = (Cell::new(0), Cell::new([0; 3]));
    check(40_000, any_limit(), |limit| {
        let terms = terms_of(limit);
        let kept = terms.fraction_bits().is_some();
        let own_burst = limit.burst() != limit.permits();
        let mut counts = refused.get();
        prop_assert_eq!(TokenBucket.plan(limit).is_ok(), kept, "{}", limit);
        prop_assert_eq!(AllOf.plan([limit, limit]).is_ok(), kept, "{}", limit);
        counts[0] += u32::from(!kept);
        for algorithm in [AnyAlgorithm::SlidingLog, AnyAlgorithm::SlidingCounter] {
            prop_assert_eq!(algorithm.plan(limit).is_err(), own_burst, "{}", limit);
        }
        counts[1] += u32::from(own_burst);
        let (fits, with_room) = fits_a_window(limit);
        match FixedWindow.plan(limit).is_ok() {
            true => prop_assert!(fits && !own_burst, "{}", limit),
            false => prop_assert!(!with_room || own_burst, "{}", limit),
        }
        counts[2] += u32::from(!fits);
        accepted.set(accepted.get() + u32::from(kept && !own_burst && fits));
        refused.set(counts);
        Ok(())
    });
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(accepted > 2_000, "{accepted}");
    assert!(refused.iter().all(|count| *count > 2_000), "{refused:?}");
}
