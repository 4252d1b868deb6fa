//! Refusals as problem details (RFC 9457).
//!
//! They are written by hand: what comes from outside are names of limits, whose quoted form in
//! structured fields is that of JSON as well.

use super::policy::Answer;
use http::StatusCode;

/// The types that draft-ietf-httpapi-ratelimit-headers registers.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// `detail` is for people, and has no quotes.
pub(super) fn quota_exceeded(status: StatusCode, detail: &str, each: &[Answer<'_>]) -> String {
    let violated: Vec<&str> = each
        .iter()
        .filter(|answer| answer.decision.is_denied())
        .map(|answer| answer.name.quoted())
        .collect();
    format!(
        r#"{{"type":"{QUOTA_EXCEEDED}","title":"quota exceeded","status":{},"detail":"{detail}","violated-policies":[{}]}}"#,
        status.as_u16(),
        violated.join(",")
    )
}

/// `detail` is for people, and has no quotes.
pub(super) fn reduced_capacity(status: StatusCode, detail: &str) -> String {
    format!(
        r#"{{"type":"{REDUCED_CAPACITY}","title":"temporary reduced capacity","status":{},"detail":"{detail}"}}"#,
        status.as_u16()
    )
}

pub(super) fn without_key(status: StatusCode) -> String {
    format!(
        r#"{{"type":"about:blank","title":"Forbidden","status":{},"detail":"there is nothing to count this request by"}}"#,
        status.as_u16()
    )
}
