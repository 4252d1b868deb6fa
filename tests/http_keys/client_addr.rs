//! The compact key of an address.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tollgate::http::ClientAddr;
use tollgate::{Limit, RateLimiter};

use crate::config::config;

fn key(address: &str, prefix: u8) -> ClientAddr {
    ClientAddr::new(address.parse().expect("an address"), prefix)
}

#[test]
fn a_key_takes_seventeen_bytes() {
    assert_eq!(size_of::<ClientAddr>(), 17);
}

#[test]
fn ipv4_stays_whole_whatever_the_prefix() {
    for prefix in [0, 1, 24, 32, 64, 96, 128, 255] {
        for address in ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107"] {
            let key = key(address, prefix);
            assert_eq!(key.to_string(), "203.0.113.7", "{address} {prefix}");
            assert_eq!(key.ip(), IpAddr::from([203, 0, 113, 7]));
            assert_eq!(key.v6_prefix(), None);
        }
    }
}

#[test]
fn ipv6_is_cut_to_its_prefix() {
    let address = "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff";
    for (prefix, expected) in [
        (0, "::/0"),
        (1, "::/1"),
        (3, "2000::/3"),
        (32, "2001:db8::/32"),
        (33, "2001:db8:8000::/33"),
        (48, "2001:db8:ffff::/48"),
        (56, "2001:db8:ffff:ff00::/56"),
        (64, "2001:db8:ffff:ffff::/64"),
        (65, "2001:db8:ffff:ffff:8000::/65"),
        (127, "2001:db8:ffff:ffff:ffff:ffff:ffff:fffe/127"),
        (128, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128"),
        (129, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128"),
        (255, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128"),
    ] {
        let key = key(address, prefix);
        assert_eq!(key.to_string(), expected);
        assert_eq!(format!("{key:?}"), expected);
        assert_eq!(key.v6_prefix(), Some(prefix.min(128)));
        assert_eq!(format!("{}/{}", key.ip(), prefix.min(128)), expected);
    }
}

#[test]
fn no_ipv4_address_shares_a_key_with_ipv6() {
    let six = [
        "::1",
        "::",
        "::203.0.113.7",
        "::fffe:cb00:7107",
        "64:ff9b::cb00:7107",
        "cb00:7107::",
    ];
    for prefix in [0, 32, 64, 96, 128] {
        for six in six {
            for four in ["0.0.0.0", "0.0.0.1", "203.0.113.7", "127.0.0.1"] {
                assert_ne!(key(six, prefix), key(four, prefix), "{six} {four} {prefix}");
            }
        }
    }
    assert_eq!(key("::1", 64).to_string(), "::/64");
}

#[test]
fn one_network_cut_at_two_lengths_is_two_keys() {
    assert_ne!(key("2001:db8::", 48), key("2001:db8::", 64));
}

#[test]
fn keys_are_ordered_and_hashed() {
    let keys = ["::1", "203.0.113.7", "2001:db8::1", "203.0.113.10"].map(|text| key(text, 64));
    let ordered: Vec<String> = BTreeSet::from(keys)
        .iter()
        .map(ClientAddr::to_string)
        .collect();
    assert_eq!(
        ordered,
        ["203.0.113.7", "203.0.113.10", "::/64", "2001:db8::/64"]
    );
    assert_eq!(HashSet::from(keys).len(), 4);
}

#[test]
fn a_limiter_tracks_networks() {
    let limiter = RateLimiter::<ClientAddr>::new(Limit::per_hour(2)).unwrap();
    assert!(limiter.try_acquire(&key("2001:db8::1", 64)).is_allowed());
    assert!(limiter.try_acquire(&key("2001:db8::2", 64)).is_allowed());
    assert!(limiter.try_acquire(&key("2001:db8::3", 64)).is_denied());
    assert!(
        limiter
            .try_acquire(&key("2001:db8:0:1::3", 64))
            .is_allowed()
    );
    assert_eq!(limiter.tracked_keys(), 2);
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn two_ipv6_addresses_share_a_key_exactly_if_their_prefixes_agree(
        bits: u128, flipped in 0_u32..128, prefix in 0_u8..=128,
    ) {
        let other = bits ^ (1 << (127 - flipped));
        let [one, other] = [bits, other].map(Ipv6Addr::from_bits);
        prop_assume!(one.to_ipv4_mapped().is_none() && other.to_ipv4_mapped().is_none());
        let same = ClientAddr::new(one.into(), prefix) == ClientAddr::new(other.into(), prefix);
        prop_assert_eq!(same, flipped >= u32::from(prefix));
    }

    #[test]
    fn every_ipv4_address_is_a_key_of_its_own(bits: u32, prefix: u8) {
        let address = Ipv4Addr::from_bits(bits);
        let key = ClientAddr::new(address.into(), prefix);
        prop_assert_eq!(key.ip(), IpAddr::V4(address));
        prop_assert_eq!(key, ClientAddr::new(address.to_ipv6_mapped().into(), prefix));
        prop_assert_eq!(key.to_string(), address.to_string());
    }
}
