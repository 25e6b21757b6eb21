//! Pages through a file by line, in memory bounded by the page.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memrchr_iter};

const CHUNK_BYTES: usize = 1 << 17;

/// A run of lines of a file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The lines as they are in the file, up to as many bytes as were asked for.
    pub bytes: Vec<u8>,
    /// The number of the first line, from 1; 0 for a page that starts at a byte.
    pub first_line: u64,
    /// Where the lines start in the file.
    pub first_byte: u64,
    /// How many lines the file has; 0 for a page that starts at a byte.
    pub total_lines: u64,
}

/// Which lines of a file are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Range {
    /// `limit` lines from line `first` on, counted from 1.
    From {
        /// The first line.
        first: u64,
        /// How many.
        limit: u64,
    },
    /// The last lines.
    Last(u64),
    /// From a byte on, counted from 0.
    Byte(u64),
}

/// Reads a page of at most `max_bytes`: from the start of the range, or, for the last lines, up to its end.
///
/// ```
/// use overspill_tools::page::{Range, read};
/// let file = std::io::Cursor::new(b"a\nb\nc\n");
/// let page = read(file, Range::From { first: 2, limit: 1 }, 100).unwrap();
/// assert_eq!((page.bytes.as_slice(), page.first_line, page.total_lines), (&b"b\n"[..], 2, 3));
/// ```
pub fn read(mut file: impl Read + Seek, range: Range, max_bytes: usize) -> io::Result<Page> {
    match range {
        Range::From { first, limit } => read_from(&mut file, first.max(1), limit, max_bytes),
        Range::Last(count) => read_last(&mut file, count, max_bytes),
        Range::Byte(first) => read_byte(&mut file, first, max_bytes),
    }
}

fn read_from(file: &mut impl Read, first: u64, limit: u64, max_bytes: usize) -> io::Result<Page> {
    let mut page = Page {
        first_line: first,
        ..Page::default()
    };
    let passed = lines(file, first, limit, None, |byte, wanted| {
        if page.bytes.is_empty() {
            page.first_byte = byte;
        }
        let room = max_bytes - page.bytes.len();
        page.bytes
            .extend_from_slice(&wanted[..wanted.len().min(room)]);
    })?;
    page.total_lines = passed.lines;
    Ok(page)
}

/// How much of a file was passed over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Passed {
    /// How many lines it has, as far as they were counted.
    pub(crate) lines: u64,
    /// Whether that is all of them.
    pub(crate) is_all: bool,
    /// Whether the wanted lines, or the end of the file, were reached.
    pub(crate) is_taken: bool,
}

/// How long a file is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience<'c> {
    /// How long the wanted lines are read.
    pub(crate) reading: Duration,
    /// How long those after them are counted.
    pub(crate) counting: Duration,
    /// Set when nobody wants the lines any more.
    pub(crate) cancelled: &'c AtomicBool,
}

impl Patience<'_> {
    fn is_over(&self, began: Instant, taken_at: Option<Instant>) -> bool {
        let is_late = match taken_at {
            Some(taken_at) => taken_at.elapsed() > self.counting,
            None => began.elapsed() > self.reading,
        };
        is_late || self.cancelled.load(Ordering::Relaxed)
    }
}

/// Passes over a file; `take` gets the `limit` lines from line `first` on, in pieces, each with the byte it starts at. What
/// follows is only counted. Without `patience` it goes on to the end.
pub(crate) fn lines(
    file: &mut impl Read,
    first: u64,
    limit: u64,
    patience: Option<Patience<'_>>,
    mut take: impl FnMut(u64, &[u8]),
) -> io::Result<Passed> {
    let began = Instant::now();
    let after = first.saturating_add(limit);
    let (mut counter, mut passed) = (LineCounter::default(), 0);
    let mut taken_at: Option<Instant> = None;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let len = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let chunk = &chunk[..len];
        let line = counter.newlines + 1;
        let start = offset_of_line(chunk, line, first);
        let end = offset_of_line(chunk, line, after);
        if start < end {
            take(passed + start as u64, &chunk[start..end]);
        }
        counter.push(chunk);
        passed += len as u64;
        if counter.newlines + 1 >= after {
            taken_at.get_or_insert_with(Instant::now);
        }
        if patience.is_some_and(|patience| patience.is_over(began, taken_at)) {
            return Ok(Passed {
                lines: counter.lines(),
                is_all: false,
                is_taken: taken_at.is_some(),
            });
        }
    }
    Ok(Passed {
        lines: counter.lines(),
        is_all: true,
        is_taken: true,
    })
}

/// Returns where line `wanted` starts in a chunk whose first byte is on line `line`; its length if that is further on.
fn offset_of_line(chunk: &[u8], line: u64, wanted: u64) -> usize {
    match wanted.checked_sub(line).map(usize::try_from) {
        None | Some(Ok(0)) => 0,
        Some(Err(_)) => chunk.len(),
        Some(Ok(ahead)) => memchr_iter(b'\n', chunk)
            .nth(ahead - 1)
            .map_or(chunk.len(), |newline| newline + 1),
    }
}

fn read_last(file: &mut (impl Read + Seek), count: u64, max_bytes: usize) -> io::Result<Page> {
    let total_lines = count_lines(file)?;
    let len = file.seek(SeekFrom::End(0))?;
    let kept = len.min(max_bytes as u64);
    file.seek(SeekFrom::Start(len - kept))?;
    let mut bytes = Vec::new();
    file.take(kept).read_to_end(&mut bytes)?;
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let start = match usize::try_from(count)
        .ok()
        .and_then(|count| count.checked_sub(1))
    {
        Some(nth) => memrchr_iter(b'\n', body)
            .nth(nth)
            .map_or(0, |newline| newline + 1),
        None => bytes.len(),
    };
    bytes.drain(..start);
    let mut shown = LineCounter::default();
    shown.push(&bytes);
    let first_line = total_lines - shown.lines().min(total_lines) + 1;
    let first_byte = len - bytes.len() as u64;
    Ok(Page {
        bytes,
        first_line,
        first_byte,
        total_lines,
    })
}

fn read_byte(file: &mut (impl Read + Seek), first_byte: u64, max_bytes: usize) -> io::Result<Page> {
    let len = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(first_byte.min(len)))?;
    let mut bytes = Vec::new();
    file.take(max_bytes as u64).read_to_end(&mut bytes)?;
    Ok(Page {
        bytes,
        first_byte,
        ..Page::default()
    })
}

fn count_lines(file: &mut impl Read) -> io::Result<u64> {
    let mut counter = LineCounter::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(counter.lines()),
            Ok(len) => counter.push(&chunk[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[derive(Default)]
struct LineCounter {
    newlines: u64,
    is_open: bool,
}

impl LineCounter {
    fn push(&mut self, chunk: &[u8]) {
        self.newlines += memchr_iter(b'\n', chunk).count() as u64;
        self.is_open = chunk.last().map_or(self.is_open, |&last| last != b'\n');
    }

    fn lines(&self) -> u64 {
        self.newlines + u64::from(self.is_open)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_are_bounded() {
        let file = "x".repeat(1000);
        let page = read(Cursor::new(&file), Range::From { first: 1, limit: 1 }, 10).unwrap();
        assert_eq!((page.bytes.len(), page.total_lines), (10, 1));
        let page = read(Cursor::new(&file), Range::Last(1), 10).unwrap();
        assert_eq!((page.bytes.len(), page.first_line), (10, 1));
        let page = read(Cursor::new(""), Range::Last(5), 10).unwrap();
        assert_eq!((page.bytes.len(), page.total_lines), (0, 0));
    }

    proptest! {
        #[test]
        fn a_page_is_the_lines_it_says(lines in prop::collection::vec("[a-z]{0,9}", 0..40), newline: bool, first in 1u64..45, limit in 0u64..45) {
            let text = lines.join("\n") + if newline && !lines.is_empty() { "\n" } else { "" };
            let all: Vec<&str> = text.split_inclusive('\n').collect();
            let page = read(Cursor::new(&text), Range::From { first, limit }, usize::MAX).unwrap();
            let wanted: String = all.iter().skip(first as usize - 1).take(limit as usize).copied().collect();
            prop_assert_eq!(&page.bytes, wanted.as_bytes());
            prop_assert_eq!(page.total_lines, all.len() as u64);
            if !wanted.is_empty() {
                prop_assert!(text[page.first_byte as usize..].starts_with(&wanted));
            }

            let page = read(Cursor::new(&text), Range::Last(limit), usize::MAX).unwrap();
            let wanted: String = all[all.len().saturating_sub(limit as usize)..].concat();
            prop_assert_eq!(page.bytes, wanted.as_bytes());
            prop_assert_eq!(page.first_line, all.len().saturating_sub(limit as usize) as u64 + 1);
        }
    }
}
