//! What finding a key allocates.

use allocation_counter::measure;
use http::Request;
use tollgate::http::{ClientIp, HeaderKey, KeyExtractor, PathTemplate, Trust};

use crate::asked::{FORWARDED, PEER, XFF, networks, request};

fn allocations<E: KeyExtractor<()>>(extractor: &E, request: &Request<()>) -> u64 {
    measure(|| drop(extractor.extract(request))).count_total
}

#[test]
fn an_address_is_found_without_an_allocation() {
    let requests = [
        request::<&str>(PEER, &[]),
        request(
            PEER,
            &[(XFF, "9.9.9.1, [2001:db8::1]:443"), (XFF, "10.0.0.9")],
        ),
        request(
            PEER,
            &[(
                FORWARDED,
                r#"for=9.9.9.1, for="\[2001:db8::1\]:443";x="\"", for=10.0.0.9"#,
            )],
        ),
        request(
            PEER,
            &[
                (XFF, "junk,".repeat(10_000)),
                (FORWARDED, "for=\"\\x\",".repeat(10_000)),
            ],
        ),
    ];
    for trust in [
        Trust::none(),
        Trust::hops(1),
        Trust::hops(2),
        Trust::hops(9),
        networks(&["10.0.0.0/8"]),
    ] {
        let one_header = trust.clone().over_header(XFF.parse().unwrap());
        for trust in [trust.clone(), trust.over_forwarded(), one_header] {
            let key = ClientIp::new().trust(trust);
            for request in &requests {
                assert_eq!(allocations(&key, request), 0, "{key:?} {request:?}");
            }
        }
    }
}

#[test]
fn a_path_is_matched_without_an_allocation() {
    let key = PathTemplate::new(["/users/{id}/posts/{post}", "/files/{*path}"]).unwrap();
    for path in ["/users/1/posts/2", "/files/a/b/c", "/about"] {
        let request = Request::get(path).body(()).unwrap();
        assert_eq!(allocations(&key, &request), 0);
        assert_eq!(allocations(&key.clone().or_other(), &request), 0);
    }
}

#[test]
fn a_value_is_allocated_once_and_not_at_all_if_it_is_no_key() {
    let key = HeaderKey::new("x-api-key".parse().unwrap());
    let with = |len: usize| request(PEER, &[("x-api-key", "x".repeat(len))]);
    assert_eq!(allocations(&key, &with(32)), 1);
    assert_eq!(allocations(&key, &with(1_000_000)), 0);
    assert_eq!(allocations(&key, &with(0)), 0);
}
