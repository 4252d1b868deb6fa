//! The layer in front of axum, hyper and tonic, and before the calls of reqwest: each is a test in
//! `tests/`, over real connections.
