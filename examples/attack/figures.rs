//! Every attack, run.

use std::thread;

use tollgate::{AnyAlgorithm, LimitError};

use crate::boundary::{self, Volley};
use crate::burst::{self, Request};
use crate::eviction::{self, Eviction};
use crate::siege::{self, Siege};
use crate::stampede::Stampede;
use crate::tiers::{self, Tiers};

/// What each attack found. Nothing here is written down beforehand: all of it is counted.
#[derive(Clone, Debug)]
pub struct Figures {
    /// One client that never lets up, against each algorithm.
    pub sieges: Vec<Siege>,
    /// Requests at one instant.
    pub burst: Vec<Request>,
    /// Either side of a full minute.
    pub boundary: [Volley; 2],
    /// Two limits in one `AllOf`.
    pub all_of: Tiers,
    /// Two limits in two limiters, one behind the other.
    pub chained: Tiers,
    /// A million keys, forgotten.
    pub eviction: Eviction,
    /// Eight threads on one key, against each algorithm.
    pub stampedes: Vec<(AnyAlgorithm, Stampede)>,
    /// Eight threads on a window that looks and then counts.
    pub unsynchronised: Stampede,
    /// How many of the threads could run at the same time.
    pub cores: usize,
}

impl Figures {
    /// Runs every attack.
    ///
    /// # Errors
    ///
    /// If tollgate refuses one of the limits.
    pub fn measure() -> Result<Self, LimitError> {
        Ok(Self {
            sieges: siege::ALGORITHMS
                .into_iter()
                .map(Siege::lay)
                .collect::<Result<_, _>>()?,
            burst: burst::send()?,
            boundary: boundary::straddle()?,
            all_of: tiers::all_of()?,
            chained: tiers::chained()?,
            eviction: eviction::sweep()?,
            stampedes: AnyAlgorithm::ALL
                .into_iter()
                .map(|algorithm| Ok((algorithm, Stampede::through(algorithm)?)))
                .collect::<Result<_, _>>()?,
            unsynchronised: Stampede::through_unsynchronised(),
            cores: thread::available_parallelism().map_or(1, usize::from),
        })
    }
}
