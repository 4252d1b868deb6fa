//! Calls as steps: what each call of a history comes to, in the order in which it does it.

use std::rc::Rc;

use tollgate::Decision;

use super::history::{Answer, Call, Case, History, Op};
use super::watched::Note;

/// One step of one call, somewhere within its interval.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) case: Rc<Case>,
    /// Which call of the history.
    pub(crate) call: usize,
    /// When that began.
    pub(crate) from: u64,
    /// Steps in one lane are done in their order; each lane is of one call.
    pub(crate) lane: usize,
    pub(crate) place: usize,
    /// Lanes that must have come so far before.
    pub(crate) needs: Vec<(usize, usize)>,
    pub(crate) what: What,
}

/// What the function from key to plan told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Which of the case's limits.
    pub(crate) limits: usize,
    /// The ticket that was drawn for it.
    pub(crate) drawn: u64,
}

/// Where there are several readings, each of them may be the one that counted.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Begins the key under these limits, if it is not there.
    Begin {
        key: u64,
        told: Told,
    },
    /// The same beside a refresh; or, for that, brings over the key that is there.
    BeginOrSettle {
        key: u64,
        told: Told,
        begins: bool,
        readings: Vec<u64>,
    },
    /// Asks the key; if it is not there, one that is as good as new under these limits.
    Ask {
        key: u64,
        cost: u64,
        spends: bool,
        fresh: Option<Told>,
        readings: Vec<u64>,
        answer: Answer,
    },
    /// Without a reading the key was not there.
    Refund {
        key: u64,
        spent: Decision,
        readings: Vec<u64>,
    },
    Reset {
        key: u64,
    },
    /// A refresh did not find the key.
    Miss {
        key: u64,
    },
    /// A refresh brought the key over to these limits.
    Convert {
        key: u64,
        told: Told,
        readings: Vec<u64>,
    },
    /// A refresh left the key as it was: it was gone, or under these limits already, or another
    /// refresh had come first.
    Leave {
        key: u64,
        told: Told,
    },
    /// A sweep retires the key if it is idle. If it must not, it may.
    Visit {
        key: u64,
        at: u64,
        must: bool,
    },
    /// A sweep has retired so many.
    Swept {
        count: usize,
    },
    Tracked {
        count: usize,
    },
}

/// The steps of all calls. Each comes with its call.
pub(crate) fn steps(history: &History) -> Vec<Step> {
    let case = Rc::new(history.case.clone());
    let calls: Vec<&Call> = history
        .calls
        .iter()
        .filter(|call| call.is_asked())
        .collect();
    let mut steps = Vec::new();
    for (nth, call) in calls.iter().enumerate() {
        let beside = Beside {
            case: &case,
            calls: &calls,
            call,
        };
        let lanes = beside.lanes();
        let first = nth * (case.keys as usize + 1);
        let lengths = lanes.iter().map(Vec::len).enumerate();
        let needs: Vec<_> = lengths
            .map(|(lane, length)| (first + lane, length))
            .collect();
        for (lane, whats) in lanes.into_iter().enumerate() {
            for (place, what) in whats.into_iter().enumerate() {
                let needs = match what {
                    What::Swept { .. } => needs[..lane].to_vec(),
                    _ => Vec::new(),
                };
                steps.push(Step {
                    case: Rc::clone(&case),
                    call: nth,
                    from: call.from,
                    lane: first + lane,
                    place,
                    needs,
                    what,
                });
            }
        }
    }
    steps
}

/// The calls that a step of this one can meet, and the calls that it cannot but know of.
struct Beside<'a> {
    case: &'a Case,
    calls: &'a [&'a Call],
    call: &'a Call,
}

impl<'a> Beside<'a> {
    /// The steps; those of a call that goes from key to key have a lane for each, since only the
    /// map knows the order.
    fn lanes(&self) -> Vec<Vec<What>> {
        let keys = 0..self.case.keys;
        match self.call.op {
            Op::Acquire { key, cost, .. } => vec![self.ask(key, cost, true)],
            Op::Peek { key, cost, .. } => vec![self.ask(key, cost, false)],
            Op::Refund { key, spent } => {
                let readings = self
                    .last_time()
                    .map_or(Vec::new(), |time| self.readings(time));
                vec![vec![What::Refund {
                    key,
                    spent,
                    readings,
                }]]
            }
            Op::Reset { key } => vec![vec![What::Reset { key }]],
            Op::Refresh { key } => vec![self.refresh(key)],
            Op::RefreshAll => keys.map(|key| self.refresh(key)).collect(),
            Op::EvictIdle => {
                let mut lanes: Vec<_> = keys.map(|key| self.visits(key)).collect();
                lanes.push(vec![What::Swept {
                    count: self.count(),
                }]);
                lanes
            }
            Op::TrackedKeys => vec![vec![What::Tracked {
                count: self.count(),
            }]],
            Op::SetClock { .. } | Op::SetLimits(_) => unreachable!("the limiter is not asked"),
        }
    }

    fn ask(&self, key: u64, cost: u64, spends: bool) -> Vec<What> {
        let mut steps = Vec::new();
        let notes = &self.call.notes;
        let one_for_all = (!self.case.by_plan).then_some(Told {
            limits: 0,
            drawn: u64::MAX,
        });
        let begins = |told: Told| {
            let bursts = self.case.limits[told.limits]
                .iter()
                .map(|limit| limit.burst());
            spends && cost > 0 && cost <= bursts.min().expect("a limit")
        };
        // One limit for all is not told, and no key is made to look at what it would have.
        let mut fresh = one_for_all.filter(|told| !begins(*told));
        for (nth, note) in notes.iter().enumerate() {
            let told = match (*note, one_for_all) {
                (Note::Limits { limits, drawn, .. }, _) => Told { limits, drawn },
                (Note::Key(_), Some(told)) => told,
                _ => continue,
            };
            fresh = Some(told);
            let begins = begins(told);
            if self.is_refreshed(key) {
                // The reading for bringing it over is followed by the one for asking it.
                let readings = match notes[nth + 1..] {
                    [Note::Time(time), .., Note::Time(_)] => self.readings(time),
                    _ => Vec::new(),
                };
                steps.push(What::BeginOrSettle {
                    key,
                    told,
                    begins,
                    readings,
                });
            } else if begins {
                steps.push(What::Begin { key, told });
            }
        }
        let time = self.last_time().expect("no answer without a reading");
        steps.push(What::Ask {
            key,
            cost,
            spends,
            fresh,
            readings: self.readings(time),
            answer: self.call.answer.clone(),
        });
        steps
    }

    fn refresh(&self, key: u64) -> Vec<What> {
        let found: Vec<_> = self.told().filter(|(_, of, _)| *of == key).collect();
        if found.is_empty() {
            return vec![What::Miss { key }];
        }
        let step = |(nth, _, told)| match self.call.notes.get(nth + 1) {
            Some(Note::Time(time)) => What::Convert {
                key,
                told,
                readings: self.readings(*time),
            },
            _ => What::Leave { key, told },
        };
        found.into_iter().map(step).collect()
    }

    /// The key may be on a sweep's way more than once, if it is begun anew meanwhile.
    fn visits(&self, key: u64) -> Vec<What> {
        let at = self.last_time().expect("no sweep without a reading");
        let at = at.max(self.case.start);
        let beginnings: usize = self.beside().map(|call| call.beginnings(key)).sum();
        let must = beginnings == 0 && !self.is_refreshed(key);
        vec![What::Visit { key, at, must }; 1 + beginnings]
    }

    fn beside(&self) -> impl Iterator<Item = &'a Call> {
        let others = self.calls.iter().copied();
        others.filter(|other| !std::ptr::eq(*other, self.call) && other.overlaps(self.call))
    }

    /// Whether the key's entry may be on its way from one plan to another beside this call: by a
    /// refresh, or by a request that has found the key begun beside a refresh, and does its work;
    /// then there are limits told in a row of calls that overlap, from the refresh to this one.
    fn is_refreshed(&self, key: u64) -> bool {
        let mut row = vec![self.call];
        let mut nth = 0;
        while let Some(link) = row.get(nth).copied() {
            let of_link = Self {
                call: link,
                ..*self
            };
            for other in of_link.beside() {
                // Refreshes are counted for all keys together, so that a key that is just being
                // begun takes a refresh of another for its own.
                if other.refreshes(key) || (other.refreshes_any() && link.asks(key)) {
                    return true;
                }
                let told = other.notes.iter().any(|note| note.tells_limits_of(key));
                if told && !row.iter().any(|link| std::ptr::eq(*link, other)) {
                    row.push(other);
                }
            }
            nth += 1;
        }
        false
    }

    /// The limits that were told, with their place among the notes and their key.
    fn told(&self) -> impl Iterator<Item = (usize, u64, Told)> {
        let notes = self.call.notes.iter().enumerate();
        notes.filter_map(|(nth, note)| match *note {
            Note::Limits { key, limits, drawn } => Some((nth, key, Told { limits, drawn })),
            _ => None,
        })
    }

    fn last_time(&self) -> Option<u64> {
        let mut notes = self.call.notes.iter().rev();
        notes.find_map(|note| match note {
            Note::Time(time) => Some(*time),
            _ => None,
        })
    }

    /// What a reading of the ticker may have counted as: not older than a sweep's that was over,
    /// or than that of one beside it, as far as that had come.
    fn readings(&self, time: u64) -> Vec<u64> {
        let sweeps = |over: bool| {
            let calls = self.calls.iter().filter(move |other| match over {
                true => other.to < self.call.from,
                false => other.overlaps(self.call),
            });
            calls.filter_map(|other| match (other.op, &other.notes[..]) {
                (Op::EvictIdle, [Note::Time(at)]) => Some(*at),
                _ => None,
            })
        };
        let least = sweeps(true).chain([time, self.case.start]).max();
        let least = least.expect("the reading itself");
        let mut readings: Vec<u64> = sweeps(false).filter(|at| *at > least).collect();
        readings.push(least);
        readings.sort_unstable();
        readings.dedup();
        readings
    }

    fn count(&self) -> usize {
        match self.call.answer {
            Answer::Count(count) => count,
            ref other => panic!("{other:?} is no count"),
        }
    }
}

impl Call {
    fn asks(&self, key: u64) -> bool {
        matches!(self.op, Op::Acquire { key: of, .. } | Op::Peek { key: of, .. } if of == key)
    }

    fn refreshes_any(&self) -> bool {
        matches!(self.op, Op::Refresh { .. } | Op::RefreshAll)
    }

    fn refreshes(&self, key: u64) -> bool {
        self.op == Op::RefreshAll || self.op == Op::Refresh { key }
    }

    /// How often the call can have begun the key.
    fn beginnings(&self, key: u64) -> usize {
        if !matches!(self.op, Op::Acquire { key: of, .. } if of == key) {
            return 0;
        }
        let told = |note: &&Note| note.tells_limits_of(key);
        match self.notes.iter().filter(told).count() {
            // One limit for all is not told.
            0 => self
                .notes
                .iter()
                .filter(|note| **note == Note::Key(key))
                .count(),
            told => told,
        }
    }
}

impl Note {
    fn tells_limits_of(&self, key: u64) -> bool {
        matches!(self, Self::Limits { key: of, .. } if *of == key)
    }
}
