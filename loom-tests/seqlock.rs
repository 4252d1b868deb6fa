//! The sequence lock by itself: two words that must be seen together.

use super::{Arc, check, thread};
use crate::algorithm::seqlock::{SeqLock, get, set};
use crate::sync::atomic::AtomicU64;

type Pair = SeqLock<[AtomicU64; 2]>;

fn pair() -> Arc<Pair> {
    Arc::new(SeqLock::new([AtomicU64::new(0), AtomicU64::new(0)]))
}

/// Adds one to both words; whoever reads them apart from each other has read half a write.
fn add_one(pair: &Pair) {
    let added = pair.update(
        |_| ((), true),
        |[one, other]| {
            let next = get(one) + 1;
            set(one, next);
            set(other, next);
        },
    );
    assert!(added.is_ok(), "nobody retires it");
}

#[test]
fn a_reader_never_sees_half_a_write() {
    check(|| {
        let pair = pair();
        let writers =
            [pair.clone(), pair.clone()].map(|pair| thread::spawn(move || add_one(&pair)));
        let (_, (one, other)) = pair
            .read(|[one, other]| (get(one), get(other)))
            .expect("nobody retires it");
        assert_eq!(one, other, "half a write");
        for writer in writers {
            writer.join().unwrap();
        }
        let (_, one) = pair.read(|[one, _]| get(one)).expect("nobody retires it");
        assert_eq!(one, 2, "a write was lost");
    });
}

#[test]
fn a_write_from_a_stale_read_does_not_happen() {
    check(|| {
        let pair = pair();
        let spend_if_none = |pair: &Pair| {
            pair.update(
                |[one, _]| {
                    let spends = get(one) == 0;
                    (spends, spends)
                },
                |[one, other]| {
                    set(one, 1);
                    set(other, 1);
                },
            )
            .expect("nobody retires it")
        };
        let shared = pair.clone();
        let theirs = thread::spawn(move || spend_if_none(&shared));
        let mine = spend_if_none(&pair);
        assert!(mine != theirs.join().unwrap(), "both spent, or neither");
    });
}

#[test]
fn nothing_is_written_once_it_is_retired() {
    check(|| {
        let pair = pair();
        let shared = pair.clone();
        let retired = thread::spawn(move || shared.retire_if(|[one, _]| get(one) == 0));
        let written = pair
            .update(
                |_| ((), true),
                |[one, other]| {
                    set(one, 1);
                    set(other, 1);
                },
            )
            .is_ok();
        assert!(
            written != retired.join().unwrap(),
            "written and retired, or neither"
        );
    });
}

#[test]
fn words_that_are_held_stay_as_they_are() {
    check(|| {
        let pair = pair();
        let shared = pair.clone();
        let writer = thread::spawn(move || {
            let _ = shared.update(
                |_| ((), true),
                |[one, other]| {
                    set(one, 1);
                    set(other, 1);
                },
            );
        });
        let held = pair.hold().expect("nobody else holds it");
        let [one, other] = pair.words();
        let before = (get(one), get(other));
        assert_eq!(before.0, before.1, "half a write");
        assert_eq!((get(one), get(other)), before, "written while it was held");
        pair.release(held);
        writer.join().unwrap();
    });
}

#[test]
fn words_that_are_put_back_are_read_whole() {
    check(|| {
        let pair = pair();
        let (writing, holding) = (pair.clone(), pair.clone());
        let writer = thread::spawn(move || {
            let _ = writing.update(
                |_| ((), true),
                |[one, other]| {
                    set(one, 1);
                    set(other, 1);
                },
            );
        });
        let holder = thread::spawn(move || {
            if let Ok(held) = holding.hold() {
                holding.release(held);
            }
        });
        if let Ok((_, (one, other))) = pair.read(|[one, other]| (get(one), get(other))) {
            assert_eq!(one, other, "half a write");
        }
        writer.join().unwrap();
        holder.join().unwrap();
    });
}
