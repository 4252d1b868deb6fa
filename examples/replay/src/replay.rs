//! A log, replayed through the limiter as it would have run.
//!
//! The ticker is a manual one, set to the time of each request in turn. The limiter is built at the
//! time of the first, so that nobody has spent anything yet.

use tollgate::{Limit, LimitError, ManualTicker};

use crate::log::Log;
use crate::peak::most_in_any;
use crate::trial::Trial;

/// How many requests go by between two calls of a tick.
const TICK: usize = 4096;

/// What a limit would have done to a log.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was tried.
    pub trial: Trial,
    /// How many requests were allowed.
    pub allowed: u64,
    /// How many were denied.
    pub denied: u64,
    /// How many keys the log has.
    pub keys: u64,
    /// Every key that was denied something, by its number, with how often: the most denied first,
    /// of equals the one that sorts first as text.
    pub keys_denied: Vec<(u32, u64)>,
    /// For each limit, the most that any one key was allowed in any one of its periods.
    pub most: Vec<(Limit, u64)>,
    /// Of each request of the log, whether it was allowed.
    pub verdicts: Vec<bool>,
}

/// Replays a log through a limiter of its own. `tick` is told, from time to time, how many more
/// requests have been answered.
///
/// # Errors
///
/// If the algorithm cannot keep the limits from the time of the first request on.
///
/// # Examples
///
/// ```
/// use tollgate::{AnyAlgorithm, Limit};
/// use tollgate_replay::access_log::Layout;
/// use tollgate_replay::{KeyKind, LogBuilder, Trial, replay};
///
/// let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
/// for second in ["07", "08", "07"] {
///     let line = format!(r#"h - - [21/Apr/2004:10:56:{second} +0000] "GET /" 200 2"#);
///     builder.push_line(line.as_bytes());
/// }
/// let trial = Trial::new(AnyAlgorithm::SlidingLog, vec![Limit::per_second(1)])?;
/// let outcome = replay(&builder.finish(), &trial, &mut |_| {})?;
/// assert_eq!(outcome.verdicts, [true, false, true], "the line from :08 is the last one");
/// assert_eq!(outcome.keys_denied, [(0, 1)]);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub fn replay(log: &Log, trial: &Trial, tick: &mut dyn FnMut(u64)) -> Result<Outcome, LimitError> {
    let verdicts = verdicts(log, trial, tick)?;

    let mut keys_denied = Vec::new();
    let mut most: Vec<_> = trial.limits().iter().map(|limit| (*limit, 0)).collect();
    let mut allowed = Vec::new();
    for (key, positions) in (0..).zip(log.each_key()) {
        allowed.clear();
        allowed.extend(
            positions
                .iter()
                .filter(|position| verdicts[**position])
                .map(|position| log.requests()[*position].time_ns),
        );
        let denied = (positions.len() - allowed.len()) as u64;
        if denied > 0 {
            keys_denied.push((key, denied));
        }
        for (limit, most) in &mut most {
            *most = most_in_any(limit.period_ns(), &allowed).max(*most);
        }
    }
    let name = |key: u32| &log.keys()[key as usize];
    keys_denied.sort_unstable_by(|(a, denied_a), (b, denied_b)| {
        denied_b.cmp(denied_a).then_with(|| name(*a).cmp(name(*b)))
    });

    let denied = keys_denied.iter().map(|(_, denied)| denied).sum();
    Ok(Outcome {
        trial: trial.clone(),
        allowed: verdicts.len() as u64 - denied,
        denied,
        keys: log.keys().len() as u64,
        keys_denied,
        most,
        verdicts,
    })
}

fn verdicts(log: &Log, trial: &Trial, tick: &mut dyn FnMut(u64)) -> Result<Vec<bool>, LimitError> {
    let start = log.span().map_or(0, |(first, _)| first);
    let ticker = ManualTicker::new(start);
    let limiter = trial.limiter(ticker.clone(), log.keys().len())?;

    let mut verdicts = Vec::with_capacity(log.requests().len());
    for requests in log.requests().chunks(TICK) {
        for request in requests {
            ticker.set(request.time_ns);
            verdicts.push(limiter.try_acquire(&request.key).is_allowed());
        }
        tick(requests.len() as u64);
    }
    Ok(verdicts)
}
