//! A message that is sent on with a few places changed.

use std::io::{self, Read as _};
use std::ops::Range;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::held::Held;
use super::outline::Span;

/// How much is copied at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A place, and what stands there instead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Edit {
    pub(super) range: Range<u64>,
    pub(super) text: Vec<u8>,
}

impl Edit {
    pub(super) fn replace(range: Range<u64>, text: impl Into<Vec<u8>>) -> Edit {
        Edit {
            range,
            text: text.into(),
        }
    }

    pub(super) fn insert(at: u64, text: impl Into<Vec<u8>>) -> Edit {
        Edit::replace(at..at, text)
    }

    /// Removes a member or an item, with the comma that parts it from its neighbour.
    pub(super) fn remove(span: &Span, held: &Held) -> io::Result<Edit> {
        let range = match span.after {
            Some(after) => after..span.value.end,
            None => span.start..next_start(held, span.value.end)?,
        };
        Ok(Edit::replace(range, ""))
    }
}

/// Returns where what follows a first member begins: behind its comma if there is one.
fn next_start(held: &Held, end: u64) -> io::Result<u64> {
    let mut bytes = held.pieces(end..held.len()).bytes();
    let mut at = end;
    loop {
        match bytes.next().transpose()? {
            Some(byte) if byte.is_ascii_whitespace() => at += 1,
            Some(b',') => return Ok(at + 1),
            _ => return Ok(end),
        }
    }
}

/// A message on its way out.
#[derive(Debug)]
pub(crate) struct Edited {
    held: Held,
    /// By place, none over another.
    edits: Vec<Edit>,
}

impl Edited {
    /// Returns a message as it came.
    pub(crate) fn unchanged(held: Held) -> Edited {
        Edited {
            held,
            edits: Vec::new(),
        }
    }

    /// Returns a message with places changed; as it came if two of them overlap, which no message with one content has.
    pub(super) fn new(held: Held, mut edits: Vec<Edit>) -> Result<Edited, Held> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let is_apart = edits
            .windows(2)
            .all(|pair| pair[0].range.end <= pair[1].range.start);
        match is_apart && edits.last().is_none_or(|edit| edit.range.end <= held.len()) {
            true => Ok(Edited { held, edits }),
            false => Err(held),
        }
    }

    /// Tells whether it is as it came.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.edits.is_empty()
    }

    /// Writes it, without a newline.
    pub(crate) async fn write(&self, out: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        self.write_from(0, out).await
    }

    /// Writes it without its first bytes, in which nothing is changed.
    pub(crate) async fn write_from(
        &self,
        from: u64,
        out: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let mut at = from;
        for edit in &self.edits {
            self.copy(at..edit.range.start, out).await?;
            out.write_all(&edit.text).await?;
            at = edit.range.end;
        }
        self.copy(at..self.held.len(), out).await
    }

    async fn copy(&self, range: Range<u64>, out: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if let Held::Memory(bytes) = &self.held {
            let bytes = &bytes[range.start as usize..range.end as usize];
            return out.write_all(bytes).await;
        }
        let mut part = self.held.part(range);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match part.read(&mut chunk)? {
                0 => return Ok(()),
                len => out.write_all(&chunk[..len]).await?,
            }
        }
    }
}
