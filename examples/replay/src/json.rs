//! What was found, for programs to read.

use serde_json::{Map, Value, json};

use crate::key::show_key;
use crate::replay::Outcome;
use crate::report::Replayed;
use crate::suggest::Suggestion;
use crate::trial::short_name;

/// `{"logs":{FILE:{"lines":N,"results":{NAME:{"allowed":…}}}}}`, with the `top` keys that each trial
/// denied most.
///
/// `lines` are those that were replayed; what was no log line is not among them.
pub fn to_json(all: &[Replayed], top: usize) -> Value {
    let logs: Map<String, Value> = all
        .iter()
        .map(|replayed| {
            let results: Map<String, Value> = replayed
                .outcomes
                .iter()
                .map(|outcome| (outcome.trial.to_string(), result(replayed, outcome, top)))
                .collect();
            let log = json!({ "lines": replayed.log.requests().len(), "results": results });
            (replayed.name.clone(), log)
        })
        .collect();
    json!({ "logs": logs })
}

fn result(replayed: &Replayed, outcome: &Outcome, top: usize) -> Value {
    let top_denied: Vec<Value> = outcome
        .keys_denied
        .iter()
        .take(top)
        .map(|(key, denied)| json!([show_key(&replayed.log.keys()[*key as usize]), denied]))
        .collect();
    json!({
        "allowed": outcome.allowed,
        "denied": outcome.denied,
        "keys": outcome.keys,
        "keys_denied": outcome.keys_denied.len(),
        "top_denied": top_denied,
    })
}

/// `{"period":"min","keys":N,"requests":N,"peaks":{…},"ladder":[{"limit":"1/min","results":{…}}]}`:
/// what the tables of a [`Suggestion`] show.
pub fn suggestion_to_json(suggestion: &Suggestion) -> Value {
    let ladder: Vec<Value> = suggestion
        .rungs
        .iter()
        .map(|rung| {
            let results: Map<String, Value> = suggestion
                .algorithms
                .iter()
                .zip(&rung.touched)
                .filter_map(|(algorithm, touched)| {
                    let touched = (*touched)?;
                    let result =
                        json!({ "denied": touched.denied, "keys_denied": touched.keys_denied });
                    Some((short_name(*algorithm).to_owned(), result))
                })
                .collect();
            json!({ "limit": rung.limit.to_string(), "results": results })
        })
        .collect();
    json!({
        "period": suggestion.per(),
        "keys": suggestion.peaks.len(),
        "requests": suggestion.requests,
        "peaks": {
            "half": suggestion.quantile(500),
            "90 %": suggestion.quantile(900),
            "99 %": suggestion.quantile(990),
            "99.9 %": suggestion.quantile(999),
            "highest": suggestion.quantile(1000),
        },
        "ladder": ladder,
    })
}

#[cfg(test)]
mod tests {
    use tollgate::{AnyAlgorithm, Limit};

    use super::*;
    use crate::access_log::Layout;
    use crate::key::KeyKind;
    use crate::log::LogBuilder;
    use crate::replay::replay;
    use crate::trial::Trial;

    #[test]
    fn the_shape_is_the_one_agreed_upon() {
        let mut builder = LogBuilder::new(KeyKind::Client, Layout::Plain);
        for client in ["h", "g", "h", "h", "\u{e9}", "g"] {
            let line = format!(r#"{client} - - [06/Jan/2025:08:00:00 +0000] "-" 408 -"#);
            builder.push_line(line.as_bytes());
        }
        builder.push_line(b"free text");
        let log = builder.finish();
        let trial = Trial::new(AnyAlgorithm::SlidingLog, vec![Limit::per_minute(1)]).unwrap();
        let outcomes = vec![replay(&log, &trial, &mut |_| {}).unwrap()];
        let name = "access.log".to_owned();
        let all = [Replayed {
            name,
            log,
            outcomes,
        }];
        assert_eq!(
            to_json(&all, 3).to_string(),
            r#"{"logs":{"access.log":{"lines":6,"results":{"sliding_log 1/min":{"#.to_owned()
                + r#""allowed":3,"denied":3,"keys":3,"keys_denied":2,"#
                + r#""top_denied":[["h",2],["g",1]]}}}}}"#
        );
        let top_denied = |top| {
            let json = to_json(&all, top);
            json["logs"]["access.log"]["results"]["sliding_log 1/min"]["top_denied"].clone()
        };
        assert_eq!(top_denied(1), json!([["h", 2]]));
        assert_eq!(top_denied(0), json!([]));
    }
}
