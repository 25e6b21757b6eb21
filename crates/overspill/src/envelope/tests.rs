use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::bound::Paths;
use crate::store::Retention;
use crate::strategy::Strategy;

fn envelope(data: Value, text: &str) -> Envelope {
    Envelope {
        status: Status::Success,
        data: object(data),
        text: text.to_owned(),
        stats: object(json!({ "time_ms": 85, "matched_files": 1 })),
        context: object(json!({ "cwd": ".", "params_input": { "path": "src" } })),
        error: None,
    }
}

fn policy(limits: Limits) -> Policy<'static> {
    Policy {
        limits,
        ..Policy::new("Grep")
    }
}

#[test]
fn only_a_standard_envelope_is_one() {
    let good = envelope(json!({}), "done");
    assert_eq!(
        Envelope::parse(good.to_json().as_bytes()),
        Some(good.clone())
    );
    let mut failed = good.clone();
    failed.status = Status::Error;
    assert_eq!(
        Envelope::parse(failed.to_json().as_bytes()),
        None,
        "an error without `error`"
    );
    failed.error = Some(Failure {
        code: Code::NotFound,
        message: "gone".into(),
    });
    assert_eq!(Envelope::parse(failed.to_json().as_bytes()), Some(failed));
    for other in [
        "",
        "[]",
        "{\"status\":\"success\"}",
        "{\"status\":\"fine\",\"data\":{},\"text\":\"\",\"stats\":{},\"context\":{}}",
    ] {
        assert_eq!(Envelope::parse(other.as_bytes()), None, "{other}");
    }
    let own_code = good
        .to_json()
        .replacen("\"success\"", "\"error\"", 1)
        .replacen(
            '{',
            "{\"error\":{\"code\":\"RATE_LIMIT\",\"message\":\"m\"},",
            1,
        );
    assert_eq!(
        Envelope::parse(own_code.as_bytes())
            .unwrap()
            .error
            .unwrap()
            .code,
        Code::Other("RATE_LIMIT".into())
    );
    let extra = good.to_json().replacen('{', "{\"more\":1,", 1);
    assert_eq!(
        Envelope::parse(extra.as_bytes()),
        None,
        "a member that is none"
    );
}

#[test]
fn the_readable_payload_is_measured() {
    let long = "line\n".repeat(100);
    let grep = envelope(
        json!({ "matches": [{ "file": "a", "line": 1, "text": "line" }] }),
        &long,
    );
    let read = envelope(
        json!({ "content": long, "truncated": false }),
        "Read 100 lines.",
    );
    let list = envelope(
        json!({ "entries": (0..100).map(|n| json!({ "path": n })).collect::<Vec<_>>() }),
        "100 entries.",
    );
    for (envelope, first) in [
        (grep, "line\nline"),
        (read, "line\nline"),
        (list, "{\n  \"entries\": ["),
    ] {
        let bounded = envelope.bound(&policy(Limits::none().lines(2)), None);
        assert_eq!(
            (bounded.status, bounded.data["preview"].as_str().unwrap()),
            (Status::Partial, first)
        );
        assert_eq!(Envelope::parse(bounded.to_json().as_bytes()), Some(bounded));
    }
}

#[test]
fn a_cut_leaves_its_record_and_keeps_what_is_known_of_the_call() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = Policy {
        keeping: Keeping::Store {
            store: &store,
            paths: Paths::Relative,
        },
        ..policy(Limits::none().lines(2).bytes(1000))
    };
    let whole = envelope(json!({ "content": "1\n2\n3\n", "n": 1 }), "Read.");
    let source = whole.to_json().replace("\"n\":1", "\"n\":1e400000");
    let bounded = whole.clone().bound(&policy, Some(&source));
    let json = store
        .list()
        .unwrap()
        .into_iter()
        .find(|entry| entry.format == Format::Json)
        .unwrap();
    assert_eq!(
        Value::Object(bounded.data.clone()),
        json!({
            "truncated": true,
            "truncation": {
                "direction": "head", "max_lines": 2, "max_bytes": 1000, "original_lines": 3, "original_bytes": 6, "kept_lines": 2,
                "kept_bytes": 3, "full_output_path": json.path, "removed": 1, "unit": "lines", "id": json.id.as_str()
            },
            "preview": "1\n2"
        })
    );
    assert_eq!(
        (bounded.stats, bounded.context),
        (whole.stats, whole.context)
    );
    let text = json.path.replace(".json", ".txt");
    assert!(
        bounded
            .text
            .starts_with("...1 lines truncated...\n\nThe tool call succeeded"),
        "{}",
        bounded.text
    );
    assert!(
        bounded
            .text
            .contains(&format!("Full output saved to: {text}\n")),
        "{}",
        bounded.text
    );
    assert_eq!(
        std::fs::read_to_string(root.path().join(text)).unwrap(),
        "1\n2\n3\n"
    );
    assert_eq!(
        std::fs::read_to_string(root.path().join(json.path)).unwrap(),
        layout::pretty(&source)
    );
}

#[test]
fn an_error_stays_one() {
    let long = "trace\n".repeat(100);
    let failed =
        envelope(json!({ "content": long }), "").failed(Code::ExecutionError, "it failed".into());
    assert_eq!(failed.text, format!("it failed\n\n{long}"));
    assert!(failed.data.is_empty());
    let bounded = failed.clone().bound(&policy(Limits::none().lines(3)), None);
    assert_eq!(
        (bounded.status, &bounded.error),
        (Status::Error, &failed.error)
    );
    assert_eq!(bounded.data["truncated"], true);
    assert!(bounded.text.contains("The tool call failed") && !bounded.text.contains("succeeded"));
}

#[test]
fn a_tool_that_pages_is_left_alone() {
    let mut paged = envelope(json!({ "content": "x".repeat(100_000) }), "Read.");
    paged
        .context
        .insert("truncation_skip".into(), Value::Bool(true));
    assert_eq!(paged.clone().bound(&policy(Limits::default()), None), paged);
}

#[test]
fn what_is_carried_over_is_bounded_too() {
    let mut huge = envelope(json!({}), "Written.");
    huge.context.insert(
        "params_input".into(),
        json!({ "content": "x".repeat(1_000_000), "path": "a" }),
    );
    let bounded = huge.bound(&policy(Limits::default()), None);
    assert_eq!(bounded.status, Status::Partial);
    assert_eq!(bounded.context["params_input"]["path"], "a");
    assert!(
        bounded.to_json().len() < 60_000,
        "{}",
        bounded.to_json().len()
    );

    let many: Map<String, Value> = (0..100_000).map(|n| (n.to_string(), json!(n))).collect();
    let mut huge = envelope(json!({}), "Done.");
    huge.context
        .insert("params_input".into(), Value::Object(many));
    let bounded = huge.bound(&policy(Limits::default()), None);
    assert!(
        bounded.to_json().len() < 120_000,
        "{}",
        bounded.to_json().len()
    );
    assert_eq!(bounded.context["params_input"], json!({}));
}

#[test]
fn the_guard_holds_for_the_json() {
    let text = "\"quoted\"\n\u{1}\n".repeat(1000);
    for (max, strategy) in [
        (1200, Strategy::Head),
        (1500, Strategy::HeadTail),
        (3000, Strategy::Tail),
    ] {
        let policy = Policy {
            max_result_chars: Some(max),
            strategy,
            ..policy(Limits::default())
        };
        let bounded = envelope(json!({ "content": text }), "Read.").bound(&policy, None);
        assert!(
            bounded.to_json().chars().count() <= max,
            "{}",
            bounded.to_json().chars().count()
        );
        assert_eq!(Envelope::parse(bounded.to_json().as_bytes()), Some(bounded));
    }
}

fn values() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::strategy::Strategy as _;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(|n| json!(n)),
        "\\PC{0,40}".prop_map(Value::String),
        "([a-z ]{0,20}\n){0,30}".prop_map(Value::String)
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map("[a-z]{1,5}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_envelope_stays_one_and_its_preview_is_bounded(data in values(), text in "\\PC(\\PC{0,20}\n?){0,20}", lines in 1usize..20, bytes in 1usize..400, fails: bool) {
        let mut whole = envelope(json!({ "value": data }), &text);
        if fails {
            whole = whole.failed(Code::Timeout, "took too long".into());
        }
        let bounded = whole.clone().bound(&policy(Limits::none().lines(lines).bytes(bytes)), None);
        prop_assert_eq!(Envelope::parse(bounded.to_json().as_bytes()), Some(bounded.clone()));
        if bounded != whole {
            let preview = bounded.data["preview"].as_str().unwrap();
            prop_assert!(!preview.is_empty() && preview.len() <= bytes);
            prop_assert_eq!(bounded.status == Status::Error, fails);
            prop_assert!(!bounded.text.is_empty());
        }
    }
}
