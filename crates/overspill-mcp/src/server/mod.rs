//! The MCP server: overspill's tools, and its spills as resources.
//!
//! The text of an answer is what the model reads. A tool runs in a thread of its own; the protocol goes on meanwhile, so that
//! a call can be cancelled and tells that it is still at work.

pub(crate) mod answer;
mod catalogue;
mod http;
mod intake;
pub(crate) mod resources;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use overspill::settings::{Client, client};
use overspill::{Envelope, Host};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;

pub(crate) use self::catalogue::wider_cut;
pub use self::catalogue::{Offer, listing};
pub use self::http::serve_http;
use crate::pipes::Pipes;

/// How often a call that is still at work says so.
const PROGRESS: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "Files of one project, searched and read in pages that fit. What is too long is saved; \
    search it with Grep or read it with Read by the path that the result names.";

/// What a client may ask with parameters.
const METHODS: [&str; 6] = [
    "initialize",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// The server of one project.
#[derive(Clone, Debug)]
pub struct Server {
    host: Arc<Host>,
    offer: Offer,
}

impl Server {
    /// Returns a server of the tools that work in `host`.
    pub fn new(host: Host, offer: Offer) -> Server {
        Server {
            host: Arc::new(host.with_reach(Some("Grep"), Some("Read"))),
            offer,
        }
    }

    /// Serves the client at the other end of two pipes, until it goes away. A large message waits in `scratch`.
    pub async fn serve_pipes(self, client: Pipes, scratch: &Path) -> io::Result<()> {
        let intake = intake::intake(client, scratch);
        let running = self
            .serve((intake.input, intake.output))
            .await
            .map_err(io::Error::other)?;
        running.waiting().await.map_err(io::Error::other)?;
        intake.said.await.map_err(io::Error::other)?
    }

    /// Returns the host for a call, and what stops it.
    fn host_for(&self, context: &RequestContext<RoleServer>) -> (Host, Arc<AtomicBool>) {
        let flag = Arc::new(AtomicBool::new(false));
        let host = Host::clone(&self.host)
            .for_client(client_of(context))
            .cancelled_by(Arc::clone(&flag));
        (host, flag)
    }

    /// Does work that may take long in a thread of its own: tells now and then that it goes on, and stops it when nobody
    /// wants it any more.
    async fn work<T: Send + 'static>(
        context: &RequestContext<RoleServer>,
        flag: &AtomicBool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let start = Instant::now();
        // Whoever drops this call, be it the client or the end of the program, stops the work.
        let _stop = StopOnDrop(flag);
        let mut done = tokio::task::spawn_blocking(work);
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
        loop {
            tokio::select! {
                result = &mut done => {
                    return result.map_err(|error| ErrorData::internal_error(error.to_string(), None));
                }
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
                _ = ticks.tick() => tell_progress(context, start).await,
            }
        }
    }
}

struct StopOnDrop<'f>(&'f AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the client that a request is from, if it is a known one.
fn client_of(context: &RequestContext<RoleServer>) -> Option<&'static Client> {
    context.client_info().and_then(|info| client(&info.name))
}

async fn tell_progress(context: &RequestContext<RoleServer>, start: Instant) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let seconds = start.elapsed().as_secs();
    let mut progress = ProgressNotificationParam::new(token, seconds as f64);
    progress.message = Some(format!("at work for {seconds} s"));
    // A client that cannot be told is one that does not listen.
    let _ = context.peer.notify_progress(progress).await;
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("overspill", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        // What has other parameters than a method takes comes here too.
        if METHODS.contains(&method.as_str()) {
            let why = format!("the parameters of `{method}` are not what it takes");
            return Err(ErrorData::invalid_params(why, None));
        }
        let why = format!("unknown method `{method}`");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = catalogue::tools(self.offer, self.host.settings(), client_of(&context));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = catalogue::find(self.offer, &request.name) else {
            let message = format!("unknown tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let params = Value::Object(request.arguments.unwrap_or_default());
        let (host, flag) = self.host_for(&context);
        let name = tool.name();
        let result = Server::work(&context, &flag, move || {
            let envelope: Envelope = tool.call(&host, params);
            answer::result(&envelope, name, &host)
        })
        .await?;
        Ok(CallToolResponse::from(result))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (host, flag) = self.host_for(&context);
        let cursor = request.and_then(|request| request.cursor);
        Server::work(&context, &flag, move || {
            resources::list(&host, cursor.as_deref())
        })
        .await?
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![
            resources::template(),
        ]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (host, flag) = self.host_for(&context);
        let read = Server::work(&context, &flag, move || {
            resources::read(&host, &request.uri)
        })
        .await??;
        Ok(ReadResourceResponse::from(read))
    }
}
