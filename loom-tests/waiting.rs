//! A line of those who wait: the turn is passed on, whoever leaves beside it, and nobody sleeps
//! through it.

use super::{Arc, check, thread};
use crate::WaitPolicy;
use crate::limiter::modelled::{Room, Turn, Waiter};
use crate::sync::atomic::{AtomicBool, Ordering};
// A waker takes no other, and it is not what is modelled.
use std::sync::Arc as StdArc;
use std::task::{Wake, Waker};

const HASH: u64 = 1;
const KEY: u8 = 7;

/// Notes that it was woken.
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: StdArc<Self>) {
        // Relaxed: read when all threads are joined.
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Bell {
    fn new() -> StdArc<Self> {
        StdArc::new(Self(AtomicBool::new(false)))
    }

    fn was_woken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn room() -> Arc<Room<u8>> {
    Arc::new(Room::new(WaitPolicy::new()))
}

fn join(room: &Room<u8>) -> StdArc<Waiter> {
    room.join(HASH, KEY, 1).expect("there is room")
}

/// It looks whether it is its turn while the one before it leaves: it finds that it is, or is woken.
#[test]
fn nobody_sleeps_through_its_turn() {
    check(|| {
        let room = room();
        let (first, second) = (join(&room), join(&room));
        let leaver = thread::spawn(move || room.leave(HASH, &KEY, &first));
        let bell = Bell::new();
        let waker = Waker::from(bell.clone());
        let turn = second.turn(&waker);
        leaver.join().unwrap();
        match turn {
            Turn::Ask => {}
            Turn::Behind => {
                assert!(bell.was_woken(), "it sleeps, and it is its turn");
                assert!(matches!(second.turn(&waker), Turn::Ask));
            }
            Turn::First => panic!("it has not asked yet"),
        }
    });
}

/// The first and the second give up beside each other: the third is called, whoever was faster.
#[test]
fn a_turn_that_nobody_takes_is_passed_on() {
    check(|| {
        let room = room();
        let (first, second, third) = (join(&room), join(&room), join(&room));
        let bell = Bell::new();
        let waker = Waker::from(bell.clone());
        assert!(matches!(third.turn(&waker), Turn::Behind));
        let leavers = [first, second].map(|waiter| {
            let room = room.clone();
            thread::spawn(move || room.leave(HASH, &KEY, &waiter))
        });
        for leaver in leavers {
            leaver.join().unwrap();
        }
        assert!(bell.was_woken());
        assert!(matches!(third.turn(&waker), Turn::Ask));
        room.leave(HASH, &KEY, &third);
        assert!(room.ahead(HASH, &KEY).is_none());
        assert_eq!(room.waiting(), 0);
    });
}

/// One comes while the last one leaves: it is the first, of the old line or of a new one.
#[test]
fn whoever_comes_to_an_empty_line_is_the_first() {
    check(|| {
        let room = room();
        let first = join(&room);
        let leaver = {
            let room = room.clone();
            thread::spawn(move || room.leave(HASH, &KEY, &first))
        };
        let bell = Bell::new();
        let waker = Waker::from(bell.clone());
        let second = join(&room);
        let turn = second.turn(&waker);
        leaver.join().unwrap();
        if matches!(turn, Turn::Behind) {
            assert!(bell.was_woken());
        }
        room.leave(HASH, &KEY, &second);
        assert_eq!(room.waiting(), 0);
    });
}
