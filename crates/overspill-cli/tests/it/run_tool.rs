//! The tool `Run`, called as an agent calls it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Output, Sandbox, check_envelope, pid, seq, until};

/// Calls the tool, with flags of overspill.
fn call_with(sandbox: &Sandbox, flags: &[&str], params: &Value) -> Output {
    sandbox.run(&[flags, &["call", "Run", &params.to_string()]].concat())
}

/// Calls the tool, and returns its envelope without what differs from run to run.
#[track_caller]
fn call(sandbox: &Sandbox, params: &Value) -> Value {
    envelope(&call_with(sandbox, &[], params))
}

/// Returns a valid envelope without what differs from run to run.
#[track_caller]
fn envelope(output: &Output) -> Value {
    let mut envelope: Value = serde_json::from_str(&output.stable()).unwrap();
    if let Err(fault) = check_envelope(&envelope) {
        panic!("not a Standard Envelope: {fault}\n{envelope:#}");
    }
    let code = i32::from(envelope["status"] == "error");
    assert_eq!((output.code, output.stderr.as_str()), (code, ""));
    assert!(envelope["stats"]["time_ms"].take().is_u64());
    envelope
}

fn context(params: &Value, path_resolved: &str) -> Value {
    json!({ "cwd": ".", "params_input": params, "path_resolved": path_resolved })
}

/// The process ids in the file `pids`, once there are `count`.
fn pids(sandbox: &Sandbox, count: usize) -> Vec<i32> {
    let file = sandbox.root().join("pids");
    until("the process ids", || {
        let text = fs::read_to_string(&file).ok()?;
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == count && text.ends_with('\n')).then_some(pids)
    })
}

/// Whether a process runs; one that nobody has reaped yet does not.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

const TRY_LONGER: &str = "Raise timeout_ms, or run it in the background with its output in a file.";
const LEFT: &str =
    "A background process still holds the output; what it writes from here on is not in it.";

/// What a call may take that is to return at once, on a machine with other things to do.
const SOON: Duration = Duration::from_secs(8);

#[test]
fn a_command_that_succeeds() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "echo hi" });
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "success",
            "data": { "content": "hi\n", "truncated": false },
            "text": "Complete output: 1 lines, 3 bytes.",
            "stats": { "time_ms": null, "exit_code": 0 },
            "context": context(&params, "."),
        })
    );
    assert_eq!(sandbox.stored(), [""; 0]);
}

#[test]
fn a_command_without_output() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": ":" });
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "success",
            "data": { "content": "", "truncated": false },
            "text": "Complete output: 0 lines, 0 bytes.",
            "stats": { "time_ms": null, "exit_code": 0 },
            "context": context(&params, "."),
        })
    );
}

#[test]
fn a_command_that_fails() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "echo why >&2; exit 7" });
    let message = "The command exited with code 7.";
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "error",
            "data": {},
            "text": format!("{message}\n\nwhy\n"),
            "stats": { "time_ms": null, "exit_code": 7 },
            "context": context(&params, "."),
            "error": { "code": "EXECUTION_ERROR", "message": message },
        })
    );
}

#[test]
fn a_command_that_a_signal_ends() {
    let sandbox = Sandbox::new();
    for (name, signal) in [("KILL", 9), ("TERM", 15)] {
        let params = json!({ "command": format!("echo last words; kill -{name} $$") });
        let message = format!("The command was ended by signal {signal}.");
        assert_eq!(
            call(&sandbox, &params),
            json!({
                "status": "error",
                "data": {},
                "text": format!("{message}\n\nlast words\n"),
                "stats": { "time_ms": null, "exit_code": 128 + signal, "signal": signal },
                "context": context(&params, "."),
                "error": { "code": "EXECUTION_ERROR", "message": message },
            })
        );
    }
}

/// The record of a cut of `seq 1 3000`.
fn record() -> Value {
    json!({
        "direction": "smart", "max_lines": 2000, "max_bytes": 51200,
        "original_lines": 3000, "original_bytes": 13893, "kept_lines": 1999, "kept_bytes": 8966,
        "full_output_path": "tool-output/tool_<TIME>_<ID>_Run.txt", "removed": 1001, "unit": "lines", "id": "<ID>",
    })
}

fn notice(how: &str) -> String {
    format!(
        "...1001 lines truncated...\n\n\
         The tool call {how} output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_Run.txt\n\
         Use Grep to search the full content or Read with offset and limit to view parts of it.\n\
         In a shell: overspill show <ID> --grep PATTERN, or --offset 920 --limit N."
    )
}

/// What is kept of 3000 numbers: nothing among them matters more than another, so both ends.
fn both_ends() -> String {
    let end: Vec<String> = (1921..=3000).map(|n| n.to_string()).collect();
    format!(
        "{}... [lines 920-1920 omitted] ...\n{}",
        seq(919),
        end.join("\n")
    )
}

#[test]
fn a_long_output_is_cut_and_kept() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "seq 1 3000" });
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "partial",
            "data": { "truncated": true, "truncation": record(), "preview": both_ends() },
            "text": notice("succeeded but the"),
            "stats": { "time_ms": null, "exit_code": 0 },
            "context": context(&params, "."),
        })
    );
    assert_eq!(sandbox.spill(), seq(3000).as_bytes());
}

#[test]
fn a_long_output_of_a_command_that_fails() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "seq 1 3000; exit 1" });
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "error",
            "data": { "truncated": true, "truncation": record(), "preview": both_ends() },
            "text": notice("failed and its"),
            "stats": { "time_ms": null, "exit_code": 1 },
            "context": context(&params, "."),
            "error": { "code": "EXECUTION_ERROR", "message": "The command exited with code 1." },
        })
    );
    assert_eq!(sandbox.spill(), seq(3000).as_bytes());
}

#[test]
fn the_time_limit_with_output() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "echo $$ > pids; echo begun; sleep 60", "timeout_ms": 1000 });
    let start = Instant::now();
    let envelope = call(&sandbox, &params);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_eq!(
        envelope,
        json!({
            "status": "partial",
            "data": { "content": "begun\n", "truncated": false, "aborted_reason": "timeout" },
            "text": format!(
                "The output so far.\n\
                 [Partial: the command was stopped after 1000ms; this is what it had written by then.]\n{TRY_LONGER}"
            ),
            "stats": { "time_ms": null },
            "context": context(&params, "."),
        })
    );
    assert!(!runs(pids(&sandbox, 1)[0]));
}

#[test]
fn the_time_limit_with_output_that_is_cut() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "seq 1 3000; sleep 60", "timeout_ms": 1000 });
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "partial",
            "data": {
                "truncated": true, "truncation": record(), "preview": both_ends(), "aborted_reason": "timeout",
            },
            "text": format!(
                "{}\n[Partial: the command was stopped after 1000ms; this is what it had written by then.]\n{TRY_LONGER}",
                notice("failed and its")
            ),
            "stats": { "time_ms": null },
            "context": context(&params, "."),
        })
    );
    assert_eq!(sandbox.spill(), seq(3000).as_bytes());
}

#[test]
fn the_time_limit_without_output() {
    let sandbox = Sandbox::new();
    // The second has closed its output, so that only its end can be waited for.
    for command in ["sleep 60", "exec >&- 2>&-; sleep 60"] {
        let params = json!({ "command": command, "timeout_ms": 50 });
        let message = "The command was stopped after 50ms and had written nothing by then.";
        let start = Instant::now();
        assert_eq!(
            call(&sandbox, &params),
            json!({
                "status": "error",
                "data": {},
                "text": format!("{message}\n{TRY_LONGER}"),
                "stats": { "time_ms": null },
                "context": context(&params, "."),
                "error": { "code": "TIMEOUT", "message": message },
            })
        );
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
}

#[test]
fn a_command_may_clean_up_when_its_time_is_over() {
    let sandbox = Sandbox::new();
    let command = "trap 'echo cleaned; exit 0' TERM; echo begun; while :; do :; done";
    let envelope = call(&sandbox, &json!({ "command": command, "timeout_ms": 1000 }));
    assert_eq!(envelope["status"], "partial");
    assert_eq!(envelope["data"]["content"], "begun\ncleaned\n");
    assert_eq!(envelope["data"]["aborted_reason"], "timeout");
}

#[test]
fn nothing_of_the_group_outlives_the_time_limit() {
    let sandbox = Sandbox::new();
    let command = "trap '' TERM; echo $$ >> pids; \
        sh -c 'echo $$ >> pids; exec sleep 60' & \
        sh -c 'echo $$ >> pids; exec sleep 60 > /dev/null 2>&1' & \
        echo begun; wait; sleep 60";
    let start = Instant::now();
    let envelope = call(&sandbox, &json!({ "command": command, "timeout_ms": 1000 }));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_eq!(envelope["status"], "partial");
    assert_eq!(envelope["data"]["content"], "begun\n");
    assert!(
        !envelope["text"].as_str().unwrap().contains(LEFT),
        "{envelope}"
    );
    for pid in pids(&sandbox, 3) {
        until("its end", || (!runs(pid)).then_some(()));
    }
}

#[test]
fn what_left_the_group_does_not_hold_us_beyond_the_time_limit() {
    let sandbox = Sandbox::new();
    // The second floods the pipe for as long as anybody reads it.
    for (command, flags) in [
        ("sleep 60", &[][..]),
        ("yes", &["--max-lines", "1", "--no-spill"][..]),
    ] {
        let _ = fs::remove_file(sandbox.root().join("pids"));
        let script = format!(
            "setsid sh -c 'echo $$ > pids; exec {command}' & \
             while [ ! -s pids ]; do sleep 0.01; done; echo begun; sleep 60"
        );
        let start = Instant::now();
        let params = json!({ "command": script, "timeout_ms": 1000 });
        let envelope = envelope(&call_with(&sandbox, flags, &params));
        let took = start.elapsed();
        let left = pids(&sandbox, 1)[0];
        let text = envelope["text"].as_str().unwrap();
        if command == "yes" {
            assert_eq!(envelope["data"]["truncated"], true);
        } else {
            kill(left);
            assert_eq!(envelope["data"]["content"], "begun\n");
        }
        assert!(took < SOON, "{took:?}");
        assert_eq!(envelope["status"], "partial");
        assert!(text.ends_with(&format!("{TRY_LONGER}\n{LEFT}")), "{text}");
    }
}

#[test]
fn a_background_process_with_its_own_output_is_left_alone() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "sleep 60 > /dev/null 2>&1 & echo $! > pids; echo begun" });
    let start = Instant::now();
    assert_eq!(
        call(&sandbox, &params),
        json!({
            "status": "success",
            "data": { "content": "begun\n", "truncated": false },
            "text": "Complete output: 1 lines, 6 bytes.",
            "stats": { "time_ms": null, "exit_code": 0 },
            "context": context(&params, "."),
        })
    );
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let left = pids(&sandbox, 1)[0];
    assert!(runs(left));
    kill(left);
}

#[test]
fn a_background_process_that_holds_the_output_is_not_waited_for() {
    let sandbox = Sandbox::new();
    for background in ["sleep 60", "exec setsid sleep 60"] {
        let command = format!("({background}) & echo $! > pids; echo begun");
        let params = json!({ "command": command });
        let start = Instant::now();
        let envelope = call(&sandbox, &params);
        let took = start.elapsed();
        kill(pids(&sandbox, 1)[0]);
        assert!(took < SOON, "{took:?}");
        assert_eq!(
            envelope,
            json!({
                "status": "success",
                "data": { "content": "begun\n", "truncated": false },
                "text": format!("Complete output: 1 lines, 6 bytes.\n{LEFT}"),
                "stats": { "time_ms": null, "exit_code": 0 },
                "context": context(&params, "."),
            })
        );
    }
}

#[test]
fn a_background_process_of_a_command_that_fails() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "sleep 60 & echo $! > pids; echo why; exit 3" });
    let envelope = call(&sandbox, &params);
    kill(pids(&sandbox, 1)[0]);
    let message = "The command exited with code 3.";
    assert_eq!(
        envelope,
        json!({
            "status": "error",
            "data": {},
            "text": format!("{message}\n\nwhy\n\n{LEFT}"),
            "stats": { "time_ms": null, "exit_code": 3 },
            "context": context(&params, "."),
            "error": { "code": "EXECUTION_ERROR", "message": message },
        })
    );
}

#[test]
fn both_streams_stay_in_order() {
    let sandbox = Sandbox::new();
    let command = "i=1; while [ $i -le 900 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done";
    let expected: String = (1..=900).map(|n| format!("out {n}\nerr {n}\n")).collect();
    let envelope = call(&sandbox, &json!({ "command": command }));
    assert_eq!(envelope["data"]["content"], expected);
}

#[test]
fn there_is_no_input() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "cat; wc -c" });
    let output = sandbox.pipe(&["call", "Run", &params.to_string()], "ours");
    let envelope = envelope(&output);
    assert_eq!(envelope["data"]["content"].as_str().unwrap().trim(), "0");
}

#[test]
fn a_working_directory_inside_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("a/b/file", "");
    symlink("a/b", sandbox.root().join("link")).unwrap();
    let absolute = sandbox.root().join("a").to_string_lossy().into_owned();
    for (cwd, resolved) in [
        (".", "."),
        ("", "."),
        ("a", "a"),
        ("a/b/../b/", "a/b"),
        ("link", "a/b"),
        (&absolute, "a"),
    ] {
        let params = json!({ "command": "pwd", "cwd": cwd });
        let envelope = call(&sandbox, &params);
        let shown = format!("[root]/{resolved}\n").replace("/.\n", "\n");
        assert_eq!(envelope["data"]["content"], shown, "{cwd}");
        assert_eq!(envelope["context"]["path_resolved"], resolved, "{cwd}");
    }
}

#[test]
fn a_working_directory_that_is_none() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    symlink(sandbox.outside(), sandbox.root().join("out")).unwrap();
    let denied = (
        "ACCESS_DENIED",
        "Access denied. Path must be within project root.",
        "Give a path below the project root, such as 'src'.",
    );
    let hint = "Check the path: it is relative to the project root.";
    for (cwd, (code, message, hint), resolved) in [
        ("..", denied, None),
        ("/", denied, None),
        ("/no/such", denied, None),
        ("out", denied, None),
        ("out/home", denied, None),
        ("none", ("NOT_FOUND", "'none' does not exist.", hint), None),
        (
            "file",
            ("INVALID_PARAM", "'file' is not a directory.", hint),
            Some("file"),
        ),
    ] {
        let params = json!({ "command": "touch made", "cwd": cwd });
        let mut context = json!({ "cwd": ".", "params_input": params });
        if let Some(resolved) = resolved {
            context["path_resolved"] = json!(resolved);
        }
        assert_eq!(
            call(&sandbox, &params),
            json!({
                "status": "error",
                "data": {},
                "text": format!("{message}\n{hint}"),
                "stats": { "time_ms": null },
                "context": context,
                "error": { "code": code, "message": message },
            })
        );
    }
    assert!(!sandbox.root().join("made").exists());
    assert!(!sandbox.outside().join("made").exists());
}

#[test]
fn control_codes_are_applied_in_what_is_shown_and_kept_in_the_spill() {
    let sandbox = Sandbox::new();
    let raw = "\x1b[1;31merror\x1b[0m: no\n 10%\r 55%\r100%\nlast\n";
    sandbox.write("raw", raw);
    let params = json!({ "command": "cat raw" });
    let envelope = envelope(&call_with(
        &sandbox,
        &["--max-lines", "2", "--strategy", "head"],
        &params,
    ));
    assert_eq!(envelope["data"]["preview"], "error: no\n100%");
    assert_eq!(sandbox.spill(), raw.as_bytes());

    let params = json!({ "command": "printf '\\033[31mred\\033[0m\\n'" });
    assert_eq!(call(&sandbox, &params)["data"]["content"], "red\n");
}

#[test]
fn parameters_that_are_refused() {
    let sandbox = Sandbox::new();
    let hint = "\nGive a command for sh, such as 'git status'.";
    for (params, message, hint) in [
        (json!({ "command": "" }), "command must not be empty.", hint),
        (
            json!({ "command": " \n" }),
            "command must not be empty.",
            hint,
        ),
        (
            json!({ "command": "echo \0" }),
            "command must not contain a NUL character.",
            hint,
        ),
    ] {
        assert_eq!(
            call(&sandbox, &params),
            json!({
                "status": "error",
                "data": {},
                "text": format!("{message}{hint}"),
                "stats": { "time_ms": null },
                "context": { "cwd": ".", "params_input": params },
                "error": { "code": "INVALID_PARAM", "message": message },
            })
        );
    }
    for (params, message) in [
        (json!({}), "Missing required parameter 'command'."),
        (
            json!({ "command": "ls", "timeout_ms": 0 }),
            "timeout_ms must be an integer of 1 or more if provided.",
        ),
        (
            json!({ "command": "ls", "timeout": 9 }),
            "Unknown parameter 'timeout'; the nearest known one is 'timeout_ms'.",
        ),
    ] {
        let envelope = call(&sandbox, &params);
        assert_eq!(
            envelope["error"],
            json!({ "code": "INVALID_PARAM", "message": message })
        );
    }
}

#[test]
fn a_time_limit_beyond_the_end_of_time() {
    let sandbox = Sandbox::new();
    for timeout in [u64::MAX, u64::MAX / 2, 1 << 53] {
        let params = json!({ "command": "sleep 0.01; echo hi", "timeout_ms": timeout });
        assert_eq!(call(&sandbox, &params)["data"]["content"], "hi\n");
    }
}

#[test]
fn a_shell_that_is_not_there() {
    let sandbox = Sandbox::new();
    let params = json!({ "command": "echo hi" });
    let mut command = sandbox.command(&["call", "Run", &params.to_string()]);
    command.env("PATH", sandbox.home());
    let message = "The command could not be started: no such file or directory";
    assert_eq!(
        envelope(&sandbox.finish(command, b"")),
        json!({
            "status": "error",
            "data": {},
            "text": format!("{message}\nIt needs sh on the PATH; a long script goes into a file first."),
            "stats": { "time_ms": null },
            "context": { "cwd": ".", "params_input": params },
            "error": { "code": "EXECUTION_ERROR", "message": message },
        })
    );
}

#[test]
fn stopping_overspill_stops_the_command() {
    let sandbox = Sandbox::new();
    let command = "echo $$ > pids; echo begun; sleep 1000";
    let mut overspill =
        sandbox.command(&["call", "Run", &json!({ "command": command }).to_string()]);
    overspill
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = overspill.spawn().unwrap();
    let shell = pids(&sandbox, 1)[0];
    kill_process(pid(&child), Signal::TERM).unwrap();
    let envelope = envelope(&sandbox.end(child));
    assert_eq!(
        envelope["error"],
        json!({ "code": "EXECUTION_ERROR", "message": "The command was cancelled." })
    );
    until("the shell is gone", || (!runs(shell)).then_some(()));
}

#[test]
fn the_guard_holds_for_all_that_an_answer_says() {
    let sandbox = Sandbox::new();
    for command in ["seq 1 9999; exit 3", "seq 1 9999; sleep 1000", "seq 1 9999"] {
        let params = json!({ "command": command, "timeout_ms": 300 });
        let output = call_with(&sandbox, &["--max-result-chars", "2000"], &params);
        let chars = output.text().trim_end().chars().count();
        assert!(chars <= 2000, "{command}: {chars}");
    }
}
