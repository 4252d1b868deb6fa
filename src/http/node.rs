//! How a hop names the one before it: an address, with or without port, brackets and zone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str;

/// The longest name that is read. An address in brackets, with a zone and a port, is shorter.
pub(super) const MAX_LEN: usize = 128;

/// The address in `node`, IPv4 if it is an IPv4 address that is written as IPv6.
///
/// `None` is junk: whatever is no address, `unknown` and the made-up names of RFC 7239 (`_hidden`)
/// included. Numbers are decimal and without leading zeros in IPv4: `010.0.0.1` is 8.0.0.1 to some
/// and 10.0.0.1 to others. The port is a number up to 65535, or a made-up name. The zone of an
/// IPv6 address is dropped: it means something on the hop's own machine only.
pub(super) fn address(node: &[u8]) -> Option<IpAddr> {
    if node.len() > MAX_LEN {
        return None;
    }
    if let [b'[', rest @ ..] = node {
        let (six, after) = cut(rest, b']')?;
        return match after {
            [] => v6(six),
            [b':', port @ ..] if is_port(port) => v6(six),
            _ => None,
        };
    }
    match cut(node, b':') {
        None => v4(node),
        // More than one colon: IPv6 as it is mostly written, which leaves no room for a port.
        Some((_, after)) if after.contains(&b':') => v6(node),
        Some((four, port)) if is_port(port) => v4(four),
        Some(_) => None,
    }
}

fn cut(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|&byte| byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

fn v4(text: &[u8]) -> Option<IpAddr> {
    let address: Ipv4Addr = str::from_utf8(text).ok()?.parse().ok()?;
    Some(IpAddr::V4(address))
}

fn v6(text: &[u8]) -> Option<IpAddr> {
    let text = match cut(text, b'%') {
        Some((text, zone)) if is_zone(zone) => text,
        Some(_) => return None,
        None => text,
    };
    let address: Ipv6Addr = str::from_utf8(text).ok()?.parse().ok()?;
    Some(IpAddr::V6(address).to_canonical())
}

/// `eth0`, or `25eth0` from within a URI.
fn is_zone(zone: &[u8]) -> bool {
    !zone.is_empty() && zone.iter().all(|&byte| is_name(byte) || byte == b'~')
}

fn is_port(port: &[u8]) -> bool {
    match port {
        [b'_', name @ ..] => !name.is_empty() && name.iter().all(|&byte| is_name(byte)),
        digits => {
            (1..=5).contains(&digits.len())
                && digits.iter().all(u8::is_ascii_digit)
                && str::from_utf8(digits).is_ok_and(|digits| digits.parse::<u16>().is_ok())
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(node: &str, expected: &str) {
        assert_eq!(
            address(node.as_bytes()),
            Some(expected.parse().unwrap()),
            "{node}"
        );
    }

    #[track_caller]
    fn is_junk(node: impl AsRef<[u8]>) {
        let node = node.as_ref();
        assert_eq!(address(node), None, "{}", node.escape_ascii());
    }

    #[test]
    fn an_ipv4_address_stands_alone_or_with_a_port() {
        for node in [
            "203.0.113.7",
            "203.0.113.7:0",
            "203.0.113.7:4711",
            "203.0.113.7:65535",
        ] {
            reads(node, "203.0.113.7");
        }
        reads("203.0.113.7:00080", "203.0.113.7");
        reads("203.0.113.7:_Port-1.x_", "203.0.113.7");
        reads("0.0.0.0", "0.0.0.0");
        reads("255.255.255.255", "255.255.255.255");
    }

    #[test]
    fn an_ipv4_address_is_written_in_one_way_only() {
        for node in [
            "203.0.113.07",
            "0203.0.113.7",
            "00.0.0.0",
            "203.0.113.256",
            "203.0.113",
            "203.0.113.7.",
            "203.0.113.7.1",
            ".203.0.113.7",
            "203..113.7",
            "0xcb.0.113.7",
            "3405803783",
            "203.0.29047",
            "+203.0.113.7",
            "203.0.113.-7",
            "203,0,113,7",
            "203.0.113.7/32",
            "203.0.113.7%eth0",
            "[203.0.113.7]",
            "[203.0.113.7]:80",
            "\u{0662}03.0.113.7",
            "\u{ff12}03.0.113.7",
        ] {
            is_junk(node);
        }
    }

    #[test]
    fn a_port_that_is_none_makes_junk_of_the_address() {
        for port in [
            "", "65536", "99999", "123456", "000080", "-1", "+80", "80 ", " 80", "8o", "http", "_",
            "_a b", "_a/b", "_\u{e4}", "80:80",
        ] {
            is_junk(format!("203.0.113.7:{port}"));
            is_junk(format!("[2001:db8::9]:{port}"));
        }
    }

    #[test]
    fn an_ipv6_address_stands_alone_or_in_brackets() {
        for node in [
            "2001:db8:1:2::9",
            "2001:DB8:1:2::9",
            "2001:0db8:0001:0002:0000:0000:0000:0009",
            "[2001:db8:1:2::9]",
            "[2001:db8:1:2::9]:443",
            "[2001:db8:1:2::9]:_x",
        ] {
            reads(node, "2001:db8:1:2::9");
        }
        reads("::", "::");
        reads("::1", "::1");
        reads("[::1]:80", "::1");
        reads("1::", "1::");
        reads("::203.0.113.7", "::203.0.113.7");
        reads("64:ff9b::203.0.113.7", "64:ff9b::cb00:7107");
    }

    #[test]
    fn what_only_looks_like_ipv6_is_junk() {
        for node in [
            ":",
            ":::",
            "1:2",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3",
            "12345::",
            "g::1",
            "::1 ",
            " ::1",
            "::ffff:203.0.113.07",
            "::ffff:203.0.113.7:80",
            "2001:db8::9/64",
            "[",
            "]",
            "[]",
            "[]:80",
            "[::1",
            "::1]",
            "[[::1]]",
            "[::1]]",
            "[::1]80",
            "[::1] :80",
            "[::1]:",
            "x[::1]",
            "[::1]x",
            "[ ::1]",
        ] {
            is_junk(node);
        }
    }

    #[test]
    fn a_zone_is_dropped() {
        for node in [
            "fe80::1%eth0",
            "fe80::1%25eth0",
            "fe80::1%1",
            "[fe80::1%eth0]",
            "[fe80::1%eth0.100]:80",
            "fe80::1%wl_an-0~",
            "fe80::1",
        ] {
            reads(node, "fe80::1");
        }
        for node in [
            "fe80::1%",
            "[fe80::1%]",
            "fe80::1%eth 0",
            "fe80::1%eth0%eth1",
            "fe80::1%eth:0",
            "fe80::1%eth0]:80",
            "%eth0",
            "[%eth0]",
            "fe80::1%\u{e4}",
        ] {
            is_junk(node);
        }
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address_however_it_is_written() {
        for node in [
            "::ffff:203.0.113.7",
            "::FFFF:203.0.113.7",
            "::ffff:cb00:7107",
            "0:0:0:0:0:ffff:cb00:7107",
            "[::ffff:203.0.113.7]",
            "[::ffff:cb00:7107]:443",
            "::ffff:203.0.113.7%eth0",
        ] {
            reads(node, "203.0.113.7");
        }
    }

    #[test]
    fn what_is_no_address_is_junk() {
        for node in [
            "",
            " ",
            "unknown",
            "Unknown",
            "UNKNOWN",
            "_hidden",
            "_SEVKISEK",
            "_",
            "localhost",
            "example.com",
            "unix:",
            "-",
            "\"203.0.113.7\"",
            "203.0.113.7, 203.0.113.7",
            "203.0.113.7 203.0.113.7",
            "203.0.113.7;",
            "for=203.0.113.7",
            "\t203.0.113.7",
            "203.0.113.7\0",
        ] {
            is_junk(node);
        }
        is_junk([0xff, 0xfe]);
        is_junk([b"203.0.113.7:".as_slice(), &[0xff]].concat());
        is_junk(*b"\xff03.0.113.7");
        is_junk(*b"[\xff::1]");
        is_junk(*b"fe80::1%\xff");
    }

    #[test]
    fn the_longest_name_is_read_and_the_next_is_junk() {
        let zone = |len: usize| format!("fe80::1%{}", "z".repeat(len - 8));
        reads(&zone(MAX_LEN), "fe80::1");
        is_junk(zone(MAX_LEN + 1));
        is_junk("1".repeat(1_000_000));
    }
}
