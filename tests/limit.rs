//! Limits, from outside: what can be said, as text and in code, and what is refused.

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{Limit, LimitError, ParseLimitError};

fn parsed(text: &str) -> Limit {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    text.parse::<Limit>().expect_err(text).to_string()
}

#[test]
fn limits_are_made_in_constants() {
    const SHORT: Limit = Limit::per_minute(100).with_burst(20);
    const PARTS: (u64, u64, Duration, u64) = (
        SHORT.permits(),
        SHORT.burst(),
        SHORT.period(),
        SHORT.period_ns(),
    );
    static SHARED: [Limit; 3] = [Limit::per_second(1), Limit::per_hour(2), Limit::per_day(3)];
    static LONG: Result<Limit, LimitError> = Limit::new(10, Duration::from_secs(600));
    assert_eq!(PARTS, (100, 20, Duration::from_secs(60), 60_000_000_000));
    assert_eq!(SHARED.map(|limit| limit.burst()), [1, 2, 3]);
    assert_eq!(LONG, Ok(parsed("10/10min")));
}

#[test]
fn the_shorthands_are_what_they_say() {
    for (limit, seconds) in [
        (Limit::per_second(7), 1),
        (Limit::per_minute(7), 60),
        (Limit::per_hour(7), 3_600),
        (Limit::per_day(7), 86_400),
    ] {
        assert_eq!(Limit::new(7, Duration::from_secs(seconds)), Ok(limit));
        assert_eq!((limit.permits(), limit.burst()), (7, 7));
        assert_eq!(limit.period(), Duration::from_secs(seconds));
    }
}

#[test]
fn a_burst_changes_nothing_but_the_burst() {
    let limit = Limit::per_hour(5);
    let changed = limit.with_burst(9);
    assert_eq!(
        (changed.permits(), changed.period_ns(), changed.burst()),
        (5, limit.period_ns(), 9)
    );
    assert_eq!(limit.try_with_burst(9), Ok(changed));
    assert_eq!(changed.with_burst(5), limit);
    assert_ne!(changed, limit);
}

#[test]
fn what_is_no_limit_is_refused_with_the_number() {
    let refused = |permits, period| {
        Limit::new(permits, period)
            .expect_err("no limit")
            .to_string()
    };
    let second = Duration::from_secs(1);
    assert_eq!(
        refused(0, second),
        "a limit needs at least one permit, not 0"
    );
    assert_eq!(
        refused(5, Duration::ZERO),
        "a limit needs a period of at least 1 ns, not 0"
    );
    assert_eq!(
        refused(5, Duration::from_secs(20_000_000_000)),
        "a period of 20000000000 s is too long: at most 18446744073 s (584 years)"
    );
    assert_eq!(
        Limit::per_second(5)
            .try_with_burst(0)
            .expect_err("no burst")
            .to_string(),
        "a limit needs a burst of at least one permit, not 0"
    );
    let longest = Duration::from_nanos(u64::MAX);
    assert_eq!(
        Limit::new(1, longest).map(|limit| limit.period()),
        Ok(longest)
    );
    let longer = longest + Duration::from_nanos(1);
    assert_eq!(
        Limit::new(1, longer),
        Err(LimitError::PeriodTooLong { period: longer })
    );
}

#[test]
#[should_panic(expected = "a limit needs at least one permit, not 0")]
fn a_shorthand_without_permits_panics() {
    let _ = Limit::per_day(0);
}

#[test]
#[should_panic(expected = "a limit needs a burst of at least one permit, not 0")]
fn a_burst_of_nothing_panics() {
    let _ = Limit::per_day(1).with_burst(0);
}

#[test]
fn a_limit_is_written_as_people_write_it() {
    for text in [
        "100/min",
        "5/s",
        "1000/h burst 50",
        "10/10min",
        "3/d burst 4",
        "1/7d",
        "9/90s",
        "2/250ms",
        "1/1500us",
        "18446744073709551615/ns",
        "1/18446744073709551615ns burst 18446744073709551615",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(Limit::per_second(60).with_burst(60).to_string(), "60/s");
    assert_eq!(
        Limit::new(9, Duration::from_secs(7_200))
            .expect("a limit")
            .to_string(),
        "9/2h"
    );
}

#[test]
fn every_name_of_a_unit_is_read() {
    let names = [
        ("d day days", 86_400_000_000_000),
        ("h hr hour hours", 3_600_000_000_000),
        ("m min mins minute minutes", 60_000_000_000),
        ("s sec secs second seconds", 1_000_000_000),
        ("ms msec millis millisecond milliseconds", 1_000_000),
        ("us \u{b5}s \u{3bc}s microsecond microseconds", 1_000),
        ("ns nanosecond nanoseconds", 1),
    ];
    for (names, length) in names {
        for name in names.split(' ') {
            assert_eq!(parsed(&format!("5/{name}")).period_ns(), length, "{name}");
            assert_eq!(
                parsed(&format!("5 per 3 {name}")).period_ns(),
                3 * length,
                "{name}"
            );
        }
    }
}

#[test]
fn every_suffix_of_a_number_is_read() {
    let suffixes = [
        ("", 1),
        ("k", 1_000),
        ("K", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
    ];
    for (suffix, factor) in suffixes {
        for bytes in ["", "B"] {
            let limit = parsed(&format!("3{suffix}{bytes}/s burst 2{suffix}{bytes}"));
            assert_eq!(
                (limit.permits(), limit.burst()),
                (3 * factor, 2 * factor),
                "{suffix}"
            );
        }
    }
}

#[test]
fn spaces_and_separators_do_not_matter() {
    let limit = Limit::per_minute(1_000).with_burst(50);
    for text in [
        "1000/min burst 50",
        " 1_000 / 60 s  burst  5_0 ",
        "1000 per minute burst 50",
        "1k per 60s burst 50",
        "1000/minburst 50",
    ] {
        assert_eq!(parsed(text), limit, "{text}");
    }
}

#[test]
fn text_that_is_no_limit_is_refused_with_what_is_wrong() {
    let form = "is no limit: write it like 100/min, 5/s or 1000/h burst 50";
    for text in ["", "100", "min", "5 s", "burst 5", "five"] {
        assert_eq!(error(text), format!("'{text}' {form}"));
    }
    let number = "is no whole number from 1 to 18446744073709551615";
    for (text, part) in [
        ("/s", ""),
        ("-5/s", "-5"),
        ("+5/s", "+5"),
        ("5.5/s", "5.5"),
        ("5x/s", "5x"),
        ("_5/s", "_5"),
        ("5_/s", "5_"),
        ("5kk/s", "5kk"),
        ("18446744073709551616/s", "18446744073709551616"),
        ("99999999T/s", "99999999T"),
        ("5/s burst", ""),
        ("5/s burst ten", "ten"),
        ("5/s burst 1 burst 2", "1 burst 2"),
        ("5/1_s", "1_s"),
        ("5/584000000000d", "584000000000d"),
    ] {
        assert_eq!(error(text), format!("'{part}' {number}"), "{text}");
    }
    let unit = "is no unit of time: use ns, us, ms, s, min, h or d";
    for (text, part) in [
        ("5/", ""),
        ("5/10", ""),
        ("5/w", "w"),
        ("5/S", "S"),
        ("5/fortnight", "fortnight"),
        ("5/-1s", "-1s"),
        ("5/1.5s", ".5s"),
        ("5/s/s", "s/s"),
    ] {
        assert_eq!(error(text), format!("'{part}' {unit}"), "{text}");
    }
}

#[test]
fn text_that_names_a_limit_that_cannot_be_says_so() {
    assert_eq!(error("0/s"), "a limit needs at least one permit, not 0");
    assert_eq!(
        error("5/0s"),
        "a limit needs a period of at least 1 ns, not 0"
    );
    assert_eq!(
        error("5/s burst 0"),
        "a limit needs a burst of at least one permit, not 0"
    );
    let error: ParseLimitError = "0/s".parse::<Limit>().expect_err("no limit");
    assert_eq!(error, ParseLimitError::Limit(LimitError::NoPermits));
    let source = std::error::Error::source(&error).expect("what the limit says");
    assert_eq!(source.to_string(), LimitError::NoPermits.to_string());
}

#[test]
fn a_message_stays_on_one_line_and_is_cut() {
    let shown = error(&format!("\n\u{1b}[31m{}", "x".repeat(500)));
    assert!(shown.starts_with("'\\n\\u{1b}[31mxxx"), "{shown}");
    assert!(
        shown.contains("x…'") && shown.chars().count() < 160,
        "{shown}"
    );
    assert!(!shown.contains(char::is_control));
}

fn limits() -> impl Strategy<Value = Limit> {
    // Numbers of every size, and periods of whole units as well.
    let number = || (any::<u64>(), 0..64_u32).prop_map(|(number, bits)| (number >> bits).max(1));
    let unit = prop::sample::select(vec![1, 1_000, 1_000_000, 1_000_000_000, 86_400_000_000_000]);
    (number(), number(), unit, number(), any::<bool>()).prop_map(
        |(permits, period, unit, burst, own_burst)| {
            let period = period.checked_mul(unit).unwrap_or(period);
            let limit = Limit::new(permits, Duration::from_nanos(period)).expect("positive");
            if own_burst {
                limit.with_burst(burst)
            } else {
                limit
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_limit_is_read_as_it_is_written(limit in limits()) {
        prop_assert_eq!(limit.to_string().parse(), Ok(limit));
    }

    #[test]
    fn junk_is_refused_without_a_panic(text in any::<String>()) {
        if let Err(error) = text.parse::<Limit>() {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn near_limits_are_read_or_refused_without_a_panic(
        text in "[0-9_]{0,25} ?[kKMGTiB]{0,3} ?(/| per )? ?[0-9_]{0,25}[a-zµ ]{0,9}(burst)? ?[0-9k]{0,22}",
    ) {
        if let Ok(limit) = text.parse::<Limit>() {
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }
}

#[cfg(feature = "serde")]
mod serialised {
    use super::parsed;
    use proptest::prelude::*;
    use tollgate::{AnyAlgorithm, Limit};

    #[test]
    fn a_limit_is_its_text() {
        let limit = parsed("1000/h burst 50");
        let json = serde_json::to_string(&limit).expect("text");
        assert_eq!(json, "\"1000/h burst 50\"");
        assert_eq!(
            serde_json::from_str::<Limit>(&json).expect("a limit"),
            limit
        );
        // Where the text cannot be borrowed.
        let escaped = serde_json::from_str::<Limit>("\"1k\\u002fh burst 50\"");
        assert_eq!(escaped.expect("a limit"), limit);
        let value = serde_json::Value::from("1GiB/s");
        let bytes: Limit = serde_json::from_value(value).expect("a limit");
        assert_eq!(bytes.permits(), 1 << 30);
    }

    #[test]
    fn a_wrong_limit_is_refused_with_what_is_wrong() {
        for (json, why) in [
            ("\"5/fortnight\"", "'fortnight' is no unit of time"),
            ("\"0/s\"", "a limit needs at least one permit, not 0"),
            ("5", "invalid type"),
        ] {
            let error = serde_json::from_str::<Limit>(json)
                .expect_err(json)
                .to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn an_algorithm_is_its_name() {
        for algorithm in AnyAlgorithm::ALL {
            let json = serde_json::to_string(&algorithm).expect("text");
            assert_eq!(json, format!("\"{algorithm}\""));
            assert_eq!(
                serde_json::from_str::<AnyAlgorithm>(&json).expect("a name"),
                algorithm
            );
        }
        assert!(serde_json::from_str::<AnyAlgorithm>("\"leaky\"").is_err());
    }

    proptest! {
        #[test]
        fn every_limit_comes_back(limit in super::limits()) {
            let json = serde_json::to_string(&limit).expect("text");
            prop_assert_eq!(serde_json::from_str::<Limit>(&json).expect("a limit"), limit);
        }
    }
}
