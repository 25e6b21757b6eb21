//! `overspill mcp`, over pipes and over HTTP.

use std::fs;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::peer::{Peer, Web, runs, text};
use crate::support::{Sandbox, pid, seq, until};

const RUN: [&str; 2] = ["mcp", "--allow-run"];

/// A server that knows its client.
fn server(sandbox: &Sandbox, arguments: &[&str], client: &str) -> Peer {
    let mut peer = Peer::new(sandbox.command(arguments));
    peer.initialize("2025-06-18", client);
    peer
}

/// What every request of the stateless wire carries.
fn stateless(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": client, "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

#[track_caller]
fn tools(peer: &mut Peer) -> Vec<Value> {
    let answer = peer.ask("tools/list", &json!({}));
    answer["result"]["tools"].as_array().expect("tools").clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

/// The address of the spill that a result links to.
#[track_caller]
fn link(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    let link = blocks.iter().find(|block| block["type"] == "resource_link");
    link.unwrap_or_else(|| panic!("no link: {result}"))["uri"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn both_versions_with_initialize() {
    for version in ["2025-06-18", "2025-11-25"] {
        let sandbox = Sandbox::new();
        let mut peer = Peer::new(sandbox.command(&["mcp"]));
        let answer = peer.initialize(version, "test");
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "overspill");
        assert_eq!(
            answer["result"]["capabilities"],
            json!({ "resources": {}, "tools": {} })
        );
        assert_eq!(names(&tools(&mut peer))[..2], ["Grep", "Read"]);
        let (rest, code) = peer.finish();
        assert_eq!((rest, code), (Vec::new(), 0));
    }
}

#[test]
fn the_stateless_wire() {
    let sandbox = Sandbox::new();
    sandbox.write("big.txt", seq(20_000));
    let mut peer = Peer::new(sandbox.command(&["mcp"]));
    let found = peer.ask(
        "server/discover",
        &json!({ "_meta": stateless("codex-mcp-client") }),
    );
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    assert_eq!(found["result"]["resultType"], "complete");
    let call = json!({
        "name": "Read", "arguments": { "path": "big.txt" }, "_meta": stateless("codex-mcp-client")
    });
    let result = &peer.ask("tools/call", &call)["result"];
    assert_eq!(result["resultType"], "complete");
    let text = text(result);
    assert!(text.contains("\n1\n2\n3\n"), "{}", &text[..200]);
    assert!(
        text.len() < 10_000,
        "the client is known by the request: {}",
        text.len()
    );
}

#[test]
fn tools_are_described_leanly_and_run_only_when_allowed() {
    let sandbox = Sandbox::new();
    let listed = tools(&mut server(&sandbox, &["mcp"], "test"));
    assert!(!names(&listed).contains(&"Run"));
    for tool in &listed {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
        for waste in ["$schema", "\"format\"", "\"title\"", "uint"] {
            assert!(!tool.to_string().contains(waste), "{waste} in {tool}");
        }
        assert!(tool.get("outputSchema").is_none() && tool.get("_meta").is_none());
    }
    assert!(json!(listed).to_string().len() < 8_000);

    let listed = tools(&mut server(&sandbox, &RUN, "test"));
    let run = listed
        .iter()
        .find(|tool| tool["name"] == "Run")
        .expect("Run");
    assert_eq!(run["annotations"]["readOnlyHint"], false);
    assert_eq!(run["annotations"]["destructiveHint"], true);

    let mut peer = server(&sandbox, &["mcp"], "test");
    let call = json!({ "name": "Run", "arguments": { "command": "touch made" } });
    let answer = peer.ask("tools/call", &call);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(!sandbox.root().join("made").exists());
}

#[test]
fn calls_answer_with_text() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "fn one() {}\nfn two() {}\n");
    let mut peer = server(&sandbox, &RUN, "test");
    for (tool, arguments, wanted) in [
        (
            "Grep",
            json!({ "pattern": "two" }),
            "src/a.rs:2: fn two() {}",
        ),
        (
            "Read",
            json!({ "path": "src/a.rs", "offset": 2 }),
            "fn two() {}",
        ),
        ("LS", json!({ "path": "src" }), "a.rs  24"),
        ("RepoMap", json!({ "max_tokens": 60 }), "2: fn two()"),
        (
            "Run",
            json!({ "command": "echo out; echo err >&2" }),
            "out\nerr",
        ),
    ] {
        let result = peer.call(tool, &arguments);
        assert!(text(&result).contains(wanted), "{tool}: {result}");
        assert_eq!(result["isError"], false, "{tool}");
        let structured = result
            .get("structuredContent")
            .map_or(0, |data| data.to_string().len());
        assert!(structured <= text(&result).len(), "{tool}: {result}");
    }
}

#[test]
fn errors_are_results_that_say_so() {
    let sandbox = Sandbox::new();
    let mut peer = server(&sandbox, &RUN, "test");
    for (tool, arguments, wanted) in [
        (
            "Read",
            json!({ "path": "/etc/passwd" }),
            "within project root",
        ),
        (
            "Read",
            json!({ "path": "../../etc/passwd" }),
            "within project root",
        ),
        ("Read", json!({ "path": "none" }), "none"),
        ("Grep", json!({ "pattern": "fn foo(" }), "unclosed group"),
        ("Grep", json!({}), "pattern"),
        ("Run", json!({ "command": "echo shown; exit 7" }), "shown"),
    ] {
        let result = peer.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text(&result).contains(wanted), "{tool}: {result}");
        assert!(!text(&result).contains("root:"), "{result}");
        assert!(result.get("structuredContent").is_none());
    }
    let answer = peer.ask("tools/call", &json!({ "name": "Nope", "arguments": {} }));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(peer.ask("no/such", &json!({}))["error"]["code"], -32601);
}

#[test]
fn a_cut_result_shows_what_was_kept_and_links_to_the_rest() {
    let sandbox = Sandbox::new();
    let mut peer = server(&sandbox, &RUN, "test");
    let result = peer.call("Run", &json!({ "command": "seq 1 50000" }));
    let shown = text(&result);
    assert!(
        shown.starts_with("1\n2\n3\n") && shown.contains("\n50000\n"),
        "{result}"
    );
    assert!(
        shown.contains("Full output saved to: tool-output/tool_"),
        "{result}"
    );
    assert!(result.get("structuredContent").is_none());
    assert_eq!(sandbox.spill(), seq(50_000).as_bytes());

    let uri = link(&result);
    let listed = peer.ask("resources/list", &json!({}));
    let resource = &listed["result"]["resources"][0];
    assert_eq!(
        (&resource["uri"], &resource["size"]),
        (&json!(uri), &json!(seq(50_000).len()))
    );
    let templates = peer.ask("resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "overspill://spill/{id}{?offset,limit,column}");
    let mut read = |query: &str| {
        let answer = peer.ask("resources/read", &json!({ "uri": format!("{uri}{query}") }));
        answer["result"]["contents"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    };
    assert_eq!(
        read("?offset=40000&limit=3").trim_end(),
        "40000\n40001\n40002"
    );
    let page = read("");
    assert!(page.starts_with("1\n2\n") && page.len() < 60_000);
}

#[test]
fn a_cut_result_of_a_command_that_fails_says_how() {
    let sandbox = Sandbox::new();
    let mut peer = server(&sandbox, &RUN, "test");
    let result = peer.call("Run", &json!({ "command": "seq 1 50000; exit 7" }));
    assert_eq!(result["isError"], true);
    let shown = text(&result);
    assert!(
        shown.contains("\n1\n2\n3\n") && shown.contains('7'),
        "{shown}"
    );
    assert!(
        shown.lines().next().unwrap().contains('7'),
        "the code comes first: {shown}"
    );
    link(&result);
}

#[test]
fn addresses_lead_to_spills_only() {
    let sandbox = Sandbox::new();
    sandbox.write("file.txt", "secret\n");
    let mut peer = server(&sandbox, &RUN, "test");
    let uri = link(&peer.call("Run", &json!({ "command": "seq 1 50000" })));
    for uri in [
        "overspill://spill/../../etc/passwd",
        "overspill://spill/%2e%2e/%2e%2e/etc/passwd",
        "overspill://spill//etc/passwd",
        "overspill://spill/file.txt",
        "overspill://spill/file%2etxt",
        "overspill://spill/..",
        "overspill://spill/",
        "overspill://spill/nosuchid",
        "overspill://other/x",
        "file:///etc/passwd",
        "",
        &format!("{uri}?path=1"),
        &format!("{uri}?offset=x"),
        &format!("{uri}?offset=0x10"),
        &format!("{uri}/../x"),
    ] {
        let answer = peer.ask("resources/read", &json!({ "uri": uri }));
        assert!(answer["error"]["code"].is_i64(), "{uri}: {answer}");
        assert!(!answer.to_string().contains("root:") && !answer.to_string().contains("secret"));
    }
}

#[test]
fn a_long_call_tells_its_progress() {
    let sandbox = Sandbox::new();
    let mut peer = server(&sandbox, &RUN, "test");
    let answer = peer.ask("tools/call", &json!({
        "name": "Run", "arguments": { "command": "sleep 2.5; echo done" }, "_meta": { "progressToken": "mine" }
    }));
    assert!(text(&answer["result"]).contains("done"));
    let told: Vec<&Value> = peer
        .others
        .iter()
        .filter(|other| other["method"] == "notifications/progress")
        .map(|other| &other["params"])
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|params| params["progressToken"] == "mine"));
    assert!(told[0]["progress"].as_f64() < told[1]["progress"].as_f64());
}

#[test]
fn cancelling_stops_the_command() {
    let sandbox = Sandbox::new();
    let mut peer = server(&sandbox, &RUN, "test");
    let command = "echo $$ > pid; sleep 300; echo never";
    let id = peer.request(
        "tools/call",
        &json!({ "name": "Run", "arguments": { "command": command } }),
    );
    let process = process(&sandbox);
    peer.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    until("the end of the command", || (!runs(process)).then_some(()));
    // The server goes on.
    assert!(text(&peer.call("Run", &json!({ "command": "echo on" }))).contains("on"));
}

#[test]
fn a_command_ends_with_its_server() {
    for by_signal in [false, true] {
        let sandbox = Sandbox::new();
        let mut peer = server(&sandbox, &RUN, "test");
        let command = json!({ "command": "echo $$ > pid; sleep 300" });
        peer.request(
            "tools/call",
            &json!({ "name": "Run", "arguments": command }),
        );
        let process = process(&sandbox);
        if by_signal {
            kill_process(pid(&peer.child), Signal::TERM).unwrap();
            assert_eq!(peer.code(), 0);
        } else {
            assert_eq!(peer.finish().1, 0);
        }
        until("the end of the command", || (!runs(process)).then_some(()));
    }
}

/// The process that wrote its number to the file `pid`.
fn process(sandbox: &Sandbox) -> u32 {
    until("the process", || {
        let text = fs::read_to_string(sandbox.root().join("pid")).ok()?;
        text.trim().parse().ok()
    })
}

#[test]
fn results_stay_below_the_cut_of_each_client() {
    let sandbox = Sandbox::new();
    let line = "a line of some length, so that bytes and not lines are too many: é\n";
    sandbox.write("wide.txt", line.repeat(5_000));
    sandbox.write("many.txt", seq(50_000));
    for (client, most_chars, most_lines) in [
        ("claude-code", 50_000, usize::MAX),
        ("codex-mcp-client", 10_000, usize::MAX),
        ("gemini-cli-mcp-client", 40_000, usize::MAX),
        ("opencode", 50 * 1024, 2_000),
    ] {
        let mut peer = server(&sandbox, &RUN, client);
        for (tool, arguments) in [
            ("Run", json!({ "command": "cat wide.txt" })),
            ("Run", json!({ "command": "cat many.txt" })),
            ("Run", json!({ "command": "cat wide.txt; exit 3" })),
            ("Read", json!({ "path": "wide.txt" })),
            ("Read", json!({ "path": "many.txt", "limit": 100_000 })),
            ("Grep", json!({ "pattern": "line", "limit": 5_000 })),
        ] {
            let result = peer.call(tool, &arguments);
            let bytes = text(&result).len();
            let lines = text(&result).lines().count();
            assert!(
                bytes < most_chars && lines < most_lines,
                "{client} {tool}: {bytes} {lines}"
            );
            assert!(
                bytes > most_chars / 7 || lines > 1_500,
                "{client} {tool}: the room is used: {bytes}"
            );
        }
    }
}

#[test]
fn a_limit_of_the_user_wins_over_that_of_the_client() {
    let sandbox = Sandbox::new();
    let line = "a line of some length, so that bytes and not lines are too many\n";
    sandbox.write("wide.txt", line.repeat(5_000));
    let flags = [
        "--max-bytes",
        "90000",
        "--max-lines",
        "off",
        "mcp",
        "--allow-run",
    ];
    for client in ["claude-code", "codex-mcp-client"] {
        let mut peer = server(&sandbox, &flags, client);
        let result = peer.call("Run", &json!({ "command": "cat wide.txt" }));
        let bytes = text(&result).len();
        assert!((80_000..92_000).contains(&bytes), "{client}: {bytes}");
        let asked = &tools(&mut peer)[0]["_meta"]["anthropic/maxResultSizeChars"];
        assert_eq!(asked.is_u64(), client == "claude-code", "{client}: {asked}");
    }
}

#[test]
fn over_http() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "here it is\n");
    let web = Web::new(sandbox.command(&["mcp", "--http", "127.0.0.1:0"]));
    let session = web.session(&[]);
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "Read", "arguments": { "path": "a.txt" } }
    });
    assert!(text(&web.ask(&[&session], &call)["result"]).contains("here it is"));
    assert!(
        text(&web.ask(&[&session, "Origin: http://localhost:3000"], &call)["result"])
            .contains("here it is")
    );

    for origin in [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
        "http://127.0.0.1.evil.example",
    ] {
        let (status, _, body) = web.post("/mcp", &[&session, &format!("Origin: {origin}")], &call);
        assert_eq!(status, 403, "{origin}: {body}");
        assert!(!body.contains("here it is"));
    }
    for path in ["/", "/mcp2", "/mcp/../etc"] {
        assert_eq!(web.post(path, &[&session], &call).0, 404, "{path}");
    }

    let mut params = call["params"].clone();
    params["_meta"] = stateless("test");
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params });
    let headers = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: Read",
    ];
    assert!(text(&web.ask(&headers, &call)["result"]).contains("here it is"));
}

#[test]
fn a_token_is_asked_for_where_others_can_call() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["mcp", "--http", "0.0.0.0:0"]);
    assert_eq!(output.code, 2);
    assert!(
        output.complaint().contains("OVERSPILL_MCP_TOKEN"),
        "{output:?}"
    );

    let mut command = sandbox.command(&["mcp", "--http", "127.0.0.1:0"]);
    command.env("OVERSPILL_MCP_TOKEN", "s3cret");
    let web = Web::new(command);
    for header in [
        None,
        Some("Authorization: Bearer wrong1"),
        Some("Authorization: Bearer s3cre"),
        Some("Authorization: s3cret"),
    ] {
        let headers: Vec<&str> = header.into_iter().collect();
        let (status, head, _) = web.post(
            "/mcp",
            &headers,
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        );
        assert_eq!(status, 401, "{header:?}");
        assert!(head.contains("www-authenticate: bearer"));
    }
    web.session(&["Authorization: Bearer s3cret"]);
}

#[test]
fn whatever_is_no_request_is_answered() {
    let sandbox = Sandbox::new();
    let mut peer = Peer::new(sandbox.command(&["mcp"]));
    peer.initialize("2025-06-18", "test");
    let huge = format!(
        r#"{{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{{"name":"LS","arguments":{{"path":"{}"}}}}}}"#,
        "x".repeat(20 << 20)
    );
    let wrong = [
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":"x"}"#,
            json!("a"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":5}}"#,
            json!("b"),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"c","method":"resources/read"}"#,
            json!("c"),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"d","method":"no/such"}"#,
            json!("d"),
            -32601,
        ),
        (r#"{"jsonrpc":"2.0","id":"e"}"#, json!("e"), -32600),
        (r#"{"id":"f","method":"ping"}"#, json!("f"), -32600),
        ("{ this is no JSON", Value::Null, -32700),
        (huge.as_str(), json!("huge"), -32600),
    ];
    for (line, id, code) in wrong {
        peer.say(line);
        let answer: Value = serde_json::from_str(&peer.line()).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{answer}"
        );
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(peer.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(peer.finish().1, 0);
}
