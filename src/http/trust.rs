//! Whose word is taken for where a request came from.

use std::iter::Rev;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::{FORWARDED, GetAll, HeaderMap, HeaderName, HeaderValue};
use ipnet::{IpNet, Ipv4Net};

use super::forwarded::{self, Split};
use super::node;

/// `http` has no constant for it.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whose word is taken for where a request came from: by default nobody's.
///
/// The peer, at the other end of the connection, cannot lie about its address. Behind a proxy the
/// peer is the proxy, and the client's address is what the proxy says in a header. Anybody can send
/// such a header, so that it is worth as much as what is known about its sender. There is no
/// setting that is right for all; choose by what stands in front of this server:
///
/// | set-up | trust |
/// |---|---|
/// | clients connect directly | [`none`](Self::none) |
/// | one proxy or load balancer that appends to the header, as nginx does with `$proxy_add_x_forwarded_for` | [`hops(1)`](Self::hops) |
/// | the same, over a Unix socket | `hops(1)` |
/// | a CDN, then a load balancer that the world can reach as well | [`networks`](Self::networks) of both |
/// | a CDN, then a load balancer that takes connections from the CDN only | `hops(2)`, or `networks` |
/// | Cloudflare | `networks` of [Cloudflare](https://www.cloudflare.com/ips/) and [`over_header`](Self::over_header) `cf-connecting-ip` |
/// | Cloudflare, then nginx that takes connections from Cloudflare only | `networks` of the nginx and `over_header` `cf-connecting-ip` |
/// | proxies that come and go, such as an ingress in Kubernetes | `networks` |
/// | a proxy that writes `Forwarded` | as above, with [`over_forwarded`](Self::over_forwarded) |
///
/// # Why from the right
///
/// Each proxy appends the address that it was connected from, at the right. Whoever sends
/// `X-Forwarded-For: 9.9.9.1` from 203.0.113.7 through one proxy arrives here as
/// `9.9.9.1, 203.0.113.7`. The left end is what the client typed: who takes the first entry for
/// the client, as is often advised, gives everybody as many keys as he can think of, and lets
/// anyone spend the permits of the address he names. Therefore the list is read from the right,
/// as far as the trust goes and no further. What stands left of that is not even parsed.
///
/// # Hops or networks
///
/// A number of hops is a claim about *every* way to this server. Where a client can reach the chain
/// in the middle, he is counted as a proxy and what he typed is taken for an address: two hops are
/// right behind a CDN and a load balancer, and wrong for the one who found the address of the load
/// balancer. Networks do not have that weakness, since an address that is not in them ends the walk
/// wherever it stands. Theirs is another: whoever has an address in a trusted network is taken for a
/// proxy, so that a client in 10.0.0.0/8 types its own key if all of 10.0.0.0/8 is trusted. Name the
/// networks of the proxies, and not those of all the machines around them.
///
/// Too small a number, or a network that is missing, is safe: clients then share the key of a proxy.
/// Too large a number, or too wide a network, is not.
///
/// # What becomes of the unexpected
///
/// * Junk is whatever is no address: `unknown`, a made-up name (`_hidden`), an address with a
///   leading zero, a malformed element of `Forwarded`, bytes of any kind. The walk never goes on
///   over it.
/// * With hops, fewer entries than hops, or junk in the way, leave the peer. A shorter chain means
///   that somebody came by another way, and then any entry may be his own.
/// * With networks, junk, or the end of the list, leave the last address that was reached, which
///   each trusted hop on the way vouched for: the peer, if the right-most entry is junk.
/// * With a header of one address, no such header, two of them, or junk leave the peer.
/// * Repeated lines are one list, in their order. Empty elements of a list are skipped, as RFC 9110
///   (5.6.1) has it; spaces around elements do not count.
/// * An IPv4 address that is written as IPv6 is the IPv4 address, also where networks are compared.
///
/// Reading allocates nothing. It goes from right to left and stops where the trust does, so that it
/// costs as much as the trusted part is long, whatever a client adds.
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use tollgate::http::Trust;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "9.9.9.1, 203.0.113.7, 10.0.0.9".parse()?);
/// let peer = "10.0.0.1".parse().ok();
/// let client = |trust: Trust| trust.client(peer, &headers).unwrap().to_string();
///
/// assert_eq!(client(Trust::none()), "10.0.0.1");
/// assert_eq!(client(Trust::hops(1)), "10.0.0.9");
/// assert_eq!(client(Trust::hops(2)), "203.0.113.7");
/// assert_eq!(client(Trust::networks(["10.0.0.0/8".parse()?])), "203.0.113.7");
/// assert_eq!(client(Trust::hops(3)), "9.9.9.1", "one hop too many: the client's own word");
/// assert_eq!(client(Trust::hops(4)), "10.0.0.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trust {
    whom: Whom,
    header: Header,
}

#[derive(Clone, Debug, Default)]
enum Whom {
    #[default]
    Nobody,
    Hops(usize),
    Networks(Arc<[IpNet]>),
}

#[derive(Clone, Debug, Default)]
enum Header {
    #[default]
    XForwardedFor,
    Forwarded,
    OneAddress(HeaderName),
}

impl Trust {
    /// Trusts nobody: headers are ignored, the peer is the client.
    pub fn none() -> Self {
        Self::default()
    }

    /// Trusts so many proxies in front of this server, the peer being the first of them: the client
    /// is the entry of the list that is so many from the right.
    ///
    /// None are [`none`](Self::none). See [hops or networks](Self#hops-or-networks) for what this
    /// takes for granted.
    pub fn hops(hops: usize) -> Self {
        let whom = if hops == 0 {
            Whom::Nobody
        } else {
            Whom::Hops(hops)
        };
        Self {
            whom,
            header: Header::default(),
        }
    }

    /// Trusts whoever has an address in these networks: the client is the first address from the
    /// right that is in none of them, beginning with the peer. If all are, it is the left-most.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::Trust;
    ///
    /// let trust = Trust::networks(["10.0.0.0/8".parse()?, "2001:db8:ed9e::/48".parse()?]);
    /// let mut headers = HeaderMap::new();
    /// headers.insert("x-forwarded-for", "9.9.9.1, 203.0.113.7, 2001:db8:ed9e::5".parse()?);
    ///
    /// let client = trust.client("10.0.0.1".parse().ok(), &headers);
    /// assert_eq!(client, "203.0.113.7".parse().ok());
    ///
    /// let stranger = trust.client("198.51.100.4".parse().ok(), &headers);
    /// assert_eq!(stranger, "198.51.100.4".parse().ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn networks(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            whom: Whom::Networks(networks.into_iter().map(canonical).collect()),
            header: Header::default(),
        }
    }

    /// Reads `X-Forwarded-For`, which is the default.
    pub fn over_x_forwarded_for(mut self) -> Self {
        self.header = Header::XForwardedFor;
        self
    }

    /// Reads `Forwarded` (RFC 7239) and in it who a request was forwarded *for*.
    ///
    /// Only the one header is read. A proxy that appends to `X-Forwarded-For` passes on a
    /// `Forwarded` as the client typed it. A proxy that copies parts of the request into its
    /// element, such as the host, must quote them properly, or else clients write elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::Trust;
    ///
    /// let mut headers = HeaderMap::new();
    /// let list = r#"for=9.9.9.1;by=", for="[2001:db8::9]:4711";proto=https"#;
    /// headers.insert("forwarded", list.parse()?);
    ///
    /// let client = Trust::hops(1).over_forwarded().client(None, &headers);
    /// assert_eq!(client, "2001:db8::9".parse().ok());
    /// # Ok::<(), http::header::InvalidHeaderValue>(())
    /// ```
    pub fn over_forwarded(mut self) -> Self {
        self.header = Header::Forwarded;
        self
    }

    /// Reads a header whose value is one address, such as `CF-Connecting-IP` or `X-Real-IP`.
    ///
    /// With hops the number does not matter, unless it is 0; with networks the peer must be in
    /// them. Which proxy wrote the header cannot be told from a single address: whatever stands
    /// between it and this server must take connections from there only, and the proxy must replace
    /// what the client sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName};
    /// use tollgate::http::Trust;
    ///
    /// let trust = Trust::networks(["173.245.48.0/20".parse()?])
    ///     .over_header(HeaderName::from_static("cf-connecting-ip"));
    /// let mut headers = HeaderMap::new();
    /// headers.insert("cf-connecting-ip", "203.0.113.7".parse()?);
    ///
    /// let client = trust.client("173.245.48.9".parse().ok(), &headers);
    /// assert_eq!(client, "203.0.113.7".parse().ok());
    ///
    /// let stranger = trust.client("198.51.100.4".parse().ok(), &headers);
    /// assert_eq!(stranger, "198.51.100.4".parse().ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over_header(mut self, name: HeaderName) -> Self {
        self.header = Header::OneAddress(name);
        self
    }

    /// The client's whole address, as far as this trust can tell. IPv4 is never written as IPv6.
    ///
    /// `None` if there is no peer, as over a Unix socket, and no hop that is trusted to say more.
    pub fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer.map(|peer| peer.to_canonical());
        let told = match (&self.whom, &self.header) {
            (Whom::Nobody, _) => None,
            (Whom::Hops(_), Header::OneAddress(name)) => only_address(headers, name),
            (Whom::Hops(hops), _) => self.list(headers).after(*hops),
            (Whom::Networks(trusted), Header::OneAddress(name)) => {
                if is_in(trusted, peer?) {
                    only_address(headers, name)
                } else {
                    None
                }
            }
            (Whom::Networks(trusted), _) => Some(self.list(headers).walk(peer?, trusted)),
        };
        told.or(peer)
    }

    fn list<'a>(&self, headers: &'a HeaderMap) -> Hops<'a> {
        let (name, syntax) = match self.header {
            Header::Forwarded => (&FORWARDED, FORWARDED_SYNTAX),
            _ => (&X_FORWARDED_FOR, X_FORWARDED_FOR_SYNTAX),
        };
        Hops {
            lines: headers.get_all(name).into_iter().rev(),
            line: None,
            syntax,
        }
    }
}

/// How the elements of a list are told apart and read.
struct Syntax {
    /// What is left of the last comma, if there is one, and what is right of it.
    split_last: fn(&[u8]) -> Split<'_>,
    /// The address in an element, `None` for junk.
    address: fn(&[u8]) -> Option<IpAddr>,
}

const FORWARDED_SYNTAX: &Syntax = &Syntax {
    split_last: forwarded::split_last,
    address: forwarded::address,
};

const X_FORWARDED_FOR_SYNTAX: &Syntax = &Syntax {
    split_last: |line| match line.iter().rposition(|&byte| byte == b',') {
        Some(comma) => (Some(&line[..comma]), &line[comma + 1..]),
        None => (None, line),
    },
    address: node::address,
};

/// The elements of a list from right to left, over all lines: an address, or `None` for junk.
struct Hops<'a> {
    lines: Rev<<GetAll<'a, HeaderValue> as IntoIterator>::IntoIter>,
    /// What is left of the line that is being read.
    line: Option<&'a [u8]>,
    syntax: &'static Syntax,
}

impl Iterator for Hops<'_> {
    type Item = Option<IpAddr>;

    fn next(&mut self) -> Option<Option<IpAddr>> {
        loop {
            let line = match self.line {
                Some(line) => line,
                None => self.lines.next()?.as_bytes(),
            };
            let (left, element) = (self.syntax.split_last)(line);
            self.line = left;
            let element = element.trim_ascii();
            if !element.is_empty() {
                return Some((self.syntax.address)(element));
            }
        }
    }
}

impl Hops<'_> {
    /// The address that is so many from the right, if all up to it are addresses.
    fn after(mut self, hops: usize) -> Option<IpAddr> {
        let mut client = None;
        for _ in 0..hops {
            client = Some(self.next()??);
        }
        client
    }

    /// The first address that is not trusted, or the last one before junk or the end.
    fn walk(mut self, peer: IpAddr, trusted: &[IpNet]) -> IpAddr {
        let mut client = peer;
        while is_in(trusted, client) {
            match self.next() {
                Some(Some(before)) => client = before,
                Some(None) | None => break,
            }
        }
        client
    }
}

/// The value of a header that is there once and is an address.
fn only_address(headers: &HeaderMap, name: &HeaderName) -> Option<IpAddr> {
    let mut values = headers.get_all(name).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    node::address(value.as_bytes().trim_ascii())
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// A network of IPv4 addresses that are written as IPv6, as the network of IPv4 that it is.
fn canonical(network: IpNet) -> IpNet {
    let four = match network {
        IpNet::V4(_) => None,
        IpNet::V6(six) => six
            .addr()
            .to_ipv4_mapped()
            .zip(six.prefix_len().checked_sub(96)),
    };
    match four.map(|(address, prefix)| Ipv4Net::new(address, prefix)) {
        Some(Ok(four)) => IpNet::V4(four),
        Some(Err(_)) | None => network,
    }
}
