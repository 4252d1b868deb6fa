//! What a request is counted against.

use std::sync::Arc;

use http::Request;

/// Finds the key of a request: whom, or what, it is counted against.
///
/// [`ClientIp`](super::ClientIp), [`HeaderKey`](super::HeaderKey) and
/// [`PathTemplate`](super::PathTemplate) are extractors, and so is every closure from a request to
/// an `Option` of a key. A tuple of two to four extractors finds the tuple of their keys, and none
/// if one of them finds none. An `Arc` of an extractor is one too, for state that is shared.
///
/// `None` means that the request has no key. Whoever asked decides what becomes of it; to guess a
/// key here would put strangers into one bucket, or let them out of all.
///
/// Keys come from outside. Ask of a new extractor how many keys one client can make up: that many
/// limits it has.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::{KeyExtractor, PathTemplate};
///
/// let tenant = |request: &Request<()>| request.extensions().get::<u32>().copied();
/// let key = (tenant, PathTemplate::new(["/users/{id}", "/search"])?);
///
/// let mut request = Request::get("/search").body(()).unwrap();
/// assert_eq!(key.extract(&request), None, "of no tenant");
/// request.extensions_mut().insert(7_u32);
/// let (tenant, path) = key.extract(&request).unwrap();
/// assert_eq!((tenant, path.index()), (7, Some(1)));
/// # Ok::<(), tollgate::http::PathTemplateError>(())
/// ```
pub trait KeyExtractor<B> {
    /// What is found.
    type Key;

    /// The key of `request`, if it has one.
    fn extract(&self, request: &Request<B>) -> Option<Self::Key>;
}

impl<B, K, F> KeyExtractor<B> for F
where
    F: Fn(&Request<B>) -> Option<K>,
{
    type Key = K;

    fn extract(&self, request: &Request<B>) -> Option<K> {
        self(request)
    }
}

// A reference to a closure is a closure, so that there can be no such impl for references.
impl<B, E: KeyExtractor<B>> KeyExtractor<B> for Arc<E> {
    type Key = E::Key;

    fn extract(&self, request: &Request<B>) -> Option<E::Key> {
        E::extract(self, request)
    }
}

macro_rules! tuples {
    ($(($($part:ident $at:tt),+))+) => {$(
        impl<B, $($part: KeyExtractor<B>),+> KeyExtractor<B> for ($($part,)+) {
            type Key = ($($part::Key,)+);

            fn extract(&self, request: &Request<B>) -> Option<Self::Key> {
                Some(($(self.$at.extract(request)?,)+))
            }
        }
    )+};
}

tuples! {
    (First 0, Second 1)
    (First 0, Second 1, Third 2)
    (First 0, Second 1, Third 2, Fourth 3)
}
