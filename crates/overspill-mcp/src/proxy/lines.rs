//! Messages that are lines.

use std::io;
use std::path::Path;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufWriter};
use tokio::sync::Mutex;

use super::{Edited, Held, Holder, Taken};
use crate::pipes::Output;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A message of more bytes is worked on where others do not wait for it: it may be long, and a model may be asked about it.
const LONG_BYTES: u64 = 16 << 10;

/// Hears what is said to the user, beside the messages.
pub trait Report: Send + Sync {
    /// Says a line.
    fn say(&self, line: &str);
}

/// Reads lines of any length in bounded memory.
pub(crate) struct Lines<R> {
    input: R,
    holder: Holder,
    chunk: Vec<u8>,
    /// What of the chunk is still to be read.
    from: usize,
    to: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R, scratch: &Path) -> Self {
        Lines {
            input,
            holder: Holder::new(scratch),
            chunk: vec![0; CHUNK_BYTES],
            from: 0,
            to: 0,
        }
    }

    /// Returns the next line that is not empty; also one that the input ended in.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Taken>> {
        loop {
            match self.next_line().await? {
                Some(Taken::Message(line)) if line.len() == 0 => {}
                other => return Ok(other),
            }
        }
    }

    /// Returns the next line; also one that the input ended in, if it is not empty.
    pub(crate) async fn next_line(&mut self) -> io::Result<Option<Taken>> {
        loop {
            let rest = &self.chunk[self.from..self.to];
            if let Some(newline) = memchr(b'\n', rest) {
                self.holder.push(&rest[..newline]);
                self.from += newline + 1;
                return Ok(Some(self.holder.end()));
            }
            if !rest.is_empty() {
                self.holder.push(rest);
            }
            (self.from, self.to) = (0, 0);
            self.to = self.input.read(&mut self.chunk).await?;
            if self.to == 0 {
                let last = (!self.holder.is_empty()).then(|| self.holder.end());
                return Ok(last);
            }
        }
    }
}

/// A client at a pipe: messages of several tasks, each a whole line.
pub(crate) struct ClientLines(Mutex<BufWriter<Output>>);

impl ClientLines {
    pub(crate) fn new(out: Output) -> Self {
        ClientLines(Mutex::new(BufWriter::new(out)))
    }

    /// Sends a message, of which the first bytes may not belong to it.
    pub(crate) async fn send(&self, message: &Edited, from: u64) -> io::Result<()> {
        let mut out = self.0.lock().await;
        message.write_from(from, &mut *out).await?;
        out.write_all(b"\n").await?;
        out.flush().await
    }

    /// Sends a message of our own.
    pub(crate) async fn tell(&self, message: &[u8]) -> io::Result<()> {
        let mut out = self.0.lock().await;
        out.write_all(message).await?;
        out.write_all(b"\n").await?;
        out.flush().await
    }
}

/// Decides about a message; a long one in a way that lets others go on.
pub(crate) fn decided<T>(held: Held, decide: impl FnOnce(Held) -> io::Result<T>) -> io::Result<T> {
    match held.len() > LONG_BYTES {
        true => tokio::task::block_in_place(|| decide(held)),
        false => decide(held),
    }
}
