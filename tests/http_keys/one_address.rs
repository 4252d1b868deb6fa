//! A header whose value is one address.

use tollgate::http::Trust;

use crate::asked::{PEER, XFF, key, networks};

const CF: &str = "cf-connecting-ip";

fn over(trust: Trust) -> Trust {
    trust.over_header(CF.parse().unwrap())
}

fn trusting() -> [Trust; 3] {
    [Trust::hops(1), Trust::hops(7), networks(&["10.0.0.0/8"])].map(over)
}

#[test]
fn the_address_is_the_client() {
    for trust in trusting() {
        for (value, expected) in [
            ("203.0.113.7", "203.0.113.7"),
            (" 203.0.113.7\t", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
            ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            // Also if it is an address of a proxy: there is nobody further left to ask.
            ("10.0.0.9", "10.0.0.9"),
        ] {
            assert_eq!(key(&trust, PEER, &[(CF, value)]), expected, "{value}");
        }
    }
}

#[test]
fn whatever_is_not_one_address_leaves_the_peer() {
    for trust in trusting() {
        assert_eq!(key::<&str>(&trust, PEER, &[]), PEER);
        for value in [
            "",
            " ",
            ",",
            "unknown",
            "_hidden",
            "203.0.113.7,",
            "203.0.113.7, 203.0.113.7",
            "9.9.9.1, 203.0.113.7",
            "for=203.0.113.7",
            "\"203.0.113.7\"",
            "203.0.113.07",
            "\u{fc}",
        ] {
            assert_eq!(key(&trust, PEER, &[(CF, value)]), PEER, "{value}");
        }
        let twice = [(CF, "203.0.113.7"), (CF, "203.0.113.7")];
        assert_eq!(key(&trust, PEER, &twice), PEER);
        let with_an_empty_one = [(CF, "203.0.113.7"), (CF, "")];
        assert_eq!(key(&trust, PEER, &with_an_empty_one), PEER);
        assert_eq!(key(&trust, PEER, &[(XFF, "203.0.113.7")]), PEER);
    }
}

#[test]
fn a_peer_that_is_not_trusted_is_the_client() {
    for (trust, peer) in [
        (Trust::none(), "10.0.0.1"),
        (Trust::hops(0), "10.0.0.1"),
        (networks(&["10.0.0.0/8"]), "198.51.100.4"),
        (networks(&["2001:db8::/32"]), "10.0.0.1"),
        (networks(&[]), "10.0.0.1"),
    ] {
        assert_eq!(key(&over(trust), peer, &[(CF, "203.0.113.7")]), peer);
    }
    let mapped = key(&trusting()[2], "::ffff:10.0.0.1", &[(CF, "203.0.113.7")]);
    assert_eq!(mapped, "203.0.113.7");
}
