//! A client of MCP: a process at the other end of two pipes, or of a socket.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::until;

/// No answer may take longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and whatever it said that no test has asked for yet.
pub(crate) struct Peer {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    last_id: u64,
    /// What came that was no answer to `ask`.
    pub(crate) others: Vec<Value>,
}

impl Peer {
    pub(crate) fn new(mut command: Command) -> Peer {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let line = String::from_utf8(line.expect("a line")).expect("a line in UTF-8");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let (heard, from) = (
            Arc::clone(&stderr),
            child.stderr.take().expect("its stderr"),
        );
        thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                *heard.lock().unwrap() += &format!("{line}\n");
            }
        });
        Peer {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            last_id: 0,
            others: Vec::new(),
        }
    }

    /// Says a line.
    pub(crate) fn say(&mut self, line: impl std::fmt::Display) {
        let stdin = self.stdin.as_mut().expect("an open stdin");
        // One that went away is noticed by its silence.
        let _ = writeln!(stdin, "{line}");
    }

    /// Returns the next line that was said.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            panic!("nothing was said; on stderr: {}", self.stderr());
        })
    }

    /// Says that the client is `name`.
    pub(crate) fn initialize(&mut self, version: &str, name: &str) -> Value {
        let answer = self.ask("initialize", &json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": name, "version": "1" }
        }));
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Says a request, and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Asks, and returns the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.others.iter().position(is_it) {
            return self.others.remove(at);
        }
        loop {
            let message: Value = serde_json::from_str(&self.line()).expect("JSON");
            if is_it(&message) {
                return message;
            }
            self.others.push(message);
        }
    }

    /// Calls a tool, and returns the result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        );
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Ends its input.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Ends its input and returns the lines that it still says, and its exit code.
    pub(crate) fn finish(mut self) -> (Vec<String>, i32) {
        self.hang_up();
        let code = self.code();
        (self.lines.iter().collect(), code)
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn code(&mut self) -> i32 {
        let status = until("the end of the program", || self.child.try_wait().unwrap());
        status.code().unwrap_or(-1)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All text of a result, as a model reads it.
pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("content");
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

/// Whether a process runs; one that nobody has reaped yet does not.
pub(crate) fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// A server of HTTP.
pub(crate) struct Web {
    _process: Peer,
    pub(crate) address: SocketAddr,
}

impl Web {
    /// Waits until it listens.
    pub(crate) fn new(command: Command) -> Web {
        let process = Peer::new(command);
        let address = until("an address", || {
            let said = process.stderr();
            let rest = said.split_once("listening on http://")?.1;
            rest.split_once("/mcp\n")?.0.parse().ok()
        });
        Web {
            _process: process,
            address,
        }
    }

    /// Posts a message with headers, and returns status, head and body.
    pub(crate) fn post(
        &self,
        path: &str,
        headers: &[&str],
        message: &Value,
    ) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time limit");
        let (address, body) = (self.address, message.to_string());
        let headers: String = headers
            .iter()
            .map(|header| format!("{header}\r\n"))
            .collect();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let head = head.to_lowercase();
        let body = match head.contains("transfer-encoding: chunked") {
            true => joined(body),
            false => body.to_owned(),
        };
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.expect("a status"), head, body)
    }

    /// Posts a message, and returns the answer in it.
    #[track_caller]
    pub(crate) fn ask(&self, headers: &[&str], message: &Value) -> Value {
        let (status, _, body) = self.post("/mcp", headers, message);
        assert_eq!(status, 200, "{body}");
        let data = body
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line));
        data.filter_map(|line| serde_json::from_str(line).ok())
            .find(|answer: &Value| answer["id"] == message["id"])
            .unwrap_or_else(|| panic!("no answer: {body}"))
    }

    /// Begins a session, and returns the header that names it.
    pub(crate) fn session(&self, headers: &[&str]) -> String {
        let (status, head, body) = self.post("/mcp", headers, &json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
            }
        }));
        assert_eq!(status, 200, "{body}");
        let session = head
            .lines()
            .find(|line| line.starts_with("mcp-session-id:"));
        session.expect("a session").to_owned()
    }
}

/// Joins the chunks of a body.
fn joined(mut body: &str) -> String {
    let mut all = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the size of a chunk");
        if size == 0 {
            break;
        }
        all += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    all
}
