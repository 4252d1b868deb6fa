//! The value of a header.

use std::collections::HashSet;

use http::{HeaderName, Request};
use tollgate::http::{HeaderKey, HeaderValueKey, KeyExtractor};
use tollgate::{Limit, ManualTicker, RateLimiter};

use crate::asked::{PEER, request};

const NAME: &str = "x-api-key";

fn by_name() -> HeaderKey {
    HeaderKey::new(HeaderName::from_static(NAME))
}

fn found<V: AsRef<[u8]>>(extractor: &HeaderKey, lines: &[(&str, V)]) -> Option<Vec<u8>> {
    let key = extractor.extract(&request(PEER, lines))?;
    Some(key.as_bytes().to_vec())
}

#[test]
fn the_value_is_the_key_byte_by_byte() {
    for value in [
        b"ada".as_slice(),
        b"a",
        b"Ada",
        b"a b,\tc",
        b"\xff\xfe\x80",
        "\u{fc}".as_bytes(),
    ] {
        assert_eq!(found(&by_name(), &[(NAME, value)]).unwrap(), value);
    }
    let keys = ["ada", "Ada", "ada ada", "ada  ada", "ada,"]
        .map(|value| found(&by_name(), &[(NAME, value)]));
    assert_eq!(HashSet::from(keys).len(), 5);
}

#[test]
fn spaces_around_the_value_do_not_count() {
    for value in ["ada", " ada", "ada ", "\t ada \t"] {
        assert_eq!(found(&by_name(), &[(NAME, value)]).unwrap(), b"ada");
    }
}

#[test]
fn a_missing_or_empty_value_is_no_key() {
    assert_eq!(found::<&str>(&by_name(), &[]), None);
    for value in ["", " ", "\t\t "] {
        assert_eq!(found(&by_name(), &[(NAME, value)]), None);
        assert_eq!(found(&by_name().max_len(0), &[(NAME, value)]), None);
    }
    assert_eq!(found(&by_name(), &[("x-other", "ada")]), None);
}

#[test]
fn a_repeated_header_is_no_key_even_if_it_says_the_same() {
    assert_eq!(found(&by_name(), &[(NAME, "ada"), (NAME, "bob")]), None);
    assert_eq!(found(&by_name(), &[(NAME, "ada"), (NAME, "ada")]), None);
    assert_eq!(found(&by_name(), &[(NAME, "ada"), (NAME, "")]), None);
}

#[test]
fn a_value_over_the_cap_is_no_key() {
    let of =
        |key: &HeaderKey, len: usize| found(key, &[(NAME, "x".repeat(len))]).map(|key| key.len());
    for (key, cap) in [
        (by_name(), 256),
        (by_name().max_len(1), 1),
        (by_name().max_len(5_000), 5_000),
    ] {
        assert_eq!(of(&key, cap), Some(cap));
        assert_eq!(of(&key, cap + 1), None);
        assert_eq!(of(&key, 1_000_000), None);
    }
    // Spaces around it are not part of it.
    let padded = format!("{}x{}", " ".repeat(300), " ".repeat(300));
    assert_eq!(
        found(&by_name().max_len(1), &[(NAME, padded)]).unwrap(),
        b"x"
    );
}

#[test]
fn a_bearer_token_is_found_in_every_spelling() {
    let of = |value: &str| found(&HeaderKey::bearer_token(), &[("authorization", value)]);
    for value in [
        "Bearer ada",
        "bearer ada",
        "BEARER ada",
        "Bearer   ada",
        " Bearer \tada ",
    ] {
        assert_eq!(of(value).unwrap(), b"ada", "{value}");
    }
    assert_eq!(of("Bearer Ada, b").unwrap(), b"Ada, b");
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearerada",
        "Beare ada",
        "Basic YWRh",
        "ada",
        "Token ada",
        "\u{fc}",
    ] {
        assert_eq!(of(value), None, "{value}");
    }
    let long = |len: usize| of(&format!("Bearer {}", "x".repeat(len)));
    assert!(long(256).is_some() && long(257).is_none());
    let capped = HeaderKey::bearer_token().max_len(3);
    assert_eq!(
        found(&capped, &[("authorization", "Bearer ada")]).unwrap(),
        b"ada"
    );
}

#[test]
fn a_secret_does_not_show() {
    let key = by_name()
        .extract(&request(PEER, &[(NAME, "ada-1815")]))
        .unwrap();
    assert_eq!(format!("{key:?}"), "HeaderValueKey(8 bytes)");
    assert_eq!(
        format!("{:#?}", (7, key)),
        "(\n    7,\n    HeaderValueKey(8 bytes),\n)"
    );
}

#[test]
fn a_key_takes_two_words() {
    assert_eq!(size_of::<HeaderValueKey>(), 16);
}

#[test]
fn a_limiter_finds_a_value_by_its_bytes() {
    let limiter = RateLimiter::<HeaderValueKey>::builder(Limit::per_hour(2))
        .ticker(ManualTicker::new(0))
        .build()
        .unwrap();
    let key = by_name().extract(&Request::builder().header(NAME, "ada").body(()).unwrap());
    assert_eq!(limiter.try_acquire(&key.unwrap()).remaining(), 1);
    assert_eq!(limiter.peek(&HeaderValueKey::new(b"ada")).remaining(), 1);
    limiter.reset(b"ada".as_slice());
    assert_eq!(limiter.tracked_keys(), 0);
}
