//! A client's address as a key.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A client's address, as a key of 17 bytes: IPv4 whole, IPv6 cut to its network.
///
/// An IPv4 address that is written as IPv6 (`::ffff:203.0.113.7`) is the IPv4 address. No IPv4
/// address shares a key with an IPv6 one, `::1` included.
///
/// Addresses are ordered with IPv4 first, and IPv6 networks by their length before their bits.
///
/// # Examples
///
/// ```
/// use tollgate::http::ClientAddr;
///
/// let key = |address: &str| ClientAddr::new(address.parse().unwrap(), 64);
/// assert_eq!(key("203.0.113.7").to_string(), "203.0.113.7");
/// assert_eq!(key("::ffff:cb00:7107"), key("203.0.113.7"));
///
/// assert_eq!(key("2001:db8:1:2::9").to_string(), "2001:db8:1:2::/64");
/// assert_eq!(key("2001:db8:1:2::9"), key("2001:db8:1:2:ffff::"));
/// assert_ne!(key("2001:db8:1:2::9"), key("2001:db8:1:3::9"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddr {
    /// `V4`, or the length of the IPv6 prefix and one.
    tag: u8,
    /// The bits beyond the prefix are zero, and so are those that IPv4 has no use for.
    octets: [u8; 16],
}

const V4: u8 = 0;

impl ClientAddr {
    /// The key of `address`, of which only the first `v6_prefix` bits count if it is IPv6.
    ///
    /// A prefix of more than 128 bits is one of 128.
    pub fn new(address: IpAddr, v6_prefix: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(four) => {
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&four.octets());
                Self { tag: V4, octets }
            }
            IpAddr::V6(six) => {
                let prefix = v6_prefix.min(128);
                let beyond = u128::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                Self {
                    tag: prefix + 1,
                    octets: (six.to_bits() & !beyond).to_be_bytes(),
                }
            }
        }
    }

    /// The address itself if it is IPv4, the first address of the network if it is IPv6.
    pub fn ip(&self) -> IpAddr {
        match self.v6_prefix() {
            None => {
                let [a, b, c, d, ..] = self.octets;
                IpAddr::from([a, b, c, d])
            }
            Some(_) => IpAddr::V6(Ipv6Addr::from(self.octets)),
        }
    }

    /// How many bits of an IPv6 address count, `None` for IPv4.
    pub fn v6_prefix(&self) -> Option<u8> {
        self.tag.checked_sub(1)
    }
}

impl fmt::Display for ClientAddr {
    /// `203.0.113.7`, or `2001:db8:1:2::/64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.v6_prefix() {
            None => self.ip().fmt(f),
            Some(prefix) => write!(f, "{}/{prefix}", self.ip()),
        }
    }
}

impl fmt::Debug for ClientAddr {
    /// As it is displayed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
