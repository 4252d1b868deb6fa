//! The time by tokio's clock.

use crate::ticker::Ticker;
use std::time::Duration;
use tokio::time::Instant;

/// Follows tokio's clock, which a test can pause: tasks that wait for their turn then wait in no time
/// at all, and come when they should.
///
/// Its zero is when it was made, so that windows do not line up with those of the clock on the wall.
/// Under a clock that is not paused it is a slower [`InstantTicker`](crate::InstantTicker).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, RateLimiter, TokioTicker};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), tollgate::LimitError> {
/// let limiter = RateLimiter::<u64>::builder(Limit::per_hour(1)).ticker(TokioTicker::new()).build()?;
/// assert!(limiter.try_acquire(&7).is_allowed());
/// tokio::time::advance(Duration::from_secs(3600)).await;
/// assert!(limiter.try_acquire(&7).is_allowed());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioTicker {
    anchor: Instant,
}

impl TokioTicker {
    /// A ticker that starts at zero now.
    pub fn new() -> Self {
        Self {
            anchor: Instant::now(),
        }
    }
}

impl Default for TokioTicker {
    fn default() -> Self {
        Self::new()
    }
}

impl Ticker for TokioTicker {
    fn now(&self) -> u64 {
        nanoseconds(self.anchor.elapsed())
    }
}

fn nanoseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
