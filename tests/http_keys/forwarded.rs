//! `Forwarded` of RFC 7239.

use proptest::prelude::*;
use tollgate::http::Trust;

use crate::asked::{FORWARDED, PEER, by_forwarded, by_list, key, networks};
use crate::config::config;

#[track_caller]
fn names(element: &str, expected: &str) {
    assert_eq!(
        by_forwarded(&Trust::hops(1), element),
        expected,
        "{element}"
    );
    // It does not matter what stands left of it.
    let second = format!("for=9.9.9.1, {element}");
    assert_eq!(by_forwarded(&Trust::hops(1), &second), expected, "{second}");
    assert_eq!(
        by_forwarded(&networks(&["10.0.0.0/8"]), &second),
        expected,
        "{second}"
    );
}

#[track_caller]
fn is_junk(element: &str) {
    names(element, PEER);
}

#[test]
fn an_element_names_whom_a_request_was_forwarded_for() {
    names("for=203.0.113.7", "203.0.113.7");
    names("For=203.0.113.7", "203.0.113.7");
    names("FOR=203.0.113.7", "203.0.113.7");
    names("for=\"203.0.113.7\"", "203.0.113.7");
    names("for=\"203.0.113.7:4711\"", "203.0.113.7");
    names("for=\"203.0.113.7:_port\"", "203.0.113.7");
    names("for=\"[2001:db8:1:2::9]\"", "2001:db8:1:2::/64");
    names("for=\"[2001:db8:1:2::9]:443\"", "2001:db8:1:2::/64");
    names("For=\"[2001:DB8:1:2::9]:_443\"", "2001:db8:1:2::/64");
    names("for=\"[::ffff:203.0.113.7]\"", "203.0.113.7");
    names("for=\"[fe80::1%eth0]\"", "fe80::/64");
}

#[test]
fn the_other_pairs_of_an_element_do_not_count() {
    names(
        "for=203.0.113.7;proto=https;by=198.51.100.1;host=example.com",
        "203.0.113.7",
    );
    names("proto=https;for=203.0.113.7", "203.0.113.7");
    names(
        "by=\"[2001:db8::1]:80\";host=\"example.com:8080\";for=203.0.113.7",
        "203.0.113.7",
    );
    names(
        "for=203.0.113.7;secret=\"a, b; for=9.9.9.9\"",
        "203.0.113.7",
    );
    names("secret=\"for=9.9.9.9\";for=203.0.113.7", "203.0.113.7");
    names("for=203.0.113.7;host=\"\"", "203.0.113.7");
    names(
        "for=203.0.113.7;x-for=9.9.9.9;forx=9.9.9.9;fo=9.9.9.9",
        "203.0.113.7",
    );
    names(
        "for=203.0.113.7;!#$%&'*+-.^_`|~=!#$%&'*+-.^_`|~",
        "203.0.113.7",
    );
}

#[test]
fn what_proxies_write_against_the_rules_is_read_where_there_is_no_doubt() {
    names("for=203.0.113.7:4711", "203.0.113.7");
    names("for=2001:db8:1:2::9", "2001:db8:1:2::/64");
    names("for=[2001:db8:1:2::9]", "2001:db8:1:2::/64");
    names("for=[2001:db8:1:2::9]:443;proto=https", "2001:db8:1:2::/64");
    names("for=\"2001:db8:1:2::9\"", "2001:db8:1:2::/64");
    names("for=203.0.113.7 ; proto=https", "203.0.113.7");
    names("proto=https;\t for=203.0.113.7", "203.0.113.7");
    names("for=203.0.113.7;host=example.com:80", "203.0.113.7");
}

#[test]
fn pairs_may_be_empty() {
    names("for=203.0.113.7;", "203.0.113.7");
    names(";for=203.0.113.7", "203.0.113.7");
    names(";; ;for=203.0.113.7; ;", "203.0.113.7");
    is_junk(";");
    is_junk("; ;");
}

#[test]
fn escapes_are_undone() {
    names(r#"for="\2\0\3.0.113.7""#, "203.0.113.7");
    names(r#"for="203.0.113\.7""#, "203.0.113.7");
    names(r#"for="\[2001:db8:1:2::9\]:443""#, "2001:db8:1:2::/64");
    names(r#"for=203.0.113.7;host="a\"b, for=9.9.9.9""#, "203.0.113.7");
    names(r#"for=203.0.113.7;host="a\\""#, "203.0.113.7");
    names(r#"for=203.0.113.7;host="\\\"\\""#, "203.0.113.7");
    names(r#"host="\"";for=203.0.113.7;host="\"""#, "203.0.113.7");
    is_junk(r#"for="203.0.113.7\\""#);
    is_junk(r#"for="203.0.113.7\"""#);
    is_junk(r#"for="203.0.113.7\""#);
    is_junk(r"for=203.0.113\.7");
}

#[test]
fn what_names_nobody_is_junk() {
    for element in [
        "for=unknown",
        "for=\"unknown\"",
        "for=Unknown",
        "for=_hidden",
        "for=\"_SEVKISEK\"",
        "for=\"_hidden:80\"",
        "for=\"unknown:80\"",
        "by=203.0.113.7",
        "proto=https",
        "host=203.0.113.7",
        "203.0.113.7",
        "for",
        "for=",
        "for=\"\"",
        "for=;proto=https",
        "=203.0.113.7",
        "for=example.com",
        "for=203.0.113.07",
        "for=\"203.0.113.7:\"",
        "for=\"[203.0.113.7]\"",
    ] {
        is_junk(element);
    }
}

#[test]
fn what_names_more_than_one_is_junk() {
    is_junk("for=203.0.113.7;for=203.0.113.7");
    is_junk("for=9.9.9.9;proto=https;FOR=203.0.113.7");
    is_junk("for=unknown;for=203.0.113.7");
    is_junk("for=203.0.113.7;for=unknown");
}

#[test]
fn an_element_that_is_malformed_anywhere_is_junk() {
    for element in [
        "for =203.0.113.7",
        "for= 203.0.113.7",
        "for = 203.0.113.7",
        "for:203.0.113.7",
        "for=203.0.113.7 proto=https",
        "for=203.0.113.7;proto",
        "for=203.0.113.7;=",
        "for=203.0.113.7;=x",
        "=x;for=203.0.113.7",
        "for=203.0.113.7;proto=",
        "for=203.0.113.7;;;x",
        "for=203.0.113.7;a=b=c",
        "for=\"203.0.113.7\"x",
        "for=\"203.0.113.7\" x",
        "for=\"203.0.113.7\"\"\"",
        "for=x\"203.0.113.7\"",
        "\"for\"=203.0.113.7",
        "\"for=203.0.113.7\"",
        "for=\" 203.0.113.7\"",
        "for=\"203.0.113.7 \"",
        "for='203.0.113.7'",
        "for=<203.0.113.7>",
        "(x)=y;for=203.0.113.7",
        "for=203.0.113.7;x=a/b",
        "for=203.0.113.7;x=\u{fc}",
        "\u{fc}=x;for=203.0.113.7",
        "for=203.0.113.7}",
        "{for=203.0.113.7",
        "for@=203.0.113.7",
        "for==203.0.113.7",
    ] {
        is_junk(element);
    }
}

#[test]
fn a_quote_without_a_partner_is_junk() {
    for element in [
        "for=\"203.0.113.7",
        "for=203.0.113.7\"",
        "for=203.0.113.7;host=\"x",
        "for=203.0.113.7;host=x\"",
        "\"",
        "\\\"",
        "\"\"\"",
    ] {
        assert_eq!(by_forwarded(&Trust::hops(1), element), PEER, "{element}");
        let second = format!("for=9.9.9.1, {element}");
        assert_eq!(by_forwarded(&Trust::hops(1), &second), PEER, "{second}");
    }
}

#[test]
fn a_quote_that_a_client_leaves_open_swallows_nothing() {
    for typed in [
        "for=\"",
        "\"",
        "for=9.9.9.1;x=\"",
        "for=\"\\",
        "for=\"x\\\"",
        "\"\"\"",
        "\\",
        "\\\\\"",
        "for=\"9.9.9.1",
    ] {
        for (trusted, hops) in [
            ("for=203.0.113.7", 1),
            ("for=\"203.0.113.7\"", 1),
            ("for=203.0.113.7;host=\"a, \\\"b\"", 1),
            ("for=203.0.113.7, for=\"[2001:db8::1]\"", 2),
        ] {
            for list in [format!("{typed},{trusted}"), format!("{typed} , {trusted}")] {
                assert_eq!(
                    by_forwarded(&Trust::hops(hops), &list),
                    "203.0.113.7",
                    "{list}"
                );
            }
            let lines = [(FORWARDED, typed), (FORWARDED, trusted)];
            let trust = Trust::hops(hops).over_forwarded();
            assert_eq!(key(&trust, PEER, &lines), "203.0.113.7", "{lines:?}");
        }
    }
}

#[test]
fn hops_and_networks_walk_over_elements() {
    let list = "for=9.9.9.1, for=203.0.113.7;by=_x, for=\"10.0.0.9:80\";host=\"a,b\"";
    assert_eq!(by_forwarded(&Trust::hops(1), list), "10.0.0.9");
    assert_eq!(by_forwarded(&Trust::hops(2), list), "203.0.113.7");
    assert_eq!(by_forwarded(&Trust::hops(3), list), "9.9.9.1");
    assert_eq!(by_forwarded(&Trust::hops(4), list), PEER);
    let private = networks(&["10.0.0.0/8"]);
    assert_eq!(by_forwarded(&private, list), "203.0.113.7");
    assert_eq!(
        by_forwarded(&private, "for=203.0.113.7, proto=https, for=10.0.0.9"),
        "10.0.0.9"
    );
    assert_eq!(
        by_forwarded(&private, "for=203.0.113.7, , ,for=10.0.0.9,"),
        "203.0.113.7"
    );
    let lines = [
        (FORWARDED, "for=203.0.113.7"),
        (FORWARDED, ""),
        (FORWARDED, "for=10.0.0.9,"),
    ];
    let trust = Trust::hops(2).over_forwarded();
    assert_eq!(key(&trust, PEER, &lines), "203.0.113.7");
    assert_eq!(key(&private.over_forwarded(), PEER, &lines), "203.0.113.7");
}

#[test]
fn a_line_of_any_length_is_read_from_the_right() {
    for junk in [
        "for=9.9.9.9,",
        "for=\"",
        "\"",
        "\\",
        "\\\"",
        ";",
        "for=",
        "\"\\\\",
        ",",
    ] {
        let junk = junk.repeat(200_000);
        let list = format!("{junk},for=203.0.113.7");
        assert_eq!(by_forwarded(&Trust::hops(1), list), "203.0.113.7");
        for list in [
            junk.clone(),
            format!("{junk},\""),
            format!("{junk}for=203.0.113.7;x=\""),
        ] {
            let client = by_forwarded(&Trust::hops(1), list);
            assert!([PEER, "9.9.9.9"].contains(&client.as_str()), "{client}");
        }
    }
    let padded = format!("for=203.0.113.7;x=\"{}\"", "\\\"".repeat(500_000));
    assert_eq!(by_forwarded(&Trust::hops(1), padded), "203.0.113.7");
    let zone = |len: usize| format!("for=\"[fe80::1%{}]\"", "\\z".repeat(len - 10));
    assert_eq!(by_forwarded(&Trust::hops(1), zone(128)), "fe80::/64");
    assert_eq!(by_forwarded(&Trust::hops(1), zone(129)), PEER);
}

/// `text` in quotes, with a backslash before each byte that needs one and before some others.
fn quoted(text: &str, escaped: &[bool]) -> String {
    let mut quoted = String::from("\"");
    for (place, c) in text.chars().enumerate() {
        if matches!(c, '"' | '\\') || escaped.get(place).copied().unwrap_or_default() {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn both_headers_saying_the_same_give_the_same_key(
        nodes in prop::collection::vec(node(), 1..5),
        escaped in prop::collection::vec(any::<bool>(), 40),
        secret in "[ -~]{0,12}",
        hops in 1_usize..5,
    ) {
        let elements: Vec<String> = nodes
            .iter()
            .map(|node| format!("secret={};for={}", quoted(&secret, &[]), quoted(node, &escaped)))
            .collect();
        for trust in [Trust::hops(hops), networks(&["10.0.0.0/8", "fd00::/8"])] {
            let one = by_list(&trust, nodes.join(", "));
            prop_assert_eq!(by_forwarded(&trust, elements.join(", ")), one);
        }
    }

    #[test]
    fn a_quoted_string_of_any_text_ends_where_it_ends(
        before in "[ -~\t]{0,20}", after in "[ -~\t]{0,20}",
        escaped in prop::collection::vec(any::<bool>(), 20),
    ) {
        let element = format!(
            "a={};for=203.0.113.7;b={}", quoted(&before, &escaped), quoted(&after, &escaped),
        );
        let list = format!("for=9.9.9.1;c={}, {element}", quoted(&after, &[]));
        prop_assert_eq!(by_forwarded(&Trust::hops(1), &element), "203.0.113.7");
        prop_assert_eq!(by_forwarded(&Trust::hops(1), &list), "203.0.113.7");
        prop_assert_eq!(by_forwarded(&Trust::hops(2), &list), "9.9.9.1");
        prop_assert_eq!(by_forwarded(&Trust::hops(3), &list), PEER);
    }
}

/// A name of a hop, some of which are trusted and some junk.
fn node() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(|four| std::net::Ipv4Addr::from(four).to_string()),
        any::<[u8; 3]>().prop_map(|[b, c, d]| format!("10.{b}.{c}.{d}:{}", u16::from(d) * 200)),
        any::<u128>().prop_map(|six| std::net::Ipv6Addr::from_bits(six).to_string()),
        any::<u64>().prop_map(|six| format!("[fd00::{:x}]:_p", six as u16)),
        "unknown|_[a-z]{1,5}|[0-9.:\\[\\]%a-f]{1,12}",
    ]
}
