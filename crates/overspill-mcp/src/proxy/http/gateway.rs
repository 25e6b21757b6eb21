//! A client that speaks HTTP, and a server at an address: what comes goes on with its headers, and back.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::TryStreamExt as _;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, SimplexStream, WriteHalf};
use tokio_util::io::ReaderStream;

use super::super::lines::decided;
use super::super::sse::{self, Events};
use super::super::{FromClient, FromServer, Held, Holder, Proxy, Taken};
use super::Upstream;
use super::upstream::{body, cause, is_events, is_json, reader};
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
    sessions: Mutex<HashMap<String, Arc<Proxy>>>,
}

impl Gateway {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (parts, incoming) = request.into_parts();
        let proxy = self.proxy_of(&parts.headers);
        let bytes = match Limited::new(incoming, REQUEST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return refusal(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string()),
        };
        let mut message = Held::Memory(bytes.to_vec());
        if message.len() > 0 {
            message = match decided(message, |held| proxy.client_said(held)) {
                Ok(FromClient::Forward(forwarded)) => forwarded.message,
                Ok(FromClient::Answer(answer)) => return json(answer),
                Err(error) => {
                    return refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string());
                }
            };
        }
        let headers = passed(&parts.headers, &[HOST, ACCEPT_ENCODING]);
        let sent = self
            .upstream
            .request(parts.method, headers)
            .body(body(message))
            .send();
        match sent.await {
            Ok(response) => self.back(proxy, response).await,
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

    /// Returns what knows the session of a request; a new one if it has none.
    fn proxy_of(&self, headers: &HeaderMap) -> Arc<Proxy> {
        let session = headers
            .get("mcp-session-id")
            .and_then(|value| value.to_str().ok());
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        session
            .and_then(|session| sessions.get(session).cloned())
            .unwrap_or_else(|| Arc::new(self.fresh.fork()))
    }

    /// Passes an answer back.
    async fn back(&self, proxy: Arc<Proxy>, response: reqwest::Response) -> Answer {
        let headers = response.headers().clone();
        if let Some(session) = headers.get("mcp-session-id")
            && let Ok(session) = session.to_str()
        {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            if sessions.len() >= MAX_SESSIONS {
                sessions.clear();
            }
            sessions.insert(session.to_owned(), Arc::clone(&proxy));
        }
        let status = response.status();
        let (is_events, is_json) = (is_events(&headers), is_json(&headers));
        let (from, to) = tokio::io::simplex(64 << 10);
        tokio::spawn(async move {
            // Whoever reads learns by the end that there is no more.
            let _ = if is_events {
                let mut out = Events(to);
                let relayed = sse::relay(&proxy, reader(response), &mut out).await;
                let _ = out.0.shutdown().await;
                relayed
            } else {
                relay_whole(&proxy, response, to, is_json).await
            };
        });
        let stream = ReaderStream::new(from).map_ok(Frame::data);
        let mut answer = Response::new(StreamBody::new(stream).boxed());
        *answer.status_mut() = status;
        *answer.headers_mut() = passed(&headers, &[]);
        answer
    }
}

/// Passes an answer back that is one message, or none of ours.
async fn relay_whole(
    proxy: &Proxy,
    response: reqwest::Response,
    mut to: WriteHalf<SimplexStream>,
    is_json: bool,
) -> io::Result<()> {
    let mut input = reader(response);
    if !is_json {
        tokio::io::copy(&mut input, &mut to).await?;
        return to.shutdown().await;
    }
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
    passed.remove("keep-alive");
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
