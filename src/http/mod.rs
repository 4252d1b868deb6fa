//! In front of HTTP: client keys, headers, and a layer for [tower](https://docs.rs/tower).
//!
//! A [`RateLimitLayer`] wraps any service from `http::Request` to `http::Response`: of axum, hyper or
//! tonic, or of a client that is to spare a server. It asks a [`RateLimiter`](crate::RateLimiter) for
//! each request, lets it through or answers 429 with `Retry-After`, and tells clients how they stand.
//!
//! # What is chosen, and what it is unless chosen
//!
//! | | by | otherwise |
//! |---|---|---|
//! | whom a request is counted against | a [`KeyExtractor`]: [`ClientIp`], [`HeaderKey`], [`PathTemplate`], a closure, a tuple | – |
//! | what becomes of it without a key | [`NoKey`] | refused, 403 |
//! | whose word is taken for an address | [`Trust`] | nobody's but the connection's |
//! | which limits hold | [`Rule`]s, and a [`Choose`] among them | one for all |
//! | what it costs | a [`Cost`] | one permit |
//! | who is let through uncounted | [`LayerBuilder::skip`] | nobody |
//! | how answers tell of the limits | [`Headers`] | `Retry-After` alone |
//! | what the refused are answered | a [`Refusal`]: [`DeniedBody`], [`Grpc`], a closure | 429, a line of text |
//! | who is told of it | an [`Observe`] | nobody |
//! | whether it refuses anybody | [`LayerBuilder::shadow`] | it does |
//! | what is charged afterwards | [`LayerBuilder::post_paid`] | nothing |
//! | whether requests wait for their turn | `RateLimitLayer::queue`, feature `tokio` | they are refused |
//!
//! Several limits on one key are one rule, of a limiter with [`AllOf`](crate::AllOf): all of them are
//! asked at once, and each is told of. Limits on different keys (each client, and all together) are
//! layers one in the other, the one that is to refuse first outermost. What the outer one has allowed
//! stays spent if the inner one refuses.
//!
//! # Security
//!
//! Keys come from outside. Ask of a key how many of them one client can make up: that many limits it
//! has. [`Trust`] says which headers to believe in which set-up, [`ClientIp`] why IPv6 is cut, and
//! [`HeaderKey`] what it is good for. A tuple with a header in it, such as `(ClientIp, HeaderKey)`,
//! limits nobody: a client sends another value each time. Whatever the keys, give the limiter a
//! [cap](crate::Builder::max_keys).
//!
//! A limit here is asked when the head of a request has come. It does not bound how many requests run
//! at once, how long they take or how large they are: servers have settings for that.

mod client_addr;
mod client_ip;
mod denied;
mod extract;
mod forwarded;
mod future;
mod header_key;
mod headers;
mod hooks;
mod judge;
mod layer;
mod node;
mod note;
mod path_template;
mod policy;
mod post_paid;
mod problem;
#[cfg(feature = "tokio")]
mod queue;
mod refusal;
mod rule;
mod service;
#[cfg(feature = "redis")]
mod shared;
#[cfg(feature = "redis")]
mod store_keys;
mod structured;
mod trust;

pub use client_addr::ClientAddr;
pub use client_ip::{ClientIp, PeerAddr};
pub use denied::{DeniedBody, denied_response};
pub use extract::KeyExtractor;
pub use future::ResponseFuture;
pub use header_key::{HeaderKey, HeaderValueKey};
pub use headers::{Headers, retry_after};
pub use hooks::{Choose, Cost, EveryRequest, Observe, OnePermit, Outcome, Skip};
/// A network of addresses, for [`Trust::networks`].
pub use ipnet::IpNet;
pub use layer::{LayerBuilder, NoKey, RateLimitLayer};
pub use path_template::{PathKey, PathTemplate, PathTemplateError};
pub use policy::{Answer, PolicyName, PolicyNameError};
pub use post_paid::PostPaid;
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use queue::{Queue, QueueFuture, QueueLayer};
pub use refusal::{Grpc, Refusal, Refused};
pub use rule::{Limited, Limiter, Rule, RuleError};
pub use service::RateLimit;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use shared::SharedFuture;
pub use trust::Trust;
