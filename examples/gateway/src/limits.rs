//! From settings to limiters, keys and the layer's rules.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Request, Uri};
use tollgate::http::{
    ClientAddr, ClientIp, DeniedBody, HeaderKey, HeaderValueKey, Headers, IpNet, KeyExtractor,
    Limited, PathTemplate, Rule, Trust,
};
use tollgate::redis::{Keyed, OnFailure, RedisLimiter, Store, StoreKey};
use tollgate::{AnyAlgorithm, Evictor, Limit, RateLimiter, WhenFull};

use crate::Error;

/// What the gateway is told to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients come in.
    pub listen: SocketAddr,
    /// Where metrics and the page are.
    pub admin: SocketAddr,
    /// Where requests go; without it the gateway answers by itself.
    pub upstream: Option<Uri>,
    /// Several are kept together.
    pub limits: Vec<Limit>,
    /// How a single limit is kept.
    pub algorithm: AnyAlgorithm,
    /// Paths with limits of their own.
    pub routes: Vec<Route>,
    /// Whom requests are counted against.
    pub key: KeyBy,
    /// Whose word is taken for a client's address.
    pub trust: TrustFlags,
    /// How clients are told of the limits.
    pub headers: Headers,
    /// How they are told that they are denied.
    pub body: DeniedBody,
    /// Where counts are kept that other gateways share: one server, or several of a cluster.
    pub redis: Vec<String>,
    /// What becomes of requests while it does not decide.
    pub on_failure: OnFailure,
    /// For each limit, of the routes as well; without a store.
    pub max_keys: usize,
    /// Whether keys beyond are let through uncounted, rather than denied.
    pub allow_when_full: bool,
    /// How often keys are forgotten.
    pub evict_every: Duration,
    /// Refuse nobody.
    pub shadow: bool,
    /// Leave the layer out, to see what it costs.
    pub unlimited: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            upstream: None,
            limits: vec![Limit::per_minute(100)],
            algorithm: AnyAlgorithm::TokenBucket,
            routes: Vec::new(),
            key: KeyBy::Ip,
            trust: TrustFlags::default(),
            headers: Headers::None,
            body: DeniedBody::Text,
            redis: Vec::new(),
            on_failure: OnFailure::Report,
            max_keys: 1_000_000,
            allow_when_full: false,
            evict_every: Duration::from_secs(10),
            shadow: false,
            unlimited: false,
        }
    }
}

/// Whose word is taken for a client's address.
#[derive(Clone, Debug, Default)]
pub struct TrustFlags {
    /// So many proxies in front.
    pub hops: usize,
    /// The networks that proxies are in.
    pub networks: Vec<IpNet>,
    /// The one header in which they say it, rather than `X-Forwarded-For`.
    pub header: Option<HeaderName>,
}

impl TrustFlags {
    fn trust(&self) -> Trust {
        let trust = match self.networks.is_empty() {
            false => Trust::networks(self.networks.iter().copied()),
            true if self.hops > 0 => Trust::hops(self.hops),
            true => Trust::none(),
        };
        match &self.header {
            None => trust,
            Some(header) if header == http::header::FORWARDED => trust.over_forwarded(),
            Some(header) if header == "x-forwarded-for" => trust.over_x_forwarded_for(),
            Some(header) => trust.over_header(header.clone()),
        }
    }
}

/// Whom requests are counted against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyBy {
    /// The client's address.
    Ip,
    /// The value of a header, such as an API key.
    Header(HeaderName),
    /// All clients together.
    Everyone,
}

impl std::str::FromStr for KeyBy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            None if text == "ip" => Ok(Self::Ip),
            None if text == "everyone" => Ok(Self::Everyone),
            Some(("header", name)) => {
                let name = name.trim().parse();
                let name = name.map_err(|_| format!("'{text}' names no header"))?;
                Ok(Self::Header(name))
            }
            _ => Err(format!("'{text}' is no key: write ip, header:NAME or everyone").into()),
        }
    }
}

/// A path template with a limit of its own: `/search=10/min cost 10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// As matchit writes them: `/users/{id}`, `/files/{*rest}`.
    pub path: String,
    /// In the place of the general one.
    pub limit: Limit,
    /// What each request costs.
    pub cost: u64,
}

impl std::str::FromStr for Route {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some((path, rest)) = text.split_once('=') else {
            return Err(
                format!("'{text}' is no route: write PATH=LIMIT, or PATH=LIMIT cost N").into(),
            );
        };
        let (limit, cost) = match rest.rsplit_once(" cost ") {
            None => (rest, 1),
            Some((limit, cost)) => {
                let cost = cost.trim().parse();
                (
                    limit,
                    cost.map_err(|_| format!("'{text}' has no number after cost"))?,
                )
            }
        };
        let limit: Limit = limit.trim().parse()?;
        if cost > limit.burst() {
            return Err(format!(
                "a cost of {cost} is more than '{limit}' ever holds, so that '{path}' would never answer"
            )
            .into());
        }
        Ok(Self {
            path: path.trim().to_owned(),
            limit,
            cost,
        })
    }
}

/// Whom a request is counted against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Ip(ClientAddr),
    Header(HeaderValueKey),
    Everyone,
}

impl fmt::Display for Key {
    /// Without secrets: API keys are told by their lengths.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Header(value) => {
                let value = value.as_bytes();
                let shown = String::from_utf8_lossy(&value[..value.len().min(4)]).into_owned();
                write!(f, "{}… ({} bytes)", shown.escape_debug(), value.len())
            }
            Self::Everyone => f.write_str("everyone"),
        }
    }
}

pub(crate) type Limiter = RateLimiter<Key, AnyAlgorithm>;

impl StoreKey for Key {
    fn write_key(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Ip(address) => address.write_key(bytes),
            // No address begins so.
            Self::Header(value) => {
                bytes.push(b'h');
                value.write_key(bytes);
            }
            Self::Everyone => bytes.push(b'*'),
        }
    }
}

/// What becomes of requests while the store does not decide: `open`, `closed`, `local/4`, `report`.
pub fn parse_on_failure(text: &str) -> Result<OnFailure, Error> {
    match text.split_once('/') {
        None if text == "open" => Ok(OnFailure::Open),
        None if text == "closed" => Ok(OnFailure::Closed {
            retry_after: Duration::from_secs(1),
        }),
        None if text == "report" => Ok(OnFailure::Report),
        Some(("local", servers)) => {
            let servers = servers.parse();
            let servers = servers.map_err(|_| format!("'{text}' has no number of servers"))?;
            Ok(OnFailure::Local { servers })
        }
        _ => Err(format!("'{text}' is none of open, closed, local/SERVERS and report").into()),
    }
}

/// Finds a request's key.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    Ip(ClientIp),
    Header(HeaderKey),
    Everyone,
}

impl<B> KeyExtractor<B> for Keys {
    type Key = Key;

    fn extract(&self, request: &Request<B>) -> Option<Key> {
        match self {
            Self::Ip(client) => client.extract(request).map(Key::Ip),
            Self::Header(header) => header.extract(request).map(Key::Header),
            Self::Everyone => Some(Key::Everyone),
        }
    }
}

/// Limits that are counted here, or in a store.
#[derive(Clone)]
pub(crate) enum Rules {
    Local(Vec<Rule<Limiter>>),
    Shared(Vec<Rule<Keyed<Key>>>, Store),
}

/// The same limits, kept by limiters that `make` makes of each one's name.
fn rules<L: Limited>(
    settings: &Settings,
    mut make: impl FnMut(&str, &[Limit]) -> Result<L, Error>,
) -> Result<Vec<Rule<L>>, Error> {
    let mut rules = vec![Rule::new(Arc::new(make("default", &settings.limits)?))];
    for (at, route) in settings.routes.iter().enumerate() {
        let limiter = make(&format!("route-{}", at + 1), &[route.limit])?;
        let name = header_name(&route.path);
        rules.push(Rule::new(Arc::new(limiter)).names([name.as_str()])?);
    }
    Ok(rules)
}

/// What a header can carry of a path.
fn header_name(path: &str) -> String {
    path.chars().filter(|c| matches!(c, ' '..='~')).collect()
}

/// Limiters, and which of them a request is held to.
#[derive(Clone)]
pub(crate) struct Limits {
    pub(crate) keys: Keys,
    /// The general one, then those of the routes.
    pub(crate) rules: Rules,
    pub(crate) names: Vec<String>,
    paths: PathTemplate,
    costs: Arc<[u64]>,
}

impl Limits {
    /// The limits, and the threads that forget idle keys of theirs.
    pub(crate) fn new(settings: &Settings) -> Result<(Self, Vec<Evictor>), Error> {
        let trust = &settings.trust;
        if let Some(header) = &trust.header
            && trust.hops == 0
            && trust.networks.is_empty()
        {
            return Err(format!("'{header}' is believed of nobody: say whom to trust").into());
        }
        let keys = match &settings.key {
            KeyBy::Ip => Keys::Ip(ClientIp::new().trust(settings.trust.trust())),
            KeyBy::Header(name) => Keys::Header(HeaderKey::new(name.clone())),
            KeyBy::Everyone => Keys::Everyone,
        };
        if settings.limits.len() > 1
            && !matches!(
                settings.algorithm,
                AnyAlgorithm::TokenBucket | AnyAlgorithm::AllOf
            )
        {
            return Err(format!(
                "{} limits are kept together by all-of only, not by {}",
                settings.limits.len(),
                settings.algorithm
            )
            .into());
        }
        let algorithm = |limits: &[Limit]| match limits {
            [_] => settings.algorithm,
            _ => AnyAlgorithm::AllOf,
        };
        let rules = if settings.redis.is_empty() {
            Rules::Local(rules(settings, |_, limits| {
                let full = match settings.allow_when_full {
                    true => WhenFull::Allow,
                    false => WhenFull::Deny,
                };
                let limiter = RateLimiter::builder(limits).algorithm(algorithm(limits));
                Ok(limiter
                    .max_keys(settings.max_keys)
                    .when_full(full)
                    .build()?)
            })?)
        } else {
            let store = match &settings.redis[..] {
                [url] => Store::open(url)?,
                urls => Store::open_cluster(urls)?,
            };
            let rules = rules(settings, |name, limits| {
                let limiter = RedisLimiter::builder(&store, name, limits);
                let limiter = limiter.algorithm(algorithm(limits));
                Ok(limiter.on_failure(settings.on_failure).build()?.keyed())
            })?;
            Rules::Shared(rules, store)
        };
        let routes = settings.routes.iter();
        let mut names = vec!["default".to_owned()];
        names.extend(routes.clone().map(|route| header_name(&route.path)));
        let costs: Vec<u64> = std::iter::once(1)
            .chain(routes.map(|route| route.cost))
            .collect();
        let paths = PathTemplate::new(settings.routes.iter().map(|route| route.path.as_str()))?;
        let evictors = match &rules {
            Rules::Local(rules) => rules
                .iter()
                .map(|rule| Evictor::start(rule.limiter(), settings.evict_every))
                .collect::<Result<_, _>>()?,
            Rules::Shared(..) => Vec::new(),
        };
        let limits = Self {
            keys,
            rules,
            names,
            paths,
            costs: costs.into(),
        };
        Ok((limits, evictors))
    }

    /// Which of the rules a request is held to: its route's, or the general one.
    pub(crate) fn rule<B>(&self, request: &Request<B>) -> usize {
        let route = self.paths.extract(request).and_then(|path| path.index());
        route.map_or(0, |route| route + 1)
    }

    pub(crate) fn cost<B>(&self, request: &Request<B>) -> u64 {
        self.costs[self.rule(request)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_a_path_a_limit_and_a_cost() {
        let route: Route = "/search=10/min cost 5".parse().unwrap();
        assert_eq!((route.path.as_str(), route.cost), ("/search", 5));
        assert_eq!(route.limit, Limit::per_minute(10));
        let route: Route = "/users/{id}=5/s burst 20".parse().unwrap();
        assert_eq!(
            (route.cost, route.limit),
            (1, Limit::per_second(5).with_burst(20))
        );
    }

    #[test]
    fn a_wrong_route_says_what_is_wrong() {
        let error = |text: &str| text.parse::<Route>().unwrap_err().to_string();
        assert!(error("/search").contains("write PATH=LIMIT"));
        assert!(error("/search=10/min cost x").contains("no number after cost"));
        assert!(error("/search=10/min cost 11").contains("never answer"));
        assert!(error("/search=often").contains("often"));
    }

    #[test]
    fn a_key_is_by_address_by_header_or_everyones() {
        assert_eq!("ip".parse::<KeyBy>().unwrap(), KeyBy::Ip);
        let header = HeaderName::from_static("x-api-key");
        assert_eq!(
            "header:X-Api-Key".parse::<KeyBy>().unwrap(),
            KeyBy::Header(header)
        );
        assert!("header:".parse::<KeyBy>().is_err());
        assert!(
            "cookie"
                .parse::<KeyBy>()
                .unwrap_err()
                .to_string()
                .contains("'cookie' is no key")
        );
    }

    #[test]
    fn a_failure_policy_is_chosen_by_name() {
        assert_eq!(parse_on_failure("open").unwrap(), OnFailure::Open);
        assert_eq!(
            parse_on_failure("local/4").unwrap(),
            OnFailure::Local { servers: 4 }
        );
        for wrong in ["", "ajar", "local", "local/", "local/x", "open/1"] {
            let error = parse_on_failure(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")), "{error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = Key::Header(HeaderValueKey::new(b"s3cr\x00et-token"));
        assert_eq!(key.to_string(), "s3cr… (13 bytes)");
    }
}
