//! A reverse proxy in front of whatever speaks HTTP, with tollgate's layer between.
//!
//! ```sh
//! cargo run --release --example gateway -- --limit '5/s burst 10' --headers draft
//! curl -i localhost:8080/hello          # 200, and ratelimit: "default";r=9;t=1
//! curl -i localhost:9090/metrics        # what was allowed and denied, and how long it took
//! ```
//!
//! An answer of the upstream may pause for as long as it likes: it may be a stream of events.
//!
//! Several gateways share their counts with `--redis redis://HOST:6379 --on-failure local/4`.
//!
//! There is a page that lives at <http://localhost:9090/>. Without `--upstream` it answers by itself.

mod admin;
mod body;
mod limits;
mod metrics;
mod patient;
mod proxy;
mod refusals;
mod serve;
mod sparse;
mod top;
mod upstream;

pub use limits::{KeyBy, Route, Settings, TrustFlags, parse_on_failure};
pub use serve::{Gateway, start};

/// Whatever goes wrong, for people.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
