//! A limiter for keys of one type.

use super::key::StoreKey;
use super::limiter::RedisLimiter;
use std::fmt;
use std::marker::PhantomData;

/// A [`RedisLimiter`] for keys of one type: what a `RateLimitLayer` (feature `tower`) holds requests to.
///
/// The layer asks the store for each request, and so holds it for the time of a round trip; everything else
/// is as with a limiter of one process. A request that is refused because nobody has decided is answered 503
/// rather than 429. Under [`OnFailure::Report`](super::OnFailure::Report), and if the set-up is wrong, the
/// answer is 503 as well, with the [`StoreError`](super::StoreError) in its extensions.
#[cfg_attr(
    feature = "tower",
    doc = r#"
# Examples

```no_run
use std::sync::Arc;
use tollgate::Limit;
use tollgate::http::{ClientAddr, ClientIp, Headers, RateLimitLayer};
use tollgate::redis::{OnFailure, RedisLimiter, Store};

let store = Store::open("redis://127.0.0.1:6379")?;
let limiter = RedisLimiter::builder(&store, "api", Limit::per_minute(100))
    .on_failure(OnFailure::Local { servers: 4 })
    .build()?;
let layer = RateLimitLayer::builder(Arc::new(limiter.keyed::<ClientAddr>()), ClientIp::new())
    .headers(Headers::Draft)
    .build();
# let _ = layer;
# Ok::<(), tollgate::redis::SetUpError>(())
```
"#
)]
pub struct Keyed<K> {
    limiter: RedisLimiter,
    keys: PhantomData<fn(&K)>,
}

impl<K: StoreKey> Keyed<K> {
    pub(super) fn new(limiter: RedisLimiter) -> Self {
        Self {
            limiter,
            keys: PhantomData,
        }
    }

    /// The limiter, for everything else.
    pub fn limiter(&self) -> &RedisLimiter {
        &self.limiter
    }
}

impl<K> Clone for Keyed<K> {
    fn clone(&self) -> Self {
        Self {
            limiter: self.limiter.clone(),
            keys: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Keyed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limiter.fmt(f)
    }
}
