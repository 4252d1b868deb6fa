//! What a client adds to the list, at the only end that it can reach, is of no consequence.

use proptest::prelude::*;
use tollgate::http::{ClientIp, HeaderKey, KeyExtractor, PathTemplate, Trust};

use crate::asked::{FORWARDED, PEER, XFF, key, networks, request};
use crate::config::config;

/// A value as it can arrive, of any bytes that a header may have.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let allowed = any::<u8>().prop_filter("no control", |&byte| {
        byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
    });
    let telling = prop::sample::select(b"\"\"\\,;= \tfor1.:[]%_".to_vec());
    prop::collection::vec(prop_oneof![1 => allowed, 3 => telling], 0..40)
}

/// A line that looks like what the header mostly has.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "9.9.9.1",
        "9.9.9.1, 10.0.0.9",
        "10.0.0.9",
        "unknown",
        "for=9.9.9.1",
        "for=\"",
        "for=\"9.9.9.1",
        "for=10.0.0.9, for=\"[::1",
        "for=9.9.9.1;x=\"a\\",
        "for=9.9.9.1;host=\"",
        "\"",
        "\\\"",
        ",",
        "",
    ])
    .prop_map(|line| line.as_bytes().to_vec())
}

fn typed() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop_oneof![bytes(), plausible()], 0..4)
}

/// Elements as proxies write them, the client's first, the others of 10/8.
fn chain() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let client = prop::sample::select(vec![
        ("203.0.113.7", "for=203.0.113.7"),
        ("203.0.113.7:1", "for=\"203.0.113.7:1\";proto=https"),
        (
            "[2001:db8:1:2::9]:443",
            "host=\"a\\\"b,\\\\\";for=\"[2001:db8:1:2::9]:443\"",
        ),
        ("2001:db8:1:2::9", "for=\"[2001:db8:1:2::9]\";by=\"_x,\""),
    ]);
    let proxy = prop::sample::select(vec![
        ("10.0.0.8", "for=10.0.0.8"),
        (
            "10.0.0.9:80",
            "by=_y;for=\"10.0.0.9:80\";host=\", for=8.8.8.8\"",
        ),
        ("::ffff:10.0.0.7", "for=\"[::ffff:a00:7]\""),
    ]);
    (client, prop::collection::vec(proxy, 0..3)).prop_map(|(client, proxies)| {
        std::iter::once(client)
            .chain(proxies)
            .map(|(list, forwarded)| (list.to_owned(), forwarded.to_owned()))
            .unzip()
    })
}

/// What arrives when a client sent `typed` and each proxy appended its element: to the last line,
/// or as a line of its own.
fn arriving(typed: &[Vec<u8>], chain: &[String], own_line: &[bool]) -> Vec<Vec<u8>> {
    let mut lines = typed.to_vec();
    for (element, &own_line) in chain.iter().zip(own_line) {
        match lines.last_mut() {
            Some(last) if !own_line => {
                last.extend_from_slice(b", ");
                last.extend_from_slice(element.as_bytes());
            }
            _ => lines.push(element.as_bytes().to_vec()),
        }
    }
    lines
}

proptest! {
    #![proptest_config(config(5_000))]

    #[test]
    fn what_a_client_types_never_changes_its_key(
        typed in typed(), chain in chain(), own_line: [bool; 3],
    ) {
        let (list, forwarded) = chain;
        for (name, chain) in [(XFF, &list), (FORWARDED, &forwarded)] {
            let hops = Trust::hops(chain.len());
            let private = networks(&["10.0.0.0/8"]);
            for trust in [hops, private] {
                let trust = if name == XFF { trust } else { trust.over_forwarded() };
                let by = |typed: &[Vec<u8>]| {
                    let lines = arriving(typed, chain, &own_line);
                    let lines: Vec<(&str, &[u8])> =
                        lines.iter().map(|line| (name, line.as_slice())).collect();
                    key(&trust, PEER, &lines)
                };
                let honest = by(&[]);
                let expected = if list[0].starts_with('2') && !list[0].contains("db8") {
                    "203.0.113.7"
                } else {
                    "2001:db8:1:2::/64"
                };
                prop_assert_eq!(&honest, expected);
                prop_assert_eq!(by(&typed), honest);
            }
        }
    }

    #[test]
    fn a_peer_that_is_not_trusted_cannot_change_its_key(lines in typed(), hops in 0_usize..2) {
        let stranger = "198.51.100.4";
        let trust = if hops == 0 { Trust::none() } else { networks(&["10.0.0.0/8"]) };
        for (name, trust) in [
            (XFF, trust.clone()),
            (FORWARDED, trust.clone().over_forwarded()),
            ("x-real-ip", trust.over_header("x-real-ip".parse().unwrap())),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| (name, line)).collect();
            prop_assert_eq!(key(&trust, stranger, &lines), stranger);
        }
    }

    #[test]
    fn no_bytes_make_anything_panic(lines in typed(), hops in 0_usize..5, prefix: u8) {
        let path = PathTemplate::new(["/{a}/b", "/b/{*rest}"]).unwrap();
        for name in [XFF, FORWARDED, "x-api-key", "authorization"] {
            let lines: Vec<_> = lines.iter().map(|line| (name, line)).collect();
            let request = request(PEER, &lines);
            for trust in [Trust::hops(hops), networks(&["0.0.0.0/0", "::/0"])] {
                let header = name.parse().unwrap();
                for trust in [
                    trust.clone(), trust.clone().over_forwarded(), trust.over_header(header),
                ] {
                    let key = ClientIp::new().trust(trust).v6_prefix(prefix);
                    prop_assert!(key.extract(&request).is_some());
                }
            }
            let _ = HeaderKey::new(name.parse().unwrap()).extract(&request);
            let _ = HeaderKey::bearer_token().extract(&request);
            prop_assert!(path.extract(&request).is_none());
        }
    }
}
