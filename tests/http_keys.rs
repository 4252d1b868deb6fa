//! The keys of requests, from outside: whom a request is counted against, whatever it says.
//!
//! The cases of `keys.jsonl` are not part of this project: the file is looked for beside it.

#![cfg(feature = "tower")]

#[path = "http_keys/allocations.rs"]
mod allocations;
#[path = "http_keys/asked.rs"]
mod asked;
#[path = "http_keys/client_addr.rs"]
mod client_addr;
#[path = "common/config.rs"]
mod config;
#[path = "http_keys/extractors.rs"]
mod extractors;
#[path = "http_keys/forwarded.rs"]
mod forwarded;
#[path = "http_keys/header_key.rs"]
mod header_key;
#[path = "http_keys/one_address.rs"]
mod one_address;
#[path = "http_keys/path_template.rs"]
mod path_template;
#[path = "http_keys/peer.rs"]
mod peer;
#[path = "http_keys/published.rs"]
mod published;
#[path = "http_keys/typed_left.rs"]
mod typed_left;
#[path = "http_keys/x_forwarded_for.rs"]
mod x_forwarded_for;
