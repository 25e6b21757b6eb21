//! `overspill run`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::support::{Sandbox, pid, seq, until, valid_envelope};

/// Runs a shell script under overspill, with flags of overspill before it.
fn script(sandbox: &Sandbox, flags: &[&str], script: &str) -> crate::support::Output {
    sandbox.run(&[&["run"], flags, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_hundred_thousand_lines() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["run", "--", "seq", "1", "100000"]).quietly(0);
    let expected = format!(
        "{}... [lines 920-98920 omitted] ...\n{}\n\n...98001 lines truncated...\n\n\
         The tool call succeeded but the output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_Run.txt\n\
         Use Grep to search the full content or Read with offset and limit to view parts of it.\n\
         In a shell: overspill show <ID> --grep PATTERN, or --offset 920 --limit N.\n",
        seq(919),
        seq(100_000).split_off(seq(98_920).len()).trim_end()
    );
    assert_eq!(output.stable(), expected);
    assert_eq!(sandbox.spill(), seq(100_000).as_bytes());
}

#[test]
fn a_failed_command_is_not_said_to_have_succeeded() {
    let sandbox = Sandbox::new();
    let output = script(
        &sandbox,
        &["--max-lines", "2", "--strategy", "head"],
        "seq 1 9999; exit 7",
    )
    .quietly(7);
    insta::assert_snapshot!(output.stable(), @"
    1
    2

    ...9997 lines truncated...

    The tool call failed and its output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_Run.txt
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 3 --limit N.
    ");
    assert_eq!(sandbox.spill(), seq(9999).as_bytes());
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let sandbox = Sandbox::new();
    let cases = [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 2", 2),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
        ("kill -INT $$", 130),
        ("kill -SEGV $$", 139),
        ("kill -PIPE $$", 141),
    ];
    for (line, code) in cases {
        for format in ["text", "json", "envelope"] {
            let output = script(
                &sandbox,
                &["--format", format],
                &format!("echo said; {line}"),
            );
            assert_eq!(
                (output.code, output.stderr.as_str()),
                (code, ""),
                "{line}, {format}"
            );
            assert!(
                output.text().contains("said"),
                "{line}, {format}: {}",
                output.text()
            );
        }
    }
}

#[test]
fn a_command_that_cannot_be_run() {
    let sandbox = Sandbox::new();
    sandbox.write("plain.sh", "#!/bin/sh\necho never\n");
    let broken = sandbox.write("broken.sh", "#!/no/such/interpreter\n");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (
            "no-such-command",
            127,
            "overspill: `no-such-command`: no such file or directory",
        ),
        (
            "./plain.sh",
            126,
            "overspill: `./plain.sh`: permission denied",
        ),
        ("./", 126, "overspill: `./`: permission denied"),
        (
            "./broken.sh",
            127,
            "overspill: `./broken.sh`: no such file or directory",
        ),
    ];
    let before = sandbox.snapshot();
    for (command, code, complaint) in cases {
        let output = sandbox.run(&["run", "--", command]);
        assert_eq!(
            (
                output.code,
                output.complaint().as_str(),
                output.text().as_str()
            ),
            (code, complaint, ""),
            "{command}"
        );
    }
    assert_eq!(sandbox.snapshot(), before);
}

#[test]
fn stdin_goes_to_the_command() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox
            .pipe(&["run", "--", "cat"], "passed\nthrough\n")
            .quietly(0)
            .text(),
        "passed\nthrough\n"
    );
    assert_eq!(
        sandbox
            .pipe(&["run", "--", "wc", "-c"], vec![b'x'; 300_000])
            .quietly(0)
            .text()
            .trim(),
        "300000"
    );
}

#[test]
fn arguments_go_to_the_command_as_they_are() {
    let sandbox = Sandbox::new();
    let cases: [&[&str]; 3] = [
        &[
            "run",
            "--",
            "printf",
            "%s\n",
            "--max-lines",
            "$HOME",
            "a b",
            "--help",
            "--",
        ],
        &[
            "run",
            "printf",
            "%s\n",
            "--max-lines",
            "$HOME",
            "a b",
            "--help",
            "--",
        ],
        &[
            "--max-lines",
            "9",
            "run",
            "--",
            "printf",
            "%s\n",
            "--max-lines",
            "$HOME",
            "a b",
            "--help",
            "--",
        ],
    ];
    for arguments in cases {
        assert_eq!(
            sandbox.run(arguments).quietly(0).text(),
            "--max-lines\n$HOME\na b\n--help\n--\n",
            "{arguments:?}"
        );
    }
}

#[test]
fn the_environment_and_the_working_directory_are_ours() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["run", "--", "sh", "-c", "pwd; echo $COLOUR"]);
    command.env("COLOUR", "green");
    let output = sandbox.finish(command, b"").quietly(0);
    assert_eq!(output.stable(), "[root]\ngreen\n");
}

#[test]
fn stdout_and_stderr_stay_in_order() {
    let sandbox = Sandbox::new();
    let output = script(
        &sandbox,
        &[],
        "i=1; while [ $i -le 900 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done",
    )
    .quietly(0);
    let expected: String = (1..=900).map(|n| format!("out {n}\nerr {n}\n")).collect();
    assert_eq!(output.text(), expected);
}

#[test]
fn control_codes_are_applied_in_what_is_shown_and_kept_in_the_spill() {
    let sandbox = Sandbox::new();
    let raw = "\x1b[1;31merror\x1b[0m: no\r\n 10%\r 55%\r100%\nabcd\x08\x08XY\nold text\x1b[2K\rnew\n\x1b]0;title\x07kept\nlast\n";
    let shown = "error: no\r\n100%\nabXY\nnew\nkept";
    sandbox.write("raw", raw);

    let output = sandbox
        .run(&[
            "run",
            "--max-lines",
            "5",
            "--strategy",
            "head",
            "--format",
            "json",
            "--",
            "cat",
            "raw",
        ])
        .quietly(0)
        .json();
    assert_eq!(output["preview"], shown);
    assert_eq!(
        (
            &output["truncation"]["removed"],
            &output["truncation"]["unit"]
        ),
        (&json!(1), &json!("lines"))
    );
    assert_eq!(sandbox.spill(), raw.as_bytes());

    let text = sandbox.run(&["run", "--", "cat", "raw"]).quietly(0).text();
    assert!(
        text.starts_with(&format!("{shown}\nlast\n\n...49 bytes of redrawn text")),
        "{text}"
    );
    assert_eq!(
        sandbox
            .run(&["run", "--raw", "--", "cat", "raw"])
            .quietly(0)
            .text(),
        raw
    );
}

#[test]
fn a_long_progress_bar_is_one_line() {
    let sandbox = Sandbox::new();
    let raw: String = (0..=1000)
        .map(|n| format!("\r\x1b[32m{n:>5} of 1000\x1b[0m"))
        .collect::<String>()
        + "\ndone\n";
    sandbox.write("raw", &raw);
    let output = sandbox.run(&["run", "--", "cat", "raw"]).quietly(0);
    let text = output.text();
    assert!(
        text.starts_with(" 1000 of 1000\ndone\n\n...23011 bytes of redrawn text"),
        "{text}"
    );
    assert_eq!(sandbox.spill(), raw.as_bytes());
}

#[test]
fn colours_alone_are_no_cut() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["run", "--", "printf", "\x1b[31mred\x1b[0m\r\n"]);
    assert_eq!(output.quietly(0).text(), "red\r\n");
    assert_eq!(sandbox.stored(), [""; 0]);
}

#[test]
fn a_limit_on_file_sizes_is_a_full_disk() {
    let sandbox = Sandbox::new();
    let mut command = std::process::Command::new("bash");
    let script = format!(
        "ulimit -f 100; {} run -- sh -c 'seq 1 300000; exit 7'",
        env!("CARGO_BIN_EXE_overspill")
    );
    command.args(["-c", &script]).current_dir(sandbox.root());
    let output = sandbox.finish(command, b"");
    assert_eq!(output.code, 7, "{}", output.report());
    assert!(
        output
            .text()
            .contains("full output was not saved: `tool-output`: file too large"),
        "{}",
        output.text()
    );
}

#[test]
fn what_a_command_leaves_behind_is_not_waited_for() {
    let sandbox = Sandbox::new();
    for (flags, remark) in [
        (
            &[][..],
            "overspill: A background process still holds the output; what it writes from here on is not in it.\n",
        ),
        (&["--quiet"][..], ""),
    ] {
        let start = Instant::now();
        let output = script(&sandbox, flags, "sleep 30 & echo $!; exit 5");
        let took = start.elapsed();
        let left: i32 = output.text().trim().parse().unwrap();
        kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (5, remark),
            "{flags:?}"
        );
    }
}

#[test]
fn a_background_process_that_writes_on_does_not_hold_us() {
    let sandbox = Sandbox::new();
    let start = Instant::now();
    let output = script(
        &sandbox,
        &["--max-lines", "3", "--strategy", "head", "--quiet"],
        "yes & echo $! > pid",
    );
    let took = start.elapsed();
    let left: i32 = fs::read_to_string(sandbox.root().join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    // The pipe is gone, so it is dead of SIGPIPE or will be.
    let _ = kill_process(Pid::from_raw(left).unwrap(), Signal::KILL);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(output.code, 0);
    assert!(
        output.text().starts_with("y\ny\ny\n\n..."),
        "{}",
        output.stable()
    );
}

/// Starts a script, waits until it has written its process id to `pid`, and sends us a signal.
fn interrupted(sandbox: &Sandbox, script: &str, signal: Signal) -> (crate::support::Output, Pid) {
    let mut command = sandbox.command(&["run", "--", "sh", "-c", script]);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let file = sandbox.root().join("pid");
    let written = until("the command", || {
        fs::read_to_string(&file)
            .ok()
            .filter(|text| text.ends_with('\n'))
    });
    kill_process(pid(&child), signal).unwrap();
    let start = Instant::now();
    let output = sandbox.end(child);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    (
        output,
        Pid::from_raw(written.trim().parse().unwrap()).unwrap(),
    )
}

#[test]
fn a_signal_stops_the_command_and_what_it_said_is_printed() {
    for (signal, code) in [
        (Signal::INT, 130),
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
    ] {
        let sandbox = Sandbox::new();
        let (output, command) = interrupted(
            &sandbox,
            "ulimit -c 0; echo before; echo $$ > pid; exec sleep 100",
            signal,
        );
        assert_eq!(
            (output.code, output.text().as_str(), output.stderr.as_str()),
            (code, "before\n", ""),
            "{signal:?}"
        );
        assert!(
            test_kill_process(command).is_err(),
            "the command still runs after {signal:?}"
        );
    }
}

#[test]
fn a_command_may_clean_up_after_a_signal() {
    let sandbox = Sandbox::new();
    let script = "trap 'echo cleaned; exit 3' INT; echo $$ > pid; while :; do sleep 0.02; done";
    let (output, _) = interrupted(&sandbox, script, Signal::INT);
    assert_eq!(
        (output.code, output.text().as_str(), output.stderr.as_str()),
        (3, "cleaned\n", "")
    );
}

#[test]
fn a_cut_output_survives_a_signal() {
    let sandbox = Sandbox::new();
    let (output, _) = interrupted(
        &sandbox,
        "seq 1 30000; echo $$ > pid; exec sleep 100",
        Signal::INT,
    );
    assert_eq!(output.code, 130);
    assert!(
        output
            .text()
            .contains("...28001 lines truncated...\n\nThe tool call failed"),
        "{}",
        output.stable()
    );
    assert_eq!(sandbox.spill(), seq(30_000).as_bytes());
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_exit_code() {
    let sandbox = Sandbox::new();
    for (script, code) in [
        ("seq 1 1000; exit 7", 7),
        ("seq 1 100000; exit 0", 0),
        ("sleep 0.05; seq 1 1000000; exit 9", 9),
    ] {
        let mut command = sandbox.command(&["run", "--", "sh", "-c", script]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = sandbox.end(child);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (code, ""),
            "{script}"
        );
    }
}

#[test]
fn json_of_a_run() {
    let sandbox = Sandbox::new();
    assert_eq!(
        script(&sandbox, &["--format", "json"], "echo hi")
            .quietly(0)
            .json(),
        json!({ "truncated": false, "content": "hi\n" })
    );
    let output = script(
        &sandbox,
        &["--format", "json", "--max-lines", "2", "--strategy", "head"],
        "seq 1 5; exit 4",
    )
    .quietly(4);
    let mut stable: Value = serde_json::from_str(&output.stable()).unwrap();
    let content = stable["content"].take();
    assert!(
        content
            .as_str()
            .unwrap()
            .starts_with("1\n2\n\n...3 lines truncated...\n\nThe tool call failed and "),
        "{content}"
    );
    let path = "tool-output/tool_<TIME>_<ID>_Run.txt";
    assert_eq!(
        stable,
        json!({
            "truncated": true,
            "content": null,
            "preview": "1\n2",
            "output_path": path,
            "truncation": {
                "direction": "head", "max_lines": 2, "max_bytes": 51200, "original_lines": 5, "original_bytes": 10,
                "kept_lines": 2, "kept_bytes": 3, "full_output_path": path, "removed": 3, "unit": "lines", "id": "<ID>",
            },
        })
    );
}

/// A valid envelope without what differs from run to run.
fn stable_envelope(output: &crate::support::Output) -> Value {
    valid_envelope(output);
    let mut envelope: Value = serde_json::from_str(&output.stable()).unwrap();
    assert!(envelope["stats"]["time_ms"].take().is_u64());
    envelope
}

#[test]
fn the_envelope_of_a_run() {
    let sandbox = Sandbox::new();
    let context =
        |script: &str| json!({ "cwd": ".", "params_input": { "command": ["sh", "-c", script] } });

    let output = script(&sandbox, &["--format", "envelope"], "echo hi").quietly(0);
    assert_eq!(
        stable_envelope(&output),
        json!({
            "status": "success",
            "data": { "content": "hi\n", "truncated": false },
            "text": "Complete output: 1 lines, 3 bytes.",
            "stats": { "time_ms": null, "exit_code": 0 },
            "context": context("echo hi"),
        })
    );

    let failed = json!({ "code": "EXECUTION_ERROR", "message": "The command exited with code 7." });
    let output = script(&sandbox, &["--format", "envelope"], "echo why >&2; exit 7").quietly(7);
    assert_eq!(
        stable_envelope(&output),
        json!({
            "status": "error",
            "data": {},
            "text": "The command exited with code 7.\n\nwhy\n",
            "stats": { "time_ms": null, "exit_code": 7 },
            "context": context("echo why >&2; exit 7"),
            "error": failed,
        })
    );

    let output = script(
        &sandbox,
        &[
            "--format",
            "envelope",
            "--max-lines",
            "2",
            "--strategy",
            "tail",
        ],
        "seq 1 9; exit 7",
    )
    .quietly(7);
    let envelope = stable_envelope(&output);
    assert_eq!(envelope["status"], "error");
    assert_eq!(envelope["error"], failed);
    assert_eq!(envelope["data"]["preview"], "8\n9");
    assert_eq!(envelope["data"]["truncation"]["removed"], 7);
    assert_eq!(
        envelope["data"]["truncation"]["full_output_path"],
        "tool-output/tool_<TIME>_<ID>_Run.txt"
    );
    assert!(
        envelope["text"]
            .as_str()
            .unwrap()
            .contains("The tool call failed and its output was truncated. "),
        "{envelope}"
    );
    assert_eq!(sandbox.spill(), b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

#[test]
fn a_run_without_output() {
    let sandbox = Sandbox::new();
    assert_eq!(script(&sandbox, &[], "exit 3").quietly(3).text(), "");
    assert_eq!(
        script(&sandbox, &["--format", "json"], ":")
            .quietly(0)
            .json(),
        json!({ "truncated": false, "content": "" })
    );
    for code in [0, 3] {
        let output =
            script(&sandbox, &["--format", "envelope"], &format!("exit {code}")).quietly(code);
        valid_envelope(&output);
    }
}

#[test]
fn the_tool_of_a_run_can_be_named() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "overspill.yaml",
        "tools:\n  cargo_test:\n    max_lines: 2\n  run:\n    max_lines: 1\n",
    );
    let output = sandbox
        .run(&[
            "run",
            "--tool",
            "Cargo Test/../x",
            "--max-lines",
            "1",
            "--",
            "seq",
            "3",
        ])
        .quietly(0);
    assert!(
        output
            .stable()
            .contains("tool_<TIME>_<ID>_Cargo-Test-..-x.txt"),
        "{}",
        output.stable()
    );
    assert!(
        sandbox
            .run(&["run", "--tool", "CargoTest", "--", "seq", "3"])
            .quietly(0)
            .text()
            .starts_with("1\n2\n\n...1 lines")
    );
    assert!(
        sandbox
            .run(&["run", "--", "seq", "3"])
            .quietly(0)
            .text()
            .starts_with("1\n\n...2 lines")
    );
}
