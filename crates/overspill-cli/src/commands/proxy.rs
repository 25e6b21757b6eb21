//! `overspill proxy`: bounds the results of any MCP server.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use anyhow::Context as _;
use clap::ArgMatches;
use overspill::io_cause;
use overspill_mcp::Pipes;
use overspill_mcp::proxy::http::{Upstream, bridge, gateway};
use overspill_mcp::proxy::{Options, OwnTools, Proxy, Report, stdio};

use crate::app::{App, deepest};
use crate::args::ProxyArgs;
use crate::commands::install;
use crate::commands::mcp::{GRACE, access, listening, runtime, terminated};
use crate::exit::usage_error;
use crate::{config, output};

/// Says on stderr what is not a message.
struct Stderr;

impl Report for Stderr {
    fn say(&self, line: &str) {
        drop(writeln!(std::io::stderr(), "overspill: {line}"));
    }
}

/// Relays until the client or the server goes away.
pub(crate) fn run(matches: &ArgMatches, args: &ProxyArgs) -> anyhow::Result<ExitCode> {
    if args.command.is_empty() && args.url.is_none() {
        return print_wrapped(matches);
    }
    if args.http.is_some() && args.url.is_none() {
        return Err(usage_error(
            "`--http` serves what is at an address: it needs `--url`, not a command",
        ));
    }
    let app = App::new(matches)?;
    let named = || match &args.url {
        Some(url) => named_by_address(url),
        None => named_by(&args.command),
    };
    let options = Options {
        name: args.name.clone().unwrap_or_else(named),
        own_tools: match args.no_tools {
            true => OwnTools::Withheld,
            false => OwnTools::Offered,
        },
        scratch: config::scratch(),
    };
    let proxy = Proxy::new(app.host, options);
    let runtime = runtime()?;
    let code = match &args.url {
        Some(url) => {
            let upstream =
                Upstream::new(url, &args.header).map_err(|error| usage_error(error.to_string()))?;
            runtime.block_on(to_address(proxy, upstream, args.http))?;
            0
        }
        None => {
            let relayed = async {
                let client = Pipes::of_process();
                stdio::relay(proxy, &args.command, client, Arc::new(Stderr), terminated()).await
            };
            let ended = runtime
                .block_on(relayed)
                .with_context(|| format!("server `{}`", shown(&args.command)))?;
            ended.map_or(0, code_of)
        }
    };
    runtime.shutdown_timeout(GRACE);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Returns the exit code of a server, as a shell tells it.
fn code_of(status: ExitStatus) -> i32 {
    let signalled = || status.signal().map_or(1, |signal| 128 + signal);
    status.code().unwrap_or_else(signalled)
}

async fn to_address(
    proxy: Proxy,
    upstream: Upstream,
    http: Option<SocketAddr>,
) -> anyhow::Result<()> {
    let Some(address) = http else {
        return bridge(proxy, upstream, Pipes::of_process(), &Stderr, terminated())
            .await
            .context("standard input and output");
    };
    gateway(proxy, upstream, access(address)?, listening, terminated())
        .await
        .with_context(|| format!("`--http {address}`"))
}

/// Prints a client's configuration with every server in it behind the proxy.
fn print_wrapped(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let Some(path) = deepest(matches).get_one::<PathBuf>("config") else {
        return Err(usage_error(
            "no server: give its command behind `--`, its address with `--url`, or a client's configuration with `--config`",
        ));
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| usage_error(format!("`{}`: {}", path.display(), io_cause(&error))))?;
    let dialect = &install::agents::of_file(path).dialect;
    let wrapped = install::wrapped(&text, dialect, &config::installed_program()?)?;
    output::print(wrapped.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of a server by its address.
fn named_by_address(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    plain(host.split(':').next().unwrap_or_default())
}

/// Returns a name in which what no tool's name has is an underscore.
fn plain(name: &str) -> String {
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
    plain(&name)
}

/// Returns the program of a command; its arguments may hold secrets.
fn shown(command: &[OsString]) -> String {
    let program = command.first().map(|word| word.to_string_lossy());
    program.unwrap_or_default().into_owned()
}
