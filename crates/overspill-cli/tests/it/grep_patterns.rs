//! The patterns of `Grep`: both engines, their faults, and searches that run out of time.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::grep::{
    context, found, grep, grep_with, places, project, put, remarks, set_second, stats,
};
use crate::support::{Sandbox, timeless};

#[test]
fn look_around_and_back_references_work_and_say_so() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        2,
        "unsafe\nsafe\nthe the\nfoobar\nfoobaz\n",
    );
    put(&sandbox, "crlf.txt", 1, "safe\r\nword\r\n");
    let params = json!({ "pattern": "(?<!un)safe", "path": "a.txt" });
    assert_eq!(
        timeless(grep(&sandbox, &params)),
        json!({
            "status": "partial",
            "data": {
                "matches": [found("a.txt", 2, "safe")], "num_files": 1, "filenames": ["a.txt"], "num_lines": 1,
                "truncated": false, "mode": "content", "total_lines_before_truncation": 1, "fallback_used": true,
                "fallback_reason": "rg_failed",
            },
            "text": "Found 1 matches in 1 files for '(?<!un)safe' in 'a.txt'\n(Sorted by mtime desc. Took Tms)\n\
                [Info: the pattern needs look-around or back-references; used the slower backtracking search.]\n\n\
                a.txt:2: safe",
            "stats": stats(1, 1, 1),
            "context": context(&params, "a.txt"),
        })
    );
    let cases: &[(&str, &[&str])] = &[
        (r"\b(\w+) \1\b", &["a.txt:3"]),
        ("foo(?=bar)", &["a.txt:4"]),
        ("foo(?!bar)", &["a.txt:5"]),
        ("(?<=foo)BAZ", &["a.txt:5"]),
        // `$` stands before `\r\n` here too.
        ("(?<!un)safe$", &["a.txt:2", "crlf.txt:1"]),
        ("(?=w)word$", &["crlf.txt:2"]),
        ("(?=nothing)x", &[]),
    ];
    for (pattern, expected) in cases {
        let envelope = grep(&sandbox, &json!({ "pattern": pattern }));
        assert_eq!(places(&envelope), *expected, "{pattern}");
        let data = &envelope["data"];
        assert_eq!(
            (
                &envelope["status"],
                &data["fallback_used"],
                &data["fallback_reason"]
            ),
            (&json!("partial"), &json!(true), &json!("rg_failed")),
            "{pattern}"
        );
    }
    let plain = grep(&sandbox, &json!({ "pattern": "safe" }));
    assert_eq!(
        plain["data"].get("fallback_used"),
        None,
        "only where it was used"
    );
}

#[test]
fn a_pattern_that_explodes_ends_by_the_step_limit() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        format!("{}b\naaa\n", "a".repeat(2000)),
    );
    let envelope = grep(&sandbox, &json!({ "pattern": r"(a|aa)+\1$" }));
    assert_eq!(
        places(&envelope),
        ["a.txt:2"],
        "the other lines are searched"
    );
    assert_eq!(
        remarks(&envelope),
        [
            "[Info: the pattern needs look-around or back-references; used the slower backtracking search.]",
            "[Partial: the step limit was reached on 1 lines, which count as no match.]",
        ]
    );
    let params = json!({ "pattern": r"(a|aa)+\1$", "output_mode": "count" });
    assert_eq!(
        remarks(&grep(&sandbox, &params)),
        remarks(&envelope),
        "counted once in every mode"
    );
}

#[test]
fn nested_repetitions_end_well_before_the_time_limit_on_a_long_line() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        format!("{}b\naaa\n", "a".repeat(3_000)),
    );
    for pattern in ["(a+)+$", "(?=a)(a+)+$", "(?=a)(a|a)*$"] {
        let envelope = grep(&sandbox, &json!({ "pattern": pattern }));
        assert_eq!(
            places(&envelope),
            ["a.txt:2"],
            "the other lines are searched: {pattern}"
        );
    }
}

#[test]
fn a_huge_repetition_is_refused_or_works() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, "w".repeat(250_000) + "\n");
    let start = Instant::now();
    let envelope = grep(&sandbox, &json!({ "pattern": r"\w{500}{500}" }));
    let is_refused = envelope["error"]["code"] == "INVALID_PARAM";
    assert!(
        is_refused || places(&envelope) == ["a.txt:1"],
        "{envelope:#}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_pattern_that_spans_lines_needs_multiline_and_is_told_so() {
    let sandbox = project();
    for pattern in ["a1\\ntwo", "a1\ntwo", "(a1\\n)+two"] {
        let envelope = grep(&sandbox, &json!({ "pattern": pattern }));
        assert_eq!(
            envelope["error"]["code"], "INVALID_PARAM",
            "{pattern}: {envelope:#}"
        );
        let text = envelope["text"].as_str().unwrap();
        assert!(text.starts_with("Invalid regex pattern: "), "{text}");
        assert!(
            text.ends_with("\nA match spans lines only with multiline set to true."),
            "{text}"
        );
    }
}

#[test]
fn a_fault_is_not_hidden_by_the_other_engine() {
    let sandbox = project();
    let envelope = grep(&sandbox, &json!({ "pattern": "a{2,1}" }));
    let message =
        "Invalid regex pattern: invalid repetition count range, the start must be <= the end";
    assert_eq!(
        envelope["error"],
        json!({ "code": "INVALID_PARAM", "message": message })
    );
}

#[test]
fn a_bad_pattern_with_look_around_names_its_own_fault() {
    let sandbox = project();
    for pattern in ["(?<=a", "(?!a)(", r"(\w)\2["] {
        let envelope = grep(&sandbox, &json!({ "pattern": pattern }));
        let message = envelope["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{envelope:#}"));
        assert!(
            message.starts_with("Invalid regex pattern: ") && !message.contains('\n'),
            "{message}"
        );
        assert!(
            !message.contains("not supported"),
            "look-around is supported: {message}"
        );
    }
}

#[test]
fn an_empty_pattern_matches_every_line() {
    let sandbox = project();
    sandbox.write("empty.txt", "");
    let envelope = grep(&sandbox, &json!({ "pattern": "", "path": "src" }));
    assert_eq!(
        places(&envelope),
        [
            "src/b.rs:1",
            "src/a.rs:1",
            "src/a.rs:2",
            "src/a.rs:3",
            "src/a.rs:4",
            "src/a.rs:5",
            "src/a.rs:6"
        ]
    );
    assert_eq!(
        places(&grep(
            &sandbox,
            &json!({ "pattern": "", "path": "empty.txt" })
        )),
        [] as [&str; 0]
    );
}

#[test]
fn case_is_ignored_unless_it_is_asked_for() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        "Jürgen\nJÜRGEN\nkelvin \u{212A}\nSTRASSE\nstraße\n",
    );
    let cases: &[(&str, bool, &[u64])] = &[
        ("jürgen", false, &[1, 2]),
        ("JÜRGEN", true, &[2]),
        ("K$", false, &[3]),
        ("strasse", false, &[4]),
        ("strasse", true, &[]),
    ];
    for (pattern, case_sensitive, expected) in cases {
        let envelope = grep(
            &sandbox,
            &json!({ "pattern": pattern, "case_sensitive": case_sensitive }),
        );
        let expected: Vec<String> = expected
            .iter()
            .map(|line| format!("a.txt:{line}"))
            .collect();
        assert_eq!(places(&envelope), expected, "{pattern} {case_sensitive}");
    }
}

/// A megabyte of lines in which `slow()` matches nothing.
fn dull() -> String {
    "lorem ipsum dolor sit amet consectetur adipiscing elit\n".repeat(19_000)
}

/// A pattern without a literal to look for, so that every byte is read.
fn slow() -> &'static str {
    r"[a-z]+\s+[a-z]+\s+[0-9]"
}

#[test]
fn the_time_limit_ends_a_search() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("big/0.txt", dull().repeat(4));
    // Names of one file cost no disk.
    for number in 1..400 {
        fs::hard_link(&first, sandbox.root().join(format!("big/{number}.txt"))).unwrap();
    }
    set_second(&first, 1);
    let (flags, params) = (["--search-timeout-ms", "50"], json!({ "pattern": slow() }));
    let start = Instant::now();
    let nothing = grep_with(&sandbox, &flags, &params);
    let message = "The search was stopped after 50ms, and nothing for this page was found by then.";
    assert_eq!(
        timeless(nothing),
        json!({
            "status": "error", "data": {}, "stats": { "time_ms": null },
            "text": format!("{message}\nNarrow path, include, or raise the setting search_timeout_ms."),
            "context": { "cwd": ".", "params_input": params, "path_resolved": "." },
            "error": { "code": "TIMEOUT", "message": message },
        })
    );
    put(&sandbox, "new.txt", 9, "lorem ipsum 7\n");
    // Long enough to list the files on a busy machine, and still far too short to search them.
    let some = grep_with(&sandbox, &["--search-timeout-ms", "500"], &params);
    assert_eq!(
        (
            &some["status"],
            &some["data"]["aborted_reason"],
            places(&some)
        ),
        (
            &json!("partial"),
            &json!("timeout"),
            vec!["new.txt:1".to_owned()]
        )
    );
    assert_eq!(some["data"]["total_is_lower_bound"], true);
    assert_eq!(
        remarks(&some),
        [
            "[At least 1 matches: counting stopped early.]",
            "[Next: offset 1]",
            "[Partial: stopped by the time limit of 500ms; there may be more.]",
        ]
    );
    // Both searches together; by themselves they would take many seconds.
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_file_that_the_time_limit_cuts_short_is_no_unreadable_file() {
    let sandbox = Sandbox::new();
    sandbox.write("big.txt", dull().repeat(48));
    let params = json!({ "pattern": slow(), "path": "big.txt" });
    for _ in 0..5 {
        let envelope = grep_with(&sandbox, &["--search-timeout-ms", "10"], &params);
        assert_eq!(envelope["error"]["code"], "TIMEOUT", "{envelope:#}");
    }
}

#[test]
fn running_out_of_time_is_never_no_match() {
    let sandbox = Sandbox::new();
    // Each line takes the backtracking engine a while, and the first one matches.
    let slow = format!("{}b\n", "a".repeat(2_000)).repeat(250);
    put(&sandbox, "slow.txt", 1, format!("needle\n{slow}needle\n"));
    for mode in ["content", "count"] {
        let params = json!({ "pattern": "((?=a)a+)+$|(?=n)needle", "output_mode": mode });
        let found = grep_with(&sandbox, &["--search-timeout-ms", "300"], &params);
        let is_told = match found["status"].as_str().unwrap() {
            "error" => found["error"]["code"] == "TIMEOUT",
            "partial" => {
                found["data"]["aborted_reason"] == "timeout" || found["data"]["num_files"] == 1
            }
            _ => false,
        };
        let text = found["text"].as_str().unwrap();
        assert!(is_told && !text.starts_with("No matches"), "{mode}: {text}");
    }
}

#[test]
fn empty_matches_of_the_fallback_go_on_behind_wide_characters() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, "é\né\né\n");
    let found = grep(&sandbox, &json!({ "pattern": "(?=é)", "multiline": true }));
    assert_eq!(places(&found), ["a.txt:1", "a.txt:2", "a.txt:3"]);
}
