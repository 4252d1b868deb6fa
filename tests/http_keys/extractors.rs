//! Closures, tuples and shared extractors.

use std::cell::Cell;
use std::sync::Arc;

use http::Request;
use tollgate::http::{ClientIp, HeaderKey, KeyExtractor, PathTemplate};

use crate::asked::{PEER, request};

/// The key as something generic over a body finds it.
fn found<B, E: KeyExtractor<B>>(extractor: &E, request: &Request<B>) -> Option<E::Key> {
    extractor.extract(request)
}

fn method<B>(request: &Request<B>) -> Option<String> {
    Some(request.method().to_string())
}

fn none<B>(_: &Request<B>) -> Option<u8> {
    None
}

#[test]
fn closures_and_functions_are_extractors() {
    let request = Request::put("/").body("body").unwrap();
    let tenant = 7;
    let by_closure = move |request: &Request<&str>| Some((tenant, request.body().len()));
    assert_eq!(found(&by_closure, &request), Some((7, 4)));
    assert_eq!(found(&&by_closure, &request), Some((7, 4)));
    assert_eq!(found(&method, &request).unwrap(), "PUT");
    assert_eq!(found(&none, &request), None);
    let boxed: Box<dyn Fn(&_) -> _> = Box::new(by_closure);
    assert_eq!(found(&boxed, &request), Some((7, 4)));
}

#[test]
fn a_tuple_finds_all_keys_in_their_order() {
    let request = request(PEER, &[("x-api-key", "ada")]);
    let header = HeaderKey::new("x-api-key".parse().unwrap());
    let path = PathTemplate::new(["/"]).unwrap();
    let (address, value) = found(&(ClientIp::new(), header.clone()), &request).unwrap();
    assert_eq!(
        (address.to_string().as_str(), value.as_bytes()),
        (PEER, b"ada".as_slice())
    );
    let (value, index, by_method) =
        found(&(header.clone(), path.clone(), method), &request).unwrap();
    assert_eq!(
        (value.as_bytes(), index.index(), by_method.as_str()),
        (b"ada".as_slice(), Some(0), "GET")
    );
    let four = found(&(ClientIp::new(), header, path, (method, method)), &request).unwrap();
    assert_eq!(four.3, ("GET".to_owned(), "GET".to_owned()));
}

#[test]
fn a_tuple_of_which_one_finds_none_finds_none() {
    let request = Request::new(());
    let some = |_: &Request<()>| Some(1);
    assert!(found(&(some, some), &request).is_some());
    assert!(found(&(none, some), &request).is_none());
    assert!(found(&(some, none), &request).is_none());
    assert!(found(&(some, some, some), &request).is_some());
    assert!(found(&(none, some, some), &request).is_none());
    assert!(found(&(some, none, some), &request).is_none());
    assert!(found(&(some, some, none), &request).is_none());
    assert!(found(&(some, some, some, some), &request).is_some());
    assert!(found(&(none, some, some, some), &request).is_none());
    assert!(found(&(some, none, some, some), &request).is_none());
    assert!(found(&(some, some, none, some), &request).is_none());
    assert!(found(&(some, some, some, none), &request).is_none());
}

#[test]
fn a_tuple_asks_from_left_to_right_and_stops_at_the_first_none() {
    let asked = Cell::new(0);
    let count = |_: &Request<()>| {
        asked.set(asked.get() + 1);
        Some(asked.get())
    };
    assert_eq!(found(&(count, count), &Request::new(())), Some((1, 2)));
    assert!(found(&(none, count), &Request::new(())).is_none());
    assert_eq!(asked.get(), 2);
}

#[test]
fn a_shared_extractor_is_one() {
    let shared = Arc::new((ClientIp::new(), method));
    let request = request(PEER, &[("x", "y")]);
    assert_eq!(found(&shared, &request), found(&*shared, &request));
    assert!(found(&Arc::clone(&shared), &request).is_some());
}

#[test]
fn extractors_can_go_to_any_thread() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<(ClientIp, HeaderKey, PathTemplate)>();
}
