//! The connection to the store: one that all share, made in the background, replaced when it breaks.
//!
//! The library's own manager waits between its attempts while requests wait for it; here a request that
//! finds no connection fails within its time, and only the breaker's task tries again and again. An
//! attempt outlives the request that began it, or a handshake that takes longer than one request's time
//! would never end.

use super::failure::StoreError;
use super::set_up::SetUpError;
use ::redis::aio::{ConnectionLike, MultiplexedConnection};
use ::redis::cluster::ClusterClient;
use ::redis::cluster_async::ClusterConnection;
use ::redis::cluster_routing::SingleNodeRoutingInfo;
use ::redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, RedisResult, Value, cmd};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The longest that an attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(5);

/// So many requests may be on their way to the connection's task.
const IN_FLIGHT: usize = 1_024;

/// Where the store is.
#[derive(Clone)]
enum Target {
    Single(Box<Client>),
    Cluster(Box<ClusterClient>),
}

#[cfg(feature = "redis-tls")]
impl Target {
    fn is_encrypted(&self) -> bool {
        use ::redis::ConnectionAddr::TcpTls;
        match self {
            Self::Single(client) => matches!(client.get_connection_info().addr(), TcpTls { .. }),
            // A cluster may tell of servers with other addresses.
            Self::Cluster(_) => true,
        }
    }
}

#[derive(Clone)]
pub(super) enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Connection {
    pub(super) async fn call(&mut self, command: &Cmd) -> RedisResult<Value> {
        let value = match self {
            Self::Single(connection) => connection.send_packed_command(command).await?,
            Self::Cluster(connection) => connection.req_packed_command(command).await?,
        };
        value.extract_error()
    }

    /// As `call`, at the server that a key is being moved to.
    pub(super) async fn call_asking(&mut self, command: &Cmd, node: &str) -> RedisResult<Value> {
        let Self::Cluster(connection) = self else {
            return self.call(command).await;
        };
        let Some((host, port)) = node.rsplit_once(':') else {
            return connection.req_packed_command(command).await;
        };
        let at = SingleNodeRoutingInfo::ByAddress {
            host: host.to_owned(),
            port: port.parse().unwrap_or_default(),
        };
        let mut both = ::redis::pipe();
        both.add_command(cmd("ASKING")).add_command(command.clone());
        let values = connection.route_pipeline(both, 1, 1, at).await?;
        values
            .into_iter()
            .next()
            .unwrap_or(Value::Nil)
            .extract_error()
    }

    /// Something that changes nothing, to see whether the server that has `key` is well.
    pub(super) async fn ping(&mut self, key: &[u8]) -> RedisResult<Value> {
        self.call(cmd("EXISTS").arg(key)).await
    }
}

enum Slot {
    Empty,
    Connecting(watch::Receiver<Option<Result<Held, StoreError>>>),
    Ready(Held),
}

/// A connection, and which one in a row it is.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) connection: Connection,
    generation: u64,
}

pub(super) struct Link {
    target: Target,
    shared: Arc<Shared>,
}

struct Shared {
    slot: Mutex<Slot>,
    generations: std::sync::atomic::AtomicU64,
}

impl Link {
    pub(super) fn to(url: &str) -> Result<Self, SetUpError> {
        let client = Client::open(url).map_err(|error| address_error(url, &error))?;
        Ok(Self::new(Target::Single(Box::new(client))))
    }

    pub(super) fn to_cluster(urls: &[String]) -> Result<Self, SetUpError> {
        let mut nodes = Vec::new();
        for url in urls {
            let node = url.as_str().into_connection_info();
            nodes.push(node.map_err(|error| address_error(url, &error))?);
        }
        let client = ClusterClient::builder(nodes)
            // What may have been applied must not be sent again: what may is decided here.
            .retries(0)
            .connection_timeout(CONNECT)
            .response_timeout(CONNECT)
            .build();
        let all = || urls.join(", ");
        let client = client.map_err(|error| address_error(&all(), &error))?;
        Ok(Self::new(Target::Cluster(Box::new(client))))
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            shared: Arc::new(Shared {
                slot: Mutex::new(Slot::Empty),
                generations: Default::default(),
            }),
        }
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.target, Target::Cluster(_))
    }

    /// The connection; a new one if there is none.
    pub(super) async fn connection(&self) -> Result<Held, StoreError> {
        let mut coming = {
            let mut slot = self.shared.slot();
            match &*slot {
                Slot::Ready(held) => return Ok(held.clone()),
                Slot::Connecting(coming) => coming.clone(),
                Slot::Empty => {
                    let coming = self.begin();
                    *slot = Slot::Connecting(coming.clone());
                    coming
                }
            }
        };
        let gone = || StoreError::Unreachable {
            why: "the attempt to connect has ended with its runtime, or panicked".into(),
        };
        let outcome = coming.wait_for(Option::is_some).await;
        match outcome {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(gone())),
            Err(_) => {
                self.shared.forget_attempt();
                Err(gone())
            }
        }
    }

    /// Makes a new connection and puts it in the place of the one there is, which may look well and
    /// lead nowhere.
    pub(super) async fn renew(&self) -> Result<Held, StoreError> {
        let held = self.shared.connect(self.target.clone()).await?;
        *self.shared.slot() = Slot::Ready(held.clone());
        Ok(held)
    }

    /// Forgets a connection that has broken, unless it has been replaced already.
    pub(super) fn discard(&self, broken: &Held) {
        let mut slot = self.shared.slot();
        if matches!(&*slot, Slot::Ready(held) if held.generation == broken.generation) {
            *slot = Slot::Empty;
        }
    }

    fn begin(&self) -> watch::Receiver<Option<Result<Held, StoreError>>> {
        let (done, coming) = watch::channel(None);
        let (shared, target) = (self.shared.clone(), self.target.clone());
        tokio::spawn(async move {
            let outcome = shared.connect(target).await;
            {
                let mut slot = shared.slot();
                // `renew` may have been faster.
                if !matches!(&*slot, Slot::Ready(_)) {
                    *slot = match &outcome {
                        Ok(held) => Slot::Ready(held.clone()),
                        Err(_) => Slot::Empty,
                    };
                }
            }
            let _ = done.send(Some(outcome));
        });
        coming
    }
}

impl Shared {
    async fn connect(&self, target: Target) -> Result<Held, StoreError> {
        #[cfg(feature = "redis-tls")]
        if target.is_encrypted() {
            // Without one that the program has chosen, the library would panic where two are to be had.
            #[allow(
                deprecated,
                reason = "the other one takes a C compiler and minutes to build"
            )]
            let provider = rustls::crypto::ring::default_provider();
            let _ = provider.install_default();
        }
        let attempt = async {
            Ok(match target {
                Target::Single(client) => {
                    let config = AsyncConnectionConfig::new()
                        .set_connection_timeout(Some(CONNECT))
                        // Every request has a time of its own.
                        .set_response_timeout(None)
                        .set_pipeline_buffer_size(IN_FLIGHT);
                    let connection = client.get_multiplexed_async_connection_with_config(&config);
                    Connection::Single(connection.await?)
                }
                Target::Cluster(client) => {
                    Connection::Cluster(client.get_async_connection().await?)
                }
            })
        };
        let connection = match tokio::time::timeout(CONNECT, attempt).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(StoreError::connecting(&error)),
            Err(_) => {
                return Err(StoreError::Unreachable {
                    why: format!("no connection within {CONNECT:?}"),
                });
            }
        };
        // Relaxed: only that no two are the same.
        let generation = self
            .generations
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Held {
            connection,
            generation,
        })
    }

    fn forget_attempt(&self) {
        let mut slot = self.slot();
        if matches!(&*slot, Slot::Connecting(coming) if coming.has_changed().is_err()) {
            *slot = Slot::Empty;
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passwords stay out of messages.
fn address_error(url: &str, error: &::redis::RedisError) -> SetUpError {
    let address = match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}…{}", &url[..scheme + 3], &url[at..])
        }
        _ => url.to_owned(),
    };
    SetUpError::Address {
        address,
        why: error.to_string(),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = match &*self.shared.slot() {
            Slot::Empty => "not connected",
            Slot::Connecting(_) => "connecting",
            Slot::Ready(_) => "connected",
        };
        f.debug_tuple("Link").field(&slot).finish()
    }
}
