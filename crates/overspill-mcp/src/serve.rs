//! Serves HTTP on one path, to those who may call.
//!
//! On loopback anyone on this machine may call; from anywhere else only who knows the token. A browser names the page it
//! acts for, and only pages of this machine are served: else any web page could call us through its visitor.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;

/// The one path that is served.
const PATH: &str = "/mcp";

/// The names of this machine, to itself.
pub(crate) const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Who may call.
#[derive(Clone)]
pub struct Access {
    address: SocketAddr,
    token: Option<Arc<str>>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_token = self.has_token();
        write!(
            f,
            "Access {{ address: {}, has_token: {has_token} }}",
            self.address
        )
    }
}

impl Access {
    /// Returns who may call at an address; nothing if it is not loopback and there is no token to ask for.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Option<Access> {
        let token: Option<Arc<str>> = token.filter(|token| !token.is_empty()).map(Arc::from);
        (address.ip().is_loopback() || token.is_some()).then_some(Access { address, token })
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Tells whether a token is asked for.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns why a request is refused, if it is.
    fn refusal<B>(&self, request: &Request<B>) -> Option<Response<Full<Bytes>>> {
        if !self.admits(request) {
            let mut refusal = refusal(StatusCode::UNAUTHORIZED, "a bearer token is required\n");
            let bearer = HeaderValue::from_static("Bearer");
            refusal.headers_mut().insert(WWW_AUTHENTICATE, bearer);
            return Some(refusal);
        }
        if request.uri().path() != PATH {
            let why = "nothing here, the server is at /mcp\n";
            return Some(refusal(StatusCode::NOT_FOUND, why));
        }
        let origins = request.headers().get_all(ORIGIN);
        let is_foreign = origins.iter().any(|origin| !is_local(origin));
        // A name that leads here but is not ours is how a page of elsewhere gets at this machine.
        let is_misnamed = self.is_loopback() && !is_named_locally(request);
        (is_foreign || is_misnamed)
            .then(|| refusal(StatusCode::FORBIDDEN, "this origin is not served\n"))
    }

    /// Tells whether a request has the token, if one is asked for. All of it is compared, so that the time tells nothing.
    fn admits<B>(&self, request: &Request<B>) -> bool {
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
}

/// Tells whether a page is of this machine.
fn is_local(origin: &HeaderValue) -> bool {
    let uri: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
    uri.and_then(|uri| uri.host().map(|host| LOCAL.contains(&host)))
        .unwrap_or(false)
}

/// Tells whether a request calls this machine by a name that only itself has.
fn is_named_locally<B>(request: &Request<B>) -> bool {
    let header = request
        .headers()
        .get(HOST)
        .and_then(|host| host.to_str().ok());
    let host = request.uri().authority().map(Authority::as_str).or(header);
    let authority: Option<Authority> = host.and_then(|host| host.parse().ok());
    authority.is_some_and(|authority| LOCAL.contains(&authority.host()))
}

fn refusal(status: StatusCode, why: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())));
    *response.status_mut() = status;
    response
}

/// Serves until `until` is done; `ready` is told the address.
pub(crate) async fn serve<F, B>(
    access: Access,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    ready: impl FnOnce(SocketAddr),
    until: impl Future<Output = ()>,
) -> io::Result<()>
where
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let listener = TcpListener::bind(access.address).await?;
    ready(listener.local_addr()?);
    tokio::pin!(until);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut until => return Ok(()),
        };
        // A connection that was lost before it was ours, or too many open files: the next may do better.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // An event must not wait for another to fill a packet.
        let _ = stream.set_nodelay(true);
        let (access, answer) = (access.clone(), answer.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let refusal = access.refusal(&request);
                let answer = answer.clone();
                async move {
                    Ok::<_, Infallible>(match refusal {
                        Some(refusal) => refusal.map(|body| Either::Left(body.boxed())),
                        None => answer(request).await?.map(Either::Right),
                    })
                }
            });
            // What ends a connection is the client's affair.
            let _ = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
