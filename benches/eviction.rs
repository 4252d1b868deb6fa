//! How long does a sweep of a million idle keys take, what do other threads notice of it, and how long
//! does a request take that makes the table grow?

use std::collections::hash_map::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tollgate::RateLimiter;
use tollgate_benches::contenders::{Contender, Governed, Locked, Rate, Tollgate};
use tollgate_benches::keys::{Asked, Key};
use tollgate_benches::report;

const KEYS: usize = 1_000_000;
const ROUNDS: usize = 5;

/// What is measured, medians over the rounds.
struct Figures {
    sweep: Vec<Duration>,
    usual: Vec<Duration>,
    p999: Vec<Duration>,
    longest: Vec<Duration>,
}

fn median(figures: &mut [Duration]) -> Duration {
    figures.sort_unstable();
    figures[figures.len() / 2]
}

/// A thread asks for one key all the time, and notes how long each answer took.
fn latencies<C: Contender<u64>>(contender: &C, stop: &AtomicBool) -> Vec<Duration> {
    let key = u64::number(1 << 40);
    let mut taken = Vec::with_capacity(1 << 24);
    let mut before = Instant::now();
    while !stop.load(Ordering::Relaxed) && taken.len() < taken.capacity() {
        let _ = contender.ask([&key].into_iter(), 1);
        let now = Instant::now();
        taken.push(now - before);
        before = now;
    }
    taken.sort_unstable();
    taken
}

fn quantile(sorted: &[Duration], per_mille: usize) -> Duration {
    sorted[(sorted.len() - 1) * per_mille / 1_000]
}

fn round<C: Contender<u64>>(asked: &Asked<u64>, figures: &mut Figures) {
    let contender = C::new(Rate::Quick);
    assert_eq!(contender.ask(asked.keys.iter(), 1), KEYS as u64);
    thread::sleep(Duration::from_millis(2_500));
    let watch = |work: &dyn Fn()| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let other = scope.spawn(|| latencies(&contender, &stop));
            thread::sleep(Duration::from_millis(5));
            work();
            stop.store(true, Ordering::Relaxed);
            other.join().expect("nobody panics")
        })
    };
    // Beside nothing, as long as a sweep takes.
    let idle = watch(&|| thread::sleep(Duration::from_millis(150)));
    figures.usual.push(quantile(&idle, 999));
    let mut sweep = Duration::ZERO;
    let cell = std::cell::Cell::new(sweep);
    let beside = watch(&|| {
        let since = Instant::now();
        // The key that is asked for may be in use.
        assert!(contender.evict().is_some_and(|keys| keys <= 1));
        cell.set(since.elapsed());
    });
    sweep += cell.get();
    figures.sweep.push(sweep);
    figures.p999.push(quantile(&beside, 999));
    figures.longest.push(*beside.last().expect("it asked"));
}

/// Ours, told beforehand how many keys will come.
struct Roomy(RateLimiter<u64>);

impl Contender<u64> for Roomy {
    const NAME: &'static str = "tollgate, told its capacity";

    fn new(rate: Rate) -> Self {
        let builder = RateLimiter::<u64>::builder(rate.limit()).capacity(KEYS);
        Self(builder.build().expect("a limit"))
    }

    fn ask<'k>(&self, keys: impl Iterator<Item = &'k u64>, cost: u32) -> u64 {
        let allowed = |key: &&u64| self.0.try_acquire_n(*key, cost.into()).is_allowed();
        keys.filter(allowed).count() as u64
    }
}

/// A million keys come, one after the other: the time of the request in a thousand that takes longest
/// but one, and of the longest; and the same for another thread, which asks for one key meanwhile.
fn growing<C: Contender<u64>>(asked: &Asked<u64>) -> [Duration; 4] {
    let contender = C::new(Rate::OneAnHour);
    let _ = contender.ask([&u64::number(1 << 40)].into_iter(), 1);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(|| latencies(&contender, &stop));
        thread::sleep(Duration::from_millis(5));
        let mut taken: Vec<_> = asked
            .keys
            .iter()
            .map(|key| {
                let since = Instant::now();
                assert_eq!(contender.ask([key].into_iter(), 1), 1);
                since.elapsed()
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        taken.sort_unstable();
        let other = other.join().expect("nobody panics");
        [&taken, &other]
            .map(|sorted| [quantile(sorted, 999), *sorted.last().expect("it asked")])
            .concat()
            .try_into()
            .expect("four")
    })
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn us(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

fn main() {
    sweeps();
    growth();
}

fn growth() {
    let asked = Asked::<u64>::evenly(KEYS);
    type Grow = fn(&Asked<u64>) -> [Duration; 4];
    let contenders: [(&str, Grow); 4] = [
        (
            <Tollgate<u64> as Contender<u64>>::NAME,
            growing::<Tollgate<u64>>,
        ),
        (Roomy::NAME, growing::<Roomy>),
        (
            <Governed<u64, RandomState> as Contender<u64>>::NAME,
            growing::<Governed<u64, RandomState>>,
        ),
        (
            <Locked<u64> as Contender<u64>>::NAME,
            growing::<Locked<u64>>,
        ),
    ];
    let mut rounds = contenders.map(|_| [const { Vec::new() }; 4]);
    for _ in 0..ROUNDS {
        for ((_, grow), figures) in contenders.iter().zip(&mut rounds) {
            for (figure, all) in grow(&asked).into_iter().zip(figures) {
                all.push(figure);
            }
        }
    }
    let rows: Vec<_> = contenders
        .iter()
        .zip(&mut rounds)
        .map(|((name, _), [usual, longest, others, others_longest])| {
            vec![
                (*name).to_owned(),
                us(median(usual)),
                ms(median(longest)),
                us(median(others)),
                ms(median(others_longest)),
            ]
        })
        .collect();
    report::keep(
        "growth",
        "How long is the longest request",
        "While a million keys come, one after the other; and for a thread beside, which asks for one \
         key that is known.",
        &["", "p99.9", "longest", "beside: p99.9", "beside: longest"],
        &rows,
    );
}

fn sweeps() {
    let asked = Asked::<u64>::evenly(KEYS);
    let names = [
        <Tollgate<u64> as Contender<u64>>::NAME,
        <Governed<u64, RandomState> as Contender<u64>>::NAME,
        <Locked<u64> as Contender<u64>>::NAME,
    ];
    let mut all = names.map(|_| Figures {
        sweep: Vec::new(),
        usual: Vec::new(),
        p999: Vec::new(),
        longest: Vec::new(),
    });
    // Interleaved, so that a slow moment of the machine hits all alike.
    for _ in 0..ROUNDS {
        round::<Tollgate<u64>>(&asked, &mut all[0]);
        round::<Governed<u64, RandomState>>(&asked, &mut all[1]);
        round::<Locked<u64>>(&asked, &mut all[2]);
    }
    let rows: Vec<_> = names
        .iter()
        .zip(&mut all)
        .map(|(name, figures)| {
            vec![
                (*name).to_owned(),
                ms(median(&mut figures.sweep)),
                us(median(&mut figures.usual)),
                us(median(&mut figures.p999)),
                us(median(&mut figures.longest)),
            ]
        })
        .collect();
    report::keep(
        "eviction",
        "How long does a sweep of a million idle keys take",
        "Beside a thread that asks for one key, and notes how long each answer took.",
        &[
            "",
            "sweep",
            "p99.9 beside nothing",
            "p99.9 beside the sweep",
            "longest",
        ],
        &rows,
    );
}
