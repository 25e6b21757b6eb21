//! The server's address, and how it is asked.

use std::io::{self, Seek as _};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue,
};
use reqwest::redirect::Policy;
use reqwest::{Body, Client, Method, RequestBuilder, Response, Url};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use super::super::Held;

/// How long a connection may take to come about. An answer may take as long as it likes.
const CONNECT: Duration = Duration::from_secs(10);

/// A message that is sent is handed over in pieces of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// A server at an address.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

impl Upstream {
    /// Returns the server at an address, which is sent `headers` (`Name: value`) with every request.
    pub fn new(url: &str, headers: &[String]) -> io::Result<Upstream> {
        let told = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let url =
            Url::parse(url).map_err(|error| told(format!("the address of the server: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            let why = "the address of the server: expected `http` or `https`";
            return Err(told(why.to_owned()));
        }
        let headers = headers
            .iter()
            .map(|header| {
                parse(header).ok_or_else(|| {
                    told(format!(
                        "header `{}`: expected `Name: value`",
                        name_of(header)
                    ))
                })
            })
            .collect::<io::Result<HeaderMap>>()?;
        // Another one may be chosen already, and is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            // Elsewhere the headers of this server are nobody's business.
            .redirect(Policy::none())
            .build()
            .map_err(|error| io::Error::other(cause(&error)))?;
        Ok(Upstream {
            client,
            url,
            headers,
        })
    }

    /// Begins a request; the headers of the server's own come last and win.
    pub(super) fn request(&self, method: Method, headers: HeaderMap) -> RequestBuilder {
        self.client
            .request(method, self.url.clone())
            .headers(headers)
            .headers(self.headers.clone())
    }

    /// Returns the headers of a message.
    pub(super) fn message_headers() -> HeaderMap {
        HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (
                ACCEPT,
                HeaderValue::from_static("application/json, text/event-stream"),
            ),
        ])
    }
}

/// Returns what is sent.
pub(super) fn body(message: Held) -> Body {
    match message {
        Held::Memory(bytes) => Body::from(bytes),
        Held::File { mut file, .. } => {
            // It was written to its end, and is read from its start.
            if file.rewind().is_err() {
                return Body::default();
            }
            let file = tokio::fs::File::from_std(file);
            Body::wrap_stream(ReaderStream::with_capacity(file, CHUNK_BYTES))
        }
    }
}

/// Returns what reads an answer.
pub(super) fn reader(response: Response) -> impl AsyncRead + Unpin + Send {
    StreamReader::new(Box::pin(response.bytes_stream().map_err(io::Error::other)))
}

const EVENTS: &[u8] = b"text/event-stream";

/// Tells whether an answer is a stream of events.
pub(super) fn is_events(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.as_bytes().get(..EVENTS.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(EVENTS))
}

/// Returns why a request failed: what is at the bottom of it, without the address, which may hold a secret.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Sets a header, if its value can be one.
pub(super) fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn parse(header: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = header.split_once(':')?;
    let name: Result<HeaderName, InvalidHeaderName> = name.trim().parse();
    let value: Result<HeaderValue, InvalidHeaderValue> = value.trim().parse();
    let mut value = value.ok()?;
    value.set_sensitive(true);
    Some((name.ok()?, value))
}

/// Returns the name of a header; its value may be a secret.
fn name_of(header: &str) -> &str {
    header.split(':').next().unwrap_or_default()
}
