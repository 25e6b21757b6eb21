//! Hooks from outside: the agent's JSON on stdin, its answer on stdout, and whatever is wrong, exit code 0.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Mount, Output, PROGRAM, Sandbox, names, seq};

const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "cursor", "opencode"];

/// What each agent sends for a long result of an MCP tool.
fn input(agent: &str, text: &str) -> Value {
    let blocks = json!([{ "type": "text", "text": text }]);
    match agent {
        "claude" => json!({
            "hook_event_name": "PostToolUse", "tool_name": "mcp__t__big", "tool_input": {}, "tool_response": blocks,
        }),
        "codex" => json!({
            "hook_event_name": "PostToolUse", "tool_name": "mcp__t__big", "tool_input": {},
            "tool_response": { "content": blocks },
        }),
        "gemini" => json!({
            "hook_event_name": "AfterTool", "tool_name": "mcp_t_big", "tool_input": {},
            "tool_response": { "llmContent": [{ "text": text }] },
            "mcp_context": { "server_name": "t", "tool_name": "big" },
        }),
        "cursor" => json!({
            "hook_event_name": "postToolUse", "tool_name": "MCP:big", "tool_input": {},
            "tool_output": { "content": blocks },
        }),
        _ => json!({ "tool": "t_big", "args": {}, "output": { "content": blocks } }),
    }
}

/// The text that stands in for the result.
fn message<'a>(agent: &str, reply: &'a Value) -> &'a str {
    let place = match agent {
        "claude" => "/hookSpecificOutput/updatedToolOutput",
        "codex" => "/stopReason",
        "gemini" => "/reason",
        "cursor" => "/updated_mcp_tool_output/content/0/text",
        _ => "/content/0/text",
    };
    reply
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{agent}: {reply}"))
}

/// Panics unless the agent is left to go on as it would without a hook.
#[track_caller]
fn assert_passed(agent: &str, output: &Output) {
    assert_eq!(output.code, 0, "{output:?}");
    let nothing = if agent == "cursor" { "{}\n" } else { "" };
    assert_eq!(output.text(), nothing, "{agent}");
}

#[test]
fn each_agent_gets_its_answer_and_the_whole_is_saved() {
    let whole = seq(40_000);
    for agent in AGENTS {
        let sandbox = Sandbox::new();
        let output = sandbox
            .pipe(&["hook", agent], input(agent, &whole).to_string())
            .quietly(0);
        let reply = output.json();
        let text = message(agent, &reply);
        assert!(text.len() < 52_000, "{agent}: {}", text.len());
        let root = sandbox.root().to_string_lossy().into_owned();
        assert!(
            text.contains(&format!("Full output saved to: {root}/tool-output/tool_")),
            "{agent}: {text}"
        );
        assert!(
            text.contains(&format!("In a shell: {PROGRAM} --root {root} show ")),
            "{agent}: {text}"
        );
        assert_eq!(sandbox.spill(), whole.as_bytes(), "{agent}");
    }
}

#[test]
fn what_is_within_the_limits_passes() {
    for agent in AGENTS {
        let sandbox = Sandbox::new();
        let output = sandbox
            .pipe(&["hook", agent], input(agent, &seq(100)).to_string())
            .quietly(0);
        assert_passed(agent, &output);
        assert!(sandbox.stored().is_empty());
    }
}

#[test]
fn nonsense_passes_with_one_line_on_stderr() {
    let valid = input("claude", &seq(40_000)).to_string();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let nested = format!(
        r#"{{"hook_event_name":"PostToolUse","tool_response":{}}}"#,
        r#"{"a":"#.repeat(5000) + "1" + &"}".repeat(5000)
    );
    let broken: [&[u8]; 8] = [
        b"",
        b"nonsense",
        b"{\"a\":\"\xff\xfe\"}",
        &valid.as_bytes()[..valid.len() / 2],
        &valid.as_bytes()[..valid.len() - 1],
        deep.as_bytes(),
        nested.as_bytes(),
        b"\0\0\0",
    ];
    for agent in AGENTS {
        let sandbox = Sandbox::new();
        for input in broken {
            let output = sandbox.pipe(&["hook", agent], input);
            assert_passed(agent, &output);
            let complaint = output.complaint();
            assert!(
                complaint.starts_with("overspill: hook: ") && complaint.len() < 500,
                "{complaint}"
            );
        }
        assert!(sandbox.snapshot().is_empty());
    }
}

#[test]
fn json_of_another_shape_passes() {
    let others = [
        json!(null),
        json!([]),
        json!(1.5),
        json!("text"),
        json!({}),
        json!({ "hook_event_name": "Stop" }),
        json!({ "hook_event_name": "PostToolUse", "tool_name": 7, "tool_response": [] }),
        json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": { "stdout": [seq(9999)] } }),
        json!({ "hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": { "text": seq(9999) } }),
        json!({ "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_response": seq(9999) }),
        json!({ "hook_event_name": "postToolUse", "tool_name": "MCP:x", "tool_output": [seq(9999)] }),
        json!({ "tool": "bash", "output": seq(9999) }),
    ];
    let sandbox = Sandbox::new();
    for agent in AGENTS {
        for other in &others {
            let output = sandbox.pipe(&["hook", agent], other.to_string()).quietly(0);
            assert_passed(agent, &output);
        }
    }
    assert!(sandbox.snapshot().is_empty());
}

#[test]
fn a_result_of_50_megabytes_is_bounded() {
    let sandbox = Sandbox::new();
    let line = "a line of some length, as programs print them, with nothing to tell\n";
    let whole = line.repeat((50 << 20) / line.len());
    let json = input("claude", &whole).to_string();
    let start = Instant::now();
    let output = sandbox.pipe(&["hook", "claude"], json).quietly(0);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
    assert!(message("claude", &output.json()).len() < 50_000);
    assert_eq!(sandbox.spill().len(), whole.len());
}

#[test]
fn one_line_of_20_megabytes_is_bounded() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .pipe(
            &["hook", "claude"],
            input("claude", &"😀".repeat(5 << 20)).to_string(),
        )
        .quietly(0);
    assert!(message("claude", &output.json()).encode_utf16().count() < 50_000);
}

#[test]
fn more_than_can_be_held_passes_and_is_read_to_its_end() {
    let sandbox = Sandbox::new();
    let script = format!(
        "yes '                                                  ' | head -c 300000000 | {PROGRAM} hook claude; echo ${{PIPESTATUS[@]}}"
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(sandbox.root());
    let output = sandbox.finish(command, b"");
    assert!(
        output.text().ends_with(" 0 0\n"),
        "nobody was cut off: {}",
        output.text()
    );
    assert_eq!(
        output.stderr,
        "overspill: hook: the hook's input is over 256 MiB\n"
    );
}

#[test]
fn a_broken_configuration_passes() {
    let sandbox = Sandbox::new();
    sandbox.write("overspill.yaml", "max_lines: [no\n");
    for agent in AGENTS {
        let output = sandbox.pipe(&["hook", agent], input(agent, &seq(40_000)).to_string());
        assert_passed(agent, &output);
        assert!(output.complaint().contains("overspill.yaml"), "{output:?}");
    }
    let output = sandbox.pipe(&["hook", "claude", "--max-lines", "many"], "{}");
    assert_passed("claude", &output);
}

#[test]
fn an_agent_never_meets_the_exit_code_that_refuses_its_call() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "claude", "--no-such-flag"],
    ] {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.text()), (0, String::new()));
        // Whoever typed it is told.
        assert!(output.stderr.contains("try '--help'"), "{output:?}");
    }
    for (before, named) in [
        ("--no-such-flag", "--no-such-flag"),
        ("--root", "overspill"),
    ] {
        let output = sandbox.run(&[before, "hook", "claude"]);
        assert!(output.stderr.contains(named), "{output:?}");
        // Behind `--root` the word is a directory, and no hook is called.
        let code = if before == "--root" { 2 } else { 0 };
        assert_eq!(output.code, code, "{output:?}");
    }
    for arguments in [
        &["hook", "codex", "--wrap-shell"][..],
        &["hook", "claude", "--plugin"],
    ] {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.text()), (0, String::new()));
        assert!(output.complaint().contains("is only for "), "{output:?}");
    }
    let help = sandbox.run(&["hook", "--help"]).quietly(0).text();
    assert!(help.contains("--wrap-shell") && help.contains("[default: smart; head for files"));
    // What is no hook has its exit codes.
    assert_eq!(
        sandbox
            .run(&["--root", ".", "grep", "hook", "--nosuch"])
            .code,
        2
    );
}

/// Puts every kind of value into every place of what each agent sends.
#[test]
fn any_member_may_be_of_any_kind() {
    let kinds = [
        json!(null),
        json!(true),
        json!(-1.5e300),
        json!(""),
        json!([]),
        json!({}),
        json!([[{}]]),
        json!(seq(9999)),
    ];
    let sandbox = Sandbox::new();
    for agent in AGENTS {
        let whole = input(agent, &seq(9999));
        let mut paths = vec![String::new()];
        let mut at = 0;
        while let Some(path) = paths.get(at).cloned() {
            let below: Vec<String> = match whole.pointer(&path) {
                Some(Value::Object(members)) => members.keys().cloned().collect(),
                Some(Value::Array(items)) => (0..items.len()).map(|n| n.to_string()).collect(),
                _ => Vec::new(),
            };
            paths.extend(below.iter().map(|name| format!("{path}/{name}")));
            at += 1;
        }
        for (n, path) in paths.iter().enumerate() {
            // Not each with each: a process is not free.
            for kind in kinds.iter().skip(n % 2).step_by(2) {
                let mut changed = whole.clone();
                *changed.pointer_mut(path).unwrap() = kind.clone();
                let output = sandbox
                    .pipe(&["hook", agent], changed.to_string())
                    .quietly(0);
                let text = output.text();
                let is_answer =
                    serde_json::from_str::<Value>(&text).is_ok_and(|reply| reply.is_object());
                assert!(
                    text.is_empty() || is_answer,
                    "{agent} {path} {kind}: {text}"
                );
            }
        }
    }
}

#[test]
fn a_store_that_cannot_be_written_leaves_the_message_bounded() {
    let sandbox = Sandbox::new();
    sandbox.write("tool-output", "in the way");
    for agent in AGENTS {
        let output = sandbox
            .pipe(&["hook", agent], input(agent, &seq(40_000)).to_string())
            .quietly(0);
        let reply = output.json();
        let text = message(agent, &reply);
        assert!(
            text.contains("the full output was not saved: "),
            "{agent}: {text}"
        );
        assert!(text.len() < 52_000);
    }
}

#[test]
fn a_full_disk_leaves_the_message_bounded() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.store()).unwrap();
    let Some(_mount) = Mount::tmpfs(&sandbox.store(), "size=64k,mode=700") else {
        return;
    };
    for agent in AGENTS {
        let output = sandbox
            .pipe(&["hook", agent], input(agent, &seq(40_000)).to_string())
            .quietly(0);
        let reply = output.json();
        assert!(message(agent, &reply).contains("not saved: "), "{reply}");
    }
    let left: Vec<_> = names(&sandbox.store())
        .into_iter()
        .filter(|name| name.starts_with("tool_"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_root_is_the_agents_project_wherever_it_works_now() {
    let sandbox = Sandbox::new();
    for (agent, variable) in [
        ("claude", "CLAUDE_PROJECT_DIR"),
        ("gemini", "GEMINI_PROJECT_DIR"),
    ] {
        let project = sandbox.outside().join(agent);
        fs::create_dir(&project).unwrap();
        fs::write(
            project.join("overspill.yaml"),
            "tool_output_limits: {default: {max_lines: 7}}\n",
        )
        .unwrap();
        let mut command = sandbox.command(&["hook", agent]);
        command.env(variable, &project);
        let output = sandbox
            .finish(command, input(agent, &seq(500)).to_string().as_bytes())
            .quietly(0);
        let reply = output.json();
        assert!(
            message(agent, &reply).contains(&*project.join("tool-output").to_string_lossy()),
            "{reply}"
        );
        assert!(sandbox.stored().is_empty());
        let mut command = sandbox.command(&["hook", agent]);
        command.env(variable, project.join("gone"));
        let output = sandbox.finish(command, input(agent, &seq(500)).to_string().as_bytes());
        assert_passed(agent, &output.quietly(0));
    }
}

#[test]
fn a_wrapped_command_keeps_its_exit_code_and_what_it_said() {
    let sandbox = Sandbox::new();
    let wrap = |command: &str| {
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command, "timeout": 1000 },
        });
        let output = sandbox
            .pipe(&["hook", "claude", "--wrap-shell"], input.to_string())
            .quietly(0);
        assert!(!output.text().contains("permissionDecision"));
        let reply = output.json();
        reply["hookSpecificOutput"]["updatedInput"]["command"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let shell = |command: &str| {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", command])
            .current_dir(sandbox.root())
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        sandbox.finish(shell, b"")
    };
    let nasty = r#"printf '%s\n' "it's" 'a "b" $HOME' `echo c` $((1+1)) <<<'E' >&2; [[ a == a ]] && exit 7"#;
    let (plain, wrapped) = (shell(nasty), shell(&wrap(nasty)));
    assert_eq!((wrapped.code, plain.code), (7, 7));
    assert_eq!(
        wrapped.text(),
        plain.stderr,
        "stdout and stderr come as one"
    );
    let loud = shell(&wrap("seq 1 100000; exit 3"));
    assert_eq!(loud.code, 3);
    assert!(
        loud.text().chars().count() <= 9_501,
        "below what Claude Code shows of a failed command"
    );
    assert!(
        loud.text()
            .contains("The tool call failed and its output was truncated.")
    );
}

#[test]
fn the_plugin_calls_the_program_as_it_was_called() {
    let sandbox = Sandbox::new();
    let plugin = sandbox
        .run(&["hook", "opencode", "--plugin"])
        .quietly(0)
        .text();
    assert!(
        plugin.contains(&format!("const PROGRAM = \"{PROGRAM}\"\n")),
        "{plugin}"
    );
    assert!(plugin.contains("\"tool.execute.after\""));
}
