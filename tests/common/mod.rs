//! What several tests share: the oracle, and one way to drive it and the limiters alike.

pub mod config;
pub mod reference;
pub mod subject;
