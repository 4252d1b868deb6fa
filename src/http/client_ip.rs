//! The client's address as the key of a request.

use std::net::{IpAddr, SocketAddr};

use http::{Extensions, Request};

use super::{ClientAddr, KeyExtractor, Trust};

/// The address at the other end of the connection, as an extension of a request.
///
/// Whatever accepts connections puts it into each request that comes over one of them.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::{ClientIp, KeyExtractor, PeerAddr};
///
/// let mut request = Request::new(());
/// assert_eq!(ClientIp::new().extract(&request), None);
///
/// request.extensions_mut().insert(PeerAddr("203.0.113.7:4711".parse()?));
/// let key = ClientIp::new().extract(&request).unwrap();
/// assert_eq!(key.to_string(), "203.0.113.7");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

/// Counts a request against its client's address: IPv4 whole, IPv6 by its /64.
///
/// The address is that of the peer, which is found in the request's extensions: a [`PeerAddr`], or
/// else a bare [`SocketAddr`]. What other servers put there is found with
/// [`peer_from`](Self::peer_from). A request without any has no key.
///
/// Headers are ignored, until told otherwise with [`trust`](Self::trust). Behind a proxy that is
/// needed: all clients have the proxy's address before. See [`Trust`] for which setting is right
/// for which set-up, and what goes wrong with others.
///
/// # Why /64
///
/// A subscriber to IPv6 has a whole network. The smallest that is given out is a /64, which has
/// 2⁶⁴ addresses, and many machines change theirs every few hours by themselves. With whole
/// addresses as keys a client has no limit at all.
///
/// It does not end at /64. Providers hand out a /56 (256 of them) or, to who asks, a /48: 65,536
/// keys for one client. Where that is too many, cut at 48 with [`v6_prefix`](Self::v6_prefix), at
/// the price that neighbours may share a key; or count in two steps, a limit for the /64 and a wider
/// one for the /48. Against whoever has still more, only a cap on the keys that are tracked helps
/// ([`max_keys`](crate::Builder::max_keys)).
///
/// Where a translator stands in front that writes IPv4 clients into one IPv6 network
/// (`64:ff9b::/96`), all of them share a /64: choose 128 there.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::{ClientIp, KeyExtractor, PeerAddr, Trust};
///
/// let mut request = Request::new(());
/// request.extensions_mut().insert(PeerAddr("10.0.0.1:4711".parse()?));
/// let list = "9.9.9.1, 2001:db8:1:2::9".parse()?;
/// request.headers_mut().insert("x-forwarded-for", list);
/// let key = |extractor: ClientIp| extractor.extract(&request).unwrap().to_string();
///
/// assert_eq!(key(ClientIp::new()), "10.0.0.1");
/// assert_eq!(key(ClientIp::new().trust(Trust::hops(1))), "2001:db8:1:2::/64");
/// assert_eq!(key(ClientIp::new().trust(Trust::hops(1)).v6_prefix(48)), "2001:db8:1::/48");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientIp {
    trust: Trust,
    v6_prefix: u8,
    peer: fn(&Extensions) -> Option<SocketAddr>,
}

impl ClientIp {
    /// The peer's address, whatever the headers say.
    pub fn new() -> Self {
        Self {
            trust: Trust::none(),
            v6_prefix: 64,
            peer: peer_addr,
        }
    }

    /// Takes the word of whom `trust` names.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// How many bits of an IPv6 address count: 64 unless told otherwise, and at most 128.
    pub fn v6_prefix(mut self, bits: u8) -> Self {
        self.v6_prefix = bits;
        self
    }

    /// Finds the peer's address with `peer`, and in no other way.
    ///
    /// # Examples
    ///
    /// Under axum, served with `into_make_service_with_connect_info::<SocketAddr>()`:
    ///
    /// ```
    /// # use std::net::SocketAddr;
    /// # use tollgate::http::{ClientIp, KeyExtractor};
    /// # #[derive(Clone)]
    /// # struct ConnectInfo<T>(T);
    /// let key = ClientIp::new()
    ///     .peer_from(|extensions| Some(extensions.get::<ConnectInfo<SocketAddr>>()?.0));
    /// # let mut request = http::Request::new(());
    /// # assert!(key.extract(&request).is_none());
    /// # request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([203, 0, 113, 7], 80))));
    /// # assert_eq!(key.extract(&request).unwrap().to_string(), "203.0.113.7");
    /// ```
    pub fn peer_from(mut self, peer: fn(&Extensions) -> Option<SocketAddr>) -> Self {
        self.peer = peer;
        self
    }

    /// The client's whole address, for a log.
    pub fn address<B>(&self, request: &Request<B>) -> Option<IpAddr> {
        let peer = (self.peer)(request.extensions());
        let peer = peer.map(|peer| peer.ip());
        self.trust.client(peer, request.headers())
    }
}

impl Default for ClientIp {
    fn default() -> Self {
        Self::new()
    }
}

impl<B> KeyExtractor<B> for ClientIp {
    type Key = ClientAddr;

    fn extract(&self, request: &Request<B>) -> Option<ClientAddr> {
        let address = self.address(request)?;
        Some(ClientAddr::new(address, self.v6_prefix))
    }
}

fn peer_addr(extensions: &Extensions) -> Option<SocketAddr> {
    match extensions.get() {
        Some(PeerAddr(peer)) => Some(*peer),
        None => extensions.get().copied(),
    }
}
