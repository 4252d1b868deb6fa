//! What does a decision in a store cost, beside the least that one could ask of it: an `INCR` on the same
//! kind of connection?

#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../tests/redis/masters.rs"]
mod masters;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../tests/redis/server.rs"]
mod server;

use masters::Cluster;
use server::Server;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tollgate::redis::{OnFailure, RedisBuilder, RedisLimiter, Store, Unchosen};
use tollgate::{AnyAlgorithm, Limit};
use tollgate_benches::report;

const ROUNDS: usize = 15;
const TURN: Duration = Duration::from_millis(200);
const IN_FLIGHT: [usize; 3] = [1, 16, 256];

/// Never spent within a run: only what it takes to decide is measured.
fn ample() -> Limit {
    Limit::per_second(1_000_000)
}

fn five() -> Vec<Limit> {
    let periods = [1, 10, 60, 600, 3_600].map(Duration::from_secs);
    periods
        .iter()
        .map(|period| Limit::new(1_000_000 * period.as_secs(), *period).expect("a limit"))
        .map(|limit| limit.with_burst(1_000_000))
        .collect()
}

fn builder(store: &Store, name: &str, limits: &[Limit]) -> RedisBuilder<Unchosen> {
    RedisLimiter::builder(store, name, limits)
        .algorithm(AnyAlgorithm::AllOf)
        .budget(Duration::from_secs(5))
        .pre_check(0)
}

fn built(builder: RedisBuilder<Unchosen>) -> RedisLimiter {
    builder
        .on_failure(OnFailure::Report)
        .build()
        .expect("a limiter")
}

/// Who is measured.
#[derive(Clone)]
enum Contender {
    Incr(redis::aio::MultiplexedConnection),
    /// A script that asks for the time, reads a value and writes one, and decides nothing: what no script
    /// that keeps a state can be faster than.
    Bare(redis::aio::MultiplexedConnection, String),
    Limiter(RedisLimiter),
    /// One request in ten goes to the first, which allows it; the others to the second, which has nothing.
    Mixed(RedisLimiter, RedisLimiter),
}

impl Contender {
    /// One request; whether it was allowed.
    async fn ask(&mut self, key: u64) -> bool {
        match self {
            Self::Incr(connection) => {
                let mut command = redis::cmd("INCR");
                command.arg(format!("bench:{key}"));
                let count: u64 = command.query_async(connection).await.expect("a count");
                count > 0
            }
            Self::Bare(connection, digest) => {
                let mut command = redis::cmd("EVALSHA");
                command.arg(&*digest).arg(1).arg(format!("bare:{key}"));
                let told: Vec<u64> = command.query_async(connection).await.expect("numbers");
                told.len() == 5
            }
            Self::Limiter(limiter) => limiter
                .try_acquire(&key)
                .await
                .expect("an answer")
                .is_allowed(),
            Self::Mixed(ample, spent) => {
                let limiter = if key.is_multiple_of(10) { ample } else { spent };
                limiter
                    .try_acquire(&key)
                    .await
                    .expect("an answer")
                    .is_allowed()
            }
        }
    }
}

const BARE: &str = "local time = redis.call('TIME')
                    redis.call('GET', KEYS[1])
                    redis.call('SET', KEYS[1], time[1] .. ' 1000000;1/1/1000000', 'PX', '60000')
                    return { 1, 0, 999999, 1, 1 }";

/// What a turn has measured.
struct Turn {
    per_second: f64,
    latencies: Vec<Duration>,
    allowed: u64,
}

/// So many requests are in flight at any time, of so many keys in turn.
async fn turn(contender: &Contender, in_flight: usize, keys: u64) -> Turn {
    let local = tokio::task::LocalSet::new();
    let began = Instant::now();
    let next = Rc::new(Cell::new(0_u64));
    let tasks: Vec<_> = (0..in_flight)
        .map(|_| {
            let (mut contender, next) = (contender.clone(), next.clone());
            local.spawn_local(async move {
                let (mut latencies, mut allowed) = (Vec::new(), 0);
                while began.elapsed() < TURN {
                    let key = next.replace(next.get() + 1) % keys;
                    let asked = Instant::now();
                    allowed += u64::from(contender.ask(key).await);
                    latencies.push(asked.elapsed());
                }
                (latencies, allowed)
            })
        })
        .collect();
    let mut all = Turn {
        per_second: 0.0,
        latencies: Vec::new(),
        allowed: 0,
    };
    local
        .run_until(async {
            for task in tasks {
                let (latencies, allowed) = task.await.expect("no panic");
                all.latencies.extend(latencies);
                all.allowed += allowed;
            }
        })
        .await;
    all.per_second = all.latencies.len() as f64 / began.elapsed().as_secs_f64();
    all
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn range(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    format!("{least:.2}–{most:.2}")
}

fn microseconds(latencies: &mut [Duration], share: f64) -> String {
    latencies.sort_unstable();
    let at = ((latencies.len() - 1) as f64 * share) as usize;
    format!("{:.0}", latencies[at].as_secs_f64() * 1e6)
}

/// Rounds in which all take turns; a row each, with ratios to the first within each round.
async fn compare(
    contenders: &[(&str, Contender)],
    in_flight: usize,
    keys: u64,
    rows: &mut Vec<Vec<String>>,
    check: impl Fn(&str, &Turn),
) {
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let mut latencies: Vec<Vec<Duration>> = vec![Vec::new(); contenders.len()];
    for round in 0..=ROUNDS {
        for (at, (name, contender)) in contenders.iter().enumerate() {
            let turn = turn(contender, in_flight, keys).await;
            check(name, &turn);
            // The first round is to get warm.
            if round > 0 {
                rates[at].push(turn.per_second);
                latencies[at].extend(turn.latencies);
            }
        }
    }
    for (at, (name, _)) in contenders.iter().enumerate() {
        let ratios: Vec<f64> = rates[at]
            .iter()
            .zip(&rates[0])
            .map(|(own, first)| own / first)
            .collect();
        rows.push(vec![
            format!("{name}, {in_flight} in flight"),
            format!("{:.0}", median(rates[at].clone())),
            format!("{:.2}", median(ratios.clone())),
            range(&ratios),
            microseconds(&mut latencies[at], 0.5),
            microseconds(&mut latencies[at], 0.99),
        ]);
    }
}

fn all_allowed(name: &str, turn: &Turn) {
    assert_eq!(
        turn.allowed,
        turn.latencies.len() as u64,
        "{name} is not to deny here"
    );
}

const COLUMNS: [&str; 6] = [
    "",
    "a second",
    "÷ the first",
    "least to most",
    "p50, µs",
    "p99, µs",
];

async fn one_server() {
    let server = Server::start();
    let store = Store::open(&server.url())
        .expect("an address")
        .with_slow(Duration::from_secs(5));
    let client = redis::Client::open(server.url()).expect("an address");
    let incr = client
        .get_multiplexed_async_connection()
        .await
        .expect("a connection");
    let of = |algorithm: AnyAlgorithm, limit: Limit| {
        let limiter = builder(&store, algorithm.name(), &[limit]).algorithm(algorithm);
        Contender::Limiter(built(limiter))
    };
    let window = Limit::new(100_000_000, Duration::from_secs(10)).expect("a limit");
    let log = Limit::new(100_000, Duration::from_secs(1)).expect("a limit");
    let mut load = redis::cmd("SCRIPT");
    load.arg("LOAD").arg(BARE);
    let digest = load.query_async(&mut incr.clone()).await;
    let bare = Contender::Bare(incr.clone(), digest.expect("its digest"));
    let contenders = [
        ("INCR", Contender::Incr(incr.clone())),
        ("a script of TIME, GET, SET", bare),
        ("token bucket", of(AnyAlgorithm::TokenBucket, ample())),
        (
            "AllOf of five",
            Contender::Limiter(built(builder(&store, "five", &five()))),
        ),
        ("fixed window", of(AnyAlgorithm::FixedWindow, window)),
        ("sliding counter", of(AnyAlgorithm::SlidingCounter, window)),
        ("sliding log", of(AnyAlgorithm::SlidingLog, log)),
    ];
    let mut rows = Vec::new();
    for in_flight in IN_FLIGHT {
        compare(&contenders, in_flight, 1_000, &mut rows, all_allowed).await;
    }
    let note = "Through one connection to one server on the same two cores, a thousand keys in turn; \
                the medians of 15 rounds of 200 ms, of the ratios within each round.";
    report::keep(
        "redis",
        "What does a decision in a store cost beside an INCR",
        note,
        &COLUMNS,
        &rows,
    );

    let spent = |name: &str, remembered| {
        built(builder(&store, name, &[Limit::per_day(1)]).pre_check(remembered))
    };
    let ample = built(builder(&store, "ample", &[ample()]));
    let (asked, checked) = (spent("asked", 0), spent("checked", 1_000));
    for limiter in [&asked, &checked] {
        for key in 0..1_000_u64 {
            limiter.try_acquire(&key).await.expect("an answer");
        }
    }
    let contenders = [
        ("INCR", Contender::Incr(incr)),
        ("without pre-check", Contender::Mixed(ample.clone(), asked)),
        ("with pre-check", Contender::Mixed(ample, checked.clone())),
    ];
    let mut rows = Vec::new();
    for in_flight in IN_FLIGHT {
        compare(&contenders, in_flight, 1_000, &mut rows, |name, turn| {
            let share = turn.allowed as f64 / turn.latencies.len() as f64;
            let expected = if name == "INCR" { 1.0 } else { 0.1 };
            assert!((share - expected).abs() < 0.03, "{name}: {share} allowed");
        })
        .await;
    }
    let counts = checked.counts();
    assert!(
        counts.denied <= 1_000 && counts.pre_checked > 10_000,
        "{counts:?}"
    );
    let note = "The same, where nine requests in ten are denied.";
    report::keep(
        "redis-denied",
        "What does the pre-check save",
        note,
        &COLUMNS,
        &rows,
    );
}

async fn cluster() {
    let cluster = Cluster::start(false);
    let store = cluster.store();
    let split = |name: &str, parts: u32| {
        let limiter = builder(&store, name, &[ample()]).algorithm(AnyAlgorithm::TokenBucket);
        Contender::Limiter(built(limiter.split(parts, 1)))
    };
    let contenders = [
        ("1 part", split("one", 1)),
        ("4 parts", split("four", 4)),
        ("16 parts", split("sixteen", 16)),
    ];
    let mut rows = Vec::new();
    for in_flight in IN_FLIGHT {
        compare(&contenders, in_flight, 1, &mut rows, all_allowed).await;
    }
    let note = "One key on a cluster of three servers, all on the same two cores, so that what more \
                servers add does not show; what it costs to split does.";
    report::keep(
        "redis-split",
        "What does it cost to split a limit",
        note,
        &COLUMNS,
        &rows,
    );

    let mut rows = Vec::new();
    for (limit, parts) in [
        (1_000, 4),
        (1_000, 16),
        (10_000, 4),
        (10_000, 16),
        (10_000, 32),
    ] {
        for in_flight in [1, 64] {
            let mut shares = Vec::new();
            let runs = if limit == 1_000 { 11 } else { 5 };
            for run in 0..runs {
                let limiter = builder(
                    &store,
                    &format!("first-{limit}-{parts}-{in_flight}-{run}"),
                    &[Limit::per_day(limit)],
                );
                let limiter = built(limiter.algorithm(AnyAlgorithm::FixedWindow).split(parts, 1));
                shares.push(first_denial(&limiter, in_flight).await as f64 / limit as f64);
            }
            let least = shares.iter().copied().fold(1.0, f64::min);
            rows.push(vec![
                format!("{limit} in {parts} parts, {in_flight} in flight"),
                format!("{:.2} %", 100.0 * median(shares)),
                format!("{:.2} %", 100.0 * least),
            ]);
        }
    }
    let note = "How much of the limit had been spent when the first request was denied.";
    let columns = ["", "median", "least"];
    report::keep(
        "redis-first-denial",
        "How early does a split limit deny",
        note,
        &columns,
        &rows,
    );
}

/// How many requests are allowed before one is denied.
async fn first_denial(limiter: &RedisLimiter, in_flight: usize) -> u64 {
    let local = tokio::task::LocalSet::new();
    let (allowed, denied) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    for _ in 0..in_flight {
        let (allowed, denied, limiter) = (allowed.clone(), denied.clone(), limiter.clone());
        local.spawn_local(async move {
            while !denied.get() {
                let answer = limiter.try_acquire(&0_u64).await.expect("an answer");
                if answer.is_denied() {
                    denied.set(true);
                } else if !denied.get() {
                    allowed.set(allowed.get() + 1);
                }
            }
        });
    }
    local.await;
    allowed.get()
}

fn main() {
    // As `cargo test --benches` runs it: to see that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        one_server().await;
        cluster().await;
    });
}
