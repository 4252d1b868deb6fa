//! In front of HTTP: who is counted.

mod client_addr;
mod client_ip;
mod extract;
mod forwarded;
mod header_key;
mod node;
mod path_template;
mod trust;

pub use client_addr::ClientAddr;
pub use client_ip::{ClientIp, PeerAddr};
pub use extract::KeyExtractor;
pub use header_key::{HeaderKey, HeaderValueKey};
/// A network of addresses, for [`Trust::networks`].
pub use ipnet::IpNet;
pub use path_template::{PathKey, PathTemplate, PathTemplateError};
pub use trust::Trust;
