//! What do several threads get done together?

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;
use tollgate::{AllOf, SlidingCounter, SlidingLog};
use tollgate_benches::contenders::{Contender, Rate, Tollgate};
use tollgate_benches::for_each_contender;
use tollgate_benches::keys::{Asked, Key};
use tollgate_benches::threads::together;

const THREADS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

fn ask<K: Key, C: Contender<K>>(
    criterion: &mut Criterion,
    group: &str,
    asked: &Asked<K>,
    rate: Rate,
) {
    let contender = C::new(rate);
    let known = contender.ask(asked.keys.iter(), 1);
    assert_eq!(known, asked.keys.len() as u64);
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(1));
    for threads in THREADS {
        group.bench_function(
            BenchmarkId::new(C::NAME, format!("{threads} threads")),
            |bencher| {
                bencher.iter_custom(|times| {
                    let (taken, allowed) = together(&contender, asked, threads, times);
                    let times = times.div_ceil(threads) * threads;
                    assert_eq!(allowed, times * u64::from(rate == Rate::Plenty));
                    taken
                });
            },
        );
    }
}

fn threads(criterion: &mut Criterion) {
    let mixes = [
        ("one hot key", Asked::<u64>::evenly(1)),
        ("1,000 keys", Asked::evenly(1_000)),
        ("1,000 keys, Zipf", Asked::zipf(1_000)),
    ];
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        for (work, asked) in &mixes {
            let group = format!("many threads, u64, {work}, {answer}");
            macro_rules! ask {
                ($contender:ty) => {
                    ask::<u64, $contender>(criterion, &group, asked, rate);
                };
            }
            for_each_contender!(u64, ask);
        }
    }
}

/// What do threads get done behind a sequence lock?
fn several_words(criterion: &mut Criterion) {
    let hot = Asked::<u64>::evenly(1);
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        let group = format!("many threads, u64, one hot key, AllOf, {answer}");
        ask::<u64, Tollgate<u64, AllOf>>(criterion, &group, &hot, rate);
    }
    let group = "many threads, u64, one hot key, SlidingCounter, denied";
    ask::<u64, Tollgate<u64, SlidingCounter>>(criterion, group, &hot, Rate::OneAnHour);
    let group = "many threads, u64, one hot key, SlidingLog, denied";
    ask::<u64, Tollgate<u64, SlidingLog>>(criterion, group, &hot, Rate::OneAnHour);
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(11)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(350));
    targets = threads, several_words
}
criterion_main!(benches);
