//! What does one check cost, with nobody else there?

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tollgate::{AllOf, FixedWindow, SlidingCounter, SlidingLog, TokenBucket};
use tollgate_benches::contenders::{ByHand, Contender, Rate, Tollgate};
use tollgate_benches::for_each_contender;
use tollgate_benches::keys::{Asked, Key};

/// Asks again and again, and checks that all were allowed, or none.
fn ask<K: Key, C: Contender<K>>(
    criterion: &mut Criterion,
    group: &str,
    work: &str,
    asked: &Asked<K>,
    (rate, cost): (Rate, u32),
) {
    let contender = C::new(rate);
    // Every key is known, and has spent its one permit if it has no more.
    let known = contender.ask(asked.keys.iter(), cost);
    assert_eq!(known, asked.keys.len() as u64);
    let expected = u64::from(rate == Rate::Plenty);
    let mut at = 0;
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::new(C::NAME, work), |bencher| {
        bencher.iter_custom(|times| {
            let since = Instant::now();
            let allowed = contender.ask(asked.from(at, times), cost);
            let taken = since.elapsed();
            assert_eq!(allowed, times * expected);
            at += times;
            taken
        });
    });
}

fn keys_of<K: Key>(criterion: &mut Criterion) {
    let mixes = [
        ("1 key", Asked::<K>::evenly(1)),
        ("1,000 keys", Asked::evenly(1_000)),
        ("1,000,000 keys", Asked::evenly(1_000_000)),
        ("Zipf", Asked::zipf(1_000_000)),
    ];
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        let group = format!("one thread, {}, {answer}", K::NAME);
        for (work, asked) in &mixes {
            macro_rules! ask {
                ($contender:ty) => {
                    ask::<K, $contender>(criterion, &group, work, asked, (rate, 1));
                };
            }
            for_each_contender!(K, ask);
        }
    }
}

fn keys(criterion: &mut Criterion) {
    keys_of::<u64>(criterion);
    keys_of::<IpAddr>(criterion);
    keys_of::<String>(criterion);
}

/// What does a request for several permits cost?
fn weighted(criterion: &mut Criterion) {
    let asked = Asked::<u64>::evenly(1_000);
    macro_rules! ask {
        ($($contender:ty),+) => {
            $(ask::<u64, $contender>(
                criterion,
                "one thread, u64, three permits at once",
                "1,000 keys",
                &asked,
                (Rate::Plenty, 3),
            );)+
        };
    }
    use std::collections::hash_map::RandomState;
    use tollgate_benches::contenders::{Governed, Locked};
    ask!(
        Tollgate<u64>,
        Governed<u64, foldhash::fast::RandomState>,
        Governed<u64, RandomState>,
        Locked<u64>
    );
}

/// What does the first request of a key cost, when a million of them come one after the other?
fn first_touch_of<K: Key>(criterion: &mut Criterion) {
    const KEYS: u64 = 1_000_000;
    let asked = Asked::<K>::evenly(KEYS as usize);
    let mut group = criterion.benchmark_group(format!("one thread, {}, first touch", K::NAME));
    group.sample_size(10);
    group.throughput(Throughput::Elements(KEYS));
    fn ask<K: Key, C: Contender<K>>(asked: &Asked<K>, times: u64) -> Duration {
        (0..times)
            .map(|_| {
                let contender = C::new(Rate::OneAnHour);
                let since = Instant::now();
                assert_eq!(contender.ask(asked.keys.iter(), 1), KEYS);
                since.elapsed()
            })
            .sum()
    }
    macro_rules! ask {
        ($contender:ty) => {
            group.bench_function(
                BenchmarkId::new(<$contender as Contender<K>>::NAME, "1,000,000 keys"),
                |bencher| bencher.iter_custom(|times| ask::<K, $contender>(&asked, times)),
            );
        };
    }
    for_each_contender!(K, ask);
}

fn first_touch(criterion: &mut Criterion) {
    first_touch_of::<u64>(criterion);
    first_touch_of::<String>(criterion);
}

/// What does the limiter add to the map, the clock and the step that it is made of?
fn raw_step(criterion: &mut Criterion) {
    let works = [
        ("1 key", Asked::<u64>::evenly(1)),
        ("1,000,000 keys", Asked::evenly(1_000_000)),
    ];
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        let group = format!("one thread, u64, and the raw step, {answer}");
        for (work, asked) in &works {
            ask::<u64, Tollgate<u64>>(criterion, &group, work, asked, (rate, 1));
            ask::<u64, ByHand>(criterion, &group, work, asked, (rate, 1));
        }
    }
}

/// What does the clock cost?
fn clocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one thread, u64, 1 key, each clock, allowed");
    group.throughput(Throughput::Elements(1));
    macro_rules! ask {
        ($($name:literal, $ticker:expr;)+) => {
            $({
                let limiter = tollgate::RateLimiter::<u64>::builder(Rate::Plenty.limit())
                    .ticker($ticker)
                    .build()
                    .expect("a limit");
                group.bench_function(BenchmarkId::new("tollgate", $name), |bencher| {
                    bencher.iter_custom(|times| {
                        let since = Instant::now();
                        let allowed = (0..times)
                            .filter(|_| limiter.try_acquire(std::hint::black_box(&7)).is_allowed())
                            .count();
                        let taken = since.elapsed();
                        assert_eq!(allowed as u64, times);
                        taken
                    });
                });
            })+
        };
    }
    ask! {
        "TscTicker", tollgate::TscTicker::new();
        "InstantTicker", tollgate::InstantTicker::new();
        "CoarseTicker", tollgate::CoarseTicker::start(Duration::from_millis(1)).expect("a thread");
    }
}

/// What does a key cost for which there is no place, where a hundred thousand are in use?
fn invented_keys(criterion: &mut Criterion) {
    const CAP: u64 = 100_000;
    let limiter = tollgate::RateLimiter::<u64>::builder(Rate::OneAnHour.limit())
        .max_keys(CAP as usize)
        .build()
        .expect("a limit");
    for known in 0..CAP {
        assert!(limiter.try_acquire(&u64::number(known)).is_allowed());
    }
    let mut invented = CAP;
    let mut group = criterion.benchmark_group("one thread, u64, new keys for a full limiter");
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::new("tollgate", "100,000 in use"), |bencher| {
        bencher.iter_custom(|times| {
            let since = Instant::now();
            let keys = (invented..invented + times).map(u64::number);
            let refused = keys.filter(|key| limiter.try_acquire(key).is_untracked());
            assert_eq!(refused.count() as u64, times);
            invented += times;
            since.elapsed()
        });
    });
    assert_eq!(limiter.tracked_keys() as u64, CAP);
}

/// What does each algorithm cost?
fn algorithms(criterion: &mut Criterion) {
    let asked = Asked::<u64>::evenly(1_000);
    macro_rules! ask {
        ($($algorithm:ident, $rate:expr, $answer:literal;)+) => {
            $(ask::<u64, Tollgate<u64, $algorithm>>(
                criterion,
                concat!("one thread, u64, each algorithm, ", $answer),
                stringify!($algorithm),
                &asked,
                ($rate, 1),
            );)+
        };
    }
    ask! {
        TokenBucket, Rate::Plenty, "allowed";
        AllOf, Rate::Plenty, "allowed";
        TokenBucket, Rate::OneAnHour, "denied";
        FixedWindow, Rate::OneAnHour, "denied";
        SlidingLog, Rate::OneAnHour, "denied";
        SlidingCounter, Rate::OneAnHour, "denied";
        AllOf, Rate::OneAnHour, "denied";
    }
    // Without a burst beyond the permits, which windows and logs have not.
    macro_rules! windows {
        ($($algorithm:ident, $limit:expr;)+) => {
            $({
                let limiter = tollgate::RateLimiter::<u64>::builder($limit)
                    .algorithm($algorithm)
                    .build()
                    .expect("a limit");
                let mut at = 0;
                let mut group =
                    criterion.benchmark_group("one thread, u64, each algorithm, allowed");
                group.throughput(Throughput::Elements(1));
                let id = BenchmarkId::new("tollgate", stringify!($algorithm));
                group.bench_function(id, |bencher| {
                    bencher.iter_custom(|times| {
                        let since = Instant::now();
                        let allowed = |key: &&u64| limiter.try_acquire(*key).is_allowed();
                        let allowed = asked.from(at, times).filter(allowed).count();
                        let taken = since.elapsed();
                        assert_eq!(allowed as u64, times);
                        at += times;
                        taken
                    });
                });
            })+
        };
    }
    let plenty = tollgate::Limit::per_hour(1_000_000_000);
    // The log forgets after 20 µs: it stays short enough to be kept in a bench without end.
    let short = tollgate::Limit::new(2_000, Duration::from_micros(20)).expect("a limit");
    windows! {
        FixedWindow, plenty;
        SlidingCounter, plenty;
        SlidingLog, short;
    }
}

/// What does a limiter without keys cost?
fn unkeyed(criterion: &mut Criterion) {
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        let mut group = criterion.benchmark_group(format!("one thread, no keys, {answer}"));
        group.throughput(Throughput::Elements(1));
        let ours = tollgate::UnkeyedLimiter::new(rate.limit()).expect("a limit");
        let governor = governor::RateLimiter::direct(rate.quota());
        let _ = (ours.try_acquire(), governor.check());
        let expected = u64::from(rate == Rate::Plenty);
        macro_rules! ask {
            ($name:literal, $check:expr) => {
                group.bench_function(BenchmarkId::new($name, "one state"), |bencher| {
                    bencher.iter_custom(|times| {
                        let since = Instant::now();
                        let allowed = (0..times).filter(|_| $check).count() as u64;
                        let taken = since.elapsed();
                        assert_eq!(allowed, times * expected);
                        taken
                    });
                });
            };
        }
        ask!("tollgate", ours.try_acquire().is_allowed());
        ask!("governor", governor.check().is_ok());
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(450));
    targets = keys, weighted, first_touch, raw_step, clocks, invented_keys, algorithms, unkeyed
}
criterion_main!(benches);
