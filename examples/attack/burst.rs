//! Seven requests at one instant under 5 a second, then one more when the first permit is back.

use tollgate::{Decision, Limit, LimitError, ManualTicker, RateLimiter, Ticker};

use crate::MILLISECOND;

/// The limit that the burst meets.
pub const LIMIT: Limit = Limit::per_second(5);

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The ticker's reading.
    pub at: u64,
    /// Who asked.
    pub key: &'static str,
    /// The answer.
    pub decision: Decision,
}

/// Sends the burst through a token bucket.
pub fn send() -> Result<Vec<Request>, LimitError> {
    const AT_ONCE: usize = 7;
    let ticker = ManualTicker::new(0);
    let limiter = RateLimiter::<String>::builder(LIMIT)
        .ticker(ticker.clone())
        .build()?;
    let ask = |key| Request {
        at: ticker.now(),
        key,
        decision: limiter.try_acquire(key),
    };

    let mut requests: Vec<_> = (0..AT_ONCE).map(|_| ask("ada")).collect();
    requests.push(ask("grace"));
    ticker.set(200 * MILLISECOND);
    requests.push(ask("ada"));
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_allowed_up_to_its_size_and_then_a_permit_every_200_ms() {
        let requests = send().unwrap();
        let remaining: Vec<_> = requests
            .iter()
            .map(|request| {
                (
                    request.key,
                    request.decision.is_allowed(),
                    request.decision.remaining(),
                )
            })
            .collect();
        assert_eq!(
            remaining,
            [
                ("ada", true, 4),
                ("ada", true, 3),
                ("ada", true, 2),
                ("ada", true, 1),
                ("ada", true, 0),
                ("ada", false, 0),
                ("ada", false, 0),
                ("grace", true, 4),
                ("ada", true, 0),
            ]
        );
        for denied in &requests[5..7] {
            let wait = denied.decision.retry_after();
            assert_eq!(wait, Some(Duration::from_millis(200)));
        }
    }
}
