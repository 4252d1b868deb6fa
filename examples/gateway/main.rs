//! A reverse proxy that limits its clients: see the crate's documentation.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use http::{HeaderName, Uri};
use tokio::signal::unix::{SignalKind, signal};
use tollgate::http::{DeniedBody, Headers, IpNet};
use tollgate::redis::OnFailure;
use tollgate::{AnyAlgorithm, Limit};
use tollgate_gateway::{Error, KeyBy, Route, Settings, TrustFlags, parse_on_failure, start};

/// Passes requests on, as many of each client as its limit allows.
#[derive(Debug, Parser)]
#[command(name = "gateway", version)]
struct Flags {
    /// Where clients come in.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Where /metrics is, and a page that lives.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    admin: SocketAddr,

    /// Where requests go. Without it the gateway answers by itself: /echo, /bytes/N, anything.
    #[arg(long, value_name = "http://HOST:PORT")]
    upstream: Option<Uri>,

    /// How much each client may: '100/min', '5/s burst 20'. Several are kept together.
    #[arg(long, value_name = "LIMIT", default_value = "100/min")]
    limit: Vec<Limit>,

    /// How a single limit is kept: token-bucket, fixed-window, sliding-log, sliding-counter.
    #[arg(long, value_name = "NAME", default_value = "token-bucket")]
    algorithm: AnyAlgorithm,

    /// A path with a limit of its own, in the place of the general one: '/search=10/min cost 5'.
    /// Paths are matched as they are sent: '/search/' and '/%73earch' are others, and come under the
    /// general limit, whatever the upstream makes of them.
    #[arg(long, value_name = "PATH=LIMIT")]
    route: Vec<Route>,

    /// Whom requests are counted against: ip, header:NAME, everyone.
    #[arg(long, value_name = "KEY", default_value = "ip")]
    key: KeyBy,

    /// How many proxies stand in front, whose word on the client's address is taken.
    #[arg(long, value_name = "N", default_value_t = 0)]
    trust_hops: usize,

    /// A network whose word is taken. Instead of a number of proxies.
    #[arg(long, value_name = "CIDR", conflicts_with = "trust_hops")]
    trust: Vec<IpNet>,

    /// The header in which they say it: forwarded, cf-connecting-ip. [default: x-forwarded-for]
    #[arg(long, value_name = "NAME")]
    trust_header: Option<HeaderName>,

    /// Which headers tell clients how they stand.
    #[arg(long, value_enum, default_value_t = Dialect::None)]
    headers: Dialect,

    /// Tells the denied in application/problem+json, rather than in a line of text.
    #[arg(long)]
    problem: bool,

    /// Keeps the counts in a store that other gateways share: one server, or several of a cluster.
    #[arg(long, value_name = "redis://HOST:PORT", requires = "on_failure")]
    redis: Vec<String>,

    /// What becomes of requests while the store does not decide: open, closed, local/SERVERS (a share of
    /// the limit, decided here), report (503).
    #[arg(long, value_name = "POLICY", requires = "redis", value_parser = parse_on_failure)]
    on_failure: Option<OnFailure>,

    /// So many keys are tracked, for each limit.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_keys: usize,

    /// What becomes of keys beyond.
    #[arg(long, value_enum, default_value_t = WhenFull::Deny)]
    when_full: WhenFull,

    /// How often idle keys are forgotten.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = humantime::parse_duration)]
    evict_every: Duration,

    /// Decides and counts, and refuses nobody.
    #[arg(long)]
    shadow: bool,

    /// Leaves the limits out, to see what they cost.
    #[arg(long)]
    no_limit: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dialect {
    None,
    XRatelimit,
    Draft,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhenFull {
    Deny,
    Allow,
}

impl From<Flags> for Settings {
    fn from(flags: Flags) -> Self {
        Self {
            listen: flags.listen,
            admin: flags.admin,
            upstream: flags.upstream,
            limits: flags.limit,
            algorithm: flags.algorithm,
            routes: flags.route,
            key: flags.key,
            trust: TrustFlags {
                hops: flags.trust_hops,
                networks: flags.trust,
                header: flags.trust_header,
            },
            headers: match flags.headers {
                Dialect::None => Headers::None,
                Dialect::XRatelimit => Headers::XRateLimit,
                Dialect::Draft => Headers::Draft,
            },
            body: match flags.problem {
                true => DeniedBody::Problem,
                false => DeniedBody::Text,
            },
            redis: flags.redis,
            on_failure: flags.on_failure.unwrap_or(OnFailure::Report),
            max_keys: flags.max_keys,
            allow_when_full: matches!(flags.when_full, WhenFull::Allow),
            evict_every: flags.evict_every,
            shadow: flags.shadow,
            unlimited: flags.no_limit,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let flags = Flags::parse();
    tracing_subscriber::fmt()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(flags.into()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gateway: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(settings: Settings) -> Result<(), Error> {
    // Before anybody can be told the address, or a signal could come too early.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let gateway = start(settings).await?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    gateway.stop().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_fit_together() {
        Flags::command().debug_assert();
    }

    #[test]
    fn wrong_flags_say_what_is_wrong() {
        let error = |flags: &[&str]| {
            let flags = ["gateway"].iter().chain(flags);
            Flags::try_parse_from(flags).unwrap_err().to_string()
        };
        assert!(error(&["--limit", "often"]).contains("often"));
        assert!(error(&["--route", "/search"]).contains("write PATH=LIMIT"));
        assert!(error(&["--key", "cookie"]).contains("write ip, header:NAME or everyone"));
        assert!(error(&["--evict-every", "soon"]).contains("soon"));
        assert!(error(&["--redis", "redis://localhost"]).contains("--on-failure"));
        assert!(error(&["--redis", "a", "--on-failure", "ajar"]).contains("local/SERVERS"));
        assert!(
            error(&["--trust-hops", "1", "--trust", "10.0.0.0/8"]).contains("cannot be used with")
        );
    }
}
