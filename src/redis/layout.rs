//! Where a limiter keeps the counts of its keys, and in how many parts.

use super::key::{share, tag};
use super::local::{Local, parts};
use super::policy::OnFailure;
use super::recipe::Recipe;
use super::set_up::SetUpError;
use crate::algorithm::{AnyAlgorithm, Limits};

/// How keys are laid out over the slots of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Each key where its place puts it.
    Own,
    /// Each key in so many parts, every one in a slot of its own.
    Split { parts: u32 },
    /// All keys in so many slots.
    Gathered { slots: u32 },
    /// All keys together in one count, which has a part in each of so many slots.
    Pooled { slots: u32 },
}

impl Layout {
    /// Into how many parts a limit is split. A split into none is refused with the limit.
    fn parts(self) -> Option<u32> {
        match self {
            Self::Own | Self::Gathered { .. } => None,
            Self::Split { parts: 1 } | Self::Pooled { slots: 1 } => None,
            Self::Split { parts } | Self::Pooled { slots: parts } => Some(parts),
        }
    }

    /// Whether the part is drawn anew for each request.
    pub(super) fn is_drawn(self) -> bool {
        matches!(self, Self::Split { parts } if parts > 1)
    }

    /// The part that a key's place says, where it does.
    pub(super) fn part_of(self, place: &[u8]) -> usize {
        match self {
            Self::Pooled { slots } => share(place, slots) as usize,
            _ => 0,
        }
    }

    /// What stands between the braces of a key: the slot depends on nothing else.
    pub(super) fn tag(self, place: &[u8], part: usize) -> String {
        match self {
            Self::Own | Self::Split { parts: 1 } => tag(place),
            Self::Split { .. } => tag(&[place, format!("/{part}").as_bytes()].concat()),
            Self::Gathered { slots } | Self::Pooled { slots } => {
                tag(format!("{slots}/{}", share(place, slots)).as_bytes())
            }
        }
    }
}

/// What is counted at a time, under one setting of the limits.
#[derive(Debug)]
pub(super) struct Rules {
    /// One, or those that a limit is split into.
    pub(super) parts: Vec<Recipe>,
    /// The limits before they were split.
    pub(super) limits: Limits,
    /// What the smallest of them holds.
    pub(super) smallest: u64,
    pub(super) local: Option<Local>,
}

impl Rules {
    pub(super) fn new(
        algorithm: AnyAlgorithm,
        limits: Limits,
        layout: Layout,
        largest: u64,
        policy: OnFailure,
    ) -> Result<Self, SetUpError> {
        let whole = Recipe::new(algorithm, limits)?;
        let limits = whole.limits.clone();
        let local = match policy {
            OnFailure::Local { servers } => Some(Local::new(&whole, servers)?),
            _ => None,
        };
        let parts = match layout.parts() {
            None => vec![whole],
            // Of no parts the first is asked for, to say why there can be none.
            Some(of) => {
                let all = (0..of.max(1)).map(|at| parts(&whole, at, of));
                all.collect::<Result<_, _>>()?
            }
        };
        let smallest = parts.iter().map(|part| part.capacity).min().unwrap_or(0);
        if parts.len() > 1 && largest > smallest {
            return Err(SetUpError::CostAbovePart {
                cost: largest,
                most: smallest,
            });
        }
        Ok(Self {
            parts,
            limits,
            smallest,
            local,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_its_part_of_a_pool_are_in_one_slot() {
        let (own, pool) = (Layout::Gathered { slots: 8 }, Layout::Pooled { slots: 8 });
        let mut tags = std::collections::HashSet::new();
        for client in 0..1_000_u32 {
            let place = client.to_be_bytes();
            let tag = own.tag(&place, 0);
            assert_eq!(tag, pool.tag(&place, pool.part_of(&place)));
            tags.insert(tag);
        }
        assert_eq!(tags.len(), 8);
    }

    #[test]
    fn parts_of_a_split_key_have_tags_of_their_own() {
        let layout = Layout::Split { parts: 16 };
        let tags: std::collections::HashSet<_> =
            (0..16).map(|part| layout.tag(b"k", part)).collect();
        assert_eq!(tags.len(), 16);
    }
}
