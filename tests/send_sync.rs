//! What may be sent to and shared between threads: everything. Checked when this is compiled.

use std::sync::Arc;

use tollgate::{
    AllOf, AnyAlgorithm, Ask, AskUnkeyed, BackgroundBuilder, BuildError, Builder, CoarseTicker,
    Decision, Evictor, FixedWindow, Gcra, Gone, InstantTicker, Limit, LimitError, Limits,
    ManualTicker, OneLimit, ParseAlgorithmError, ParseLimitError, PerKey, Plan, RateLimiter,
    Reading, SlidingCounter, SlidingLog, Standing, Ticker, TokenBucket, TscTicker, UnkeyedLimiter,
    Verdict,
};

type Hasher = std::hash::RandomState;

const fn is_send_and_sync<T: Send + Sync>() {}
const fn is_a_value<T: Copy + Eq + Send + Sync + 'static>() {}
const fn is_an_error<T: std::error::Error + Send + Sync + 'static>() {}

/// The limiters, builders and parts of them, with this algorithm.
macro_rules! with_algorithm {
    ($($algorithm:ty),+) => {$(
        is_a_value::<$algorithm>();
        is_send_and_sync::<Plan<$algorithm>>();
        is_send_and_sync::<UnkeyedLimiter<$algorithm>>();
        is_send_and_sync::<UnkeyedLimiter<$algorithm, ManualTicker>>();
        is_send_and_sync::<AskUnkeyed<'_, $algorithm, TscTicker>>();
        with_source!($algorithm, OneLimit);
        with_source!($algorithm, PerKey);
    )+};
}

macro_rules! with_source {
    ($algorithm:ty, $source:ty) => {
        is_send_and_sync::<RateLimiter<String, $algorithm, TscTicker, $source>>();
        is_send_and_sync::<RateLimiter<Arc<str>, $algorithm, CoarseTicker, $source, Hasher>>();
        is_send_and_sync::<RateLimiter<u64, $algorithm, InstantTicker, $source>>();
        is_send_and_sync::<RateLimiter<u64, $algorithm, Arc<dyn Ticker>, $source>>();
        is_send_and_sync::<Arc<RateLimiter<(u64, String), $algorithm, ManualTicker, $source>>>();
        is_send_and_sync::<Builder<String, $algorithm, TscTicker, $source, Hasher>>();
        is_send_and_sync::<BackgroundBuilder<String, $algorithm, TscTicker, $source, Hasher>>();
        is_send_and_sync::<
            Ask<'_, RateLimiter<String, $algorithm, TscTicker, $source>, str, fn(&str) -> String>,
        >();
    };
}

const _: () = {
    with_algorithm!(
        TokenBucket,
        Gcra,
        FixedWindow,
        SlidingLog,
        SlidingCounter,
        AllOf,
        AnyAlgorithm
    );

    is_a_value::<Limit>();
    is_a_value::<Decision>();
    is_a_value::<Verdict>();
    is_a_value::<Standing>();
    is_a_value::<Reading>();
    is_a_value::<Gone>();
    is_send_and_sync::<OneLimit>();
    is_send_and_sync::<PerKey>();
    is_send_and_sync::<Limits>();
    is_send_and_sync::<Evictor>();

    is_send_and_sync::<TscTicker>();
    is_send_and_sync::<InstantTicker>();
    is_send_and_sync::<CoarseTicker>();
    is_send_and_sync::<ManualTicker>();

    is_an_error::<LimitError>();
    is_an_error::<ParseLimitError>();
    is_an_error::<ParseAlgorithmError>();
    is_an_error::<BuildError>();
};

#[test]
fn a_limiter_lives_in_a_static_and_is_used_from_other_threads() {
    use std::sync::LazyLock;

    static LIMITER: LazyLock<RateLimiter<String>> =
        LazyLock::new(|| RateLimiter::new(Limit::per_day(8)).expect("a limit"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert!(LIMITER.try_acquire("ada").is_allowed());
                assert!(LIMITER.try_acquire("ada").is_allowed());
            });
        }
    });
    assert!(LIMITER.try_acquire("ada").is_denied());
}

#[test]
fn a_limiter_moves_to_another_thread_and_back() {
    let limiter = RateLimiter::<u64>::new(Limit::per_day(2)).expect("a limit");
    let limiter = std::thread::spawn(move || {
        let _ = limiter.try_acquire(&1);
        limiter
    })
    .join()
    .expect("no panic");
    assert_eq!(limiter.try_acquire(&1).remaining(), 0);
}
