//! The entries of a sliding log, as they wrap and grow while they are read.

use super::{Arc, check, thread};
use crate::{Algorithm, Limit, Reading, SlidingLog};
use std::time::Duration;

const PERMITS: u64 = 6;

fn at(now: u64) -> Reading {
    Reading::new(0, now)
}

/// Four entries fill the buffer; two of them go and a fifth comes in, so that it has wrapped. The
/// fourth in sight then fills it again, and the next makes it grow.
#[test]
fn a_reader_of_a_log_that_wraps_and_grows_sees_whole_entries() {
    check(|| {
        let limit = Limit::new(PERMITS, Duration::from_nanos(10)).expect("neither is zero");
        let rule = SlidingLog.rule(&[limit]).expect("a limit that a log keeps");
        let state = SlidingLog::fresh(&rule);
        for now in [0, 1, 7, 8, 11] {
            let spent = SlidingLog::try_acquire(&rule, &state, at(now), 1).expect("it is live");
            assert!(spent.is_allowed());
        }
        let shared = Arc::new((rule, state));
        let spenders = [12, 13].map(|now| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (rule, state) = &*shared;
                let spent = SlidingLog::try_acquire(rule, state, at(now), 1).expect("it is live");
                assert!(spent.is_allowed());
            })
        });

        let (rule, state) = &*shared;
        let seen = SlidingLog::peek(rule, state, at(13), 1).expect("it is live");
        let newest = 13 + seen.reset_after().as_nanos() - 10;
        match PERMITS - seen.remaining() {
            3 => assert_eq!(newest, 11, "7, 8 and 11"),
            4 => assert!(newest == 12 || newest == 13, "one of the two more"),
            5 => assert_eq!(newest, 13, "both of them"),
            held => panic!("{held} permits are in sight"),
        }
        for spender in spenders {
            spender.join().unwrap();
        }
        let left = |now| {
            let seen = SlidingLog::peek(rule, state, at(now), 1).expect("it is live");
            seen.remaining()
        };
        assert_eq!(left(13), 1);
        // They leave in the order of their times, wherever the buffer holds them.
        assert_eq!([left(17), left(18), left(21), left(23)], [2, 3, 4, 6]);
    });
}
