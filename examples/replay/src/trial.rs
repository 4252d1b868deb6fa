//! What is tried on a log: an algorithm with its limits.

use std::fmt;

use tollgate::{AnyAlgorithm, Limit, LimitError, ManualTicker, RateLimiter};

/// A limiter on the time of a log; keys are numbers that the log gave them.
pub(crate) type Limiter = RateLimiter<u32, AnyAlgorithm, ManualTicker>;

/// Which algorithms are to be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Every one that takes the limits.
    #[default]
    All,
    /// This one.
    One(AnyAlgorithm),
}

impl Choice {
    /// The algorithms that this means for one limit.
    pub fn algorithms(self) -> Vec<AnyAlgorithm> {
        match self {
            Self::One(algorithm) => vec![algorithm],
            Self::All => vec![
                AnyAlgorithm::TokenBucket,
                AnyAlgorithm::FixedWindow,
                AnyAlgorithm::SlidingLog,
                AnyAlgorithm::SlidingCounter,
            ],
        }
    }
}

/// An algorithm with limits that it can keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    algorithm: AnyAlgorithm,
    limits: Vec<Limit>,
}

impl Trial {
    /// `algorithm`, keeping `limits`.
    ///
    /// # Errors
    ///
    /// If it cannot keep them.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{AnyAlgorithm, Limit};
    /// use tollgate_replay::Trial;
    ///
    /// let limit = Limit::per_second(2).with_burst(20);
    /// let trial = Trial::new(AnyAlgorithm::TokenBucket, vec![limit])?;
    /// assert_eq!(trial.to_string(), "gcra 2/s burst 20");
    /// assert!(Trial::new(AnyAlgorithm::FixedWindow, vec![limit]).is_err());
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    pub fn new(algorithm: AnyAlgorithm, limits: Vec<Limit>) -> Result<Self, LimitError> {
        let trial = Self { algorithm, limits };
        trial.limiter(ManualTicker::new(0), 0)?;
        Ok(trial)
    }

    pub(crate) fn algorithm(&self) -> AnyAlgorithm {
        self.algorithm
    }

    /// The limits, in the order in which they were given.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    pub(crate) fn limiter(
        &self,
        ticker: ManualTicker,
        capacity: usize,
    ) -> Result<Limiter, LimitError> {
        RateLimiter::<u32>::builder(self.limits.clone())
            .algorithm(self.algorithm)
            .ticker(ticker)
            .capacity(capacity)
            .build()
    }
}

/// `gcra 60/min`, `all_of gcra 5/s + gcra 100/10min`: the names that reports and JSON use.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.algorithm == AnyAlgorithm::AllOf {
            f.write_str("all_of ")?;
        }
        for (position, limit) in self.limits.iter().enumerate() {
            let plus = if position == 0 { "" } else { " + " };
            write!(f, "{plus}{} {limit}", short_name(self.algorithm))?;
        }
        Ok(())
    }
}

/// What reports call the algorithm that keeps each limit.
pub(crate) fn short_name(algorithm: AnyAlgorithm) -> &'static str {
    match algorithm {
        AnyAlgorithm::TokenBucket | AnyAlgorithm::AllOf => "gcra",
        AnyAlgorithm::FixedWindow => "fixed_window",
        AnyAlgorithm::SlidingLog => "sliding_log",
        AnyAlgorithm::SlidingCounter => "sliding_counter",
    }
}

/// The trials that limits and choice ask for, and those among them that cannot be, with the reason.
///
/// Several limits are kept together, by token buckets that spend all or nothing (`AllOf`); no other
/// algorithm takes more than one.
///
/// # Examples
///
/// ```
/// use tollgate::Limit;
/// use tollgate_replay::{Choice, trials};
///
/// let names = |limits: &[Limit]| {
///     let (possible, refused) = trials(limits, Choice::All);
///     let names: Vec<String> = possible.iter().map(ToString::to_string).collect();
///     (names.join(", "), refused.len())
/// };
/// let minute = Limit::per_minute(60);
/// assert_eq!(
///     names(&[minute]),
///     ("gcra 60/min, fixed_window 60/min, sliding_log 60/min, sliding_counter 60/min".into(), 0),
/// );
/// assert_eq!(names(&[minute.with_burst(5)]), ("gcra 60/min burst 5".into(), 3));
/// assert_eq!(
///     names(&[Limit::per_second(5), minute]),
///     ("all_of gcra 5/s + gcra 60/min".into(), 0),
/// );
/// ```
pub fn trials(limits: &[Limit], choice: Choice) -> (Vec<Trial>, Vec<(String, LimitError)>) {
    let several = limits.len() > 1;
    let algorithms = match choice {
        Choice::All | Choice::One(AnyAlgorithm::TokenBucket) if several => {
            vec![AnyAlgorithm::AllOf]
        }
        choice => choice.algorithms(),
    };
    let mut possible = Vec::new();
    let mut refused = Vec::new();
    for algorithm in algorithms {
        match Trial::new(algorithm, limits.to_vec()) {
            Ok(trial) => possible.push(trial),
            Err(why) => refused.push((short_name(algorithm).to_owned(), why)),
        }
    }
    (possible, refused)
}
