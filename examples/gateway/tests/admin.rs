//! The second address.

use tollgate_gateway::{KeyBy, Settings};

use crate::support::{Connection, gateway, get, limited, metric};

#[tokio::test]
async fn metrics_count_what_happened() {
    let gateway = limited("2/h").await;
    for _ in 0..5 {
        get(gateway.listen, "/").await;
    }
    let allowed = r#"gateway_requests_allowed_total{rule="default"}"#;
    let denied = r#"gateway_requests_denied_total{rule="default"}"#;
    assert_eq!(metric(&gateway, allowed).await, 2.0);
    assert_eq!(metric(&gateway, denied).await, 3.0);
    assert_eq!(
        metric(&gateway, r#"gateway_tracked_keys{rule="default"}"#).await,
        1.0
    );
    assert_eq!(
        metric(&gateway, "gateway_decision_seconds_count").await,
        5.0
    );
    let metrics = get(gateway.admin, "/metrics").await;
    assert!(metrics.text().ends_with("# EOF\n"));
    assert!(
        !metrics.text().contains("127.0.0.1"),
        "no client is a label"
    );
}

#[tokio::test]
async fn the_page_is_one_file_that_loads_nothing() {
    let gateway = limited("2/h").await;
    let page = get(gateway.admin, "/").await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    for elsewhere in ["http://", "https://", "src=", "@import", "<link"] {
        assert!(!page.text().contains(elsewhere), "{elsewhere}");
    }
    assert!(!page.text().contains("innerHTML"));
    assert_eq!(get(gateway.admin, "/nothing").await.status, 404);
    let mut client = Connection::open(gateway.admin).await;
    assert_eq!(client.send("POST", "/metrics", &[], b"").await.status, 405);
}

#[tokio::test]
async fn the_page_is_told_who_is_denied_most() {
    let gateway = gateway(Settings {
        limits: vec!["1/h".parse().unwrap()],
        key: KeyBy::Header("x-api-key".parse().unwrap()),
        ..Settings::default()
    })
    .await;
    let mut client = Connection::open(gateway.listen).await;
    for (key, times) in [("<script>alert(1)</script>", 4), ("ordinary-key", 2)] {
        for _ in 0..times {
            client.send("GET", "/", &[("x-api-key", key)], b"").await;
        }
    }
    let stats = get(gateway.admin, "/stats.json").await;
    let stats: serde_json::Value = serde_json::from_slice(&stats.body).unwrap();
    assert_eq!(
        (&stats["allowed"], &stats["denied"]),
        (&2.into(), &4.into())
    );
    assert_eq!(stats["tracked"], 2);
    // The first bytes of a key, and how long it is.
    assert_eq!(stats["top"][0]["key"], "<scr… (25 bytes)");
    assert_eq!(stats["top"][0]["denied"], 3);
    assert_eq!(stats["top"][1]["denied"], 1);
}
