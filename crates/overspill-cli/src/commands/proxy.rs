//! `overspill proxy`: bounds the results of any MCP server.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use overspill_mcp::proxy::{Options, Proxy, Report, stdio};

use crate::app::App;
use crate::args::ProxyArgs;
use crate::commands::mcp::{runtime, terminated};
use crate::config;

/// Says on stderr what is not a message.
struct Stderr;

impl Report for Stderr {
    fn say(&self, line: &str) {
        drop(writeln!(std::io::stderr(), "overspill: {line}"));
    }
}

/// Relays until the client or the server goes away.
pub(crate) fn run(app: App, args: &ProxyArgs) -> anyhow::Result<ExitCode> {
    let options = Options {
        name: args.name.clone().unwrap_or_else(|| named_by(&args.command)),
        offers_tools: !args.no_tools,
        scratch: config::scratch(),
    };
    let proxy = Proxy::new(app.host, options);
    let runtime = runtime()?;
    let ended = runtime
        .block_on(stdio::relay(&proxy, &args.command, &Stderr, terminated()))
        .with_context(|| format!("server `{}`", shown(&args.command)))?;
    runtime.shutdown_background();
    let code = ended.map_or(0, |status| status.code().unwrap_or(1));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Returns the name of a server by its command: what is run, not what runs it.
fn named_by(command: &[OsString]) -> String {
    const RUNNERS: [&str; 12] = [
        "npx", "node", "uvx", "uv", "bunx", "bun", "deno", "python", "python3", "docker", "run",
        "sh",
    ];
    let words = command.iter().filter_map(|word| {
        let stem = Path::new(word).file_stem()?.to_string_lossy().into_owned();
        Some(stem)
    });
    let mut named =
        words.filter(|word| !word.starts_with('-') && !RUNNERS.contains(&word.as_str()));
    let name = named.next().unwrap_or_else(|| "server".to_owned());
    name.chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn shown(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
