//! Where the peer's address is found.

use std::net::SocketAddr;

use http::Request;
use tollgate::http::{ClientIp, KeyExtractor, PeerAddr, Trust};

use crate::asked::{XFF, networks};

fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address and a port")
}

fn key(extractor: &ClientIp, request: &Request<&str>) -> Option<String> {
    extractor.extract(request).map(|key| key.to_string())
}

#[test]
fn a_request_without_a_peer_has_no_key() {
    assert_eq!(key(&ClientIp::new(), &Request::new("")), None);
    assert_eq!(key(&ClientIp::default(), &Request::new("")), None);
}

#[test]
fn the_peer_is_found_in_an_extension_of_either_type() {
    let mut request = Request::new("");
    request.extensions_mut().insert(addr("203.0.113.7:80"));
    assert_eq!(key(&ClientIp::new(), &request).unwrap(), "203.0.113.7");
    request
        .extensions_mut()
        .insert(PeerAddr(addr("203.0.113.9:80")));
    assert_eq!(key(&ClientIp::new(), &request).unwrap(), "203.0.113.9");
}

#[test]
fn the_peers_port_scope_and_notation_do_not_count() {
    for (peer, expected) in [
        ("203.0.113.7:1", "203.0.113.7"),
        ("203.0.113.7:65535", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:1", "203.0.113.7"),
        ("[fe80::1%3]:1", "fe80::/64"),
        ("[2001:db8::1]:1", "2001:db8::/64"),
    ] {
        let mut request = Request::new("");
        request.extensions_mut().insert(PeerAddr(addr(peer)));
        assert_eq!(key(&ClientIp::new(), &request).unwrap(), expected);
    }
}

#[derive(Clone)]
struct ConnectInfo<T>(T);

#[test]
fn what_another_server_puts_there_is_found_by_a_function_and_nothing_else_is() {
    let extractor = ClientIp::new()
        .peer_from(|extensions| Some(extensions.get::<ConnectInfo<SocketAddr>>()?.0));
    let mut request = Request::new("");
    request
        .extensions_mut()
        .insert(PeerAddr(addr("203.0.113.9:80")));
    assert_eq!(key(&extractor, &request), None);
    let info = ConnectInfo(addr("203.0.113.7:80"));
    request.extensions_mut().insert(info);
    assert_eq!(key(&extractor, &request).unwrap(), "203.0.113.7");
}

#[test]
fn over_a_unix_socket_a_hop_is_believed_and_a_network_is_not() {
    let mut request = Request::new("");
    request
        .headers_mut()
        .insert(XFF, "203.0.113.7".parse().unwrap());
    let by = |trust: Trust| key(&ClientIp::new().trust(trust), &request);
    assert_eq!(by(Trust::hops(1)).unwrap(), "203.0.113.7");
    assert_eq!(
        by(Trust::hops(1).over_header(XFF.parse().unwrap())).unwrap(),
        "203.0.113.7"
    );
    assert_eq!(by(Trust::hops(2)), None);
    assert_eq!(by(Trust::none()), None);
    let everybody = networks(&["0.0.0.0/0", "::/0"]);
    assert_eq!(by(everybody.clone()), None);
    assert_eq!(by(everybody.over_header(XFF.parse().unwrap())), None);
}

#[test]
fn the_whole_address_is_there_for_a_log() {
    let mut request = Request::new("");
    request
        .extensions_mut()
        .insert(PeerAddr(addr("[2001:db8::7]:1")));
    let address = ClientIp::new().v6_prefix(32).address(&request);
    assert_eq!(address.unwrap().to_string(), "2001:db8::7");
    assert_eq!(
        key(&ClientIp::new().v6_prefix(32), &request).unwrap(),
        "2001:db8::/32"
    );
}
