//! Summaries by a model behind an OpenAI-compatible endpoint.
//!
//! One request, not streamed; what may pass is tried again with growing pauses, all within one deadline. Certificates are
//! checked, redirects are not followed. A reason names the host and the cause, never the key, the text or what came back.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use overspill::notice::{Lang, Message};
use overspill::settings::Effective;
use overspill::{Summarizer, SummaryRequest, io_cause};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::{Value, json};

use crate::config;
use crate::exit::usage_error;

/// How often a model is asked at most, and how long it is left in peace after the first time. Each pause is twice the last.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// More than this is no answer.
const ANSWER_BYTES: usize = 1 << 20;

/// How much later than its deadline a thread may say how it went.
const SLACK: Duration = Duration::from_millis(200);

/// Returns what writes summaries, if the user wants any and says where.
pub(crate) fn of_settings(effective: &Effective) -> anyhow::Result<Option<Arc<dyn Summarizer>>> {
    let word = |key: &str| effective.text(key).unwrap_or_default().to_owned();
    let Some(base) = effective.text("base_url") else {
        return Ok(None);
    };
    if effective.text("enabled").is_none() {
        return Ok(None);
    }
    let address = format!("{}/chat/completions", base.trim_end_matches('/'));
    let url = Url::parse(&address)
        .map_err(|error| usage_error(format!("`summarization.base_url` is `{base}`: {error}")))?;
    let variable = word("api_key_env");
    let timeout_ms = effective.number("timeout_ms").unwrap_or_default() as u64;
    Ok(Some(Arc::new(Endpoint {
        url,
        model: word("model"),
        key: Key::of(config::secret(&variable).as_deref()),
        variable,
        timeout: Duration::from_millis(timeout_ms),
    })))
}

/// A model at an address.
#[derive(Clone, Debug)]
struct Endpoint {
    url: Url,
    model: String,
    key: Key,
    /// Where the key is looked for.
    variable: String,
    timeout: Duration,
}

/// What is sent to show who asks.
#[derive(Clone, Debug)]
enum Key {
    /// The variable is not set, or holds what no header can: a model of one's own may want none.
    Absent,
    /// A header that is never shown, also not by `Debug`.
    Given(HeaderValue),
}

impl Key {
    fn of(secret: Option<&str>) -> Key {
        let header =
            secret.map(|secret| HeaderValue::from_str(&format!("Bearer {}", secret.trim())));
        match header {
            Some(Ok(mut header)) => {
                header.set_sensitive(true);
                Key::Given(header)
            }
            _ => Key::Absent,
        }
    }
}

impl Summarizer for Endpoint {
    fn model(&self) -> &str {
        &self.model
    }

    /// Works in a thread of its own, since whoever asks may be a task that must not start another runtime.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let deadline = Instant::now() + self.timeout;
        let (sender, answer) = mpsc::channel();
        let (endpoint, body) = (self.clone(), self.body(request));
        let max_tokens = request.max_chars;
        let work = move || drop(sender.send(endpoint.ask_until(deadline, &body)));
        let started = thread::Builder::new()
            .name("summary".to_owned())
            .spawn(work)
            .map_err(|error| Trouble::Unreachable(io_cause(&error)));
        let patience = deadline.saturating_duration_since(Instant::now()) + SLACK;
        started
            .and_then(|_| answer.recv_timeout(patience).unwrap_or(Err(Trouble::Slow)))
            .map_err(|trouble| self.say(&trouble, max_tokens, request.lang))
    }
}

impl Endpoint {
    fn body(&self, request: &SummaryRequest<'_>) -> Vec<u8> {
        let message = |role: &str, text: &str| json!({ "role": role, "content": text });
        let body = json!({
            "model": self.model,
            "messages": [message("system", request.instructions), message("user", request.text)],
            "stream": false,
            "temperature": 0,
            // A token is at least about a char, so this holds back only what is far too long.
            "max_tokens": request.max_chars,
        });
        body.to_string().into_bytes()
    }

    /// Asks until there is an answer, there is no point in asking, or the time is over.
    fn ask_until(&self, deadline: Instant, body: &[u8]) -> Result<String, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Unreachable(io_cause(&error)))?;
        let asked = runtime.block_on(async {
            tokio::time::timeout_at(deadline.into(), self.ask(deadline, body)).await
        });
        // A name that is still being looked up must not keep us.
        runtime.shutdown_background();
        asked.unwrap_or(Err(Trouble::Slow))
    }

    async fn ask(&self, deadline: Instant, body: &[u8]) -> Result<String, Trouble> {
        let client = client()?;
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let trouble = match self.ask_once(&client, body).await {
                Ok(answer) => return read(&answer),
                Err(trouble) => trouble,
            };
            let wait = trouble.retry_after().unwrap_or_default().max(pause);
            let is_in_time = Instant::now() + wait < deadline;
            if attempt == ATTEMPTS || !trouble.may_pass() || !is_in_time {
                return Err(trouble);
            }
            tracing::debug!(attempt, "summary: trying again");
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
        Err(Trouble::Slow)
    }

    /// Returns the body of an answer that is a success.
    async fn ask_once(&self, client: &Client, body: &[u8]) -> Result<Vec<u8>, Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Key::Given(header) = &self.key {
            headers.insert(AUTHORIZATION, header.clone());
        }
        let request = client.post(self.url.clone()).headers(headers);
        let mut response = request.body(body.to_owned()).send().await?;
        if response.status() != StatusCode::OK {
            return Err(Trouble::Status {
                status: response.status(),
                retry_after: retry_after(&response),
            });
        }
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if answer.len() + chunk.len() > ANSWER_BYTES {
                return Err(Trouble::Huge);
            }
            answer.extend_from_slice(&chunk);
        }
        Ok(answer)
    }

    fn say(&self, trouble: &Trouble, max_tokens: usize, lang: Lang) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let host = self
            .url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let host = ("host", host.as_str());
        match trouble {
            Trouble::Status { status, .. } => {
                let is_refused =
                    matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                let message = match self.key {
                    Key::Absent if is_refused => Message::ModelWantsKey,
                    _ => Message::ModelAnswered,
                };
                let variable = ("variable", self.variable.as_str());
                message.say(lang, &[host, ("status", status.as_str()), variable])
            }
            Trouble::Unreachable(cause) | Trouble::Untrusted(cause) => {
                Message::ModelTrouble.say(lang, &[host, ("cause", cause)])
            }
            Trouble::Closed => {
                let cause = Message::ModelClosed.say(lang, &[]);
                Message::ModelTrouble.say(lang, &[host, ("cause", &cause)])
            }
            Trouble::Nonsense => Message::ModelNonsense.say(lang, &[host]),
            Trouble::Huge => {
                Message::ModelHuge.say(lang, &[host, ("n", &ANSWER_BYTES.to_string())])
            }
            Trouble::Unfinished => {
                Message::ModelUnfinished.say(lang, &[host, ("n", &max_tokens.to_string())])
            }
            Trouble::Slow => {
                let ms = self.timeout.as_millis().to_string();
                Message::ModelSlow.say(lang, &[host, ("t", &ms)])
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
enum Trouble {
    Status {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    /// There is no connection, and why.
    Unreachable(String),
    /// Whoever is there cannot show that it is who it is.
    Untrusted(String),
    /// The connection broke off.
    Closed,
    Nonsense,
    Huge,
    /// The model was stopped in the middle.
    Unfinished,
    Slow,
}

impl Trouble {
    /// Tells whether it may have passed the next time.
    fn may_pass(&self) -> bool {
        match self {
            Trouble::Status { status, .. } => {
                status.is_server_error()
                    || matches!(
                        *status,
                        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
                    )
            }
            Trouble::Unreachable(_) | Trouble::Closed => true,
            Trouble::Untrusted(_)
            | Trouble::Nonsense
            | Trouble::Huge
            | Trouble::Unfinished
            | Trouble::Slow => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl From<reqwest::Error> for Trouble {
    fn from(error: reqwest::Error) -> Self {
        if !error.is_connect() && !error.is_builder() {
            return Trouble::Closed;
        }
        // What is at the bottom names the cause, and not the address.
        let mut cause: &(dyn Error + 'static) = &error;
        let mut is_untrusted = false;
        while let Some(deeper) = inside(cause) {
            cause = deeper;
            is_untrusted |= cause.is::<rustls::Error>();
        }
        let said = match cause.downcast_ref::<io::Error>() {
            Some(bottom) => io_cause(bottom),
            None => cause.to_string(),
        };
        match is_untrusted {
            true => Trouble::Untrusted(said),
            false => Trouble::Unreachable(said),
        }
    }
}

/// Returns what an error was made of. An I/O error names as its source only that of the error inside it.
fn inside<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn client() -> Result<Client, Trouble> {
    // Another one may be chosen already, and is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Elsewhere the key and the output are nobody's business.
    Ok(Client::builder().redirect(Policy::none()).build()?)
}

/// Returns how long a server asks to be left in peace.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Returns what the model says in an answer.
fn read(answer: &[u8]) -> Result<String, Trouble> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_| Trouble::Nonsense)?;
    let choice = &answer["choices"][0];
    match (&choice["finish_reason"], &choice["message"]["content"]) {
        (Value::String(reason), _) if reason == "length" => Err(Trouble::Unfinished),
        (_, Value::String(content)) => Ok(content.clone()),
        _ => Err(Trouble::Nonsense),
    }
}
