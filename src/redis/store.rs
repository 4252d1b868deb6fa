//! A store that all servers share, and one call to it: connect, ask, and at most one retry, all within
//! one span of time.

use super::breaker::{Breaker, wait_before};
use super::failure::StoreError;
use super::key::tag_of;
use super::link::{Connection, Held, Link};
use super::script::{Code, Scripts};
use super::set_up::SetUpError;
use ::redis::{Cmd, ErrorKind, RedisError, RetryMethod, ServerErrorKind, Value, cmd};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// An answer that takes longer is a bad sign for the circuit breaker, unless told otherwise.
const SLOW: Duration = Duration::from_millis(25);

/// The slots of a cluster are judged in so many parts, as they are kept by different servers.
const PARTS: u16 = 16;
const SLOTS: u16 = 16_384;

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

struct Inner {
    link: Arc<Link>,
    breakers: Arc<[Breaker]>,
    prefix: String,
    slow: Duration,
    scripts: Arc<Scripts>,
    counts: Arc<StoreCounters>,
}

#[derive(Debug, Default)]
struct StoreCounters {
    calls: AtomicU64,
    scripts_sent: AtomicU64,
    retries: AtomicU64,
    ambiguous: AtomicU64,
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
        let call = Call {
            code,
            keys,
            arguments,
        };
        let key = keys.first().copied().unwrap_or_default();
        self.inner.within(key, budget, call).await
    }

    /// Forgets keys.
    pub(super) async fn forget(
        &self,
        keys: &[Vec<u8>],
        budget: Duration,
    ) -> Result<(), StoreError> {
        for key in keys {
            self.inner.within(key, budget, Forget(key)).await?;
        }
        Ok(())
    }
}

/// Something that is sent, and may be sent once more if it surely was not applied.
trait Request {
    fn first(&self) -> Cmd;
    /// What is sent the second time: whatever server it goes to may know no script.
    fn again(&self) -> Cmd;
}

struct Call<'a, A> {
    code: &'a Code,
    keys: &'a [&'a [u8]],
    arguments: A,
}

impl<A: Fn(&mut Cmd)> Call<'_, A> {
    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = Cmd::with_capacity(16, 256);
        command.arg(name).arg(script);
        command.arg(self.keys.len()).arg(self.keys);
        (self.arguments)(&mut command);
        command
    }
}

impl<A: Fn(&mut Cmd)> Request for Call<'_, A> {
    fn first(&self) -> Cmd {
        self.command("EVALSHA", &self.code.digest)
    }

    fn again(&self) -> Cmd {
        self.command("EVAL", &self.code.text)
    }
}

struct Forget<'a>(&'a [u8]);

impl Request for Forget<'_> {
    fn first(&self) -> Cmd {
        let mut command = cmd("DEL");
        command.arg(self.0);
        command
    }

    fn again(&self) -> Cmd {
        self.first()
    }
}

impl Inner {
    async fn within(
        self: &Arc<Self>,
        key: &[u8],
        budget: Duration,
        request: impl Request,
    ) -> Result<Value, StoreError> {
        let part = self.part(key);
        let breaker = &self.breakers[part];
        breaker.check()?;
        // Relaxed: a figure by itself.
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let mut sent = false;
        let outcome = timeout(budget, self.ask(&request, &mut sent)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(StoreError::TimedOut {
                budget,
                maybe_applied: sent,
            })
        });
        let opened = match &outcome {
            Ok(_) => breaker.succeeded(began.elapsed() > self.slow),
            Err(error) => {
                if error.may_have_been_applied() {
                    self.counts.ambiguous.fetch_add(1, Ordering::Relaxed);
                }
                error.is_outage() && breaker.failed(error)
            }
        };
        if opened {
            self.try_in_background(part, key.to_vec());
        }
        outcome
    }

    async fn ask(&self, request: &impl Request, sent: &mut bool) -> Result<Value, StoreError> {
        let mut held = self.link.connection().await?;
        *sent = true;
        let error = match held.connection.call(&request.first()).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let Some(again) = Again::after(&error) else {
            return Err(self.broken(&held, &error));
        };
        let counts = &self.counts;
        match again {
            Again::WithText => &counts.scripts_sent,
            Again::Asking | Again::Elsewhere => &counts.retries,
        }
        .fetch_add(1, Ordering::Relaxed);
        let command = request.again();
        let answer = match again {
            Again::WithText => held.connection.call(&command).await,
            Again::Asking => {
                let node = error.redirect_node().map_or("", |(node, _)| node);
                held.connection.call_asking(&command, node).await
            }
            Again::Elsewhere => {
                if matches!(held.connection, Connection::Single(_)) {
                    // Another server may answer to the name by now.
                    self.link.discard(&held);
                    *sent = false;
                    held = self.link.connection().await?;
                    *sent = true;
                }
                held.connection.call(&command).await
            }
        };
        answer.map_err(|error| self.broken(&held, &error))
    }

    /// What a failure comes to. A connection that has broken is not used again, nor one that has no
    /// rights: the next may.
    fn broken(&self, held: &Held, error: &RedisError) -> StoreError {
        let failure = StoreError::asking(error);
        let is_over =
            error.is_unrecoverable_error() || matches!(failure, StoreError::Forbidden { .. });
        if is_over && matches!(held.connection, Connection::Single(_)) {
            self.link.discard(held);
        }
        failure
    }

    fn part(&self, key: &[u8]) -> usize {
        if self.breakers.len() == 1 {
            return 0;
        }
        let slot = crc16::State::<crc16::XMODEM>::calculate(tag_of(key)) % SLOTS;
        usize::from(slot / (SLOTS / PARTS))
    }

    /// Tries the store until it is well, and closes the breaker then.
    fn try_in_background(self: &Arc<Self>, part: usize, key: Vec<u8>) {
        let trying = Trying {
            breakers: self.breakers.clone(),
            part,
        };
        let store: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            for attempt in 0.. {
                tokio::time::sleep(wait_before(attempt, chance())).await;
                let Some(store) = store.upgrade() else { break };
                if store.is_well(&key).await {
                    break;
                }
            }
            drop(trying);
        });
    }

    async fn is_well(&self, key: &[u8]) -> bool {
        let Ok(mut held) = self.link.renew().await else {
            return false;
        };
        // The first answer of a connection may be a slow one.
        let _ = timeout(self.slow, held.connection.ping(key)).await;
        matches!(
            timeout(self.slow, held.connection.ping(key)).await,
            Ok(Ok(_))
        )
    }
}

/// Closes the breaker when the store is well, and as well if the runtime that tries it ends: then requests
/// find out.
struct Trying {
    breakers: Arc<[Breaker]>,
    part: usize,
}

impl Drop for Trying {
    fn drop(&mut self) {
        self.breakers[self.part].close();
    }
}

/// How a request is sent again that surely was not applied.
enum Again {
    /// The server does not know the script.
    WithText,
    /// The slot is on its way to another server, which is told in the error.
    Asking,
    /// Another server has the slot, or this one may not write any more.
    Elsewhere,
}

impl Again {
    fn after(error: &RedisError) -> Option<Self> {
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Some(Self::WithText),
            ErrorKind::ClusterConnectionNotFound => Some(Self::Elsewhere),
            _ => match error.retry_method() {
                RetryMethod::AskRedirect => Some(Self::Asking),
                RetryMethod::MovedRedirect | RetryMethod::RefreshSlotsAndRetry => {
                    Some(Self::Elsewhere)
                }
                _ if error.kind() == ErrorKind::Server(ServerErrorKind::TryAgain) => {
                    Some(Self::Elsewhere)
                }
                _ => None,
            },
        }
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
