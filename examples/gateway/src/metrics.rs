//! What is counted of requests, for Prometheus and for the page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use serde_json::json;
use tollgate::http::{Observe, Outcome};
use tollgate::redis::{Answer, Basis};

use crate::limits::{Key, Limits, Rules};
use crate::refusals::Refusals;
use crate::top::Top;

/// The labels of a count: the rule that a request came under. There are as many as rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRule {
    rule: String,
}

/// Who has decided, where counts are in a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByBasis {
    basis: &'static str,
}

/// So many of the keys that are denied most are shown.
const SHOWN: usize = 10;

/// All that is counted. Clones share it.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    limits: Limits,
    since: Instant,
    registry: Registry,
    /// By the positions of the rules, so that nothing is looked up on the way of a request.
    allowed: Vec<Counter>,
    denied: Vec<Counter>,
    without_key: Counter,
    untracked: Counter,
    decision: Histogram,
    tracked: Family<ByRule, Gauge>,
    in_flight: Gauge,
    bases: Family<ByBasis, Counter>,
    breaker_open: Gauge,
    denied_in_all: AtomicU64,
    allowed_in_all: AtomicU64,
    top: Top<Key>,
    refusals: Refusals,
}

impl Metrics {
    pub(crate) fn new(limits: Limits) -> Self {
        let mut registry = Registry::with_prefix("gateway");
        let (allowed, denied) = (Family::default(), Family::default());
        let (without_key, untracked) = (Counter::default(), Counter::default());
        let (tracked, in_flight) = (Family::default(), Gauge::default());
        // From 250 ns to 0.5 s.
        let decision = Histogram::new(exponential_buckets(250e-9, 2.0, 22));
        registry.register("requests_allowed", "Requests let through", allowed.clone());
        registry.register(
            "requests_denied",
            "Requests refused, or that would be",
            denied.clone(),
        );
        registry.register(
            "requests_without_key",
            "Requests with nothing to count them by",
            without_key.clone(),
        );
        registry.register(
            "requests_untracked",
            "Requests of keys beyond the cap",
            untracked.clone(),
        );
        registry.register("tracked_keys", "Keys that are tracked", tracked.clone());
        registry.register(
            "requests_in_flight",
            "Requests whose answers are not sent",
            in_flight.clone(),
        );
        registry.register(
            "decision_seconds",
            "How long decisions took",
            decision.clone(),
        );
        let (bases, breaker_open) = (Family::default(), Gauge::default());
        if matches!(limits.rules, Rules::Shared(..)) {
            registry.register(
                "decisions_by_basis",
                "Who has decided: the store, a denial of it that is remembered, the local limiter, nobody",
                bases.clone(),
            );
            registry.register(
                "store_breaker_open",
                "Whether the store is not asked, as it has failed",
                breaker_open.clone(),
            );
        }
        let of_rule = |family: &Family<ByRule, Counter>| -> Vec<Counter> {
            let names = limits.names.iter();
            let labels = names.map(|rule| ByRule { rule: rule.clone() });
            labels
                .map(|labels| family.get_or_create(&labels).clone())
                .collect()
        };
        Self(Arc::new(Inner {
            allowed: of_rule(&allowed),
            denied: of_rule(&denied),
            limits,
            since: Instant::now(),
            registry,
            without_key,
            untracked,
            decision,
            tracked,
            in_flight,
            bases,
            breaker_open,
            denied_in_all: AtomicU64::new(0),
            allowed_in_all: AtomicU64::new(0),
            top: Top::new(),
            refusals: Refusals::new(),
        }))
    }

    pub(crate) fn in_flight(&self) -> InFlight {
        self.0.in_flight.inc();
        InFlight(self.0.in_flight.clone())
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self) -> String {
        let inner = &self.0;
        if let Rules::Local(rules) = &inner.limits.rules {
            for (rule, name) in rules.iter().zip(&inner.limits.names) {
                let tracked = inner.tracked.get_or_create(&ByRule { rule: name.clone() });
                tracked.set(rule.limiter().tracked_keys() as i64);
            }
        }
        if let Rules::Shared(_, store) = &inner.limits.rules {
            inner
                .breaker_open
                .set(i64::from(store.counts().breaker_open));
        }
        let mut text = String::new();
        match encode(&mut text, &inner.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }

    /// What the page reads.
    pub(crate) fn json(&self) -> String {
        let inner = &self.0;
        let tracked: Option<usize> = match &inner.limits.rules {
            Rules::Local(rules) => {
                Some(rules.iter().map(|rule| rule.limiter().tracked_keys()).sum())
            }
            Rules::Shared(..) => None,
        };
        let top: Vec<_> = inner
            .top
            .most(SHOWN)
            .into_iter()
            .map(|(key, denied)| json!({ "key": key.to_string(), "denied": denied }))
            .collect();
        json!({
            // Tells the page that it is another gateway than before.
            "since": format!("{:?}", inner.since),
            "up_ms": inner.since.elapsed().as_millis() as u64,
            "allowed": inner.allowed_in_all.load(Ordering::Relaxed),
            "denied": inner.denied_in_all.load(Ordering::Relaxed),
            "in_flight": inner.in_flight.get(),
            "tracked": tracked,
            "top": top,
        })
        .to_string()
    }
}

impl Observe<Key> for Metrics {
    type Mark = Instant;

    fn begin(&self) -> Instant {
        Instant::now()
    }

    fn end(&self, since: Instant, outcome: &Outcome<'_, Key>) {
        let inner = &self.0;
        inner.decision.observe(since.elapsed().as_secs_f64());
        if outcome.key.is_none() {
            inner.without_key.inc();
        }
        if outcome
            .decision
            .is_some_and(|decision| decision.is_untracked())
        {
            inner.untracked.inc();
        }
        if let Some(shared) = outcome.shared {
            let basis = match shared.as_ref().map(Answer::basis) {
                Ok(Basis::Store) => "store",
                Ok(Basis::PreCheck) => "pre-check",
                Ok(Basis::Fallback) => "fallback",
                _ => "nobody",
            };
            inner.bases.get_or_create(&ByBasis { basis }).inc();
        }
        if !outcome.refused {
            inner.allowed[outcome.rule].inc();
            inner.allowed_in_all.fetch_add(1, Ordering::Relaxed);
            return;
        }
        inner.denied[outcome.rule].inc();
        inner.denied_in_all.fetch_add(1, Ordering::Relaxed);
        if let Some(key) = outcome.key {
            inner.top.count(key);
        }
        inner
            .refusals
            .log(&inner.limits.names[outcome.rule], outcome);
    }
}

/// A request whose answer is not sent yet.
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
