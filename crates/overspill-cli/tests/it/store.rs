//! The store from outside: `list`, `clean`, and every way in which saving can fail.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Signal, geteuid, kill_process};
use serde_json::Value;

use crate::support::{
    Mount, Output, Sandbox, make_fifo, names, pid, seq, set_age, stable, until, valid_envelope,
};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// Another user's number, for a process that may not write what is root's.
const NOBODY: u32 = 65_534;

/// Runs all three ways to spill with a store that cannot be written, and returns the reason they give.
///
/// Whatever is wrong with the store: a bounded preview, a notice that says so, and the exit code unharmed.
#[track_caller]
fn reason_of_loss(
    sandbox: &Sandbox,
    flags: &[&str],
    run: impl Fn(&[&str], &[u8]) -> Output,
) -> String {
    let envelope = serde_json::json!({
        "status": "success", "data": { "content": seq(20_000) }, "text": "Read it.",
        "stats": { "time_ms": 1 }, "context": { "cwd": ".", "params_input": {} },
    });

    let output = run(
        &[flags, &["truncate", "--max-lines", "3"]].concat(),
        seq(20_000).as_bytes(),
    )
    .quietly(0);
    let text = output.stable();
    let lost = text.strip_prefix("1\n2\n3\n\n...19997 lines truncated...\n\nThe output was truncated, and the full output was not saved: ");
    let lost = lost.unwrap_or_else(|| panic!("{text}"));
    let reason = lost
        .strip_suffix("\nIf you need the rest, repeat the call so that it gives less.\n")
        .unwrap_or_else(|| panic!("{text}"));

    let output = run(
        &[
            flags,
            &[
                "run",
                "--max-lines",
                "3",
                "--",
                "sh",
                "-c",
                "seq 1 20000; exit 7",
            ],
        ]
        .concat(),
        b"",
    )
    .quietly(7);
    let text = output.stable();
    assert!(text.contains(&format!("The tool call failed and its output was truncated, and the full output was not saved: {reason}\n")), "{text}");

    let output = run(
        &[
            flags,
            &["truncate", "--max-lines", "3", "--format", "envelope"],
        ]
        .concat(),
        envelope.to_string().as_bytes(),
    )
    .quietly(0);
    let answer = valid_envelope(&output);
    assert_eq!(answer["data"]["preview"], "1\n2\n3");
    assert_eq!(
        answer["data"]["truncation"]["full_output_path"],
        Value::Null
    );
    assert_eq!(
        stable(
            answer["data"]["truncation"]["reason"].as_str().unwrap(),
            &sandbox.root()
        ),
        reason
    );
    assert!(
        answer["text"]
            .as_str()
            .unwrap()
            .contains("full output was not saved: "),
        "{answer}"
    );
    reason.to_owned()
}

#[test]
fn a_store_that_is_something_else() {
    type Setup = fn(&Sandbox);
    let cases: [(&str, &str, Setup, &str); 8] = [
        (
            "a file",
            "tool-output",
            |sandbox| drop(sandbox.write("tool-output", "mine")),
            "`tool-output`: is not a directory",
        ),
        (
            "below a file",
            "mine/store",
            |sandbox| drop(sandbox.write("mine", "mine")),
            "`mine/store`: is not a directory",
        ),
        (
            "a symbolic link",
            "tool-output",
            |sandbox| symlink(sandbox.home(), sandbox.store()).unwrap(),
            "`tool-output`: is a symbolic link, which is not followed",
        ),
        (
            "a dangling symbolic link",
            "tool-output",
            |sandbox| symlink(sandbox.home().join("none"), sandbox.store()).unwrap(),
            "`tool-output`: is a symbolic link, which is not followed",
        ),
        (
            "below a symbolic link",
            "link/store",
            |sandbox| symlink(sandbox.home(), sandbox.root().join("link")).unwrap(),
            "`link/store`: is a symbolic link, which is not followed",
        ),
        (
            "above the root",
            "../home",
            |_| {},
            "`../home`: leads outside the root",
        ),
        (
            "above the root by a detour",
            "a/../../home",
            |_| {},
            "`a/../../home`: leads outside the root",
        ),
        (
            "a FIFO",
            "tool-output",
            |sandbox| make_fifo(&sandbox.store()),
            "`tool-output`: is not a directory",
        ),
    ];
    for (name, dir, set_up, expected) in cases {
        let sandbox = Sandbox::new();
        set_up(&sandbox);
        let before = sandbox.snapshot();
        // The journal is in the home.
        let flags = ["--store-dir", dir, "--journal", "off"];
        let reason = reason_of_loss(&sandbox, &flags, |arguments, input| {
            sandbox.pipe(arguments, input)
        });
        assert_eq!(reason, expected, "{name}");
        if dir == "a/../../home" {
            // The first component may have been made; nothing may be in it.
            assert_eq!(
                names(&sandbox.root().join("a")),
                Vec::<String>::new(),
                "{name}"
            );
        } else {
            assert_eq!(sandbox.snapshot(), before, "{name}");
        }
        assert_eq!(
            names(&sandbox.home()),
            Vec::<String>::new(),
            "{name}: something was written elsewhere"
        );
        assert_eq!(
            names(&sandbox.outside()),
            ["home", "root"],
            "{name}: something was written elsewhere"
        );
    }
}

#[test]
fn a_full_disk() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.store()).unwrap();
    // Each output is 108 894 bytes.
    let Some(_mount) = Mount::tmpfs(&sandbox.store(), "size=64k,mode=700") else {
        return;
    };
    let reason = reason_of_loss(&sandbox, &[], |arguments, input| {
        sandbox.pipe(arguments, input)
    });
    assert_eq!(reason, "`tool-output`: no space left on device");
    assert_eq!(sandbox.stored(), [".gitignore"], "what did not fit is gone");

    // What fits is still saved afterwards.
    sandbox
        .pipe(&["truncate", "--max-lines", "3"], seq(10))
        .quietly(0);
    assert_eq!(sandbox.spill(), seq(10).as_bytes());
}

#[test]
fn a_read_only_disk() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.store()).unwrap();
    let Some(_mount) = Mount::tmpfs(&sandbox.store(), "size=64k,ro") else {
        return;
    };
    let reason = reason_of_loss(&sandbox, &[], |arguments, input| {
        sandbox.pipe(arguments, input)
    });
    assert_eq!(reason, "`tool-output`: read-only file system");
}

/// Runs the program as a user to whom modes apply.
fn as_user(sandbox: &Sandbox, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = sandbox.command(arguments);
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    sandbox.finish(command, input)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn no_permission() {
    let sandbox = Sandbox::new();
    set_mode(&sandbox.outside(), 0o755);
    set_mode(&sandbox.root(), 0o555);
    let reason = reason_of_loss(&sandbox, &[], |arguments, input| {
        as_user(&sandbox, arguments, input)
    });
    assert_eq!(
        reason, "`tool-output`: permission denied",
        "the store cannot be made"
    );
    assert!(sandbox.snapshot().is_empty());

    set_mode(&sandbox.root(), 0o755);
    fs::create_dir(sandbox.store()).unwrap();
    set_mode(&sandbox.store(), 0o555);
    let reason = reason_of_loss(&sandbox, &[], |arguments, input| {
        as_user(&sandbox, arguments, input)
    });
    assert_eq!(
        reason, "`tool-output`: permission denied",
        "the store cannot be written"
    );
    assert_eq!(sandbox.stored(), Vec::<String>::new());
}

#[test]
fn an_output_over_the_quota_is_not_saved() {
    let sandbox = Sandbox::new();
    let reason = reason_of_loss(
        &sandbox,
        &["--max-store-bytes", "1000"],
        |arguments, input| sandbox.pipe(arguments, input),
    );
    assert_eq!(reason, "the output is larger than `max_store_bytes`");
    assert_eq!(sandbox.stored(), [".gitignore"]);
}

#[test]
fn the_store_is_private_and_kept_out_of_git() {
    let sandbox = Sandbox::new();
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "umask 000; exec \"$0\" truncate --max-lines 1",
        crate::support::PROGRAM,
    ]);
    command
        .current_dir(sandbox.root())
        .env_clear()
        .env("HOME", sandbox.home());
    sandbox.finish(command, seq(3).as_bytes()).quietly(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(format!("{:o}", mode(&sandbox.store())), "700");
    for name in sandbox.stored() {
        assert_eq!(
            format!("{:o}", mode(&sandbox.store().join(&name))),
            "600",
            "{name}"
        );
    }
    assert_eq!(
        fs::read_to_string(sandbox.store().join(".gitignore")).unwrap(),
        "*\n"
    );
}

#[test]
fn a_directory_of_the_users_gets_no_gitignore() {
    let sandbox = Sandbox::new();
    sandbox.write("logs/mine.txt", "mine");
    sandbox
        .pipe(
            &["truncate", "--store-dir", "logs", "--max-lines", "1"],
            seq(3),
        )
        .quietly(0);
    let found = names(&sandbox.root().join("logs"));
    assert_eq!(
        (found.len(), found[0].as_str()),
        (2, "mine.txt"),
        "{found:?}"
    );

    fs::create_dir(sandbox.root().join("empty")).unwrap();
    sandbox
        .pipe(
            &["truncate", "--store-dir", "empty", "--max-lines", "1"],
            seq(3),
        )
        .quietly(0);
    assert_eq!(names(&sandbox.root().join("empty"))[0], ".gitignore");
}

#[test]
fn a_store_elsewhere_is_named_by_its_whole_path() {
    let sandbox = Sandbox::new();
    let dir = sandbox
        .outside()
        .canonicalize()
        .unwrap()
        .join("deep/er/store");
    let output = sandbox.pipe(
        &[
            "truncate",
            "--store-dir",
            dir.to_str().unwrap(),
            "--max-lines",
            "1",
            "--format",
            "json",
        ],
        seq(3),
    );
    let path = PathBuf::from(output.quietly(0).json()["output_path"].as_str().unwrap());
    assert_eq!(path.parent(), Some(dir.as_path()));
    assert_eq!(fs::read_to_string(path).unwrap(), seq(3));
    assert!(sandbox.snapshot().is_empty());
}

#[test]
fn two_hundred_processes_at_once_make_two_hundred_spills() {
    const PROCESSES: usize = 200;
    let sandbox = Sandbox::new();
    let inputs: BTreeSet<String> = (0..PROCESSES)
        .map(|n| format!("process {n}\n").repeat(500))
        .collect();
    let children: Vec<Child> = inputs
        .iter()
        .enumerate()
        .map(|(n, input)| {
            let file = sandbox.write(&format!("in/{n}"), input);
            let mut command = sandbox.command(&[
                "truncate",
                "--max-lines",
                "2",
                "--format",
                "json",
                file.to_str().unwrap(),
            ]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut paths = BTreeSet::new();
    for (child, input) in children.into_iter().zip(&inputs) {
        let output = sandbox.end(child).quietly(0).json();
        let path = output["output_path"].as_str().unwrap().to_owned();
        assert_eq!(
            &fs::read_to_string(sandbox.root().join(&path)).unwrap(),
            input
        );
        paths.insert(path);
    }
    assert_eq!(paths.len(), PROCESSES, "no two share a file");
    assert_eq!(sandbox.spills().len(), PROCESSES);
    assert_eq!(
        sandbox.stored().len(),
        PROCESSES + 1,
        "spills and .gitignore, nothing unfinished"
    );
}

/// Starts a spill and leaves it open after `mebibytes`.
fn open_spill(sandbox: &Sandbox, mebibytes: usize) -> (Child, std::process::ChildStdin, PathBuf) {
    let before = sandbox.stored();
    let mut child = sandbox
        .command(&["truncate"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let chunk = "some line of a log\n".repeat((1 << 20) / 19 + 1);
    for _ in 0..mebibytes {
        stdin.write_all(&chunk.as_bytes()[..1 << 20]).unwrap();
    }
    let temporary = until("the unfinished spill", || {
        sandbox
            .stored()
            .into_iter()
            .find(|name| name.ends_with(".tmp") && !before.contains(name))
    });
    (child, stdin, sandbox.store().join(temporary))
}

#[test]
fn killed_in_the_middle_of_a_spill() {
    let sandbox = Sandbox::new();
    let (mut dead, _stdin, orphan) = open_spill(&sandbox, 50);
    until("most of it", || {
        fs::metadata(&orphan)
            .ok()
            .filter(|metadata| metadata.len() > 40 << 20)
    });
    kill_process(pid(&dead), Signal::KILL).unwrap();
    dead.wait().unwrap();
    assert_eq!(
        sandbox.spills(),
        Vec::<PathBuf>::new(),
        "a half spill has a final name"
    );
    assert_eq!(sandbox.stored().len(), 2, "{:?}", sandbox.stored());

    let (alive, stdin, held) = open_spill(&sandbox, 1);
    insta::assert_snapshot!(sandbox.run(&["clean"]).report(), @"
    exit 0
    --- stdout
    removed 0 outputs, 0 B
    ");
    assert!(
        orphan.exists() && held.exists(),
        "one that is this young may be about to be locked"
    );

    set_age(&orphan, 2 * HOUR);
    set_age(&held, 2 * HOUR);
    assert_eq!(
        sandbox
            .run(&["clean", "--dry-run"])
            .quietly(0)
            .text()
            .lines()
            .last()
            .map(|line| line.split(',').next()),
        Some(Some("would remove 0 outputs and 1 unfinished"))
    );
    assert!(orphan.exists());
    assert!(
        sandbox
            .run(&["clean"])
            .quietly(0)
            .text()
            .starts_with("removed 0 outputs and 1 unfinished, ")
    );
    assert!(!orphan.exists(), "what a dead process left is gone");
    assert!(held.exists(), "what a living process writes is not");

    drop(stdin);
    sandbox.end(alive).quietly(0);
    assert_eq!(sandbox.spill().len(), 1 << 20);
}

#[test]
fn a_later_spill_cleans_up_after_a_killed_one() {
    let sandbox = Sandbox::new();
    let (mut dead, _stdin, orphan) = open_spill(&sandbox, 1);
    kill_process(pid(&dead), Signal::KILL).unwrap();
    dead.wait().unwrap();
    set_age(&orphan, 2 * HOUR);
    sandbox
        .pipe(&["truncate", "--max-lines", "1"], seq(3))
        .quietly(0);
    assert!(!orphan.exists());
    assert_eq!(sandbox.spill(), seq(3).as_bytes());
}

/// The names of spills of these tests, by what they are.
const OLD: &str = "tool_20200101_000000_0000000a_Run.txt";
const OLD_JSON: &str = "tool_20200101_000000_0000000b_mcp__git__log.json";
const RECENT: &str = "tool_20200101_000000_0000000c_Run.txt";
const NEW: &str = "tool_20200102_000000_0000000d_Read.txt";

/// Fills a store with spills and with what is not the store's, all of it older than a week but for two spills.
fn mixed_store(sandbox: &Sandbox) -> Vec<&'static str> {
    let foreign = [
        "notes.txt",
        "tool_.txt",
        "tool_x.txt",
        "tool_20200101_000000_0000000a_Run.md",
        "tool_20200101_000000_0000000a_Run.txt.bak",
        "tool_20200101_000000_0000000a_.txt",
        "tool_2020_000000_0000000a_Run.txt",
        "xtool_20200101_000000_0000000a_Run.txt",
        "tool_20200101_000000_0000000A_Run.txt",
        "tool_20200101_000000_0000000a_Run run.txt",
        ".tool_mine.tmp",
        ".gitignore",
        "sub/tool_20200101_000000_0000000e_Run.txt",
    ];
    for name in foreign {
        set_age(
            &sandbox.write(&format!("tool-output/{name}"), "foreign"),
            30 * DAY,
        );
    }
    for (name, age) in [
        (OLD, 7 * DAY + HOUR),
        (OLD_JSON, 30 * DAY),
        (RECENT, 7 * DAY - HOUR),
        (NEW, Duration::ZERO),
    ] {
        set_age(&sandbox.write(&format!("tool-output/{name}"), "12345"), age);
    }
    let directory = sandbox
        .store()
        .join("tool_20200101_000000_0000000f_Run.txt");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("inside"), "foreign").unwrap();
    set_age(&directory, 30 * DAY);
    let target = sandbox.outside().join("target");
    fs::write(&target, "foreign").unwrap();
    set_age(&target, 30 * DAY);
    let link = sandbox
        .store()
        .join("tool_20200101_000000_0000000g_Run.txt");
    symlink(&target, &link).unwrap();
    let old = rustix::fs::Timespec {
        tv_sec: 1_500_000_000,
        tv_nsec: 0,
    };
    let times = rustix::fs::Timestamps {
        last_access: old,
        last_modification: old,
    };
    rustix::fs::utimensat(
        rustix::fs::CWD,
        &link,
        &times,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .unwrap();
    vec![OLD, OLD_JSON, RECENT, NEW]
}

/// Which of the spills are gone; panics if anything else is, or anything has changed.
#[track_caller]
fn gone(sandbox: &Sandbox, arguments: &[&str]) -> (String, Vec<String>) {
    let before = sandbox.snapshot();
    let text = sandbox.run(arguments).quietly(0).text();
    let after = sandbox.snapshot();
    assert!(
        after
            .iter()
            .all(|(path, content)| before.get(path) == Some(content)),
        "something was changed"
    );
    let mut gone: Vec<String> = before
        .keys()
        .filter(|path| !after.contains_key(*path))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    gone.sort();
    assert_eq!(
        fs::read_to_string(sandbox.outside().join("target")).unwrap(),
        "foreign"
    );
    (text, gone)
}

#[test]
fn cleaning_removes_old_spills_and_nothing_else() {
    let none: &[&str] = &[];
    let cases: [(&[&str], &[&str]); 9] = [
        (&["clean"], &[OLD, OLD_JSON]),
        (&["clean", "--dry-run"], none),
        (&["clean", "--retention-days", "0"], none),
        (&["clean", "--retention-days", "8"], &[OLD_JSON]),
        (
            &["clean", "--retention-days", "1"],
            &[OLD, OLD_JSON, RECENT],
        ),
        // 20 bytes in all; the oldest by name go first.
        (
            &["clean", "--retention-days", "0", "--max-store-bytes", "20"],
            none,
        ),
        (
            &["clean", "--retention-days", "0", "--max-store-bytes", "19"],
            &[OLD],
        ),
        (
            &["clean", "--retention-days", "0", "--max-store-bytes", "5"],
            &[OLD, OLD_JSON, RECENT],
        ),
        (&["clean", "--all"], &[OLD, OLD_JSON, RECENT, NEW]),
    ];
    for (arguments, expected) in cases {
        let sandbox = Sandbox::new();
        mixed_store(&sandbox);
        let (text, gone) = gone(&sandbox, arguments);
        assert_eq!(gone, expected, "{arguments:?}: {text}");
    }
}

#[test]
fn what_is_cleaned_is_said() {
    let sandbox = Sandbox::new();
    mixed_store(&sandbox);
    insta::assert_snapshot!(sandbox.run(&["clean", "--dry-run"]).quietly(0).text(), @"
    would remove tool-output/tool_20200101_000000_0000000a_Run.txt
    would remove tool-output/tool_20200101_000000_0000000b_mcp__git__log.json
    would remove 2 outputs, 10 B
    ");
    insta::assert_snapshot!(sandbox.run(&["clean"]).quietly(0).text(), @"
    removed tool-output/tool_20200101_000000_0000000a_Run.txt
    removed tool-output/tool_20200101_000000_0000000b_mcp__git__log.json
    removed 2 outputs, 10 B
    ");
    insta::assert_snapshot!(sandbox.run(&["clean"]).quietly(0).text(), @"removed 0 outputs, 0 B");
    assert_eq!(
        Sandbox::new().run(&["clean"]).quietly(0).text(),
        "removed 0 outputs, 0 B\n",
        "a store that was never used"
    );
}

#[test]
fn a_spill_cleans_up_what_is_old() {
    let sandbox = Sandbox::new();
    mixed_store(&sandbox);
    sandbox
        .pipe(&["truncate", "--max-lines", "1"], seq(3))
        .quietly(0);
    let stored = sandbox.stored();
    let is_there = |name: &str| stored.iter().any(|stored| stored == name);
    assert_eq!(
        [OLD, OLD_JSON, RECENT, NEW].map(is_there),
        [false, false, true, true]
    );
    assert!(
        is_there("notes.txt") && is_there("tool_20200101_000000_0000000f_Run.txt"),
        "{stored:?}"
    );
}

#[test]
fn the_quota_holds_after_each_spill_and_the_newest_stays() {
    let sandbox = Sandbox::new();
    for n in 0..5 {
        let input = format!("{n}\n").repeat(200);
        sandbox
            .pipe(
                &["truncate", "--max-lines", "1", "--max-store-bytes", "1000"],
                &input,
            )
            .quietly(0);
        let spills = sandbox.spills();
        let newest = spills.last().unwrap();
        assert_eq!(fs::read_to_string(newest).unwrap(), input);
        assert_eq!(spills.len(), (n + 1).min(2), "400 bytes each");
    }
}

#[test]
fn what_cannot_be_cleaned_or_listed_is_said_and_not_followed() {
    let sandbox = Sandbox::new();
    set_age(
        &{
            let path = sandbox.home().join(OLD);
            fs::write(&path, "foreign").unwrap();
            path
        },
        30 * DAY,
    );
    symlink(sandbox.home(), sandbox.store()).unwrap();
    for command in ["clean", "list"] {
        let output = sandbox.run(&[command]);
        assert_eq!((output.code, output.text().as_str()), (2, ""), "{command}");
        assert_eq!(
            output.complaint(),
            "overspill: `tool-output`: is a symbolic link, which is not followed",
            "{command}"
        );
    }
    assert!(sandbox.home().join(OLD).exists());
}

#[test]
fn listing_is_newest_first() {
    let sandbox = Sandbox::new();
    mixed_store(&sandbox);
    for name in [OLD, OLD_JSON, RECENT, NEW] {
        // Far enough from the next hour that the age is the same when it is printed.
        set_age(&sandbox.store().join(name), 2 * HOUR + HOUR / 2);
    }
    insta::assert_snapshot!(sandbox.run(&["list"]).quietly(0).text(), @"
    0000000d        5 B       2 h  Read  tool-output/tool_20200102_000000_0000000d_Read.txt
    0000000c        5 B       2 h  Run  tool-output/tool_20200101_000000_0000000c_Run.txt
    0000000b        5 B       2 h  mcp__git__log  tool-output/tool_20200101_000000_0000000b_mcp__git__log.json
    0000000a        5 B       2 h  Run  tool-output/tool_20200101_000000_0000000a_Run.txt
    ");
    insta::assert_snapshot!(sandbox.run(&["list", "--limit", "1"]).quietly(0).text(), @"
    0000000d        5 B       2 h  Read  tool-output/tool_20200102_000000_0000000d_Read.txt
    [1 of 4; --limit shows more]
    ");
    insta::assert_snapshot!(sandbox.run(&["list", "--tool", "read"]).quietly(0).text(), @"0000000d        5 B       2 h  Read  tool-output/tool_20200102_000000_0000000d_Read.txt");
    assert_eq!(
        Sandbox::new().run(&["list"]).quietly(0).text(),
        "nothing is saved\n"
    );
}

#[test]
fn listing_as_json() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(&format!("tool-output/{NEW}"), "12345");
    set_age(&path, DAY);
    let modified = fs::metadata(&path)
        .unwrap()
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let expected = serde_json::json!({ "id": "0000000d", "tool": "Read", "bytes": 5, "modified": modified, "path": format!("tool-output/{NEW}") });
    assert_eq!(sandbox.run(&["list", "--json"]).quietly(0).json(), expected);
}
