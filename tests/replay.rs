//! The replay of access logs, driven as the program in `examples/replay` drives it.
//!
//! Real logs are not part of this repository. Where they lie beside it, in `../shared/logs`, every
//! total is held to the oracle's and every difficult line to what a tolerant reader should make of
//! it. What is made up here runs everywhere.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tollgate::Limit;
use tollgate_replay::access_log::{Entry, Layout, Reject, read_line};
use tollgate_replay::input::{Source, read_all};
use tollgate_replay::{
    Choice, KeyKind, Log, LogBuilder, Replayed, made_up, replay, to_json, trials,
};

/// The folder of the real logs, or `None`, which the test's output then says.
fn shared_logs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/logs");
    if !folder.is_dir() {
        eprintln!("skipped: there are no logs in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn read(input: &[u8], kind: KeyKind) -> Log {
    let mut builder = LogBuilder::new(kind, Layout::Plain);
    read_all(input, &mut builder, &mut |_| {}).expect("memory can be read");
    builder.finish()
}

/// What `replay FILE --limit … --algorithm all --json` prints about `FILE`.
fn replay_all(name: &str, log: Log, limits: &[&str]) -> Value {
    let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let (possible, _) = trials(&limits, Choice::All);
    let outcomes = possible
        .iter()
        .map(|trial| replay(&log, trial, &mut |_| {}).unwrap())
        .collect();
    let name = name.to_owned();
    let mut json = to_json(
        &[Replayed {
            name: name.clone(),
            log,
            outcomes,
        }],
        3,
    );
    json["logs"][name].take()
}

#[test]
fn real_logs_give_the_totals_of_their_oracle() {
    let Some(folder) = shared_logs() else {
        return;
    };
    let oracle = std::fs::read_to_string(folder.join("replay-oracle.json")).unwrap();
    let oracle: Value = serde_json::from_str(&oracle).unwrap();
    let logs = oracle["logs"].as_object().unwrap();
    assert_eq!(logs.len(), 4);

    for (file, expected) in logs {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        let source = Source::from_argument(folder.join(file));
        source.read(&mut builder, &mut |_| {}).unwrap();
        let log = builder.finish();
        assert_eq!(log.rejected(), 0, "{file}");
        assert_eq!(log.late() == 0, expected["in_time_order"], "{file}");

        let mut held = 0;
        for limits in [
            &["60/min"][..],
            &["2/s burst 20"],
            &["10/min burst 5"],
            &["5/s", "100/10min"],
        ] {
            let found = replay_all(file, log.clone(), limits);
            assert_eq!(found["lines"], expected["lines"], "{file}");
            for (name, result) in found["results"].as_object().unwrap() {
                assert_eq!(result, &expected["results"][name], "{file}: {name}");
                held += 1;
            }
        }
        assert_eq!(held, expected["results"].as_object().unwrap().len());
        assert_eq!(held, 7);
    }
}

#[test]
fn late_lines_of_real_logs_are_counted_as_those_who_know_them_did() {
    let Some(folder) = shared_logs() else {
        return;
    };
    for (file, late, by_s) in [
        ("nasa-1995-07-01.log", 0, 0),
        ("rootly-2025-01-29.log", 199, 2),
        ("secrepo-2021-2022.log", 3, 607),
        ("elastic-apache-2015.log", 4915, 59),
    ] {
        let log = read(&std::fs::read(folder.join(file)).unwrap(), KeyKind::Client);
        let found = (log.late(), log.latest_by_ns() / 1_000_000_000);
        assert_eq!(found, (late, by_s), "{file}");
    }
}

#[test]
fn difficult_lines_of_real_logs_are_read_as_expected() {
    let Some(folder) = shared_logs() else {
        return;
    };
    let sample = std::fs::read(folder.join("malformed-sample.log")).unwrap();
    let expected = std::fs::read_to_string(folder.join("malformed-sample.expected.tsv")).unwrap();
    let mut lines = sample.split(|byte| *byte == b'\n');
    let mut count = 0;
    for row in expected.lines().skip(1) {
        let line = lines.next().unwrap();
        let columns: Vec<_> = row.split('\t').collect();
        let read = read_line(line, Layout::Plain);
        match columns[2] {
            "reject" => assert!(read.is_err(), "{row}: {read:?}"),
            "ok" => {
                let entry = read.unwrap_or_else(|reason| panic!("{row}: {reason}"));
                assert_eq!(facts(&entry), columns[3..9], "{row}");
            }
            // Refused, or read; but if read, then not from the wrong client.
            "reject-or-lenient" | "reject-or-option" => {
                if let Ok(entry) = read {
                    assert_eq!(entry.client, b"198.19.255.1", "{row}");
                }
            }
            verdict => panic!("what is {verdict}?"),
        }
        count += 1;
    }
    assert_eq!((count, lines.next()), (39, None));

    let log = read(&sample, KeyKind::Client);
    assert_eq!(log.requests().len() as u64 + log.rejected(), 39);
}

/// Client, second, method, target, status and size, as the columns of the expectation have them.
fn facts(entry: &Entry<'_>) -> [String; 6] {
    let start = |part: Option<&[u8]>, length: usize| {
        let part = part.unwrap_or_default();
        part[..part.len().min(length)].to_vec()
    };
    let target: String = start(entry.target, 24)
        .iter()
        .map(|byte| match byte {
            b'\\' => r"\\".to_owned(),
            0x20..=0x7e => char::from(*byte).to_string(),
            _ => format!(r"\x{byte:02x}"),
        })
        .collect();
    [
        String::from_utf8(entry.client.to_vec()).unwrap(),
        (entry.time_ns / 1_000_000_000).to_string(),
        String::from_utf8(start(entry.method, 20)).unwrap(),
        target,
        entry.status.to_string(),
        entry.size.map_or("-".to_owned(), |size| size.to_string()),
    ]
}

/// A line for each `client:MM:SS`, at that minute and second after eight.
fn lines(requests: &str) -> Vec<u8> {
    let line = |request: &str| {
        let (client, time) = request.split_once(':').unwrap();
        format!("{client} - - [06/Jan/2025:08:{time} +0000] \"GET / HTTP/1.1\" 200 1\n")
    };
    let lines: String = requests.split_whitespace().map(line).collect();
    lines.into_bytes()
}

#[test]
fn each_algorithm_answers_as_a_person_with_a_pencil_does() {
    // The lines of `burst` stand below later ones, as those of long downloads do. At 01:01 the
    // bucket has brought a tenth of a permit, the window is new, the log still holds all three, and
    // the counter weighs them at 59/60. The steady client gets a permit whenever it asks, except
    // from the counter at 01:00, which takes last minute's three as three.
    let log = lines(
        "steady:00:00 steady:00:20 steady:00:40 steady:01:00 steady:01:20
         burst:00:59 burst:00:59 burst:00:59 burst:01:01 burst:01:01 burst:01:01",
    );
    let log = read(&log, KeyKind::Client);
    assert_eq!((log.late(), log.latest_by_ns()), (1, 21_000_000_000));

    let result = |allowed, denied, keys_denied, top_denied| {
        json!({
            "allowed": allowed,
            "denied": denied,
            "keys": 2,
            "keys_denied": keys_denied,
            "top_denied": top_denied,
        })
    };
    let expected = json!({
        "lines": 11,
        "results": {
            "gcra 3/min": result(8, 3, 1, json!([["burst", 3]])),
            "fixed_window 3/min": result(11, 0, 0, json!([])),
            "sliding_log 3/min": result(8, 3, 1, json!([["burst", 3]])),
            "sliding_counter 3/min": result(7, 4, 2, json!([["burst", 3], ["steady", 1]])),
        },
    });
    assert_eq!(replay_all("x", log.clone(), &["3/min"]), expected);

    let (possible, _) = trials(&["3/min".parse().unwrap()], Choice::All);
    let most = possible.iter().map(|trial| {
        let outcome = replay(&log, trial, &mut |_| {}).unwrap();
        outcome.most[0].1
    });
    assert_eq!(most.collect::<Vec<_>>(), [3, 6, 3, 3]);
}

#[test]
fn several_limits_are_kept_all_or_none() {
    // Two at once and four a minute. The third of the first second is refused by the first limit
    // and must not count against the second, or the fifth line would be refused, too.
    let log = lines("a:00:00 a:00:00 a:00:00 a:00:05 a:00:05 a:00:10 b:00:10");
    let expected = json!({
        "lines": 7,
        "results": {
            "all_of gcra 2/s + gcra 4/min": {
                "allowed": 5,
                "denied": 2,
                "keys": 2,
                "keys_denied": 1,
                "top_denied": [["a", 2]],
            },
        },
    });
    let log = read(&log, KeyKind::Client);
    assert_eq!(replay_all("x", log, &["2/s", "4/min"]), expected);
}

#[test]
fn of_keys_denied_as_often_the_first_in_the_alphabet_is_named_first() {
    let log = lines("c:00:00 c:00:00 b:00:00 b:00:00 a:00:01 a:00:01 d:00:02 d:00:02 d:00:02");
    let found = replay_all("x", read(&log, KeyKind::Client), &["1/min"]);
    assert_eq!(
        found["results"]["gcra 1/min"]["top_denied"],
        json!([["d", 2], ["a", 1], ["b", 1]])
    );
}

#[test]
fn a_window_algorithm_refuses_a_burst_and_the_others_go_on() {
    let (possible, refused) = trials(&["10/min burst 5".parse().unwrap()], Choice::All);
    let names: Vec<_> = possible.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["gcra 10/min burst 5"]);
    let names: Vec<_> = refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["fixed_window", "sliding_log", "sliding_counter"]);
}

#[test]
fn every_kind_of_broken_line_is_named_and_the_rest_replayed() {
    let good = r#"203.0.113.5 - - [06/Jan/2025:08:00:00 +0530] "GET / HTTP/1.1" 200 12"#;
    let cases: Vec<(String, Option<Reject>)> = vec![
        (good.to_owned(), None),
        (format!("{good} \"-\" \"agent\""), None),
        (format!("{good} \"-\" \"agent\" \r"), None),
        (format!("{good} \"-\" \"agent never closed"), None),
        (good.replace("GET / HTTP/1.1", "-"), None),
        (good.replace("GET / HTTP/1.1", r"\x16\x03\x01"), None),
        (good.replace("GET / HTTP/1.1", r#"GET /\"a\" x y"#), None),
        (good.replace("GET / ", "GET\" /a'"), None),
        (good.replace("203.0.113.5", "2001:db8::5"), None),
        (good.replace("203.0.113.5", "host.example"), None),
        (good[..20].to_owned(), Some(Reject::BadTime)),
        (good[40..].to_owned(), Some(Reject::NoTime)),
        (good[..55].to_owned(), Some(Reject::OpenQuote)),
        (good[..good.len() - 3].to_owned(), Some(Reject::NoStatus)),
        (good.replace("06/Jan", "31/Feb"), Some(Reject::BadTime)),
        (good.replace(" - - ", " "), Some(Reject::NoUser)),
        (format!("www.example:443 {good}"), Some(Reject::VirtualHost)),
        (
            "[Mon Jan 06 08:00:00.1 2025] [core:error] [pid 7] x: /".to_owned(),
            Some(Reject::BadTime),
        ),
        ("free text".to_owned(), Some(Reject::NoTime)),
        (String::new(), Some(Reject::Empty)),
    ];
    for (line, reason) in &cases {
        let read = read_line(line.as_bytes(), Layout::Plain);
        assert_eq!(read.err(), *reason, "{line}");
    }

    let mut file = Vec::new();
    for (line, _) in &cases {
        file.extend_from_slice(line.as_bytes());
        file.push(b'\n');
    }
    file.extend_from_slice(b"\xff\xfe\0\x90 last line, and no line feed");
    let log = read(&file, KeyKind::Client);
    assert_eq!((log.requests().len(), log.rejected()), (10, 11));
    let named: Vec<_> = log
        .first_rejected()
        .iter()
        .map(|line| (line.line, line.reason))
        .collect();
    assert_eq!(
        named,
        [
            (11, Reject::BadTime),
            (12, Reject::NoTime),
            (13, Reject::OpenQuote),
            (14, Reject::NoStatus),
            (15, Reject::BadTime),
        ]
    );
    let found = replay_all("x", log, &["60/min"]);
    assert_eq!(found["lines"], 10);
}

#[test]
fn what_is_made_up_shows_what_the_keys_are_for() {
    let scraper_and = |kind| {
        let mut builder = LogBuilder::new(kind, Layout::Plain);
        made_up(1, &mut builder);
        let found = replay_all("x", builder.finish(), &["50/min"]);
        let top = found["results"]["sliding_log 50/min"]["top_denied"].clone();
        let keys = top.as_array().unwrap().iter().map(|key| key[0].clone());
        let mut keys: Vec<_> = keys.map(|key| key.as_str().unwrap().to_owned()).collect();
        keys.sort();
        keys
    };
    let by_client = scraper_and(KeyKind::Client);
    assert_eq!(by_client, ["192.0.2.10", "203.0.113.66", "203.0.113.99"]);
    let by_network = scraper_and(KeyKind::Prefix64);
    assert!(by_network.contains(&"2001:db8:0:ff::/64".to_owned()));
    let by_user = scraper_and(KeyKind::User);
    assert_eq!(
        by_user,
        ["-@203.0.113.66", "-@203.0.113.99"],
        "nobody in the office asks too often"
    );
}
