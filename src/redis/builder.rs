//! How a limiter on a store is built.

use super::layout::{Layout, Rules};
use super::limiter::{Inner, RedisLimiter};
use super::parts::Estimates;
use super::policy::OnFailure;
use super::pre_check::{self, PreCheck};
use super::set_up::SetUpError;
use super::store::{Store, check_name};
use crate::algorithm::{AnyAlgorithm, Limits};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// The time that a decision may take, unless told otherwise.
const BUDGET: Duration = Duration::from_millis(50);

/// That no failure policy has been chosen yet.
#[derive(Clone, Copy, Debug)]
pub struct Unchosen;

/// A limiter in the making; see [`RedisLimiter::builder`].
///
/// It cannot be built before [`on_failure`](Self::on_failure) has been said:
///
/// ```compile_fail,E0599
/// use tollgate::Limit;
/// use tollgate::redis::{RedisLimiter, Store};
///
/// let store = Store::open("redis://127.0.0.1").unwrap();
/// let limiter = RedisLimiter::builder(&store, "api", Limit::per_minute(100)).build();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before it is built"]
pub struct RedisBuilder<P> {
    store: Store,
    name: String,
    limits: Limits,
    algorithm: AnyAlgorithm,
    policy: P,
    budget: Duration,
    pre_checked: usize,
    layout: Layout,
    largest: u64,
}

impl RedisBuilder<Unchosen> {
    pub(super) fn new(store: &Store, name: &str, limits: Limits) -> Self {
        Self {
            store: store.clone(),
            name: name.to_owned(),
            limits,
            algorithm: AnyAlgorithm::TokenBucket,
            policy: Unchosen,
            budget: BUDGET,
            pre_checked: pre_check::KEYS,
            layout: Layout::Own,
            largest: 1,
        }
    }
}

impl<P> RedisBuilder<P> {
    /// What to answer when the store does not decide.
    pub fn on_failure(self, policy: OnFailure) -> RedisBuilder<OnFailure> {
        RedisBuilder {
            policy,
            store: self.store,
            name: self.name,
            limits: self.limits,
            algorithm: self.algorithm,
            budget: self.budget,
            pre_checked: self.pre_checked,
            layout: self.layout,
            largest: self.largest,
        }
    }

    /// Which algorithm keeps the limits: a token bucket unless told otherwise.
    pub fn algorithm(self, algorithm: AnyAlgorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// The longest that a decision may take, with connecting and a retry: 50 ms unless told otherwise.
    pub fn budget(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    /// For how many keys the store's denials are remembered, so that a key that is denied costs no round
    /// trip until the time that the store named: 100,000 unless told otherwise, 0 for none.
    pub fn pre_check(self, keys: usize) -> Self {
        Self {
            pre_checked: keys,
            ..self
        }
    }

    /// Splits the limit of each key into so many parts, which lie on different servers of a cluster: for
    /// keys that are too hot for one server.
    ///
    /// Parts come to exactly the limit, so that never more is admitted; a request goes to the fuller of
    /// two parts, by what earlier answers told, and may be denied a little before the whole is spent (see
    /// [the module](crate::redis#keys-that-are-too-hot-for-one-server)). `largest_cost` is the most that a request may
    /// cost.
    pub fn split(self, parts: u32, largest_cost: u64) -> Self {
        Self {
            layout: Layout::Split { parts },
            largest: largest_cost,
            ..self
        }
    }

    /// Keeps all keys in so many slots of a cluster, each by its place: so that a [`pooled`](Self::pooled)
    /// limiter of as many slots can be asked together with it. All servers must say the same number.
    pub fn gathered(self, slots: u32) -> Self {
        Self {
            layout: Layout::Gathered { slots },
            ..self
        }
    }

    /// One limit for all keys together, split into so many parts: a key's requests count in the part that
    /// lies where a [`gathered`](Self::gathered) limiter of as many slots keeps that key, so that a limit
    /// for each client and its share of a cap for all are decided in one step, and no server of the
    /// cluster has all the work.
    ///
    /// Parts come to exactly the limit. Where clients are unevenly spread, a part may be spent while
    /// others have permits left. `largest_cost` is the most that a request may cost.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tollgate::Limit;
    /// use tollgate::redis::{OnFailure, RedisLimiter, Store, try_acquire_all};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Store::open_cluster(["redis://10.0.0.1:6379", "redis://10.0.0.2:6379"])?;
    /// let clients = RedisLimiter::builder(&store, "clients", Limit::per_minute(100))
    ///     .gathered(64)
    ///     .on_failure(OnFailure::Open)
    ///     .build()?;
    /// let all = RedisLimiter::builder(&store, "all", Limit::per_second(50_000))
    ///     .pooled(64, 1)
    ///     .on_failure(OnFailure::Open)
    ///     .build()?;
    /// let answer = try_acquire_all(&[clients.ask("ada", 1), all.ask("ada", 1)]).await?;
    /// println!("{:?}", answer.whole.verdict());
    /// # Ok(())
    /// # }
    /// ```
    pub fn pooled(self, slots: u32, largest_cost: u64) -> Self {
        Self {
            layout: Layout::Pooled { slots },
            largest: largest_cost,
            ..self
        }
    }
}

impl RedisBuilder<OnFailure> {
    /// The limiter. Nothing is asked of the store yet.
    ///
    /// # Errors
    ///
    /// If the name cannot be part of a key, the algorithm cannot keep the limits, or the store cannot
    /// count them exactly: the message says which number is too large.
    pub fn build(self) -> Result<RedisLimiter, SetUpError> {
        check_name(&self.name)?;
        let rules = Rules::new(
            self.algorithm,
            self.limits,
            self.layout,
            self.largest,
            self.policy,
        )?;
        let pre_check = (self.pre_checked > 0).then(|| PreCheck::new(self.pre_checked));
        Ok(RedisLimiter::from_inner(Inner {
            store: self.store,
            name: self.name,
            rules: RwLock::new(Arc::new(rules)),
            policy: self.policy,
            budget: self.budget,
            largest: self.largest,
            pre_check,
            estimates: self.layout.is_drawn().then(Estimates::default),
            layout: self.layout,
            counters: Default::default(),
        }))
    }
}
