//! A bounded envelope is an envelope, says `partial` or `error`, and has a preview within the limits.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill::{Envelope, Policy, Status};
use overspill_fuzz::{AnyLimits, broken, strategy};
use serde_json::{Map, Value, json};

#[derive(Arbitrary, Debug)]
struct Case<'t> {
    limits: AnyLimits,
    strategy: u8,
    max_result_chars: Option<u16>,
    /// JSON as it may come.
    raw: &'t [u8],
    status: u8,
    text: &'t str,
    data: Vec<(&'t str, AnyValue<'t>)>,
    context: Vec<(&'t str, AnyValue<'t>)>,
    message: &'t str,
}

#[derive(Arbitrary, Debug)]
enum AnyValue<'t> {
    Null,
    Bool(bool),
    Number(i64),
    Text(&'t str),
    List(Vec<AnyValue<'t>>),
    Members(Vec<(&'t str, AnyValue<'t>)>),
}

impl AnyValue<'_> {
    fn json(&self) -> Value {
        match self {
            AnyValue::Null => Value::Null,
            AnyValue::Bool(value) => json!(value),
            AnyValue::Number(value) => json!(value),
            AnyValue::Text(value) => json!(value),
            AnyValue::List(values) => values.iter().map(AnyValue::json).collect(),
            AnyValue::Members(members) => Value::Object(object(members)),
        }
    }
}

fn object(members: &[(&str, AnyValue<'_>)]) -> Map<String, Value> {
    members
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.json()))
        .collect()
}

fuzz_target!(|case: Case<'_>| {
    let policy = Policy {
        limits: case.limits.limits(),
        strategy: strategy(case.strategy),
        max_result_chars: case.max_result_chars.map(|max| usize::from(max).max(1)),
        ..Policy::new("Fuzz")
    };
    if let Some(envelope) = Envelope::parse(case.raw) {
        check(envelope, &policy);
    }
    let is_error = case.status % 2 == 1;
    let mut json = json!({
        "status": if is_error { "error" } else { "success" },
        "data": object(&case.data),
        "text": format!("x{}", case.text),
        "stats": { "time_ms": 1 },
        "context": object(&case.context),
    });
    json["context"]["cwd"] = json!(".");
    json["context"]["params_input"] = json!({ "text": case.message });
    if is_error {
        json["error"] = json!({ "code": "TIMEOUT", "message": case.message });
    }
    // Only what nests too deeply for any parser is none.
    match Envelope::parse(json.to_string().as_bytes()) {
        Some(envelope) => check(envelope, &policy),
        None => assert!(depth(&json) > 100, "{json}"),
    }
});

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    1 + below.unwrap_or(0)
}

fn check(envelope: Envelope, policy: &Policy<'_>) {
    let source = envelope.to_json();
    let bounded = envelope.clone().bound(policy, Some(&source));
    assert_eq!(
        Envelope::parse(bounded.to_json().as_bytes()).as_ref(),
        Some(&bounded),
        "not an envelope"
    );
    if bounded == envelope {
        let skips = envelope.context.get("truncation_skip") == Some(&json!(true));
        // What passes as it came is within the limits, but for a text that only reports on the data.
        let is_short = envelope.text.len() <= policy.limits.reach_bytes().max(1024);
        assert!(
            skips || is_short,
            "{} bytes of text pass",
            envelope.text.len()
        );
        return;
    }
    let expected = if envelope.status == Status::Error {
        Status::Error
    } else {
        Status::Partial
    };
    assert_eq!(
        (bounded.status, bounded.error.is_some()),
        (expected, expected == Status::Error)
    );
    assert!(!bounded.text.is_empty());
    let members: Vec<&str> = bounded.data.keys().map(String::as_str).collect();
    assert_eq!(members, ["truncated", "truncation", "preview"]);
    let preview = bounded.data["preview"].as_str().expect("a text");
    assert!(!preview.is_empty());
    assert_eq!(broken(preview, &policy.limits), None, "{preview:?}");
    // What stays beside the preview has a bound of its own, whatever came in.
    let beside = bounded.to_json().len() - json!(preview).to_string().len();
    assert!(beside <= 16 << 10, "{beside} bytes beside the preview");
}
