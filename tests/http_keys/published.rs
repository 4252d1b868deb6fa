//! The cases of `keys.jsonl`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate::http::{ClientIp, KeyExtractor, Trust};

use crate::asked::{networks, request};

#[test]
fn every_published_case_has_its_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/keys.jsonl");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return;
    };
    assert!(text.lines().count() > 0);
    for line in text.lines() {
        check(&serde_json::from_str(line).unwrap());
    }
}

fn check(case: &Value) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let lines: Vec<(String, String)> = list(&case["headers"])
        .iter()
        .map(|line| (text(&line[0]), text(&line[1])))
        .collect();
    let lines: Vec<(&str, &str)> = lines
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let trust = match case["trust"]["hops"].as_u64() {
        Some(hops) => Trust::hops(usize::try_from(hops).unwrap()),
        None => {
            let trusted: Vec<String> = list(&case["trust"]["trusted"]).iter().map(text).collect();
            networks(&trusted.iter().map(String::as_str).collect::<Vec<_>>())
        }
    };
    let key = ClientIp::new()
        .trust(trust)
        .v6_prefix(u8::try_from(case["v6_prefix"].as_u64().unwrap()).unwrap());
    let found = key.extract(&request(&text(&case["peer"]), &lines)).unwrap();
    assert_eq!(found.to_string(), text(&case["expect_key"]), "{case}");
}
