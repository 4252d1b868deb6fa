//! The gateway over real connections, as clients of every kind come to it.

mod admin;
mod bad_clients;
mod fleet;
mod limits;
mod proxying;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with the tests of the library"
)]
#[path = "../../../tests/redis/server.rs"]
mod server;
mod support;
