//! Messages in a stream of events.
//!
//! An event is lines up to a blank one; its message is behind `data:`. An event whose message is not changed passes byte for
//! byte.

use std::io::{self, BufRead as _};
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::lines::{Lines, decided};
use super::{Edited, FromServer, Held, Holder, Proxy, Taken};

const DATA: &[u8] = b"data:";

/// Where events go.
pub(super) trait Emit {
    /// Sends a message on, which stands in its line behind `data:`.
    fn message(&mut self, line: &Edited, at: u64) -> impl Future<Output = io::Result<()>> + Send;
    /// Sends a message on that is not changed, and the several lines in which it stands.
    fn unchanged(
        &mut self,
        lines: Vec<Held>,
        message: &Edited,
        at: u64,
    ) -> impl Future<Output = io::Result<()>> + Send;
    /// Sends another line of an event on, where events are sent.
    fn other(&mut self, line: Held) -> impl Future<Output = io::Result<()>> + Send;
    /// Sends a message of our own.
    fn own(&mut self, message: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// Ends an event.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// Sends events on as events.
pub(super) struct Events<W>(pub(super) W);

impl<W: AsyncWrite + Unpin + Send> Emit for Events<W> {
    async fn message(&mut self, line: &Edited, _at: u64) -> io::Result<()> {
        line.write(&mut self.0).await?;
        self.0.write_all(b"\n").await
    }

    async fn unchanged(&mut self, lines: Vec<Held>, _: &Edited, _: u64) -> io::Result<()> {
        for line in lines {
            self.other(line).await?;
        }
        Ok(())
    }

    async fn other(&mut self, line: Held) -> io::Result<()> {
        Edited::unchanged(line).write(&mut self.0).await?;
        self.0.write_all(b"\n").await
    }

    async fn own(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.write_all(b"data: ").await?;
        self.0.write_all(message).await?;
        self.0.write_all(b"\n\n").await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }
}

/// Relays a stream of events until it ends.
pub(super) async fn relay(
    proxy: &Proxy,
    input: impl AsyncRead + Unpin,
    out: &mut impl Emit,
) -> io::Result<()> {
    let mut lines = Lines::new(input, proxy.scratch());
    let mut event = Event::default();
    while let Some(taken) = lines.next_line().await? {
        match taken {
            Taken::Message(line) => {
                let is_end = line.len() == 0 || (line.len() == 1 && line.bytes(0..1)? == b"\r");
                event.push(line)?;
                if is_end {
                    send(proxy, std::mem::take(&mut event), out).await?;
                    out.flush().await?;
                }
            }
            Taken::Lost { why, start, end } => {
                for answer in proxy.lost(&why, &start, &end) {
                    out.own(&answer).await?;
                }
            }
        }
    }
    send(proxy, event, out).await?;
    out.flush().await
}

/// The lines of an event.
#[derive(Default)]
struct Event {
    lines: Vec<Held>,
    /// How many of them have a part of the message.
    data: usize,
    /// What they take in memory.
    bytes: u64,
}

impl Event {
    fn push(&mut self, line: Held) -> io::Result<()> {
        /// An event that takes more is none: long lines are in files, so this is many short ones.
        const MOST_BYTES: u64 = 16 << 20;
        /// No other line of an event is longer.
        const OTHER_BYTES: u64 = 64 << 10;
        let is_data = is_data(&line)?;
        if !is_data && line.len() > OTHER_BYTES {
            return Err(io::Error::other("a line of an event is too long"));
        }
        self.data += usize::from(is_data);
        if let Held::Memory(bytes) = &line {
            self.bytes += (bytes.len() + size_of::<Held>()) as u64;
        }
        self.lines.push(line);
        match self.bytes <= MOST_BYTES {
            true => Ok(()),
            false => Err(io::Error::other("an event has too many lines")),
        }
    }

    /// Puts a message together that stands on several lines: its line breaks are white space.
    fn joined(&self, scratch: &Path) -> io::Result<Held> {
        let mut holder = Holder::new(scratch);
        for line in &self.lines {
            if !is_data(line)? {
                continue;
            }
            let skipped = match holder.is_empty() {
                true => 0,
                false => DATA.len() as u64,
            };
            if skipped > 0 {
                holder.push(b" ");
            }
            let mut pieces = line.pieces(skipped..line.len());
            loop {
                let piece = pieces.fill_buf()?;
                if piece.is_empty() {
                    break;
                }
                holder.push(piece);
                let len = piece.len();
                pieces.consume(len);
            }
        }
        match holder.end() {
            Taken::Message(message) => Ok(message),
            Taken::Lost { why, .. } => Err(io::Error::other(why)),
        }
    }
}

/// Sends an event on.
async fn send(proxy: &Proxy, mut event: Event, out: &mut impl Emit) -> io::Result<()> {
    if event.data <= 1 {
        for line in event.lines {
            match is_data(&line)? && !is_blank(&line)? {
                true => send_data(proxy, line, None, out).await?,
                false => out.other(line).await?,
            }
        }
        return Ok(());
    }
    let message = event.joined(proxy.scratch())?;
    let (mut data, mut others) = (Vec::new(), Vec::new());
    for line in std::mem::take(&mut event.lines) {
        match is_data(&line)? {
            true => data.push(line),
            false => others.push(line),
        }
    }
    // The blank line that ends the event stands behind its message.
    let end = others.pop();
    for line in others {
        out.other(line).await?;
    }
    send_data(proxy, message, Some(data), out).await?;
    match end {
        Some(end) => out.other(end).await,
        None => Ok(()),
    }
}

/// Sends the message of an event on; one that is not changed as the lines that it came in.
async fn send_data(
    proxy: &Proxy,
    line: Held,
    lines: Option<Vec<Held>>,
    out: &mut impl Emit,
) -> io::Result<()> {
    let (mut at, end) = (DATA.len() as u64, line.len());
    // One space belongs to the event.
    at += u64::from(line.bytes(at..at + 1)? == b" ");
    match decided(line, |line| proxy.server_said_at(line, at..end))? {
        FromServer::Forward(message) => match lines {
            Some(lines) if message.is_unchanged() => out.unchanged(lines, &message, at).await,
            _ => out.message(&message, at).await,
        },
        FromServer::Refused(answer, _) => out.own(&answer).await,
        FromServer::Garbage(line, _) => out.other(line).await,
    }
}

fn is_data(line: &Held) -> io::Result<bool> {
    Ok(line.bytes(0..DATA.len() as u64)? == DATA)
}

/// Tells whether an event has no message: it only gives the stream a place to begin again from.
fn is_blank(line: &Held) -> io::Result<bool> {
    let at = DATA.len() as u64;
    Ok(line.len() < at + 4 && line.bytes(at..at + 4)?.trim_ascii().is_empty())
}
