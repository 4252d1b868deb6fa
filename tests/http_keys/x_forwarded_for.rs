//! `X-Forwarded-For`, by hops and by networks.

use std::net::IpAddr;

use proptest::prelude::*;
use tollgate::http::Trust;

use crate::asked::{FORWARDED, PEER, XFF, by_list, key, networks};
use crate::config::config;

fn private() -> Trust {
    networks(&["10.0.0.0/8", "fd00::/8"])
}

#[test]
fn by_default_no_header_is_read() {
    for trust in [
        Trust::none(),
        Trust::default(),
        Trust::hops(0),
        Trust::hops(0).over_forwarded(),
    ] {
        let lines = [(XFF, "203.0.113.7"), (FORWARDED, "for=203.0.113.7")];
        assert_eq!(key(&trust, PEER, &lines), PEER);
    }
    let one = Trust::hops(0).over_header(XFF.parse().unwrap());
    assert_eq!(by_list(&one, "203.0.113.7"), PEER);
}

#[test]
fn hops_are_counted_from_the_right() {
    let list = "192.0.2.4, 192.0.2.3, 192.0.2.2, 192.0.2.1";
    for hops in 1..=4 {
        assert_eq!(by_list(&Trust::hops(hops), list), format!("192.0.2.{hops}"));
    }
}

#[test]
fn fewer_entries_than_hops_leave_the_peer() {
    for hops in [2, 3, 1_000, usize::MAX] {
        assert_eq!(by_list(&Trust::hops(hops), "203.0.113.7"), PEER);
        assert_eq!(by_list(&Trust::hops(hops), ""), PEER);
    }
    assert_eq!(by_list(&Trust::hops(3), "9.9.9.1, 203.0.113.7"), PEER);
}

#[test]
fn junk_in_the_way_of_a_hop_leaves_the_peer() {
    for junk in [
        "unknown",
        "_hidden",
        "203.0.113.07",
        "203.0.113.7:",
        "localhost",
        "-",
        "\u{fc}",
    ] {
        assert_eq!(
            by_list(&Trust::hops(1), format!("203.0.113.7, {junk}")),
            PEER
        );
        assert_eq!(
            by_list(&Trust::hops(2), format!("203.0.113.7, {junk}")),
            PEER
        );
        assert_eq!(
            by_list(&Trust::hops(2), format!("{junk}, 203.0.113.7")),
            PEER
        );
        assert_eq!(
            by_list(&Trust::hops(1), format!("{junk}, 203.0.113.7")),
            "203.0.113.7"
        );
    }
}

#[test]
fn lines_are_one_list_in_their_order() {
    let lines = [
        (XFF, "192.0.2.5,192.0.2.4"),
        (XFF, "192.0.2.3"),
        (XFF, "192.0.2.2, 192.0.2.1"),
    ];
    for hops in 1..=5 {
        assert_eq!(
            key(&Trust::hops(hops), PEER, &lines),
            format!("192.0.2.{hops}")
        );
    }
    assert_eq!(key(&Trust::hops(6), PEER, &lines), PEER);
    let lines = [
        (XFF, "9.9.9.1, 203.0.113.7"),
        (XFF, "10.0.0.9"),
        (XFF, "10.0.0.8, 10.0.0.7"),
    ];
    assert_eq!(key(&private(), PEER, &lines), "203.0.113.7");
}

#[test]
fn other_headers_between_the_lines_do_not_count() {
    let lines = [
        (XFF, "203.0.113.7"),
        ("accept", "192.0.2.1"),
        (XFF, "192.0.2.44"),
    ];
    assert_eq!(key(&Trust::hops(2), PEER, &lines), "203.0.113.7");
    let lines = [
        ("X-Forwarded-For", "203.0.113.7"),
        ("x-real-ip", "9.9.9.9"),
        (FORWARDED, "for=9.9.9.9"),
    ];
    assert_eq!(key(&Trust::hops(1), PEER, &lines), "203.0.113.7");
}

#[test]
fn empty_elements_are_skipped() {
    for list in [
        "203.0.113.7,",
        "203.0.113.7 , ",
        "203.0.113.7,,\t,",
        ",203.0.113.7",
        " , ,203.0.113.7,,",
    ] {
        assert_eq!(by_list(&Trust::hops(1), list), "203.0.113.7", "{list}");
        assert_eq!(by_list(&Trust::hops(2), list), PEER, "{list}");
        assert_eq!(by_list(&private(), list), "203.0.113.7", "{list}");
    }
    assert_eq!(
        by_list(&Trust::hops(2), "203.0.113.7, , 192.0.2.44"),
        "203.0.113.7"
    );
    let lines = [(XFF, "203.0.113.7"), (XFF, ""), (XFF, " , ")];
    assert_eq!(key(&Trust::hops(1), PEER, &lines), "203.0.113.7");
    for nothing in ["", " ", "\t", ",", " , ,, "] {
        assert_eq!(by_list(&Trust::hops(1), nothing), PEER);
        assert_eq!(by_list(&private(), nothing), PEER);
    }
}

#[test]
fn spaces_around_elements_do_not_count() {
    for list in [
        "9.9.9.1,203.0.113.7",
        "9.9.9.1 ,\t 203.0.113.7 \t",
        "9.9.9.1,  203.0.113.7",
    ] {
        assert_eq!(by_list(&Trust::hops(1), list), "203.0.113.7");
    }
    assert_eq!(by_list(&Trust::hops(1), "203.0. 113.7"), PEER);
    assert_eq!(by_list(&Trust::hops(1), "9.9.9.1 203.0.113.7"), PEER);
}

#[test]
fn entries_have_every_notation() {
    for (entry, expected) in [
        ("203.0.113.7:4711", "203.0.113.7"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("[fe80::1%eth0]:443", "fe80::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("[::ffff:cb00:7107]:443", "203.0.113.7"),
        ("::1", "::/64"),
        ("\"203.0.113.7\"", PEER),
        ("for=203.0.113.7", PEER),
        ("203.0.113.7;", PEER),
    ] {
        assert_eq!(by_list(&Trust::hops(1), entry), expected, "{entry}");
        assert_eq!(by_list(&private(), entry), expected, "{entry}");
    }
}

#[test]
fn the_first_address_outside_the_networks_is_the_client() {
    for (list, expected) in [
        ("203.0.113.7", "203.0.113.7"),
        ("9.9.9.1, 203.0.113.7", "203.0.113.7"),
        ("10.9.9.1, 203.0.113.7", "203.0.113.7"),
        (
            "203.0.113.7, 10.0.0.9, 10.255.255.255, 10.0.0.0",
            "203.0.113.7",
        ),
        ("203.0.113.7, 11.0.0.0", "11.0.0.0"),
        ("203.0.113.7, 9.255.255.255", "9.255.255.255"),
        ("203.0.113.7, fd12::1, 10.0.0.9", "203.0.113.7"),
        ("203.0.113.7, fe12::1, 10.0.0.9", "fe12::/64"),
        ("203.0.113.7, ::ffff:10.0.0.9", "203.0.113.7"),
        ("203.0.113.7, [::ffff:a00:9]:80, 10.0.0.9:1", "203.0.113.7"),
    ] {
        assert_eq!(by_list(&private(), list), expected, "{list}");
    }
}

#[test]
fn if_all_are_trusted_the_left_most_is_the_client() {
    assert_eq!(
        by_list(&private(), "10.0.0.7, 10.0.0.8, 10.0.0.9"),
        "10.0.0.7"
    );
    let lines = [(XFF, "10.0.0.7"), (XFF, "10.0.0.8")];
    assert_eq!(key(&private(), PEER, &lines), "10.0.0.7");
    assert_eq!(key::<&str>(&private(), PEER, &[]), PEER);
}

#[test]
fn junk_ends_the_walk_at_the_last_trusted_address() {
    for (list, expected) in [
        ("203.0.113.7, unknown", PEER),
        ("203.0.113.7, _hidden, 10.0.0.9", "10.0.0.9"),
        ("10.0.0.7, junk, 10.0.0.8, 10.0.0.9", "10.0.0.8"),
        ("junk, 203.0.113.7, 10.0.0.9", "203.0.113.7"),
        ("203.0.113.7, 10.0.0.09", PEER),
    ] {
        assert_eq!(by_list(&private(), list), expected, "{list}");
    }
}

#[test]
fn a_peer_outside_the_networks_is_the_client() {
    for peer in ["203.0.113.50", "11.0.0.0", "::a00:1"] {
        let alone = key::<&str>(&Trust::none(), peer, &[]);
        for list in ["203.0.113.7", "10.0.0.9", "203.0.113.7, 10.0.0.9", "junk"] {
            assert_eq!(key(&private(), peer, &[(XFF, list)]), alone);
        }
    }
    assert_eq!(by_list(&networks(&[]), "203.0.113.7"), PEER);
}

#[test]
fn a_mapped_address_is_in_the_network_of_ipv4_however_either_is_written() {
    for network in [
        "10.0.0.0/8",
        "::ffff:10.0.0.0/104",
        "::ffff:a00:0/104",
        "::ffff:10.1.2.3/104",
    ] {
        let trust = networks(&[network]);
        for peer in ["10.0.0.1", "::ffff:10.0.0.1", "::ffff:a00:1"] {
            let client = key(
                &trust,
                peer,
                &[(XFF, "203.0.113.7, ::ffff:10.0.0.9, 10.0.0.9")],
            );
            assert_eq!(client, "203.0.113.7", "{network} {peer}");
        }
        assert_eq!(
            by_list(&trust, "203.0.113.7, 11.0.0.1"),
            "11.0.0.1",
            "{network}"
        );
    }
    let one = networks(&["::ffff:10.0.0.1/128"]);
    assert_eq!(by_list(&one, "203.0.113.7"), "203.0.113.7");
    assert_eq!(by_list(&one, "203.0.113.7, 10.0.0.2"), "10.0.0.2");
    let every_four = networks(&["::ffff:0:0/96"]);
    assert_eq!(
        by_list(&every_four, "2001:db8::1, 203.0.113.7"),
        "2001:db8::/64"
    );
    // All of IPv6 is not all of IPv4.
    assert_eq!(by_list(&networks(&["::/0"]), "203.0.113.7"), PEER);
}

#[test]
fn a_network_is_read_with_host_bits_set() {
    let trust = networks(&["10.1.2.3/8"]);
    assert_eq!(by_list(&trust, "203.0.113.7, 10.200.0.1"), "203.0.113.7");
}

#[test]
fn the_header_that_was_chosen_last_is_read() {
    let lines = [
        (XFF, "192.0.2.1"),
        (FORWARDED, "for=192.0.2.2"),
        ("x-real-ip", "192.0.2.3"),
    ];
    let real = || "x-real-ip".parse().unwrap();
    for trust in [Trust::hops(1), networks(&["10.0.0.0/8"])] {
        let by = |trust: Trust| key(&trust, PEER, &lines);
        assert_eq!(by(trust.clone()), "192.0.2.1");
        assert_eq!(by(trust.clone().over_forwarded()), "192.0.2.2");
        assert_eq!(by(trust.clone().over_header(real())), "192.0.2.3");
        assert_eq!(
            by(trust.clone().over_forwarded().over_x_forwarded_for()),
            "192.0.2.1"
        );
        assert_eq!(by(trust.over_header(real()).over_forwarded()), "192.0.2.2");
    }
}

#[test]
fn a_header_of_any_length_is_read_from_the_right() {
    let long = "9.9.9.9, ".repeat(200_000) + "203.0.113.7";
    assert_eq!(by_list(&Trust::hops(1), &long), "203.0.113.7");
    assert_eq!(by_list(&private(), &long), "203.0.113.7");
    let all = "10.0.0.7".to_owned() + &", 10.0.0.8".repeat(100_000);
    assert_eq!(by_list(&private(), &all), "10.0.0.7");
    assert_eq!(by_list(&Trust::hops(100_001), &all), "10.0.0.7");
    assert_eq!(by_list(&Trust::hops(100_002), &all), PEER);
    for junk in ["9", ",", " ", "\u{fc}", "\"", "\\\"", ":", "["] {
        let junk = junk.repeat(1_000_000);
        assert_eq!(by_list(&Trust::hops(1), &junk), PEER);
        assert_eq!(by_list(&private(), &junk), PEER);
        assert_eq!(
            by_list(&Trust::hops(1), junk + ",203.0.113.7"),
            "203.0.113.7"
        );
    }
}

/// The list from left to right, `None` for junk: by the definition.
fn read_slowly(lines: &[String]) -> Vec<Option<IpAddr>> {
    let joined = lines.join(",");
    let elements = joined
        .split(',')
        .map(|element| element.trim_matches([' ', '\t']));
    let elements = elements.filter(|element| !element.is_empty());
    elements.map(|element| element.parse().ok()).collect()
}

fn by_definition(lines: &[String], hops: usize) -> IpAddr {
    let list = read_slowly(lines);
    let peer = PEER.parse().unwrap();
    let Some(first) = list.len().checked_sub(hops) else {
        return peer;
    };
    match list[first..].iter().copied().collect::<Option<Vec<_>>>() {
        Some(good) => good.first().copied().unwrap_or(peer),
        None => peer,
    }
}

fn by_definition_of_walk(lines: &[String], is_trusted: impl Fn(IpAddr) -> bool) -> IpAddr {
    let mut reached: IpAddr = PEER.parse().unwrap();
    for entry in read_slowly(lines).into_iter().rev() {
        match entry {
            Some(entry) if is_trusted(reached) => reached = entry,
            _ => break,
        }
    }
    reached
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let element = prop::sample::select(vec![
        "10.0.0.2",
        "10.0.0.3",
        "203.0.113.7",
        "198.51.100.4",
        "10.0.0.2",
        "10.9.0.3",
        "unknown",
        "",
        " ",
        "10.0.0.02",
        "1.2.3",
    ]);
    let comma = prop::sample::select(vec![",", ", ", " ,\t", ",,"]);
    let line = prop::collection::vec((element, comma), 0..6)
        .prop_map(|parts| {
            parts
                .iter()
                .map(|(element, comma)| format!("{element}{comma}"))
                .collect()
        })
        .prop_map(|line: String| match line.strip_suffix(',') {
            Some(line) => line.to_owned(),
            None => line,
        });
    prop::collection::vec(line, 0..4)
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn any_list_is_read_as_the_definition_has_it(lines in lines(), hops in 0_usize..6) {
        let sent: Vec<(&str, &str)> = lines.iter().map(|line| (XFF, line.as_str())).collect();
        let by_hops = key(&Trust::hops(hops), PEER, &sent);
        prop_assert_eq!(by_hops, by_definition(&lines, hops).to_string());
        let by_networks = key(&private(), PEER, &sent);
        let is_private = |address: IpAddr| address.to_string().starts_with("10.");
        prop_assert_eq!(by_networks, by_definition_of_walk(&lines, is_private).to_string());
    }
}
