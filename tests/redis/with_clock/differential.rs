//! The same requests at the same times, in one process and in the store.

use super::{Server, limiter, limits, store};
use crate::algorithm::{Algorithm, AnyAlgorithm};
use crate::decision::Decision;
use crate::limiter::RateLimiter;
use crate::redis::{Answer, Basis};
use crate::ticker::ManualTicker;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Acquire(u64),
    Peek(u64),
    Charge(u64),
    /// Of the allowed request that was so many before the last.
    Refund(usize),
    Reset,
    Refresh,
    /// So many microseconds.
    Pass(u64),
    /// As long as the last denial said, less so many microseconds.
    Wait(u64),
    /// As long as the last answer said until there is one more, less so many microseconds.
    More(u64),
    /// As long as the last answer said until all is forgotten, less so many microseconds.
    Rest(u64),
}

fn step(period: u64, permits: u64) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..=permits.div_ceil(2)).prop_map(Step::Acquire),
        4 => Just(Step::Acquire(1)),
        1 => (0..=permits + 1).prop_map(Step::Acquire),
        2 => (0..=permits).prop_map(Step::Peek),
        1 => (0..=3 * permits).prop_map(Step::Charge),
        2 => (0..4_usize).prop_map(Step::Refund),
        1 => Just(Step::Reset),
        1 => Just(Step::Refresh),
        4 => (0..=period / 4).prop_map(Step::Pass),
        1 => (0..=3 * period).prop_map(Step::Pass),
        2 => (0..=2_u64).prop_map(Step::Wait),
        1 => (0..=2_u64).prop_map(Step::More),
        1 => (0..=2_u64).prop_map(Step::Rest),
    ]
}

/// In the store's unit, rounded up as the store rounds.
fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000)).expect("a time that is not for ever")
}

fn same(what: &str, here: &Decision, there: &Answer) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        here.is_allowed(),
        there.is_allowed(),
        "{}: {:?} {:?}",
        what,
        here,
        there
    );
    prop_assert_eq!(
        here.is_never(),
        there.is_never(),
        "{}: {:?} {:?}",
        what,
        here,
        there
    );
    if there.basis() == Basis::PreCheck {
        return Ok(());
    }
    prop_assert_eq!(
        Some(here.remaining()),
        there.remaining(),
        "{}: {:?} {:?}",
        what,
        here,
        there
    );
    let pairs = [
        ("retry", here.retry_after(), there.retry_after()),
        (
            "more",
            Some(here.next_permit_after()),
            there.next_permit_after(),
        ),
        ("reset", Some(here.reset_after()), there.reset_after()),
    ];
    for (name, here, there) in pairs {
        let (here, there) = (here.map(microseconds), there.map(microseconds));
        let apart = here.unwrap_or(0).abs_diff(there.unwrap_or(0));
        prop_assert!(
            here.is_some() == there.is_some() && apart <= 1,
            "{what}, {name}: {here:?} in one process, {there:?} in the store"
        );
    }
    Ok(())
}

/// `changed`: the limits that a refresh goes to and back from.
fn agree(algorithm: AnyAlgorithm, text: &str, changed: &str, cases: u32) {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let store = store(&server);
    let (first, period) = {
        let all = limits(text);
        let period = all.iter().map(|limit| limit.period_ns()).max().unwrap_or(0) / 1_000;
        (
            all.iter().map(|limit| limit.burst()).min().unwrap_or(1),
            period,
        )
    };
    let steps = prop::collection::vec(step(period, first), 1..60);
    let start = 0..2 * period;
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let admin = redis_connection(&server);
    let admin = std::cell::RefCell::new(admin);
    let outcome = runner.run(&(start, steps), |(start, steps)| {
        let mut now = 1_000_000_000_000 + start;
        let ticker = ManualTicker::new(1_000 * now);
        let set = |now: u64| {
            let mut admin = admin.borrow_mut();
            let _: () = ::redis::cmd("SET")
                .arg("now")
                .arg(now)
                .query(&mut *admin)
                .expect("OK");
            ticker.set(1_000 * now);
        };
        set(now);
        let plan = |text: &str| algorithm.plan(limits(text)).expect("a plan");
        let current = std::sync::Arc::new(std::sync::Mutex::new(plan(text)));
        let source = current.clone();
        let here =
            RateLimiter::<u64>::by_plan(move |_: &u64| source.lock().expect("a plan").clone())
                .ticker(ticker.clone())
                .build()
                .expect("a limiter");
        let there = limiter(&store, algorithm, text);
        runtime.block_on(there.reset("k")).expect("a reset");
        let mut in_debt = false;
        let mut allowed: Vec<(Decision, Answer)> = Vec::new();
        let (mut wait, mut more, mut rest) = (0, 0, 0);
        for step in steps {
            let what = format!("{step:?} at {now}");
            let answers = match step {
                Step::Acquire(cost) => Some((
                    here.try_acquire_n(&1, cost),
                    runtime.block_on(there.try_acquire_n("k", cost)),
                )),
                Step::Peek(cost) => Some((
                    here.peek_n(&1, cost),
                    runtime.block_on(there.peek_n("k", cost)),
                )),
                Step::Charge(cost) => {
                    in_debt = true;
                    Some((
                        here.charge(&1, cost),
                        runtime.block_on(there.charge("k", cost)),
                    ))
                }
                Step::Refund(before) => {
                    if before < allowed.len() {
                        let (decision, answer) = allowed.remove(allowed.len() - 1 - before);
                        here.refund(&1, decision);
                        runtime
                            .block_on(there.refund("k", &answer))
                            .expect("a refund");
                    }
                    None
                }
                Step::Reset => {
                    here.reset(&1);
                    runtime.block_on(there.reset("k")).expect("a reset");
                    allowed.clear();
                    in_debt = false;
                    None
                }
                Step::Refresh => {
                    *current.lock().expect("a plan") = plan(changed);
                    here.refresh(&1);
                    there.refresh(limits(changed)).expect("limits");
                    // A refund across a change is each side's own affair.
                    allowed.clear();
                    let seen = runtime.block_on(there.peek("k")).expect("an answer");
                    let known = here.peek(&1);
                    if in_debt {
                        // What is beyond the burst is carried over as a time, which each rounds up in its
                        // own unit.
                        let [known, seen] = [Some(known.reset_after()), seen.reset_after()]
                            .map(|time| time.map_or(0, microseconds));
                        prop_assert!(known.abs_diff(seen) <= 2, "{what}: {known} {seen}");
                        return Ok(());
                    }
                    same(&what, &known, &seen)?;
                    if seen.remaining() == Some(0) {
                        // In one process the numbers have changed; in the store they do when somebody
                        // spends next, which nobody can now.
                        return Ok(());
                    }
                    Some((
                        here.try_acquire(&1),
                        runtime.block_on(there.try_acquire("k")),
                    ))
                }
                Step::Pass(time) => {
                    now += time;
                    None
                }
                Step::Wait(less) => {
                    now += u64::saturating_sub(wait, less);
                    None
                }
                Step::More(less) => {
                    now += u64::saturating_sub(more, less);
                    None
                }
                Step::Rest(less) => {
                    now += u64::saturating_sub(rest, less);
                    None
                }
            };
            set(now);
            if let Some((decision, answer)) = answers {
                let answer = answer.expect("an answer");
                same(&what, &decision, &answer)?;
                wait = decision.retry_after().map_or(0, microseconds);
                more = microseconds(decision.next_permit_after());
                rest = microseconds(decision.reset_after());
                if decision.spent() > 0 {
                    allowed.push((decision, answer));
                }
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{algorithm} of {text}: {error}"));
}

fn redis_connection(server: &Server) -> ::redis::Connection {
    let client = ::redis::Client::open(server.url()).expect("an address");
    client.get_connection().expect("a connection")
}

const CASES: u32 = 100;

#[test]
fn a_token_bucket_decides_the_same() {
    agree(AnyAlgorithm::TokenBucket, "10/s", "10/s burst 7", CASES);
    agree(
        AnyAlgorithm::TokenBucket,
        "7/min burst 3",
        "7/min burst 5",
        CASES,
    );
    agree(
        AnyAlgorithm::TokenBucket,
        "1000/s burst 20",
        "700/s burst 30",
        CASES,
    );
}

#[test]
fn several_buckets_decide_the_same() {
    agree(
        AnyAlgorithm::AllOf,
        "5/s, 30/min, 100/h burst 40",
        "7/s, 30/min, 50/h burst 10",
        CASES,
    );
    agree(
        AnyAlgorithm::AllOf,
        "3/s, 7/min burst 3",
        "3/s, 11/min burst 3",
        CASES,
    );
}

#[test]
fn buckets_that_come_and_go_decide_the_same() {
    agree(
        AnyAlgorithm::AllOf,
        "5/s, 30/min, 100/h burst 40",
        "7/s, 30/min",
        CASES,
    );
    agree(
        AnyAlgorithm::AllOf,
        "5/s, 30/min",
        "5/s, 25/min, 100/h burst 40, 500/d",
        CASES,
    );
}

#[test]
fn a_fixed_window_decides_the_same() {
    agree(AnyAlgorithm::FixedWindow, "10/s", "7/s", CASES);
    agree(AnyAlgorithm::FixedWindow, "20/min", "30/10s", CASES);
}

#[test]
fn a_sliding_counter_decides_the_same() {
    agree(AnyAlgorithm::SlidingCounter, "10/s", "7/s", CASES);
    agree(AnyAlgorithm::SlidingCounter, "20/min", "30/10s", CASES);
}

#[test]
fn a_sliding_log_decides_the_same() {
    agree(AnyAlgorithm::SlidingLog, "10/s", "7/s", CASES);
    agree(AnyAlgorithm::SlidingLog, "20/min", "30/10s", CASES);
}
