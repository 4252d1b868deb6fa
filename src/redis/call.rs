//! One call to the store: connect, ask, and at most one retry, all within one span of time.

use super::breaker::{Breaker, wait_before};
use super::failure::{StoreError, code_of};
use super::key::tag_of;
use super::link::{Connection, Held};
use super::script::Code;
use super::store::{Inner, chance};
use ::redis::{Cmd, ErrorKind, RedisError, RetryMethod, ServerErrorKind, Value, cmd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The slots of a cluster are judged in so many parts, as they are kept by different servers.
pub(super) const PARTS: u16 = 16;
const SLOTS: u16 = 16_384;

/// Something that is sent, and may be sent once more if it surely was not applied.
pub(super) trait Request {
    fn first(&self) -> Cmd;
    /// What is sent the second time: whatever server it goes to may know no script.
    fn again(&self) -> Cmd;
}

/// A script.
pub(super) struct Run<'a, A> {
    pub(super) code: &'a Code,
    pub(super) keys: &'a [&'a [u8]],
    /// Writes what follows the keys.
    pub(super) arguments: A,
}

impl<A: Fn(&mut Cmd)> Run<'_, A> {
    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = Cmd::with_capacity(16, 256);
        command.arg(name).arg(script);
        command.arg(self.keys.len()).arg(self.keys);
        (self.arguments)(&mut command);
        command
    }
}

impl<A: Fn(&mut Cmd)> Request for Run<'_, A> {
    fn first(&self) -> Cmd {
        self.command("EVALSHA", &self.code.digest)
    }

    fn again(&self) -> Cmd {
        self.command("EVAL", &self.code.text)
    }
}

pub(super) struct Forget<'a>(pub(super) &'a [u8]);

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
    /// Asks, unless the breaker is open, and tells the breaker how it went.
    pub(super) async fn call(
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
    pub(super) fn broken(&self, held: &Held, error: &RedisError) -> StoreError {
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
                _ if matches!(code_of(error), Some("TRYAGAIN" | "READONLY")) => {
                    Some(Self::Elsewhere)
                }
                _ => None,
            },
        }
    }
}
