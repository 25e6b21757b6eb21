//! `overspill truncate`, and `overspill` at the end of a pipe.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Sandbox, seq, stable, until, valid_envelope};

#[test]
fn json_has_content_preview_path_and_record() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .pipe(
            &["truncate", "--max-lines", "10", "--format", "json"],
            seq(100),
        )
        .quietly(0);
    let path = "tool-output/tool_<TIME>_<ID>_truncate.txt";
    let content = format!(
        "{}\n...90 lines truncated...\n\nThe output was truncated. Full output saved to: {path}\n\
         Use Grep to search the full content or Read with offset and limit to view parts of it.\n\
         In a shell: overspill show <ID> --grep PATTERN, or --offset 11 --limit N.",
        seq(10)
    );
    let stable: Value = serde_json::from_str(&output.stable()).unwrap();
    assert_eq!(
        stable,
        json!({
            "truncated": true,
            "content": content,
            "preview": seq(10).trim_end(),
            "output_path": path,
            "truncation": {
                "direction": "head",
                "max_lines": 10,
                "max_bytes": 51200,
                "original_lines": 100,
                "original_bytes": 292,
                "kept_lines": 10,
                "kept_bytes": 20,
                "full_output_path": path,
                "removed": 90,
                "unit": "lines",
                "id": "<ID>",
            },
        })
    );
    let saved = output.json()["output_path"].as_str().unwrap().to_owned();
    assert_eq!(
        fs::read_to_string(sandbox.root().join(saved)).unwrap(),
        seq(100)
    );
}

#[test]
fn what_is_within_the_limits_passes_byte_for_byte_and_nothing_is_written() {
    let line = format!("{}\n", "x".repeat(1023));
    let cases: [(&str, Vec<u8>); 9] = [
        ("2000 lines", seq(2000).into_bytes()),
        (
            "2000 lines without a final newline",
            seq(2000).trim_end().as_bytes().to_vec(),
        ),
        ("51200 bytes", line.repeat(50).into_bytes()),
        ("nothing", Vec::new()),
        ("one newline", b"\n".to_vec()),
        ("crlf", b"a\r\nb\r\n".to_vec()),
        ("control codes", b"\x1b[31mred\x1b[0m\rover\n".to_vec()),
        ("not UTF-8", b"\xff\xfe\xc3(\n".to_vec()),
        ("binary", b"\x7fELF\0\0\x01".to_vec()),
    ];
    for (name, input) in cases {
        let sandbox = Sandbox::new();
        let output = sandbox.pipe(&["truncate"], &input).quietly(0);
        assert_eq!(output.stdout, input, "{name}");
        assert!(sandbox.snapshot().is_empty(), "{name}");
    }
}

#[test]
fn one_more_than_a_limit_is_cut() {
    let line = format!("{}\n", "x".repeat(1023));
    let cases = [
        ("2001 lines", seq(2001), seq(2000), "lines"),
        (
            "51201 bytes",
            line.repeat(50) + "y",
            line.repeat(50),
            "bytes",
        ),
    ];
    for (name, input, kept, unit) in cases {
        let sandbox = Sandbox::new();
        let output = sandbox
            .pipe(&["truncate", "--format", "json"], &input)
            .quietly(0)
            .json();
        assert_eq!(output["preview"], kept.trim_end(), "{name}");
        assert_eq!(output["truncation"]["unit"], unit, "{name}");
        assert_eq!(sandbox.spill(), input.as_bytes(), "{name}");
    }
}

#[test]
fn each_strategy_has_its_layout() {
    let sandbox = Sandbox::new();
    let cut = |strategy: &str| {
        sandbox
            .pipe(
                &["truncate", "--max-lines", "6", "--strategy", strategy],
                seq(100),
            )
            .quietly(0)
            .stable()
    };
    insta::assert_snapshot!(cut("head"), @"
    1
    2
    3
    4
    5
    6

    ...94 lines truncated...

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 7 --limit N.
    ");
    insta::assert_snapshot!(cut("tail"), @"
    ...94 lines truncated...

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 1 --limit N.

    95
    96
    97
    98
    99
    100
    ");
    insta::assert_snapshot!(cut("head_tail"), @"
    1
    2
    ... [truncated 96 lines] ...
    99
    100

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 3 --limit N.
    ");
    assert_eq!(cut("head_only"), cut("head"));
}

#[test]
fn one_line_that_is_too_long_keeps_its_start_or_its_end() {
    let line: String = ('a'..='z').cycle().take(1000).collect();
    let cases = [("head", &line[..100]), ("tail", &line[900..])];
    for (strategy, kept) in cases {
        let sandbox = Sandbox::new();
        let arguments = [
            "truncate",
            "--max-bytes",
            "100",
            "--strategy",
            strategy,
            "--format",
            "json",
        ];
        let output = sandbox.pipe(&arguments, &line).quietly(0).json();
        assert_eq!(output["preview"], kept, "{strategy}");
        assert_eq!(
            (
                &output["truncation"]["removed"],
                &output["truncation"]["unit"]
            ),
            (&json!(900), &json!("bytes")),
            "{strategy}"
        );
        assert_eq!(sandbox.spill(), line.as_bytes());
    }
    let sandbox = Sandbox::new();
    let arguments = [
        "truncate",
        "--max-bytes",
        "100",
        "--strategy",
        "head_tail",
        "--format",
        "json",
    ];
    let output = sandbox.pipe(&arguments, &line).quietly(0).json();
    let preview = output["preview"].as_str().unwrap();
    assert!(
        preview.len() <= 100 && preview.starts_with("abc") && preview.ends_with(&line[990..]),
        "{preview}"
    );
    assert!(preview.contains("... [truncated "), "{preview}");
}

#[test]
fn the_output_that_the_issue_names_is_never_lost() {
    let sandbox = Sandbox::new();
    let input = "a".repeat(1000);
    let cut = |strategy: &str| {
        sandbox
            .pipe(
                &["truncate", "--max-bytes", "100", "--strategy", strategy],
                &input,
            )
            .quietly(0)
            .stable()
    };
    let kept = "a".repeat(100);
    let head = cut("head");
    assert!(
        head.starts_with(&format!(
            "{kept}\n\n...900 bytes truncated...\n\nThe output was truncated. "
        )),
        "{head}"
    );
    let tail = cut("tail");
    assert!(
        tail.starts_with("...900 bytes truncated...\n\nThe output was truncated. "),
        "{tail}"
    );
    assert!(tail.ends_with(&format!("\n\n{kept}\n")), "{tail}");
}

#[test]
fn head_tail_by_characters_has_the_numbers_of_the_seed() {
    let sandbox = Sandbox::new();
    let input: String = ('a'..='z').cycle().take(20_000).collect();
    let arguments = [
        "truncate",
        "--max-chars",
        "8000",
        "--strategy",
        "head_tail",
        "--format",
        "json",
    ];
    let output = sandbox.pipe(&arguments, &input).quietly(0).json();
    let expected = format!(
        "{}\n\n... [truncated 13760 chars / 0 lines] ...\n\n{}",
        &input[..3120],
        &input[20_000 - 3120..]
    );
    assert_eq!(output["preview"], expected);
    assert_eq!(output["truncation"]["removed"], 13760);
}

#[test]
fn limits_in_other_units() {
    let words = "hello world\n".repeat(1000);
    let long = format!("{}\nshort\n", "0123456789".repeat(10));
    let cases: [(&[&str], &str, &str, u64, &str); 5] = [
        // Each line of `hello world` is three tokens, and the newline that would end the last one is not kept.
        (
            &["--max-tokens", "8"],
            &words,
            "hello world\nhello world\nhello world",
            2992,
            "tokens",
        ),
        (
            &["--max-tokens", "8", "--encoding", "cl100k_base"],
            &words,
            "hello world\nhello world\nhello world",
            2992,
            "tokens",
        ),
        (&["--max-chars", "5"], "ééé\néé\nééé\n", "ééé", 8, "chars"),
        (
            &["--max-line-chars", "10"],
            &long,
            "0123456...\nshort",
            94,
            "chars",
        ),
        (
            &["--max-bytes", "1KiB"],
            &words,
            words[..1020].trim_end(),
            10981,
            "bytes",
        ),
    ];
    for (flags, input, preview, removed, unit) in cases {
        let sandbox = Sandbox::new();
        let arguments = [&["truncate", "--format", "json"], flags].concat();
        let output = sandbox.pipe(&arguments, input).quietly(0).json();
        assert_eq!(output["preview"], preview, "{flags:?}");
        assert_eq!(
            (
                &output["truncation"]["removed"],
                &output["truncation"]["unit"]
            ),
            (&json!(removed), &json!(unit)),
            "{flags:?}"
        );
        assert_eq!(sandbox.spill(), input.as_bytes());
    }
}

#[test]
fn presets_set_limits_and_strategy() {
    let sandbox = Sandbox::new();
    let input = seq(3000);
    let lines: Vec<&str> = input.lines().collect();
    let cases = [
        ("code", "head", 51200, lines[..2000].join("\n")),
        ("log", "tail", 20480, lines[2500..].join("\n")),
        ("error", "tail", 10240, lines[2900..].join("\n")),
    ];
    for (preset, direction, max_bytes, preview) in cases {
        let output = sandbox
            .pipe(
                &["truncate", "--preset", preset, "--format", "json"],
                &input,
            )
            .quietly(0)
            .json();
        assert_eq!(output["preview"], preview, "{preset}");
        assert_eq!(output["truncation"]["direction"], direction, "{preset}");
        assert_eq!(output["truncation"]["max_bytes"], max_bytes, "{preset}");
    }
    let output = sandbox
        .pipe(
            &[
                "truncate",
                "--preset",
                "log",
                "--max-lines",
                "3",
                "--format",
                "json",
            ],
            &input,
        )
        .quietly(0)
        .json();
    assert_eq!(
        output["preview"], "2998\n2999\n3000",
        "a flag of its own wins over a preset"
    );
}

#[test]
fn a_pipe_a_file_and_no_command_are_bounded_alike() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("in/numbers.txt", seq(50));
    let by_pipe = sandbox
        .pipe(&["truncate", "--max-lines", "5"], seq(50))
        .quietly(0)
        .stable();
    assert!(
        by_pipe.starts_with("1\n2\n3\n4\n5\n\n...45 lines truncated...\n\n"),
        "{by_pipe}"
    );
    let others: [&[&str]; 4] = [
        &["--max-lines", "5"],
        &["--max-lines", "5", "truncate"],
        &["truncate", "in/numbers.txt", "--max-lines", "5"],
        &["truncate", "--max-lines=5", file.to_str().unwrap()],
    ];
    for arguments in others {
        assert_eq!(
            sandbox.pipe(arguments, seq(50)).quietly(0).stable(),
            by_pipe,
            "{arguments:?}"
        );
    }
    assert_eq!(sandbox.spills().len(), 5);
    assert_eq!(fs::read_to_string(file).unwrap(), seq(50));
}

#[test]
fn an_agent_that_works_elsewhere_is_given_the_whole_path() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    let mut command = sandbox.command(&[
        "truncate",
        "--max-lines",
        "1",
        "--root",
        root.to_str().unwrap(),
    ]);
    command.current_dir(sandbox.home());
    let output = sandbox.finish(command, seq(3).as_bytes()).quietly(0);
    assert!(
        output
            .stable()
            .contains("saved to: [root]/tool-output/tool_<TIME>_<ID>_truncate.txt\n"),
        "{}",
        output.stable()
    );
    assert_eq!(sandbox.spill(), seq(3).as_bytes());
}

#[test]
fn binary_output_is_one_line_and_its_bytes_are_kept() {
    let sandbox = Sandbox::new();
    let mut input = b"\x7fELF\0\0".to_vec();
    input.resize(60_000, b'\n');
    insta::assert_snapshot!(sandbox.pipe(&["truncate"], &input).quietly(0).stable(), @"
    binary output, 60000 bytes, not shown

    ...60000 bytes truncated...

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 1 --limit N.
    ");
    assert_eq!(sandbox.spill(), input);
}

#[test]
fn what_is_not_utf8_is_shown_as_such_and_kept_as_it_came() {
    let sandbox = Sandbox::new();
    let input = b"ok\n\xff\xfe caf\xc3\xa9 \xc3\n\xe2\x82\nrest\n";
    let output = sandbox
        .pipe(&["truncate", "--max-lines", "3", "--format", "json"], input)
        .quietly(0)
        .json();
    assert_eq!(
        output["preview"],
        "ok\n\u{fffd}\u{fffd} café \u{fffd}\n\u{fffd}"
    );
    assert_eq!(output["truncation"]["original_bytes"], input.len());
    assert_eq!(sandbox.spill(), input);
}

#[test]
fn the_chinese_notice() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.pipe(&["truncate", "--lang", "zh", "--max-lines", "2"], seq(5)).quietly(0).stable(), @"
    1
    2

    ...已截断 3 行...

    ⚠️ 输出过大已截断，完整内容见 tool-output/tool_<TIME>_<ID>_truncate.txt
    可用 Grep 搜索完整内容，或用 Read 配合 offset 和 limit 分段查看。
    在 shell 中：overspill show <ID> --grep PATTERN，或 --offset 3 --limit N。
    ");
    let arguments = [
        "--lang",
        "zh",
        "truncate",
        "--max-lines",
        "4",
        "--strategy",
        "head_tail",
    ];
    insta::assert_snapshot!(sandbox.pipe(&arguments, seq(9)).quietly(0).stable(), @"
    1
    ... [截断了 7 行] ...
    9

    ⚠️ 输出过大已截断，完整内容见 tool-output/tool_<TIME>_<ID>_truncate.txt
    可用 Grep 搜索完整内容，或用 Read 配合 offset 和 limit 分段查看。
    在 shell 中：overspill show <ID> --grep PATTERN，或 --offset 2 --limit N。
    ");
    let input = "x".repeat(2000);
    let arguments = [
        "--lang",
        "zh",
        "truncate",
        "--max-chars",
        "1000",
        "--strategy",
        "head_tail",
        "--format",
        "json",
    ];
    let preview = sandbox.pipe(&arguments, input).quietly(0).json()["preview"].to_string();
    assert!(
        preview.contains(r"\n\n... [截断了 1360 字符 / 0 行] ...\n\n"),
        "{preview}"
    );
}

#[test]
fn hints_name_only_what_the_agent_has() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.pipe(&["truncate", "--task-tool", "--max-lines", "1"], seq(3)).quietly(0).stable(), @"
    1

    ...2 lines truncated...

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use the Task tool to have a subagent process this file with Grep and Read (offset/limit). Do NOT read the full file yourself: delegate to save context.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 2 --limit N.
    ");

    let rule = |permission: &str, action: &str| {
        format!("  - {{permission: {permission}, pattern: \"*\", action: {action}}}\n")
    };
    sandbox.write(
        "overspill.yaml",
        format!(
            "permissions:\n{}{}",
            rule("\"*\"", "allow"),
            rule("grep", "deny")
        ),
    );
    insta::assert_snapshot!(sandbox.pipe(&["truncate", "--max-lines", "1"], seq(3)).quietly(0).stable(), @"
    1

    ...2 lines truncated...

    The output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_truncate.txt
    Use the Task tool to have a subagent process this file with Read (offset/limit). Do NOT read the full file yourself: delegate to save context.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 2 --limit N.
    ");
}

#[test]
fn without_a_spill_the_notice_says_why() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.pipe(&["truncate", "--no-spill", "--max-lines", "1"], seq(3)).quietly(0).stable(), @"
    1

    ...2 lines truncated...

    The output was truncated, and the full output was not saved: `--no-spill` was given
    If you need the rest, repeat the call so that it gives less.
    ");
    let output = sandbox
        .pipe(
            &[
                "truncate",
                "--no-spill",
                "--max-lines",
                "1",
                "--format",
                "json",
            ],
            seq(3),
        )
        .quietly(0)
        .json();
    assert_eq!(output["output_path"], Value::Null);
    assert_eq!(output["truncation"]["reason"], "`--no-spill` was given");
    assert!(sandbox.snapshot().is_empty());
}

#[test]
fn a_preview_is_never_empty() {
    let inputs = [
        "\n\n\n\n",
        "   \n \n  \n",
        "\u{200b}\u{200b}\u{200b}\u{200b}",
        "e\u{301}\u{302}\u{303}\u{304}\n",
        "👩‍👩‍👧👩‍👩‍👧\n",
        "\r\n\r\n\r\n",
    ];
    for flags in [
        ["--max-lines", "1"],
        ["--max-bytes", "1"],
        ["--max-chars", "1"],
        ["--max-tokens", "1"],
        ["--max-line-chars", "1"],
    ] {
        for strategy in ["head", "tail", "head_tail"] {
            for input in inputs {
                let sandbox = Sandbox::new();
                let arguments = [
                    &["truncate", "--format", "json", "--strategy", strategy],
                    &flags[..],
                ]
                .concat();
                let output = sandbox.pipe(&arguments, input).quietly(0).json();
                if output["truncated"] == true {
                    assert_ne!(output["preview"], "", "{flags:?} {strategy} {input:?}");
                } else {
                    assert_eq!(output["content"], input, "{flags:?} {strategy}");
                }
            }
        }
    }
}

/// Outputs that reach a guard of 500 in different ways; the last two are within the limits.
fn over_the_guard() -> [(&'static str, String); 5] {
    [
        ("many lines", seq(100_000)),
        ("one line", "y".repeat(100_000)),
        ("wide characters", "截断 ".repeat(30_000)),
        ("within the limits", seq(400)),
        ("within the limits, one line", "z".repeat(600)),
    ]
}

#[test]
fn the_guard_bounds_the_whole_message_and_what_it_cuts_is_kept() {
    for (name, input) in over_the_guard() {
        for strategy in ["head", "tail", "head_tail"] {
            let sandbox = Sandbox::new();
            let arguments = [
                "truncate",
                "--max-result-chars",
                "500",
                "--strategy",
                strategy,
            ];
            let text = sandbox.pipe(&arguments, &input).quietly(0).text();
            let message = text.strip_suffix('\n').unwrap();
            assert!(
                message.chars().count() <= 500,
                "{name}, {strategy}: {} chars",
                message.chars().count()
            );
            assert!(
                message.contains("truncated"),
                "{name}, {strategy}: {message}"
            );
            assert!(
                message.contains(" saved to: tool-output/tool_"),
                "{name}, {strategy}: {message}"
            );
            assert_eq!(sandbox.spill(), input.as_bytes(), "{name}, {strategy}");

            let output = sandbox
                .pipe(&[&arguments[..], &["--format", "json"]].concat(), &input)
                .quietly(0)
                .json();
            assert_eq!(output["truncated"], true, "{name}, {strategy}");
            assert!(
                output["content"].as_str().unwrap().chars().count() <= 500,
                "{name}, {strategy}"
            );
            assert!(
                output["preview"]
                    .as_str()
                    .is_some_and(|preview| !preview.is_empty()),
                "{name}, {strategy}"
            );
        }
    }
}

#[test]
fn the_guard_bounds_an_envelope_as_it_is_printed() {
    for (name, input) in over_the_guard() {
        for strategy in ["head", "tail", "head_tail"] {
            let sandbox = Sandbox::new();
            // The record and the notice alone take some 900.
            let arguments = [
                "truncate",
                "--max-result-chars",
                "1500",
                "--strategy",
                strategy,
                "--format",
                "envelope",
            ];
            let output = sandbox.pipe(&arguments, &input).quietly(0);
            valid_envelope(&output);
            let chars = output.text().trim_end().chars().count();
            assert!(chars <= 1500, "{name}, {strategy}: {chars} chars");
        }
    }
}

#[test]
fn a_guard_that_nothing_reaches_changes_nothing() {
    let sandbox = Sandbox::new();
    let input = seq(100);
    let output = sandbox
        .pipe(&["truncate", "--max-result-chars", "292"], &input)
        .quietly(0);
    assert_eq!(output.stdout, input.as_bytes());
    assert!(sandbox.snapshot().is_empty());
}

#[test]
fn a_tiny_guard_still_says_something() {
    for max in ["1", "2", "10", "50", "100", "200"] {
        for strategy in ["head", "tail", "head_tail"] {
            let sandbox = Sandbox::new();
            let text = sandbox
                .pipe(
                    &[
                        "truncate",
                        "--max-result-chars",
                        max,
                        "--strategy",
                        strategy,
                    ],
                    seq(9999),
                )
                .quietly(0)
                .text();
            let message = text.strip_suffix('\n').unwrap();
            assert!(
                !message.is_empty() && message.chars().count() <= max.parse().unwrap(),
                "{max} {strategy}: {message:?}"
            );
            assert_eq!(sandbox.spill(), seq(9999).as_bytes());
        }
    }
}

#[test]
fn a_notice_is_at_most_a_kibibyte() {
    let sandbox = Sandbox::new();
    for lang in ["en", "zh"] {
        let arguments = [
            "truncate",
            "--task-tool",
            "--lang",
            lang,
            "--max-lines",
            "1",
            "--tool",
            &"t".repeat(5000),
        ];
        let text = sandbox.pipe(&arguments, seq(2)).quietly(0).text();
        let notice = text.strip_prefix("1\n\n").unwrap();
        assert!(
            notice.len() <= 1024 + 300,
            "{} bytes with the path",
            notice.len()
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::new();
    for format in ["text", "json", "envelope"] {
        let mut command = sandbox.command(&[
            "truncate",
            "--max-bytes",
            "4MiB",
            "--max-lines",
            "off",
            "--format",
            format,
        ]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&vec![b'x'; 1 << 20]).unwrap();
        drop(stdin);
        let output = sandbox.end(child);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{format}");
    }
}

/// The most memory a process has had, in KiB.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn memory_does_not_grow_with_the_output() {
    for strategy in ["head", "tail", "head_tail"] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&["truncate", "--strategy", strategy]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let chunk = "y\n".repeat(1 << 19);
        for _ in 0..48 {
            stdin.write_all(chunk.as_bytes()).unwrap();
        }
        stdin.write_all(b"the end\n").unwrap();
        let peak = peak_memory(child.id()).unwrap();
        drop(stdin);
        let output = sandbox.end(child).quietly(0);
        // The vocabulary with which the journal counts tokens is more than half of it.
        assert!(peak < 64 << 10, "{strategy}: {peak} KiB");
        assert_eq!(
            output.text().contains("the end"),
            strategy != "head",
            "{strategy}"
        );
        assert_eq!(
            fs::metadata(&sandbox.spills()[0]).unwrap().len(),
            (48 << 20) + 8,
            "{strategy}"
        );
    }
}

#[test]
fn a_slow_writer_in_small_pieces_gives_the_same() {
    let sandbox = Sandbox::new();
    let input = "héllo wörld 截断\n".repeat(50);
    let arguments = [
        "truncate",
        "--max-lines",
        "7",
        "--strategy",
        "tail",
        "--format",
        "json",
    ];
    let at_once = sandbox.pipe(&arguments, &input).quietly(0).json();
    let mut child = sandbox
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in input.as_bytes().chunks(5) {
        stdin.write_all(piece).unwrap();
    }
    drop(stdin);
    assert_eq!(
        sandbox.end(child).quietly(0).json()["preview"],
        at_once["preview"]
    );
}

#[test]
fn nothing_is_printed_before_the_output_has_ended() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(&["truncate", "--max-lines", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    // Under its final name there is nothing before the end either.
    let temporary = until("the unfinished spill", || {
        sandbox
            .stored()
            .into_iter()
            .find(|name| name.ends_with(".tmp"))
    });
    assert!(temporary.starts_with(".tool_"), "{temporary}");
    assert_eq!(sandbox.spills(), Vec::<std::path::PathBuf>::new());
    drop(stdin);
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert!(
        stable(&text, &sandbox.root()).contains("...1048575 lines truncated..."),
        "{text}"
    );
    assert_eq!(sandbox.stored().len(), 2, "{:?}", sandbox.stored());
}

#[test]
fn the_last_of_a_repeated_flag_holds() {
    let sandbox = Sandbox::new();
    let output = sandbox.pipe(
        &[
            "truncate",
            "--max-lines",
            "1",
            "--max-lines",
            "2",
            "-",
            "--no-spill",
        ],
        "a\nb\nc\n",
    );
    assert!(
        output
            .quietly(0)
            .text()
            .starts_with("a\nb\n\n...1 lines truncated...")
    );
}
