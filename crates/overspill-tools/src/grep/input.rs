//! Opens a file for searching: what is binary, what is UTF-16, what is too large to hold.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use encoding_rs_io::DecodeReaderBytesBuilder;
use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink};
use overspill::is_binary;

/// Up to what size a file is searched as a whole; a larger one goes through a window.
pub(super) const HELD_BYTES: usize = 1 << 20;

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What became of the search of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Searched {
    Text,
    /// It is binary, and was not searched.
    Binary,
}

/// Ends work that nobody waits for any more.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) deadline: Instant,
    pub(crate) is_over: Arc<AtomicBool>,
    /// Set from outside when nobody wants the answer.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Stop {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
            || self.cancelled.load(Ordering::Relaxed)
            || Instant::now() > self.deadline
    }
}

/// Searches files, one after the other, with the same memory.
pub(crate) struct Input {
    searcher: Searcher,
    held: Vec<u8>,
    stop: Stop,
}

impl Input {
    pub(crate) fn new(searcher: Searcher, stop: Stop) -> Input {
        Input {
            searcher,
            held: vec![0; HELD_BYTES],
            stop,
        }
    }

    /// Returns one that searches in another way.
    pub(crate) fn with(&self, searcher: Searcher) -> Input {
        Input::new(searcher, self.stop.clone())
    }

    /// Returns what ends its searches.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Searches a file of about `bytes` bytes. Fails with [`io::ErrorKind::TimedOut`] once the time is over.
    pub(crate) fn search<M: Matcher, S: Sink<Error = io::Error>>(
        &mut self,
        file: File,
        bytes: u64,
        matcher: M,
        sink: S,
    ) -> io::Result<Searched> {
        let searched = self.search_text(file, bytes, matcher, sink);
        searched.map_err(|error| match self.stop.is_over() {
            // A matcher that gives up for it has no better way to say so.
            true => io::ErrorKind::TimedOut.into(),
            false => error,
        })
    }

    fn search_text<M: Matcher, S: Sink<Error = io::Error>>(
        &mut self,
        mut file: File,
        bytes: u64,
        matcher: M,
        sink: S,
    ) -> io::Result<Searched> {
        let len = self.hold(&mut file, bytes)?;
        let start = &self.held[..len];
        let is_whole = len < self.held.len();
        if is_utf16(start) {
            let decoded = DecodeReaderBytesBuilder::new()
                .strip_bom(true)
                .build(start.chain(file));
            let reader = Stoppable {
                reader: decoded,
                stop: &self.stop,
            };
            return self
                .searcher
                .search_reader(&matcher, reader, sink)
                .map(|()| Searched::Text);
        }
        if is_binary(start) {
            return Ok(Searched::Binary);
        }
        let text = start.strip_prefix(UTF8_MARK).unwrap_or(start);
        if is_whole {
            self.searcher.search_slice(&matcher, text, sink)?;
        } else {
            let reader = Stoppable {
                reader: text.chain(file),
                stop: &self.stop,
            };
            self.searcher.search_reader(&matcher, reader, sink)?;
        }
        Ok(Searched::Text)
    }

    /// Reads the start of a file, all of it where there is room.
    fn hold(&mut self, file: &mut File, bytes: u64) -> io::Result<usize> {
        let mut len = 0;
        while len < self.held.len() {
            match file.read(&mut self.held[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // The file is as long as it was said to be, and a read that stops short of its room is the last: no need to ask
            // again.
            if len as u64 == bytes && len < self.held.len() {
                break;
            }
        }
        Ok(len)
    }
}

/// Tells by its byte order mark whether a text is UTF-16.
pub(crate) fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF")
}

/// Reads until the time is over.
struct Stoppable<'s, R> {
    reader: R,
    stop: &'s Stop,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.reader.read(buffer)
    }
}
