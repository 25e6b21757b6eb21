use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use serde::de::IgnoredAny;

use super::reading::LineReader;
use super::shape::Shape;
use super::{Evidence, Salience};
use crate::cut::{Cut, Part, Preview, cut, cut_for};
use crate::limits::{Limits, Removed, Unit};
use crate::notice::Lang;
use crate::strategy::Strategy;
use crate::stream::{Stream, Streamed};

fn part(text: &str, limits: Limits) -> Preview<'_> {
    match cut(text, &limits, Strategy::Smart) {
        Cut::Part(preview) => preview,
        Cut::Whole(_) => panic!("within the limits"),
    }
}

fn shown(text: &str, limits: Limits) -> String {
    part(text, limits).text(Lang::En).into_owned()
}

fn points(line: &str) -> u16 {
    LineReader::new(true).read(line.as_bytes()).points
}

#[test]
fn words_of_failure_are_hot_whatever_tool_they_are_from() {
    for line in [
        "error[E0308]: mismatched types",
        "main.c:3:5: error: 'x' undeclared (first use in this function)",
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        "2024-05-01T10:00:00Z [ERROR] could not connect to the database",
        "ERROR: Could not find a version that satisfies the requirement nosuch",
        "KeyError: 'total'",
        "java.lang.IllegalStateException: no session",
        "Caused by: java.io.IOException: No space left on device",
        "panic: runtime error: index out of range [3] with length 3",
        "thread 'main' panicked at src/main.rs:3:5:",
        "--- FAIL: TestParse (0.00s)",
        "FAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2",
        "not ok 3 - adds",
        "  ✕ has gross prices per line (6 ms)",
        "make: *** [Makefile:4: all] Error 1",
        "npm ERR! code ELIFECYCLE",
        "E: Unable to locate package nosuch",
        "fatal: not a git repository",
        "Segmentation fault (core dumped)",
        "Tests run: 10, Failures: 1, Errors: 0, Skipped: 0",
        "3 failed, 40 passed in 0.52s",
        "Process completed with exit code 2.",
        "{\"level\":\"error\",\"msg\":\"refused\"}",
        "level=error msg=\"refused\"",
        "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602",
        "WARNING: DATA RACE",
        "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: could not compile",
        "a.c:1:2: 错误：‘x’未声明",
        "  1) adds two numbers",
    ] {
        assert!(
            points(line) >= super::weights::HOT,
            "{} {line}",
            points(line)
        );
    }
}

#[test]
fn words_that_name_things_or_tell_that_all_is_well_are_not() {
    for line in [
        "0 errors, 0 warnings",
        "Tests run: 10, Failures: 0, Errors: 0, Skipped: 0",
        "test result: ok. 12 passed; 0 failed; 0 ignored",
        "Number of failures in tests: 0",
        "found no errors",
        "cc -c -O2 -Wall -Werror -Wextra error.c -o error.o",
        "   Compiling thiserror v1.0.69",
        "Setting up libgpg-error0:amd64 (1.46-1) ...",
        "tests/test_errors.py::test_fails_on_error PASSED [ 10%]",
        "test error_handling::fails_when_missing ... ok",
        "ok 12 - error is reported",
        "  ✓ throws an error when empty (2 ms)",
        "src/error.rs",
        "[INFO] Skipping failed lookups",
        " > git fetch --tags # timeout=10",
        "exited with exit code 0",
        "    return Err(Error::missing(name));",
        "import java.io.IOException;",
    ] {
        assert!(
            points(line) < super::weights::HOT,
            "{} {line}",
            points(line)
        );
    }
}

#[test]
fn a_time_stamp_hides_neither_indent_nor_shape() {
    let read = |line: &str| {
        let reading = LineReader::new(true).read(line.as_bytes());
        (reading.shape, reading.indent)
    };
    for (line, expected) in [
        ("    at a.b.C.d(C.java:12)", (Shape::Frame, 4)),
        (
            "2022-05-30T09:11:02.8578003Z     at a.b.C.d(C.java:12)",
            (Shape::Frame, 4),
        ),
        (
            "job\tstep\t2022-05-30T09:11:02.8578003Z   x",
            (Shape::Plain, 2),
        ),
        ("[10:11:12]   x", (Shape::Plain, 2)),
        ("[   12.345678]  x", (Shape::Plain, 1)),
        ("Mar  2 11:17:42 host kernel:  x", (Shape::Plain, 1)),
        ("==123==    at 0x10928E: f (a.c:7)", (Shape::Frame, 3)),
        ("web_1  |   x", (Shape::Plain, 2)),
        ("[ERROR]   symbol: class X", (Shape::Plain, 2)),
        ("  File \"a.py\", line 3, in f", (Shape::Frame, 2)),
        ("\tmain.go:24 +0x13a", (Shape::Frame, 4)),
        ("12 | let x = 1;", (Shape::Snippet, 0)),
        ("   |     ^^^^ expected", (Shape::Snippet, 3)),
        ("==== FAILURES ====", (Shape::Heading, 0)),
        ("------------------", (Shape::Rule, 0)),
        ("", (Shape::Blank, 0)),
    ] {
        assert_eq!(read(line), expected, "{line}");
    }
}

/// Builds a log in which one line of trouble stands in the middle of much that is the same.
fn log(trouble: &str) -> String {
    let plain = |from: u32, to: u32| -> String {
        (from..to)
            .map(|n| {
                format!(
                    "10:00:{:02} compiled unit {n} in {} ms\n",
                    n % 60,
                    n * 7 % 90
                )
            })
            .collect()
    };
    format!(
        "$ make all\n{}{trouble}{}make: done\n",
        plain(0, 400),
        plain(400, 800)
    )
}

#[test]
fn the_error_in_the_middle_is_kept_with_its_block_between_both_ends() {
    let text =
        log("x.rs:7: error: no such unit\n    let unit = find(\"y\");\n               ^^^^\n");
    insta::assert_snapshot!(shown(&text, Limits::none().lines(12)), @r#"
    $ make all
    ... [lines 2-401 omitted] ...
    x.rs:7: error: no such unit
        let unit = find("y");
                   ^^^^
    ... [lines 405-799 omitted] ...
    10:00:15 compiled unit 795 in 75 ms
    10:00:16 compiled unit 796 in 82 ms
    10:00:17 compiled unit 797 in 89 ms
    10:00:18 compiled unit 798 in 6 ms
    10:00:19 compiled unit 799 in 13 ms
    make: done
    "#);
}

#[test]
fn what_was_left_out_is_counted_and_named() {
    let text = log("error: one\n");
    let preview = part(&text, Limits::none().lines(9));
    let omitted: u64 = preview
        .parts()
        .iter()
        .map(|part| match part {
            Part::Omitted { first, last } => last - first + 1,
            _ => 0,
        })
        .sum();
    assert_eq!(
        preview.removed(),
        Removed {
            count: omitted,
            unit: Unit::Lines
        }
    );
    assert_eq!(preview.kept().lines + omitted, 803);
    assert!(preview.text(Lang::Zh).contains("省略第"));
    assert_eq!(preview.first_missing_line(), 2);
}

#[test]
fn each_run_says_why_it_was_kept() {
    let text = log("error: one\n  detail\n");
    let preview = part(&text, Limits::none().lines(12));
    let hot = preview
        .reasons()
        .iter()
        .find(|reason| (reason.first..=reason.last).contains(&402))
        .unwrap();
    assert!(hot.points >= 100, "{hot:?}");
    for kind in [Evidence::Failure, Evidence::Block] {
        assert!(hot.evidence.contains(&kind), "{hot:?}");
    }
    let kinds = preview.reasons().iter().flat_map(|run| &run.evidence);
    assert!(
        !kinds
            .clone()
            .any(|kind| matches!(kind, Evidence::Repeats | Evidence::Benign))
    );
    let [first, .., last] = preview.reasons() else {
        panic!("{:?}", preview.reasons())
    };
    assert_eq!((first.first, first.evidence[0]), (1, Evidence::Head));
    assert_eq!((last.last, last.evidence[0]), (804, Evidence::Tail));
}

#[test]
fn evidence_can_be_left_out_of_account() {
    let text = log("error: one\n");
    let limits = Limits::none().lines(9);
    let kept = |salience: &Salience| match cut_for(&text, &limits, Strategy::Smart, salience) {
        Cut::Part(preview) => preview.text(Lang::En).contains("error: one"),
        Cut::Whole(_) => panic!(),
    };
    let without = Salience::default()
        .without(Evidence::Failure)
        .without(Evidence::Rarity);
    assert!(kept(&Salience::default()));
    assert!(!kept(&without));
}

#[test]
fn a_query_raises_what_answers_it() {
    let text: String = (0..3000)
        .map(|n| format!("package-{n}@1.{}.0\n", n % 17))
        .collect();
    let limits = Limits::none().lines(20);
    let shown = |query: &str| match cut_for(
        &text,
        &limits,
        Strategy::Smart,
        &Salience::default().query(query),
    ) {
        Cut::Part(preview) => preview.text(Lang::En).into_owned(),
        Cut::Whole(_) => panic!(),
    };
    let text = text.replace("package-1500@", "esquery@");
    assert!(!shown("version of esquery").contains("esquery"));
    let Cut::Part(preview) = cut_for(
        &text,
        &limits,
        Strategy::Smart,
        &Salience::default().query("version of esquery"),
    ) else {
        panic!()
    };
    assert!(preview.text(Lang::En).contains("\nesquery@1.4.0\n"));
}

#[test]
fn records_stay_records() {
    let text: String = (0..2000)
        .map(|n| format!("{{\"n\":{n},\"status\":\"ok\"}}\n"))
        .collect();
    let text = text.replace(
        "{\"n\":1234,\"status\":\"ok\"}",
        "{\"n\":1234,\"status\":\"failed\",\"why\":\"timeout error: no answer\"}",
    );
    let shown = shown(&text, Limits::none().bytes(600));
    assert!(
        shown.contains("\"n\":1234,\"status\":\"failed\""),
        "{shown}"
    );
    let lines: Vec<&str> = shown.lines().collect();
    let (last, records) = lines.split_last().unwrap();
    assert!(records.iter().all(|line| text.contains(*line)));
    assert_eq!(
        *last,
        format!("{{\"_omitted_lines\":{}}}", 2000 - records.len())
    );
}

#[test]
fn a_record_that_is_too_long_is_shortened_and_parses() {
    let long = format!("{{\"error\":\"failed: {}\",\"n\":1}}\n", "x".repeat(5000));
    let text = format!("{{\"n\":0}}\n{long}{{\"n\":2}}\n");
    let shown = shown(&text, Limits::none().bytes(1000));
    assert!(
        shown
            .lines()
            .all(|line| serde_json::from_str::<IgnoredAny>(line).is_ok()),
        "{shown}"
    );
    assert!(shown.contains("chars omitted]"), "{shown}");
}

#[test]
fn a_document_stays_a_document_and_keeps_what_failed() {
    let items: Vec<String> = (0..3000)
        .map(|n| match n {
            1777 => format!("{{\"id\":{n},\"log\":\"AssertionError: 1 is not 2\"}}"),
            _ => format!("{{\"id\":{n},\"log\":\"fine\"}}"),
        })
        .collect();
    let text = format!("{{\"items\":[{}],\"total\":3000}}", items.join(","));
    let shown = shown(&text, Limits::none().bytes(400));
    assert!(
        serde_json::from_str::<IgnoredAny>(&shown).is_ok(),
        "{shown}"
    );
    assert!(
        shown.contains("{\"id\":1777,\"log\":\"AssertionError: 1 is not 2\"}"),
        "{shown}"
    );
    assert!(shown.contains("\"items_omitted\":"), "{shown}");
}

#[test]
fn a_diff_keeps_its_headers() {
    let mut text = String::new();
    for file in 0..20 {
        text += &format!(
            "diff --git a/f{file} b/f{file}\n--- a/f{file}\n+++ b/f{file}\n@@ -1,60 +1,60 @@ fn f{file}\n"
        );
        for n in 0..60 {
            text += &format!(" same {n}\n");
        }
    }
    let text = text.replacen(" same 30\n", "-old line\n+new line\n", 1);
    let shown = shown(&text, Limits::none().lines(200));
    for file in 0..20 {
        for header in [
            format!("--- a/f{file}"),
            format!("+++ b/f{file}"),
            format!("@@ -1,60 +1,60 @@ fn f{file}"),
        ] {
            assert!(
                shown.lines().any(|line| line == header),
                "{header}\n{shown}"
            );
        }
    }
    assert!(shown.contains("\n-old line\n+new line\n"), "{shown}");
}

#[test]
fn a_diff_shows_changes_and_not_headers_alone() {
    let mut text = String::new();
    for file in 0..200 {
        text += &format!(
            "diff --git a/f{file} b/f{file}\nindex 1..2\n--- a/f{file}\n+++ b/f{file}\n@@ -1,3 +1,3 @@\n a\n-old {file}\n+new {file}\n b\n"
        );
    }
    let shown = shown(&text, Limits::none().bytes(4000));
    let lines: Vec<&str> = shown.lines().collect();
    let changes = lines.iter().filter(|line| line.starts_with("+new")).count();
    assert!(changes >= 10, "{shown}");
    // A change stands below the headers of its own file.
    for (at, line) in lines.iter().enumerate() {
        if let Some(file) = line.strip_prefix("+new ") {
            for header in [
                format!("diff --git a/f{file} b/f{file}"),
                format!("+++ b/f{file}"),
                "@@ -1,3 +1,3 @@".to_owned(),
            ] {
                assert!(
                    lines[at.saturating_sub(9)..at].contains(&header.as_str()),
                    "{header}\n{shown}"
                );
            }
        }
    }
}

/// Puts a line in the middle of prose that has nothing to do with it.
fn prose_with(line: &str) -> String {
    const WORDS: [&str; 12] = [
        "river", "stone", "over", "light", "under", "the", "house", "small", "garden", "walks",
        "slowly", "home",
    ];
    let sentence = |n: usize| -> String {
        (0..8)
            .map(|at| WORDS[(n * 31 + at * at * 7 + n / 5) % 12])
            .collect::<Vec<_>>()
            .join(if n.is_multiple_of(3) { ", " } else { " " })
    };
    let lines: Vec<String> = (0..3000)
        .map(|n| {
            if n == 1500 {
                line.to_owned()
            } else {
                sentence(n)
            }
        })
        .collect();
    lines.join("\n") + "\n"
}

#[test]
fn the_one_failure_is_kept_whatever_else_its_line_says() {
    let long = format!("ERROR upload refused {}", "key=value, ".repeat(2000));
    for line in [
        "subprocess.CalledProcessError: Command 'pip install -r req.txt --no-cache-dir -q --upgrade -v' returned non-zero exit status 1.",
        "Error: Command failed: docker build -t app -f Dockerfile --no-cache --pull .",
        "ERROR: 0/3 nodes are available: 3 Insufficient memory.",
        "FAILED: 0 of 5 replicas became ready",
        "fatal: 0 bytes read from pack",
        "Deployment failed after all migrations succeeded",
        &long,
    ] {
        let text = prose_with(line);
        for bytes in [2000, 10_000, 51_200] {
            let shown = shown(&text, Limits::none().bytes(bytes));
            assert!(shown.contains(&line[..28]), "{bytes} {line:.60}");
        }
    }
}

#[test]
fn what_a_stack_led_to_is_kept_with_it() {
    let frames: String = (0..12)
        .map(|n| format!("  File \"a.py\", line {n}, in f{n}\n    f{n}()\n"))
        .collect();
    let text = prose_with(&format!(
        "Traceback (most recent call last):\n{frames}mypkg.NotEnoughDisk: need 5 GB"
    ));
    assert!(
        shown(&text, Limits::none().bytes(4000)).contains("\nmypkg.NotEnoughDisk: need 5 GB\n")
    );
}

#[test]
fn the_notes_of_a_compiler_stay_with_their_error() {
    let notes: String = (0..8)
        .map(|n| format!("b.h:{n}:5: note: candidate takes {n} of them\n"))
        .collect();
    let block = format!("b.c:9:3: error: no function fits\n{notes}");
    let shown = shown(&prose_with(block.trim_end()), Limits::none().bytes(2000));
    assert!(shown.contains(&block), "{shown}");
}

#[test]
fn each_stack_of_a_chain_is_kept_with_what_it_wraps() {
    let stack = |name: &str| -> String {
        (0..50)
            .map(|n| format!("\tat app.{name}.f{n}({name}.java:{n})\n"))
            .collect()
    };
    let chain = format!(
        "error: app.Refused: no session\n{}Wrapped by: app.Outer: the pool of three\n{}",
        stack("Refused"),
        stack("Outer")
    );
    let shown = shown(&prose_with(chain.trim_end()), Limits::none().bytes(8000));
    assert!(shown.contains(&chain), "{shown}");
}

#[test]
fn an_unlike_error_among_many_of_its_level_stands_out() {
    let mut text = String::new();
    for n in 0..1000 {
        text += &format!(
            "2024-01-01T10:00:{:02}Z ERROR connection reset by peer on shard {n}, will retry\n",
            n % 60
        );
        if n == 500 {
            text += "2024-01-01T10:00:20Z ERROR ledger corrupted on shard 7, stopping now\n";
        }
    }
    assert!(shown(&text, Limits::none().bytes(2000)).contains("ledger corrupted"));
}

#[test]
fn a_command_does_not_drown_what_failed() {
    let mut text: String = (0..1500)
        .map(|n| format!("=== RUN   TestCase{n}\n"))
        .collect();
    (0..400).for_each(|n| text += &format!("ok   example.com/acme/billing/invoice/pkg{n} 0.1s\n"));
    text += "--- FAIL: TestTotals\n    totals_test.go:41: got 3, want 4\n";
    (0..1500).for_each(|n| text += &format!("=== RUN   TestOther{n}\n"));
    text += "FAIL\nexit status 1\n";
    let salience = Salience::default().command("go test -v example.com/acme/billing/invoice/...");
    let Cut::Part(preview) = cut_for(
        &text,
        &Limits::none().bytes(2000),
        Strategy::Smart,
        &salience,
    ) else {
        panic!()
    };
    assert!(
        preview
            .text(Lang::En)
            .contains("--- FAIL: TestTotals\n    totals_test.go:41: got 3, want 4\n")
    );
}

#[test]
fn a_single_long_line_shows_both_its_ends() {
    let text = format!("start {}END", "x,".repeat(50_000));
    let shown = shown(&text, Limits::none().bytes(10_000));
    assert!(
        shown.starts_with("start x,") && shown.ends_with("x,END"),
        "{}",
        &shown[..40]
    );
    assert!(shown.len() > 8000, "{}", shown.len());
    let bar = format!("{}\rerror: RPC failed\n", " 10% of it\r".repeat(9000));
    assert!(super::tests::shown(&bar, Limits::none().bytes(4000)).ends_with("error: RPC failed"));
}

#[test]
fn a_query_finds_its_member_or_record_in_a_document() {
    let members: Vec<String> = (0..800)
        .map(|n| format!("\"pkg{n}\":{{\"version\":\"1.{n}.0\"}}"))
        .collect();
    let text = format!(
        "{{{},\"esquery\":{{\"version\":\"1.7.0\"}},{}}}",
        members[..400].join(","),
        members[400..].join(",")
    );
    let about = Salience::default().query("which version of esquery");
    let Cut::Part(preview) = cut_for(&text, &Limits::none().bytes(600), Strategy::Smart, &about)
    else {
        panic!()
    };
    let shown = preview.text(Lang::En);
    assert!(
        shown.contains("\"esquery\":{\"version\":\"1.7.0\"}"),
        "{shown}"
    );
    assert!(
        serde_json::from_str::<IgnoredAny>(&shown).is_ok(),
        "{shown}"
    );
}

#[test]
fn what_follows_records_makes_them_text() {
    let mut text: String = (0..500).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    text += "FATAL: connection lost";
    assert!(shown(&text, Limits::none().bytes(600)).ends_with("FATAL: connection lost"));
    let broken = text.replace("FATAL: connection lost", "{\"n\":500,\"st");
    let shown = shown(&broken, Limits::none().bytes(600));
    assert!(
        shown
            .lines()
            .all(|line| serde_json::from_str::<IgnoredAny>(line).is_ok()),
        "{shown}"
    );
}

#[test]
fn huge_limits_and_many_headers_are_no_trouble() {
    let text: String = (0..40_000).map(|_| "diff --git a/x b/x\n").collect();
    assert!(!shown(&text, Limits::none().bytes(4000)).is_empty());
    for bytes in [usize::MAX, usize::MAX / 3, 6_000_000_000_000_000_000] {
        let limits = Limits::none()
            .bytes(bytes)
            .lines(20)
            .chars(bytes)
            .tokens(bytes);
        assert!(shown(&text[..40_000], limits.lines(20)).lines().count() <= 20);
    }
}

#[test]
fn a_table_keeps_its_header() {
    let mut text = "name,status,restarts and some more words to make it long\n".to_owned();
    (0..500).for_each(|n| text += &format!("pod-{n},Running,0\n"));
    let shown = shown(&text, Limits::none().bytes(220));
    assert!(shown.starts_with("name,status,restarts"), "{shown}");
}

#[test]
fn memory_is_bounded_whatever_comes() {
    type Make = fn(u64) -> String;
    let makes: [(&str, Make); 5] = [
        ("blank lines", |_| "\n".repeat(64)),
        ("hot lines", |n| {
            format!("error: number {n} of its kind {}\n", n * 31)
        }),
        ("one long line", |_| "x".repeat(4096)),
        ("records", |n| {
            format!("{{\"n\":{n},\"error\":\"failed {n}\"}}\n")
        }),
        ("a diff", |n| {
            format!("@@ -{n},1 +{n},1 @@\n-old {n}\n+new {n}\n")
        }),
    ];
    for (name, make) in makes {
        let mut keeper = super::keeper::LineKeeper::new(&Limits::default(), &Salience::default());
        for n in 0..150_000 {
            keeper.push(make(n).as_bytes());
        }
        keeper.end();
        let held = keeper.text.capacity()
            + keeper.lines.capacity() * super::keeper::LINE_COST
            + keeper.open.capacity();
        assert!(held < 24 << 20, "{name}: {held}");
    }
}

/// Checks that a preview of lines is the output with the lines left out that its markers name.
fn check_lines(text: &str, preview: &Preview<'_>) -> Result<(), TestCaseError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut next = 0;
    let parts = preview.parts();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Omitted { first, last } => {
                prop_assert_eq!(*first, next as u64 + 1);
                prop_assert!(last >= first);
                next = *last as usize;
            }
            Part::Text(run) => {
                let run = run.strip_prefix('\n').filter(|_| at > 0).unwrap_or(run);
                let is_last = at + 1 == parts.len();
                let run = run.strip_suffix('\n').filter(|_| !is_last).unwrap_or(run);
                for line in run.split('\n') {
                    let whole = lines[next];
                    let is_cut = line.match_indices("...").any(|(at, dots)| {
                        whole.starts_with(&line[..at]) && whole.ends_with(&line[at + dots.len()..])
                    });
                    prop_assert!(
                        line == whole || is_cut,
                        "{} is {:?}, not {:?}",
                        next + 1,
                        whole,
                        line
                    );
                    next += 1;
                }
            }
            _ => return Ok(()),
        }
    }
    prop_assert_eq!(next, lines.len());
    Ok(())
}

fn outputs() -> impl proptest::strategy::Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[a-z ]{0,20}",
        2 => "(error|Error|FAILED|warning)[: ][a-z ]{0,20}",
        1 => "    at [a-z.]{3,10}\\([A-Z][a-z]+\\.java:[0-9]{1,3}\\)",
        1 => Just(String::new()),
        1 => "[é截👍]{1,20}",
        1 => (1usize..600).prop_map(|n| "y".repeat(n)),
        1 => "[-+ ][a-z]{0,9}",
        1 => Just("@@ -1,2 +1,3 @@".to_owned()),
        1 => "\\{\"[a-z]{1,4}\":[0-9]{1,3}\\}",
    ];
    prop::collection::vec(line, 1..80).prop_map(|lines| lines.join("\n") + "\n")
}

fn json() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "\\PC{0,60}".prop_map(serde_json::Value::from),
        "(error|ok)\\PC{0,300}".prop_map(serde_json::Value::from),
    ];
    let tree = leaf.prop_recursive(5, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(serde_json::Value::from),
            prop::collection::btree_map("\\PC{0,12}", inner, 0..12)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::vec(tree, 0..20).prop_map(serde_json::Value::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn kept_lines_are_verbatim_and_the_markers_name_the_others(text in outputs(), bytes in 200usize..2000, lines in 5usize..60, query in "[a-z]{0,8}") {
        let limits = Limits::none().bytes(bytes).lines(lines);
        let salience = Salience::default().query(&query);
        let Cut::Part(preview) = cut_for(&text, &limits, Strategy::Smart, &salience) else { return Ok(()) };
        if preview.reasons().is_empty() {
            return Ok(());
        }
        check_lines(&text, &preview)?;
        let again = cut_for(&text, &limits, Strategy::Smart, &salience);
        prop_assert_eq!(Cut::Part(preview), again);
    }

    #[test]
    fn any_document_parses_when_it_is_cut(value in json(), bytes in 256usize..4000, is_pretty: bool, size in 1usize..400) {
        let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let limits = Limits::none().bytes(bytes);
        let mut stream = Stream::new(&limits, Strategy::Smart);
        text.as_bytes().chunks(size).for_each(|chunk| stream.push(chunk));
        let Streamed::Part(preview) = stream.finish() else { return Ok(()) };
        let shown = preview.text(Lang::En);
        prop_assert!(shown.len() <= bytes);
        prop_assert!(serde_json::from_str::<Vec<IgnoredAny>>(&shown).is_ok(), "{}", shown);
    }

    #[test]
    fn any_records_stay_records(values in prop::collection::vec(json(), 2..6), bytes in 256usize..4000) {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let Cut::Part(preview) = cut(&text, &Limits::none().bytes(bytes), Strategy::Smart) else { return Ok(()) };
        let shown = preview.text(Lang::En);
        prop_assert!(shown.len() <= bytes);
        for line in shown.lines() {
            prop_assert!(serde_json::from_str::<IgnoredAny>(line).is_ok(), "{}", line);
        }
    }
}
