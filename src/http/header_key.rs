//! The value of a header as the key of a request.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderValue, Request};

use super::KeyExtractor;

/// Counts a request against the value of a header, such as an API key.
///
/// A request has no key if the header is missing, empty, longer than the cap
/// ([`max_len`](Self::max_len)), or there more than once. A value that is too long is not cut, since
/// then two clients could share a key; nor is it replaced by a hash, since nobody who has a key needs
/// so long a value. Of two values no one can tell which the server behind will go by.
///
/// Spaces around the value do not count, everything else does, upper and lower case included. Each
/// extraction allocates the value once.
///
/// # Security
///
/// A client can send any value, and a new one with each request. Put the layer behind the check of
/// the values, or limit by [`ClientIp`](super::ClientIp) as well, with a limiter of its own: a pair
/// of the two as one key limits neither. Memory is at most the cap times
/// [`max_keys`](crate::Builder::max_keys).
///
/// If two spellings of a value are one to the server behind, they are still two keys here. For
/// `Authorization: Bearer …` there is [`bearer_token`](Self::bearer_token).
///
/// # Examples
///
/// ```
/// use http::{HeaderName, Request};
/// use tollgate::http::{HeaderKey, KeyExtractor};
///
/// let key = HeaderKey::new(HeaderName::from_static("x-api-key")).max_len(8);
/// let of = |value: &str| {
///     let request = Request::get("/").header("x-api-key", value).body(()).unwrap();
///     key.extract(&request)
/// };
/// assert_eq!(of("ada-1815").unwrap().as_bytes(), b"ada-1815");
/// assert_eq!(of(""), None);
/// assert_eq!(of("ada-1815x"), None);
///
/// // It is a secret, and does not show in logs.
/// assert_eq!(format!("{:?}", of("ada-1815").unwrap()), "HeaderValueKey(8 bytes)");
/// ```
#[derive(Clone, Debug)]
pub struct HeaderKey {
    name: HeaderName,
    max_len: usize,
    part: Part,
}

/// Which part of the value is the key.
#[derive(Clone, Copy, Debug)]
enum Part {
    Whole,
    BearerToken,
}

impl HeaderKey {
    /// The value of the header `name`, if it has at most 256 bytes.
    pub fn new(name: HeaderName) -> Self {
        Self {
            name,
            max_len: 256,
            part: Part::Whole,
        }
    }

    /// The token of `Authorization: Bearer TOKEN`, if it has at most 256 bytes.
    ///
    /// The scheme is found in upper and lower case and with any number of spaces behind it, as
    /// servers read it. By the whole value, each of these would be a key of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Request;
    /// use tollgate::http::{HeaderKey, KeyExtractor};
    ///
    /// let of = |value: &str| {
    ///     let request = Request::get("/").header("authorization", value).body(()).unwrap();
    ///     HeaderKey::bearer_token().extract(&request)
    /// };
    /// assert_eq!(of("Bearer ada-1815").unwrap().as_bytes(), b"ada-1815");
    /// assert_eq!(of("bEARER   ada-1815"), of("Bearer ada-1815"));
    /// assert_eq!(of("Basic ada-1815"), None);
    /// ```
    pub fn bearer_token() -> Self {
        Self {
            part: Part::BearerToken,
            ..Self::new(AUTHORIZATION)
        }
    }

    /// Takes values of up to `bytes` bytes. Longer ones are no key.
    pub fn max_len(mut self, bytes: usize) -> Self {
        self.max_len = bytes;
        self
    }
}

impl<B> KeyExtractor<B> for HeaderKey {
    type Key = HeaderValueKey;

    fn extract(&self, request: &Request<B>) -> Option<HeaderValueKey> {
        let mut values = request.headers().get_all(&self.name).into_iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return None;
        };
        let value = HeaderValue::as_bytes(value).trim_ascii();
        let key = match self.part {
            Part::Whole => value,
            Part::BearerToken => bearer_token(value)?,
        };
        let fits = (1..=self.max_len).contains(&key.len());
        fits.then(|| HeaderValueKey(Arc::from(key)))
    }
}

fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"Bearer".len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer")
        && token.first().is_some_and(u8::is_ascii_whitespace);
    is_bearer.then(|| token.trim_ascii_start())
}

/// The value of a header, as a key. `Debug` tells its length and not what it is.
///
/// A limiter looks it up by its bytes as well.
///
/// # Examples
///
/// ```
/// use tollgate::http::HeaderValueKey;
/// use tollgate::{Limit, RateLimiter};
///
/// let limiter = RateLimiter::<HeaderValueKey>::new(Limit::per_hour(5))?;
/// let _ = limiter.try_acquire_with(b"ada-1815".as_slice(), HeaderValueKey::new);
/// assert_eq!(limiter.peek(&HeaderValueKey::new(b"ada-1815")).remaining(), 4);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderValueKey(Arc<[u8]>);

impl HeaderValueKey {
    /// The key of requests with this value.
    pub fn new(value: &[u8]) -> Self {
        Self(Arc::from(value))
    }

    /// The value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for HeaderValueKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for HeaderValueKey {
    /// `HeaderValueKey(32 bytes)`: the value is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeaderValueKey({} bytes)", self.0.len())
    }
}
