//! Gateways that share their counts.

use std::time::Duration;

use tollgate::redis::OnFailure;
use tollgate_gateway::Settings;

use crate::server::{Server, free_port};
use crate::support::{gateway, get, metric};

fn settings(url: String, on_failure: OnFailure) -> Settings {
    Settings {
        limits: vec!["4/h".parse().unwrap()],
        routes: vec!["/search=10/h cost 5".parse().unwrap()],
        redis: vec![url],
        on_failure,
        ..Settings::default()
    }
}

#[tokio::test]
async fn two_gateways_share_one_count() {
    let store = Server::start();
    let settings = settings(store.url(), OnFailure::Report);
    let (one, two) = (gateway(settings.clone()).await, gateway(settings).await);
    // Connects, so that the first request has all of its time.
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(get(one.listen, "/").await.status);
        statuses.push(get(two.listen, "/").await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 429, 429]);
    let denied = get(two.listen, "/").await;
    assert_eq!(denied.header("retry-after"), Some("900"));
    for (front, status) in [(&one, 200), (&two, 200), (&one, 429)] {
        assert_eq!(get(front.listen, "/search").await.status, status);
    }
    assert_eq!(
        metric(&two, r#"gateway_decisions_by_basis_total{basis="store"}"#).await,
        4.0
    );
    assert_eq!(
        metric(
            &two,
            r#"gateway_decisions_by_basis_total{basis="pre-check"}"#
        )
        .await,
        1.0
    );
    assert_eq!(metric(&two, "gateway_store_breaker_open").await, 0.0);
}

#[tokio::test]
async fn without_its_store_a_gateway_does_as_it_was_told() {
    let url = || format!("redis://127.0.0.1:{}", free_port());
    let open = gateway(settings(url(), OnFailure::Open)).await;
    for _ in 0..9 {
        assert_eq!(get(open.listen, "/").await.status, 200);
    }
    assert_eq!(
        metric(&open, r#"gateway_decisions_by_basis_total{basis="nobody"}"#).await,
        9.0
    );
    assert_eq!(metric(&open, "gateway_store_breaker_open").await, 1.0);

    let retry_after = Duration::from_secs(1);
    let closed = gateway(settings(url(), OnFailure::Closed { retry_after })).await;
    let answer = get(closed.listen, "/").await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );

    let local = gateway(settings(url(), OnFailure::Local { servers: 2 })).await;
    let statuses = [
        get(local.listen, "/").await.status,
        get(local.listen, "/").await.status,
    ];
    assert_eq!(statuses, [200, 200]);
    assert_eq!(
        get(local.listen, "/").await.status,
        429,
        "half of the limit is this server's"
    );
}
