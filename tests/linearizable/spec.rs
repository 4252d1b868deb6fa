//! What the steps come to, one after another, according to the oracle.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History as Actions};
use todc_utils::specifications::Specification;

use super::history::{Answer, Case, History};
use super::steps::{Step, Told, What, steps};
use crate::common::reference::Reference;
use tollgate::Limit;

/// Whether there is an order of the calls that the oracle accepts: one that keeps those apart which
/// did not overlap.
pub(crate) fn is_linearizable(history: &History) -> bool {
    let steps = steps(history);
    let calls: Vec<_> = history
        .calls
        .iter()
        .filter(|call| call.is_asked())
        .collect();
    // To the checker each step is a call of its own, with the interval of the whole.
    let mut actions: Vec<_> = Vec::new();
    for (nth, step) in steps.into_iter().enumerate() {
        let (from, to) = (calls[step.call].from, calls[step.call].to);
        actions.push((from, nth, Action::Call(step.clone())));
        actions.push((to, nth, Action::Response(step)));
    }
    actions.sort_by_key(|(ticket, nth, _)| (*ticket, *nth));
    let actions = actions.into_iter().map(|(_, nth, action)| (nth, action));
    WGLChecker::<Sequential>::is_linearizable(Actions::from_actions(actions.collect()))
}

/// The oracle as the checker wants it.
struct Sequential;

/// All that may be the case after some steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// How many steps of each lane are done.
    done: Vec<usize>,
    /// In order, and no two alike. Before the first step there is none.
    worlds: Vec<World>,
}

impl Specification for Sequential {
    type State = State;
    type Operation = Step;

    fn init() -> State {
        State {
            done: Vec::new(),
            worlds: Vec::new(),
        }
    }

    fn apply(step: &Step, state: &State) -> (bool, State) {
        let done = |lane: usize| state.done.get(lane).copied().unwrap_or(0);
        let needs = step.needs.iter();
        if done(step.lane) != step.place || needs.into_iter().any(|(lane, n)| done(*lane) < *n) {
            return (false, state.clone());
        }
        let mut worlds: Vec<World> = match &state.worlds[..] {
            [] => World::first(&step.case).after(step),
            worlds => worlds.iter().flat_map(|world| world.after(step)).collect(),
        };
        worlds.sort_unstable();
        worlds.dedup();
        if worlds.is_empty() {
            return (false, state.clone());
        }
        let mut counts = state.done.clone();
        counts.resize(counts.len().max(step.lane + 1), 0);
        counts[step.lane] += 1;
        (
            true,
            State {
                done: counts,
                worlds,
            },
        )
    }
}

/// One thing that may be the case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct World {
    keys: Vec<Entry>,
    /// How many keys each sweep that is under way has retired.
    retired: BTreeMap<usize, usize>,
}

/// What may be the case with one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    oracle: Rc<Oracle>,
    /// When the limits under which it stands were told.
    drawn: u64,
    /// When the latest refresh of it began, of those that have come by.
    refreshed: u64,
}

impl Entry {
    fn is_there(&self) -> bool {
        self.oracle.reference.tracked_keys() > 0
    }

    fn limits(&self) -> Option<Vec<Limit>> {
        self.oracle.reference.limits_of(self.oracle.key)
    }

    fn tell(&self, limits: &[Limit]) {
        *self.oracle.told.lock().expect("never poisoned") = limits.to_vec();
    }
}

/// One key's oracle. (One for all would share the floor that a sweep puts under readings; but a
/// request that has met neither the sweep's mark nor the want of a key need not have seen it.)
#[derive(Debug)]
struct Oracle {
    key: u64,
    reference: Reference,
    told: Cell,
    /// All that there is to know of it.
    text: String,
}

/// What the function from key to limits says.
type Cell = Arc<Mutex<Vec<Limit>>>;

impl PartialEq for Oracle {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Oracle {}

impl PartialOrd for Oracle {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Oracle {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for Oracle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Oracle {
    fn new(case: &Case, key: u64) -> Self {
        let told = Cell::default();
        let of_a_key = Arc::clone(&told);
        let reference = Reference::by_limits(case.kind, case.start, move |_| {
            of_a_key.lock().expect("never poisoned").clone()
        });
        Self::of(key, reference, told)
    }

    fn of(key: u64, reference: Reference, told: Cell) -> Self {
        let text = format!("{reference:?}");
        Self {
            key,
            reference,
            told,
            text,
        }
    }
}

impl World {
    fn first(case: &Case) -> Self {
        let key = |key| Entry {
            oracle: Rc::new(Oracle::new(case, key)),
            drawn: 0,
            refreshed: 0,
        };
        Self {
            keys: (0..case.keys).map(key).collect(),
            retired: BTreeMap::new(),
        }
    }

    fn key(&self, key: u64) -> &Entry {
        &self.keys[key as usize]
    }

    /// The world in which this was done to a key.
    fn with<R>(&self, key: u64, act: impl FnOnce(&Reference) -> R) -> (R, Self) {
        let oracle = &self.key(key).oracle;
        let reference = oracle.reference.clone();
        let result = act(&reference);
        let mut world = self.clone();
        let entry = &mut world.keys[key as usize];
        entry.oracle = Rc::new(Oracle::of(key, reference, Arc::clone(&oracle.told)));
        if !entry.is_there() {
            entry.drawn = 0;
        }
        (result, world)
    }

    /// The world in which a refresh that began then has come by.
    fn refreshed(mut self, key: u64, from: u64) -> Self {
        let entry = &mut self.keys[key as usize];
        entry.refreshed = entry.refreshed.max(from);
        self
    }

    /// What may be the case after this step; nothing if it cannot be done here.
    fn after(&self, step: &Step) -> Vec<Self> {
        let tell = |key: u64, told: Told| self.key(key).tell(&step.case.limits[told.limits]);
        match step.what {
            What::Begin { key, told } => {
                tell(key, told);
                vec![self.begun(key, told)]
            }
            What::BeginOrSettle {
                key,
                told,
                begins,
                ref readings,
            } => {
                tell(key, told);
                let mut worlds = vec![self.clone()];
                if !self.key(key).is_there() {
                    worlds.extend(begins.then(|| self.begun(key, told)));
                } else if told.drawn >= self.key(key).refreshed {
                    worlds.extend(self.brought_over(key, told, readings));
                    worlds.extend(self.kept(key, told, &step.case));
                }
                worlds
            }
            What::Ask { key, fresh, .. } => {
                let entry = self.key(key);
                let drawn = match fresh {
                    _ if entry.is_there() => entry.drawn,
                    Some(told) => told.drawn,
                    None => return Vec::new(),
                };
                // No limits are asked that were told before a refresh that has come by.
                if drawn < entry.refreshed {
                    return Vec::new();
                }
                fresh.into_iter().for_each(|told| tell(key, told));
                self.asked(&step.what)
            }
            What::Refund {
                key,
                spent,
                ref readings,
            } => {
                if !self.key(key).is_there() {
                    return vec![self.clone()];
                }
                let refund = |at: &u64| self.with(key, |oracle| oracle.refund(key, spent, *at)).1;
                readings.iter().map(refund).collect()
            }
            What::Reset { key } => vec![self.with(key, |oracle| oracle.reset(key)).1],
            What::Miss { key } if self.key(key).is_there() => Vec::new(),
            What::Miss { key } => vec![self.clone().refreshed(key, step.from)],
            What::Convert {
                key,
                told,
                ref readings,
            } => {
                let entry = self.key(key);
                // Of two the one that began later prevails, unless it has missed the key.
                let is_missed = entry.drawn < entry.refreshed;
                if !is_missed && told.drawn < entry.refreshed {
                    return Vec::new();
                }
                tell(key, told);
                let worlds = self.brought_over(key, told, readings).into_iter();
                let worlds = worlds.map(|world| world.refreshed(key, step.from));
                worlds.collect()
            }
            What::Leave { key, told } => {
                let kept = self.kept(key, told, &step.case);
                let world = kept.unwrap_or_else(|| self.clone());
                vec![world.refreshed(key, step.from)]
            }
            What::Visit { key, at, must } => self.visited(step.call, key, at, must),
            What::Swept { count } => {
                let mut world = self.clone();
                let retired = world.retired.remove(&step.call).unwrap_or(0);
                Vec::from_iter((retired == count).then_some(world))
            }
            What::Tracked { count } => {
                let there = self.keys.iter().filter(|key| key.is_there()).count();
                Vec::from_iter((there == count).then(|| self.clone()))
            }
        }
    }

    fn begun(&self, key: u64, told: Told) -> Self {
        if self.key(key).is_there() {
            return self.clone();
        }
        let (_, mut world) = self.with(key, |oracle| oracle.begin(key));
        world.keys[key as usize].drawn = told.drawn;
        world
    }

    /// The key brought over to other limits, at any of these readings.
    fn brought_over(&self, key: u64, told: Told, readings: &[u64]) -> Vec<Self> {
        let before = self.key(key).limits();
        let refresh = |at: &u64| {
            let (_, mut world) = self.with(key, |oracle| oracle.refresh(key, *at));
            world.keys[key as usize].drawn = told.drawn;
            world
        };
        let worlds = readings.iter().map(refresh);
        worlds
            .filter(|world| world.key(key).limits() != before)
            .collect()
    }

    /// The key as it is, if it stands under these very limits already.
    fn kept(&self, key: u64, told: Told, case: &Case) -> Option<Self> {
        if self.key(key).limits()? != case.limits[told.limits] {
            return None;
        }
        let mut world = self.clone();
        let drawn = &mut world.keys[key as usize].drawn;
        *drawn = told.drawn.max(*drawn);
        Some(world)
    }

    /// The worlds in which the question is answered so.
    fn asked(&self, ask: &What) -> Vec<Self> {
        let What::Ask {
            key,
            cost,
            spends,
            readings,
            answer,
            ..
        } = ask
        else {
            unreachable!("only questions are answered");
        };
        let was_there = self.key(*key).is_there();
        let mut worlds = Vec::new();
        for at in readings {
            let ((whole, each), world) = self.with(*key, |oracle| match spends {
                true => oracle.try_acquire_each(*key, *cost, *at),
                false => oracle.peek_each(*key, *cost, *at),
            });
            let is_answered = match answer {
                Answer::Decided(decision) => *decision == whole,
                Answer::Each(decision, own) => *decision == whole && *own == each,
                Answer::Nothing | Answer::Count(_) => false,
            };
            // A key is begun before it is asked.
            if is_answered && world.key(*key).is_there() == was_there {
                worlds.push(world);
            }
        }
        worlds
    }

    /// What may be the case after a sweep has come by.
    fn visited(&self, sweep: usize, key: u64, at: u64, must: bool) -> Vec<Self> {
        let (retired, mut world) = self.with(key, |oracle| oracle.evict_idle(at, 0));
        if retired == 0 {
            // A key that stays puts no floor under anybody's readings.
            return vec![self.clone()];
        }
        *world.retired.entry(sweep).or_default() += retired;
        if must {
            vec![world]
        } else {
            vec![self.clone(), world]
        }
    }
}
