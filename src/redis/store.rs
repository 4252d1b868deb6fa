//! A store that all servers share: where it is, how it is configured, what it was asked.

use super::breaker::Breaker;
use super::call::{Forget, PARTS, Run};
use super::failure::StoreError;
use super::link::Link;
use super::script::{Code, Scripts};
use super::set_up::SetUpError;
use ::redis::{Cmd, Value};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// An answer that takes longer is a bad sign for the circuit breaker, unless told otherwise.
const SLOW: Duration = Duration::from_millis(25);

/// A Redis or Valkey server, or a cluster of them, in which limiters keep their counts.
///
/// Cheap to clone, and one is enough for all limiters of a process: they share its one connection, which
/// is made when it is first needed and again when it has broken, and its circuit breaker. It must be
/// used within a tokio runtime.
///
/// # Examples
///
/// ```
/// use tollgate::redis::Store;
///
/// let store = Store::open("redis://127.0.0.1:6379")?.with_prefix("shop")?;
/// # let _ = store;
/// # Ok::<(), tollgate::redis::SetUpError>(())
/// ```
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) link: Arc<Link>,
    pub(super) breakers: Arc<[Breaker]>,
    prefix: String,
    pub(super) slow: Duration,
    scripts: Arc<Scripts>,
    pub(super) counts: Arc<StoreCounters>,
}

#[derive(Debug, Default)]
pub(super) struct StoreCounters {
    pub(super) calls: AtomicU64,
    pub(super) scripts_sent: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) ambiguous: AtomicU64,
}

/// What a store has been asked, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCounts {
    /// Requests that were put to it.
    pub calls: u64,
    /// How often a script's text was sent, as the store did not know it.
    pub scripts_sent: u64,
    /// Requests that were sent again, as they surely had not been applied.
    pub retries: u64,
    /// Requests that failed and may have been applied all the same.
    pub ambiguous: u64,
    /// How often a circuit breaker opened.
    pub breaker_opened: u64,
    /// Whether one is open now.
    pub breaker_open: bool,
}

impl Store {
    /// A single server: `redis://user:password@host:6379/0`, or `rediss://` with TLS (feature
    /// `redis-tls`), or `unix:///path`. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// If the address cannot be read.
    pub fn open(url: &str) -> Result<Self, SetUpError> {
        Ok(Self::new(Link::to(url)?))
    }

    /// A cluster, by the addresses of some of its servers.
    ///
    /// # Errors
    ///
    /// If there is none, or one cannot be read.
    pub fn open_cluster<S: Into<String>>(
        urls: impl IntoIterator<Item = S>,
    ) -> Result<Self, SetUpError> {
        let urls: Vec<String> = urls.into_iter().map(Into::into).collect();
        Ok(Self::new(Link::to_cluster(&urls)?))
    }

    fn new(link: Link) -> Self {
        let parts = if link.is_cluster() { PARTS } else { 1 };
        Self {
            inner: Arc::new(Inner {
                link: Arc::new(link),
                breakers: (0..parts).map(|_| Breaker::default()).collect(),
                prefix: "tollgate".to_owned(),
                slow: SLOW,
                scripts: Arc::new(Scripts::real()),
                counts: Arc::default(),
            }),
        }
    }

    /// The same store, under keys that begin with `prefix` instead of `tollgate`.
    ///
    /// # Errors
    ///
    /// If it is not of 1 to 64 letters, digits, `-`, `_` and `.`.
    pub fn with_prefix(self, prefix: &str) -> Result<Self, SetUpError> {
        check_name(prefix)?;
        Ok(self.change(|inner| prefix.clone_into(&mut inner.prefix)))
    }

    /// The same store, where an answer that takes longer than `slow` (25 ms unless set) is a bad sign
    /// for the circuit breaker.
    pub fn with_slow(self, slow: Duration) -> Self {
        self.change(|inner| inner.slow = slow)
    }

    /// The same store, whose scripts have another clock.
    #[cfg(test)]
    pub(super) fn with_clock(self, clock: &str) -> Self {
        self.change(|inner| inner.scripts = Arc::new(Scripts::with_clock(clock)))
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let old = &self.inner;
        let mut inner = Inner {
            link: old.link.clone(),
            breakers: old.breakers.clone(),
            prefix: old.prefix.clone(),
            slow: old.slow,
            scripts: old.scripts.clone(),
            counts: old.counts.clone(),
        };
        change(&mut inner);
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Connects, if there is no connection yet, and asks whether the store is well: for a server that
    /// would rather not start than start with a wrong password.
    ///
    /// # Errors
    ///
    /// If it is not, or does not answer within `budget`.
    pub async fn check(&self, budget: Duration) -> Result<(), StoreError> {
        let key = format!("{}:", self.inner.prefix).into_bytes();
        let mut sent = false;
        let asking = async {
            let mut held = self.inner.link.connection().await?;
            sent = true;
            let answer = held.connection.ping(&key).await;
            answer.map_err(|error| self.inner.broken(&held, &error))
        };
        match timeout(budget, asking).await {
            Ok(answer) => answer.map(drop),
            Err(_) => Err(StoreError::TimedOut {
                budget,
                maybe_applied: false,
            }),
        }
    }

    /// What it has been asked.
    pub fn counts(&self) -> StoreCounts {
        let counts = &self.inner.counts;
        // Relaxed: each is a figure by itself.
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StoreCounts {
            calls: load(&counts.calls),
            scripts_sent: load(&counts.scripts_sent),
            retries: load(&counts.retries),
            ambiguous: load(&counts.ambiguous),
            breaker_opened: self.inner.breakers.iter().map(Breaker::times_opened).sum(),
            breaker_open: self.inner.breakers.iter().any(Breaker::is_open),
        }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.inner.prefix
    }

    pub(super) fn scripts(&self) -> &Scripts {
        &self.inner.scripts
    }

    /// Whether both are one and the same, however they were configured.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner.link, &other.inner.link) && self.prefix() == other.prefix()
    }

    /// Runs a script, in all within `budget`. `arguments` writes what follows the keys.
    pub(super) async fn run(
        &self,
        code: &Code,
        keys: &[&[u8]],
        arguments: impl Fn(&mut Cmd),
        budget: Duration,
    ) -> Result<Value, StoreError> {
        let run = Run {
            code,
            keys,
            arguments,
        };
        let key = keys.first().copied().unwrap_or_default();
        self.inner.call(key, budget, run).await
    }

    /// Forgets keys.
    pub(super) async fn forget(
        &self,
        keys: &[Vec<u8>],
        budget: Duration,
    ) -> Result<(), StoreError> {
        for key in keys {
            self.inner.call(key, budget, Forget(key)).await?;
        }
        Ok(())
    }
}

pub(super) fn check_name(name: &str) -> Result<(), SetUpError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        Err(SetUpError::Name {
            name: name.to_owned(),
        })
    }
}

/// From 0 to 1, another one every time.
pub(super) fn chance() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("link", &self.inner.link)
            .field("prefix", &self.inner.prefix)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
