//! The server over streamable HTTP.
//!
//! On loopback anyone on this machine may call; from anywhere else only who knows the token. A browser names the page it
//! acts for, and only pages of this machine are served: else any web page could call us through its visitor.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::Server;

/// The one path that is served.
const PATH: &str = "/mcp";

type Service = StreamableHttpService<Server, LocalSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Who may call.
#[derive(Clone, Debug)]
pub struct Access {
    address: SocketAddr,
    token: Option<Arc<str>>,
}

impl Access {
    /// Returns who may call at an address; nothing if it is not loopback and there is no token to ask for.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Option<Access> {
        let token: Option<Arc<str>> = token.filter(|token| !token.is_empty()).map(Arc::from);
        (address.ip().is_loopback() || token.is_some()).then_some(Access { address, token })
    }

    /// Tells whether a request has the token, if one is asked for. All of it is compared, so that the time tells nothing.
    fn admits(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let given = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "))
            .unwrap_or_default();
        let differing = given
            .iter()
            .zip(token.bytes())
            .fold(0, |differing, (given, wanted)| differing | (given ^ wanted));
        given.len() == token.len() && differing == 0
    }

    fn config(&self) -> StreamableHttpServerConfig {
        let config =
            StreamableHttpServerConfig::default()
                .with_allowed_origins(["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(
                    |host| ["http", "https"].map(|scheme| format!("{scheme}://{host}:*")),
                ))
                .enforce_origin_validation();
        match self.address.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => config,
            IpAddr::V6(ip) if ip.is_loopback() => config,
            // Who has the token may know us by any name.
            _ => config.disable_allowed_hosts(),
        }
    }
}

/// Serves until `until` is done; `ready` is told the address.
pub async fn serve_http(
    server: Server,
    access: Access,
    ready: impl FnOnce(SocketAddr),
    until: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let listener = TcpListener::bind(access.address).await?;
    ready(listener.local_addr()?);
    let config = access.config();
    let stop = config.cancellation_token.clone();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    tokio::pin!(until);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut until => break,
        };
        // A connection that was lost before it was ours, or too many open files: the next may do better.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let (service, access) = (service.clone(), access.clone());
        tokio::spawn(async move {
            let answer =
                service_fn(move |request| answer(service.clone(), access.clone(), request));
            // What ends a connection is the client's affair.
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
    stop.cancel();
    Ok(())
}

async fn answer(
    service: Service,
    access: Access,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    if !access.admits(&request) {
        let mut refusal = refusal(StatusCode::UNAUTHORIZED, "a bearer token is required\n");
        refusal.headers_mut().insert(
            WWW_AUTHENTICATE,
            hyper::header::HeaderValue::from_static("Bearer"),
        );
        return Ok(refusal);
    }
    if request.uri().path() != PATH {
        return Ok(refusal(
            StatusCode::NOT_FOUND,
            "nothing here, the server is at /mcp\n",
        ));
    }
    Ok(service.handle(request).await)
}

fn refusal(status: StatusCode, why: &'static str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
