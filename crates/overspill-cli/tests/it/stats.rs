//! The journal, `overspill stats` and the log: exact figures, whatever is wrong with the file, and never a call that is harmed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use overspill::Encoding;
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::support::{Mount, PROGRAM, Sandbox, make_fifo, names, seq};

fn journal_dir(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/state/overspill")
}

fn journal(sandbox: &Sandbox) -> PathBuf {
    journal_dir(sandbox).join("journal.db")
}

#[track_caller]
fn stats(sandbox: &Sandbox) -> Value {
    sandbox.run(&["stats", "--json"]).quietly(0).json()
}

#[track_caller]
fn total(sandbox: &Sandbox, name: &str) -> u64 {
    stats(sandbox)["total"][name].as_u64().unwrap()
}

/// The figures of a tool.
#[track_caller]
fn of_tool(stats: &Value, tool: &str) -> Value {
    let tools = stats["tools"].as_array().unwrap();
    let found = tools.iter().find(|sums| sums["tool"] == tool);
    found
        .unwrap_or_else(|| panic!("no {tool}: {stats}"))
        .clone()
}

fn tokens(text: &str) -> u64 {
    Encoding::O200k.count(text)
}

/// A cut of numbers, and what was printed in their place.
fn cut_numbers(sandbox: &Sandbox, flags: &[&str], last: usize) -> String {
    let output = sandbox
        .pipe(&[&["truncate"], flags].concat(), seq(last))
        .quietly(0);
    output.text().strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn a_scripted_day_gives_the_numbers_of_the_script() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", seq(30));
    let mut shown = Vec::new();
    for last in [3000, 4000, 5000] {
        shown.push((seq(last), cut_numbers(&sandbox, &["--tool", "Build"], last)));
    }
    for _ in 0..4 {
        cut_numbers(&sandbox, &["--tool", "Build"], 10);
    }
    let run = sandbox.run(&["run", "--", "seq", "2500"]).quietly(0).text();
    sandbox.run(&["run", "--", "sh", "-c", "exit 7"]).quietly(7);
    let read = json!({ "path": "a.txt", "limit": 5 });
    sandbox.call(&[], "Read", &read);
    let found = sandbox.call(&[], "Grep", &json!({ "pattern": "1", "limit": 2 }));
    assert_eq!(found["status"], "partial");
    sandbox.call(&[], "Read", &json!({ "path": "none" }));

    let stats = stats(&sandbox);
    let (before, after): (String, String) = shown.iter().cloned().unzip();
    let build = of_tool(&stats, "Build");
    let sum = |texts: &dyn Fn(&(String, String)) -> u64| shown.iter().map(texts).sum::<u64>();
    let expected = [
        ("calls", 7),
        ("cuts", 3),
        ("paged", 0),
        ("spills", 3),
        ("spills_read", 0),
        ("readings", 0),
        ("lines_before", 12_000 + 40),
        // Of each cut 2000 lines, a blank one, how much went, a blank one, and three of the notice.
        ("lines_after", 3 * 2007 - 3 + 40),
        ("bytes_before", before.len() as u64 + 4 * 21),
        ("bytes_after", after.len() as u64 + 4 * 21),
        ("tokens_before", sum(&|(before, _)| tokens(before))),
        ("tokens_after", sum(&|(_, after)| tokens(after))),
        (
            "tokens_saved",
            sum(&|(before, after)| tokens(before) - tokens(after)),
        ),
    ];
    for (name, number) in expected {
        assert_eq!(build[name], number, "{name} of {build}");
    }
    assert_eq!(build["truncation_rate"], 0.4286);
    assert_eq!(build["tokens_estimated"], false);
    let commands = of_tool(&stats, "Run");
    assert_eq!(
        (&commands["calls"], &commands["cuts"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(commands["tokens_before"], tokens(&seq(2500)));
    assert_eq!(commands["tokens_after"], tokens(run.trim_end_matches('\n')));
    let reads = of_tool(&stats, "Read");
    assert_eq!((&reads["calls"], &reads["cuts"]), (&json!(2), &json!(0)));
    let finds = of_tool(&stats, "Grep");
    assert_eq!(
        (&finds["calls"], &finds["cuts"], &finds["paged"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(stats["total"]["calls"], 12);
    assert_eq!(stats["days"].as_array().unwrap().len(), 1);
    assert_eq!(stats["days"][0]["calls"], 12);
    // Known beforehand: the numbers of three digits and of one or two have a token and a line end each, others two and one.
    assert_eq!(tokens(&seq(3000)), 999 * 2 + 2001 * 3);
}

#[test]
fn regret_counts_every_look_into_a_spill() {
    let sandbox = Sandbox::new();
    cut_numbers(&sandbox, &[], 3000);
    cut_numbers(&sandbox, &[], 3000);
    let path = format!(
        "tool-output/{}",
        sandbox.spills()[0].file_name().unwrap().to_string_lossy()
    );
    let id = path.split('_').nth(3).unwrap().to_owned();
    assert_eq!(total(&sandbox, "readings"), 0);
    sandbox.run(&["show", &id, "--tail", "1"]).quietly(0);
    sandbox.call(&[], "Read", &json!({ "path": path, "limit": 1 }));
    sandbox.call(&[], "Grep", &json!({ "path": path, "pattern": "2999" }));
    let counted = stats(&sandbox);
    let sums = of_tool(&counted, "truncate");
    for (name, number) in [("spills", 2), ("spills_read", 1), ("readings", 3)] {
        assert_eq!(sums[name], number, "{name} of {sums}");
    }
    assert_eq!(sums["regret_rate"], 0.5);
    // By its id, by its absolute path, under a guard that makes the page several times, and over MCP: one each.
    let absolute = sandbox.root().join(&path).to_string_lossy().into_owned();
    sandbox.call(&[], "Read", &json!({ "path": id }));
    sandbox.call(&[], "Read", &json!({ "path": absolute }));
    sandbox.call(
        &["--max-result-chars", "900"],
        "Read",
        &json!({ "path": path }),
    );
    assert_eq!(total(&sandbox, "readings"), 6);
    let mut peer = Peer::new(sandbox.command(&["mcp"]));
    peer.initialize("2025-06-18", "test");
    peer.ask(
        "resources/read",
        &json!({ "uri": format!("overspill://spill/{id}") }),
    );
    assert_eq!(peer.finish().1, 0);
    assert_eq!(total(&sandbox, "readings"), 7);
    // What is refused, and what is no spill, is no reading.
    sandbox.write("tool-output/notes.txt", "x");
    sandbox.call(&[], "Read", &json!({ "path": "tool-output/notes.txt" }));
    sandbox.call(&[], "Read", &json!({ "path": path, "offset": 999_999 }));
    assert_eq!(total(&sandbox, "readings"), 7);
}

#[test]
fn a_hook_counts_what_passes_and_what_is_read_by_the_agents_own_tools() {
    let sandbox = Sandbox::new();
    let event = |tool: &str, input: &Value, text: &str| {
        let response = match tool {
            "Read" => json!({ "file": { "content": text } }),
            _ => json!({ "stdout": text, "stderr": "" }),
        };
        json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response }).to_string()
    };
    let command = json!({ "command": "x" });
    sandbox
        .pipe(&["hook", "claude"], event("Bash", &command, "short"))
        .quietly(0);
    let reply = sandbox
        .pipe(&["hook", "claude"], event("Bash", &command, &seq(20_000)))
        .quietly(0);
    assert!(reply.text().contains("truncated"));
    let wrapped = json!({ "command": "/usr/bin/overspill run -- bash -c x" });
    sandbox
        .pipe(&["hook", "claude"], event("Bash", &wrapped, "noted by run"))
        .quietly(0);
    let spill = sandbox.spills()[0].to_string_lossy().into_owned();
    sandbox
        .pipe(
            &["hook", "claude"],
            event("Read", &json!({ "file_path": spill }), "1\n2\n"),
        )
        .quietly(0);
    let stats = stats(&sandbox);
    let sums = of_tool(&stats, "Bash");
    for (name, number) in [
        ("calls", 2),
        ("cuts", 1),
        ("spills_read", 1),
        ("readings", 1),
    ] {
        assert_eq!(sums[name], number, "{name} of {sums}");
    }
    assert_eq!(
        stats["total"]["calls"], 2,
        "a look into a spill is no call of its own"
    );
}

#[test]
fn fifty_processes_at_once_lose_no_row() {
    let sandbox = Sandbox::new();
    std::thread::scope(|scope| {
        for n in 0..50 {
            let sandbox = &sandbox;
            scope.spawn(move || match n % 2 {
                0 => drop(cut_numbers(sandbox, &["--max-lines", "5"], 20)),
                _ => drop(sandbox.run(&["run", "--", "true"]).quietly(0)),
            });
        }
    });
    let stats = stats(&sandbox);
    assert_eq!(
        (&stats["total"]["calls"], &stats["total"]["cuts"]),
        (&json!(50), &json!(25))
    );
    assert_eq!(stats["total"]["lines_before"], 25 * 20);
}

#[test]
fn rows_wait_while_the_journal_is_locked() {
    let sandbox = Sandbox::new();
    cut_numbers(&sandbox, &[], 10);
    let lock = rusqlite::Connection::open(journal(&sandbox)).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        sandbox.run(&["run", "--", "sh", "-c", "exit 3"]).quietly(3);
    }
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "a call waits for the journal"
    );
    let waiting = fs::read_to_string(journal_dir(&sandbox).join("journal.pending")).unwrap();
    assert_eq!(waiting.lines().count(), 3);
    // A line that the disk had no room for.
    fs::write(
        journal_dir(&sandbox).join("journal.pending"),
        format!("{waiting}{{\"Call\":{{"),
    )
    .unwrap();
    lock.execute_batch("COMMIT").unwrap();
    assert_eq!(total(&sandbox, "calls"), 4);
    assert_eq!(total(&sandbox, "calls"), 4, "they are taken in once");
    // Taken in again, after a process died between the two steps: counted once.
    fs::write(journal_dir(&sandbox).join("journal.pending"), &waiting).unwrap();
    assert_eq!(total(&sandbox, "calls"), 4);
}

#[test]
fn a_journal_that_is_deleted_or_corrupt_is_begun_anew() {
    let sandbox = Sandbox::new();
    cut_numbers(&sandbox, &[], 10);
    fs::remove_dir_all(journal_dir(&sandbox)).unwrap();
    cut_numbers(&sandbox, &[], 10);
    assert_eq!(total(&sandbox, "calls"), 1);
    for n in 0..5 {
        fs::write(
            journal(&sandbox),
            "this is no database, and long enough to be told so. ".repeat(100),
        )
        .unwrap();
        let shown = cut_numbers(&sandbox, &[], 3000);
        assert!(shown.starts_with("1\n2\n"), "{n}: {shown}");
        assert_eq!(total(&sandbox, "calls"), 1);
    }
    let aside = names(&journal_dir(&sandbox));
    let aside = aside
        .iter()
        .filter(|name| name.starts_with("journal.db.corrupt-"));
    assert_eq!(aside.count(), 3, "a few are kept");
    // Also when `stats` is the first to see it.
    fs::write(journal(&sandbox), "no database".repeat(1000)).unwrap();
    assert_eq!(total(&sandbox, "calls"), 0);
    // A file that is damaged behind its header.
    cut_numbers(&sandbox, &[], 10);
    stats(&sandbox);
    let mut bytes = fs::read(journal(&sandbox)).unwrap();
    bytes[100..].fill(0x5a);
    fs::write(journal(&sandbox), bytes).unwrap();
    cut_numbers(&sandbox, &[], 10);
    assert_eq!(total(&sandbox, "calls"), 1);
}

/// Does what a call does, and panics if it is harmed.
#[track_caller]
fn assert_unharmed(sandbox: &Sandbox) {
    let shown = cut_numbers(sandbox, &[], 3000);
    assert!(
        shown.contains("1000 lines truncated") && shown.contains("tool-output/"),
        "{shown}"
    );
    sandbox.run(&["run", "--", "sh", "-c", "exit 5"]).quietly(5);
    sandbox
        .run(&["run", "--", "sh", "-c", "kill -9 $$"])
        .quietly(137);
    sandbox.call(
        &[],
        "Read",
        &json!({ "path": sandbox.spills()[0].to_string_lossy() }),
    );
}

#[test]
fn a_journal_that_cannot_be_written_harms_no_call() {
    type Make = fn(&Path);
    let troubles: [(&str, Make); 6] = [
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a pipe", |path| make_fifo(path)),
        ("a link", |path| symlink("/etc/hostname", path).unwrap()),
        ("a link to nothing", |path| {
            symlink("../elsewhere", path).unwrap();
        }),
        ("of a newer version", |path| {
            let newer = rusqlite::Connection::open(path).unwrap();
            newer.execute_batch("PRAGMA user_version = 99").unwrap();
        }),
        ("of somebody else", |path| {
            let other = rusqlite::Connection::open(path).unwrap();
            other
                .execute_batch("CREATE TABLE call (x); PRAGMA user_version = 1")
                .unwrap();
        }),
    ];
    for (what, make) in troubles {
        let sandbox = Sandbox::new();
        fs::create_dir_all(journal_dir(&sandbox)).unwrap();
        make(&journal(&sandbox));
        make_fifo(&journal_dir(&sandbox).join("journal.pending"));
        assert_unharmed(&sandbox);
        let output = sandbox.run(&["stats"]);
        assert_eq!(
            (output.code, output.text().as_str()),
            (2, ""),
            "{what}: {output:?}"
        );
        assert!(
            output.complaint().starts_with("overspill: journal in `"),
            "{what}: {output:?}"
        );
        assert!(!journal_dir(&sandbox).join("../elsewhere").exists());
    }
}

#[test]
fn a_journal_without_a_place_harms_no_call() {
    let sandbox = Sandbox::new();
    // A file where the directory would be.
    fs::write(sandbox.home().join(".local"), "x").unwrap();
    assert_unharmed(&sandbox);
    let mut command = sandbox.command(&["run", "--", "sh", "-c", "exit 5"]);
    command.env_remove("HOME");
    sandbox.finish(command, b"").quietly(5);
    let mut command = sandbox.command(&["stats"]);
    command.env_remove("HOME");
    insta::assert_snapshot!(sandbox.finish(command, b"").complaint(), @"overspill: there is no journal: neither `XDG_STATE_HOME` nor `HOME` says where it would be");
}

#[test]
fn a_full_or_read_only_disk_harms_no_call() {
    for options in ["size=4k,mode=700", "size=64k,mode=700", "size=64k,ro"] {
        let sandbox = Sandbox::new();
        let dir = journal_dir(&sandbox);
        fs::create_dir_all(&dir).unwrap();
        let Some(_mount) = Mount::tmpfs(&dir, options) else {
            return;
        };
        for _ in 0..5 {
            assert_unharmed(&sandbox);
        }
    }
}

#[test]
fn the_journal_is_private_outside_the_project_and_has_no_content() {
    let sandbox = Sandbox::new();
    sandbox.write("code.txt", "the secret word is xyzzy\n".repeat(3000));
    sandbox.run(&["run", "--", "cat", "code.txt"]).quietly(0);
    sandbox.call(&[], "Grep", &json!({ "pattern": "xyzzy" }));
    sandbox
        .run(&["show", "latest", "--grep", "xyzzy"])
        .quietly(0);
    let small = sandbox.root().join("quiet");
    fs::create_dir(&small).unwrap();
    let mut command = sandbox.command(&["run", "--", "true"]);
    command.current_dir(&small);
    sandbox.finish(command, b"").quietly(0);
    assert_eq!(
        names(&small),
        [""; 0],
        "a command that prints little leaves nothing"
    );
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&journal_dir(&sandbox)), 0o700);
    for name in names(&journal_dir(&sandbox)) {
        let path = journal_dir(&sandbox).join(name);
        assert_eq!(mode(&path), 0o600, "{path:?}");
        let bytes = fs::read(&path).unwrap();
        assert!(
            !bytes.windows(5).any(|part| part == b"xyzzy"),
            "{path:?} has content"
        );
    }
    // Projects are told apart.
    assert_eq!(total(&sandbox, "calls"), 2);
    let all = sandbox.run(&["stats", "--all", "--json"]).quietly(0).json();
    assert_eq!(
        (&all["root"], &all["total"]["calls"]),
        (&Value::Null, &json!(3))
    );
}

#[test]
fn off_is_off() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["run", "--", "seq", "3000"]);
    command.env("TOOL_OUTPUT_JOURNAL", "off");
    sandbox.finish(command, b"").quietly(0);
    sandbox.write("overspill.yaml", "journal: off\n");
    cut_numbers(&sandbox, &[], 3000);
    sandbox.run(&["show", "latest"]).quietly(0);
    assert_eq!(names(&sandbox.home()), [""; 0]);
    insta::assert_snapshot!(sandbox.run(&["stats"]).quietly(0).text(), @"No calls are noted, and the journal is off: the setting `journal` turns it on.");
    cut_numbers(&sandbox, &["--journal", "on"], 3000);
    assert_eq!(total(&sandbox, "calls"), 1);
}

#[test]
fn what_people_see() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["stats"]).quietly(0).text(), @"No calls are noted for this project in that time. Each call of `overspill run`, `truncate`, a tool, a hook or the proxy is one; `--all` shows all projects, `--since` reaches further back.");
    for n in 0..12 {
        cut_numbers(
            &sandbox,
            &["--tool", "Build", "--max-lines", "100", "--no-notice"],
            150 + n,
        );
    }
    for spill in &sandbox.spills()[..5] {
        sandbox
            .run(&["show", &spill.file_name().unwrap().to_string_lossy()])
            .quietly(0);
    }
    cut_numbers(&sandbox, &[], 10);
    let text = sandbox.run(&["stats"]).quietly(0).stable();
    let day = text.lines().find(|line| line.starts_with("20")).unwrap()[..10].to_owned();
    let saved = stats(&sandbox)["total"]["tokens_saved"].to_string();
    insta::assert_snapshot!(text.replace(&day, "YYYY-MM-DD").replace(&saved, "NNN"), @r"
    Calls in [root]

    tool      calls  cuts  rate  tokens saved  spills  read again  regret
    Build        12    12  100%           NNN      12           5     42%
    truncate      1     0    0%             0       0           0       -
    total        13    12   92%           NNN      12           5     42%

    day         calls  cuts  rate  tokens saved  spills  read again  regret
    YYYY-MM-DD     13    12   92%           NNN      12           5     42%

    Build: 5 of 12 saved outputs were read again, most of them cut by `max_lines`. From 100 to 160, half of these would have been shown whole. In overspill.yaml:
        tools: {Build: {max_lines: 160}}
    ");
    // The line does what it says.
    sandbox.write("overspill.yaml", "tools: {Build: {max_lines: 160}}\n");
    assert_eq!(
        cut_numbers(&sandbox, &["--tool", "Build"], 152) + "\n",
        seq(152)
    );
    let zh = sandbox
        .run(&["stats", "--lang", "zh", "--tool", "build"])
        .quietly(0)
        .text();
    assert!(
        zh.contains("工具") && zh.contains("从 100 调到 160") && !zh.contains("truncate"),
        "{zh}"
    );
}

#[test]
fn what_programs_see() {
    let sandbox = Sandbox::new();
    cut_numbers(&sandbox, &["--tool", "a,\"b"], 3000);
    let csv = sandbox.run(&["stats", "--csv"]).quietly(0).text();
    let row = csv.lines().nth(1).unwrap();
    assert!(row.contains(",\"a,\"\"b\",1,1,0,1,0,0,3000,"), "{csv}");
    let metrics = sandbox.run(&["stats", "--prometheus"]).quietly(0).text();
    assert!(
        metrics.contains("\noverspill_lines_before_total{tool=\"a,\\\"b\"} 3000\n")
            && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    for (since, calls) in [("1h", 1), ("2020-01-01", 1), ("2999-01-01", 0)] {
        let counted = sandbox
            .run(&["stats", "--since", since, "--json"])
            .quietly(0)
            .json();
        assert_eq!(counted["total"]["calls"], calls, "{since}");
    }
    let output = sandbox.run(&["stats", "--since", "yesterday"]);
    assert_eq!(output.code, 2);
    assert!(
        output
            .stderr
            .contains("such as `7d`, or a day such as `2026-11-01`"),
        "{output:?}"
    );
    assert_eq!(sandbox.run(&["stats", "--csv", "--json"]).code, 2);
}

#[test]
fn every_way_to_a_tool_is_counted_once() {
    let sandbox = Sandbox::new();
    sandbox.write("long.txt", seq(5000));
    let mut peer = Peer::new(sandbox.command(&["mcp", "--allow-run"]));
    peer.initialize("2025-06-18", "test");
    peer.call("Run", &json!({ "command": "cat long.txt" }));
    peer.call("LS", &json!({}));
    peer.call("Read", &json!({ "path": "long.txt" }));
    assert_eq!(peer.finish().1, 0);
    let envelope = json!({
        "status": "success", "data": { "content": seq(4000) }, "text": "t", "stats": { "time_ms": 1 },
        "context": { "cwd": ".", "params_input": {} },
    });
    sandbox
        .pipe(&["truncate", "--format", "envelope"], envelope.to_string())
        .quietly(0);
    sandbox.run(&["tree"]).quietly(0);
    let stats = stats(&sandbox);
    for (tool, calls, cuts, spills) in [
        ("Run", 1, 1, 1),
        ("LS", 1, 0, 0),
        ("Read", 1, 1, 0),
        ("truncate", 1, 1, 1),
        ("RepoStructure", 1, 0, 0),
    ] {
        let sums = of_tool(&stats, tool);
        assert_eq!(
            (&sums["calls"], &sums["cuts"], &sums["spills"]),
            (&json!(calls), &json!(cuts), &json!(spills)),
            "{tool}"
        );
    }
    assert_eq!(
        of_tool(&stats, "truncate")["tokens_before"],
        tokens(&seq(4000))
    );
    assert_eq!(stats["total"]["calls"], 5);
}

#[test]
fn tokens_are_counted_up_to_a_size_and_estimated_beyond() {
    let sandbox = Sandbox::new();
    let line = "the quick brown fox jumps over the lazy dog\n";
    let text = line.repeat(50_000);
    sandbox.pipe(&["truncate"], &text).quietly(0);
    let sums = &stats(&sandbox)["total"];
    assert_eq!(sums["tokens_estimated"], true);
    let (counted, estimate) = (50_000 * 10, sums["tokens_before"].as_u64().unwrap());
    assert!(estimate.abs_diff(counted) <= counted / 1000, "{estimate}");
    let shown = sandbox.run(&["stats"]).quietly(0).text();
    assert!(
        shown.contains("~48") && shown.contains("~ is partly an estimate"),
        "{shown}"
    );
}

#[test]
fn a_cut_is_one_line_in_the_log() {
    let sandbox = Sandbox::new();
    let log = sandbox.outside().join("overspill.log");
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.envs(variables.iter().copied());
        sandbox.finish(command, seq(3000).as_bytes())
    };
    let file = ("OVERSPILL_LOG_FILE", log.to_str().unwrap());
    run(&[file], &["truncate"]).quietly(0);
    run(&[file], &["truncate", "--max-lines", "9999"]).quietly(0);
    let lines = fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    for part in [
        " INFO ",
        " cut tool=\"truncate\" strategy=\"head\" limit=\"max_lines\" lines_before=3000 lines_after=2006 bytes_before=13893 ",
        " saved_percent=33 spill=",
    ] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    assert_eq!(
        fs::metadata(&log).unwrap().permissions().mode() & 0o777,
        0o600
    );
    run(&[file, ("OVERSPILL_LOG", "off")], &["truncate"]).quietly(0);
    assert_eq!(fs::read_to_string(&log).unwrap(), lines);

    let plain = run(&[], &["truncate"]).quietly(0).stable();
    let said = run(&[("OVERSPILL_LOG", "info")], &["truncate"]);
    assert_eq!(
        (said.code, said.stable()),
        (0, plain.clone()),
        "stdout is for the answer"
    );
    assert!(
        said.stderr.contains(" cut tool=") && said.stderr.lines().count() == 1,
        "{said:?}"
    );

    let pipe = sandbox.outside().join("pipe");
    make_fifo(&pipe);
    for (variables, complaint) in [
        (
            [("OVERSPILL_LOG_FILE", "/nowhere/x.log"), ("A", "")],
            "overspill: `OVERSPILL_LOG_FILE`: `/nowhere/x.log`: no such file or directory",
        ),
        (
            [("OVERSPILL_LOG_FILE", pipe.to_str().unwrap()), ("A", "")],
            "overspill: `OVERSPILL_LOG_FILE`: ",
        ),
        (
            [("OVERSPILL_LOG", "loud"), ("A", "")],
            "overspill: `OVERSPILL_LOG` is `loud`, expected `off`, `error`, ",
        ),
    ] {
        let output = run(&variables, &["truncate"]);
        assert_eq!((output.code, output.stable()), (0, plain.clone()));
        assert!(output.complaint().starts_with(complaint), "{output:?}");
    }
}

#[test]
fn the_proxy_counts_each_result_once() {
    let sandbox = Sandbox::new();
    let fixture = Path::new(PROGRAM)
        .with_file_name("examples")
        .join("mcp_fixture");
    let mut peer =
        Peer::new(sandbox.command(&["proxy", "--name", "fix", "--", fixture.to_str().unwrap()]));
    peer.initialize("2025-06-18", "test");
    let mut relay = |result: &Value| {
        let raw = format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}");
        peer.call("say", &json!({ "raw": raw }))
    };
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    relay(&text("a\nb"));
    relay(&text(&seq(20_000)));
    let mut both = text("short");
    both["structuredContent"] = json!({ "lines": seq(20_000) });
    let answer = relay(&both);
    let notice = answer["content"][0]["text"].as_str().unwrap();
    let path = notice
        .split("saved to: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    peer.call("overspill_read", &json!({ "id": path, "limit": 2 }));
    assert_eq!(peer.finish().1, 0);
    let stats = stats(&sandbox);
    let sums = of_tool(&stats, "mcp__fix__say");
    for (name, number) in [
        ("calls", 3),
        ("cuts", 2),
        ("spills", 2),
        ("spills_read", 1),
        ("readings", 1),
    ] {
        assert_eq!(sums[name], number, "{name} of {sums}");
    }
    assert_eq!(of_tool(&stats, "Read")["calls"], 1);
    assert_eq!(stats["total"]["calls"], 4);
}
