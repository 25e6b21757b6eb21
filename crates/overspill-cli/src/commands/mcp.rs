//! `overspill mcp`: the tools over MCP.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use overspill_mcp::server::{Offer, Server, serve_http};
use overspill_mcp::{Access, Pipes};
use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;
use crate::args::McpArgs;
use crate::config::{self, TOKEN_VARIABLE};
use crate::exit::usage_error;

/// How long calls may take to stop when the program ends.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Serves until the client goes away, or, over HTTP, until a signal.
pub(crate) fn run(app: App, args: &McpArgs) -> anyhow::Result<ExitCode> {
    let offer = match args.allow_run {
        true => Offer::WithRun,
        false => Offer::ReadOnly,
    };
    let server = Server::new(app.host, offer);
    let scratch = config::scratch();
    let runtime = runtime()?;
    match args.http {
        Some(address) => runtime.block_on(over_http(server, address))?,
        None => runtime
            .block_on(async {
                tokio::select! {
                    served = server.serve_pipes(Pipes::of_process(), &scratch) => served,
                    () = terminated() => Ok(()),
                }
            })
            .map_err(|cause| anyhow::anyhow!("MCP over standard input and output: {cause}"))?,
    }
    // Calls stop when they are dropped, and a command that runs is ended; one that hangs does not keep the program.
    runtime.shutdown_timeout(GRACE);
    Ok(ExitCode::SUCCESS)
}

/// Returns what runs a server or a proxy.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("threads")
}

async fn over_http(server: Server, address: SocketAddr) -> anyhow::Result<()> {
    serve_http(server, access(address)?, listening, terminated())
        .await
        .with_context(|| format!("`--http {address}`"))
}

/// Returns who may call at an address.
pub(crate) fn access(address: SocketAddr) -> anyhow::Result<Access> {
    Access::new(address, config::token().as_deref()).ok_or_else(|| {
        usage_error(format!(
            "`--http {address}` is not loopback, so a token is required: set `{TOKEN_VARIABLE}`"
        ))
    })
}

/// Says where a server listens.
pub(crate) fn listening(address: SocketAddr) {
    drop(writeln!(
        std::io::stderr(),
        "overspill: listening on http://{address}/mcp"
    ));
}

/// Waits for the signal to end.
pub(crate) async fn terminated() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    if let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = signals {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    } else {
        std::future::pending::<()>().await;
    }
}
