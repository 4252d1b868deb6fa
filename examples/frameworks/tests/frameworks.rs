//! One layer, and whatever serves HTTP.

mod axum_server;
mod hyper_server;
mod reqwest_client;
mod support;
mod tonic_server;
