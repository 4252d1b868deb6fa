//! Waiting, for tasks of tokio.

use super::place::{Place, Step, Waitable, sealed};
use crate::algorithm::Algorithm;
use crate::decision::Decision;
use crate::error::AcquireError;
use crate::limiter::{LimitSource, RateLimiter};
use crate::ticker::Ticker;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Later than anybody waits: what is added to a time must not overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

impl<K, A, T, L, S> RateLimiter<K, A, T, L, S>
where
    K: Hash + Eq + Clone,
    A: Algorithm,
    T: Ticker,
    L: LimitSource,
    S: BuildHasher,
{
    /// Waits until one permit is there for `key`, and spends it.
    ///
    /// First come, first served, for each key: whoever waits for more permits is not overtaken by one
    /// behind it that wants fewer, and a request that does not wait is denied while others do (unless
    /// [`WaitPolicy::overtaking`](crate::WaitPolicy::overtaking)). A key that is waited for is not
    /// forgotten. Tasks and threads wait in the same line. A key for which there is no place (see
    /// [`max_keys`](crate::Builder::max_keys)) waits until there is one.
    ///
    /// It waits from the first poll on, for as long as it takes; see [`Acquire::within`]. A future that
    /// is dropped gives up its place and has spent nothing.
    ///
    /// # Errors
    ///
    /// If [too many](crate::WaitPolicy::max_waiters) wait already, or it would have to wait
    /// [too long](crate::WaitPolicy::max_wait).
    ///
    /// # Panics
    ///
    /// If it has to wait, and is not polled by a runtime of tokio with its time enabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, RateLimiter, TokioTicker};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = RateLimiter::<u64>::builder(Limit::per_second(5))
    ///     .ticker(TokioTicker::new())
    ///     .build()?;
    /// let since = tokio::time::Instant::now();
    /// for _ in 0..10 {
    ///     limiter.acquire(&7).await?;
    /// }
    /// assert_eq!(since.elapsed(), Duration::from_secs(1));
    ///
    /// let soon = limiter.acquire(&7).within(Duration::from_millis(100)).await;
    /// assert_eq!(
    ///     soon.unwrap_err().to_string(),
    ///     "the permits are there in 200ms at the earliest, which is too long to wait"
    /// );
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire<Q>(&self, key: &Q) -> Acquire<&Self>
    where
        Q: ToOwned<Owned = K> + ?Sized,
    {
        self.acquire_n(key, 1)
    }

    /// As [`acquire`](Self::acquire), for `cost` permits at once.
    ///
    /// # Errors
    ///
    /// As there; and if the cost is above the capacity, so that it would wait for ever.
    pub fn acquire_n<Q>(&self, key: &Q, cost: u64) -> Acquire<&Self>
    where
        Q: ToOwned<Owned = K> + ?Sized,
    {
        Acquire::new(self, key.to_owned(), cost)
    }

    /// As [`acquire_n`](Self::acquire_n), of a limiter that is shared: the future borrows nothing, so
    /// that it can be spawned.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::{Limit, RateLimiter};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Arc::new(RateLimiter::<u64>::new(Limit::per_second(5))?);
    /// let task = tokio::spawn(limiter.clone().acquire_owned(7, 1));
    /// assert_eq!(task.await??.remaining(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire_owned(self: Arc<Self>, key: K, cost: u64) -> AcquireOwned<Self> {
        Acquire::new(self, key, cost)
    }
}

/// A request that waits for its turn and borrows nothing; see
/// [`RateLimiter::acquire_owned`].
pub type AcquireOwned<L> = Acquire<Arc<L>>;

pin_project! {
    /// A request that waits for its turn; see [`RateLimiter::acquire`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Acquire<P>
    where
        P: Deref,
        P::Target: Waitable,
    {
        place: Place<P>,
        timeout: Option<Duration>,
        // When it began to wait, and until when it may; the latter if there is such a time.
        deadline: Option<Instant>,
        begun: bool,
        // When it may ask, as the first in its line.
        due: Option<Instant>,
        #[pin]
        sleep: Option<Sleep>,
    }
}

impl<P> Acquire<P>
where
    P: Deref,
    P::Target: Waitable,
{
    fn new(limiter: P, key: <P::Target as sealed::Limiter>::Key, cost: u64) -> Self {
        Self {
            place: Place::new(limiter, key, cost),
            timeout: None,
            deadline: None,
            begun: false,
            due: None,
            sleep: None,
        }
    }

    /// Waits for so long at most, from the first poll on.
    ///
    /// Where it is next in its line and the permits will not be there in time, it says so at once.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl<P> Future for Acquire<P>
where
    P: Deref,
    P::Target: Waitable,
{
    type Output = Result<Decision, AcquireError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if !*this.begun {
            *this.begun = true;
            match this.place.begin() {
                Ok(None) => {}
                Ok(Some(decision)) => return Poll::Ready(Ok(decision)),
                Err(error) => return Poll::Ready(Err(error)),
            }
            *this.timeout = this.place.bounded(*this.timeout);
            *this.deadline = this.timeout.map(after);
        }
        assert!(this.place.is_in_line(), "polled after it was ready");
        loop {
            let now = Instant::now();
            let left = this
                .deadline
                .map(|deadline| deadline.saturating_duration_since(now));
            let due = this.due.is_some_and(|due| now >= due);
            let step = match this.place.step(cx.waker(), due, left) {
                Ok(step) => step,
                Err(error) => return Poll::Ready(Err(error)),
            };
            match step {
                Step::Allowed(decision) => return Poll::Ready(Ok(decision)),
                Step::Wait(wait) => *this.due = Some(after(wait)),
                Step::Waiting => {}
                Step::Behind => *this.due = None,
            }
            if left.is_some_and(|left| left.is_zero()) {
                this.place.leave();
                let timeout = this.timeout.unwrap_or_default();
                return Poll::Ready(Err(AcquireError::TimedOut { timeout }));
            }
            let until = match (*this.due, *this.deadline) {
                (Some(due), Some(deadline)) => due.min(deadline),
                (due, deadline) => match due.or(deadline) {
                    Some(until) => until,
                    // Whoever is before it wakes it.
                    None => return Poll::Pending,
                },
            };
            match this.sleep.as_mut().as_pin_mut() {
                Some(sleep) if sleep.deadline() == until => {}
                Some(sleep) => sleep.reset(until),
                None => this.sleep.set(Some(tokio::time::sleep_until(until))),
            }
            let sleep = this.sleep.as_mut().as_pin_mut().expect("it was just set");
            if sleep.poll(cx).is_pending() {
                return Poll::Pending;
            }
            // The timer may be a little early; it is set anew then.
            this.sleep.set(None);
        }
    }
}

/// The time after `wait` from now, or one that nobody comes to see.
fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(FAR)
}

impl<P> fmt::Debug for Acquire<P>
where
    P: Deref,
    P::Target: Waitable,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("place", &self.place)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
