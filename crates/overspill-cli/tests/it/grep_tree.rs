//! `Grep` in trees that are out to make trouble: the same set of matches as `rg`, and an answer whatever is met.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::grep::{Dice, grep, grep_with, places, put};
use crate::support::{PROGRAM, Sandbox, make_fifo, meanwhile, valid_envelope};

/// A match: file, line, text.
type Found = (String, u64, String);

/// Runs `rg` in the root, which is made a repository: elsewhere versions of it differ on where rules end. `None`, said
/// loudly, where there is no `rg`.
fn rg(sandbox: &Sandbox, arguments: &[&str]) -> Option<Vec<u8>> {
    fs::create_dir_all(sandbox.root().join(".git")).expect("a repository");
    let done = Command::new("rg")
        .args(["--no-config", "--no-messages", "--color=never"])
        .args(arguments)
        .current_dir(sandbox.root())
        .env("HOME", sandbox.home())
        .env_remove("XDG_CONFIG_HOME")
        .output();
    match done {
        Ok(output) => Some(output.stdout),
        Err(error) => {
            // Past the capture of the test harness, which would hide it.
            let _ = writeln!(
                std::io::stderr(),
                "NOT TESTED: cannot run rg (`cargo xtask test` installs it): {error}"
            );
            None
        }
    }
}

/// What `rg` finds, case ignored.
fn rg_matches(
    sandbox: &Sandbox,
    flags: &[&str],
    pattern: &str,
    path: &str,
) -> Option<BTreeSet<Found>> {
    let fixed = ["-i", "-n", "--crlf", "--no-heading", "--null"];
    let output = rg(sandbox, &[&fixed, flags, &["-e", pattern, path]].concat())?;
    let mut found = BTreeSet::new();
    let mut rest = &output[..];
    while !rest.is_empty() {
        // The path ends at a NUL, since it may hold anything else.
        let (path, line, text);
        (path, rest) = split(rest, 0);
        (line, rest) = split(rest, b':');
        (text, rest) = split(rest, b'\n');
        let path = path.strip_prefix(b"./").unwrap_or(path);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let show = |bytes| String::from_utf8_lossy(bytes).into_owned();
        found.insert((show(path), show(line).parse().unwrap(), show(text)));
    }
    Some(found)
}

fn split(bytes: &[u8], at: u8) -> (&[u8], &[u8]) {
    let end = bytes
        .iter()
        .position(|&byte| byte == at)
        .unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

/// What `Grep` finds.
fn our_matches(sandbox: &Sandbox, params: &Value) -> BTreeSet<Found> {
    let mut params = params.clone();
    params["limit"] = 1_000_000.into();
    let envelope = grep_with(
        sandbox,
        &["--max-lines", "1000000", "--max-tokens", "1000000"],
        &params,
    );
    assert_eq!(envelope["data"]["truncated"], false, "{params}");
    envelope["data"]["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let word = |key: &str| found[key].as_str().unwrap().to_owned();
            (word("file"), found["line"].as_u64().unwrap(), word("text"))
        })
        .collect()
}

/// Compares with `rg` under every mix of the flags; false where there is none.
#[track_caller]
fn agrees(sandbox: &Sandbox, patterns: &[&str], paths: &[&str]) -> bool {
    for pattern in patterns {
        for path in paths {
            for (hidden, no_ignore) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let mut flags = Vec::new();
                flags.extend(hidden.then_some("--hidden"));
                flags.extend(no_ignore.then_some("--no-ignore"));
                let Some(expected) = rg_matches(sandbox, &flags, pattern, path) else {
                    return false;
                };
                let params = json!({ "pattern": pattern, "path": path, "hidden": hidden, "no_ignore": no_ignore });
                let ours = our_matches(sandbox, &params);
                let only = |these: &BTreeSet<_>, others: &BTreeSet<_>| -> Vec<_> {
                    let places = |found: &(String, u64, String)| (found.0.clone(), found.1);
                    these.difference(others).map(places).collect()
                };
                let differences = (only(&ours, &expected), only(&expected, &ours));
                assert_eq!(
                    differences,
                    (vec![], vec![]),
                    "ours alone, rg's alone: {params}"
                );
            }
        }
    }
    true
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    units
        .flat_map(|unit| match big_endian {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        })
        .collect()
}

/// One of everything that a search can meet.
fn hostile() -> Sandbox {
    let sandbox = Sandbox::new();
    let write = |path: &str, content: &[u8]| drop(sandbox.write(path, content));
    let plain = b"first\nneedle here\nlast needle";
    for path in [
        "plain.txt",
        "a.log",
        "keep.log",
        "sub/b.log",
        "sub/keep.log",
        "sub/anchored.txt",
        "anchored.txt",
        "deep/sub/anchored.txt",
        "build/out.txt",
        "sub/build/out.txt",
        "sub/build.txt",
        "x/generated/y/z.txt",
        "x/generated.txt",
        "docs/a/b/draft.md",
        "docs/draft.md",
        "docs/a/final.md",
        "excluded.txt",
        "sub/excluded.txt",
        "ignored-by-ignore.txt",
        "back-again.txt",
        ".hidden.txt",
        ".shown.txt",
        ".dir/in.txt",
        ".shown-dir/in.txt",
        "nested/a.log",
        "nested/own.txt",
        "nested/keep.txt",
        "nested/sub/a.log",
        "nested/excluded-there.txt",
        "worktree/a.log",
        "crlf-rules/one.tmp",
        "crlf-rules/two.txt",
        "rg-rules/three.txt",
        "rg-rules/four.txt",
        "spaces in name.txt",
        "#hash.txt",
        "!bang.txt",
        "quote\"'.txt",
        "tab\there.txt",
        "[brackets].txt",
        "new\nline.txt",
        "ünï/cödé.txt",
        "empty-dir-rules/.keep",
    ] {
        write(path, plain);
    }
    write(".gitignore", b"# rules\n\n*.log\n!keep.log\n/anchored.txt\nbuild/\n**/generated/**\ndocs/**/draft.md\n!.shown.txt\n!.shown-dir/\n\\#hash.txt\n\\!bang.txt\nback-again.txt\n");
    write("sub/.gitignore", b"anchored.txt\n!/b.log\n");
    write(".ignore", b"ignored-by-ignore.txt\n!back-again.txt\n");
    write("rg-rules/.rgignore", b"three.txt\n");
    write(".git/info/exclude", b"excluded.txt\n");
    write(".git/HEAD", b"ref: refs/heads/needle\n");
    write("nested/.git/info/exclude", b"excluded-there.txt\n");
    write("nested/.gitignore", b"own.txt\n!keep.txt\n");
    write("worktree/.git", b"gitdir: ../.git/worktrees/needle\n");
    write("crlf-rules/.gitignore", b"*.tmp\r\n");
    write("empty.txt", b"");
    write("crlf.txt", b"first\r\nneedle\r\nneedle end\r\n");
    write("mixed.txt", b"needle\r\nneedle\n\r\nneedle\rneedle\n");
    write(
        "utf16le.txt",
        &utf16("first\r\nneedle ü\r\nlast\r\n", false),
    );
    write("utf16be.txt", &utf16("first\nneedle 漢\n", true));
    write("bom.txt", b"\xEF\xBB\xBFneedle after a mark\n");
    write("latin1.txt", b"caf\xE9 needle\nna\xEFve needle \xFF\n");
    write(
        "long.txt",
        &[b"x".repeat(1500), b" needle\n".to_vec()].concat(),
    );
    write("no-newline.txt", b"needle");
    let root = sandbox.root();
    fs::write(
        root.join(OsStr::from_bytes(b"not-utf8-\xFF\xE9.txt")),
        plain,
    )
    .unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("../..", root.join("docs/a/up")).unwrap();
    symlink("self", root.join("self")).unwrap();
    symlink("plain.txt", root.join("link.txt")).unwrap();
    symlink("nowhere", root.join("dangling.txt")).unwrap();
    make_fifo(&root.join("fifo.txt"));
    sandbox
}

#[test]
fn the_same_matches_as_ripgrep_in_a_hostile_tree() {
    let sandbox = hostile();
    let _socket = UnixListener::bind(sandbox.root().join("socket.txt")).unwrap();
    let patterns = [
        "needle",
        "needle$",
        "^needle",
        r"\bNEEDLE\b.*\w",
        "ü|漢",
        "^$",
        "",
        "no such thing",
    ];
    if !agrees(&sandbox, &patterns, &["."]) {
        return;
    }
    agrees(
        &sandbox,
        &["needle"],
        &[
            "sub",
            "nested",
            "docs/a",
            "x/generated",
            ".dir",
            "worktree",
            "crlf-rules",
            "build",
            "./sub/",
        ],
    );
    // Were nothing left out or everything, the two would agree as well.
    let files: BTreeSet<String> = our_matches(&sandbox, &json!({ "pattern": "needle" }))
        .into_iter()
        .map(|(file, _, _)| file)
        .collect();
    for (file, is_searched) in [
        ("keep.log", true),
        ("a.log", false),
        ("sub/b.log", true),
        ("anchored.txt", false),
        ("sub/anchored.txt", false),
        ("deep/sub/anchored.txt", true),
        ("build/out.txt", false),
        ("x/generated/y/z.txt", false),
        ("docs/a/b/draft.md", false),
        ("excluded.txt", false),
        ("back-again.txt", true),
        (".hidden.txt", false),
        (".shown.txt", true),
        (".shown-dir/in.txt", true),
        ("nested/a.log", true),
        ("nested/own.txt", false),
        ("nested/excluded-there.txt", false),
        ("worktree/a.log", true),
        ("crlf-rules/one.tmp", false),
        ("rg-rules/three.txt", false),
        ("utf16le.txt", true),
        ("utf16be.txt", true),
        ("latin1.txt", true),
        ("bom.txt", true),
        ("new\nline.txt", true),
        ("not-utf8-\u{FFFD}\u{FFFD}.txt", true),
        ("link.txt", false),
        ("loop/plain.txt", false),
    ] {
        assert_eq!(files.contains(file), is_searched, "{file}");
    }
}

#[test]
fn the_same_matches_as_ripgrep_under_any_rules() {
    const RULES: [&str; 24] = [
        "*.log",
        "!*.log",
        "/a",
        "a/",
        "!a/",
        "a/**",
        "**/b",
        "**/b/*.txt",
        "b/c",
        "/b/*",
        "!b/c/",
        "*",
        "!*/",
        "!*.txt",
        "c?.txt",
        "[bc].txt",
        "a/*/c.txt",
        "/**/c",
        "!keep*",
        "keep.txt",
        "# nothing",
        "",
        "b.txt/",
        "/*.log",
    ];
    const PARTS: [&str; 6] = ["a", "b", "c", ".h", "keep", "d"];
    const NAMES: [&str; 9] = [
        "a.log", "b.log", "b.txt", "c.txt", "c1.txt", "keep.txt", "keep.log", ".h.txt", "c",
    ];
    for seed in 0..10 {
        let (sandbox, mut dice) = (Sandbox::new(), Dice::new(seed));
        let mut dirs = vec![String::new()];
        for _ in 0..40 {
            let dir = format!("{}{}/", dice.pick(&dirs), dice.pick(&PARTS));
            if dir.matches('/').count() < 5
                && !sandbox.root().join(&dir).is_file()
                && fs::create_dir_all(sandbox.root().join(&dir)).is_ok()
            {
                dirs.push(dir);
            }
        }
        for _ in 0..60 {
            let path = sandbox
                .root()
                .join(format!("{}{}", dice.pick(&dirs), dice.pick(&NAMES)));
            if !path.exists() {
                fs::write(path, "needle\n").unwrap();
            }
        }
        for _ in 0..6 {
            let file = dice.pick(&[
                ".gitignore",
                ".gitignore",
                ".ignore",
                ".rgignore",
                ".git/info/exclude",
            ]);
            let rules: Vec<&str> = (0..1 + dice.below(4)).map(|_| *dice.pick(&RULES)).collect();
            sandbox.write(&format!("{}{file}", dice.pick(&dirs)), rules.join("\n"));
        }
        let below = dice.pick(&dirs).clone();
        if !agrees(
            &sandbox,
            &["needle"],
            &[".", if below.is_empty() { "." } else { &below }],
        ) {
            return;
        }
    }
}

#[test]
fn a_name_with_a_newline_changes_nothing_about_the_match() {
    let sandbox = Sandbox::new();
    let name = "new\nline.txt";
    put(&sandbox, name, 1, "first hit\nlast hit\n");
    let envelope = grep(&sandbox, &json!({ "pattern": "hit" }));
    assert_eq!(
        (
            &envelope["status"],
            &envelope["data"]["truncated"],
            &envelope["data"]["matches"]
        ),
        (
            &json!("success"),
            &json!(false),
            &json!([
                { "file": name, "line": 1, "text": "first hit" },
                { "file": name, "line": 2, "text": "last hit" },
            ])
        )
    );
    let page = grep_with(
        &sandbox,
        &["--max-lines", "1"],
        &json!({ "pattern": "hit" }),
    );
    assert_eq!(
        page["data"]["matches"],
        json!([{ "file": name, "line": 1, "text": "first hit" }])
    );
    assert_eq!(page["data"]["next_offset"], 1);
}

#[test]
fn a_file_is_binary_by_its_first_8_kib() {
    let sandbox = Sandbox::new();
    let nul_at = |at: usize| {
        let mut bytes = b"needle\n".repeat(2000);
        bytes[at] = 0;
        bytes
    };
    for (name, at) in [
        ("start", 0),
        ("edge", 8191),
        ("after", 8192),
        ("end", 13_999),
    ] {
        sandbox.write(name, nul_at(at));
    }
    sandbox.write("utf16-without-mark", &utf16("needle\n", false)[2..]);
    // One that is read through a window is judged the same way.
    sandbox.write(
        "large",
        [b"needle\n".repeat(300_000), b"\0needle\n".to_vec()].concat(),
    );
    let params = json!({ "pattern": "needle", "output_mode": "count" });
    let envelope = grep(&sandbox, &params);
    let mut counts: Vec<(&str, u64)> = envelope["data"]["counts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| {
            (
                count["file"].as_str().unwrap(),
                count["count"].as_u64().unwrap(),
            )
        })
        .collect();
    counts.sort_unstable();
    // The line in which the NUL stands is 8192 / 7 = 1170.29 lines from the start: inside a word.
    assert_eq!(counts, [("after", 1999), ("end", 2000), ("large", 300_001)]);
    assert_eq!(
        (&envelope["status"], &envelope["stats"]["searched_files"]),
        (&json!("success"), &json!(3))
    );

    let named = grep(&sandbox, &json!({ "pattern": "needle", "path": "edge" }));
    let text = named["text"].as_str().unwrap();
    assert!(
        text.ends_with("\n[Info: 'edge' is binary and was not searched.]"),
        "{text}"
    );
    assert_eq!(places(&named), [] as [&str; 0]);
}

#[test]
fn a_line_of_50_megabytes_is_searched_and_shortened() {
    let sandbox = Sandbox::new();
    let mut line = vec![b'x'; 50 << 20];
    line[25 << 20..][..6].copy_from_slice(b"needle");
    line.extend_from_slice(b"\nneedle 2\n");
    sandbox.write("long.txt", &line);
    let flags = ["--search-timeout-ms", "15000"];
    let envelope = grep_with(&sandbox, &flags, &json!({ "pattern": "needle" }));
    assert_eq!(places(&envelope), ["long.txt:1", "long.txt:2"]);
    let text = envelope["data"]["matches"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("...xxx") && text.contains("xneedlex") && text.ends_with("xxx..."),
        "{text}"
    );
    assert!(text.len() <= 2000, "{}", text.len());
    if let Some(found) = rg(&sandbox, &["-i", "-c", "needle", "long.txt"]) {
        assert_eq!(String::from_utf8_lossy(&found), "2\n");
    }
}

#[test]
fn the_same_files_as_ripgrep_among_20_000() {
    let sandbox = Sandbox::new();
    // Names of few files: making 20,000 would take longer than all the rest.
    let needle = sandbox.write("needle.txt", "needle\n");
    let straw = sandbox.write("straw.txt", "straw\n");
    for dir in 0..100 {
        let dir = sandbox.root().join(format!("d{dir}"));
        fs::create_dir(&dir).unwrap();
        for file in 0..200 {
            let content = if file % 7 == 0 { &needle } else { &straw };
            fs::hard_link(content, dir.join(format!("f{file}.txt"))).unwrap();
        }
    }
    sandbox.write("d3/.gitignore", "*\n");
    sandbox.write("d5/.gitignore", "f1*\n");
    let params =
        json!({ "pattern": "needle", "output_mode": "files_with_matches", "limit": 100_000 });
    let envelope = grep_with(&sandbox, &["--search-timeout-ms", "15000"], &params);
    let ours: BTreeSet<&str> = envelope["data"]["filenames"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(envelope["stats"]["matched_files"], ours.len());
    assert!((2800..2900).contains(&ours.len()), "{}", ours.len());
    if let Some(output) = rg(&sandbox, &["-i", "-l", "needle", "."]) {
        let output = String::from_utf8(output).unwrap();
        let theirs: BTreeSet<&str> = output
            .lines()
            .map(|name| name.trim_start_matches("./"))
            .collect();
        assert_eq!(ours, theirs);
    }
    let newest = grep(&sandbox, &json!({ "pattern": "needle", "total": false }));
    assert_eq!(places(&newest).len(), 100);
}

#[test]
fn files_that_come_and_go_disturb_nothing() {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        put(&sandbox, &format!("stay/{number}.txt"), number, "needle\n");
    }
    let root = sandbox.root();
    let come_and_go = || {
        let dir = root.join("come/and/go");
        fs::create_dir_all(&dir).unwrap();
        for number in 0..20 {
            fs::write(dir.join(format!("{number}.txt")), "needle\n".repeat(50)).unwrap();
        }
        // A directory that becomes a file, and a file that becomes a directory.
        fs::remove_dir_all(root.join("come")).unwrap();
        fs::write(root.join("come"), "needle\n").unwrap();
        fs::remove_file(root.join("come")).unwrap();
    };
    meanwhile(come_and_go, || {
        for _ in 0..60 {
            let envelope = grep(&sandbox, &json!({ "pattern": "needle", "limit": 2000 }));
            let stayed = places(&envelope)
                .iter()
                .filter(|place| place.starts_with("stay/"))
                .count();
            assert_eq!(stayed, 30, "{envelope:#}");
            let text = envelope["text"].as_str().unwrap();
            assert!(!text.contains("could not be read"), "{text}");
        }
    });
}

#[test]
fn what_may_not_be_read_is_counted_and_the_rest_is_searched() {
    let sandbox = Sandbox::new();
    sandbox.write("open.txt", "needle\n");
    let closed = [
        sandbox.write("closed.txt", "needle\n"),
        sandbox.root().join("closed-dir"),
    ];
    sandbox.write("closed-dir/in.txt", "needle\n");
    for path in &closed {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    for dir in [sandbox.outside(), sandbox.root(), sandbox.home()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let answers = |params: &Value| {
        let mut command = sandbox.command(&["call", "Grep", &params.to_string()]);
        if rustix::process::geteuid().is_root() {
            // Root may read everything, so somebody else has to try.
            command.uid(65534).gid(65534);
        }
        command.stdin(Stdio::null());
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.ok().map(|child| sandbox.end(child))
    };
    let Some(output) = answers(&json!({ "pattern": "needle" })) else {
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED: another user cannot run {PROGRAM}, so nothing is unreadable"
        );
        return;
    };
    let envelope = valid_envelope(&output);
    let text = envelope["text"].as_str().unwrap();
    assert_eq!(
        (&envelope["status"], places(&envelope)),
        (&json!("partial"), vec!["open.txt:1".to_owned()])
    );
    assert!(
        text.contains("\n[Partial: 2 files or directories could not be read.]\n"),
        "{text}"
    );
    for path in ["closed.txt", "closed-dir/in.txt"] {
        let output = answers(&json!({ "pattern": "needle", "path": path })).unwrap();
        let envelope = valid_envelope(&output);
        assert_eq!(
            envelope["error"]["code"], "PERMISSION_DENIED",
            "{path}: {envelope:#}"
        );
    }
    reopen(&closed);
}

/// Lets the scratch directory be removed again.
fn reopen(paths: &[impl AsRef<Path>]) {
    for path in paths {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
