//! What a decision allocates: nothing for a key that is present, one entry for a new one.

mod support;

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use support::*;
use tollgate::{
    Algorithm, AllOf, AnyAlgorithm, Decision, FixedWindow, Gate, Limits, ManualTicker, RateLimiter,
    SlidingCounter, SlidingLog, TokenBucket, UnkeyedLimiter, peek_all, try_acquire_all,
};

/// Room for more keys than any test begins, so that the map does not grow.
const ROOM: usize = 10_000;

/// The allocations of this thread while `work` runs.
fn allocations(work: impl FnOnce()) -> u64 {
    measure(work).count_total
}

fn roomy<K: Hash + Eq, A: Algorithm>(
    algorithm: A,
    limits: impl Into<Limits>,
) -> (RateLimiter<K, A, ManualTicker>, ManualTicker) {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<K>::builder(limits)
        .algorithm(algorithm)
        .ticker(ticker.clone())
        .capacity(ROOM)
        .build()
        .expect("limits that it keeps");
    (limiter, ticker)
}

/// A limiter whose limits come from a function.
fn roomy_by_plan<A: Algorithm>(
    algorithm: A,
    limits: impl Into<Limits>,
) -> RateLimiter<u64, A, ManualTicker, tollgate::PerKey> {
    let plan = algorithm.plan(limits).expect("limits that it keeps");
    RateLimiter::by_plan(move |_: &u64| plan.clone())
        .ticker(ManualTicker::new(0))
        .capacity(ROOM)
        .build()
        .expect("accepted plans")
}

#[test]
fn the_counter_counts() {
    let boxed = measure(|| drop(std::hint::black_box(Box::new([7_u8; 100]))));
    assert_eq!((boxed.count_total, boxed.bytes_total), (1, 100));
}

#[test]
fn a_check_of_a_present_key_allocates_nothing() {
    fn check(algorithm: impl Algorithm + Copy) {
        let (limiter, ticker) = roomy::<u64, _>(algorithm, limit("1000/10s"));
        let by_plan = roomy_by_plan(algorithm, limit("1000/10s"));
        let plan = algorithm.plan(limit("1000/10s")).expect("a limit");
        let unkeyed = UnkeyedLimiter::from_plan(plan, ManualTicker::new(0));
        // At one instant, so that the log's entries are one.
        let _ = (
            limiter.try_acquire(KEY),
            by_plan.try_acquire(KEY),
            unkeyed.try_acquire(),
        );
        let mut each = [limiter.peek(KEY)];
        let allowed_and_denied = allocations(|| {
            for cost in [1, 998, 1, 1_000, 0, 1_001] {
                let _ = limiter.try_acquire_n(KEY, cost);
                let _ = by_plan.try_acquire_n(KEY, cost);
                let _ = unkeyed.try_acquire_n(cost);
                let _ = limiter.peek_n(KEY, cost);
                let _ = limiter.try_acquire_each(KEY, cost, &mut each);
            }
            let _ = limiter.try_acquire_n(KEY, limiter.peek(KEY).remaining());
            assert!(limiter.try_acquire(KEY).is_denied());
            assert!(by_plan.try_acquire(KEY).is_denied());
            assert!(unkeyed.try_acquire().is_denied());
        });
        assert_eq!(allowed_and_denied, 0);
        ticker.set(25 * S);
        let after_a_while = allocations(|| {
            let spent = limiter.try_acquire(KEY);
            assert!(spent.is_allowed());
            limiter.refund(KEY, spent);
        });
        assert_eq!(after_a_while, 0);
    }
    check(TokenBucket);
    check(FixedWindow);
    check(SlidingLog);
    check(SlidingCounter);
    check(AllOf);
    AnyAlgorithm::ALL.into_iter().for_each(check);
}

#[test]
fn a_present_key_of_any_type_is_checked_without_an_allocation() {
    let (by_name, _) = roomy::<String, _>(TokenBucket, limit("5/h"));
    let (by_address, _) = roomy::<IpAddr, _>(FixedWindow, limit("5/h"));
    let (by_route, _) = roomy::<(u64, String), _>(TokenBucket, limit("5/h"));
    let (by_host, _) = roomy::<Arc<str>, _>(SlidingCounter, limit("5/h"));
    let address = IpAddr::from([198, 51, 100, 7]);
    let route = (7, "/search".to_owned());
    let check = || -> [Decision; 4] {
        [
            by_name.try_acquire("ada"),
            by_address.try_acquire(&address),
            by_route.try_acquire(&route),
            by_host.try_acquire_with("host", |host| Arc::from(host)),
        ]
    };
    assert!(check().iter().all(Decision::is_allowed));
    let ten_times = allocations(|| {
        for time in 1..10 {
            assert!(check().iter().all(|next| next.is_allowed() == (time < 5)));
        }
        let _ = by_name.peek("ada");
        by_name.refund("ada", by_name.try_acquire("ada"));
    });
    assert_eq!(ten_times, 0);
}

#[test]
fn a_new_key_costs_one_allocation() {
    fn check(algorithm: impl Algorithm + Copy, expected: u64) {
        let (limiter, _) = roomy::<u64, _>(algorithm, limit("5/10s"));
        let by_plan = roomy_by_plan(algorithm, limit("5/10s"));
        // What a thread sets up once.
        let _ = (limiter.try_acquire(&0), by_plan.try_acquire(&0));
        for key in 1..100 {
            assert_eq!(
                allocations(|| _ = limiter.try_acquire(&key)),
                expected,
                "{key}"
            );
            assert_eq!(
                allocations(|| _ = by_plan.try_acquire(&key)),
                expected,
                "{key}"
            );
        }
        let nothing_begun = allocations(|| {
            for key in 1_000..1_100 {
                let _ = limiter.peek(&key);
                let _ = limiter.try_acquire_n(&key, 0);
                let _ = limiter.try_acquire_n(&key, 6);
                let _ = by_plan.peek(&key);
            }
        });
        assert_eq!(nothing_begun, 0);
    }
    check(TokenBucket, 1);
    check(FixedWindow, 1);
    check(SlidingCounter, 1);
    check(AllOf, 1);
    // The log's first entry as well.
    check(SlidingLog, 2);
    for any in AnyAlgorithm::ALL {
        check(any, 1 + u64::from(any == AnyAlgorithm::SlidingLog));
    }
}

#[test]
fn a_new_key_of_a_string_costs_the_string_as_well() {
    let (limiter, _) = roomy::<String, _>(TokenBucket, limit("5/10s"));
    let _ = limiter.try_acquire("ada");
    assert_eq!(allocations(|| _ = limiter.try_acquire("bob")), 2);
    let key = "eve".to_owned();
    assert_eq!(allocations(|| _ = limiter.try_acquire(&key)), 2);
}

#[test]
fn a_list_of_more_than_four_limits_costs_one_more() {
    for limits in 1..=7 {
        let list = vec![limit("5/10s"); limits];
        let (limiter, _) = roomy::<u64, _>(AllOf, list.clone());
        let by_plan = roomy_by_plan(AllOf, list);
        let _ = (limiter.try_acquire(&0), by_plan.try_acquire(&0));
        let expected = 1 + u64::from(limits > 4);
        assert_eq!(
            allocations(|| _ = limiter.try_acquire(&1)),
            expected,
            "{limits}"
        );
        assert_eq!(
            allocations(|| _ = by_plan.try_acquire(&1)),
            expected,
            "{limits}"
        );
        let mut each = [limiter.peek(&1); 7];
        let again = allocations(|| {
            let _ = limiter.try_acquire_each(&1, 1, &mut each);
            let _ = limiter.try_acquire_n(&1, 5);
        });
        assert_eq!(again, 0);
    }
}

#[test]
fn a_log_grows_with_use_and_a_weighted_request_is_one_entry() {
    let grown = |permits: u64, period: &str, cost: u64, requests: u64| -> AllocationInfo {
        let (limiter, ticker) = roomy::<u64, _>(SlidingLog, limit(&format!("{permits}/{period}")));
        let _ = limiter.try_acquire(&0);
        measure(|| {
            for request in 0..requests {
                ticker.set(request);
                assert!(limiter.try_acquire_n(KEY, cost).is_allowed());
            }
        })
    };
    // The entry in the map comes on top.
    let narrow = grown(1_000, "min", 1, 1_000);
    assert!(narrow.bytes_current <= 16 * 1_000 + 500, "{narrow:?}");
    assert!(narrow.count_total <= 15, "amortised: {narrow:?}");
    let wide = grown(1_000_000_000, "3650d", 1, 1_000);
    assert!(wide.bytes_current <= 18 * 1_000 + 500, "{wide:?}");
    let weighted = grown(1_000_000, "min", 1_000_000, 1);
    assert!(weighted.bytes_current < 500, "{weighted:?}");
    let unused = grown(1_000_000, "min", 1, 2);
    assert!(unused.bytes_current < 500, "{unused:?}");
}

#[test]
fn several_limiters_are_asked_without_an_allocation() {
    let (one, _) = roomy::<u64, _>(TokenBucket, limit("5/10s"));
    let (other, _) = roomy::<String, _>(FixedWindow, limit("3/10s"));
    let gates: [&dyn Gate; 3] = [&one.ask(KEY), &other.ask("ada"), &one.ask(&8)];
    assert!(try_acquire_all(&gates).is_allowed());
    let _ = (try_acquire_all(&gates), peek_all(&gates));
    let asked = allocations(|| {
        assert!(try_acquire_all(&gates).is_allowed());
        assert!(peek_all(&gates).is_denied());
        assert!(try_acquire_all(&gates).is_denied());
    });
    assert_eq!(asked, 0);
}
