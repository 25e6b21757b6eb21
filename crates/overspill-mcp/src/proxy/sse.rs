//! Messages in a stream of events.
//!
//! An event is lines up to a blank one; its message is behind `data:`. An event whose message is not changed passes byte for
//! byte.

use std::io::{self, Read as _};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::lines::{Lines, decided};
use super::{Edited, FromServer, Held, Holder, Proxy, Taken};

const DATA: &[u8] = b"data:";

/// Where events go.
pub(super) trait Emit {
    /// Sends a message on, which stands in its line behind `data:`.
    fn message(&mut self, line: &Edited, at: u64) -> impl Future<Output = io::Result<()>> + Send;
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
    let mut event = Vec::new();
    while let Some(taken) = lines.next_line().await? {
        match taken {
            Taken::Message(line) => {
                let is_end = line.len() == 0 || (line.len() == 1 && line.bytes(0..1)? == b"\r");
                event.push(line);
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

/// Sends an event on.
async fn send(proxy: &Proxy, event: Vec<Held>, out: &mut impl Emit) -> io::Result<()> {
    let mut data = 0;
    for line in &event {
        data += usize::from(is_data(line)?);
    }
    let event = if data > 1 {
        joined(event, proxy)?
    } else {
        event
    };
    for line in event {
        if !is_data(&line)? || is_blank(&line)? {
            out.other(line).await?;
            continue;
        }
        let (mut at, end) = (DATA.len() as u64, line.len());
        // One space belongs to the event.
        at += u64::from(line.bytes(at..at + 1)? == b" ");
        match decided(line, |line| proxy.server_said_at(line, at..end))? {
            FromServer::Forward(message) => out.message(&message, at).await?,
            FromServer::Refused(answer, _) => out.own(&answer).await?,
            FromServer::Garbage(line, _) => out.other(line).await?,
        }
    }
    Ok(())
}

fn is_data(line: &Held) -> io::Result<bool> {
    Ok(line.bytes(0..DATA.len() as u64)? == DATA)
}

/// Tells whether an event has no message: it only gives the stream a place to begin again from.
fn is_blank(line: &Held) -> io::Result<bool> {
    let at = DATA.len() as u64;
    Ok(line.len() < at + 4 && line.bytes(at..at + 4)?.trim_ascii().is_empty())
}

/// Puts a message together that stands on several lines: its line breaks are white space.
fn joined(event: Vec<Held>, proxy: &Proxy) -> io::Result<Vec<Held>> {
    let mut holder = Holder::new(proxy.scratch());
    let mut others = Vec::new();
    for line in event {
        if !is_data(&line)? {
            others.push(line);
            continue;
        }
        let skipped = if holder.is_empty() {
            0
        } else {
            DATA.len() as u64
        };
        if skipped > 0 {
            holder.push(b" ");
        }
        let mut part = line.part(skipped..line.len());
        let mut chunk = vec![0; 64 << 10];
        loop {
            match part.read(&mut chunk)? {
                0 => break,
                len => holder.push(&chunk[..len]),
            }
        }
    }
    match holder.end() {
        Taken::Message(message) => others.insert(others.len().saturating_sub(1), message),
        Taken::Lost { why, .. } => return Err(io::Error::other(why)),
    }
    Ok(others)
}
