//! `overspill proxy` before a server at an address, also one that breaks off.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::peer::{Peer, Web, text};
use crate::support::{Sandbox, seq};

/// Our own server over HTTP, with a file of 1000 lines.
fn upstream(sandbox: &Sandbox) -> (Web, String) {
    sandbox.write("big.txt", seq(1_000));
    let web = Web::new(sandbox.command(&["mcp", "--http", "127.0.0.1:0"]));
    let url = format!("http://{}/mcp", web.address);
    (web, url)
}

#[test]
fn a_server_at_an_address() {
    let sandbox = Sandbox::new();
    let (_web, url) = upstream(&sandbox);
    let mut peer =
        Peer::new(sandbox.command(&["--max-lines", "10", "proxy", "--name", "web", "--url", &url]));
    let answer = peer.initialize("2025-06-18", "test");
    assert_eq!(answer["result"]["serverInfo"]["name"], "overspill");
    let listed = peer.ask("tools/list", &json!({})).to_string();
    assert!(
        listed.contains("\"Grep\"") && listed.contains("overspill_read"),
        "{listed}"
    );
    let small = peer.call("Read", &json!({ "path": "big.txt", "limit": 3 }));
    assert!(
        text(&small).contains("1\n2\n3") && !text(&small).contains("saved"),
        "{small}"
    );
    let ids: Vec<u64> = (0..20)
        .map(|_| {
            peer.request(
                "tools/call",
                &json!({ "name": "Read", "arguments": { "path": "big.txt" } }),
            )
        })
        .collect();
    for id in ids {
        let result = peer.answer(id)["result"].clone();
        assert!(
            text(&result).lines().count() < 20 && text(&result).contains("saved to"),
            "{result}"
        );
    }
    assert_eq!(peer.finish().1, 0);
}

#[test]
fn a_server_that_asks_for_a_token() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.command(&["mcp", "--http", "127.0.0.1:0"]);
    server.env("OVERSPILL_MCP_TOKEN", "s3cret");
    let web = Web::new(server);
    let url = format!("http://{}/mcp", web.address);
    let flags = ["proxy", "--url", &url];
    let answer = Peer::new(sandbox.command(&flags)).initialize("2025-06-18", "test");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("401") && !message.contains("s3cret"),
        "{answer}"
    );

    let header = ["--header", "Authorization: Bearer s3cret"];
    let mut peer = Peer::new(sandbox.command(&[&flags[..], &header].concat()));
    let answer = peer.initialize("2025-06-18", "test");
    assert_eq!(
        answer["result"]["serverInfo"]["name"], "overspill",
        "{answer}"
    );

    let output = sandbox.run(&[&flags[..], &["--http", "0.0.0.0:0"]].concat());
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.complaint().contains("OVERSPILL_MCP_TOKEN"));
}

#[test]
fn an_address_where_nobody_is() {
    let sandbox = Sandbox::new();
    let mut peer = Peer::new(sandbox.command(&["proxy", "--url", "http://127.0.0.1:1/mcp"]));
    let answer = peer.ask("initialize", &json!({}));
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be reached"),
        "{answer}"
    );
}

#[test]
fn a_gateway_from_http_to_http() {
    let sandbox = Sandbox::new();
    let (_web, url) = upstream(&sandbox);
    let arguments = [
        "--max-lines",
        "10",
        "proxy",
        "--url",
        &url,
        "--http",
        "127.0.0.1:0",
    ];
    let gateway = Web::new(sandbox.command(&arguments));
    let session = gateway.session(&[]);
    let ask = |method: &str, params: Value| {
        gateway.ask(
            &[&session],
            &json!({ "jsonrpc": "2.0", "id": 9, "method": method, "params": params }),
        )
    };
    let listed = ask("tools/list", json!({})).to_string();
    assert!(
        listed.contains("\"Grep\"") && listed.contains("overspill_grep"),
        "{listed}"
    );
    let result = ask(
        "tools/call",
        json!({ "name": "Read", "arguments": { "path": "big.txt" } }),
    )["result"]
        .clone();
    assert!(text(&result).lines().count() < 20, "{result}");
    let blocks = result["content"].as_array().unwrap();
    let id = blocks
        .iter()
        .find(|block| block["type"] == "resource_link")
        .expect("a link")["name"]
        .clone();
    let read = ask(
        "tools/call",
        json!({ "name": "overspill_grep", "arguments": { "id": id, "pattern": "^777$" } }),
    );
    assert!(text(&read["result"]).contains("777"), "{read}");
    let foreign = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(
        gateway
            .post(
                "/mcp",
                &[&session, "Origin: https://evil.example"],
                &foreign
            )
            .0,
        403
    );
}

/// A request as a server on a socket gets it.
struct Request {
    method: String,
    headers: String,
    body: Value,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Request> {
        let mut input = BufReader::new(stream);
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|len| *len > 0)?;
        let method = line.split(' ').next()?.to_owned();
        let (mut headers, mut len) = (String::new(), 0);
        loop {
            let mut line = String::new();
            input.read_line(&mut line).ok()?;
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                len = value.parse().ok()?;
            }
            headers += &format!("{line}\n");
        }
        let mut body = vec![0; len];
        input.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Some(Request {
            method,
            headers,
            body,
        })
    }

    fn last_event(&self) -> Option<&str> {
        let headers = &mut self.headers.lines();
        headers.find_map(|line| line.strip_prefix("last-event-id: "))
    }
}

/// Serves each request by a connection of its own with what `say` says to it: a status, a kind and a body.
fn scripted(say: impl Fn(&Request) -> (u16, &'static str, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = Request::read(&stream) else {
                continue;
            };
            let (status, kind, body) = say(&request);
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

const EVENTS: &str = "text/event-stream";

#[test]
fn a_stream_that_breaks_off_is_taken_up_where_it_was_left() {
    let sandbox = Sandbox::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let url = scripted(move |request| {
        let id = &request.body["id"];
        let event =
            |name: &str, message: Value| format!("id: {name}\nretry: 5\ndata: {message}\n\n");
        let note = |data: &str| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": data } });
        if request.method == "GET" {
            seen.lock()
                .unwrap()
                .push(request.last_event().map(str::to_owned));
        }
        match (
            request.method.as_str(),
            request.body["method"].as_str(),
            request.last_event(),
        ) {
            ("POST", Some("initialize"), _) => {
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
                (
                    200,
                    "application/json",
                    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
                )
            }
            // The answer is not in this stream.
            ("POST", Some("tools/call"), _) => {
                (200, EVENTS, "id: call-1\nretry: 5\ndata: \n\n".to_owned())
            }
            ("POST", ..) => (202, "text/plain", String::new()),
            ("GET", _, Some("call-1")) => {
                let result = json!({ "content": [{ "type": "text", "text": seq(1_000) }] });
                (
                    200,
                    EVENTS,
                    event(
                        "call-2",
                        json!({ "jsonrpc": "2.0", "id": 2, "result": result }),
                    ),
                )
            }
            ("GET", _, None) => (200, EVENTS, event("note-1", note("one"))),
            ("GET", _, Some("note-1")) => (200, EVENTS, event("note-2", note("two"))),
            _ => (405, "text/plain", String::new()),
        }
    });
    let mut peer = Peer::new(sandbox.command(&["--max-lines", "10", "proxy", "--url", &url]));
    peer.initialize("2025-11-25", "test");
    let answer = peer.ask("tools/call", &json!({ "name": "x", "arguments": {} }));
    assert!(text(&answer["result"]).contains("saved to"), "{answer}");
    let heard = |peer: &Peer| -> Vec<String> {
        let said = peer
            .others
            .iter()
            .map(|message| message["params"]["data"].to_string());
        said.collect()
    };
    while heard(&peer).len() < 2 {
        let message = serde_json::from_str(&peer.line()).unwrap();
        peer.others.push(message);
    }
    assert_eq!(heard(&peer), ["\"one\"", "\"two\""]);
    let asked = asked.lock().unwrap();
    assert!(asked.contains(&Some("call-1".to_owned())), "{asked:?}");
}

#[test]
fn an_answer_that_never_comes_is_told() {
    let sandbox = Sandbox::new();
    let url = scripted(|request| match request.method.as_str() {
        "POST" => (200, EVENTS, "id: a\nretry: 1\ndata: \n\n".to_owned()),
        _ => (200, EVENTS, ": nothing\n\n".to_owned()),
    });
    let mut peer = Peer::new(sandbox.command(&["proxy", "--url", &url]));
    let answer = peer.ask("tools/call", &json!({ "name": "x" }));
    assert!(answer["error"]["message"].is_string(), "{answer}");
}
