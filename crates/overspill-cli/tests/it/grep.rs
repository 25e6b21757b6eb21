//! `Grep` as an agent calls it: whole answers, wrong calls, which files are searched.
//!
//! Its pages are in `grep_pages.rs`, its patterns in `grep_patterns.rs`; what it finds in difficult trees is in `grep_tree.rs`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Sandbox, make_fifo, seq, timeless, valid_envelope};

pub(crate) const HINT: &str =
    "Results truncated. Use more specific pattern, add include filter, or use offset parameter.";
const PARAMETERS: &str = "Parameters of Grep: pattern, path, include, case_sensitive, output_mode, context, before, after, \
    limit, offset, total, multiline, hidden, no_ignore.";

/// Calls `Grep` with flags before the call.
#[track_caller]
pub(crate) fn grep_with(sandbox: &Sandbox, flags: &[&str], params: &Value) -> Value {
    sandbox.call(flags, "Grep", params)
}

#[track_caller]
pub(crate) fn grep(sandbox: &Sandbox, params: &Value) -> Value {
    grep_with(sandbox, &[], params)
}

/// Writes a file that was modified in the given second.
pub(crate) fn put(sandbox: &Sandbox, path: &str, second: u64, content: impl AsRef<[u8]>) {
    set_second(&sandbox.write(path, content), second);
}

pub(crate) fn set_second(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// The matches of an answer as `file:line`.
pub(crate) fn places(envelope: &Value) -> Vec<String> {
    let matches = envelope["data"]["matches"].as_array();
    let matches = matches.unwrap_or_else(|| panic!("no matches: {envelope:#}"));
    let place = |found: &Value| format!("{}:{}", found["file"].as_str().unwrap(), found["line"]);
    matches.iter().map(place).collect()
}

pub(crate) fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter()
        .map(|item| item.as_str().expect("a text").to_owned())
        .collect()
}

/// What follows the first lines of the text.
pub(crate) fn body(envelope: &Value) -> &str {
    let text = envelope["text"].as_str().unwrap();
    text.split_once("\n\n").map_or("", |(_, body)| body)
}

pub(crate) fn remarks(envelope: &Value) -> Vec<&str> {
    let text = envelope["text"].as_str().unwrap();
    let head = text.split_once("\n\n").map_or(text, |(head, _)| head);
    head.lines().skip(2).collect()
}

/// A small project: three files, the newest first by name from `c` to `a`.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "src/a.rs",
        1,
        "one\nhit a1\ntwo\nthree\nfour\nhit a2\n",
    );
    put(&sandbox, "src/b.rs", 2, "Hit b1\n");
    put(&sandbox, "docs/c.md", 3, "x\nhit c1\nhit c2\ny\n");
    sandbox
}

pub(crate) fn context(params: &Value, resolved: &str) -> Value {
    json!({
        "cwd": ".", "params_input": params, "path_resolved": resolved, "pattern": params["pattern"],
        "sorted_by": "mtime_desc", "truncation_skip": true,
    })
}

pub(crate) fn stats(files: u64, lines: u64, searched: u64) -> Value {
    json!({ "time_ms": null, "matched_files": files, "matched_lines": lines, "searched_files": searched })
}

pub(crate) fn found(file: &str, line: u64, text: &str) -> Value {
    json!({ "file": file, "line": line, "text": text })
}

#[test]
fn a_search_answers_with_every_match_newest_file_first() {
    let params = json!({ "pattern": "hit" });
    assert_eq!(
        timeless(grep(&project(), &params)),
        json!({
            "status": "success",
            "data": {
                "matches": [
                    found("docs/c.md", 2, "hit c1"), found("docs/c.md", 3, "hit c2"), found("src/b.rs", 1, "Hit b1"),
                    found("src/a.rs", 2, "hit a1"), found("src/a.rs", 6, "hit a2"),
                ],
                "num_files": 3, "filenames": ["docs/c.md", "src/b.rs", "src/a.rs"], "num_lines": 5, "truncated": false,
                "mode": "content", "total_lines_before_truncation": 5,
            },
            "text": "Found 5 matches in 3 files for 'hit' in '.'\n(Sorted by mtime desc. Took Tms)\n\n\
                docs/c.md:2: hit c1\ndocs/c.md:3: hit c2\nsrc/b.rs:1: Hit b1\nsrc/a.rs:2: hit a1\nsrc/a.rs:6: hit a2",
            "stats": stats(3, 5, 3),
            "context": context(&params, "."),
        })
    );
}

#[test]
fn nothing_found_is_a_success() {
    let params = json!({ "pattern": "HIT", "path": "src", "case_sensitive": true });
    assert_eq!(
        timeless(grep(&project(), &params)),
        json!({
            "status": "success",
            "data": {
                "matches": [], "num_files": 0, "filenames": [], "num_lines": 0, "truncated": false, "mode": "content",
                "total_lines_before_truncation": 0,
            },
            "text": "No matches found for 'HIT' in 'src'\n(Sorted by mtime desc. Took Tms)",
            "stats": stats(0, 0, 2),
            "context": context(&params, "src"),
        })
    );
}

#[test]
fn a_page_says_where_it_stands_and_how_to_go_on() {
    let sandbox = project();
    let page = |offset: u64| {
        timeless(grep(
            &sandbox,
            &json!({ "pattern": "hit", "limit": 2, "offset": offset }),
        ))
    };
    let data = |matches: &[Value], names: &[&str], next: Option<u64>| {
        let mut data = json!({
            "matches": matches, "num_files": names.len(), "filenames": names, "num_lines": matches.len(),
            "truncated": next.is_some(), "mode": "content", "total_lines_before_truncation": 5,
        });
        if let Some(next) = next {
            data["hint"] = HINT.into();
            data["next_offset"] = next.into();
        }
        data
    };
    let envelope = |offset: u64, data: Value, remarks: &str| {
        json!({
            "status": if data["truncated"] == true { "partial" } else { "success" },
            "data": data,
            "text": format!("Found 5 matches in 3 files for 'hit' in '.'\n(Sorted by mtime desc. Took Tms)\n{remarks}"),
            "stats": stats(3, 5, 3),
            "context": context(&json!({ "pattern": "hit", "limit": 2, "offset": offset }), "."),
        })
    };
    assert_eq!(
        page(0),
        envelope(
            0,
            data(
                &[
                    found("docs/c.md", 2, "hit c1"),
                    found("docs/c.md", 3, "hit c2")
                ],
                &["docs/c.md"],
                Some(2)
            ),
            "[Truncated: Showing first 2 matches. Narrow pattern or path.]\n[Next: offset 2]\n\n\
                docs/c.md:2: hit c1\ndocs/c.md:3: hit c2",
        )
    );
    assert_eq!(
        page(2),
        envelope(
            2,
            data(
                &[
                    found("src/b.rs", 1, "Hit b1"),
                    found("src/a.rs", 2, "hit a1")
                ],
                &["src/b.rs", "src/a.rs"],
                Some(4)
            ),
            "[Truncated: Showing matches 3-4. Narrow pattern or path.]\n[Next: offset 4]\n\n\
                src/b.rs:1: Hit b1\nsrc/a.rs:2: hit a1",
        )
    );
    assert_eq!(
        page(4),
        envelope(
            4,
            data(&[found("src/a.rs", 6, "hit a2")], &["src/a.rs"], None),
            "[Showing matches 5-5, the last.]\n\nsrc/a.rs:6: hit a2",
        )
    );
    for past in [5, 1000, u64::MAX] {
        let remark = format!("[Nothing at offset {past}: that is past the last.]");
        assert_eq!(page(past), envelope(past, data(&[], &[], None), &remark));
    }
}

#[test]
fn files_with_matches_lists_files() {
    let params = json!({ "pattern": "hit", "output_mode": "files_with_matches", "limit": 2 });
    let envelope = timeless(grep(&project(), &params));
    // How many lines match is not known in this mode, so the figure in `stats` is left aside.
    assert_eq!(envelope["stats"]["matched_files"], 3);
    let without_stats = json!({
        "status": envelope["status"], "data": envelope["data"], "text": envelope["text"], "context": envelope["context"],
    });
    assert_eq!(
        without_stats,
        json!({
            "status": "partial",
            "data": {
                "matches": [], "num_files": 2, "filenames": ["docs/c.md", "src/b.rs"], "truncated": true,
                "mode": "files_with_matches", "hint": HINT, "next_offset": 2,
            },
            "text": "Found 3 files with matches for 'hit' in '.'\n(Sorted by mtime desc. Took Tms)\n\
                [Truncated: Showing first 2 files. Narrow pattern or path.]\n[Next: offset 2]\n\ndocs/c.md\nsrc/b.rs",
            "context": context(&params, "."),
        })
    );
}

#[test]
fn count_counts_lines_per_file() {
    let params = json!({ "pattern": "hit", "output_mode": "count" });
    assert_eq!(
        timeless(grep(&project(), &params)),
        json!({
            "status": "success",
            "data": {
                "matches": [], "num_files": 3,
                "counts": [
                    { "file": "docs/c.md", "count": 2 }, { "file": "src/b.rs", "count": 1 }, { "file": "src/a.rs", "count": 2 },
                ],
                "filenames": ["docs/c.md", "src/b.rs", "src/a.rs"], "truncated": false, "mode": "count",
            },
            "text": "Found 5 matches in 3 files for 'hit' in '.'\n(Sorted by mtime desc. Took Tms)\n\n\
                docs/c.md: 2\nsrc/b.rs: 1\nsrc/a.rs: 2",
            "stats": stats(3, 5, 3),
            "context": context(&params, "."),
        })
    );
}

#[test]
fn neighbours_are_marked_and_groups_are_parted() {
    let sandbox = project();
    let params = json!({ "pattern": "hit", "context": 1 });
    assert_eq!(
        timeless(grep(&sandbox, &params)),
        json!({
            "status": "success",
            "data": {
                "matches": [
                    found("docs/c.md", 2, "hit c1"), found("docs/c.md", 3, "hit c2"), found("src/b.rs", 1, "Hit b1"),
                    found("src/a.rs", 2, "hit a1"), found("src/a.rs", 6, "hit a2"),
                ],
                "num_files": 3, "filenames": ["docs/c.md", "src/b.rs", "src/a.rs"], "num_lines": 10, "truncated": false,
                "mode": "content", "total_lines_before_truncation": 5,
            },
            "text": "Found 5 matches in 3 files for 'hit' in '.'\n(Sorted by mtime desc. Took Tms)\n\n\
                docs/c.md-1- x\ndocs/c.md:2: hit c1\ndocs/c.md:3: hit c2\ndocs/c.md-4- y\n--\n\
                src/b.rs:1: Hit b1\n--\n\
                src/a.rs-1- one\nsrc/a.rs:2: hit a1\nsrc/a.rs-3- two\n--\nsrc/a.rs-5- four\nsrc/a.rs:6: hit a2",
            "stats": stats(3, 5, 3),
            "context": context(&params, "."),
        })
    );
    let cases = [
        (
            json!({ "before": 1 }),
            "src/a.rs-1- one\nsrc/a.rs:2: hit a1\n--\nsrc/a.rs-5- four\nsrc/a.rs:6: hit a2",
        ),
        (
            json!({ "after": 1 }),
            "src/a.rs:2: hit a1\nsrc/a.rs-3- two\n--\nsrc/a.rs:6: hit a2",
        ),
        // `before` and `after` are the more specific.
        (
            json!({ "context": 1, "after": 0 }),
            "src/a.rs-1- one\nsrc/a.rs:2: hit a1\n--\nsrc/a.rs-5- four\nsrc/a.rs:6: hit a2",
        ),
        // Groups that touch are one.
        (
            json!({ "before": 3 }),
            "src/a.rs-1- one\nsrc/a.rs:2: hit a1\nsrc/a.rs-3- two\nsrc/a.rs-4- three\nsrc/a.rs-5- four\nsrc/a.rs:6: hit a2",
        ),
        // The neighbours of a page are those of its own matches.
        (
            json!({ "context": 1, "offset": 1 }),
            "src/a.rs-5- four\nsrc/a.rs:6: hit a2",
        ),
        (
            json!({ "context": 1, "limit": 1 }),
            "src/a.rs-1- one\nsrc/a.rs:2: hit a1\nsrc/a.rs-3- two",
        ),
        (json!({}), "src/a.rs:2: hit a1\nsrc/a.rs:6: hit a2"),
    ];
    for (mut params, expected) in cases {
        params["pattern"] = "hit".into();
        params["path"] = "src/a.rs".into();
        assert_eq!(body(&grep(&sandbox, &params)), expected, "{params}");
    }
}

#[test]
fn multiline_lets_a_match_span_lines() {
    let sandbox = project();
    let params = json!({ "pattern": "hit a1\\ntwo", "multiline": true, "path": "src" });
    assert_eq!(
        timeless(grep(&sandbox, &params)),
        json!({
            "status": "success",
            "data": {
                "matches": [found("src/a.rs", 2, "hit a1"), found("src/a.rs", 3, "two")],
                "num_files": 1, "filenames": ["src/a.rs"], "num_lines": 2, "truncated": false, "mode": "content",
                "total_lines_before_truncation": 2,
            },
            "text": "Found 2 matches in 1 files for 'hit a1\\ntwo' in 'src'\n(Sorted by mtime desc. Took Tms)\n\n\
                src/a.rs:2: hit a1\nsrc/a.rs:3: two",
            "stats": stats(1, 2, 2),
            "context": context(&params, "src"),
        })
    );
    let cases = [
        (
            "(?s)one.*three",
            vec!["src/a.rs:1", "src/a.rs:2", "src/a.rs:3", "src/a.rs:4"],
        ),
        ("^two$", vec!["src/a.rs:3"]),
        ("one.*three", vec![]),
        (
            "a1\\s+two\\s+three",
            vec!["src/a.rs:2", "src/a.rs:3", "src/a.rs:4"],
        ),
    ];
    for (pattern, expected) in cases {
        let params = json!({ "pattern": pattern, "multiline": true, "path": "src" });
        assert_eq!(places(&grep(&sandbox, &params)), expected, "{pattern}");
    }
}

#[test]
fn the_lines_of_the_first_design_come_out_the_same() {
    let sandbox = Sandbox::new();
    let before = "// line\n".repeat(41);
    put(
        &sandbox,
        "src/auth/User.ts",
        1,
        format!("{before}export class User {{\n"),
    );
    let params = json!({ "pattern": "class\\s+User", "path": "src" });
    let envelope = timeless(grep(&sandbox, &params));
    assert_eq!(
        envelope["text"],
        "Found 1 matches in 1 files for 'class\\s+User' in 'src'\n(Sorted by mtime desc. Took Tms)\n\n\
            src/auth/User.ts:42: export class User {"
    );
    assert_eq!(
        envelope["data"]["matches"],
        json!([found("src/auth/User.ts", 42, "export class User {")])
    );

    // Its other line needs more than a page of matches.
    put(&sandbox, "src/many.ts", 0, "class User {}\n".repeat(100));
    let envelope = timeless(grep(&sandbox, &params));
    let lines: Vec<&str> = envelope["text"].as_str().unwrap().lines().collect();
    assert_eq!(
        lines[..6],
        [
            "Found 101 matches in 2 files for 'class\\s+User' in 'src'",
            "(Sorted by mtime desc. Took Tms)",
            "[Truncated: Showing first 100 matches. Narrow pattern or path.]",
            "[Next: offset 100]",
            "",
            "src/auth/User.ts:42: export class User {",
        ]
    );
    assert_eq!(lines.len(), 5 + 100);
}

#[test]
fn a_wrong_call_is_told_in_the_words_of_the_contract() {
    let sandbox = project();
    make_fifo(&sandbox.root().join("fifo"));
    let check = |params: &Value, code: &str, message: &str, next: &str, resolved: Option<&str>| {
        let mut context = json!({ "cwd": ".", "params_input": params });
        if let Some(resolved) = resolved {
            context["path_resolved"] = resolved.into();
        }
        assert_eq!(
            timeless(grep(&sandbox, params)),
            json!({
                "status": "error", "data": {}, "text": format!("{message}\n{next}"), "stats": { "time_ms": null },
                "context": context, "error": { "code": code, "message": message },
            })
        );
    };
    let invalid = [
        (json!({}), "Missing required parameter 'pattern'."),
        (
            json!({ "pattern": null }),
            "Missing required parameter 'pattern'.",
        ),
        (
            json!({ "path": "src" }),
            "Missing required parameter 'pattern'.",
        ),
        (json!({ "pattern": 5 }), "pattern must be a string."),
        (
            json!({ "pattern": "x", "include": 5 }),
            "include must be a string if provided.",
        ),
        (
            json!({ "pattern": "x", "include": ["*.rs"] }),
            "include must be a string if provided.",
        ),
        (
            json!({ "pattern": "x", "path": 1 }),
            "path must be a string if provided.",
        ),
        (
            json!({ "pattern": "x", "case_sensitive": "yes" }),
            "case_sensitive must be a boolean if provided.",
        ),
        (
            json!({ "pattern": "x", "output_mode": "lines" }),
            "output_mode must be one of content, files_with_matches, count if provided.",
        ),
        (
            json!({ "pattern": "x", "limit": 0 }),
            "limit must be an integer of 1 or more if provided.",
        ),
        (
            json!({ "pattern": "x", "limit": 1.5 }),
            "limit must be an integer of 1 or more if provided.",
        ),
        (
            json!({ "pattern": "x", "offset": -1 }),
            "offset must be an integer of 0 or more if provided.",
        ),
        (
            json!({ "pattern": "x", "context": 1001 }),
            "context must be an integer from 0 to 1000 if provided.",
        ),
        (
            json!({ "patern": "x" }),
            "Unknown parameter 'patern'; the nearest known one is 'pattern'.",
        ),
        (
            json!({ "pattern": "x", "no_ignored": true }),
            "Unknown parameter 'no_ignored'; the nearest known one is 'no_ignore'.",
        ),
        (
            json!({ "pattern": "x", "Path": "src" }),
            "Unknown parameter 'Path'; the nearest known one is 'path'.",
        ),
    ];
    for (params, message) in invalid {
        check(&params, "INVALID_PARAM", message, PARAMETERS, None);
    }
    let escaping =
        "To search for characters such as ( [ . * as they are, put a backslash before each.";
    for (pattern, fault) in [
        ("a(", "unclosed group"),
        ("a)", "unopened group"),
        (
            "[z-a]",
            "invalid character class range, the start must be <= the end",
        ),
        ("*", "repetition operator missing expression"),
        ("\\p{Nonsense}", "Unicode property not found"),
    ] {
        let message = format!("Invalid regex pattern: {fault}");
        check(
            &json!({ "pattern": pattern }),
            "INVALID_PARAM",
            &message,
            escaping,
            None,
        );
    }
    check(
        &json!({ "pattern": "x", "include": "a[" }),
        "INVALID_PARAM",
        "Invalid include pattern: unclosed character class; missing ']'",
        "Use a glob such as '*.rs' or 'src/**/*.{ts,tsx}'.",
        None,
    );
    let path = "Check the path: it is relative to the project root.";
    for missing in ["missing", "src/missing", "src/a.rs/below"] {
        let message = format!("Search root '{missing}' does not exist.");
        check(
            &json!({ "pattern": "x", "path": missing }),
            "NOT_FOUND",
            &message,
            path,
            None,
        );
    }
    let message = "Search root 'fifo' is not a directory.";
    check(
        &json!({ "pattern": "x", "path": "fifo" }),
        "INVALID_PARAM",
        message,
        path,
        Some("fifo"),
    );
    check(
        &json!({ "pattern": "x", "path": "../home" }),
        "ACCESS_DENIED",
        "Access denied. Path must be within project root.",
        "Give a path below the project root, such as 'src'.",
        None,
    );
}

#[test]
fn parameters_that_are_no_object_are_told_too() {
    let sandbox = project();
    for (params, message) in [
        ("[1]", "The parameters must be a JSON object."),
        ("\"x\"", "The parameters must be a JSON object."),
        (
            "{\"pattern\":",
            "The parameters are not JSON: EOF while parsing a value at line 1 column 11",
        ),
    ] {
        let output = sandbox.run(&["call", "Grep", params]);
        let envelope = valid_envelope(&output);
        assert_eq!(
            envelope["error"],
            json!({ "code": "INVALID_PARAM", "message": message })
        );
        output.quietly(1);
    }
    let output = sandbox.pipe(&["call", "Grep", "-"], r#"{"pattern":"hit b1"}"#);
    assert_eq!(
        places(&valid_envelope(&output)),
        ["src/b.rs:1"],
        "parameters from stdin"
    );
}

#[test]
fn null_stands_for_a_parameter_that_is_not_given() {
    let sandbox = project();
    let params = json!({
        "pattern": "hit", "path": null, "include": null, "limit": null, "output_mode": null, "context": null, "total": null,
    });
    let mut envelope = timeless(grep(&sandbox, &params));
    envelope["context"]["params_input"] = json!({ "pattern": "hit" });
    assert_eq!(
        envelope,
        timeless(grep(&sandbox, &json!({ "pattern": "hit" })))
    );
}

#[test]
fn a_file_can_be_searched_by_its_path() {
    let sandbox = project();
    let params = json!({ "pattern": "hit", "path": "src/../src/a.rs" });
    let envelope = grep(&sandbox, &params);
    assert_eq!(envelope["context"], context(&params, "src/a.rs"));
    assert_eq!(places(&envelope), ["src/a.rs:2", "src/a.rs:6"]);
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

#[test]
fn include_chooses_files_as_agents_write_it() {
    let sandbox = Sandbox::new();
    let files = [
        "lib.rs",
        "src/lib.rs",
        "src/deep/er/mod.rs",
        "src/app.ts",
        "src/app.tsx",
        "web/src/app.ts",
        "web/readme.md",
        "Makefile",
        "src/Makefile",
        "a b.txt",
        ".hidden.rs",
    ];
    for file in files {
        put(&sandbox, file, 1, "hit\n");
    }
    let cases: &[(&str, &[&str])] = &[
        ("*.rs", &["lib.rs", "src/lib.rs", "src/deep/er/mod.rs"]),
        ("**/*.rs", &["lib.rs", "src/lib.rs", "src/deep/er/mod.rs"]),
        (
            "*.{ts,tsx}",
            &["src/app.ts", "src/app.tsx", "web/src/app.ts"],
        ),
        ("src/**/*.rs", &["src/lib.rs", "src/deep/er/mod.rs"]),
        (
            "src/**",
            &[
                "src/Makefile",
                "src/app.ts",
                "src/app.tsx",
                "src/deep/er/mod.rs",
                "src/lib.rs",
                "web/src/app.ts",
            ],
        ),
        ("Makefile", &["Makefile", "src/Makefile"]),
        ("*.t?", &["src/app.ts", "web/src/app.ts"]),
        ("[l]ib.rs", &["lib.rs", "src/lib.rs"]),
        ("a b.txt", &["a b.txt"]),
        (
            "!*.{rs,ts,tsx,md}",
            &["Makefile", "src/Makefile", "a b.txt"],
        ),
        ("*.RS", &[]),
        ("*.java", &[]),
    ];
    for (include, expected) in cases {
        let params =
            json!({ "pattern": "hit", "include": include, "output_mode": "files_with_matches" });
        let found: BTreeSet<String> = strings(&grep(&sandbox, &params)["data"]["filenames"])
            .into_iter()
            .collect();
        let expected: BTreeSet<String> = expected.iter().map(|&file| file.to_owned()).collect();
        assert_eq!(found, expected, "{include}");
    }
    let params = json!({ "pattern": "hit", "include": "*.ts", "path": "web" });
    assert_eq!(
        places(&grep(&sandbox, &params)),
        ["web/src/app.ts:1"],
        "below a path"
    );
}

#[test]
fn the_store_is_searched_only_when_it_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "needle in a note\n");
    let long = format!("{}needle in a spill\n", seq(50));
    sandbox
        .pipe(&["truncate", "--max-lines", "2"], &long)
        .quietly(0);
    let spill = sandbox.spills().remove(0);
    let name = spill.file_name().unwrap().to_str().unwrap();
    let shown = format!("tool-output/{name}");
    let id = name.split('_').nth(3).unwrap();
    let search = |path: &str, no_ignore: bool| {
        let params = json!({ "pattern": "needle", "path": path, "no_ignore": no_ignore, "hidden": no_ignore });
        places(&grep(&sandbox, &params))
    };
    for path in [".", "", "./", "tool-output/.."] {
        for no_ignore in [false, true] {
            assert_eq!(
                search(path, no_ignore),
                ["notes.txt:1"],
                "{path} {no_ignore}"
            );
        }
    }
    let expected = [format!("{shown}:51")];
    let absolute = spill.to_str().unwrap();
    for path in [
        &*shown,
        &*format!("./{shown}"),
        absolute,
        id,
        name,
        "tool-output",
        "tool-output/",
    ] {
        assert_eq!(search(path, false), expected, "{path}");
    }
    let envelope = grep(&sandbox, &json!({ "pattern": "needle", "path": id }));
    assert_eq!(envelope["context"]["path_resolved"], shown);
    // Not the whole id: that would be a guess.
    let envelope = grep(&sandbox, &json!({ "pattern": "needle", "path": id[..4] }));
    assert_eq!(envelope["error"]["code"], "NOT_FOUND");
}

#[test]
fn a_spill_outside_the_root_can_be_searched_and_nothing_beside_it() {
    let sandbox = Sandbox::new();
    let store = sandbox.outside().canonicalize().unwrap().join("elsewhere");
    let in_store = |arguments: &[&str], input: &str| {
        let mut command = sandbox.command(arguments);
        command.env("TOOL_OUTPUT_DIR", &store);
        sandbox.finish(command, input.as_bytes())
    };
    in_store(
        &["truncate", "--max-lines", "2"],
        &format!("{}needle\n", seq(50)),
    )
    .quietly(0);
    fs::write(store.join("private.txt"), "needle\n").unwrap();
    let names = crate::support::names(&store);
    let name = names.iter().find(|name| name.starts_with("tool_")).unwrap();
    let id = name.split('_').nth(3).unwrap();
    let spill = store.join(name);
    let search = |path: &str| {
        let params = json!({ "pattern": "needle", "path": path }).to_string();
        valid_envelope(&in_store(&["call", "Grep", &params], ""))
    };
    for path in [id, name, spill.to_str().unwrap()] {
        let envelope = search(path);
        assert_eq!(
            places(&envelope),
            [format!("{}:51", spill.display())],
            "{path}"
        );
    }
    for path in ["private.txt", ".gitignore"] {
        let envelope = search(store.join(path).to_str().unwrap());
        assert_eq!(envelope["error"]["code"], "ACCESS_DENIED", "{path}");
    }
}
