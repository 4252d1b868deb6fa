//! How many checks does tollgate make in the time of one of governor's?
//!
//! The contenders take turns, some milliseconds each, and every turn of theirs is compared with ours
//! beside it: on a shared machine a whole bench may fall into a slow moment, and then its neighbour's
//! does not.

use std::collections::hash_map::RandomState;
use std::time::{Duration, Instant};
use tollgate::UnkeyedLimiter;
use tollgate_benches::contenders::{Contender, Governed, Pinned, Rate, Tollgate};
use tollgate_benches::keys::{Asked, Key};
use tollgate_benches::report;
use tollgate_benches::threads::together;

const ROUNDS: usize = 31;

/// How long a turn takes, about.
const TURN: Duration = Duration::from_millis(12);

/// So many checks: the time that they take.
type Turn<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

fn turn<'a, K: Key, C: Contender<K>>(asked: &'a Asked<K>, rate: Rate, threads: u64) -> Turn<'a> {
    let contender = C::new(rate);
    assert_eq!(contender.ask(asked.keys.iter(), 1), asked.keys.len() as u64);
    let mut at = 0;
    Box::new(move |times| {
        let (taken, allowed, times) = if threads == 1 {
            let since = Instant::now();
            let allowed = contender.ask(asked.from(at, times), 1);
            (since.elapsed(), allowed, times)
        } else {
            let (taken, allowed) = together(&contender, asked, threads, times);
            (taken, allowed, times.div_ceil(threads) * threads)
        };
        at += times;
        assert_eq!(allowed, times * u64::from(rate == Rate::Plenty));
        taken
    })
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A row of the table: ours, and how many of ours are made in the time of one of each other's.
fn row(work: &str, mut turns: Vec<Turn<'_>>) -> Vec<String> {
    // Warm, and as many as fill a turn.
    let times = turns
        .iter_mut()
        .map(|turn| {
            let few = turn(20_000).as_secs_f64() / 20_000.0;
            ((TURN.as_secs_f64() / few) as u64).min(2_000_000)
        })
        .min()
        .expect("someone takes turns");
    let rounds: Vec<Vec<f64>> = (0..ROUNDS)
        .map(|_| {
            let nanoseconds = |turn: &mut Turn<'_>| turn(times).as_nanos() as f64 / times as f64;
            turns.iter_mut().map(nanoseconds).collect()
        })
        .collect();
    let mut cells = vec![work.to_owned()];
    let of = |index: usize| median(rounds.iter().map(|round| round[index]).collect());
    let over = |theirs: usize, ours: usize| {
        median(
            rounds
                .iter()
                .map(|round| round[theirs] / round[ours])
                .collect(),
        )
    };
    cells.push(format!("{:.1}", of(0)));
    let governor = turns.len().min(3) - 1;
    for ours in 0..governor {
        for theirs in governor..turns.len() {
            cells.push(format!("{:.2}", over(theirs, ours)));
        }
    }
    println!("{}", cells.join(" | "));
    cells
}

fn keyed<K: Key>(work: &str, asked: &Asked<K>, rate: Rate, threads: u64) -> Vec<String> {
    let turns = vec![
        turn::<K, Tollgate<K>>(asked, rate, threads),
        turn::<K, Pinned<K>>(asked, rate, threads),
        turn::<K, Governed<K, RandomState>>(asked, rate, threads),
        turn::<K, Governed<K, foldhash::fast::RandomState>>(asked, rate, threads),
    ];
    row(&format!("{}, {work}", K::NAME), turns)
}

fn unkeyed(rate: Rate, answer: &str) -> Vec<String> {
    let ours = UnkeyedLimiter::new(rate.limit()).expect("a limit");
    let governor = governor::RateLimiter::direct(rate.quota());
    let _ = (ours.try_acquire(), governor.check());
    macro_rules! turn {
        ($allows:expr) => {
            Box::new(|times| {
                let since = Instant::now();
                let allowed = (0..times).filter(|_| $allows).count() as u64;
                assert_eq!(allowed, times * u64::from(rate == Rate::Plenty));
                since.elapsed()
            })
        };
    }
    let turns: Vec<Turn<'_>> = vec![
        turn!(ours.try_acquire().is_allowed()),
        turn!(governor.check().is_ok()),
    ];
    let mut cells = row(&format!("no keys, {answer}"), turns);
    cells.extend(["–"; 3].map(str::to_owned));
    cells
}

fn main() {
    let (one, some, many) = (
        Asked::<u64>::evenly(1),
        Asked::evenly(1_000),
        Asked::evenly(1_000_000),
    );
    let zipf = Asked::<u64>::zipf(1_000);
    let strings = Asked::<String>::evenly(1_000_000);
    let mut rows = Vec::new();
    for (rate, answer) in [(Rate::Plenty, "allowed"), (Rate::OneAnHour, "denied")] {
        let single = [
            ("1 key", &one),
            ("1,000 keys", &some),
            ("1,000,000 keys", &many),
        ];
        for (keys, asked) in single {
            rows.push(keyed(&format!("{keys}, {answer}"), asked, rate, 1));
        }
        rows.push(keyed(
            &format!("1,000,000 keys, {answer}"),
            &strings,
            rate,
            1,
        ));
        for (keys, asked) in [("one hot key", &one), ("1,000 keys, Zipf", &zipf)] {
            for threads in [2, 8] {
                let work = format!("{threads} threads, {keys}, {answer}");
                rows.push(keyed(&work, asked, rate, threads));
            }
        }
        rows.push(unkeyed(rate, answer));
    }
    report::keep(
        "ratios",
        "How many checks in the time of one of governor's",
        "All take turns of some 12 ms; the medians of 31 rounds, of the ratios within each round. \
         \"+ hasher\" is governor with our hasher.",
        &[
            "",
            "tollgate, ns",
            "governor ÷ tollgate",
            "governor + hasher ÷ tollgate",
            "governor ÷ pinned",
            "governor + hasher ÷ pinned",
        ],
        &rows,
    );
}
