//! Two listeners, and how they stop.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_io_timeout::TimeoutStream;
use tollgate::Evictor;
use tollgate::http::{PeerAddr, RateLimitLayer};
use tower::{Layer, Service, ServiceExt, service_fn};
use tracing::{info, warn};

use crate::body::Answer;
use crate::limits::{Limits, Rules, Settings};
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::sparse::Sparse;
use crate::{Error, admin};

/// So many connections are open at a time; others wait to be accepted.
const CONNECTIONS: usize = 10_000;

/// A client has so long to send the head of a request, the first as well as the next.
const HEAD: Duration = Duration::from_secs(30);

/// A client that takes nothing of its answer for so long is given up.
const STALL: Duration = Duration::from_secs(30);

/// Requests that are running have so long to end when the gateway stops.
const FAREWELL: Duration = Duration::from_secs(10);

/// A gateway that runs.
pub struct Gateway {
    /// Where clients come in.
    pub listen: SocketAddr,
    /// Where metrics and the page are.
    pub admin: SocketAddr,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    _evictors: Vec<Evictor>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("listen", &self.listen)
            .field("admin", &self.admin)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Accepts nobody any more, lets those finish who are being served, and returns when they have,
    /// or have had ten seconds for it.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for listener in self.listeners {
            if listener.await.is_err() {
                warn!("a listener has panicked");
            }
        }
    }
}

/// The layer over limiters of one kind or the other.
macro_rules! layer {
    ($rules:expr, $limits:expr, $settings:expr, $metrics:expr) => {{
        let mut rules = $rules.iter().cloned();
        let general = rules.next().ok_or("there is no limit")?;
        let builder = RateLimitLayer::builder(general, $limits.keys.clone());
        let (choosing, costing) = ($limits.clone(), $limits.clone());
        rules
            .fold(builder, |builder, rule| builder.rule(rule))
            .choose(move |request: &Request<Incoming>| Some(choosing.rule(request)))
            .cost(move |request: &Request<Incoming>| costing.cost(request))
            .headers($settings.headers)
            .refusal($settings.body)
            .observe($metrics.clone())
            .shadow($settings.shadow)
            .build()
    }};
}

/// Starts a gateway.
///
/// # Errors
///
/// If the settings do not fit together, a limit cannot be kept, or an address is taken.
pub async fn start(settings: Settings) -> Result<Gateway, Error> {
    let (limits, evictors) = Limits::new(&settings)?;
    let metrics = Metrics::new(limits.clone());
    let proxy = Proxy::new(settings.upstream.as_ref())?;
    let listener = bind(settings.listen).await?;
    let admin_listener = bind(settings.admin).await?;
    let (listen, admin) = (listener.local_addr()?, admin_listener.local_addr()?);

    let inner = service_fn(move |request: Request<Incoming>| {
        let proxy = proxy.clone();
        async move { Ok::<_, Infallible>(proxy.answer(request).await) }
    });
    let (stop, stopped) = watch::channel(false);
    let clients = if settings.unlimited {
        let service = in_flight(inner, metrics.clone());
        tokio::spawn(accept(listener, service, stopped.clone()))
    } else {
        match &limits.rules {
            Rules::Local(rules) => {
                let layer = layer!(rules, limits, settings, metrics);
                let service = in_flight(layer.layer(inner), metrics.clone());
                tokio::spawn(accept(listener, service, stopped.clone()))
            }
            Rules::Shared(rules, _) => {
                let layer = layer!(rules, limits, settings, metrics);
                let service = in_flight(layer.layer(inner), metrics.clone());
                tokio::spawn(accept(listener, service, stopped.clone()))
            }
        }
    };
    let page = service_fn(move |request: Request<Incoming>| {
        let answer = admin::answer(&request, &metrics);
        async { Ok::<_, Infallible>(answer) }
    });
    let page = tokio::spawn(accept(admin_listener, page, stopped));
    info!(%listen, %admin, "listening");
    Ok(Gateway {
        listen,
        admin,
        stop,
        listeners: vec![clients, page],
        _evictors: evictors,
    })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| format!("cannot listen on {address}: {error}").into())
}

/// The same service, whose requests count as in flight until their answers are sent.
fn in_flight<S>(
    service: S,
    metrics: Metrics,
) -> impl Service<Request<Incoming>, Response = Response<Answer>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
where
    S: Service<Request<Incoming>, Response = Response<Answer>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    service_fn(move |request: Request<Incoming>| {
        let in_flight = metrics.in_flight();
        let answer = service.clone().oneshot(request);
        async move { Ok(answer.await?.map(|body| body.counting(in_flight))) }
    })
}

/// Serves whoever comes until it is to stop.
async fn accept<S>(listener: TcpListener, service: S, mut stopped: watch::Receiver<bool>)
where
    S: Service<Request<Incoming>, Response = Response<Answer>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let log = Sparse::new();
    loop {
        let next = async {
            let place = connections.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many files are open, say: it passes.
                if let Some(left_out) = log.line() {
                    warn!(%error, left_out, "cannot accept a connection");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(STALL));
        let service = service
            .clone()
            .map_request(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(PeerAddr(peer));
                request
            });
        let connection =
            builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that vanishes or talks nonsense is its own business.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(FAREWELL, graceful.shutdown())
        .await
        .is_err()
    {
        warn!("stopped with requests running");
    }
}
