//! The server over streamable HTTP.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::Server;
use crate::serve::{Access, LOCAL, serve};

/// Serves until `until` is done; `ready` is told the address.
pub async fn serve_http(
    server: Server,
    access: Access,
    ready: impl FnOnce(SocketAddr),
    until: impl Future<Output = ()>,
) -> io::Result<()> {
    let origins = LOCAL
        .into_iter()
        .flat_map(|host| ["http", "https"].map(|scheme| format!("{scheme}://{host}:*")));
    let config = StreamableHttpServerConfig::default().with_allowed_origins(origins);
    let config = match access.is_loopback() {
        true => config,
        // Who has the token may know us by any name.
        false => config.disable_allowed_hosts(),
    };
    let stop = config.cancellation_token.clone();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let answer = move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.handle(request).await) }
    };
    serve(access, answer, ready, until).await?;
    stop.cancel();
    Ok(())
}
