//! A client at two pipes, and a server at an address.
//!
//! Each message of the client is a request; what comes back is one message, a stream of them, or nothing. A stream of what
//! the server says by itself is listened to beside, if the server has one. A stream that breaks off is taken up again where it
//! was left.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::lines::{ClientLines, Lines, Report, decided};
use super::super::sse::{self, Emit};
use super::super::{
    Edited, Forwarded, FromClient, FromServer, Held, Holder, OwnCall, Proxy, Taken, Trouble,
};
use super::Upstream;
use super::upstream::{body, cause, is_events, reader, set};
use crate::pipes::Pipes;

/// How long answers are waited for that are under way when the client has said all it had to say.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a stream that broke off is left alone, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// How often an answer is asked for again of which nothing more comes.
const ATTEMPTS: u32 = 5;

/// How much of a refusal is told.
const REFUSAL_BYTES: usize = 300;

/// Relays until the client goes away, or until `until` is done.
pub async fn bridge(
    proxy: Proxy,
    upstream: Upstream,
    client: Pipes,
    report: &dyn Report,
    until: impl Future<Output = ()>,
) -> io::Result<()> {
    let bridge = Arc::new(Bridge {
        proxy,
        upstream,
        client: ClientLines::new(client.output),
        session: Mutex::default(),
    });
    let (mut tasks, mut own) = (JoinSet::new(), JoinSet::new());
    let mut lines = Lines::new(client.input, bridge.proxy.scratch());
    tokio::pin!(until);
    loop {
        let taken = tokio::select! {
            taken = lines.next() => taken?,
            () = &mut until => None,
        };
        match taken {
            Some(Taken::Message(held)) => {
                match decided(held, |held| bridge.proxy.client_said(held))? {
                    FromClient::Own(call) => bridge.do_own(*call, &mut own),
                    FromClient::Forward(forwarded) => {
                        let forwarded = bridge.forward(forwarded, &mut tasks);
                        tokio::select! {
                            () = forwarded => {}
                            () = &mut until => break,
                        }
                    }
                }
            }
            Some(Taken::Lost { why, start, end }) => {
                if let Some(answer) = bridge.proxy.refuse(&why, &start, &end) {
                    bridge.client.tell(&answer).await?;
                }
            }
            None => break,
        }
        while tasks.try_join_next().is_some() || own.try_join_next().is_some() {}
    }
    let answered =
        async { while bridge.proxy.is_waited_for() && tasks.join_next().await.is_some() {} };
    if timeout(PATIENCE, answered).await.is_err() {
        report.say(&format!("`{}` did not answer in time", bridge.proxy.name()));
    }
    let _ = timeout(PATIENCE, async { while own.join_next().await.is_some() {} }).await;
    for answer in bridge.proxy.server_gone(&Trouble::Silent) {
        // A client that does not read is gone.
        let _ = bridge.client.tell(&answer).await;
    }
    tasks.abort_all();
    bridge.end_session().await;
    Ok(())
}

/// Where a stream of events was left.
#[derive(Debug, Default)]
struct Place {
    /// The last event that had a name.
    last: Option<String>,
    /// How long the server wants to be left alone.
    retry: Option<Duration>,
    /// How often the stream was asked for since something came.
    attempts: u32,
}

impl Place {
    fn note(&mut self, line: &Held) -> io::Result<()> {
        /// Longer is none of the two.
        const MOST_BYTES: u64 = 1024;
        if line.len() > MOST_BYTES {
            return Ok(());
        }
        let line = line.bytes(0..line.len())?;
        let line = String::from_utf8_lossy(&line);
        let Some((field, value)) = line.trim_end().split_once(':') else {
            return Ok(());
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.last = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis),
            _ => {}
        }
        Ok(())
    }

    /// Returns how long to wait before the stream is asked for again: longer each time that nothing came.
    fn pause(&mut self) -> Duration {
        let wait = self.retry.unwrap_or(FIRST_PAUSE) * 2_u32.saturating_pow(self.attempts.min(8));
        self.attempts += 1;
        wait.min(LAST_PAUSE)
    }
}

/// Sends the messages of events on as lines.
struct MessagesOnly<'c> {
    client: &'c ClientLines,
    place: &'c mut Place,
}

impl Emit for MessagesOnly<'_> {
    async fn message(&mut self, line: &Edited, at: u64) -> io::Result<()> {
        self.place.attempts = 0;
        self.client.send(line, at).await
    }

    async fn unchanged(&mut self, _: Vec<Held>, message: &Edited, at: u64) -> io::Result<()> {
        self.message(message, at).await
    }

    async fn other(&mut self, line: Held) -> io::Result<()> {
        self.place.note(&line)
    }

    async fn own(&mut self, message: &[u8]) -> io::Result<()> {
        self.client.tell(message).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of asking for a stream.
enum Opened {
    Stream(Response),
    /// It may be there later.
    Unreachable,
    /// There is none.
    Refused,
}

struct Bridge {
    proxy: Proxy,
    upstream: Upstream,
    client: ClientLines,
    /// The session that the server began.
    session: Mutex<Option<String>>,
}

impl Bridge {
    /// Sends a message to the server. What begins a session must be answered before others follow; the rest need not wait.
    async fn forward(self: &Arc<Self>, forwarded: Forwarded, tasks: &mut JoinSet<()>) {
        let (method, id) = (forwarded.method.clone(), forwarded.ids.first().cloned());
        let this = Arc::clone(self);
        let done = Arc::new(Notify::new());
        let told = Arc::clone(&done);
        tasks.spawn(async move {
            this.ask(forwarded).await;
            told.notify_one();
        });
        let is_beginning = matches!(
            method.as_str(),
            "initialize" | "server/discover" | "notifications/initialized"
        );
        if is_beginning {
            // The stream of an answer may stay open behind it.
            let answered = async {
                while id.as_deref().is_none_or(|id| self.proxy.has_pending(id)) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                () = done.notified() => {}
                () = answered => {}
                // A client that goes meanwhile must be noticed.
                () = tokio::time::sleep(PATIENCE) => {}
            }
        }
        if method == "notifications/initialized" {
            let this = Arc::clone(self);
            tasks.spawn(async move { this.listen().await });
        }
    }

    /// Answers a call without keeping others waiting.
    fn do_own(self: &Arc<Self>, call: OwnCall, tasks: &mut JoinSet<()>) {
        let this = Arc::clone(self);
        tasks.spawn(async move {
            let id = call.id.clone();
            if let Ok(answer) = tokio::task::spawn_blocking(|| call.answer()).await {
                // A client that does not read is gone.
                let _ = this.client.tell(&answer).await;
            }
            this.proxy.answered(&id);
        });
    }

    /// Asks the server, and passes on what it answers; if it does not, says so.
    async fn ask(&self, forwarded: Forwarded) {
        let ids = forwarded.ids.clone();
        let why = match self.post(forwarded).await {
            Ok(response) => match self.answer(response, &ids).await {
                Ok(()) => Trouble::SaidNothing,
                Err(error) => Trouble::BrokeOff(error.to_string()),
            },
            Err(trouble) => trouble,
        };
        for answer in ids.iter().filter_map(|id| self.proxy.failed(id, &why)) {
            // A client that does not read is gone.
            let _ = self.client.tell(&answer).await;
        }
    }

    async fn post(&self, forwarded: Forwarded) -> Result<Response, Trouble> {
        let mut headers = Upstream::message_headers();
        self.add_session(&mut headers, forwarded.version.as_deref());
        set(&mut headers, "mcp-method", &forwarded.method);
        if !forwarded.name.is_empty() {
            set(&mut headers, "mcp-name", &forwarded.name);
        }
        let request = self
            .upstream
            .request(Method::POST, headers)
            .body(body(forwarded.message));
        let response = request
            .send()
            .await
            .map_err(|error| Trouble::Unreachable(cause(&error)))?;
        if let Some(session) = response.headers().get("mcp-session-id")
            && let Ok(session) = session.to_str()
        {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
        }
        Ok(response)
    }

    /// Passes on the answer to a request.
    async fn answer(&self, response: Response, ids: &[String]) -> io::Result<()> {
        let status = response.status();
        if is_events(response.headers()) {
            return self.answer_in_events(response, ids).await;
        }
        let mut holder = Holder::new(self.proxy.scratch());
        let mut input = reader(response);
        let mut chunk = vec![0; 64 << 10];
        loop {
            let len = input.read(&mut chunk).await?;
            if len == 0 {
                break;
            }
            // A message is a line here; in JSON a line break is white space.
            for byte in chunk[..len]
                .iter_mut()
                .filter(|byte| matches!(byte, b'\n' | b'\r'))
            {
                *byte = b' ';
            }
            holder.push(&chunk[..len]);
        }
        match holder.end() {
            Taken::Message(held) if held.len() == 0 => match status.is_success() {
                true => Ok(()),
                false => Err(io::Error::other(format!("HTTP {status}"))),
            },
            Taken::Message(held) => {
                let start = held.bytes(0..REFUSAL_BYTES as u64)?;
                match decided(held, |held| self.proxy.server_said(held))? {
                    FromServer::Forward(message) => self.client.send(&message, 0).await,
                    FromServer::Refused(answer, _) => self.client.tell(&answer).await,
                    FromServer::Garbage(..) => {
                        let start = String::from_utf8_lossy(&start);
                        Err(io::Error::other(format!("HTTP {status}: {}", start.trim())))
                    }
                }
            }
            Taken::Lost { why, start, end } => {
                for answer in self.proxy.lost(&why, &start, &end) {
                    self.client.tell(&answer).await?;
                }
                Ok(())
            }
        }
    }

    /// Passes on a stream that has the answer to a request in it. A server may end it before that, and give the rest to who
    /// asks for what comes after the last event.
    async fn answer_in_events(&self, response: Response, ids: &[String]) -> io::Result<()> {
        let mut place = Place::default();
        let mut ended = self.events(response, &mut place).await;
        let is_open = || ids.iter().any(|id| self.proxy.has_pending(id));
        while is_open() && place.last.is_some() && place.attempts < ATTEMPTS {
            tokio::time::sleep(place.pause()).await;
            match self.open(&place).await {
                Opened::Stream(response) => ended = self.events(response, &mut place).await,
                Opened::Unreachable => {}
                Opened::Refused => break,
            }
        }
        ended
    }

    async fn events(&self, response: Response, place: &mut Place) -> io::Result<()> {
        let mut out = MessagesOnly {
            client: &self.client,
            place,
        };
        sse::relay(&self.proxy, reader(response), &mut out).await
    }

    /// Asks for a stream of events, from where it was left.
    async fn open(&self, place: &Place) -> Opened {
        let mut headers = HeaderMap::new();
        set(&mut headers, "accept", "text/event-stream");
        if let Some(last) = &place.last {
            set(&mut headers, "last-event-id", last);
        }
        self.add_session(&mut headers, None);
        match self.upstream.request(Method::GET, headers).send().await {
            Ok(response)
                if response.status() == StatusCode::OK && is_events(response.headers()) =>
            {
                Opened::Stream(response)
            }
            // One that is overloaded, or behind a gateway that is, may have it later.
            Ok(response) if response.status().is_server_error() => Opened::Unreachable,
            Ok(_) => Opened::Refused,
            Err(_) => Opened::Unreachable,
        }
    }

    /// Listens to what the server says by itself. A server that says nothing so refuses, which is no trouble.
    async fn listen(&self) {
        let mut place = Place::default();
        loop {
            match self.open(&place).await {
                // Streams end for many reasons, of which most are no reason to stop listening.
                Opened::Stream(response) => drop(self.events(response, &mut place).await),
                Opened::Unreachable => {}
                Opened::Refused => return,
            }
            tokio::time::sleep(place.pause()).await;
        }
    }

    async fn end_session(&self) {
        let mut headers = HeaderMap::new();
        self.add_session(&mut headers, None);
        if headers.contains_key("mcp-session-id") {
            let request = self.upstream.request(Method::DELETE, headers).send();
            let _ = timeout(Duration::from_secs(2), request).await;
        }
    }

    fn add_session(&self, headers: &mut HeaderMap, version: Option<&str>) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = session.as_deref() {
            set(headers, "mcp-session-id", session);
        }
        let chosen = version.map(str::to_owned).or_else(|| self.proxy.version());
        if let Some(version) = chosen {
            set(headers, "mcp-protocol-version", &version);
        }
    }
}
