//! One of the five algorithms, chosen at run time.

use super::{
    Algorithm, AllOf, FixedWindow, Gone, Reading, SlidingCounter, SlidingLog, TokenBucket,
};
use crate::decision::Decision;
use crate::error::LimitError;
use crate::limit::Limit;
use std::fmt;
use std::str::FromStr;

/// One of the five algorithms, chosen at run time: from a configuration file, say.
///
/// It costs a comparison per decision, and every key takes the space of the largest state. As
/// text (`Display`, `FromStr`, and `serde` behind that feature) the names are `token-bucket` (or
/// `gcra`), `fixed-window`, `sliding-log`, `sliding-counter` and `all-of`.
///
/// Promise, worst case and linearization point are those of the algorithm chosen.
///
/// # Examples
///
/// ```
/// use tollgate::{AnyAlgorithm, Limit, RateLimiter};
///
/// let algorithm: AnyAlgorithm = "sliding-log".parse()?;
/// let limiter = RateLimiter::<u64>::builder(Limit::per_minute(60)).algorithm(algorithm).build()?;
/// assert_eq!(limiter.try_acquire(&1).remaining(), 59);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnyAlgorithm {
    /// [`TokenBucket`](crate::TokenBucket).
    #[default]
    TokenBucket,
    /// [`FixedWindow`](crate::FixedWindow).
    FixedWindow,
    /// [`SlidingLog`](crate::SlidingLog).
    SlidingLog,
    /// [`SlidingCounter`](crate::SlidingCounter).
    SlidingCounter,
    /// [`AllOf`](crate::AllOf).
    AllOf,
}

impl AnyAlgorithm {
    /// All of them, in the order of the table in [`algorithm`](crate::algorithm).
    pub const ALL: [Self; 5] = [
        Self::TokenBucket,
        Self::FixedWindow,
        Self::SlidingLog,
        Self::SlidingCounter,
        Self::AllOf,
    ];

    /// The name that `Display` writes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token-bucket",
            Self::FixedWindow => "fixed-window",
            Self::SlidingLog => "sliding-log",
            Self::SlidingCounter => "sliding-counter",
            Self::AllOf => "all-of",
        }
    }
}

impl fmt::Display for AnyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Text that names no algorithm.
///
/// # Examples
///
/// ```
/// let error = "leaky".parse::<tollgate::AnyAlgorithm>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "'leaky' is no algorithm: use token-bucket, fixed-window, sliding-log, sliding-counter \
///      or all-of",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAlgorithmError(String);

impl fmt::Display for ParseAlgorithmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no algorithm: use token-bucket, fixed-window, sliding-log, sliding-counter \
             or all-of",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for ParseAlgorithmError {}

impl FromStr for AnyAlgorithm {
    type Err = ParseAlgorithmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim().replace('_', "-").to_ascii_lowercase();
        if name == "gcra" {
            return Ok(Self::TokenBucket);
        }
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| ParseAlgorithmError(text.chars().take(60).collect()))
    }
}

#[cfg(feature = "serde")]
mod serde_impls {
    use super::AnyAlgorithm;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for AnyAlgorithm {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for AnyAlgorithm {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        }
    }
}

/// An enum with one variant per algorithm, each holding that algorithm's `$of`.
macro_rules! one_of_each {
    ($(#[$meta:meta])* $name:ident, $of:ident) => {
        $(#[$meta])*
        #[doc(hidden)]
        pub enum $name {
            TokenBucket(<TokenBucket as Algorithm>::$of),
            FixedWindow(<FixedWindow as Algorithm>::$of),
            SlidingLog(<SlidingLog as Algorithm>::$of),
            SlidingCounter(<SlidingCounter as Algorithm>::$of),
            AllOf(<AllOf as Algorithm>::$of),
        }
    };
}

one_of_each!(
    #[derive(Debug, PartialEq)]
    AnyRule,
    Rule
);
one_of_each!(
    #[derive(Debug)]
    AnyState,
    State
);
one_of_each!(
    #[derive(Debug, Clone, Copy)]
    AnyHeld,
    Held
);

/// Does `$body` for the algorithm that `$value` is of.
macro_rules! dispatch {
    ($Enum:ident $value:expr, |$A:ident, $inner:ident| $body:expr) => {
        match $value {
            $Enum::TokenBucket($inner) => {
                type $A = TokenBucket;
                $body
            }
            $Enum::FixedWindow($inner) => {
                type $A = FixedWindow;
                $body
            }
            $Enum::SlidingLog($inner) => {
                type $A = SlidingLog;
                $body
            }
            $Enum::SlidingCounter($inner) => {
                type $A = SlidingCounter;
                $body
            }
            $Enum::AllOf($inner) => {
                type $A = AllOf;
                $body
            }
        }
    };
    ($Enum:ident $value:expr, $Other:ident $other:expr,
        |$A:ident, $inner:ident, $with:ident| $body:expr
    ) => {
        match ($value, $other) {
            ($Enum::TokenBucket($inner), $Other::TokenBucket($with)) => {
                type $A = TokenBucket;
                $body
            }
            ($Enum::FixedWindow($inner), $Other::FixedWindow($with)) => {
                type $A = FixedWindow;
                $body
            }
            ($Enum::SlidingLog($inner), $Other::SlidingLog($with)) => {
                type $A = SlidingLog;
                $body
            }
            ($Enum::SlidingCounter($inner), $Other::SlidingCounter($with)) => {
                type $A = SlidingCounter;
                $body
            }
            ($Enum::AllOf($inner), $Other::AllOf($with)) => {
                type $A = AllOf;
                $body
            }
            _ => unreachable!("a state lives and dies with its rule"),
        }
    };
}

impl Algorithm for AnyAlgorithm {
    type Rule = AnyRule;
    type State = AnyState;
    type Held = AnyHeld;

    fn rule(&self, limits: &[Limit]) -> Result<AnyRule, LimitError> {
        Ok(match self {
            Self::TokenBucket => AnyRule::TokenBucket(Algorithm::rule(&TokenBucket, limits)?),
            Self::FixedWindow => AnyRule::FixedWindow(Algorithm::rule(&FixedWindow, limits)?),
            Self::SlidingLog => AnyRule::SlidingLog(SlidingLog.rule(limits)?),
            Self::SlidingCounter => AnyRule::SlidingCounter(SlidingCounter.rule(limits)?),
            Self::AllOf => AnyRule::AllOf(AllOf.rule(limits)?),
        })
    }

    #[inline]
    fn capacity(rule: &AnyRule) -> u64 {
        dispatch!(AnyRule rule, |A, rule| <A as Algorithm>::capacity(rule))
    }

    fn fresh(rule: &AnyRule) -> AnyState {
        match rule {
            AnyRule::TokenBucket(rule) => {
                AnyState::TokenBucket(<TokenBucket as Algorithm>::fresh(rule))
            }
            AnyRule::FixedWindow(rule) => {
                AnyState::FixedWindow(<FixedWindow as Algorithm>::fresh(rule))
            }
            AnyRule::SlidingLog(rule) => AnyState::SlidingLog(SlidingLog::fresh(rule)),
            AnyRule::SlidingCounter(rule) => AnyState::SlidingCounter(SlidingCounter::fresh(rule)),
            AnyRule::AllOf(rule) => AnyState::AllOf(AllOf::fresh(rule)),
        }
    }

    #[inline]
    fn try_acquire(
        rule: &AnyRule,
        state: &AnyState,
        at: Reading,
        cost: u64,
    ) -> Result<Decision, Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            A::try_acquire(rule, state, at, cost)
        })
    }

    #[inline]
    fn peek(rule: &AnyRule, state: &AnyState, at: Reading, cost: u64) -> Result<Decision, Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            A::peek(rule, state, at, cost)
        })
    }

    fn try_acquire_each(
        rule: &AnyRule,
        state: &AnyState,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            A::try_acquire_each(rule, state, at, cost, each)
        })
    }

    fn peek_each(
        rule: &AnyRule,
        state: &AnyState,
        at: Reading,
        cost: u64,
        each: &mut [Decision],
    ) -> Result<(Decision, usize), Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            A::peek_each(rule, state, at, cost, each)
        })
    }

    fn refund(
        rule: &AnyRule,
        state: &AnyState,
        at: Reading,
        decision: &Decision,
    ) -> Result<(), Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            <A as Algorithm>::refund(rule, state, at, decision)
        })
    }

    fn charge(rule: &AnyRule, state: &AnyState, at: Reading, cost: u64) -> Result<Decision, Gone> {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            <A as Algorithm>::charge(rule, state, at, cost)
        })
    }

    fn clear(rule: &AnyRule, state: &AnyState) {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| A::clear(rule, state));
    }

    fn retire_if_idle(rule: &AnyRule, state: &AnyState, at: Reading) -> bool {
        dispatch!(AnyRule rule, AnyState state, |A, rule, state| {
            A::retire_if_idle(rule, state, at)
        })
    }

    fn retire(state: &AnyState) -> Result<(), Gone> {
        dispatch!(AnyState state, |A, state| A::retire(state))
    }

    fn is_retired(state: &AnyState) -> bool {
        dispatch!(AnyState state, |A, state| A::is_retired(state))
    }

    fn hold(state: &AnyState) -> Result<AnyHeld, Gone> {
        Ok(match state {
            AnyState::TokenBucket(state) => AnyHeld::TokenBucket(TokenBucket::hold(state)?),
            AnyState::FixedWindow(state) => AnyHeld::FixedWindow(FixedWindow::hold(state)?),
            AnyState::SlidingLog(state) => {
                SlidingLog::hold(state)?;
                AnyHeld::SlidingLog(())
            }
            AnyState::SlidingCounter(state) => {
                AnyHeld::SlidingCounter(SlidingCounter::hold(state)?)
            }
            AnyState::AllOf(state) => AnyHeld::AllOf(AllOf::hold(state)?),
        })
    }

    fn release(state: &AnyState, held: AnyHeld) {
        dispatch!(AnyState state, AnyHeld held, |A, state, held| {
            A::release(state, held);
        });
    }

    /// Between two algorithms, what is spent now becomes what is spent then: the permits that are
    /// missing from the one (from a list, the most of its limits) are spent from the other, as far
    /// as it has them.
    fn moved(
        rule: &AnyRule,
        state: &AnyState,
        held: AnyHeld,
        at: Reading,
        to: &AnyRule,
    ) -> AnyState {
        macro_rules! same {
            ($($Kind:ident)+) => {
                match (rule, state, held, to) {
                    $((
                        AnyRule::$Kind(rule),
                        AnyState::$Kind(state),
                        AnyHeld::$Kind(held),
                        AnyRule::$Kind(to),
                    ) => return AnyState::$Kind($Kind::moved(rule, state, held, at, to)),)+
                    _ => {}
                }
            };
        }
        same!(TokenBucket FixedWindow SlidingLog SlidingCounter AllOf);

        // A copy under the old rule answers what the held state no longer does.
        let copy = Self::moved(rule, state, held, at, rule);
        let missing = match (rule, &copy) {
            (AnyRule::AllOf(buckets), AnyState::AllOf(fulls)) => buckets.missing(fulls, at),
            _ => Self::peek(rule, &copy, at, 0)
                .map_or(0, |decision| Self::capacity(rule) - decision.remaining()),
        };
        let state = Self::fresh(to);
        let spent = missing.min(Self::capacity(to));
        if spent > 0 {
            // A fresh state has its whole capacity, so that it neither denies nor is gone.
            let _ = Self::try_acquire(to, &state, at, spent);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for algorithm in AnyAlgorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
            assert_eq!(algorithm.name().replace('-', "_").parse(), Ok(algorithm));
        }
        assert_eq!("GCRA".parse(), Ok(AnyAlgorithm::TokenBucket));
        assert!("".parse::<AnyAlgorithm>().is_err());
    }

    #[cfg(not(feature = "loom"))] // Outside a model.
    #[test]
    fn permits_spent_under_one_algorithm_are_spent_under_the_next() {
        let at = Reading::new(0, 5_000_000_000);
        let limit = Limit::per_minute(10);
        for from in AnyAlgorithm::ALL {
            for to in AnyAlgorithm::ALL {
                let rule = from.rule(&[limit]).expect("a rule");
                let to = to.rule(&[Limit::per_minute(8)]).expect("a rule");
                let state = AnyAlgorithm::fresh(&rule);
                assert!(AnyAlgorithm::try_acquire(&rule, &state, at, 3).is_ok());
                let held = AnyAlgorithm::hold(&state).expect("live");
                let moved = AnyAlgorithm::moved(&rule, &state, held, at, &to);
                let decision = AnyAlgorithm::peek(&to, &moved, at, 1).expect("live");
                assert_eq!(decision.remaining(), 5, "{from} to {to:?}");
            }
        }
    }

    #[cfg(not(feature = "loom"))] // Outside a model.
    #[test]
    fn a_state_under_which_nothing_is_owed_moves_to_one_that_is_as_new() {
        let at = Reading::new(0, 5_000_000_000);
        let limit = Limit::per_minute(10);
        for from in AnyAlgorithm::ALL {
            for to in AnyAlgorithm::ALL.into_iter().filter(|to| *to != from) {
                let rule = from.rule(&[limit]).expect("a rule");
                let to = to.rule(&[limit]).expect("a rule");
                let state = AnyAlgorithm::fresh(&rule);
                let held = AnyAlgorithm::hold(&state).expect("live");
                let moved = AnyAlgorithm::moved(&rule, &state, held, at, &to);
                let earlier = Reading::new(0, 1_000_000_000);
                let decision = AnyAlgorithm::peek(&to, &moved, earlier, 1).expect("live");
                assert_eq!(decision.standing().reset_after, 0, "{from} to {to:?}");
            }
        }
    }

    #[cfg(not(feature = "loom"))] // Outside a model.
    #[test]
    fn only_a_retired_state_says_that_it_is() {
        for algorithm in AnyAlgorithm::ALL {
            let rule = algorithm.rule(&[Limit::per_minute(10)]).expect("a rule");
            let state = AnyAlgorithm::fresh(&rule);
            assert!(!AnyAlgorithm::is_retired(&state), "{algorithm}");
            let held = AnyAlgorithm::hold(&state).expect("live");
            assert!(!AnyAlgorithm::is_retired(&state), "{algorithm} is moving");
            AnyAlgorithm::release(&state, held);
            AnyAlgorithm::retire(&state).expect("live");
            assert!(AnyAlgorithm::is_retired(&state), "{algorithm}");
        }
    }

    #[cfg(not(feature = "loom"))] // Outside a model.
    #[test]
    fn of_a_list_the_limit_that_is_short_of_most_is_what_the_next_owes() {
        let at = Reading::new(0, 100_000_000_000);
        let per_day = Limit::per_day(100);
        let list = [Limit::per_second(10), per_day];
        let (from, to) = (AnyAlgorithm::AllOf, AnyAlgorithm::TokenBucket);
        let (rule, to) = (
            from.rule(&list).expect("a rule"),
            to.rule(&[per_day]).expect("a rule"),
        );
        let state = AnyAlgorithm::fresh(&rule);
        for second in 0..9 {
            let at = Reading::new(0, second * 1_000_000_000);
            let spent = AnyAlgorithm::try_acquire(&rule, &state, at, 10).expect("live");
            assert!(spent.is_allowed());
        }
        let held = AnyAlgorithm::hold(&state).expect("live");
        let moved = AnyAlgorithm::moved(&rule, &state, held, at, &to);
        let decision = AnyAlgorithm::peek(&to, &moved, at, 1).expect("live");
        assert_eq!(decision.remaining(), 10);
    }
}
