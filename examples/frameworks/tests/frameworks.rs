//! One layer, and whatever serves HTTP.

mod axum_server;
mod hyper_client;
mod hyper_server;
mod support;
mod tonic_server;
