//! `overspill show`.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Sandbox, seq};

const ID: &str = "0000000a";
const NAME: &str = "tool_20200101_000000_0000000a_Run.txt";

/// A sandbox with one spill under a known name.
fn with_spill(content: impl AsRef<[u8]>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(&format!("tool-output/{NAME}"), content);
    sandbox
}

#[test]
fn a_spill_goes_by_id_prefix_path_or_latest() {
    let sandbox = with_spill("old\n");
    let newer = "tool_20200102_000000_0000000b_Run.txt";
    sandbox.write(&format!("tool-output/{newer}"), "new\n");
    let cases = [
        (ID.to_owned(), "old\n"),
        ("0000000b".to_owned(), "new\n"),
        ("latest".to_owned(), "new\n"),
        (NAME.to_owned(), "old\n"),
        (format!("tool-output/{NAME}"), "old\n"),
        (
            sandbox.store().join(NAME).to_string_lossy().into_owned(),
            "old\n",
        ),
    ];
    for (wanted, expected) in cases {
        assert_eq!(
            sandbox.run(&["show", &wanted]).quietly(0).text(),
            expected,
            "{wanted}"
        );
    }
    sandbox.write(
        "tool-output/tool_20200103_000000_1000000c_Run.txt",
        "third\n",
    );
    assert_eq!(
        sandbox.run(&["show", "1"]).quietly(0).text(),
        "third\n",
        "a prefix that one spill has"
    );
    insta::assert_snapshot!(sandbox.run(&["show", "0"]).report(), @"
    exit 1
    --- stderr
    overspill: `0` is the start of more than one id: `0000000b`, `0000000a`
    hint: give more of the id
    ");
}

#[test]
fn a_path_may_be_written_in_more_than_one_way() {
    let sandbox = with_spill("spill\n");
    for path in [
        format!("./tool-output/{NAME}"),
        format!("tool-output//{NAME}"),
        format!("tool-output/./{NAME}"),
    ] {
        assert_eq!(
            sandbox.run(&["show", &path]).quietly(0).text(),
            "spill\n",
            "{path}"
        );
    }
}

#[test]
fn what_is_no_spill_is_not_read() {
    let sandbox = with_spill("spill\n");
    fs::write(sandbox.outside().join("secret"), "secret\n").unwrap();
    sandbox.write("secret", "secret\n");
    sandbox.write("tool-output/secret", "secret\n");
    symlink(
        "/etc/passwd",
        sandbox
            .store()
            .join("tool_20200101_000000_0000000z_Run.txt"),
    )
    .unwrap();
    let secret = sandbox
        .outside()
        .join("secret")
        .to_string_lossy()
        .into_owned();
    let cases = [
        "../../etc/passwd",
        "/etc/passwd",
        "../secret",
        "./secret",
        "secret",
        &secret,
        "tool-output/secret",
        "tool-output/../secret",
        "0000000z",
        "tool_20200101_000000_0000000z_Run.txt",
        "zzzz",
        "",
        "/",
        ".",
        "tool-output",
        "tool-output/",
    ];
    for wanted in cases {
        let output = sandbox.run(&["show", wanted]);
        assert_eq!((output.code, output.text().as_str()), (1, ""), "{wanted:?}");
        let expected = format!(
            "overspill: no spill `{wanted}` in `tool-output`; spills are kept 7 days\nhint: `overspill list` shows what there is\n"
        );
        assert_eq!(output.stderr, expected, "{wanted:?}");
    }
    let output = Sandbox::new().run(&["show", "latest"]);
    assert_eq!(
        (output.code, output.text().as_str()),
        (1, ""),
        "a store that was never used"
    );
}

#[test]
fn pages() {
    let sandbox = with_spill(seq(10));
    let show = |flags: &[&str]| sandbox.run(&[&["show", ID], flags].concat()).report();
    assert_eq!(
        show(&[]),
        format!("exit 0\n--- stdout\n{}", seq(10)),
        "all of it, and nothing else"
    );
    insta::assert_snapshot!(show(&["--limit", "3"]), @"
    exit 0
    --- stdout
    1
    2
    3

    [lines 1-3 of 10; next: overspill show 0000000a --offset 4]
    ");
    insta::assert_snapshot!(show(&["--offset", "4", "--limit", "2"]), @"
    exit 0
    --- stdout
    4
    5

    [lines 4-5 of 10; next: overspill show 0000000a --offset 6]
    ");
    insta::assert_snapshot!(show(&["--offset", "9"]), @"
    exit 0
    --- stdout
    9
    10

    [lines 9-10 of 10]
    ");
    insta::assert_snapshot!(show(&["--tail", "2"]), @"
    exit 0
    --- stdout
    9
    10

    [lines 9-10 of 10]
    ");
    insta::assert_snapshot!(show(&["--tail", "99"]), @"
    exit 0
    --- stdout
    1
    2
    3
    4
    5
    6
    7
    8
    9
    10
    ");
    insta::assert_snapshot!(show(&["--offset", "11"]), @"
    exit 1
    --- stdout
    [no such lines: 0000000a has 10]
    ");
}

#[test]
fn paging_reaches_every_line_once() {
    let sandbox = with_spill(seq(4321));
    let (mut offset, mut seen) = ("1".to_owned(), String::new());
    for _ in 0..10 {
        let text = sandbox
            .run(&["show", ID, "--offset", &offset])
            .quietly(0)
            .text();
        let (page, place) = text.rsplit_once("\n\n[lines ").unwrap();
        seen += &format!("{page}\n");
        match place
            .trim_end()
            .trim_end_matches(']')
            .rsplit_once(" --offset ")
        {
            Some((_, next)) => offset = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, seq(4321));
}

#[test]
fn searching() {
    let sandbox = with_spill("one\ntwo\nError: here\nfour\nfive\nsix\nseven\nerror again\n");
    let grep = |flags: &[&str]| {
        sandbox
            .run(&[&["show", "latest", "--grep"], flags].concat())
            .report()
    };
    insta::assert_snapshot!(grep(&["error"]), @"
    exit 0
    --- stdout
    3: Error: here
    8: error again
    ");
    insta::assert_snapshot!(grep(&["error", "-C", "1"]), @"
    exit 0
    --- stdout
    2- two
    3: Error: here
    4- four
    --
    7- seven
    8: error again
    ");
    insta::assert_snapshot!(grep(&["^error", "--case-sensitive"]), @"
    exit 0
    --- stdout
    8: error again
    ");
    insta::assert_snapshot!(grep(&["nothing like it"]), @"
    exit 1
    --- stdout
    [no match in 0000000a]
    ");
    insta::assert_snapshot!(grep(&["a("]), @"
    exit 2
    --- stderr
    overspill: pattern `a(`: unclosed group
    ");
}

#[test]
fn what_is_shown_is_itself_bounded() {
    let huge = "x".repeat(10 << 20);
    let spills = [
        ("a huge line", format!("first\n{huge}\nlast\n")),
        ("one huge line", huge),
        ("many lines", seq(1_000_000)),
        (
            "many long lines",
            format!("{}\n", "x".repeat(3000)).repeat(2000),
        ),
    ];
    for (name, content) in spills {
        let sandbox = with_spill(content);
        let calls: [&[&str]; 6] = [
            &[],
            &["--tail", "5"],
            &["--offset", "2"],
            &["--offset", "2", "--limit", "1"],
            &["--grep", "x|0"],
            &["--grep", "x|0", "-C", "5"],
        ];
        for flags in calls {
            let output = sandbox.run(&[&["show", ID], flags].concat());
            let text = output.text();
            assert!(
                text.len() <= 51_200 + 1024,
                "{name} {flags:?}: {} bytes",
                text.len()
            );
            assert!(
                text.lines().count() <= 2000 + 4,
                "{name} {flags:?}: {} lines",
                text.lines().count()
            );
            assert!(
                !text.is_empty() && output.stderr.is_empty(),
                "{name} {flags:?}: {}",
                output.stderr
            );
        }
        assert_eq!(sandbox.stored(), [NAME], "nothing is spilled again");
    }
}

#[test]
fn the_limits_of_the_call_hold_for_what_is_shown() {
    let sandbox = with_spill(seq(100));
    let text = sandbox
        .run(&["show", ID, "--max-lines", "3"])
        .quietly(0)
        .stable();
    assert_eq!(
        text,
        "1\n2\n3\n\n[lines 1-3 of 100; next: overspill show 0000000a --offset 4]\n"
    );
    let text = sandbox
        .run(&["show", ID, "--max-result-chars", "60"])
        .quietly(0)
        .text();
    assert!(text.trim_end().chars().count() <= 60, "{text}");
}

#[test]
fn a_hint_can_be_typed_as_it_is() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .pipe(&["truncate", "--max-lines", "2"], seq(50))
        .quietly(0)
        .text();
    let hint = text
        .lines()
        .find_map(|line| line.strip_prefix("In a shell: "))
        .unwrap();
    let command = hint.split(" --grep").next().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &format!("{command} --grep '^4[01]$'")])
        .current_dir(sandbox.root());
    assert_eq!(
        sandbox.finish(shell, b"").quietly(0).text(),
        "40: 40\n41: 41\n"
    );
}

#[test]
fn control_codes_and_bytes_that_are_not_text_are_shown_as_text() {
    let sandbox = with_spill(b"caf\xc3\xa9\n\xff\xfe\n\x1b[31mred\n");
    assert_eq!(
        sandbox.run(&["show", ID]).quietly(0).text(),
        "café\n\u{fffd}\u{fffd}\nred\n"
    );
}

#[test]
fn flags_that_exclude_each_other() {
    let sandbox = with_spill("x\n");
    let cases: [&[&str]; 4] = [
        &["--tail", "1", "--offset", "1"],
        &["--grep", "x", "--tail", "1"],
        &["-C", "1"],
        &["--offset", "x"],
    ];
    for flags in cases {
        let output = sandbox.run(&[&["show", ID], flags].concat());
        assert_eq!((output.code, output.text().as_str()), (2, ""), "{flags:?}");
        assert!(
            output.stderr.starts_with("error: "),
            "{flags:?}: {}",
            output.stderr
        );
    }
}

#[test]
fn a_line_that_is_cut_says_so_and_all_of_it_can_be_reached() {
    let sandbox = Sandbox::new();
    let line: String = (0..40_000).map(|n| format!("{n},")).collect();
    sandbox
        .pipe(
            &["truncate", "--max-lines", "1"],
            format!("first\n{line}\nlast\n"),
        )
        .quietly(0);

    let shown = sandbox.run(&[
        "show",
        "latest",
        "--offset",
        "2",
        "--limit",
        "1",
        "--max-bytes",
        "100000",
    ]);
    let shown = shown.quietly(0).text();
    let (text, remark) = shown.trim_end().rsplit_once("\n\n").unwrap();
    assert!(line.starts_with(text) && text.len() == 100_000);
    assert!(
        remark.starts_with("[line 2 is cut; next: ") && remark.ends_with(" --byte 100006]"),
        "{remark}"
    );

    let (mut all, mut next) = (text.to_owned(), "100006".to_owned());
    while all.len() < line.len() {
        let shown = sandbox
            .run(&["show", "latest", "--byte", &next, "--max-bytes", "60000"])
            .quietly(0)
            .text();
        let (text, remark) = shown.trim_end().rsplit_once("\n\n").unwrap();
        all += text.lines().next().unwrap();
        next = remark.rsplit([' ', ']']).nth(1).unwrap().to_owned();
    }
    assert_eq!(all, line);
}

#[test]
fn a_match_in_a_long_line_is_shown_with_its_neighbourhood() {
    let sandbox = Sandbox::new();
    let line = format!("{}NEEDLE{}", "x".repeat(300_000), "y".repeat(300_000));
    sandbox.pipe(&["truncate"], &line).quietly(0);
    let shown = sandbox
        .run(&["show", "latest", "--grep", "needle"])
        .quietly(0)
        .text();
    assert_eq!(
        shown,
        format!(
            "1@299800: ...{}NEEDLE{}...\n",
            "x".repeat(200),
            "y".repeat(794)
        )
    );
}

#[test]
fn a_search_reads_the_bytes_as_they_are_shown() {
    let sandbox = Sandbox::new();
    let mut input = b"\xff\xfe".to_vec();
    input.extend_from_slice(seq(3000).as_bytes());
    sandbox.pipe(&["truncate"], input).quietly(0);
    assert_eq!(
        sandbox
            .run(&["show", "latest", "--grep", "^2999$"])
            .quietly(0)
            .text(),
        "2999: 2999\n"
    );
}
