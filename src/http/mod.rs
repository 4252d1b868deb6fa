//! In front of HTTP: who is counted, and what clients are told.

mod client_addr;
mod client_ip;
mod denied;
mod extract;
mod forwarded;
mod header_key;
mod headers;
mod node;
mod path_template;
mod policy;
mod problem;
mod trust;

pub use client_addr::ClientAddr;
pub use client_ip::{ClientIp, PeerAddr};
pub use denied::{DeniedBody, denied_response};
pub use extract::KeyExtractor;
pub use header_key::{HeaderKey, HeaderValueKey};
pub use headers::{Headers, retry_after};
/// A network of addresses, for [`Trust::networks`].
pub use ipnet::IpNet;
pub use path_template::{PathKey, PathTemplate, PathTemplateError};
pub use policy::{Answer, PolicyName, PolicyNameError};
pub use trust::Trust;
