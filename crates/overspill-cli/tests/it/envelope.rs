//! Standard Envelopes: SPEC section 5. Everything that comes out is checked by the same validator.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Output, Sandbox, check_envelope, seq, valid_envelope};

/// An envelope of a tool whose result is in `data`.
fn read_envelope(content: &str) -> Value {
    json!({
        "status": "success",
        "data": { "content": content, "truncated": false },
        "text": "Read big.log.",
        "stats": { "time_ms": 12, "lines": 9 },
        "context": { "cwd": ".", "params_input": { "path": "big.log" }, "path_resolved": "big.log" },
    })
}

fn bound(sandbox: &Sandbox, flags: &[&str], input: impl AsRef<[u8]>) -> Output {
    sandbox
        .pipe(
            &[&["truncate", "--format", "envelope"], flags].concat(),
            input,
        )
        .quietly(0)
}

/// A bounded envelope without what differs from run to run.
fn stable(output: &Output) -> Value {
    valid_envelope(output);
    serde_json::from_str(&output.stable()).unwrap()
}

/// The two files that an envelope leaves: its JSON and its text.
fn files(sandbox: &Sandbox) -> (String, Option<String>) {
    let spills = sandbox.spills();
    let read = |extension: &str| {
        let found: Vec<_> = spills
            .iter()
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect();
        assert!(found.len() <= 1, "{spills:?}");
        found.first().map(|path| fs::read_to_string(path).unwrap())
    };
    (read("json").expect("the complete JSON"), read("txt"))
}

#[test]
fn an_envelope_over_its_limits_becomes_partial() {
    let sandbox = Sandbox::new();
    let input = read_envelope(&seq(100));
    let output = bound(
        &sandbox,
        &["--max-lines", "3", "--tool", "Big"],
        input.to_string(),
    );
    assert_eq!(
        stable(&output),
        json!({
            "status": "partial",
            "data": {
                "truncated": true,
                "truncation": {
                    "direction": "head", "max_lines": 3, "max_bytes": 51200, "original_lines": 100, "original_bytes": 292,
                    "kept_lines": 3, "kept_bytes": 5, "full_output_path": "tool-output/tool_<TIME>_<ID>_Big.json",
                    "removed": 97, "unit": "lines", "id": "<ID>",
                },
                "preview": "1\n2\n3",
            },
            "text": "...97 lines truncated...\n\n\
                The tool call succeeded but the output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_Big.txt\n\
                Use Grep to search the full content or Read with offset and limit to view parts of it.\n\
                In a shell: overspill show <ID> --grep PATTERN, or --offset 4 --limit N.",
            "stats": { "time_ms": 12, "lines": 9 },
            "context": { "cwd": ".", "params_input": { "path": "big.log" }, "path_resolved": "big.log" },
        })
    );
    let (complete, text) = files(&sandbox);
    assert_eq!(serde_json::from_str::<Value>(&complete).unwrap(), input);
    assert_eq!(
        complete,
        format!("{}\n", serde_json::to_string_pretty(&input).unwrap())
    );
    assert_eq!(text.as_deref(), Some(&*seq(100)), "real newlines");

    let id = output.json()["data"]["truncation"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = sandbox
        .run(&["show", &id, "--grep", "^4.$", "--max-lines", "2"])
        .quietly(0)
        .text();
    assert!(shown.starts_with("40: 40\n41: 41\n"), "{shown}");
}

#[test]
fn an_error_stays_an_error() {
    let sandbox = Sandbox::new();
    let failure = json!({ "code": "EXECUTION_ERROR", "message": "exit code 2" });
    let input = json!({
        "status": "error", "data": {}, "text": seq(100), "stats": { "time_ms": 3 },
        "context": { "cwd": "sub", "params_input": { "command": "make" } }, "error": failure,
    });
    let envelope = stable(&bound(
        &sandbox,
        &["--max-lines", "2", "--strategy", "tail"],
        input.to_string(),
    ));
    assert_eq!(
        (&envelope["status"], &envelope["error"]),
        (&json!("error"), &failure)
    );
    assert_eq!(envelope["data"]["preview"], "99\n100");
    assert_eq!(envelope["data"]["truncation"]["direction"], "tail");
    assert_eq!(envelope["context"], input["context"]);
    assert!(
        envelope["text"]
            .as_str()
            .unwrap()
            .contains("The tool call failed and its output was truncated. "),
        "{envelope}"
    );
    assert_eq!(files(&sandbox).1.as_deref(), Some(&*seq(100)));
}

#[test]
fn what_is_measured_is_the_readable_payload() {
    let matches: Vec<Value> = (1..=50)
        .map(|n| json!({ "file": "a.rs", "line": n, "text": format!("fn f{n}()") }))
        .collect();
    let lines: String = (1..=50).map(|n| format!("a.rs:{n}: fn f{n}()\n")).collect();
    let with = |data: Value, text: &str| {
        let mut envelope = read_envelope("");
        (envelope["data"], envelope["text"]) = (data, json!(text));
        envelope
    };
    let text = format!(
        "Found 50 matches in 1 files for 'fn' in '.'\n(Sorted by mtime desc. Took 3ms)\n\n{lines}"
    );
    let structure = json!({ "entries": matches });
    let pretty = serde_json::to_string_pretty(&structure).unwrap();
    let first = |text: &str| text.lines().take(4).collect::<Vec<_>>().join("\n");
    let cases = [
        (
            "the text, where it carries the matches",
            with(json!({ "matches": matches, "truncated": false }), &text),
            first(&text),
            Some(text.clone()),
        ),
        (
            "the largest string",
            with(
                json!({ "deep": [{ "content": lines }], "note": "n" }),
                "Done.",
            ),
            first(&lines),
            Some(lines.clone()),
        ),
        (
            "data itself",
            with(structure, "Listed."),
            first(&pretty),
            None,
        ),
    ];
    for (name, input, preview, beside) in cases {
        let sandbox = Sandbox::new();
        let envelope = stable(&bound(&sandbox, &["--max-lines", "4"], input.to_string()));
        assert_eq!(envelope["data"]["preview"], preview, "{name}");
        let (complete, text) = files(&sandbox);
        assert_eq!(
            serde_json::from_str::<Value>(&complete).unwrap(),
            input,
            "{name}"
        );
        assert_eq!(text, beside, "{name}");
        let extension = if beside.is_some() { "txt" } else { "json" };
        let notice = envelope["text"].as_str().unwrap();
        assert!(
            notice.contains(&format!(
                "saved to: tool-output/tool_<TIME>_<ID>_truncate.{extension}\n"
            )),
            "{name}: {notice}"
        );
    }
}

#[test]
fn every_digit_and_key_is_in_the_spill() {
    let sandbox = Sandbox::new();
    let numbers = r#"[12345678901234567890.10, 1e2, -0.0, 1E-7, 0.1000000000000000055511151231257827, 9007199254740993]"#;
    let input = format!(
        r#"{{"status":"success","data":{{"content":{},"numbers":{numbers},"same":1,"same":2}},"text":"x","stats":{{"time_ms":1.50}},"context":{{"cwd":".","params_input":{{}}}}}}"#,
        json!(seq(100))
    );
    valid_envelope(&bound(&sandbox, &["--max-lines", "3"], &input));
    let (complete, _) = files(&sandbox);
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(squeezed(&complete), squeezed(&input));
    assert!(
        complete.contains("\n    \"numbers\": [\n      12345678901234567890.10,\n      1e2,\n"),
        "{complete}"
    );
}

#[test]
fn a_number_that_no_float_holds_is_still_an_envelope() {
    let sandbox = Sandbox::new();
    let input = read_envelope(&seq(100))
        .to_string()
        .replacen("\"lines\":9", "\"lines\":1e400", 1);
    let output = bound(&sandbox, &["--max-lines", "3"], &input);
    let envelope = valid_envelope(&output);
    assert_eq!(envelope["data"]["preview"], "1\n2\n3");
    let (complete, text) = files(&sandbox);
    assert!(complete.contains("\"lines\": 1e400\n"), "{complete}");
    assert_eq!(text.as_deref(), Some(&*seq(100)));
}

#[test]
fn what_asks_to_be_skipped_passes_unchanged() {
    let skip = |value: Value| {
        let mut envelope = read_envelope(&seq(100));
        envelope["context"]["truncation_skip"] = value;
        // Laid out and with digits that a parser would not print again.
        serde_json::to_string_pretty(&envelope)
            .unwrap()
            .replace(": 12,", ": 12.0000000000000000001,")
            + "\n\n"
    };
    let cases = [
        ("truncation_skip", skip(json!(true)), true),
        ("truncation_skip: false", skip(json!(false)), false),
        ("truncation_skip: a word", skip(json!("true")), false),
        (
            "metadata.truncated: true",
            json!({ "title": "t", "output": seq(100), "metadata": { "truncated": true } })
                .to_string(),
            true,
        ),
        (
            "metadata.truncated: false",
            json!({ "title": "t", "output": seq(100), "metadata": { "truncated": false } })
                .to_string(),
            true,
        ),
        (
            "metadata without it",
            format!(
                "{:#}",
                json!({ "output": "x", "metadata": { "other": [1, 2, 3] } })
            ),
            false,
        ),
    ];
    for (name, input, passes) in cases {
        let sandbox = Sandbox::new();
        let output = bound(&sandbox, &["--max-lines", "3"], &input);
        assert_eq!(
            output.stdout == input.as_bytes(),
            passes,
            "{name}: {}",
            output.text()
        );
        assert_eq!(sandbox.snapshot().is_empty(), passes, "{name}");
        if !passes {
            valid_envelope(&output);
        }
    }
}

#[test]
fn an_envelope_within_its_limits_passes_unchanged() {
    let sandbox = Sandbox::new();
    let input = format!("  {:#}\n", read_envelope("short\n"));
    assert_eq!(bound(&sandbox, &[], &input).text(), input);
    assert!(sandbox.snapshot().is_empty());
}

#[test]
fn anything_else_becomes_an_envelope() {
    let error_without_reason = read_envelope("x").to_string().replace("success", "error");
    let cases: [(&str, &str); 11] = [
        ("text", "one\ntwo\n"),
        ("nothing", ""),
        ("JSON", r#"{"a": 1}"#),
        ("a list", "[1, 2]"),
        ("half an envelope", r#"{"status": "success", "data": {}"#),
        ("an error without a reason", &error_without_reason),
        (
            "an unknown status",
            r#"{"status":"done","data":{},"text":"x","stats":{"time_ms":1},"context":{"cwd":".","params_input":{}}}"#,
        ),
        (
            "a field too many",
            r#"{"status":"success","data":{},"text":"x","stats":{"time_ms":1},"context":{"cwd":".","params_input":{}},"more":1}"#,
        ),
        (
            "data that is no object",
            r#"{"status":"success","data":[],"text":"x","stats":{"time_ms":1},"context":{"cwd":".","params_input":{}}}"#,
        ),
        ("two envelopes", r#"{} {}"#),
        ("a brace", "{"),
    ];
    for (name, input) in cases {
        let sandbox = Sandbox::new();
        let envelope = valid_envelope(&bound(&sandbox, &[], input));
        assert_eq!(envelope["status"], "success", "{name}");
        assert_eq!(
            envelope["data"],
            json!({ "content": input, "truncated": false }),
            "{name}"
        );
    }
}

#[test]
fn an_input_that_lacks_what_is_required_is_not_passed_on_as_valid() {
    let cases = [
        (
            "no time",
            json!({ "status": "success", "data": {}, "text": "x", "stats": {}, "context": { "cwd": ".", "params_input": {} } }),
        ),
        (
            "no cwd",
            json!({ "status": "success", "data": {}, "text": "x", "stats": { "time_ms": 1 }, "context": { "params_input": {} } }),
        ),
        (
            "no params",
            json!({ "status": "success", "data": {}, "text": "x", "stats": { "time_ms": 1 }, "context": { "cwd": "." } }),
        ),
        (
            "no text",
            json!({ "status": "success", "data": {}, "text": "", "stats": { "time_ms": 1 }, "context": { "cwd": ".", "params_input": {} } }),
        ),
    ];
    for (name, mut input) in cases {
        assert!(check_envelope(&input).is_err(), "{name}");
        // Cut or not, what comes out is a valid envelope.
        for content in ["short\n".to_owned(), seq(5000)] {
            input["data"]["content"] = json!(content);
            let output = bound(&Sandbox::new(), &[], input.to_string());
            if let Err(fault) = check_envelope(&output.json()) {
                panic!("{name}: {fault}");
            }
        }
    }
}

#[test]
fn wrapped_output_over_its_limits() {
    let sandbox = Sandbox::new();
    sandbox.write("big.log", seq(100));
    let output = sandbox
        .run(&[
            "truncate",
            "big.log",
            "--format",
            "envelope",
            "--max-lines",
            "4",
            "--strategy",
            "head_tail",
        ])
        .quietly(0);
    let envelope = stable(&output);
    assert_eq!(envelope["status"], "partial");
    assert_eq!(
        envelope["data"]["preview"],
        "1\n... [truncated 98 lines] ...\n100"
    );
    assert_eq!(
        envelope["context"]["params_input"],
        json!({ "file": "big.log" })
    );
    assert_eq!(
        envelope["data"]["truncation"]["full_output_path"],
        "tool-output/tool_<TIME>_<ID>_truncate.txt"
    );
    assert_eq!(sandbox.spill(), seq(100).as_bytes());
}

#[test]
fn binary_and_broken_output_in_an_envelope() {
    let binary: Vec<u8> = (0..=255).cycle().take(60_000).collect();
    let cases: [(&str, &[u8], &str); 2] = [
        ("binary", &binary, "binary output, 60000 bytes, not shown"),
        (
            "not UTF-8",
            &b"\xff\n".repeat(3000),
            &"\u{fffd}\n".repeat(2000),
        ),
    ];
    for (name, input, preview) in cases {
        let sandbox = Sandbox::new();
        let envelope = valid_envelope(&bound(&sandbox, &[], input));
        assert_eq!(envelope["data"]["preview"], preview.trim_end(), "{name}");
        assert_eq!(sandbox.spill(), input, "{name}");
    }
}

#[test]
fn an_envelope_is_bounded_whatever_is_large_in_it() {
    let large = "word ".repeat(60_000);
    let deep = |depth: usize| (0..depth).fold(json!(large), |inner, _| json!({ "d": inner }));
    let put = |pointer: &str, value: Value| {
        let mut envelope = read_envelope("small");
        *envelope.pointer_mut(pointer).unwrap() = value;
        envelope
    };
    let mut failed = read_envelope("");
    failed["status"] = json!("error");
    failed["data"] = json!({});
    failed["error"] = json!({ "code": "TIMEOUT", "message": large });
    let keys: Value = (0..30_000)
        .map(|n| (format!("key{n}"), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let cases = [
        ("content", put("/data/content", json!(large))),
        ("text", put("/text", json!(large))),
        ("stats", put("/stats/lines", json!(large))),
        (
            "context.params_input",
            put("/context/params_input", json!({ "query": large })),
        ),
        ("context.cwd", put("/context/cwd", json!(large))),
        ("path_resolved", put("/context/path_resolved", json!(large))),
        ("many keys", put("/data", keys.clone())),
        ("many stats", put("/stats/lines", keys)),
        ("a key", put("/data", json!({ large.clone(): 1 }))),
        ("deep", put("/data", json!({ "deep": deep(100) }))),
        ("error.message", failed),
    ];
    for (name, input) in cases {
        assert_eq!(check_envelope(&input), Ok(()), "{name}");
        let sandbox = Sandbox::new();
        let output = bound(&sandbox, &[], input.to_string());
        let envelope = valid_envelope(&output);
        assert_ne!(envelope["status"], "success", "{name}");
        // The preview, its escapes, the record, the notice, and what is carried over.
        assert!(
            output.stdout.len() <= 51_200 * 2 + 16_384,
            "{name}: {} bytes",
            output.stdout.len()
        );
        let (complete, _) = files(&sandbox);
        assert!(
            serde_json::from_str::<Value>(&complete).unwrap() == input,
            "{name}: the spill is not the input"
        );
    }
}

#[test]
fn the_guard_bounds_a_whole_envelope() {
    for content in [
        seq(20_000),
        "\"\\\u{1}".repeat(20_000),
        "截断".repeat(20_000),
        seq(600),
    ] {
        for strategy in ["head", "tail", "head_tail"] {
            let sandbox = Sandbox::new();
            let output = bound(
                &sandbox,
                &["--max-result-chars", "1500", "--strategy", strategy],
                read_envelope(&content).to_string(),
            );
            valid_envelope(&output);
            let chars = output.text().trim_end().chars().count();
            assert!(chars <= 1500, "{strategy}: {chars} chars");
            assert!(
                files(&sandbox).1.is_some_and(|text| text == content),
                "{strategy}: the spill is not the content"
            );
        }
    }
}

#[test]
fn a_guard_that_cannot_be_met_is_no_endless_loop() {
    for content in ["", "x", "é", "xy"] {
        let sandbox = Sandbox::new();
        let mut input = read_envelope(content);
        input["text"] = json!("x");
        valid_envelope(&bound(
            &sandbox,
            &["--max-result-chars", "50"],
            input.to_string(),
        ));
    }
}

#[test]
fn notices_in_an_envelope_are_in_the_language_of_the_call() {
    let sandbox = Sandbox::new();
    let envelope = stable(&bound(
        &sandbox,
        &["--max-lines", "3", "--lang", "zh"],
        read_envelope(&seq(100)).to_string(),
    ));
    let text = envelope["text"].as_str().unwrap();
    assert!(text.starts_with("...已截断 97 行...\n\n⚠️ 输出过大已截断，完整内容见 tool-output/tool_<TIME>_<ID>_truncate.txt\n"), "{text}");
}
