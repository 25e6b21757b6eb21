//! A client that speaks HTTP, and a server at an address: what comes goes on with its headers, and back.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE,
    HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::oneshot;
use tokio_util::io::ReaderStream;

use super::super::lines::decided;
use super::super::sse::{self, Events};
use super::super::{FromClient, FromServer, Held, Holder, OwnCall, Proxy, Taken};
use super::Upstream;
use super::upstream::{body, cause, is_events, reader};
use crate::serve;

/// A request of more bytes is refused.
const REQUEST_BYTES: usize = 64 << 20;

/// How many sessions are remembered; of one that is forgotten, what its client is.
const MAX_SESSIONS: usize = 10_000;

type Answer = Response<BoxBody<Bytes, io::Error>>;

/// Serves at an address until `until` is done; `ready` is told it.
pub async fn gateway(
    proxy: Proxy,
    upstream: Upstream,
    access: serve::Access,
    ready: impl FnOnce(SocketAddr),
    until: impl Future<Output = ()>,
) -> io::Result<()> {
    let gateway = Arc::new(Gateway {
        fresh: proxy,
        upstream,
        has_token: access.has_token(),
        sessions: Mutex::default(),
    });
    let answer = move |request| {
        let gateway = Arc::clone(&gateway);
        async move { Ok::<_, Infallible>(gateway.answer(request).await) }
    };
    serve::serve(access, answer, ready, until).await
}

struct Gateway {
    /// What a new client is served by.
    fresh: Proxy,
    upstream: Upstream,
    /// Whether callers bring a token that is ours.
    has_token: bool,
    sessions: Mutex<HashMap<String, Arc<Proxy>>>,
}

impl Gateway {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (parts, incoming) = request.into_parts();
        let proxy = self.proxy_of(&parts.headers);
        let mut message = match taken(incoming, proxy.scratch()).await {
            Ok(message) => message,
            Err(why) => return refusal(StatusCode::PAYLOAD_TOO_LARGE, &why),
        };
        if message.len() > 0 {
            message = match decided(message, |held| proxy.client_said(held)) {
                Ok(FromClient::Forward(forwarded)) => forwarded.message,
                Ok(FromClient::Own(call)) => return own(&proxy, *call).await,
                Err(error) => {
                    return refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
                }
            };
        }
        let mut headers = passed(&parts.headers, &[HOST, ACCEPT_ENCODING]);
        if self.has_token {
            // It is ours, and no business of the server's.
            headers.remove(AUTHORIZATION);
        }
        let ended = (parts.method == Method::DELETE).then(|| parts.headers.clone());
        let sent = self
            .upstream
            .request(parts.method, headers)
            .body(body(message))
            .send();
        match sent.await {
            Ok(response) if is_encoded(response.headers()) => {
                let why = format!(
                    "`{}` compressed its answer, which it was not asked to",
                    self.fresh.name()
                );
                refusal(StatusCode::BAD_GATEWAY, &why)
            }
            Ok(response) => {
                if let Some(session) = ended.as_ref().and_then(session_of) {
                    self.sessions().remove(session);
                }
                self.back(proxy, response)
            }
            Err(error) => {
                let why = format!(
                    "`{}` cannot be reached: {}",
                    self.fresh.name(),
                    cause(&error)
                );
                refusal(StatusCode::BAD_GATEWAY, &why)
            }
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Proxy>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what knows the session of a request; a new one if it has none.
    fn proxy_of(&self, headers: &HeaderMap) -> Arc<Proxy> {
        session_of(headers)
            .and_then(|session| self.sessions().get(session).cloned())
            .unwrap_or_else(|| Arc::new(self.fresh.fork()))
    }

    /// Passes an answer back.
    fn back(&self, proxy: Arc<Proxy>, response: reqwest::Response) -> Answer {
        let headers = response.headers().clone();
        if let Some(session) = session_of(&headers) {
            let mut sessions = self.sessions();
            if !sessions.contains_key(session) {
                if sessions.len() >= MAX_SESSIONS {
                    sessions.clear();
                }
                sessions.insert(session.to_owned(), Arc::clone(&proxy));
            }
        }
        let status = response.status();
        let mut answer = Response::new(relayed(proxy, response));
        *answer.status_mut() = status;
        *answer.headers_mut() = passed(&headers, &[]);
        answer
    }
}

/// Takes a request as it comes; a large one is not held in memory.
async fn taken(incoming: Incoming, scratch: &Path) -> Result<Held, String> {
    let mut holder = Holder::new(scratch);
    let mut incoming = Limited::new(incoming, REQUEST_BYTES);
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Ok(bytes) = frame.into_data() {
            holder.push(&bytes);
        }
    }
    match holder.end() {
        Taken::Message(message) => Ok(message),
        Taken::Lost { why, .. } => Err(why),
    }
}

/// Tells whether an answer cannot be read as it is.
fn is_encoded(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(CONTENT_ENCODING);
    encodings.iter().any(|encoding| encoding != "identity")
}

/// Returns the session that headers name.
fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}

/// Answers a call of our own tools.
async fn own(proxy: &Proxy, call: OwnCall) -> Answer {
    let id = call.id.clone();
    let answer = tokio::task::spawn_blocking(|| call.answer()).await;
    proxy.answered(&id);
    match answer {
        Ok(answer) => json(answer),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Returns the body of an answer as it passes. What breaks off there breaks off here, so that it does not look whole; and when
/// nobody reads it any more, the server is not heard any more.
fn relayed(proxy: Arc<Proxy>, response: reqwest::Response) -> BoxBody<Bytes, io::Error> {
    let is_events = is_events(response.headers());
    let (to, from) = tokio::io::duplex(64 << 10);
    let (broken, breaks) = oneshot::channel::<io::Error>();
    let (is_read, unread) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let relay = async {
            match is_events {
                true => sse::relay(&proxy, reader(response), &mut Events(to)).await,
                false => relay_whole(&proxy, response, to).await,
            }
        };
        tokio::select! {
            result = relay => {
                if let Err(error) = result {
                    let _ = broken.send(error);
                }
            }
            _ = unread => {}
        }
    });
    let frames = ReaderStream::new(from).map_ok(move |bytes| {
        // Dropped with the body.
        let _ = &is_read;
        Frame::data(bytes)
    });
    let end = stream::once(breaks).filter_map(|error| std::future::ready(error.ok().map(Err)));
    BoxBody::new(StreamBody::new(frames.chain(end)))
}

/// Passes an answer back that is one message, whatever it calls itself, or none.
async fn relay_whole(
    proxy: &Proxy,
    response: reqwest::Response,
    mut to: DuplexStream,
) -> io::Result<()> {
    let mut input = reader(response);
    let mut holder = Holder::new(proxy.scratch());
    let mut chunk = vec![0; 64 << 10];
    loop {
        match input.read(&mut chunk).await? {
            0 => break,
            len => holder.push(&chunk[..len]),
        }
    }
    match holder.end() {
        Taken::Message(held) => match decided(held, |held| proxy.server_said(held))? {
            FromServer::Forward(message) => message.write(&mut to).await?,
            FromServer::Refused(answer, _) => to.write_all(&answer).await?,
            FromServer::Garbage(held, _) => {
                super::super::Edited::unchanged(held).write(&mut to).await?;
            }
        },
        Taken::Lost { why, start, end } => {
            for answer in proxy.lost(&why, &start, &end) {
                to.write_all(&answer).await?;
            }
        }
    }
    to.shutdown().await
}

/// Returns headers without those that are between two neighbours, and without `left_out`.
fn passed(headers: &HeaderMap, left_out: &[hyper::header::HeaderName]) -> HeaderMap {
    let mut passed = headers.clone();
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        passed.remove(name);
    }
    for name in left_out {
        passed.remove(name);
    }
    for name in [
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "proxy-authorization",
    ] {
        passed.remove(name);
    }
    passed
}

fn json(message: Vec<u8>) -> Answer {
    let mut answer = whole(message);
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn refusal(status: StatusCode, why: &str) -> Answer {
    let mut answer = whole(format!("overspill: {why}\n").into_bytes());
    *answer.status_mut() = status;
    answer
}

fn whole(bytes: Vec<u8>) -> Answer {
    let body = Full::new(Bytes::from(bytes)).map_err(|never| match never {});
    Response::new(body.boxed())
}
