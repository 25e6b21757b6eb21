//! `Grep` as an agent calls it: whole answers, order, pages, limits, patterns and time.
//!
//! What it finds in difficult trees is in `grep_tree.rs`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use overspill::Encoding;
use serde_json::{Value, json};

use crate::support::{Sandbox, make_fifo, seq, timeless, valid_envelope};

const HINT: &str =
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

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter()
        .map(|item| item.as_str().expect("a text").to_owned())
        .collect()
}

/// What follows the first lines of the text.
fn body(envelope: &Value) -> &str {
    let text = envelope["text"].as_str().unwrap();
    text.split_once("\n\n").map_or("", |(_, body)| body)
}

fn remarks(envelope: &Value) -> Vec<&str> {
    let text = envelope["text"].as_str().unwrap();
    let head = text.split_once("\n\n").map_or(text, |(head, _)| head);
    head.lines().skip(2).collect()
}

/// A small project: three files, the newest first by name from `c` to `a`.
fn project() -> Sandbox {
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

fn context(params: &Value, resolved: &str) -> Value {
    json!({
        "cwd": ".", "params_input": params, "path_resolved": resolved, "pattern": params["pattern"],
        "sorted_by": "mtime_desc", "truncation_skip": true,
    })
}

fn stats(files: u64, lines: u64, searched: u64) -> Value {
    json!({ "time_ms": null, "matched_files": files, "matched_lines": lines, "searched_files": searched })
}

fn found(file: &str, line: u64, text: &str) -> Value {
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

#[test]
fn newest_files_come_first_and_those_of_one_moment_by_path() {
    let sandbox = Sandbox::new();
    let files = [
        ("z/old.txt", 1),
        ("b/same.txt", 5),
        ("a.txt", 5),
        ("b.txt", 5),
        ("B.txt", 5),
        ("b/a/same.txt", 5),
        ("new.txt", 9),
    ];
    for (path, second) in files {
        put(&sandbox, path, second, "hit\nhit\n");
    }
    // Less than a second apart counts too.
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_005, 1);
    let path = sandbox.write("nanosecond.txt", "hit\nhit\n");
    File::open(path).unwrap().set_modified(time).unwrap();
    let expected = [
        "new.txt",
        "nanosecond.txt",
        "B.txt",
        "a.txt",
        "b.txt",
        "b/a/same.txt",
        "b/same.txt",
        "z/old.txt",
    ];
    let lines: Vec<String> = expected
        .iter()
        .flat_map(|file| [format!("{file}:1"), format!("{file}:2")])
        .collect();
    for _ in 0..5 {
        assert_eq!(places(&grep(&sandbox, &json!({ "pattern": "hit" }))), lines);
    }
    for mode in ["files_with_matches", "count"] {
        let envelope = grep(&sandbox, &json!({ "pattern": "hit", "output_mode": mode }));
        assert_eq!(strings(&envelope["data"]["filenames"]), expected, "{mode}");
    }
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

/// Follows `next_offset` from the first page to the last.
#[track_caller]
fn all_pages(sandbox: &Sandbox, flags: &[&str], params: &Value) -> Vec<Value> {
    let mut params = params.clone();
    let mut pages = Vec::new();
    let mut offset = 0;
    loop {
        params["offset"] = offset.into();
        let page = grep_with(sandbox, flags, &params);
        let next = page["data"]["next_offset"].as_u64();
        pages.push(page);
        let Some(next) = next else { return pages };
        assert!(
            next > offset,
            "page at {offset} goes on at {next}: {params} {flags:?}"
        );
        offset = next;
    }
}

#[test]
fn pages_show_each_match_once_and_none_twice() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(1);
    let mut files: Vec<(u64, String, Vec<usize>)> = Vec::new();
    for number in 0..30 {
        let path = format!("{}/f{number}.txt", ["a", "b", "b/c"][dice.below(3)]);
        let lines = dice.below(8);
        let text: Vec<&str> = (0..lines)
            .map(|_| *dice.pick(&["hit", "miss", "a hit"]))
            .collect();
        let second = dice.below(6) as u64;
        put(&sandbox, &path, second, text.join("\n"));
        let hits = (0..lines)
            .filter(|&at| text[at].contains("hit"))
            .map(|at| at + 1);
        files.push((second, path, hits.collect()));
    }
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    files.retain(|(_, _, hits)| !hits.is_empty());
    let names: Vec<&String> = files.iter().map(|(_, path, _)| path).collect();
    let lines: Vec<String> = files
        .iter()
        .flat_map(|(_, path, hits)| hits.iter().map(move |line| format!("{path}:{line}")))
        .collect();
    assert!(lines.len() > 40 && names.len() > 15, "{lines:?}");

    for (limit, total) in [(2, true), (3, false), (7, true), (1000, false)] {
        let pages = |mode: &str| {
            let params =
                json!({ "pattern": "hit", "limit": limit, "output_mode": mode, "total": total });
            all_pages(&sandbox, &[], &params)
        };
        let found: Vec<String> = pages("content").iter().flat_map(places).collect();
        assert_eq!(found, lines, "limit {limit}, total {total}");
        for mode in ["files_with_matches", "count"] {
            let pages = pages(mode);
            let found: Vec<String> = pages
                .iter()
                .flat_map(|page| strings(&page["data"]["filenames"]))
                .collect();
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                names,
                "{mode}, limit {limit}, total {total}"
            );
        }
        // Neighbours change nothing about the matches.
        let params = json!({ "pattern": "hit", "limit": limit, "context": 2 });
        let found: Vec<String> = all_pages(&sandbox, &[], &params)
            .iter()
            .flat_map(places)
            .collect();
        assert_eq!(found, lines, "limit {limit} with neighbours");
    }
}

#[test]
fn count_fills_its_page_with_files_without_a_total() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        put(
            &sandbox,
            &format!("f{number:02}.txt"),
            100 - number,
            "hit\n".repeat(50),
        );
    }
    let params = json!({ "pattern": "hit", "output_mode": "count", "limit": 10, "total": false });
    let envelope = grep(&sandbox, &params);
    let expected: Vec<Value> = (0..10)
        .map(|number| json!({ "file": format!("f{number:02}.txt"), "count": 50 }))
        .collect();
    assert_eq!(envelope["data"]["counts"], json!(expected));
    assert_eq!(
        (
            &envelope["data"]["truncated"],
            &envelope["data"]["next_offset"]
        ),
        (&json!(true), &json!(10))
    );
}

#[test]
fn without_a_total_the_numbers_are_a_lower_bound() {
    let sandbox = Sandbox::new();
    for number in 0..200 {
        put(
            &sandbox,
            &format!("f{number:03}.txt"),
            1000 - number,
            "hit\n",
        );
    }
    let params = |total: bool| json!({ "pattern": "hit", "limit": 3, "total": total });
    let (all, some) = (
        grep(&sandbox, &params(true)),
        grep(&sandbox, &params(false)),
    );
    assert_eq!(all["data"]["matches"], some["data"]["matches"]);
    assert_eq!(
        (
            &all["data"]["total_lines_before_truncation"],
            all["data"].get("total_is_lower_bound")
        ),
        (&json!(200), None)
    );
    let seen = some["data"]["total_lines_before_truncation"]
        .as_u64()
        .unwrap();
    assert!((4..=200).contains(&seen), "{seen}");
    assert_eq!(some["data"]["total_is_lower_bound"], true);
    assert_eq!(
        remarks(&some),
        [
            &format!("[At least {seen} matches: counting stopped early.]"),
            "[Truncated: Showing first 3 matches. Narrow pattern or path.]",
            "[Next: offset 3]",
        ]
    );
    // All that there is was seen: that is no lower bound.
    let few = grep(
        &sandbox,
        &json!({ "pattern": "hit", "path": "f007.txt", "total": false }),
    );
    assert_eq!(few["data"].get("total_is_lower_bound"), None);
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

/// Forty matches in four files, lines short and long, with characters of one to four bytes.
fn long_lines() -> Sandbox {
    let sandbox = Sandbox::new();
    for file in 0..4 {
        let line = |n: usize| {
            format!(
                "hit {n} {}\n",
                ["x", "é", "漢", "🦀"][n % 4].repeat(n * 7 % 150)
            )
        };
        let text: String = (0..10).map(line).collect();
        put(&sandbox, &format!("src/f{file}.txt"), 9 - file, text);
    }
    sandbox
}

#[test]
fn content_is_cut_by_each_limit_and_pages_reach_the_rest() {
    let sandbox = long_lines();
    let all = places(&grep(&sandbox, &json!({ "pattern": "hit" })));
    assert_eq!(all.len(), 40);
    let sets: &[&[&str]] = &[
        &["--max-lines", "7"],
        &["--max-line-chars", "60"],
        &["--max-chars", "140"],
        &["--max-tokens", "150"],
        &["--max-bytes", "700"],
        &[
            "--max-lines",
            "9",
            "--max-line-chars",
            "50",
            "--max-chars",
            "300",
            "--max-tokens",
            "100",
        ],
        &[
            "--max-lines",
            "3",
            "--max-line-chars",
            "2000",
            "--max-chars",
            "262144",
            "--max-tokens",
            "25000",
        ],
    ];
    for flags in sets {
        let limit = |name: &str| {
            let at = flags.iter().position(|flag| *flag == name)?;
            flags[at + 1].parse::<usize>().ok()
        };
        let pages = all_pages(&sandbox, flags, &json!({ "pattern": "hit" }));
        for page in &pages {
            let (data, body) = (&page["data"], body(page));
            let within = |name: &str, size: usize| {
                assert!(
                    limit(name).is_none_or(|max| size <= max),
                    "{name}: {size} {flags:?}"
                );
            };
            within("--max-lines", body.lines().count());
            within("--max-bytes", body.len());
            within("--max-chars", body.chars().count());
            within("--max-tokens", Encoding::O200k.count(body) as usize);
            for line in body.lines() {
                within("--max-line-chars", line.chars().count());
            }
            let matches = data["matches"].as_array().unwrap();
            assert!(!matches.is_empty(), "a page is never empty: {flags:?}");
            let lines: Vec<String> = matches
                .iter()
                .map(|found| {
                    let [file, text] = ["file", "text"].map(|key| found[key].as_str().unwrap());
                    format!("{file}:{}: {text}", found["line"])
                })
                .collect();
            assert_eq!(
                lines.join("\n"),
                body,
                "data and text show the same: {flags:?}"
            );
            assert_eq!(
                (&data["num_lines"], &data["total_lines_before_truncation"]),
                (&json!(matches.len()), &json!(40))
            );
            let offset = page["context"]["params_input"]["offset"].as_u64().unwrap();
            let next = (offset + matches.len() as u64).into();
            let is_last = next == json!(40);
            assert_eq!(
                data.get("next_offset"),
                (!is_last).then_some(&next),
                "{flags:?}"
            );
            let is_shortened = matches
                .iter()
                .any(|found| found["text"].as_str().unwrap().ends_with("..."));
            let is_truncated = !is_last || is_shortened;
            assert_eq!(data["truncated"], is_truncated, "{flags:?}");
            assert_eq!(
                data.get("hint"),
                is_truncated.then_some(&json!(HINT)),
                "{flags:?}"
            );
            assert_eq!(
                page["status"],
                if is_truncated { "partial" } else { "success" },
                "{flags:?}"
            );
        }
        let found: Vec<String> = pages.iter().flat_map(places).collect();
        assert_eq!(found, all, "{flags:?}");
    }
    assert_eq!(
        sandbox.stored(),
        [] as [String; 0],
        "what a page leaves out is not spilled"
    );
}

#[test]
fn the_limits_of_content_hold_by_default() {
    let sandbox = Sandbox::new();
    put(&sandbox, "many.txt", 3, "hit\n".repeat(3000));
    put(
        &sandbox,
        "wide.txt",
        2,
        format!("hit {}\n", "w".repeat(5000)),
    );
    put(
        &sandbox,
        "chars.txt",
        1,
        format!("hit {}\n", "é ".repeat(900)).repeat(400),
    );
    let page = |path: &str| {
        grep(
            &sandbox,
            &json!({ "pattern": "hit", "path": path, "limit": 100_000 }),
        )
    };
    let many = page("many.txt");
    assert_eq!(
        (places(&many).len(), &many["data"]["next_offset"]),
        (2000, &json!(2000))
    );
    let wide = page("wide.txt");
    let text = body(&wide);
    assert!(
        text.ends_with("www...") && text.chars().count() <= 2000,
        "{text}"
    );
    assert_eq!(
        remarks(&wide),
        ["[Truncated: 1 lines of over 2000 characters are shortened.]"]
    );
    assert_eq!(
        (&wide["data"]["truncated"], &wide["data"]["hint"]),
        (&json!(true), &json!(HINT))
    );
    assert_eq!(wide["data"].get("next_offset"), None);
    let chars = page("chars.txt");
    let text = body(&chars);
    assert!(text.chars().count() <= 262_144 && Encoding::O200k.count(text) <= 25_000);
    assert_eq!(chars["data"]["truncated"], true);
}

#[test]
fn a_long_line_is_shortened_around_its_match() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.js",
        1,
        format!("{}needle{}\n", "a;".repeat(40_000), "b;".repeat(40_000)),
    );
    let envelope = grep(&sandbox, &json!({ "pattern": "needle" }));
    let text = envelope["data"]["matches"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("...") && text.contains(";needleb;") && text.ends_with("..."),
        "{text}"
    );
    assert!(body(&envelope).chars().count() <= 2000);
}

#[test]
fn neighbours_never_push_the_match_off_its_page() {
    let sandbox = Sandbox::new();
    let around = "before\n".repeat(30);
    put(
        &sandbox,
        "a.txt",
        1,
        format!("{around}hit 1\n{around}hit 2\n{around}"),
    );
    for flags in [
        &["--max-lines", "3"],
        &["--max-chars", "60"],
        &["--max-tokens", "20"],
    ] {
        let params = json!({ "pattern": "hit", "context": 20 });
        let found: Vec<String> = all_pages(&sandbox, flags, &params)
            .iter()
            .flat_map(places)
            .collect();
        assert_eq!(found, ["a.txt:31", "a.txt:62"], "{flags:?}");
    }
}

#[test]
fn a_line_limit_below_the_path_treats_all_lines_alike() {
    let sandbox = Sandbox::new();
    put(&sandbox, "src/a_long_name.txt", 1, "hit\nhit\nhit\n");
    let envelope = grep_with(
        &sandbox,
        &["--max-line-chars", "10"],
        &json!({ "pattern": "hit" }),
    );
    let texts: BTreeSet<String> = envelope["data"]["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["text"].to_string())
        .collect();
    assert_eq!(texts.len(), 1, "{envelope:#}");
    assert_eq!(envelope["data"]["truncated"], true);
    assert_eq!(
        remarks(&envelope),
        ["[Truncated: 3 lines of over 10 characters are shortened.]"]
    );
}

#[test]
fn lists_of_files_are_not_cut_by_the_limits_of_content() {
    let sandbox = Sandbox::new();
    for number in 0..60 {
        put(
            &sandbox,
            &format!("a_longer_name_{number:02}.txt"),
            1,
            "hit\nhit\n",
        );
    }
    for mode in ["files_with_matches", "count"] {
        let params = json!({ "pattern": "hit", "output_mode": mode });
        let expected = timeless(grep(&sandbox, &params));
        assert_eq!(expected["data"]["num_files"], 60);
        for flags in [
            ["--max-lines", "3"],
            ["--max-line-chars", "10"],
            ["--max-chars", "100"],
            ["--max-tokens", "5"],
        ] {
            assert_eq!(
                timeless(grep_with(&sandbox, &flags, &params)),
                expected,
                "{mode} {flags:?}"
            );
        }
    }
    assert_eq!(sandbox.stored(), [] as [String; 0]);
}

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
fn context_that_the_limits_drop_is_told() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, format!("hit\n{}", "x\n".repeat(50)));
    let found = grep_with(
        &sandbox,
        &["--max-lines", "10"],
        &json!({ "pattern": "hit", "after": 40 }),
    );
    assert_eq!(
        (
            &found["status"],
            &found["data"]["truncated"],
            found["data"].get("next_offset")
        ),
        (&json!("partial"), &json!(true), None)
    );
    assert_eq!(
        remarks(&found),
        ["[Truncated: not all lines of context are shown.]"]
    );
}

#[test]
fn empty_matches_of_the_fallback_go_on_behind_wide_characters() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, "é\né\né\n");
    let found = grep(&sandbox, &json!({ "pattern": "(?=é)", "multiline": true }));
    assert_eq!(places(&found), ["a.txt:1", "a.txt:2", "a.txt:3"]);
}

#[test]
fn large_files_are_read_once_and_their_pages_are_the_same() {
    let sandbox = Sandbox::new();
    let line = |n: usize| {
        format!(
            "{} {}\n",
            if n % 1000 == 500 { "hit" } else { "dull" },
            "x".repeat(200)
        )
    };
    let large: String = (0..12_000).map(line).collect();
    for name in ["a.txt", "b.txt", "c.txt"] {
        put(&sandbox, name, 1, &large);
    }
    let whole = grep(&sandbox, &json!({ "pattern": "hit", "context": 1 }));
    assert_eq!(whole["data"]["matches"].as_array().unwrap().len(), 36);
    let mut paged = Vec::new();
    for offset in (0..36).step_by(5) {
        let page = grep(
            &sandbox,
            &json!({ "pattern": "hit", "context": 1, "limit": 5, "offset": offset }),
        );
        let text = page["text"].as_str().unwrap();
        let shown = text.split_once("\n\n").unwrap().1;
        let near = shown.lines().filter(|line| *line != "--").count();
        let matches = page["data"]["matches"].as_array().unwrap().clone();
        assert_eq!(
            near,
            3 * matches.len(),
            "each match has its two neighbours, and no other line is there"
        );
        paged.extend(matches);
    }
    assert_eq!(json!(paged), whole["data"]["matches"]);
}

#[test]
fn within_one_large_file_the_search_stops_when_the_page_is_known() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "big.txt",
        1,
        "a line to be found\n".repeat(400_000),
    );
    let page = |params: &Value| grep(&sandbox, params);
    let first = page(&json!({ "pattern": "found", "limit": 2, "total": false }));
    let data = &first["data"];
    assert_eq!(
        (
            &data["truncated"],
            &data["next_offset"],
            &data["total_is_lower_bound"]
        ),
        (&json!(true), &json!(2), &json!(true))
    );
    assert!(first["stats"]["matched_lines"].as_u64().unwrap() < 100);
    let far = page(&json!({ "pattern": "found", "limit": 2, "offset": 300_000, "total": false }));
    assert_eq!(places(&far), ["big.txt:300001", "big.txt:300002"]);
    let last = page(&json!({ "pattern": "found", "limit": 9, "offset": 399_998, "total": false }));
    assert_eq!(
        (
            last["data"].get("next_offset"),
            last["data"].get("total_is_lower_bound")
        ),
        (None, None)
    );
}

#[test]
fn a_line_that_does_not_fit_is_on_the_next_page() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "l.txt",
        1,
        format!("needle short\nneedle {}\nneedle end\n", "long ".repeat(30)),
    );
    let first = grep_with(
        &sandbox,
        &["--max-chars", "50"],
        &json!({ "pattern": "needle" }),
    );
    assert_eq!(
        first["data"]["matches"],
        json!([{ "file": "l.txt", "line": 1, "text": "needle short" }])
    );
    let second = grep_with(
        &sandbox,
        &["--max-chars", "50"],
        &json!({ "pattern": "needle", "offset": 1 }),
    );
    let shown = second["data"]["matches"][0]["text"].as_str().unwrap();
    assert!(
        shown.starts_with("needle long") && shown.ends_with("..."),
        "{shown}"
    );
    assert_eq!(second["data"]["next_offset"], 2);
}

#[test]
fn a_match_that_fits_on_no_page_is_shown_without_its_neighbours() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        "ctx line\nfoo 123456789012345678901234567890\n",
    );
    for flags in [
        ["--max-chars", "30"],
        ["--max-tokens", "12"],
        ["--max-chars", "40"],
    ] {
        let found = grep_with(&sandbox, &flags, &json!({ "pattern": "foo", "before": 1 }));
        assert_eq!(places(&found), ["a.txt:2"], "{flags:?}");
        assert_eq!(found["data"]["truncated"], true);
    }
}

#[test]
fn neighbours_of_a_match_on_the_next_page_stay_there() {
    let sandbox = Sandbox::new();
    put(&sandbox, "a.txt", 1, "foo 1\na\nb\nc\nfoo 2\n");
    let found = grep_with(
        &sandbox,
        &["--max-lines", "3"],
        &json!({ "pattern": "foo", "before": 1 }),
    );
    let text = found["text"].as_str().unwrap();
    assert!(text.ends_with("\n\na.txt:1: foo 1"), "{text}");
    assert_eq!(found["data"]["next_offset"], 1);
}

#[test]
fn a_page_without_room_is_no_page_without_time() {
    let sandbox = Sandbox::new();
    put(
        &sandbox,
        "a.txt",
        1,
        format!("foo {}\n", "x".repeat(1200)).repeat(1500),
    );
    for total in [false, true] {
        let found = grep(
            &sandbox,
            &json!({ "pattern": "foo", "total": total, "limit": 1400 }),
        );
        let data = &found["data"];
        assert_eq!(
            (data.get("aborted_reason"), &data["truncated"]),
            (None, &json!(true))
        );
        assert_eq!(
            data["next_offset"].as_u64().unwrap(),
            data["matches"].as_array().unwrap().len() as u64
        );
    }
}

#[test]
fn a_line_of_wide_characters_within_the_limit_is_whole() {
    let sandbox = Sandbox::new();
    let line = format!("START{} needle", "é".repeat(1500));
    put(&sandbox, "a.txt", 1, format!("{line}\n"));
    let found = grep(&sandbox, &json!({ "pattern": "needle" }));
    assert_eq!(
        (&found["status"], &found["data"]["matches"][0]["text"]),
        (&json!("success"), &json!(line))
    );
}

#[test]
fn neighbours_leave_the_match_of_a_large_file_its_room() {
    let sandbox = Sandbox::new();
    let dull = format!("{}\n", "y".repeat(150)).repeat(9_000);
    put(&sandbox, "a.txt", 1, format!("{dull}hit\n{dull}"));
    for total in [false, true] {
        let params = json!({ "pattern": "hit", "context": 2, "total": total });
        let found = grep_with(&sandbox, &["--max-chars", "40"], &params);
        assert_eq!(places(&found), ["a.txt:9001"]);
    }
}
