//! A request as it arrives, and the key that it has.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderName, HeaderValue, Request};
use tollgate::http::{ClientIp, IpNet, KeyExtractor, PeerAddr, Trust};

pub(crate) const XFF: &str = "x-forwarded-for";
pub(crate) const FORWARDED: &str = "forwarded";

/// The proxy that the requests of most cases come from.
pub(crate) const PEER: &str = "10.0.0.1";

/// A request from `peer`, with these lines.
pub(crate) fn request<V: AsRef<[u8]>>(peer: &str, lines: &[(&str, V)]) -> Request<()> {
    let mut request = Request::new(());
    let peer: IpAddr = peer.parse().expect("an address");
    request
        .extensions_mut()
        .insert(PeerAddr(SocketAddr::new(peer, 4711)));
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a value");
        request.headers_mut().append(name, value);
    }
    request
}

/// The key of a request from `peer`, with these lines.
pub(crate) fn key<V: AsRef<[u8]>>(trust: &Trust, peer: &str, lines: &[(&str, V)]) -> String {
    let key = ClientIp::new().trust(trust.clone());
    let found = key.extract(&request(peer, lines));
    found.expect("there is a peer").to_string()
}

pub(crate) fn networks(networks: &[&str]) -> Trust {
    Trust::networks(networks.iter().map(|network| -> IpNet {
        network
            .parse()
            .unwrap_or_else(|_| panic!("{network}: no network"))
    }))
}

/// The key of a request from [`PEER`] with one line of `X-Forwarded-For`.
pub(crate) fn by_list(trust: &Trust, list: impl AsRef<[u8]>) -> String {
    key(trust, PEER, &[(XFF, list)])
}

/// The key of a request from [`PEER`] with one line of `Forwarded`.
pub(crate) fn by_forwarded(trust: &Trust, list: impl AsRef<[u8]>) -> String {
    key(&trust.clone().over_forwarded(), PEER, &[(FORWARDED, list)])
}
