//! What the proxy costs, against the server alone in the same run.

mod server;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

pub(crate) use self::server::serve;
use super::machine;
use super::process::millis;
use super::subject::Subject;
use super::table::{self, Claim, Row, memory};

/// The task that serves.
pub(crate) const SERVE: &str = "bench-server";

const CALLS: u64 = 5000;
const BIG_BYTES: u64 = 100_000_000;
const AT_ONCE: u64 = 1000;

/// Measures, and prints.
pub(super) fn run() -> Result<()> {
    let subject = Subject::prepare("mcp")?;
    println!("{}\n", machine());
    let this = std::env::current_exe().context("this program")?;
    let alone = || {
        let mut command = Command::new(&this);
        command.arg(SERVE);
        command
    };
    let behind = || {
        let mut command = subject.overspill(&["proxy", "--name", "bench", "--"]);
        command.arg(&this).arg(SERVE);
        command
    };
    table::print_head();
    let (direct, proxied) = (calls(alone())?, calls(behind())?);
    for (what, share, limit) in [("p50", 50, 1.0), ("p99", 99, 5.0)] {
        let (theirs, ours) = (percentile(&direct, share), percentile(&proxied, share));
        Row {
            what: &format!(
                "a small result through `overspill proxy`, more than without it, {what}"
            ),
            claim: Claim::under(limit, "ms"),
            figure: Some(millis(ours) - millis(theirs)),
            how: format!("{CALLS} calls, {ours:?} against {theirs:?}"),
        }
        .print();
    }
    let (read, _) = big(alone())?;
    let (through, peak) = big(behind())?;
    Row {
        what: "a result of 100 MB, against reading it from the server and parsing it",
        claim: Claim::under(3.0, "times"),
        figure: Some(millis(through) / millis(read)),
        how: format!("{:.0} against {:.0} ms", millis(through), millis(read)),
    }
    .print();
    memory("the same: peak memory of the proxy", 64.0, peak).print();
    Row {
        what: "1000 calls at once: answers lost or crossed",
        claim: Claim::at_most(0.0, ""),
        figure: Some(lost(behind())? as f64),
        how: format!("{AT_ONCE} requests written before an answer is read"),
    }
    .print();
    Ok(())
}

/// A server at the other end of two pipes.
struct Peer {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn start(mut command: Command) -> Result<Peer> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("server")?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().context("server's output")?);
        let mut peer = Peer { child, to, from };
        let client = json!({ "name": "claude-code", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        peer.send(0, "initialize", &params)?;
        peer.line()?;
        Ok(peer)
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) -> Result<()> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let to = self.to.as_mut().context("server's input")?;
        writeln!(to, "{message}").context("server's input")
    }

    fn call(&mut self, id: u64, tool: &str, argument: u64) -> Result<()> {
        let params = json!({ "name": tool, "arguments": { "n": argument } });
        self.send(id, "tools/call", &params)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let len = self.from.read_line(&mut line).context("server's output")?;
        ensure!(len > 0, "the server went away");
        Ok(line)
    }

    /// Returns the most memory that the process has had.
    fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    fn end(mut self) -> Result<()> {
        self.to = None;
        self.child.wait().context("server")?;
        Ok(())
    }
}

/// Returns how long each small call took, the shortest first.
fn calls(command: Command) -> Result<Vec<Duration>> {
    let mut peer = Peer::start(command)?;
    let mut times = Vec::new();
    for id in 1..=CALLS {
        let start = Instant::now();
        peer.call(id, "small", id)?;
        let answer = peer.line()?;
        times.push(start.elapsed());
        ensure!(answer.contains(&format!("number {id}\"")), "a wrong answer");
    }
    peer.end()?;
    times.sort();
    Ok(times)
}

/// Returns how long a large result took until it was parsed, and the memory of the process that was asked.
fn big(command: Command) -> Result<(Duration, Option<u64>)> {
    let mut peer = Peer::start(command)?;
    let start = Instant::now();
    peer.call(1, "big", BIG_BYTES)?;
    let answer: Value = serde_json::from_str(&peer.line()?).context("answer")?;
    let time = start.elapsed();
    ensure!(
        answer["result"]["content"][0]["text"].is_string(),
        "no text"
    );
    let peak = peer.peak();
    peer.end()?;
    Ok((time, peak))
}

/// Returns how many answers are missing or wrong of many calls that are made at once.
fn lost(command: Command) -> Result<u64> {
    let mut peer = Peer::start(command)?;
    for id in 1..=AT_ONCE {
        peer.call(id, "small", id)?;
    }
    let mut right = 0;
    for _ in 1..=AT_ONCE {
        let answer: Value = serde_json::from_str(&peer.line()?).context("answer")?;
        let text = answer["result"]["content"][0]["text"].as_str();
        right += u64::from(text == Some(&format!("number {}", answer["id"])));
    }
    peer.end()?;
    Ok(AT_ONCE - right)
}

fn percentile(times: &[Duration], share: usize) -> Duration {
    let at = times.len() * share / 100;
    times.get(at).copied().unwrap_or_default()
}
