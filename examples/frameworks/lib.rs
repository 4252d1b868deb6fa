//! The layer in front of axum, hyper and tonic, and before the calls of a client: each is a test in
//! `tests/`, over real connections.
