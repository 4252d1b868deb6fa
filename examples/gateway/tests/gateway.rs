//! The gateway over real connections, as clients of every kind come to it.

mod admin;
mod bad_clients;
mod limits;
mod proxying;
mod support;
