//! Every endpoint here is a real HTTP server on loopback that plays one part.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::proxy;
use crate::support::{Output, Sandbox, seq};

const KEY: &str = "sk-very-secret-0123456789";

/// What the server does with a request.
#[derive(Clone)]
enum Part {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, String),
    /// Says that more comes than does.
    Cut,
    /// Says nothing before it hangs up.
    HangUp,
    /// Takes its time.
    Slow(Duration),
}

fn says(text: &str) -> Part {
    let body = json!({ "choices": [{
        "finish_reason": "stop", "message": { "role": "assistant", "content": text }
    }]});
    Part::Answer(200, "", body.to_string())
}

fn status(code: u16) -> Part {
    Part::Answer(code, "", json!({ "error": { "message": KEY } }).to_string())
}

/// A request as it came.
#[derive(Clone, Debug)]
struct Asked {
    line: String,
    headers: Vec<String>,
    body: Value,
}

impl Asked {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| {
            let (found, value) = header.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// A model on loopback: plays its parts in turn, the last for ever.
struct Model {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    fn new(parts: &[Part]) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (parts, seen) = (parts.to_vec(), Arc::clone(&asked));
        thread::spawn(move || {
            for (turn, stream) in listener.incoming().enumerate() {
                let part = parts[turn.min(parts.len() - 1)].clone();
                let seen = Arc::clone(&seen);
                thread::spawn(move || play(stream.expect("a connection"), &part, &seen));
            }
        });
        Model { address, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn play(mut stream: TcpStream, part: &Part, seen: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&stream) else { return };
    seen.lock().unwrap().push(asked);
    // A client that does not wait for all of it has its reasons; the test looks at what it says.
    let _ = match part {
        Part::Answer(status, headers, body) => write!(
            stream,
            "HTTP/1.1 {status} Word\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ),
        Part::Cut => write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{{\"cho"
        ),
        Part::HangUp => Ok(()),
        Part::Slow(time) => {
            thread::sleep(*time);
            Ok(())
        }
    };
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut input = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut asked = Asked {
        line: lines.first()?.clone(),
        headers: lines[1..].to_vec(),
        body: Value::Null,
    };
    let length = asked.header("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    asked.body = serde_json::from_slice(&body).ok()?;
    Some(asked)
}

/// What a command prints here: long, with an error in the middle.
fn output() -> String {
    format!("{}error: out of cheese\n{}", seq(4000), seq(4000))
}

/// Runs a command that fails with [`output`] under a user whose model is at `address`.
fn run_with(sandbox: &Sandbox, address: &str, variables: &[(&str, &str)]) -> Output {
    sandbox.write("out.txt", output());
    let mut command = sandbox.command(&[
        "run",
        "--strategy",
        "summarize",
        "--",
        "sh",
        "-c",
        "cat out.txt; exit 3",
    ]);
    command
        .env("TOOL_OUTPUT_SUMMARIZATION_ENABLED", "true")
        .env(
            "TOOL_OUTPUT_SUMMARIZATION_BASE_URL",
            format!("http://{address}/v1/"),
        )
        .env("OPENAI_API_KEY", KEY)
        .envs(variables.iter().copied());
    sandbox.finish(command, b"")
}

/// Asserts that a run ended as `head_tail` would have it, with a reason, and returns the reason.
#[track_caller]
fn reason(sandbox: &Sandbox, ran: &Output, address: &str) -> String {
    assert_eq!((ran.code, ran.stderr.as_str()), (3, ""));
    let text = ran.text();
    assert!(!text.contains(KEY), "{text}");
    assert!(
        text.starts_with("1\n2\n") && text.contains("\n4000\n\nThe tool call failed"),
        "{text}"
    );
    assert!(text.contains("... [truncated "), "{text}");
    assert_eq!(
        sandbox.spill(),
        output().as_bytes(),
        "the spill is complete"
    );
    let said = text
        .lines()
        .find_map(|line| line.strip_prefix("There is no summary, so both ends are shown: "));
    said.unwrap_or_else(|| panic!("no reason: {text}"))
        .replace(address, "HOST")
}

/// Plays parts to a run with little time, and returns the reason and how often the model was asked.
#[track_caller]
fn fails(parts: &[Part], timeout_ms: u64) -> (String, usize) {
    let (sandbox, model) = (Sandbox::new(), Model::new(parts));
    let start = Instant::now();
    let timeout = timeout_ms.to_string();
    let ran = run_with(
        &sandbox,
        &model.address,
        &[("TOOL_OUTPUT_SUMMARIZATION_TIMEOUT_MS", &timeout)],
    );
    let took = start.elapsed();
    // What is beyond the deadline is the rest of the run on a busy machine.
    let most = Duration::from_millis(timeout_ms) + Duration::from_secs(2);
    assert!(took < most, "{took:?}");
    (reason(&sandbox, &ran, &model.address), model.asked().len())
}

#[test]
fn a_summary_stands_for_the_output() {
    let (sandbox, model) = (
        Sandbox::new(),
        Model::new(&[says("8001 lines; `error: out of cheese`.\n")]),
    );
    let ran = run_with(&sandbox, &model.address, &[]);
    insta::assert_snapshot!(ran.report(), @"
    exit 3
    --- stdout
    8001 lines; `error: out of cheese`.

    The tool call failed and its output was truncated. Full output saved to: tool-output/tool_<TIME>_<ID>_Run.txt
    The above is a summary by qwen-turbo of 37807 chars / 8001 lines, not the output itself: what matters may be missing or wrong.
    Use Grep to search the full content or Read with offset and limit to view parts of it.
    In a shell: overspill show <ID> --grep PATTERN, or --offset 1 --limit N.
    ");
    assert_eq!(sandbox.spill(), output().as_bytes());

    let asked = model.asked();
    let [asked] = &asked[..] else {
        panic!("asked {} times", asked.len())
    };
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        asked.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    let body = &asked.body;
    assert_eq!(
        (
            &body["model"],
            &body["stream"],
            &body["temperature"],
            &body["max_tokens"]
        ),
        (&json!("qwen-turbo"), &json!(false), &json!(0), &json!(4000))
    );
    let message = |at: usize| {
        let message = &body["messages"][at];
        (
            message["role"].as_str().unwrap(),
            message["content"].as_str().unwrap(),
        )
    };
    assert_eq!(message(0).0, "system");
    assert!(
        message(0).1.contains("the tool `Run`") && message(0).1.contains("cat out.txt; exit 3")
    );
    assert_eq!(message(1), ("user", &*output()));
}

#[test]
fn the_model_is_given_no_more_than_the_user_allows_but_what_matters() {
    let (sandbox, model) = (Sandbox::new(), Model::new(&[says("short")]));
    let variables = [
        ("TOOL_OUTPUT_SUMMARIZATION_MAX_INPUT_CHARS", "1000"),
        ("TOOL_OUTPUT_SUMMARIZATION_MODEL", "small-1"),
        ("TOOL_OUTPUT_SUMMARIZATION_API_KEY_ENV", "NO_SUCH_KEY"),
    ];
    let ran = run_with(&sandbox, &model.address, &variables);
    let asked = model.asked().remove(0);
    let text = asked.body["messages"][1]["content"].as_str().unwrap();
    assert!(
        text.len() <= 1000 && text.contains("\nerror: out of cheese\n"),
        "{text}"
    );
    assert_eq!(asked.header("authorization"), None);
    assert!(
        ran.text()
            .contains("a summary by small-1 of 37807 chars / 8001 lines, of which it read "),
        "{}",
        ran.text()
    );
}

#[test]
fn what_passes_is_tried_again() {
    for first in [
        Part::Answer(429, "Retry-After: 1\r\n", String::new()),
        status(429),
        status(500),
        status(503),
        status(408),
        Part::Cut,
        Part::HangUp,
    ] {
        let waits = matches!(&first, Part::Answer(_, headers, _) if !headers.is_empty());
        let (sandbox, model) = (Sandbox::new(), Model::new(&[first, says("at last")]));
        let start = Instant::now();
        let ran = run_with(&sandbox, &model.address, &[]);
        assert!(ran.text().starts_with("at last\n\n"), "{}", ran.text());
        assert_eq!(model.asked().len(), 2);
        assert!(
            !waits || start.elapsed() >= Duration::from_secs(1),
            "it was asked to wait"
        );
    }
}

#[test]
fn every_failure_ends_as_head_tail_with_the_reason_in_time() {
    assert_eq!(
        fails(&[status(429)], 600),
        ("the model at HOST answered 429".to_owned(), 2)
    );
    assert_eq!(
        fails(&[status(500)], 300),
        ("the model at HOST answered 500".to_owned(), 2)
    );
    let later = Part::Answer(429, "Retry-After: 60\r\n", String::new());
    assert_eq!(
        fails(&[later], 5000),
        ("the model at HOST answered 429".to_owned(), 1)
    );
    for code in [400, 401, 404, 302] {
        assert_eq!(
            fails(&[status(code)], 5000),
            (format!("the model at HOST answered {code}"), 1)
        );
    }
    assert_eq!(
        fails(&[Part::Slow(Duration::from_secs(10))], 400),
        (
            "the model at HOST gave no answer within 400ms".to_owned(),
            1
        )
    );
    for part in [Part::Cut, Part::HangUp] {
        let closed = "the model at HOST: the connection was closed before the answer was complete";
        assert_eq!(fails(&[part], 300), (closed.to_owned(), 2));
    }
}

#[test]
fn an_answer_that_is_none_is_a_failure() {
    let nonsense = "the answer of the model at HOST is not that of a chat endpoint".to_owned();
    for body in [
        "<html>".to_owned(),
        "{}".to_owned(),
        json!({ "choices": [] }).to_string(),
        json!({ "choices": [{ "message": { "content": null } }] }).to_string(),
        json!({ "choices": [{ "message": { "content": [1] } }] }).to_string(),
    ] {
        assert_eq!(
            fails(&[Part::Answer(200, "", body)], 5000),
            (nonsense.clone(), 1)
        );
    }
    assert_eq!(
        fails(&[says(" \n ")], 5000).0,
        "the summary by qwen-turbo is empty"
    );
    assert_eq!(
        fails(&[says(&"long ".repeat(20_000))], 5000).0,
        "the summary by qwen-turbo is over the limits"
    );
    assert_eq!(
        fails(&[says(&"x".repeat(2 << 20))], 5000).0,
        "the answer of the model at HOST is over 1048576 bytes"
    );
    let stopped =
        json!({ "choices": [{ "finish_reason": "length", "message": { "content": "so" } }] });
    assert_eq!(
        fails(&[Part::Answer(200, "", stopped.to_string())], 5000).0,
        "the model at HOST was not done after 4000 tokens"
    );
}

#[test]
fn nobody_there_or_no_key_is_told() {
    let sandbox = Sandbox::new();
    let timeout = ("TOOL_OUTPUT_SUMMARIZATION_TIMEOUT_MS", "500");
    let nobody = "127.0.0.1:1";
    let ran = run_with(&sandbox, nobody, &[timeout]);
    assert_eq!(
        reason(&sandbox, &ran, nobody),
        "the model at HOST: connection refused"
    );

    let (sandbox, model) = (Sandbox::new(), Model::new(&[status(401)]));
    let ran = run_with(&sandbox, &model.address, &[("OPENAI_API_KEY", "")]);
    assert_eq!(
        reason(&sandbox, &ran, &model.address),
        "the model at HOST answered 401, and the variable `OPENAI_API_KEY` holds no key"
    );
}

#[test]
fn a_certificate_that_nobody_signed_is_refused() {
    let (address, asked) = self_signed();
    let sandbox = Sandbox::new();
    let url = format!("https://{address}/v1");
    let variables = [("TOOL_OUTPUT_SUMMARIZATION_BASE_URL", &*url)];
    let start = Instant::now();
    let ran = run_with(&sandbox, &address, &variables);
    let reason = reason(&sandbox, &ran, &address);
    assert!(
        reason.starts_with("the model at HOST: invalid peer certificate: "),
        "{reason}"
    );
    assert!(asked.lock().unwrap().is_empty(), "it was sent the output");
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "it is no use to ask again"
    );
}

/// A model that would answer, behind TLS with a certificate of its own making.
fn self_signed() -> (String, Arc<Mutex<Vec<u8>>>) {
    let certificate = include_bytes!("../fixture/self_signed.crt.der")
        .to_vec()
        .into();
    let key = PrivatePkcs8KeyDer::from(&include_bytes!("../fixture/self_signed.key.der")[..]);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked: Arc<Mutex<Vec<u8>>> = Arc::default();
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::StreamOwned::new(connection, stream.unwrap());
            let mut start = [0; 100];
            if let Ok(len) = tls.read(&mut start) {
                seen.lock().unwrap().extend_from_slice(&start[..len]);
            }
        }
    });
    (address, asked)
}

#[test]
fn the_proxy_has_it_too() {
    let sandbox = Sandbox::new();
    let model = Model::new(&[says("a summary")]);
    let mut command = proxy::command(&sandbox, &["--strategy", "summarize"], &[]);
    command
        .env("TOOL_OUTPUT_SUMMARIZATION_ENABLED", "true")
        .env(
            "TOOL_OUTPUT_SUMMARIZATION_BASE_URL",
            format!("http://{}", model.address),
        );
    let mut peer = Peer::new(command);
    let result = json!({ "content": [{ "type": "text", "text": output() }] });
    let relayed = proxy::relayed(&mut peer, "log", &result);
    let text = relayed["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("a summary\n\n"), "{text}");
    assert_eq!(sandbox.spill(), output().as_bytes());
}

#[test]
fn it_is_off_until_the_user_says_who_and_where() {
    let (sandbox, model) = (Sandbox::new(), Model::new(&[says("a summary")]));
    let ran = run_with(
        &sandbox,
        &model.address,
        &[("TOOL_OUTPUT_SUMMARIZATION_ENABLED", "false")],
    );
    assert_eq!(
        reason(&sandbox, &ran, &model.address),
        "`summarization.enabled` is not `true`"
    );
    let sandbox = Sandbox::new();
    let ran = run_with(
        &sandbox,
        &model.address,
        &[("TOOL_OUTPUT_SUMMARIZATION_BASE_URL", "off")],
    );
    assert_eq!(
        reason(&sandbox, &ran, &model.address),
        "`summarization.base_url` is not set"
    );
    assert!(model.asked().is_empty());
}

#[test]
fn what_is_short_within_limits_or_not_saved_is_sent_to_nobody() {
    let model = Model::new(&[says("a summary")]);
    let sandbox = Sandbox::new();
    let high = ("TOOL_OUTPUT_SUMMARIZATION_TRIGGER_THRESHOLD", "37807");
    let ran = run_with(&sandbox, &model.address, &[high]);
    assert!(!ran.text().contains("summary"), "{}", ran.text());
    assert!(ran.text().contains("... [truncated "));

    let sandbox = Sandbox::new();
    sandbox.write("tool-output", "a file");
    let ran = run_with(&sandbox, &model.address, &[]);
    assert!(
        ran.text().contains("full output was not saved"),
        "{}",
        ran.text()
    );

    let sandbox = Sandbox::new();
    let ran = run_with(
        &sandbox,
        &model.address,
        &[("TOOL_OUTPUT_MAX_LINES", "off")],
    );
    assert_eq!(ran.text(), output());
    assert!(model.asked().is_empty());
}

#[test]
fn a_project_cannot_choose_where_outputs_are_sent() {
    let (sandbox, model) = (Sandbox::new(), Model::new(&[says("a summary")]));
    let file = |more: &str| {
        format!("default: {{strategy: summarize}}\nsummarization:\n  enabled: true\n  {more}\n")
    };
    let elsewhere = file(&format!("base_url: http://{}/v1", model.address));
    for (text, key) in [
        (&elsewhere, "base_url"),
        (&file("api_key_env: HOME"), "api_key_env"),
    ] {
        sandbox.write("overspill.yaml", text);
        for arguments in [&["truncate"][..], &["config", "check"]] {
            let refused = sandbox.pipe(arguments, output());
            assert_eq!(refused.code, 2);
            assert_eq!(
                refused.stderr.lines().next().unwrap(),
                format!(
                    "overspill: `overspill.yaml` line 4: `{key}` is not taken from a project's file, since outputs are sent by it"
                )
            );
        }
        assert!(sandbox.stored().is_empty());
    }
    assert!(model.asked().is_empty());

    // The same file, where it is the user's own choice.
    sandbox.write("overspill.yaml", &elsewhere);
    let chosen = sandbox.pipe(&["truncate", "--config", "overspill.yaml"], output());
    assert!(chosen.text().starts_with("a summary\n\n"), "{chosen:?}");
    std::fs::rename(
        sandbox.root().join("overspill.yaml"),
        sandbox.root().join("mine"),
    )
    .unwrap();
    let users = sandbox.home().join(".config/overspill");
    std::fs::create_dir_all(&users).unwrap();
    std::fs::rename(sandbox.root().join("mine"), users.join("overspill.yaml")).unwrap();
    let own = sandbox.pipe(&["truncate"], output());
    assert!(own.text().starts_with("a summary\n\n"), "{own:?}");
}

#[test]
fn tools_hooks_and_envelopes_have_it_too() {
    let (sandbox, model) = (Sandbox::new(), Model::new(&[says("a summary")]));
    sandbox.write("out.txt", output());
    let finish = |arguments: &[&str], input: &str| {
        let mut command = sandbox.command(arguments);
        command
            .env("TOOL_OUTPUT_SUMMARIZATION_ENABLED", "true")
            .env(
                "TOOL_OUTPUT_SUMMARIZATION_BASE_URL",
                format!("http://{}", model.address),
            )
            .env("TOOL_OUTPUT_TRUNCATE_DIRECTION", "summarize");
        sandbox.finish(command, input.as_bytes()).quietly(0)
    };
    let params = json!({ "command": "cat out.txt" }).to_string();
    let called = finish(&["call", "Run", &params], "").json();
    assert_eq!(called["data"]["preview"], "a summary");
    assert_eq!(called["data"]["truncation"]["direction"], "summarize");

    let bounded = finish(&["truncate", "--format", "envelope"], &output()).json();
    assert_eq!(bounded["data"]["preview"], "a summary");
    let again = json!({
        "status": "success", "data": { "content": output() }, "text": "read", "stats": { "time_ms": 1 },
        "context": { "cwd": ".", "params_input": {} }
    });
    let bounded = finish(&["truncate", "--format", "envelope"], &again.to_string()).json();
    assert_eq!(bounded["data"]["preview"], "a summary");

    let input = json!({
        "hook_event_name": "PostToolUse", "tool_name": "mcp__ci__log", "tool_input": {},
        "tool_response": [{ "type": "text", "text": output() }]
    });
    let hooked = finish(&["hook", "claude"], &input.to_string()).text();
    assert!(
        hooked.contains("a summary by qwen-turbo of 37807 chars"),
        "{hooked}"
    );
    assert_eq!(model.asked().len(), 4);
}
