//! Every shape of every agent: what comes, and what goes back.

use std::path::Path;

use overspill::settings::FileSettings;
use overspill::{Host, Paths, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A project with settings of its own.
struct Project {
    dir: TempDir,
    host: Host,
}

impl Project {
    fn new(settings: &str) -> Project {
        let dir = tempfile::tempdir().unwrap();
        let file = FileSettings::parse("overspill.yaml", settings).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let host = Host::new(&root, Settings::new().with_file(file))
            .with_paths(Paths::Absolute)
            .with_program("overspill");
        Project { dir, host }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a test makes its input for one reply"
    )]
    fn reply(&self, agent: Agent, input: Value) -> Option<Value> {
        self.try_reply(agent, &input).unwrap()
    }

    fn try_reply(&self, agent: Agent, input: &Value) -> anyhow::Result<Option<Value>> {
        let host = &self.host;
        let bounder = Bounder { host, agent };
        let mut input = input.to_string().into_bytes();
        let input = Json::parse(&mut input)?;
        match agent {
            Agent::Claude => claude::reply(input, &bounder),
            Agent::Codex => Ok(codex::reply(&input, &bounder)),
            Agent::Gemini => Ok(gemini::reply(&input, &bounder)),
            Agent::Cursor => Ok(cursor::reply(input, &bounder)),
            Agent::Opencode => {
                let data = self.path("share");
                opencode::reply(input, &bounder, Some(Path::new(&data)))
            }
        }
    }

    /// The bytes of the spill of a tool.
    fn spill_of(&self, tool: &str) -> String {
        let spills = self.host.store().list().unwrap();
        let end = format!("_{tool}.txt");
        let mut found = spills.iter().filter(|spill| spill.path.ends_with(&end));
        let (Some(spill), None) = (found.next(), found.next()) else {
            panic!("not one of {tool}: {spills:?}");
        };
        let mut text = String::new();
        let mut file = self.host.store().open(spill).unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    /// The bytes of the one spill there is.
    fn spill(&self) -> String {
        let spills = self.host.store().list().unwrap();
        assert_eq!(spills.len(), 1, "{spills:?}");
        let mut text = String::new();
        let mut file = self.host.store().open(&spills[0]).unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    fn path(&self, name: &str) -> String {
        let root = self.dir.path().canonicalize().unwrap();
        root.join(name).to_string_lossy().into_owned()
    }
}

const BUILT_IN: &str = "language: en\n";
const TEN_LINES: &str = "tool_output_limits: {default: {max_lines: 10}}\n";

fn rows(count: usize) -> String {
    (1..=count).map(|n| format!("row {n} of many\n")).collect()
}

fn claude_input(tool: &str, given: &Value, response: &Value) -> Value {
    json!({
        "hook_event_name": "PostToolUse", "transcript_path": "/nowhere/session.jsonl",
        "tool_name": tool, "tool_input": given, "tool_response": response,
    })
}

fn updated(reply: &Value) -> &Value {
    assert_eq!(reply["hookSpecificOutput"]["hookEventName"], "PostToolUse");
    &reply["hookSpecificOutput"]["updatedToolOutput"]
}

#[test]
fn claude_shell_keeps_its_shape() {
    let project = Project::new(TEN_LINES);
    let response = json!({
        "stdout": rows(50), "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
    });
    let reply = project
        .reply(
            Agent::Claude,
            claude_input("Bash", &json!({ "command": "make" }), &response),
        )
        .unwrap();
    let mut output = updated(&reply).clone();
    let text = output["stdout"].take();
    let text = text.as_str().unwrap();
    assert!(text.starts_with("row 1 of many\n"), "{text}");
    assert!(text.contains("... [lines "), "smart: {text}");
    assert!(
        text.contains(&format!(
            "Full output saved to: {}",
            project.path("tool-output/tool_")
        )),
        "{text}"
    );
    assert!(
        text.contains(
            "\nUse Read with offset and limit to view parts of it.\nIn a shell: overspill show "
        ),
        "{text}"
    );
    assert_eq!(project.spill(), rows(50));
    let expected = json!({ "stdout": null, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false });
    assert_eq!(output, expected);
}

#[test]
fn claude_shell_is_bounded_from_the_whole() {
    let project = Project::new(BUILT_IN);
    let whole = rows(40_000);
    let path = project.path("session/tool-results/b.txt");
    std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, &whole).unwrap();
    let response = json!({
        "stdout": whole[..30_000], "stderr": "", "persistedOutputPath": path, "persistedOutputSize": whole.len(),
    });
    let mut input = claude_input("Bash", &json!({ "command": "make" }), &response);
    input["transcript_path"] = json!(project.path("session.jsonl"));
    let reply = project.reply(Agent::Claude, input.clone()).unwrap();
    let output = updated(&reply);
    let text = output["stdout"].as_str().unwrap();
    assert!(
        text.contains("\nrow 40000 of many\n"),
        "the end is there: {text}"
    );
    assert!((20_000..=28_000).contains(&text.len()), "{}", text.len());
    assert_eq!(
        output.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["stdout", "stderr"]
    );
    assert_eq!(project.spill(), whole);

    input["transcript_path"] = json!("/elsewhere/session.jsonl");
    let error = project.try_reply(Agent::Claude, &input).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file of the whole output is not where it should be"
    );
}

/// What Claude Code shows of a shell is cut to 30,000 characters, both streams together.
#[test]
fn claude_streams_share_the_room() {
    let long = |stream: &str, count: usize| -> String {
        let line = |n: usize| format!("{stream} {n:06} of many lines\n");
        (0..count).map(line).collect()
    };
    let (out, err) = (long("out", 4000), long("err", 4000));
    let (small, half) = ("small\n".to_owned(), long("err", 520));
    // Standard output and error, which of them are cut, and how much of the room is used at least.
    let cases = [
        (&out, &err, [true, true], 24_000),
        (&small, &err, [false, true], 24_000),
        (&out, &small, [true, false], 24_000),
        (&out, &half, [true, false], 24_000),
        (&half, &err, [false, true], 24_000),
        (&half, &half, [false, false], 0),
        (&String::new(), &err, [false, true], 24_000),
    ];
    for (stdout, stderr, is_cut, least) in cases {
        let project = Project::new(BUILT_IN);
        let response =
            json!({ "stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false });
        let input = claude_input("Bash", &json!({ "command": "make" }), &response);
        let Some(reply) = project.reply(Agent::Claude, input) else {
            assert_eq!(is_cut, [false, false]);
            continue;
        };
        let output = updated(&reply);
        let keys: Vec<_> = output.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["stdout", "stderr", "interrupted", "isImage"]);
        let [shown_out, shown_err] = ["stdout", "stderr"].map(|key| output[key].as_str().unwrap());
        assert_eq!([shown_out != *stdout, shown_err != *stderr], is_cut);
        let size = shown_out.chars().count() + shown_err.chars().count();
        assert!((least..=28_000).contains(&size), "{is_cut:?}: {size}");
        for (is_cut, shown, whole, tool) in [
            (is_cut[0], shown_out, stdout, "Bash"),
            (is_cut[1], shown_err, stderr, "Bash_stderr"),
        ] {
            if is_cut {
                assert_eq!(project.spill_of(tool), **whole);
                assert!(shown.contains(&format!("_{tool}.txt\n")), "{shown}");
            }
        }
        assert_eq!(
            shown_out.contains(
                "This is standard output only. Standard error was truncated too; all of it is in "
            ),
            is_cut == [true, true],
            "{shown_out}"
        );
        assert_eq!(
            shown_err.ends_with("This is standard error only."),
            is_cut[1]
        );
    }
}

#[test]
fn claude_streams_keep_to_the_limits_of_the_user() {
    let project = Project::new(TEN_LINES);
    let ask = |stdout: &str, stderr: &str| {
        let response = json!({ "stdout": stdout, "stderr": stderr });
        let input = claude_input("Bash", &json!({}), &response);
        project
            .reply(Agent::Claude, input)
            .map(|reply| updated(&reply).clone())
    };
    let output = ask("fine\n", &rows(50)).unwrap();
    assert_eq!(output["stdout"], "fine\n");
    let text = output["stderr"].as_str().unwrap();
    assert!(text.contains("Full output saved to: "), "{text}");
    assert_eq!(ask("fine\n", &rows(9)), None);

    let project = Project::new("max_result_chars: 3000\n");
    let response = json!({ "stdout": rows(400), "stderr": rows(400) });
    let reply = project.reply(Agent::Claude, claude_input("Bash", &json!({}), &response));
    let output = updated(&reply.unwrap()).clone();
    let size = |key: &str| output[key].as_str().unwrap().chars().count();
    assert!(size("stdout") + size("stderr") <= 3000, "{output}");
}

#[test]
fn claude_read_and_grep_keep_their_shapes() {
    let project = Project::new(TEN_LINES);
    let file = json!({ "filePath": "/a", "content": rows(50), "numLines": 50, "startLine": 1, "totalLines": 50 });
    let reply = project
        .reply(
            Agent::Claude,
            claude_input(
                "Read",
                &json!({ "file_path": "/a" }),
                &json!({ "type": "text", "file": file }),
            ),
        )
        .unwrap();
    let output = updated(&reply);
    let text = output["file"]["content"].as_str().unwrap();
    assert!(
        text.starts_with("row 1 of many\n")
            && text.contains("row 10 of many\n\n...40 lines truncated..."),
        "{text}"
    );
    assert_eq!(output["file"]["numLines"], text.lines().count());
    assert_eq!(
        (&output["type"], &output["file"]["totalLines"]),
        (&json!("text"), &json!(50))
    );

    let found = json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": rows(50), "numLines": 50 });
    let reply = project
        .reply(
            Agent::Claude,
            claude_input("Grep", &json!({ "pattern": "row" }), &found),
        )
        .unwrap();
    let output = updated(&reply);
    assert!(
        output["content"]
            .as_str()
            .unwrap()
            .contains("...40 lines truncated...")
    );
    assert_eq!(output["mode"], "content");
}

#[test]
fn claude_mcp_is_a_string_or_blocks() {
    let project = Project::new(TEN_LINES);
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "source": { "data": "AAAA" } });
    let ask = |response: Value| {
        let reply = project.reply(
            Agent::Claude,
            claude_input("mcp__t__big", &json!({}), &response),
        );
        reply.map(|reply| updated(&reply).clone())
    };
    assert!(ask(json!(rows(50))).unwrap().is_string());
    assert!(
        ask(json!([text(&rows(6)), text(&rows(6))]))
            .unwrap()
            .is_string(),
        "all blocks count together"
    );
    let mixed = ask(json!([image, text(&rows(50)), text(&rows(50))])).unwrap();
    assert_eq!(mixed.as_array().unwrap().len(), 2);
    assert_eq!(mixed[0], image);
    assert!(
        mixed[1]["text"]
            .as_str()
            .unwrap()
            .contains("Full output saved to")
    );
    for passed in [
        json!(rows(5)),
        json!([text(&rows(5))]),
        json!([image]),
        json!([]),
        json!(null),
        json!({ "x": rows(50) }),
    ] {
        assert_eq!(ask(passed.clone()), None, "{passed}");
    }
}

#[test]
fn claude_passes_what_is_no_concern_of_ours() {
    let project = Project::new(TEN_LINES);
    let long = json!({ "stdout": rows(50), "stderr": "" });
    let ask = |tool: &str, response: &Value| {
        project.reply(Agent::Claude, claude_input(tool, &json!({}), response))
    };
    assert_eq!(ask("Edit", &json!({ "originalFile": rows(50) })), None);
    assert_eq!(
        ask("Bash", &json!({ "stdout": rows(50), "isImage": true })),
        None
    );
    assert_eq!(ask("Bash", &json!({ "stdout": 7 })), None);
    assert_eq!(ask("Bash", &json!(null)), None);
    assert_eq!(
        ask(
            "Grep",
            &json!({ "mode": "files_with_matches", "filenames": ["a"] })
        ),
        None
    );
    let mut failed = claude_input("Bash", &json!({}), &long);
    failed["hook_event_name"] = json!("PostToolUseFailure");
    assert_eq!(project.reply(Agent::Claude, failed), None);
    assert_eq!(project.reply(Agent::Claude, json!({})), None);
    assert!(project.host.store().list().unwrap().is_empty());
}

#[test]
fn nothing_is_bounded_twice_and_no_spill_leads_to_another() {
    let project = Project::new(TEN_LINES);
    let response = |stdout: &str| json!({ "stdout": stdout, "stderr": "" });
    let notice = "The output was truncated. Full output saved to: tool-output/tool_20261115_225530_w3hjsr3z_Run.txt\n";
    let input = claude_input(
        "Bash",
        &json!({ "command": "overspill run -- x" }),
        &response(&(rows(50) + notice)),
    );
    assert_eq!(project.reply(Agent::Claude, input), None);
    // Over the agent's own cut it is bounded all the same, or the agent would leave 2 KB of it.
    let input = claude_input("Bash", &json!({}), &response(&(rows(5000) + notice)));
    assert!(project.reply(Agent::Claude, input).is_some());

    let file = json!({ "type": "text", "file": { "content": rows(50), "numLines": 50 } });
    for path in [
        project.path("tool-output/tool_x.txt"),
        project.path("src/../tool-output/tool_x.txt"),
        "tool-output/tool_x.json".to_owned(),
        "tool-output".to_owned(),
    ] {
        let input = claude_input("Read", &json!({ "file_path": path }), &file);
        assert_eq!(project.reply(Agent::Claude, input), None, "{path}");
    }
    let input = claude_input(
        "Read",
        &json!({ "file_path": project.path("tool-outputs") }),
        &file,
    );
    assert!(project.reply(Agent::Claude, input).is_some());
    let own = claude_input("mcp__overspill__Grep", &json!({}), &json!(rows(50)));
    assert_eq!(project.reply(Agent::Claude, own), None);
}

#[test]
fn codex_gets_plain_text() {
    let project = Project::new(BUILT_IN);
    let input = |tool: &str, response: Value| json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {}, "tool_response": response });
    let blocks = json!({ "content": [{ "type": "text", "text": rows(2000) }] });
    let reply = project
        .reply(Agent::Codex, input("mcp__t__big", blocks))
        .unwrap();
    assert_eq!(reply["continue"], false);
    let text = reply["stopReason"].as_str().unwrap();
    assert!((7_000..=9_500).contains(&text.len()), "{}", text.len());
    assert!(
        text.contains("The tool call succeeded but")
            && text.contains("In a shell: overspill show "),
        "{text}"
    );
    assert!(
        !text.contains("Use "),
        "Codex has neither Grep nor Read: {text}"
    );
    assert_eq!(project.spill(), rows(2000));
    // What Codex shows whole stays, though our limit is lower than that.
    let short = json!({ "content": [{ "type": "text", "text": rows(600) }] });
    assert_eq!(
        project.reply(Agent::Codex, input("mcp__t__big", short)),
        None
    );
}

#[test]
fn codex_passes_what_a_text_cannot_stand_for() {
    let project = Project::new(TEN_LINES);
    let ask = |tool: &str, response: Value| {
        let input = json!({ "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {}, "tool_response": response });
        project.reply(Agent::Codex, input)
    };
    let image = json!({ "type": "image", "data": "AAAA" });
    let text = json!({ "type": "text", "text": rows(5000) });
    assert_eq!(
        ask("mcp__t__big", json!({ "content": [image, text] })),
        None
    );
    assert_eq!(
        ask(
            "Bash",
            json!(format!(
                "Warning: truncated output (original token count: 9)\n{}",
                rows(50)
            ))
        ),
        None
    );
    assert_eq!(ask("apply_patch", json!(rows(50))), None);
    assert_eq!(ask("Bash", json!({ "x": 1 })), None);
    assert_eq!(project.reply(Agent::Codex, json!(null)), None);
    let reply = ask("Bash", json!(rows(50))).unwrap();
    assert!(
        reply["stopReason"]
            .as_str()
            .unwrap()
            .contains("\nThe output was truncated. Full output"),
        "{reply}"
    );
    let failed = ask("mcp__t__x", json!({ "content": [text], "isError": true })).unwrap();
    assert!(
        failed["stopReason"]
            .as_str()
            .unwrap()
            .contains("The tool call failed and")
    );
    let structure =
        json!({ "content": [text], "structuredContent": { "rows": (0..500).collect::<Vec<_>>() } });
    let reply = ask("mcp__t__x", structure).unwrap();
    assert!(
        reply["stopReason"].as_str().unwrap().starts_with('{'),
        "what the model would have read: {reply}"
    );
}

fn gemini_input(tool: &str, content: Value) -> Value {
    let mut input = json!({
        "hook_event_name": "AfterTool", "tool_name": tool, "tool_input": { "command": "make" },
        "tool_response": { "returnDisplay": "" },
    });
    input["tool_response"]["llmContent"] = content;
    input
}

#[test]
fn gemini_is_told_first_how_the_call_went() {
    let project = Project::new(BUILT_IN);
    let around = |text: &str| format!("<untrusted_context>\n{text}\n</untrusted_context>");
    let whole = format!("Output: {}Process Group PGID: 1", rows(5000));
    let reply = project
        .reply(
            Agent::Gemini,
            gemini_input("run_shell_command", json!(around(&whole))),
        )
        .unwrap();
    assert_eq!(reply["decision"], "deny");
    let text = reply["reason"].as_str().unwrap();
    let (notice, preview) = text
        .split_once("\n\n<untrusted_context>\nOutput: row 1")
        .unwrap();
    assert!(
        notice.contains("The tool call succeeded but the output was truncated."),
        "{notice}"
    );
    assert!(
        notice.ends_with(" --limit N.") && !notice.contains("Use "),
        "{notice}"
    );
    assert!(
        preview.ends_with("Process Group PGID: 1\n</untrusted_context>"),
        "{preview}"
    );
    assert!(
        (30_000..=38_000).contains(&text.chars().count()),
        "{}",
        text.chars().count()
    );
    assert_eq!(project.spill(), whole);
    // Below Gemini's own cut nothing is called an error for our limits' sake.
    assert_eq!(
        project.reply(
            Agent::Gemini,
            gemini_input("run_shell_command", json!(around(&rows(2200))))
        ),
        None
    );
}

#[test]
fn gemini_keeps_to_the_limits_of_the_user() {
    let project = Project::new("tool_output_limits: {tools: {mcp__t__*: {max_lines: 10}}}\n");
    let parts = json!([{ "text": rows(6) }, { "text": rows(6) }]);
    let mut input = gemini_input("mcp_t_big", parts);
    assert_eq!(
        project.reply(Agent::Gemini, input.clone()),
        None,
        "it belongs to no server"
    );
    input["mcp_context"] = json!({ "server_name": "t", "tool_name": "big" });
    let reply = project.reply(Agent::Gemini, input.clone()).unwrap();
    assert!(
        !reply["reason"].as_str().unwrap().contains("untrusted"),
        "{reply}"
    );
    input["tool_response"]["error"] = json!({ "message": "no" });
    let reply = project.reply(Agent::Gemini, input.clone()).unwrap();
    assert!(
        reply["reason"]
            .as_str()
            .unwrap()
            .contains("The tool call failed"),
        "{reply}"
    );
    for content in [
        json!(null),
        json!([{ "inlineData": {} }, { "text": rows(50) }]),
        json!({ "text": rows(50) }),
        json!([]),
    ] {
        input["tool_response"]["llmContent"] = content;
        assert_eq!(project.reply(Agent::Gemini, input.clone()), None, "{input}");
    }
    assert_eq!(
        project.reply(Agent::Gemini, gemini_input("read_file", json!(rows(50)))),
        None
    );
}

#[test]
fn cursor_gets_back_the_shape_it_sent() {
    let project = Project::new(TEN_LINES);
    let ask = |tool: &str, output: Value| {
        let input = json!({ "hook_event_name": "postToolUse", "tool_name": tool, "tool_input": {}, "tool_output": output });
        project
            .reply(Agent::Cursor, input)
            .map(|mut reply| reply["updated_mcp_tool_output"].take())
    };
    let result = json!({ "content": [{ "type": "text", "text": rows(50) }], "structuredContent": { "rows": [1] } });
    let bounded = ask("MCP:big", result.clone()).unwrap();
    assert!(
        bounded["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("In a shell: overspill show")
    );
    assert_eq!(bounded.get("structuredContent"), None);
    let as_text: Value = serde_json::from_str(
        ask("MCP:big", json!(result.to_string()))
            .unwrap()
            .as_str()
            .unwrap(),
    )
    .unwrap();
    assert!(as_text["content"][0]["text"].is_string());
    assert!(ask("mcp__t__big", json!(rows(50))).unwrap().is_string());
    assert_eq!(ask("Shell", json!(rows(50))), None);
    assert_eq!(ask("MCP:big", json!(5)), None);
}

#[test]
fn opencode_is_told_what_to_put_in_place() {
    let project = Project::new(TEN_LINES);
    let ask = |tool: &str, output: Value| {
        project.reply(
            Agent::Opencode,
            json!({ "tool": tool, "args": { "command": "make" }, "output": output }),
        )
    };
    let output = |exit: i64| json!({ "title": "t", "metadata": { "exit": exit, "truncated": false }, "output": rows(50) });
    let reply = ask("bash", output(1)).unwrap();
    let text = reply["output"].as_str().unwrap();
    assert!(
        text.contains("The tool call failed and") && text.contains("Use read with offset"),
        "{text}"
    );
    assert_eq!(reply.as_object().unwrap().len(), 1);
    let image = json!({ "type": "image", "data": "A" });
    let blocks = json!({ "content": [{ "type": "text", "text": rows(50) }, image], "structuredContent": {} });
    let reply = ask("t_big", blocks).unwrap();
    assert_eq!(reply["content"][1], image);
    for (tool, output) in [
        ("bash", json!({ "output": rows(5), "metadata": {} })),
        ("write", json!({ "output": rows(50) })),
        ("t_big", json!({ "content": [] })),
        ("bash", json!(null)),
    ] {
        assert_eq!(ask(tool, output.clone()), None, "{tool} {output}");
    }
    assert_eq!(project.reply(Agent::Opencode, json!({ "tool": 1 })), None);
}

#[test]
fn opencode_shell_is_bounded_from_the_whole() {
    let project = Project::new(BUILT_IN);
    let path = project.path("share/opencode/tool-output/tool_1");
    std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, rows(40_000)).unwrap();
    let output = json!({ "metadata": { "exit": 0, "outputPath": path }, "output": "...output truncated..." });
    let reply = project
        .reply(
            Agent::Opencode,
            json!({ "tool": "bash", "args": {}, "output": output }),
        )
        .unwrap();
    let text = reply["output"].as_str().unwrap();
    assert!(
        text.len() <= 48_000 && text.lines().count() <= 2000,
        "{}",
        text.len()
    );
    assert_eq!(project.spill(), rows(40_000));

    // A file of the same name that is not among the user's data is not opencode's.
    let elsewhere = project.path("elsewhere/opencode/tool-output/tool_1");
    std::fs::create_dir_all(Path::new(&elsewhere).parent().unwrap()).unwrap();
    std::fs::write(&elsewhere, rows(40_000)).unwrap();
    let output = json!({ "metadata": { "exit": 0, "outputPath": elsewhere }, "output": "..." });
    let input = json!({ "tool": "bash", "args": {}, "output": output });
    let error = project.try_reply(Agent::Opencode, &input).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file of the whole output is not where it should be"
    );
}

#[test]
fn the_plugin_has_a_place_for_the_program() {
    assert_eq!(opencode::PLUGIN.matches(opencode::PROGRAM).count(), 1);
}
