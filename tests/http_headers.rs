//! Headers, golden and read back as whoever follows the standards would.
#![cfg(feature = "tower")]

use std::time::Duration;

use http::HeaderMap;
use proptest::prelude::*;
use sfv::{BareItem, ListEntry, Parser};
use tollgate::http::{Answer, DeniedBody, Headers, PolicyName, denied_response, retry_after};
use tollgate::{AllOf, Decision, Limit, ManualTicker, RateLimiter, Standing, Verdict};

const SECOND: u64 = 1_000_000_000;

fn standing(remaining: u64, next_permit_after: u64, reset_after: u64) -> Standing {
    Standing {
        remaining,
        next_permit_after,
        reset_after,
    }
}

fn allowed(standing: Standing) -> Decision {
    Decision::new(Verdict::Allowed, 0, 1, 0, standing)
}

fn denied(wait: u64, standing: Standing) -> Decision {
    let retry_after = Duration::from_nanos(wait);
    Decision::new(Verdict::Denied { retry_after }, 0, 1, 0, standing)
}

/// All headers of a dialect, a line each.
fn written(dialect: Headers, decision: Decision, named: &[(&str, Limit, Decision)]) -> String {
    let names: Vec<_> = named
        .iter()
        .map(|(name, ..)| PolicyName::new(*name).expect("a name"))
        .collect();
    let each: Vec<_> = named
        .iter()
        .zip(&names)
        .map(|((_, limit, decision), name)| Answer {
            name,
            limit: *limit,
            decision: *decision,
        })
        .collect();
    let mut headers = HeaderMap::new();
    dialect.write(&decision, &each, &mut headers);
    lines(&headers)
}

fn lines(headers: &HeaderMap) -> String {
    let mut lines: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().expect("printable")))
        .collect();
    lines.sort();
    lines.join("\n")
}

fn minute() -> Limit {
    Limit::per_minute(100)
}

#[test]
fn the_draft_of_one_limit() {
    let half = allowed(standing(50, 30 * SECOND, 30 * SECOND));
    assert_eq!(
        written(Headers::Draft, half, &[("burst", minute(), half)]),
        "ratelimit-policy: \"burst\";q=100;w=60\nratelimit: \"burst\";r=50;t=30"
    );
}

#[test]
fn the_draft_of_several_limits_has_an_item_for_each() {
    let first = allowed(standing(4, SECOND / 5, SECOND / 5));
    let second = allowed(standing(19, 3 * SECOND, 3 * SECOND));
    let named = [
        ("burst", Limit::per_second(5), first),
        ("sustained", Limit::per_minute(20), second),
    ];
    assert_eq!(
        written(Headers::Draft, first, &named),
        "ratelimit-policy: \"burst\";q=5;w=1, \"sustained\";q=20;w=60\n\
         ratelimit: \"burst\";r=4;t=1, \"sustained\";r=19;t=3"
    );
}

#[test]
fn seconds_are_rounded_up_and_none_are_told_when_there_can_be_no_more() {
    for (wait, told) in [
        (0, ""),
        (1, ";t=1"),
        (SECOND, ";t=1"),
        (SECOND + 1, ";t=2"),
        (u64::MAX, ";t=18446744074"),
    ] {
        let decision = allowed(standing(7, wait, wait));
        let text = written(Headers::Draft, decision, &[("a", minute(), decision)]);
        assert!(
            text.ends_with(&format!("ratelimit: \"a\";r=7{told}")),
            "{text}"
        );
    }
}

#[test]
fn a_period_that_is_not_in_whole_seconds_is_not_told() {
    let decision = allowed(standing(1, 0, 0));
    for (period, told) in [
        (Duration::from_millis(100), ""),
        (Duration::from_millis(1_500), ""),
        (Duration::from_secs(86_400), ";w=86400"),
    ] {
        let limit = Limit::new(10, period).expect("a limit");
        let text = written(Headers::Draft, decision, &[("a", limit, decision)]);
        assert!(text.contains(&format!("\"a\";q=10{told}\n")), "{text}");
    }
}

#[test]
fn integers_have_at_most_fifteen_digits() {
    let decision = allowed(standing(u64::MAX, 0, 0));
    let limit = Limit::new(u64::MAX, Duration::from_secs(1)).expect("a limit");
    assert_eq!(
        written(Headers::Draft, decision, &[("a", limit, decision)]),
        "ratelimit-policy: \"a\";q=999999999999999;w=1\nratelimit: \"a\";r=999999999999999"
    );
}

#[test]
fn numbers_of_every_width_are_written_whole() {
    for digits in 0..=15_u32 {
        for number in [10_u64.pow(digits), 10_u64.pow(digits) - 1] {
            let told = number.min(999_999_999_999_999);
            let decision = allowed(standing(number, 0, 0));
            let text = written(Headers::Draft, decision, &[("a", minute(), decision)]);
            assert!(text.ends_with(&format!("\"a\";r={told}")), "{text}");
        }
    }
}

#[test]
fn names_are_escaped() {
    let decision = allowed(standing(1, 0, 0));
    let text = written(
        Headers::Draft,
        decision,
        &[(r#"a "b" \c"#, minute(), decision)],
    );
    assert!(text.ends_with(r#"ratelimit: "a \"b\" \\c";r=1"#), "{text}");
}

#[test]
fn the_widespread_headers_tell_of_the_limit_that_decided() {
    let first = denied(SECOND, standing(3, SECOND / 5, SECOND / 2));
    let second = denied(2 * SECOND, standing(1, SECOND, 90 * SECOND + 1));
    let retry_after = Duration::from_secs(2);
    let whole = Decision::new(Verdict::Denied { retry_after }, 1, 1, 0, second.standing());
    let named = [
        ("burst", Limit::per_second(5), first),
        ("sustained", minute().with_burst(20), second),
    ];
    assert_eq!(
        written(Headers::XRateLimit, whole, &named),
        "x-ratelimit-limit: 20\nx-ratelimit-remaining: 1\nx-ratelimit-reset: 91"
    );
}

#[test]
fn none_writes_nothing_and_no_limits_tell_nothing() {
    let decision = allowed(standing(1, 0, 0));
    assert_eq!(
        written(Headers::None, decision, &[("a", minute(), decision)]),
        ""
    );
    for dialect in [Headers::XRateLimit, Headers::Draft] {
        assert_eq!(written(dialect, decision, &[]), "");
    }
}

#[test]
fn what_is_there_already_is_replaced_in_one_dialect_and_added_to_in_the_other() {
    let name = PolicyName::new("ours").expect("a name");
    let decision = allowed(standing(1, 0, 0));
    let each = [Answer {
        name: &name,
        limit: minute(),
        decision,
    }];
    let mut headers = HeaderMap::new();
    headers.insert("x-ratelimit-limit", "7".parse().expect("a value"));
    headers.insert("ratelimit", "\"theirs\";r=1".parse().expect("a value"));
    Headers::XRateLimit.write(&decision, &each, &mut headers);
    Headers::Draft.write(&decision, &each, &mut headers);
    assert_eq!(headers["x-ratelimit-limit"], "100");
    let all: Vec<_> = headers.get_all("ratelimit").iter().collect();
    assert_eq!(all, ["\"theirs\";r=1", "\"ours\";r=1"]);
}

/// The name of a header costs nothing, nor does the text on its way into the value.
#[test]
fn a_header_costs_one_allocation() {
    let decision = denied(SECOND, standing(123, SECOND, u64::MAX));
    for (length, limits) in [(1, 1), (5, 1), (5, 4), (60, 1), (60, 9)] {
        let name = PolicyName::new("\"".repeat(length)).expect("a name");
        let answer = Answer {
            name: &name,
            limit: minute(),
            decision,
        };
        let each = vec![answer; limits];
        for (dialect, count) in [(Headers::None, 0), (Headers::Draft, 2)] {
            let mut headers = HeaderMap::with_capacity(8);
            let counted = allocation_counter::measure(|| {
                dialect.write(&decision, &each, &mut headers);
            });
            assert_eq!(counted.count_total, count, "{limits} named {name}");
        }
    }
}

#[test]
fn a_map_without_room_for_another_header_is_left_as_it_is() {
    let name = PolicyName::default();
    let decision = allowed(standing(1, 0, 0));
    let each = [Answer {
        name: &name,
        limit: minute(),
        decision,
    }];
    let mut full = HeaderMap::new();
    let numbered = |number: u32| format!("x-{number}").parse::<http::HeaderName>();
    let mut names = (0..).map(|number| numbered(number).expect("a name"));
    while full
        .try_insert(names.next().expect("another"), 1.into())
        .is_ok()
    {}
    let before = full.len();
    for dialect in [Headers::XRateLimit, Headers::Draft] {
        dialect.write(&decision, &each, &mut full);
        assert_eq!(full.len(), before);
    }
}

/// A limit that is none of those whose answers are known: of the others the first is told of.
#[test]
fn an_answer_that_is_not_there_is_told_by_the_first() {
    let own = denied(SECOND, standing(3, 9 * SECOND, 9 * SECOND));
    let retry_after_one = Verdict::Denied {
        retry_after: Duration::from_secs(1),
    };
    let whole = Decision::new(retry_after_one, 5, 1, 0, own.standing());
    assert_eq!(
        written(Headers::XRateLimit, whole, &[("a", minute(), own)]),
        "x-ratelimit-limit: 100\nx-ratelimit-remaining: 3\nx-ratelimit-reset: 9"
    );
}

#[test]
fn whoever_is_denied_is_told_whole_seconds() {
    for (wait, seconds) in [
        (1, 1),
        (SECOND - 1, 1),
        (SECOND, 1),
        (SECOND + 1, 2),
        (1_400_000_000, 2),
        (u64::MAX - 1, 18_446_744_074),
    ] {
        assert_eq!(
            retry_after(&denied(wait, standing(0, 0, 0)), &[]),
            Some(seconds)
        );
    }
    assert_eq!(retry_after(&allowed(standing(1, 0, 0)), &[]), None);
    let never = Decision::new(Verdict::Never, 0, 9, 0, standing(5, 0, 0));
    assert_eq!(retry_after(&never, &[]), None);
}

/// The one that refused may have its next permit later than the request could be let through: when
/// a place for the key is what is missing, say.
#[test]
fn nobody_is_sent_back_before_the_limit_that_refused_has_more() {
    let name = PolicyName::default();
    let refused = denied(SECOND, standing(0, 5 * SECOND, 9 * SECOND));
    let other = denied(SECOND, standing(0, 30 * SECOND, 9 * SECOND));
    let answer = |decision| Answer {
        name: &name,
        limit: minute(),
        decision,
    };
    assert_eq!(
        retry_after(&refused, &[answer(refused), answer(other)]),
        Some(5)
    );
}

fn response(body: DeniedBody, decision: Decision) -> http::Response<String> {
    let name = PolicyName::new("a \"b\"").expect("a name");
    let fine = PolicyName::new("fine").expect("a name");
    let each =
        [(&name, decision), (&fine, allowed(standing(5, 0, 0)))].map(|(name, decision)| Answer {
            name,
            limit: minute(),
            decision,
        });
    denied_response(Headers::None, body, &decision, &each)
}

#[test]
fn a_denied_answer_is_429_and_says_when_to_come_back() {
    let denied = response(DeniedBody::Text, denied(1, standing(0, 1, 1)));
    assert_eq!(denied.status(), 429);
    assert_eq!(
        lines(denied.headers()),
        "content-type: text/plain; charset=utf-8\nretry-after: 1"
    );
    assert_eq!(denied.body(), "too many requests: retry in 1 s\n");
}

#[test]
fn what_can_never_fit_is_not_told_to_come_back() {
    let never = Decision::new(Verdict::Never, 0, 9, 0, standing(5, 0, 0));
    for body in [DeniedBody::Text, DeniedBody::Problem] {
        let answer = response(body, never);
        assert_eq!(answer.status(), 429);
        assert!(!answer.headers().contains_key("retry-after"));
        assert!(answer.body().contains("can ever hold"), "{}", answer.body());
    }
}

#[test]
fn a_problem_names_the_limits_that_refuse() {
    let denied = response(
        DeniedBody::Problem,
        denied(1_400_000_000, standing(0, 1, 1)),
    );
    assert_eq!(denied.headers()["content-type"], "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(denied.body()).expect("json");
    assert_eq!(
        problem,
        serde_json::json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "quota exceeded",
            "status": 429,
            "detail": "too many requests: retry in 2 s",
            "violated-policies": ["a \"b\""],
        })
    );
}

#[test]
fn a_name_is_printable_and_not_empty() {
    let error = |name: &str| PolicyName::new(name).unwrap_err().to_string();
    assert_eq!(error(""), "a policy name is empty");
    assert_eq!(
        error("täglich"),
        "the policy name \"täglich\" has 'ä' at byte 1, which is not printable ASCII"
    );
    assert_eq!(
        error("a\r\nset-cookie: b"),
        "the policy name \"a\\r\\nset-cookie: b\" has '\\r' at byte 1, which is not printable ASCII"
    );
    assert!(
        PolicyName::new("a\u{7f}").is_err(),
        "delete is not printable"
    );
    for name in [" ", "~", "a b", "\"", "\\"] {
        assert_eq!(PolicyName::new(name).expect("printable").as_str(), name);
    }
}

/// Names, and of each the parameters with their numbers.
fn read_back(headers: &HeaderMap, name: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let value = headers[name].as_bytes();
    // The library writes strings and integers, and reads nothing: it has no need of the parser.
    let list: sfv::List = Parser::new(value)
        .parse()
        .expect("a list of structured fields");
    list.into_iter()
        .map(|entry| {
            let ListEntry::Item(item) = entry else {
                panic!("an inner list in {value:?}");
            };
            let BareItem::String(name) = item.bare_item else {
                panic!("not a string in {value:?}");
            };
            let parameters = item.params.into_iter().map(|(key, value)| {
                let BareItem::Integer(number) = value else {
                    panic!("{key} is not an integer");
                };
                (key.as_str().to_owned(), number.into())
            });
            (name.as_str().to_owned(), parameters.collect())
        })
        .collect()
}

proptest! {
    #[test]
    fn whatever_is_written_can_be_read_back(
        name in "[ -~]{1,12}", permits in any::<u64>(), period in any::<u64>(), remaining in any::<u64>(),
        next in any::<u64>(), shift in 0..64_u32,
    ) {
        let limit = Limit::new(permits.max(1), Duration::from_nanos(period.max(1))).expect("a limit");
        let decision = denied((next >> shift).max(1), standing(remaining, next >> shift, next));
        let name = PolicyName::new(name).expect("printable");
        let each = [Answer { name: &name, limit, decision }];
        let mut headers = HeaderMap::new();
        Headers::Draft.write(&decision, &each, &mut headers);
        for field in ["ratelimit", "ratelimit-policy"] {
            let items = read_back(&headers, field);
            prop_assert_eq!(items.len(), 1);
            prop_assert_eq!(&items[0].0, name.as_str());
        }
        let whole: serde_json::Value = serde_json::from_str(
            denied_response(Headers::None, DeniedBody::Problem, &decision, &each).body(),
        )
        .expect("json");
        prop_assert_eq!(&whole["violated-policies"][0], name.as_str());
        let lines = lines(&headers);
        let response = denied_response(Headers::Draft, DeniedBody::Text, &decision, &each);
        prop_assert!(crate::lines(response.headers()).contains(&lines));
    }

    /// What a client is told is enough: it waits as long, and is let through.
    #[test]
    fn whoever_waits_as_told_is_let_through(
        a in 1..20_u64, b in 1..20_u64, periods in (1..5_000_u64, 1..90_000_u64),
        costs in prop::collection::vec(1..5_u64, 1..12), pauses in prop::collection::vec(0..3_000_u64, 12),
    ) {
        let limits = [(a, periods.0), (b, periods.1)]
            .map(|(permits, period)| Limit::new(permits, Duration::from_millis(period)).expect("a limit"));
        let ticker = ManualTicker::new(0);
        let limiter = RateLimiter::<u64>::builder(limits)
            .algorithm(AllOf)
            .ticker(ticker.clone())
            .build()
            .expect("limits");
        let names = ["first", "second"].map(|name| PolicyName::new(name).expect("a name"));
        for (cost, pause) in costs.into_iter().zip(pauses) {
            ticker.advance(Duration::from_millis(pause));
            let mut each = [limiter.peek(&7); 2];
            let (decision, _) = limiter.try_acquire_each(&7, cost, &mut each);
            let answers: Vec<_> = (0..2)
                .map(|at| Answer { name: &names[at], limit: limits[at], decision: each[at] })
                .collect();
            match retry_after(&decision, &answers) {
                None => prop_assert!(decision.is_allowed() || decision.is_never()),
                Some(seconds) => {
                    prop_assert!(decision.is_denied());
                    prop_assert!(seconds >= 1);
                    let refusing = &each[decision.limit()];
                    prop_assert!(Duration::from_secs(seconds) >= refusing.next_permit_after());
                    ticker.advance(Duration::from_secs(seconds));
                    prop_assert!(limiter.try_acquire_n(&7, cost).is_allowed());
                }
            }
        }
    }
}
