//! `overspill proxy` before a server of our own, which says what a test tells it to.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::peer::{Peer, runs, text};
use crate::support::{Mount, PROGRAM, Sandbox, pid, seq, until};

/// The server; `cargo test` builds it with the tests.
fn fixture() -> String {
    let path = Path::new(PROGRAM)
        .with_file_name("examples")
        .join("mcp_fixture");
    assert!(
        path.exists(),
        "not built: cargo build --package overspill-cli --example mcp_fixture"
    );
    path.to_string_lossy().into_owned()
}

/// The proxy with flags, before the server with arguments.
pub(crate) fn command(sandbox: &Sandbox, flags: &[&str], arguments: &[&str]) -> Command {
    let fixture = fixture();
    sandbox.command(
        &[
            flags,
            &["proxy", "--name", "fix", "--", &fixture],
            arguments,
        ]
        .concat(),
    )
}

fn proxied(sandbox: &Sandbox, flags: &[&str]) -> Peer {
    Peer::new(command(sandbox, flags, &[]))
}

/// A line that answers with a result.
fn line(result: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{result}}}")
}

fn texts(texts: &[&str]) -> Value {
    let blocks: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }))
        .collect();
    json!({ "content": blocks })
}

/// Has the server answer a call with a result, and returns what the client gets of it.
#[track_caller]
pub(crate) fn relayed(peer: &mut Peer, tool: &str, result: &Value) -> Value {
    peer.call(tool, &json!({ "raw": line(result) }))
}

/// Panics unless a result was cut to `lines` lines of text and a notice, with the spill as `whole`.
#[track_caller]
fn assert_cut(sandbox: &Sandbox, result: &Value, lines: usize, whole: &str) {
    let shown = text(result);
    let kept = shown
        .split("\n\nThe tool call")
        .next()
        .unwrap()
        .lines()
        .count();
    assert!(shown.contains("Full output saved to: "), "{shown}");
    assert!(kept <= lines + 3, "{kept} lines: {shown}");
    let spills = sandbox.spills();
    let spill = fs::read_to_string(spills.last().expect("a spill")).unwrap();
    assert!(
        spill == whole,
        "the spill: {:?}",
        &spill[..spill.len().min(300)]
    );
    let blocks = result["content"].as_array().unwrap();
    let links: Vec<&Value> = blocks
        .iter()
        .filter(|block| block["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 1, "{result}");
    assert_eq!(links[0]["size"], whole.len());
}

/// What the server says to these lines, asked by itself and through the proxy.
fn both_ways(lines: &[String]) -> (Vec<String>, Vec<String>) {
    let sandbox = Sandbox::new();
    let answers = |command: Command| {
        let mut peer = Peer::new(command);
        for line in lines {
            peer.say(line);
        }
        let (said, code) = peer.finish();
        assert_eq!(code, 0);
        said
    };
    (
        answers(Command::new(fixture())),
        answers(command(&sandbox, &[], &[])),
    )
}

/// A call whose answer is `raw`, with an id as it is written.
fn call(id: &str, raw: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"x\",\"arguments\":{{\"raw\":{}}}}}}}",
        json!(raw)
    )
}

#[test]
fn what_is_within_its_limits_passes_byte_for_byte() {
    let raws = [
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"small"}]}}"#,
        r#"  { "result" : {"content":[ {"text":"\u00e9\ud83d\ude00\/ \ud83d" ,"type":"text"} ] , "x":1.0e5,"big":123456789012345678901234567890,"neg":-0.0 } ,"id" : $ID ,	"jsonrpc":"2.0" }  "#,
        r#"{"id":$ID,"jsonrpc":"2.0","result":{"content":[{"type":"resource","resource":{"uri":"a:b","text":"in it"}}],"isError":true}}"#,
        r#"{"id":$ID,"result":{"structuredContent":{"a":1.0,"a":2},"content":[{"type":"text","text":"{\"a\":1.0}"}]},"extra":[]}"#,
        r#"{"id":$ID,"result":{"structuredContent":{"alone":true}}}"#,
        r#"{"id":$ID,"result":{"content":[]}}"#,
        r#"{"id":$ID,"result":{"content":[{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"audio","data":"QUJD","mimeType":"audio/wav"}]}}"#,
        r#"{"id":$ID,"result":{}}"#,
        r#"{"id":$ID,"result":null}"#,
        r#"{"id":$ID,"error":{"code":-32000,"message":"no","data":1.50}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}"#,
        r#"{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"maxTokens":1E2}}"#,
        "{\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"中文 é\"}]}}\r",
        r#"{"id":"nobody asked","result":{"content":[{"type":"text","text":"x"}]}}"#,
    ];
    let ids = [
        "1",
        "\"a string\"",
        "\"\\u0061\"",
        "9007199254740993",
        "-5",
        "\"1\"",
    ];
    let mut lines: Vec<String> = Vec::new();
    for (at, raw) in raws.iter().enumerate() {
        lines.push(call(ids[at % ids.len()], raw));
    }
    lines.extend([
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
        r#" { "id" : "e" , "method":"tools/call" , "params":{"name":"echo","arguments":{"n":1.0e5,"b":12345678901234567890123,"s":"\u00e9\ud83d\ude00"}}, "jsonrpc":"2.0"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":77,"result":{"role":"assistant","content":{"type":"text","text":"1.0"},"n":1.0}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"zz","reason":"\u0041"}}"#.to_owned(),
        "this is no JSON".to_owned(),
    ]);
    let (direct, proxied) = both_ways(&lines);
    assert_eq!(direct.len(), lines.len());
    assert_eq!(direct, proxied);
}

#[test]
fn a_batch_is_bounded_in_each_of_its_answers() {
    let small = r#"{ "id":$ID,"result":{"content":[{"type":"text","text":"small"}],"n":1.0} }"#;
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "5"]);
    let big = line(&texts(&[&seq(100)]));
    peer.say(format!("[{}, {}]", call("1", small), call("2", &big)));
    let said = peer.line();
    assert!(
        said.starts_with(&format!("[{} , {{", small.replace("$ID", "1"))),
        "{said}"
    );
    let batch: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(batch[1]["id"], 2);
    assert_cut(&sandbox, &batch[1]["result"], 5, &seq(100));
}

#[test]
fn a_long_result_is_cut_and_all_of_it_saved() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let result = relayed(&mut peer, "big", &texts(&[&seq(50_000)]));
    assert_cut(&sandbox, &result, 2_000, &seq(50_000));
    let shown = text(&result);
    assert!(
        shown.starts_with("1\n2\n3\n") && shown.contains("\n50000\n"),
        "both ends"
    );
    assert!(
        shown.contains("overspill_grep") && shown.contains("overspill_read"),
        "{shown}"
    );
}

#[test]
fn all_text_of_a_result_is_bounded_together() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let image = json!({ "type": "image", "data": "QUJD", "mimeType": "image/png" });
    let result = relayed(
        &mut peer,
        "many",
        &json!({
            "_meta": { "kept": 1 },
            "content": [
                image,
                { "type": "text", "text": seq(8) },
                { "type": "resource", "resource": { "uri": "a:b", "text": "in a resource" } },
                { "type": "text", "text": seq(7), "annotations": { "audience": ["user"] } },
            ],
            "isError": true
        }),
    );
    let whole = format!("{}in a resource\n{}", seq(8), seq(7));
    assert_cut(&sandbox, &result, 10, &whole);
    assert_eq!(result["content"][0], image);
    assert_eq!(
        (&result["isError"], &result["_meta"]),
        (&json!(true), &json!({ "kept": 1 }))
    );
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 3, "image, text, link: {result}");
}

#[test]
fn structured_content_is_bounded_too() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-bytes", "3000"]);
    let items: Vec<Value> = (0..2_000).map(|n| json!({ "n": n })).collect();
    let data = json!({ "items": items });

    let same = json!({ "content": [{ "type": "text", "text": data.to_string() }], "structuredContent": data });
    let result = relayed(&mut peer, "same", &same);
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert_cut(&sandbox, &result, 2_000, &data.to_string());

    let more =
        json!({ "structuredContent": data, "content": [{ "type": "text", "text": "2000 items" }] });
    let result = relayed(&mut peer, "more", &more);
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert_cut(&sandbox, &result, 2_000, &format!("2000 items\n{data}"));
    assert!(text(&result).starts_with("2000 items"), "{result}");

    let result = relayed(
        &mut peer,
        "alone",
        &json!({ "structuredContent": data, "_meta": {} }),
    );
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert_cut(&sandbox, &result, 2_000, &data.to_string());
    assert!(result.to_string().len() < 5_000);
}

#[test]
fn a_large_image_is_saved() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let data = "QUJD".repeat(1_500_000);
    let image = |data: &str| json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] });
    let result = relayed(&mut peer, "image", &image(&data));
    let shown = text(&result);
    assert!(
        shown.starts_with("image/png, 6000002 bytes")
            || shown.starts_with("image/png, 6000000 bytes"),
        "{shown}"
    );
    assert!(sandbox.spill() == data.as_bytes());
    let (direct, proxied) = both_ways(&[call("1", &line(&image(&data[..3_000_000])))]);
    assert!(direct == proxied, "3 MB pass");
}

#[test]
fn resources_are_bounded() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let raw = line(
        &json!({ "contents": [{ "uri": "a:b", "mimeType": "text/plain", "text": seq(1_000) }] }),
    );
    let answer = peer.ask("resources/read", &json!({ "uri": "a:b", "raw": raw }));
    let contents = &answer["result"]["contents"];
    assert_eq!(
        (&contents[0]["uri"], contents.as_array().unwrap().len()),
        (&json!("a:b"), 1)
    );
    let shown = contents[0]["text"].as_str().unwrap();
    assert!(
        shown.lines().count() < 20 && shown.contains("Full output saved to:"),
        "{shown}"
    );
    assert_eq!(sandbox.spill(), seq(1_000).as_bytes());
}

#[test]
fn results_of_tasks_are_bounded_as_their_tool() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "overspill.yaml",
        "tools:\n  mcp__fix__slow:\n    max_lines: 7\n",
    );
    let mut peer = proxied(&sandbox, &[]);
    let task = |id: &str| line(&json!({ "task": { "taskId": id, "status": "working" } }));
    let started = peer.call("slow", &json!({ "raw": task("t1") }));
    assert_eq!(started["task"]["status"], "working");
    let answer = peer.ask(
        "tasks/result",
        &json!({ "taskId": "t1", "raw": line(&texts(&[&seq(300)])) }),
    );
    assert_cut(&sandbox, &answer["result"], 7, &seq(300));

    let created = line(&json!({ "resultType": "task", "taskId": "t2", "status": "working" }));
    peer.call("slow", &json!({ "raw": created }));
    let done = json!({ "resultType": "complete", "taskId": "t2", "status": "completed", "result": texts(&[&seq(400)]) });
    let answer = peer.ask("tasks/get", &json!({ "taskId": "t2", "raw": line(&done) }));
    assert_eq!(answer["result"]["status"], "completed");
    assert_cut(&sandbox, &answer["result"]["result"], 7, &seq(400));
}

#[test]
fn limits_are_those_of_the_tool() {
    let sandbox = Sandbox::new();
    let file = "tools:\n  mcp__fix__*:\n    max_lines: 5\n  mcp__fix__wide:\n    max_lines: 50\n  mcp__other__*:\n    max_lines: 1\n";
    sandbox.write("overspill.yaml", file);
    let mut peer = proxied(&sandbox, &[]);
    assert_cut(
        &sandbox,
        &relayed(&mut peer, "any", &texts(&[&seq(40)])),
        5,
        &seq(40),
    );
    assert_eq!(
        relayed(&mut peer, "wide", &texts(&[&seq(40)])),
        texts(&[&seq(40)])
    );
}

#[test]
fn results_stay_below_the_cut_of_each_client() {
    let line = "a line of some length, so that bytes and not lines are too many\n";
    for (client, most_bytes, most_lines) in [
        ("claude-code", 50_000, usize::MAX),
        ("codex-mcp-client", 10_000, usize::MAX),
        ("gemini-cli-mcp-client", 40_000, usize::MAX),
        ("opencode", 50 * 1024, 2_000),
    ] {
        let sandbox = Sandbox::new();
        let mut peer = proxied(&sandbox, &[]);
        peer.initialize("2025-06-18", client);
        for whole in [line.repeat(5_000), seq(100_000), "x".repeat(300_000)] {
            let result = relayed(&mut peer, "big", &texts(&[&whole]));
            let (bytes, lines) = (text(&result).len(), text(&result).lines().count());
            assert!(
                bytes < most_bytes && lines < most_lines,
                "{client}: {bytes} {lines}"
            );
            assert!(
                bytes > most_bytes / 6 || lines > 1_500,
                "{client}: the room is used: {bytes}"
            );
        }
    }
}

#[test]
fn the_list_of_tools_has_ours_and_no_schema_of_output() {
    let sandbox = Sandbox::new();
    let mut direct = Peer::new(Command::new(fixture()));
    direct.request("tools/list", &json!({}));
    let direct = direct.line();
    let bare = direct
        .replace(
            r#","outputSchema":{"type":"object","properties":{"n":{"type":"number"}}}"#,
            "",
        )
        .replace(r#""outputSchema":{"type":"object"},"#, "");
    assert!(!bare.contains("outputSchema") && bare.len() < direct.len());

    let fixture = fixture();
    let mut peer = Peer::new(sandbox.command(&["proxy", "--no-tools", "--", &fixture]));
    peer.request("tools/list", &json!({}));
    assert_eq!(peer.line(), bare);
    let answer = peer.ask("tools/call", &json!({ "name": "overspill_read", "arguments": { "raw": line(&texts(&["the server's"])) } }));
    assert_eq!(text(&answer["result"]), "the server's");

    let mut peer = proxied(&sandbox, &[]);
    let listed = peer.ask("tools/list", &json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["big", "small", "plain", "overspill_read", "overspill_grep"]
    );
    let page = line(&json!({ "tools": [], "nextCursor": "more" }));
    let answer = peer.ask("tools/list", &json!({ "raw": page }));
    assert_eq!(
        answer["result"]["tools"],
        json!([]),
        "only on the last page"
    );
}

#[test]
fn a_limit_of_the_user_wins_over_that_of_the_client() {
    let whole = "a line of some length, so that bytes and not lines are too many\n".repeat(5_000);
    for client in ["claude-code", "codex-mcp-client"] {
        let sandbox = Sandbox::new();
        let mut peer = proxied(&sandbox, &["--max-bytes", "90000", "--max-lines", "off"]);
        peer.initialize("2025-11-25", client);
        let bytes = text(&relayed(&mut peer, "big", &texts(&[&whole]))).len();
        assert!((80_000..92_000).contains(&bytes), "{client}: {bytes}");
        let listed = peer.ask("tools/list", &json!({}));
        let asked = &listed["result"]["tools"][0]["_meta"]["anthropic/maxResultSizeChars"];
        assert_eq!(
            asked.is_u64(),
            client == "claude-code",
            "{client}: {listed}"
        );
    }
}

#[test]
fn what_was_cut_can_be_read_and_searched() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let whole: String = (1..=5_000).map(|n| format!("line {n} of it\n")).collect();
    let result = relayed(&mut peer, "big", &texts(&[&whole]));
    let path = sandbox.spills()[0].to_string_lossy().into_owned();
    assert!(text(&result).contains(&path), "{result}");
    let id = result["content"][1]["name"].as_str().unwrap().to_owned();
    for id in [&id, &path] {
        let read = peer.call(
            "overspill_read",
            &json!({ "id": id, "offset": 4_000, "limit": 2 }),
        );
        assert!(
            text(&read).contains("line 4000 of it\nline 4001 of it"),
            "{read}"
        );
        assert!(
            !text(&read).contains("line 4002") && read["isError"] == false,
            "{read}"
        );
        let found = peer.call(
            "overspill_grep",
            &json!({ "id": id, "pattern": "line 2999 " }),
        );
        assert!(text(&found).contains("2999: line 2999 of it"), "{found}");
    }
    let link = peer.ask(
        "resources/read",
        &json!({ "uri": format!("overspill://spill/{id}?offset=7&limit=1") }),
    );
    assert_eq!(
        link["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .trim_end(),
        "line 7 of it"
    );
}

#[test]
fn our_tools_read_nothing_but_spills() {
    let sandbox = Sandbox::new();
    let secret = sandbox
        .write("secret.txt", "secret\n")
        .to_string_lossy()
        .into_owned();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    relayed(&mut peer, "big", &texts(&[&seq(100)]));
    let beside = sandbox
        .store()
        .join("../secret.txt")
        .to_string_lossy()
        .into_owned();
    for id in [
        "/etc/passwd",
        "secret.txt",
        &secret,
        &beside,
        "../secret.txt",
        "",
        ".",
        "none",
    ] {
        for tool in ["overspill_read", "overspill_grep"] {
            let result = peer.call(tool, &json!({ "id": id, "pattern": "r" }));
            assert_eq!(result["isError"], true, "{id}: {result}");
            assert!(!result.to_string().contains("root:"), "{id}: {result}");
        }
        let result = peer.call("overspill_read", &json!({ "id": id }));
        assert!(
            result["isError"] == true && !text(&result).starts_with("secret\n"),
            "{id}: {result}"
        );
    }
    let result = peer.call("overspill_read", &json!({ "path": secret }));
    assert_eq!(result["isError"], true);
    let id = sandbox.spills()[0].to_string_lossy().into_owned();
    let result = peer.call(
        "overspill_grep",
        &json!({ "id": id, "pattern": "secret", "path": secret }),
    );
    assert!(!text(&result).contains("secret.txt:1"), "{result}");
}

#[test]
fn the_server_may_ask_the_client() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"n":1.0}}"#;
    // The ids of the two sides have nothing to do with each other.
    let waiting = peer.request("tools/call", &json!({ "name": "hang" }));
    assert_eq!(waiting, 1);
    peer.say(call("2", ask));
    assert_eq!(peer.line(), ask);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":{"type":"text","text":"1.0"}}}"#;
    peer.say(answer);
    let heard: Value = serde_json::from_str(&peer.line()).unwrap();
    assert_eq!(heard["params"]["line"], answer);
    // The first call still waits, and is answered when the server goes.
    let gone = peer.request(
        "tools/call",
        &json!({ "name": "die", "arguments": { "code": 0 } }),
    );
    assert_eq!(peer.answer(waiting)["error"]["code"], -32000);
    assert_eq!(peer.answer(gone)["error"]["code"], -32000);
}

#[test]
fn an_id_may_come_back_in_another_spelling() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "5"]);
    let raw = line(&texts(&[&seq(100)])).replace("$ID", r#""caf\u00e9\/\u0031""#);
    peer.say(call("\"café/1\"", &raw));
    let answer: Value = serde_json::from_str(&peer.line()).unwrap();
    assert_eq!(answer["id"], "café/1");
    assert_cut(&sandbox, &answer["result"], 5, &seq(100));
    assert_eq!(peer.finish(), (Vec::new(), 0), "it is answered once");
}

#[test]
fn a_call_that_is_cancelled_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let mut peer = Peer::new(command(&sandbox, &["--max-lines", "5"], &["--stay"]));
    let [late, never] = [5, 6];
    for id in [late, never] {
        peer.say(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "hang" } }));
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        peer.say(&cancelled);
        let heard: Value = serde_json::from_str(&peer.line()).unwrap();
        assert_eq!(heard["params"]["line"], cancelled.to_string());
    }
    // An answer that was under way is bounded all the same.
    peer.say(call("7", &line(&texts(&[&seq(100)])).replace("$ID", "5")));
    let answer: Value = serde_json::from_str(&peer.line()).unwrap();
    assert_cut(&sandbox, &answer["result"], 5, &seq(100));
    peer.say(call("7", &line(&texts(&["done"]))));
    assert!(peer.line().contains("done"));
    let start = Instant::now();
    assert_eq!(peer.finish(), (Vec::new(), 0));
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_flood_of_notifications_passes() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let flood: String = (0..20_000)
        .map(|n| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"n\":{n}}}}}\n"))
        .collect();
    let result = peer.call("x", &json!({ "raw": flood + &line(&texts(&["after it"])) }));
    assert_eq!(text(&result), "after it");
    assert!(
        peer.others
            .iter()
            .enumerate()
            .all(|(n, other)| other["params"]["n"] == n)
    );
    assert_eq!(peer.others.len(), 20_000);
}

#[test]
fn concurrent_calls_are_not_lost_or_crossed() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let ids: Vec<u64> = (0..300)
        .map(|_| {
            peer.request(
                "tools/call",
                &json!({ "name": "gather", "arguments": { "of": 300 } }),
            )
        })
        .collect();
    for id in ids.into_iter().rev() {
        let result = peer.answer(id)["result"].clone();
        assert!(
            text(&result).starts_with(&format!("answer {id}\n")),
            "{id}: {result}"
        );
        assert_eq!(
            text(&result).contains("Full output saved"),
            id % 2 == 1,
            "{id}: {result}"
        );
    }
    assert_eq!(sandbox.spills().len(), 150);
    assert!(peer.others.is_empty());
}

#[test]
fn a_huge_result_in_bounded_memory() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let result = peer.call("huge", &json!({ "bytes": 30_000_000 }));
    assert!(result["content"].to_string().len() < 60_000);
    let status = fs::read_to_string(format!("/proc/{}/status", peer.child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 * 1024, "{kib} KiB");
    let one = "0123456789 abcdefghijklmnopqrstuvwxyz é\n";
    let count = 30_000_000 / (one.len() + 5);
    assert!(
        sandbox.spill() == one.repeat(count).as_bytes(),
        "the spill is complete"
    );
}

#[test]
fn a_message_that_cannot_be_held_is_an_error_and_no_silence() {
    let sandbox = Sandbox::new();
    let mut command = command(&sandbox, &[], &[]);
    command.env("TMPDIR", sandbox.outside().join("none"));
    let mut peer = Peer::new(command);
    let answer = peer.ask(
        "tools/call",
        &json!({ "name": "huge", "arguments": { "bytes": 3_000_000 } }),
    );
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be passed on"),
        "{answer}"
    );
    assert_eq!(text(&relayed(&mut peer, "x", &texts(&["small"]))), "small");
}

#[test]
fn a_server_that_dies_is_an_answer_and_an_exit_code() {
    let sandbox = Sandbox::new();
    for first in ["", "{\"jsonrpc\":\"2.0\",\"id\":2,\"resu", "{\"half\":"] {
        let mut peer = proxied(&sandbox, &[]);
        let waiting = peer.request("tools/call", &json!({ "name": "hang" }));
        let dies = peer.request(
            "tools/call",
            &json!({ "name": "die", "arguments": { "code": 3, "first": first } }),
        );
        for id in [waiting, dies] {
            let answer = peer.answer(id);
            // Half an answer tells whose it was to be.
            let is_half = id == dies && first.contains("\"id\"");
            let (code, cause) = match is_half {
                true => (-32603, "not a message"),
                false => (-32000, "exited with code 3"),
            };
            assert_eq!(answer["error"]["code"], code, "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(
                message.contains(cause) && message.contains("'fix'"),
                "{message}"
            );
        }
        assert_eq!(peer.code(), 3);
        assert_eq!(
            peer.stderr().contains("no message"),
            !first.is_empty(),
            "{}",
            peer.stderr()
        );
    }
}

#[test]
fn a_log_line_on_stdout_is_reported_and_not_passed() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let raw = format!(
        "INFO: up and running\n\n{{\"level\":\"info\"}}\n{}",
        line(&texts(&["the answer"]))
    );
    assert_eq!(text(&peer.call("x", &json!({ "raw": raw }))), "the answer");
    assert!(peer.others.is_empty(), "{:?}", peer.others);
    until("the report", || {
        let said = peer.stderr();
        (said.contains("`fix` printed a line that is no message: INFO: up and running")
            && said.contains("{\"level\":\"info\"}"))
        .then_some(())
    });
}

/// The server's process and one that it started.
fn pids(peer: &mut Peer) -> Vec<u32> {
    numbers(&text(&peer.call("pids", &json!({}))))
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(' ')
        .map(|number| number.parse().unwrap())
        .collect()
}

#[test]
fn nothing_is_left_when_the_client_goes() {
    for arguments in [&["--stay"][..], &[]] {
        let sandbox = Sandbox::new();
        let mut peer = Peer::new(command(&sandbox, &[], arguments));
        let pids = pids(&mut peer);
        let start = Instant::now();
        assert_eq!(peer.finish().1, 0);
        until("the end of them", || {
            pids.iter().all(|pid| !runs(*pid)).then_some(())
        });
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{arguments:?}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn nothing_is_left_when_the_client_dies() {
    let sandbox = Sandbox::new();
    let mut child = command(&sandbox, &[], &["--stay"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for tool in ["pids", "hang"] {
        let call = json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": { "name": tool } });
        writeln!(stdin, "{call}").unwrap();
    }
    let mut lines = BufReader::new(stdout).lines();
    let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let pids = numbers(&text(&answer["result"]));
    let start = Instant::now();
    // A request still waits, and nobody will hear the answer.
    drop((stdin, lines));
    until("the end of the proxy", || child.try_wait().unwrap());
    until("the end of them", || {
        pids.iter().all(|pid| !runs(*pid)).then_some(())
    });
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn nothing_is_left_after_a_signal() {
    let sandbox = Sandbox::new();
    let mut peer = Peer::new(command(&sandbox, &[], &["--stay"]));
    let pids = pids(&mut peer);
    kill_process(pid(&peer.child), Signal::TERM).unwrap();
    peer.code();
    until("the end of them", || {
        pids.iter().all(|pid| !runs(*pid)).then_some(())
    });
}

#[test]
fn nothing_is_left_when_the_server_goes() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let pids = pids(&mut peer);
    peer.ask(
        "tools/call",
        &json!({ "name": "die", "arguments": { "code": 4 } }),
    );
    assert_eq!(peer.code(), 4);
    until("the end of them", || {
        pids.iter().all(|pid| !runs(*pid)).then_some(())
    });
}

#[test]
fn a_call_that_is_under_way_is_answered_after_the_input_ends() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    peer.say(call("5", &line(&texts(&["late"]))));
    let (said, code) = peer.finish();
    assert_eq!(code, 0);
    assert_eq!(said, [line(&texts(&["late"])).replace("$ID", "5")]);
}

#[test]
fn a_store_that_cannot_be_written_is_told_and_the_result_still_bounded() {
    let sandbox = Sandbox::new();
    sandbox.write("tool-output", "in the way");
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let result = relayed(&mut peer, "big", &texts(&[&seq(5_000)]));
    let shown = text(&result);
    assert!(
        shown.lines().count() < 20 && shown.contains("not saved"),
        "{shown}"
    );
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "no link");
}

#[test]
fn a_full_disk_is_told_and_the_result_still_bounded() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.store()).unwrap();
    let Some(_mount) = Mount::tmpfs(&sandbox.store(), "size=64k") else {
        return;
    };
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let result = relayed(&mut peer, "big", &texts(&[&seq(50_000)]));
    let shown = text(&result);
    assert!(
        shown.lines().count() < 20 && shown.contains("no space left"),
        "{shown}"
    );
    assert_eq!(text(&relayed(&mut peer, "x", &texts(&["small"]))), "small");
}

#[test]
fn a_line_that_tells_of_a_message_is_none() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &[]);
    let answer = line(&texts(&["the answer"]));
    for log in [
        "DEBUG <- {\"id\":$ID,\"result\":{}}",
        "{\"level\":\"info\",\"request\":{\"id\":$ID}}",
        "{\"error\":\"invalid_token\"}",
    ] {
        let result = peer.call("x", &json!({ "raw": format!("{log}\n{answer}") }));
        assert_eq!(text(&result), "the answer", "{log}");
    }
    let (rest, code) = peer.finish();
    assert_eq!((rest, code), (Vec::new(), 0));
}

#[test]
fn our_own_answers_come_after_the_input_ended() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "5"]);
    let long = (0..300_000)
        .map(|n| format!("{n} of many words\n"))
        .collect::<String>();
    let cut = relayed(&mut peer, "x", &texts(&[&long]));
    let id = cut["content"][1]["name"].clone();
    let search = json!({ "id": id, "pattern": "(?i)[a-z ]*29999[0-9] of .*words" });
    for _ in 0..3 {
        peer.request(
            "tools/call",
            &json!({ "name": "overspill_grep", "arguments": search }),
        );
    }
    let (said, code) = peer.finish();
    assert_eq!((said.len(), code), (3, 0), "{said:?}");
    assert!(
        said.iter()
            .all(|answer| answer.contains("Found 10 matches")),
        "{said:?}"
    );
}

#[test]
fn text_that_is_there_twice_is_saved_once() {
    let sandbox = Sandbox::new();
    let mut peer = proxied(&sandbox, &["--max-lines", "10"]);
    let long = seq(100);
    for data in [json!({ "content": long }), json!({ "result": long })] {
        let mut result = texts(&[&long]);
        result["structuredContent"] = data;
        assert_cut(&sandbox, &relayed(&mut peer, "x", &result), 10, &long);
        std::fs::remove_dir_all(sandbox.root().join("tool-output")).unwrap();
    }
}

#[test]
fn the_last_page_of_tools_has_ours() {
    let sandbox = Sandbox::new();
    for (cursor, has_ours) in [("null", true), ("\"\"", true), ("\"more\"", false)] {
        let mut peer = proxied(&sandbox, &[]);
        let raw = format!("{{\"id\":$ID,\"result\":{{\"tools\":[],\"nextCursor\":{cursor}}}}}");
        let listed = peer.ask("tools/list", &json!({ "arguments": { "raw": raw } }));
        assert_eq!(
            listed.to_string().contains("overspill_read"),
            has_ours,
            "{listed}"
        );
    }
}

#[test]
fn a_command_that_is_not_there() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["proxy", "--", "no-such-server", "--flag"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.complaint().contains("`no-such-server`"),
        "{output:?}"
    );
    let mut peer = Peer::new(sandbox.command(&["proxy", "--", "no-such-server"]));
    let answer = peer.ask("initialize", &json!({}));
    assert_eq!(
        answer["error"]["message"],
        "The MCP server 'no-such-server' cannot be started: No such file or directory (os error 2)."
    );
    assert_eq!(peer.code(), 2);
    assert_eq!(sandbox.run(&["proxy"]).code, 2);
    assert_eq!(sandbox.run(&["proxy", "--url", "ftp://x"]).code, 2);
}
