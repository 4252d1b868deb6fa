//! Keys of every kind, and functions from key to limit, however they behave.

mod support;

#[path = "keys/brittle.rs"]
mod brittle;

use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brittle::{Brittle, LEFT, until_it_holds};
use support::*;
use tollgate::{
    Algorithm, Equivalent, Limit, ManualTicker, PerKey, Plan, RateLimiter, SlidingLog, TokenBucket,
};

fn two_an_hour<K: Hash + Eq>() -> RateLimiter<K, TokenBucket, ManualTicker> {
    RateLimiter::<K>::builder(Limit::per_hour(2))
        .ticker(ManualTicker::new(0))
        .build()
        .expect("a limit")
}

#[test]
fn a_string_is_looked_up_by_a_slice() {
    let limiter = two_an_hour::<String>();
    assert_eq!(limiter.try_acquire("ada").remaining(), 1);
    assert_eq!(limiter.try_acquire(&"ada".to_owned()).remaining(), 0);
    assert_eq!(limiter.peek("bob").remaining(), 2);
    limiter.reset("ada");
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn a_static_slice_is_a_key() {
    let limiter = two_an_hour::<&'static str>();
    assert_eq!(limiter.try_acquire(&"ada").remaining(), 1);
    assert_eq!(limiter.try_acquire(&"ada").remaining(), 0);
    assert_eq!(limiter.tracked_keys(), 1);
}

#[test]
fn an_address_is_a_key() {
    let limiter = two_an_hour::<IpAddr>();
    let (four, six) = (
        IpAddr::from([198, 51, 100, 7]),
        IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
    );
    assert_eq!(limiter.try_acquire_n(&four, 2).remaining(), 0);
    assert_eq!(limiter.try_acquire(&six).remaining(), 1);
    assert!(limiter.try_acquire(&four).is_denied());
}

#[test]
fn a_tuple_is_a_key() {
    let limiter = two_an_hour::<(u64, String)>();
    let search = (7, "/search".to_owned());
    assert_eq!(limiter.try_acquire(&search).remaining(), 1);
    assert_eq!(limiter.try_acquire(&(7, "/".to_owned())).remaining(), 1);
    assert_eq!(limiter.try_acquire(&search).remaining(), 0);
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Route {
    client: u32,
    path: String,
}

#[derive(Hash)]
struct RouteRef<'a> {
    client: u32,
    path: &'a str,
}

impl Equivalent<Route> for RouteRef<'_> {
    fn equivalent(&self, key: &Route) -> bool {
        self.client == key.client && self.path == key.path
    }
}

fn to_route(view: &RouteRef<'_>) -> Route {
    Route {
        client: view.client,
        path: view.path.to_owned(),
    }
}

#[test]
fn a_struct_is_a_key() {
    let limiter = two_an_hour::<Route>();
    let route = |client| Route {
        client,
        path: "/".to_owned(),
    };
    assert_eq!(limiter.try_acquire_n(&route(1), 2).remaining(), 0);
    assert_eq!(limiter.try_acquire(&route(2)).remaining(), 1);
}

#[test]
fn a_struct_is_made_from_a_borrowed_view_when_it_is_first_seen() {
    let limiter = two_an_hour::<Route>();
    let view = |client, path| RouteRef { client, path };
    let made = Cell::new(0);
    let make = |view: &RouteRef<'_>| {
        made.set(made.get() + 1);
        to_route(view)
    };
    assert_eq!(limiter.try_acquire_with(&view(1, "/"), make).remaining(), 1);
    assert_eq!(
        limiter
            .try_acquire_n_with(&view(1, "/"), 1, make)
            .remaining(),
        0
    );
    assert_eq!(limiter.peek_with(&view(1, "/"), make).remaining(), 0);
    assert_eq!(limiter.peek_n_with(&view(1, "/"), 2, make).remaining(), 0);
    assert_eq!(made.get(), 1);
    assert!(
        limiter
            .try_acquire_n_with(&view(2, "/"), 2, make)
            .is_allowed()
    );
    limiter.reset(&view(1, "/"));
    assert_eq!(limiter.tracked_keys(), 1);
    let spent = limiter.try_acquire_with(&view(1, "/"), make);
    limiter.refund(&view(1, "/"), spent);
    assert_eq!(limiter.peek_with(&view(1, "/"), make).remaining(), 2);
}

#[test]
fn no_key_is_made_for_what_spends_nothing_where_one_limit_is_for_all() {
    let limiter = two_an_hour::<String>();
    let unmade = |_: &str| -> String { unreachable!("nothing has to be shown the key") };
    assert_eq!(limiter.peek_with("ada", unmade).remaining(), 2);
    assert!(limiter.peek_n_with("ada", 3, unmade).is_never());
    assert_eq!(limiter.try_acquire_n_with("ada", 0, unmade).remaining(), 2);
    assert!(limiter.try_acquire_n_with("ada", 3, unmade).is_never());
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn a_shared_slice_is_made_from_a_slice() {
    let limiter = two_an_hour::<Arc<str>>();
    let make = |key: &str| Arc::from(key);
    assert_eq!(limiter.try_acquire_with("ada", make).remaining(), 1);
    assert_eq!(
        limiter
            .try_acquire_n_with("ada", 1, |_| unreachable!())
            .remaining(),
        0
    );
    assert!(limiter.peek_with("ada", make).is_denied());
    assert_eq!(limiter.peek_n_with("bob", 2, make).remaining(), 2);
    assert_eq!(limiter.tracked_keys(), 1);
}

/// Hashes alike with all others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clash(u64);

impl Hash for Clash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0.hash(state);
    }
}

#[test]
fn keys_that_hash_alike_are_told_apart() {
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<Clash>::builder(Limit::per_hour(2))
        .hasher(BuildHasherDefault::<DefaultHasher>::default())
        .ticker(ticker.clone())
        .build()
        .expect("a limit");
    for key in 0..100 {
        assert_eq!(limiter.try_acquire(&Clash(key)).remaining(), 1);
    }
    assert_eq!(limiter.tracked_keys(), 100);
    limiter.reset(&Clash(3));
    assert_eq!(limiter.peek(&Clash(3)).remaining(), 2);
    assert_eq!(limiter.peek(&Clash(4)).remaining(), 1);

    // To iterate over a map in which so many clash would never end.
    ticker.advance(Duration::from_secs(3_600));
    assert_eq!(limiter.evict_idle_step(40) + limiter.evict_idle(), 99);
    assert_eq!(limiter.tracked_keys(), 0);
    assert_eq!(limiter.try_acquire(&Clash(4)).remaining(), 1);
}

/// Mixes the bits of a number, in another way for each seed.
#[derive(Clone)]
struct Mixer(u64);

impl BuildHasher for Mixer {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        self.clone()
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 ^= self.0 >> 32;
    }
}

/// Also while the map is copied to another table, which holds a key's former selves as well.
#[test]
fn a_sweep_finds_every_idle_key() {
    for seed in 0..150 {
        let ticker = ManualTicker::new(0);
        let limiter = RateLimiter::<u64>::builder(Limit::per_second(2))
            .hasher(Mixer(seed << 20))
            .ticker(ticker.clone())
            .evict_in_passing(false)
            .build()
            .expect("a limit");
        let mut numbers = Numbers(seed + 1);
        for round in 0..2_000 {
            for _ in 0..=numbers.below(6) {
                let _ = limiter.try_acquire(&numbers.below(20));
            }
            ticker.advance(ns(numbers.below(1_500 * MS)));
            let in_use = |key: &u64| !limiter.peek(key).reset_after().is_zero();
            let in_use = (0..20).filter(in_use).count();
            limiter.evict_idle();
            assert_eq!(limiter.tracked_keys(), in_use, "round {round}, seed {seed}");
        }
    }
}

#[test]
fn all_keys_are_refreshed_even_if_they_hash_alike() {
    let by_limits = |limits: [&str; 2]| turned::<Clash, _>(TokenBucket, limits);
    let (limiter, plans) = by_limits(["2/h", "3/h"]);
    for key in 0..300 {
        assert_eq!(limiter.try_acquire(&Clash(key)).remaining(), 1);
    }
    plans[0].0.store(1, Ordering::Relaxed);
    limiter.refresh_all();
    for key in 0..300 {
        assert_eq!(limiter.peek(&Clash(key)).remaining(), 2, "{key}");
    }
}

type PlanSwitch<A> = Arc<[(AtomicU64, Plan<A>); 2]>;

/// A limiter whose keys have the first of two limits until the switch is turned.
fn turned<K: Hash + Eq + 'static, A: Algorithm + Copy>(
    algorithm: A,
    limits: [&str; 2],
) -> (RateLimiter<K, A, ManualTicker, PerKey>, PlanSwitch<A>) {
    let plan = |text| algorithm.plan(limit(text)).expect("a limit that it keeps");
    let plans = Arc::new(limits.map(|text| (AtomicU64::new(0), plan(text))));
    let limiter = RateLimiter::by_plan({
        let plans = plans.clone();
        move |_: &K| {
            let turned = plans[0].0.load(Ordering::Relaxed) as usize;
            plans[turned].1.clone()
        }
    })
    .ticker(ManualTicker::new(0))
    .build()
    .expect("accepted plans");
    (limiter, plans)
}

#[test]
fn a_key_that_panics_while_it_is_refreshed_stays_usable_and_loses_nothing() {
    fn check(algorithm: impl Algorithm + Copy) {
        for all in [false, true] {
            let (limiter, plans) = turned::<Brittle, _>(algorithm, ["5/10s", "8/10s"]);
            assert_eq!(limiter.try_acquire_n(&Brittle(1), 3).remaining(), 2);
            plans[0].0.store(1, Ordering::Relaxed);
            let broke = until_it_holds(|| {
                if all {
                    limiter.refresh_all();
                } else {
                    limiter.refresh(&Brittle(1));
                }
                // Reached only by the refresh that held.
                LEFT.set(usize::MAX);
            });
            assert!(broke >= 3, "{broke}");
            assert_eq!(limiter.peek(&Brittle(1)).remaining(), 5);
            assert_eq!(limiter.try_acquire_n(&Brittle(1), 5).remaining(), 0);
            assert!(limiter.try_acquire(&Brittle(1)).is_denied());
            assert_eq!(limiter.tracked_keys(), 1);
        }
    }
    check(TokenBucket);
    check(tollgate::FixedWindow);
    check(SlidingLog);
    check(tollgate::SlidingCounter);
    check(tollgate::AllOf);
    check(tollgate::AnyAlgorithm::SlidingLog);
}

#[test]
fn a_refresh_that_panics_leaves_the_old_limit_in_force() {
    let (limiter, plans) = turned::<Brittle, _>(TokenBucket, ["5/10s", "8/10s"]);
    assert_eq!(limiter.try_acquire_n(&Brittle(1), 3).remaining(), 2);
    plans[0].0.store(1, Ordering::Relaxed);
    for uses in 0..3 {
        LEFT.set(uses);
        let broken = catch_unwind(AssertUnwindSafe(|| limiter.refresh(&Brittle(1))));
        LEFT.set(usize::MAX);
        assert!(broken.is_err(), "{uses}");
        assert_eq!(limiter.peek(&Brittle(1)).remaining(), 2);
    }
}

#[test]
fn a_key_that_panics_while_it_is_begun_or_evicted_is_counted_once_or_not_at_all() {
    let limiter = two_an_hour::<Brittle>();
    let mut allowed = 0;
    until_it_holds(|| allowed += u64::from(limiter.try_acquire(&Brittle(1)).is_allowed()));
    assert_eq!(limiter.peek(&Brittle(1)).remaining(), 2 - allowed);

    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<Brittle>::builder(Limit::per_second(2))
        .ticker(ticker.clone())
        .build()
        .expect("a limit");
    let _ = limiter.try_acquire(&Brittle(1));
    ticker.set(S);
    until_it_holds(|| _ = limiter.evict_idle());
    assert_eq!(limiter.try_acquire(&Brittle(1)).remaining(), 1);
    limiter.reset(&Brittle(1));
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn a_limit_function_that_panics_leaves_the_map_as_it_was() {
    let plan = TokenBucket.plan(limit("5/10s")).expect("a limit");
    let limiter = RateLimiter::by_plan(move |key: &u64| {
        assert_ne!(*key % 2, 0, "no limit for even keys");
        plan.clone()
    })
    .ticker(ManualTicker::new(0))
    .build()
    .expect("accepted plans");
    let _ = limiter.try_acquire(&1);
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| limiter.try_acquire(&2))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| limiter.peek(&4))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| limiter.try_acquire_n(&6, 0))).is_err());
    }
    assert_eq!(limiter.tracked_keys(), 1);
    assert_eq!(limiter.try_acquire(&1).remaining(), 3);
    assert_eq!(limiter.try_acquire(&3).remaining(), 4);
}

#[test]
fn a_limit_function_that_panics_on_a_refresh_leaves_every_key_as_it_was() {
    let calls = AtomicU64::new(0);
    let plan = SlidingLog.plan(limit("5/10s")).expect("a limit");
    let raised = SlidingLog.plan(limit("9/10s")).expect("a limit");
    let limiter =
        RateLimiter::by_plan(move |_: &u64| match calls.fetch_add(1, Ordering::Relaxed) {
            0..=2 => plan.clone(),
            3 | 4 => panic!("the limits cannot be read"),
            _ => raised.clone(),
        })
        .ticker(ManualTicker::new(0))
        .build()
        .expect("accepted plans");
    for key in 0..3 {
        let _ = limiter.try_acquire_n(&key, 2);
    }
    assert!(catch_unwind(AssertUnwindSafe(|| limiter.refresh(&1))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| limiter.refresh_all())).is_err());
    for key in 0..3 {
        assert_eq!(limiter.try_acquire(&key).remaining(), 2, "{key}");
    }
    limiter.refresh_all();
    for key in 0..3 {
        assert_eq!(limiter.try_acquire(&key).remaining(), 5, "{key}");
    }
}

type Itself = RateLimiter<u64, TokenBucket, ManualTicker, PerKey>;

/// A limiter whose limit function asks that very limiter `ask`.
fn asks_itself(limiter: &'static OnceLock<Itself>, ask: fn(&Itself, u64)) -> &'static Itself {
    thread_local! {
        static ASKING: Cell<bool> = const { Cell::new(false) };
    }
    let plan = TokenBucket.plan(limit("5/10s")).expect("a limit");
    limiter.get_or_init(|| {
        RateLimiter::by_plan(move |key: &u64| {
            if let Some(limiter) = limiter.get()
                && !ASKING.replace(true)
            {
                ask(limiter, *key);
                ASKING.set(false);
            }
            plan.clone()
        })
        .ticker(ManualTicker::new(0))
        .build()
        .expect("accepted plans")
    })
}

#[test]
fn a_limit_function_may_ask_its_own_limiter() {
    static LIMITER: OnceLock<Itself> = OnceLock::new();
    let limiter = asks_itself(&LIMITER, |limiter, key| {
        let _ = limiter.try_acquire(&key);
        let _ = limiter.try_acquire(&1_000);
        assert_eq!(limiter.peek(&2_000).remaining(), 5);
        let _ = limiter.evict_idle();
    });
    assert_eq!(
        limiter.try_acquire(&1).remaining(),
        3,
        "its own request was first"
    );
    assert_eq!(limiter.tracked_keys(), 2);
    assert_eq!(limiter.peek(&1_000).remaining(), 4);
    limiter.refresh(&1);
    assert_eq!(limiter.try_acquire(&1).remaining(), 1, "and once more");
    limiter.refresh_all();
    assert_eq!(limiter.peek(&1).remaining(), 0);
}

#[test]
fn a_limit_function_may_reset_the_key_that_it_is_asked_for() {
    static LIMITER: OnceLock<Itself> = OnceLock::new();
    let limiter = asks_itself(&LIMITER, |limiter, key| limiter.reset(&key));
    assert_eq!(limiter.try_acquire_n(&1, 3).remaining(), 2);
    limiter.refresh(&1);
    assert_eq!(limiter.tracked_keys(), 0);
    assert_eq!(limiter.try_acquire_n(&1, 3).remaining(), 2);
}

#[test]
fn a_limit_function_may_refresh_the_key_that_it_is_asked_for() {
    static LIMITER: OnceLock<Itself> = OnceLock::new();
    let limiter = asks_itself(&LIMITER, |limiter, key| {
        thread_local! {
            static CALLS: Cell<u64> = const { Cell::new(0) };
        }
        CALLS.set(CALLS.get() + 1);
        assert!(CALLS.get() < 1_000, "asked without end");
        limiter.refresh(&key);
    });
    assert_eq!(limiter.try_acquire_n(&1, 3).remaining(), 2);
    limiter.refresh(&1);
    assert_eq!(limiter.try_acquire(&1).remaining(), 1);
}

#[test]
fn the_limit_is_asked_for_once_when_the_key_is_begun() {
    let asked = Arc::new(AtomicU64::new(0));
    let plan = TokenBucket.plan(limit("5/10s")).expect("a limit");
    let limiter = RateLimiter::<String>::by_plan({
        let asked = asked.clone();
        move |key: &String| {
            let key: &str = key.borrow();
            assert_eq!(key, "ada");
            asked.fetch_add(1, Ordering::Relaxed);
            plan.clone()
        }
    })
    .build()
    .expect("accepted plans");
    for _ in 0..9 {
        let _ = limiter.try_acquire("ada");
        let _ = limiter.peek("ada");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    limiter.refresh("ada");
    limiter.refresh("bob");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}
