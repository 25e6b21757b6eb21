//! `Read`, `LS`, `Glob` and `RepoStructure`, as an agent calls them and as people do.

use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{PROGRAM, Sandbox, make_fifo, seq, set_age, valid_envelope};

/// Calls a tool; the envelope is checked, its times are masked.
fn call(sandbox: &Sandbox, tool: &str, params: Value) -> Value {
    call_with(sandbox, &[], tool, params)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a call reads best with its parameters in place"
)]
fn call_with(sandbox: &Sandbox, flags: &[&str], tool: &str, params: Value) -> Value {
    let params = params.to_string();
    let output = sandbox.run(&[flags, &["call", tool, &params]].concat());
    let mut envelope = valid_envelope(&output);
    let is_error = envelope["status"] == "error";
    assert_eq!(output.code, i32::from(is_error), "{envelope:#}");
    let took = envelope["stats"]["time_ms"].as_u64().unwrap();
    let text = envelope["text"].as_str().unwrap();
    envelope["text"] = text.replace(&format!("Took {took}ms"), "Took 0ms").into();
    envelope["stats"]["time_ms"] = 0.into();
    envelope
}

fn error(envelope: &Value) -> (&str, &str) {
    let text = |key: &str| envelope["error"][key].as_str().unwrap();
    (text("code"), text("message"))
}

fn text(envelope: &Value) -> &str {
    envelope["text"].as_str().unwrap()
}

#[test]
fn read_gives_a_whole_file() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.txt", "one\ntwo\n");
    assert_eq!(
        call(&sandbox, "Read", json!({ "path": "src/a.txt" })),
        json!({
            "status": "success",
            "data": { "content": "one\ntwo\n", "start_line": 1, "end_line": 2, "total_lines": 2, "truncated": false },
            "text": "Read all 2 lines of 'src/a.txt'.",
            "stats": { "time_ms": 0 },
            "context": {
                "cwd": ".",
                "params_input": { "path": "src/a.txt" },
                "path_resolved": "src/a.txt",
                "truncation_skip": true,
            },
        })
    );
    sandbox.write("empty", "");
    let empty = call(&sandbox, "Read", json!({ "file_path": "./src/../empty" }));
    assert_eq!(
        (&empty["data"]["content"], text(&empty)),
        (&json!(""), "'./src/../empty' is empty.")
    );
}

#[test]
fn read_pages() {
    let sandbox = Sandbox::new();
    sandbox.write("n.txt", seq(5000));
    let page = call(
        &sandbox,
        "Read",
        json!({ "path": "n.txt", "offset": 10, "limit": 2 }),
    );
    assert_eq!(page["status"], "success");
    assert_eq!(
        page["data"],
        json!({ "content": "10\n11\n", "start_line": 10, "end_line": 11, "total_lines": 5000, "truncated": false, "next_offset": 12 })
    );
    let first = call(&sandbox, "Read", json!({ "path": "n.txt" }));
    assert_eq!(first["status"], "partial");
    assert_eq!(
        text(&first),
        "Read lines 1-2000 of 5000 of 'n.txt'.\n[Next: offset 2001]"
    );
    let (mut offset, mut all) = (1, String::new());
    for _ in 0..10 {
        let page = call(
            &sandbox,
            "Read",
            json!({ "path": "n.txt", "offset": offset }),
        );
        all += page["data"]["content"].as_str().unwrap();
        match page["data"]["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(all, seq(5000));
    assert_eq!(sandbox.stored(), [""; 0], "nothing is spilled");
}

#[test]
fn every_limit_of_read_bites() {
    let sandbox = Sandbox::new();
    sandbox.write("n.txt", seq(100));
    sandbox.write("long.txt", format!("a\n{}\nb\n", "é".repeat(3000)));
    let read = |flags: &[&str], path: &str| {
        let page = call_with(&sandbox, flags, "Read", json!({ "path": path }));
        assert_eq!(
            (&page["status"], &page["data"]["truncated"]),
            (&json!("partial"), &json!(true))
        );
        page
    };
    let page = read(&["--max-lines", "3"], "n.txt");
    assert_eq!(page["data"]["content"], "1\n2\n3");
    assert_eq!(
        text(&page),
        "Read lines 1-3 of 100 of 'n.txt'.\n[Truncated: the limit on lines was reached.]\n[Next: offset 4]"
    );
    let page = read(&["--max-chars", "5"], "n.txt");
    assert_eq!(
        (&page["data"]["content"], &page["data"]["next_offset"]),
        (&json!("1\n2\n3"), &json!(4))
    );
    let page = read(&["--max-tokens", "4"], "n.txt");
    assert_eq!(
        (&page["data"]["content"], &page["data"]["next_offset"]),
        (&json!("1\n2"), &json!(3))
    );
    let page = read(&[], "long.txt");
    assert_eq!(
        page["data"]["content"],
        format!("a\n{}...\nb", "é".repeat(1997))
    );
    assert_eq!(
        text(&page),
        "Read all 3 lines of 'long.txt'.\n[Truncated: 1 lines of over 2000 characters are shortened.]\n\
         [For all of a long line, read it alone: offset LINE, column 1]"
    );
    let flags = ["--max-line-chars", "off", "--max-chars", "10"];
    let page = read(&flags, "long.txt");
    assert_eq!(
        (&page["data"]["content"], &page["data"]["next_offset"]),
        (&json!("a"), &json!(2))
    );
    let page = call_with(
        &sandbox,
        &flags,
        "Read",
        json!({ "path": "long.txt", "offset": 2 }),
    );
    assert_eq!(page["data"]["content"], "é".repeat(10));
    assert_eq!(
        text(&page),
        "Read lines 2-2 of 3 of 'long.txt'.\n[Truncated: line 2 alone is over the limits and is cut.]\n[Truncated: the limit on chars was reached.]\n\
         [For all of a long line, read it alone: offset LINE, column 1]\n[Next: offset 3]"
    );
    sandbox.write("blank.txt", format!("\n\n{}\n", "é".repeat(3000)));
    let page = read(&flags, "blank.txt");
    assert_eq!(
        page["data"]["content"],
        format!("\n\n{}", "é".repeat(8)),
        "never an empty page"
    );
    let output = sandbox.run(&[
        "--max-result-chars",
        "600",
        "call",
        "Read",
        r#"{"path": "n.txt"}"#,
    ]);
    let page = valid_envelope(&output);
    let content = page["data"]["content"].as_str().unwrap();
    assert!(
        output.text().trim_end().len() <= 600 && content.starts_with("1\n2\n3\n4\n5\n"),
        "{page}"
    );
}

#[test]
fn a_long_line_is_read_part_by_part() {
    let sandbox = Sandbox::new();
    let long: String = (0..3_000).map(|n| format!("{n}é中\u{1f600}")).collect();
    sandbox.write("long.json", format!("first\n{long}\r\nlast\n"));
    let whole = call(&sandbox, "Read", json!({ "path": "long.json" }));
    assert!(text(&whole).contains("offset LINE, column 1"), "{whole}");

    let (mut column, mut read, mut pages) = (1, String::new(), 0);
    loop {
        let params = json!({ "path": "long.json", "offset": 2, "column": column });
        let page = call_with(&sandbox, &["--max-chars", "5000"], "Read", params);
        let content = page["data"]["content"].as_str().unwrap();
        assert!(content.chars().count() <= 5_000 && !content.is_empty());
        read += content;
        pages += 1;
        match page["data"]["next_column"].as_u64() {
            Some(next) => column = next,
            None => {
                assert_eq!(page["data"]["next_offset"], 3, "{page}");
                break;
            }
        }
    }
    assert!(pages > 2);
    assert_eq!(read.trim_end(), long);

    let past = json!({ "path": "long.json", "offset": 1, "column": 9 });
    assert_eq!(
        error(&call(&sandbox, "Read", past)),
        (
            "INVALID_PARAM",
            "column 9 is past the end of line 1 of 'long.json', which has 5 characters."
        )
    );
    let past = call(
        &sandbox,
        "Read",
        json!({ "path": "long.json", "offset": 9, "column": 1 }),
    );
    assert_eq!(error(&past).0, "INVALID_PARAM");
    let zero = call(
        &sandbox,
        "Read",
        json!({ "path": "long.json", "column": 0 }),
    );
    assert_eq!(error(&zero).0, "INVALID_PARAM");
}

#[test]
fn read_gives_up_on_a_line_that_is_too_far() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("sparse", seq(3000));
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(1 << 40).unwrap();
    let flags = ["--search-timeout-ms", "100"];
    let far = call_with(
        &sandbox,
        &flags,
        "Read",
        json!({ "path": "sparse", "offset": 5000 }),
    );
    assert_eq!(
        error(&far),
        (
            "TIMEOUT",
            "'sparse' was read for 100ms and line 5000 was not reached."
        )
    );
    let near = call_with(
        &sandbox,
        &flags,
        "Read",
        json!({ "path": "sparse", "offset": 2999, "limit": 3 }),
    );
    assert_eq!(
        (&near["status"], &near["data"]["aborted_reason"]),
        (&json!("partial"), &json!("timeout"))
    );
    assert_eq!(
        near["data"]["content"].as_str().unwrap().lines().next(),
        Some("2999")
    );
    let counted = call_with(
        &sandbox,
        &flags,
        "Read",
        json!({ "path": "sparse", "offset": 1, "limit": 3 }),
    );
    assert_eq!(
        (&counted["status"], &counted["data"]["total_is_lower_bound"]),
        (&json!("success"), &json!(true))
    );
}

#[test]
fn read_refuses_what_it_cannot_read() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/x", "x\n");
    sandbox.write("bin", b"ELF\0\x01\x02");
    make_fifo(&sandbox.root().join("fifo"));
    let cases = [
        ("dir", 1, "IS_DIRECTORY", "'dir' is a directory."),
        (
            "bin",
            1,
            "BINARY_FILE",
            "'bin' is binary (6 bytes) and was not read.",
        ),
        ("fifo", 1, "INVALID_PARAM", "'fifo' is not a regular file."),
        (
            "/dev/zero",
            1,
            "ACCESS_DENIED",
            "Access denied. Path must be within project root.",
        ),
        ("none", 1, "NOT_FOUND", "'none' does not exist."),
        ("dir/x/y", 1, "NOT_FOUND", "'dir/x/y' does not exist."),
        (
            "dir/x",
            5,
            "INVALID_PARAM",
            "offset 5 is past the end: 'dir/x' has 1 lines.",
        ),
    ];
    for (path, offset, code, message) in cases {
        let refused = call(&sandbox, "Read", json!({ "path": path, "offset": offset }));
        assert_eq!(error(&refused), (code, message));
        assert!(
            text(&refused).starts_with(message) && text(&refused).len() > message.len(),
            "what to try next"
        );
    }
    let refused = call(&sandbox, "Read", json!({ "path": "x", "offset": 0 }));
    assert_eq!(
        error(&refused).1,
        "offset must be an integer of 1 or more if provided."
    );
}

#[test]
fn read_decodes_utf_16_and_drops_marks() {
    let sandbox = Sandbox::new();
    let utf16: Vec<u8> = "\u{feff}größe\n二\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    sandbox.write("le.txt", utf16);
    sandbox.write("mark.txt", "\u{feff}x\n");
    sandbox.write("latin.txt", b"gr\xfc\xdfe\n");
    let content =
        |path: &str| call(&sandbox, "Read", json!({ "path": path }))["data"]["content"].clone();
    assert_eq!(content("le.txt"), "größe\n二\n");
    assert_eq!(content("mark.txt"), "x\n");
    assert_eq!(content("latin.txt"), "gr\u{fffd}\u{fffd}e\n");
}

#[test]
fn read_and_grep_get_at_a_spill_by_id_and_path() {
    let sandbox = Sandbox::new();
    let outside = sandbox.outside().join("spills");
    for flags in [vec![], vec!["--store-dir", outside.to_str().unwrap()]] {
        let cut = call_with(&sandbox, &flags, "Run", json!({ "command": "seq 1 5000" }));
        let record = &cut["data"]["truncation"];
        for name in ["id", "full_output_path"] {
            let path = &record[name];
            let page = call_with(
                &sandbox,
                &flags,
                "Read",
                json!({ "path": path, "offset": 4999 }),
            );
            assert_eq!(page["data"]["content"], "4999\n5000\n");
            let found = call_with(
                &sandbox,
                &flags,
                "Grep",
                json!({ "path": path, "pattern": "^4321$" }),
            );
            assert_eq!(found["data"]["matches"][0]["line"], 4321);
        }
    }
    let prefix = call(&sandbox, "Read", json!({ "path": "x" }));
    assert_eq!(error(&prefix).0, "NOT_FOUND");
}

#[test]
fn ls_lists_directories_first() {
    let sandbox = Sandbox::new();
    for (path, content) in [
        ("b.txt", "12345"),
        ("z/x", ""),
        ("a/y", ""),
        (".hidden", ""),
    ] {
        sandbox.write(path, content);
    }
    symlink("/etc", sandbox.root().join("link")).unwrap();
    assert_eq!(
        call(&sandbox, "LS", json!({})),
        json!({
            "status": "success",
            "data": {
                "entries": [
                    { "path": "a", "type": "dir", "size": 0 },
                    { "path": "z", "type": "dir", "size": 0 },
                    { "path": "b.txt", "type": "file", "size": 5 },
                    { "path": "link", "type": "link", "size": 4 },
                ],
                "truncated": false,
            },
            "text": "Listed 4 entries in '.'\n[1 hidden entries are not shown; set hidden to true to see them.]\n\na/\nz/\nb.txt  5\nlink@",
            "stats": { "time_ms": 0, "entries": 4, "total_entries": 4 },
            "context": { "cwd": ".", "params_input": {}, "path_resolved": "." },
        })
    );
    let part = call(&sandbox, "LS", json!({ "limit": 1, "hidden": true }));
    assert_eq!(
        (&part["status"], &part["data"]["truncated"]),
        (&json!("partial"), &json!(true))
    );
    assert_eq!(
        text(&part),
        "Listed 1 entries in '.'\n[Truncated: Showing first 1 of 5 entries. Raise limit to see more.]\n\na/"
    );
    let below = call(&sandbox, "LS", json!({ "path": "a/" }));
    assert_eq!(below["data"]["entries"][0]["path"], "a/y");
    assert_eq!(
        error(&call(&sandbox, "LS", json!({ "path": "b.txt" }))),
        ("INVALID_PARAM", "'b.txt' is not a directory.")
    );
    assert_eq!(
        error(&call(&sandbox, "LS", json!({ "path": "link" }))).0,
        "ACCESS_DENIED"
    );
    assert_eq!(
        error(&call(&sandbox, "LS", json!({ "path": "no" }))),
        ("NOT_FOUND", "'no' does not exist.")
    );
}

#[test]
fn a_large_listing_is_bounded_and_spilled() {
    let sandbox = Sandbox::new();
    for at in 0..2500 {
        sandbox.write(&format!("d/{at:04}"), "");
    }
    let listed = call(&sandbox, "LS", json!({ "path": "d", "limit": 9999 }));
    assert_eq!(listed["status"], "partial");
    assert_eq!(listed["data"]["truncation"]["kept_lines"], 2000);
    let spilled = sandbox.spills();
    assert_eq!(spilled.len(), 2, "the envelope and its text");
}

#[test]
fn glob_finds_the_newest_first() {
    let sandbox = Sandbox::new();
    for (at, path) in [
        "src/a.rs",
        "b.rs",
        "src/x/c.rs",
        "d.md",
        "target/e.rs",
        ".github/ci.yml",
    ]
    .iter()
    .enumerate()
    {
        let path = sandbox.write(path, "");
        set_age(&path, Duration::from_secs(100 * at as u64));
    }
    sandbox.write(".gitignore", "target/\n");
    assert_eq!(
        call(&sandbox, "Glob", json!({ "pattern": "*.rs" })),
        json!({
            "status": "success",
            "data": { "paths": ["src/a.rs", "b.rs", "src/x/c.rs"], "truncated": false },
            "text": "Found 3 files matching '*.rs' in '.'\n(Sorted by mtime desc. Took 0ms)\n\nsrc/a.rs\nb.rs\nsrc/x/c.rs",
            "stats": { "time_ms": 0, "matched_files": 3 },
            "context": {
                "cwd": ".",
                "params_input": { "pattern": "*.rs" },
                "path_resolved": ".",
                "pattern": "*.rs",
                "sorted_by": "mtime_desc",
            },
        })
    );
    let paths = |params: Value| call(&sandbox, "Glob", params)["data"]["paths"].clone();
    assert_eq!(paths(json!({ "pattern": "*.{md,yml}" })), json!(["d.md"]));
    assert_eq!(
        paths(json!({ "pattern": ".github/*.yml" })),
        json!([".github/ci.yml"])
    );
    assert_eq!(
        paths(json!({ "pattern": "x/*.rs", "path": "src" })),
        json!(["src/x/c.rs"])
    );
    let absolute = sandbox.root().join("src/*.rs");
    assert_eq!(paths(json!({ "pattern": absolute })), json!(["src/a.rs"]));
    assert_eq!(
        paths(json!({ "pattern": absolute, "path": "src" })),
        json!(["src/a.rs"])
    );
    assert_eq!(
        paths(json!({ "pattern": "src/../src/*.rs" })),
        json!(["src/a.rs"])
    );
    assert_eq!(
        error(&call(&sandbox, "Glob", json!({ "pattern": "/etc/*" }))).0,
        "ACCESS_DENIED"
    );
    let part = call(&sandbox, "Glob", json!({ "pattern": "*.rs", "limit": 1 }));
    assert_eq!(
        (&part["status"], &part["data"]["paths"]),
        (&json!("partial"), &json!(["src/a.rs"]))
    );
    let none = call(&sandbox, "Glob", json!({ "pattern": "*.py" }));
    assert_eq!(
        text(&none),
        "No files found matching '*.py' in '.'\n(Sorted by mtime desc. Took 0ms)"
    );
    assert_eq!(
        error(&call(&sandbox, "Glob", json!({ "pattern": "../*" }))).0,
        "ACCESS_DENIED"
    );
    assert_eq!(
        error(&call(&sandbox, "Glob", json!({ "pattern": "a[" }))),
        (
            "INVALID_PARAM",
            "Invalid glob pattern: unclosed character class; missing ']'"
        )
    );
    assert_eq!(
        error(&call(&sandbox, "Glob", json!({}))).1,
        "Missing required parameter 'pattern'."
    );
}

#[test]
fn the_tree_is_folded_by_depth_and_width() {
    let sandbox = Sandbox::new();
    for path in ["a/b/c/d.rs", "a/e.rs", "f.md", "out/g", "tool-output/x"] {
        sandbox.write(path, "");
    }
    sandbox.write(".gitignore", "out\n");
    let tree = call(&sandbox, "RepoStructure", json!({ "max_depth": 2 }));
    let shown = "a/\n  b/ (1 files)\n  e.rs\nf.md";
    assert_eq!(
        tree,
        json!({
            "status": "success",
            "data": { "tree": shown, "truncated": false },
            "text": format!(
                "Structure of '.': 3 files in 3 directories\n[1 files and 1 directories are folded; give a path, or raise max_depth or max_files, to see them.]\n\n{shown}"
            ),
            "stats": { "time_ms": 0, "files": 3, "directories": 3, "folded_files": 1, "folded_directories": 1 },
            "context": { "cwd": ".", "params_input": { "max_depth": 2 }, "path_resolved": "." },
        })
    );
    sandbox.write(
        "overspill.yaml",
        "tools:\n  RepoStructure: {max_files: 1}\n",
    );
    let tree = call(&sandbox, "RepoStructure", json!({}));
    assert_eq!(
        (&tree["status"], &tree["data"]["truncated"]),
        (&json!("partial"), &json!(true))
    );
    let below = call(
        &sandbox,
        "RepoStructure",
        json!({ "path": "a/b", "max_files": 9 }),
    );
    assert_eq!(below["data"]["tree"], "c/\n  d.rs");
    assert_eq!(
        error(&call(&sandbox, "RepoStructure", json!({ "path": "f.md" }))).0,
        "INVALID_PARAM"
    );
}

#[test]
fn people_get_what_they_ask_for() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\nTwo\nthree\n");
    insta::assert_snapshot!(sandbox.run(&["read", "a.txt"]).report(), @r"
    exit 0
    --- stdout
    one
    Two
    three
    ");
    insta::assert_snapshot!(sandbox.run(&["read", "a.txt", "--offset", "2", "--limit", "1"]).report(), @r"
    exit 0
    --- stdout
    Two

    Read lines 2-2 of 3 of 'a.txt'.
    [Next: offset 3]
    ");
    insta::assert_snapshot!(sandbox.run(&["read", "none"]).report(), @r"
    exit 1
    --- stderr
    overspill: 'none' does not exist.
    Check the path: it is relative to the project root.
    ");
    let json = sandbox.run(&["ls", "--format", "json"]).quietly(0).json();
    assert_eq!(json["entries"][0]["path"], "a.txt");
    let envelope = valid_envelope(&sandbox.run(&["glob", "*.txt", "--format", "envelope"]));
    assert_eq!(envelope["data"]["paths"], json!(["a.txt"]));
    let grep = sandbox.run(&[
        "grep",
        "t",
        "-s",
        "--limit",
        "1",
        "--no-total",
        "--format",
        "envelope",
    ]);
    let grep = valid_envelope(&grep);
    assert_eq!(
        grep["context"]["params_input"],
        json!({ "pattern": "t", "case_sensitive": true, "limit": 1, "total": false })
    );
    assert_eq!(
        sandbox.run(&["tree"]).quietly(0).text(),
        "Structure of '.': 1 files in 0 directories\n\na.txt\n"
    );
    assert_eq!(sandbox.run(&["grep"]).code, 2);
    let json = sandbox
        .run(&["grep", "x", "none", "--format", "json"])
        .json();
    assert_eq!(json["error"]["code"], "NOT_FOUND");
    let listed = sandbox.run(&["grep", "-iln", "two"]).quietly(0).text();
    assert!(listed.ends_with("\n\na.txt\n"), "{listed}");
    let counted = sandbox.run(&["grep", "-c", "t"]).quietly(0).text();
    assert!(counted.ends_with("\n\na.txt: 2\n"), "{counted}");
    sandbox.write("indented", "    four\nx\n");
    let first = sandbox
        .run(&["read", "indented", "--limit", "1"])
        .quietly(0)
        .text();
    assert!(first.starts_with("    four\n\n"), "{first}");
}

#[test]
fn call_takes_its_parameters_from_stdin_and_names_tools_it_has() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "x\n");
    let output = sandbox.pipe(&["call", "read", "-"], r#"{"path": "a.txt"}"#);
    assert_eq!(valid_envelope(&output)["data"]["content"], "x\n");
    let output = sandbox.pipe(&["call", "Read", "-"], "{path");
    assert_eq!(
        (output.code, error(&valid_envelope(&output)).0),
        (1, "INVALID_PARAM")
    );
    let output = sandbox.run(&["call", "Reed", "{}"]);
    assert_eq!(output.code, 1);
    assert_eq!(
        error(&valid_envelope(&output)),
        ("NOT_FOUND", "No tool 'Reed'.")
    );
    let output = sandbox.run(&["call", "read_file", r#"{"path": "a.txt"}"#]);
    assert_eq!(valid_envelope(&output)["data"]["content"], "x\n");
    let output = sandbox.pipe(&["call", "Read", "-"], b"\xff\xfe");
    assert_eq!(
        (output.code, error(&valid_envelope(&output)).0),
        (1, "INVALID_PARAM")
    );
    let output = sandbox.pipe(&["call", "LS"], "");
    assert_eq!(output.code, 0);
}

#[test]
fn tools_are_listed_with_their_schemas() {
    let sandbox = Sandbox::new();
    let text = sandbox.run(&["tools", "--json"]).quietly(0).text();
    let tools: Vec<Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Grep",
            "Read",
            "LS",
            "Glob",
            "RepoStructure",
            "RepoMap",
            "Run"
        ]
    );
    for tool in &tools {
        assert_eq!(tool["parameters"]["type"], "object");
        for (name, property) in tool["parameters"]["properties"].as_object().unwrap() {
            assert!(
                property["description"].is_string() && property["type"].is_string(),
                "{name}: {property}"
            );
        }
    }
    assert_eq!(tools[0]["parameters"]["required"], json!(["pattern"]));
    let listed = sandbox.run(&["tools"]).quietly(0).text();
    assert!(
        listed.starts_with("Grep\n    Search file contents"),
        "{listed}"
    );
}

#[test]
fn answers_are_in_chinese_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "x\n");
    let read = call_with(
        &sandbox,
        &["--lang", "zh"],
        "Read",
        json!({ "path": "a.txt" }),
    );
    assert_eq!(text(&read), "已读取 'a.txt' 的全部 1 行。");
    let refused = call_with(&sandbox, &["--lang", "zh"], "Read", json!({}));
    assert_eq!(error(&refused).1, "缺少必需参数 'path'。");
}

#[test]
fn what_was_found_when_the_time_is_over_is_given() {
    let sandbox = Sandbox::new();
    for at in 0..30_000 {
        if at % 300 == 0 {
            std::fs::create_dir_all(sandbox.root().join(format!("d{}", at / 300))).unwrap();
        }
        std::fs::File::create(sandbox.root().join(format!("d{}/{at}.txt", at / 300))).unwrap();
    }
    let mut partial = 0;
    // How far a walk comes in so little time is the machine's affair; that it tells the truth is ours.
    for milliseconds in ["4", "8", "12", "16", "20", "24", "28", "32"] {
        let flags = ["--search-timeout-ms", milliseconds];
        let found = call_with(
            &sandbox,
            &flags,
            "Glob",
            json!({ "pattern": "*.txt", "limit": 1 }),
        );
        match found["status"].as_str().unwrap() {
            "error" => assert_eq!(error(&found).0, "TIMEOUT"),
            _ if found["data"].get("aborted_reason").is_some() => {
                partial += 1;
                let all = found["stats"]["matched_files"].as_u64().unwrap();
                assert!(
                    text(&found).contains("stopped by the time limit")
                        && (1..=30_000).contains(&all)
                );
            }
            _ => assert_eq!(found["stats"]["matched_files"], 30_000),
        }
    }
    assert!(partial > 0, "not one walk ended in the middle");
}

#[test]
fn the_memory_of_read_does_not_grow_with_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("big.txt", "0123456789012345678\n".repeat(8_000_000));
    let params = r#"{"path": "big.txt", "offset": 7000001, "limit": 50}"#;
    let mut limited = std::process::Command::new("sh");
    let script = format!("ulimit -v 65536; exec {PROGRAM} call Read '{params}'");
    limited
        .args(["-c", &script])
        .current_dir(sandbox.root())
        .env_clear();
    let page = valid_envelope(&sandbox.finish(limited, b""));
    let data = &page["data"];
    assert_eq!(
        (&data["start_line"], &data["end_line"]),
        (&json!(7_000_001), &json!(7_000_050))
    );
    let lines = data["content"].as_str().unwrap().lines().count();
    assert_eq!(lines, 50);
}
