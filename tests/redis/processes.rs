//! Four processes against one limit: what they are let through in all is exactly the limit. Beside it the
//! two mistakes that everybody makes once, which the same four processes find.

use super::server::Server;
use super::{KEY, limiter};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tokio::sync::Barrier;
use tollgate::Limit;
use tollgate::redis::RedisLimiter;

/// No multiple of what is asked at a time, so that a look that is not a count overshoots.
const LIMIT: u64 = 503;
const PROCESSES: u64 = 4;
/// Of each process: more than the limit in all.
const ASKED: u64 = 250;
const TASKS: u64 = 10;

/// This test program once more, as one of the processes.
fn another(how: &str, server: &Server) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "processes::one_of_the_processes",
            "--nocapture",
            "--include-ignored",
        ])
        .env("TOLLGATE_TEST_HOW", how)
        .env("TOLLGATE_TEST_PORT", server.port().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// How many requests four processes are let through in all.
fn allowed(how: &str, server: &Server) -> u64 {
    let children: Vec<Child> = (0..PROCESSES).map(|_| another(how, server)).collect();
    let counts = children.into_iter().map(|child| {
        let output = child.wait_with_output().expect("its output");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("a text");
        let line = text
            .lines()
            .find_map(|line| line.split_once("allowed ").map(|(_, count)| count));
        let count = line.unwrap_or_else(|| panic!("no count in {text}"));
        count.trim().parse::<u64>().expect("a number")
    });
    counts.sum()
}

#[test]
#[ignore = "a part of the other tests, which start it as a process"]
fn one_of_the_processes() {
    let (Ok(how), Ok(port)) = (
        std::env::var("TOLLGATE_TEST_HOW"),
        std::env::var("TOLLGATE_TEST_PORT"),
    ) else {
        return;
    };
    let url = format!("redis://127.0.0.1:{port}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let count = runtime.expect("a runtime").block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        let client = redis::Client::open(url.as_str()).expect("an address");
        let connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("a connection");
        let store = tollgate::redis::Store::open(&url).expect("an address");
        let ours = super::builder(&store, Limit::per_day(LIMIT))
            .on_failure(tollgate::redis::OnFailure::Report)
            .build()
            .expect("a limiter");
        let barrier = Arc::new(Barrier::new(TASKS as usize));
        for _ in 0..TASKS {
            let barrier = barrier.clone();
            let (how, connection, ours) = (how.clone(), connection.clone(), ours.clone());
            tasks.spawn(async move {
                let mut allowed = 0;
                for _ in 0..ASKED / TASKS {
                    let may = match how.as_str() {
                        "ours" => by_us(&ours).await,
                        "get then incr" => get_then_incr(connection.clone(), &barrier).await,
                        other => panic!("{other}?"),
                    };
                    allowed += u64::from(may);
                }
                allowed
            });
        }
        tasks.join_all().await.into_iter().sum::<u64>()
    });
    println!("allowed {count}");
}

async fn by_us(limiter: &RedisLimiter) -> bool {
    limiter
        .try_acquire(KEY)
        .await
        .expect("an answer")
        .is_allowed()
}

/// The first mistake: between the look and the count another looks as well.
async fn get_then_incr(
    mut connection: redis::aio::MultiplexedConnection,
    barrier: &Barrier,
) -> bool {
    let seen: Option<u64> = redis::cmd("GET")
        .arg("mistake")
        .query_async(&mut connection)
        .await
        .expect("a count");
    // As they come in a bad moment.
    barrier.wait().await;
    if seen.unwrap_or(0) >= LIMIT {
        return false;
    }
    let mut pipe = redis::pipe();
    pipe.cmd("INCR")
        .arg("mistake")
        .ignore()
        .cmd("EXPIRE")
        .arg("mistake")
        .arg(60)
        .ignore();
    let _: () = pipe.query_async(&mut connection).await.expect("counted");
    true
}

#[test]
fn four_processes_are_let_through_exactly_the_limit() {
    let server = Server::start();
    assert_eq!(allowed("ours", &server), LIMIT);
    assert_eq!(server.keys("tollgate").len(), 1);
}

#[test]
fn four_processes_that_get_and_then_incr_overshoot() {
    let server = Server::start();
    let count = allowed("get then incr", &server);
    assert!(
        count > LIMIT,
        "{count}: the mistake goes unnoticed, so this test shows nothing"
    );
}

#[tokio::test]
async fn incr_without_an_expiry_in_the_same_step_throttles_for_ever() {
    let server = Server::start();
    // The process ends between INCR and EXPIRE, as processes do.
    for _ in 0..3 {
        server.tell(&["INCR", "mistake"]);
    }
    let left: i64 = server.ask(&["PTTL", "mistake"]).expect("a time to live");
    assert_eq!(left, -1, "nobody will ever take it away");

    // A request of ours whose task ends right after it was sent leaves a key with a time to live, or none.
    let limiter = limiter(&server, Limit::per_hour(3));
    assert!(
        limiter
            .try_acquire("warm")
            .await
            .expect("an answer")
            .is_allowed()
    );
    for _ in 0..20 {
        let mut request = Box::pin(limiter.try_acquire(KEY));
        let _ = futures_poll_once(request.as_mut()).await;
        drop(request);
        server.check_lifetimes();
    }
}

/// Begins a future, no more.
async fn futures_poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
