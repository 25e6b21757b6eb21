//! Counts tokens, and finds the longest part of a text within a number of them.
//!
//! Both vocabularies are built into the program and loaded on first use. A cut to N tokens reads O(N) bytes: a token is
//! at most [`MAX_TOKEN_BYTES`] long, and counts add up at *seams*, line starts that the split pattern of both encodings
//! never reaches across, so a text is counted in batches that end at seams and counting stops once the limit is passed.
//!
//! BPE counts are not monotone: one more blank line can lower the count. A search may therefore stop a line short inside
//! a run of blank lines, but what it returns has been counted and never exceeds the limit.

use std::io::{self, Read};
use std::sync::OnceLock;

use memchr::{memchr, memrchr};
use tiktoken_fast::CoreBPE;

use crate::cut::edge;
use crate::text;

/// The longest token of either vocabulary, in bytes.
pub const MAX_TOKEN_BYTES: usize = 128;

/// How many bytes are counted at once before the sum is compared with the limit.
const BATCH_BYTES: usize = 4096;

/// How much of a long input is read at once.
const READ_BYTES: usize = 256 << 10;

/// Up to how many line ends of a stretch without seams are tried one by one.
const LINEAR_LINES: usize = 32;

/// A token vocabulary.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Encoding {
    /// `o200k_base`: GPT-4o and later. For other vendors' models its counts are an estimate.
    #[default]
    O200k,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
}

impl Encoding {
    /// Every encoding, in the order that help lists them.
    pub const ALL: [Encoding; 2] = [Encoding::O200k, Encoding::Cl100k];

    /// Returns the name used in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::O200k => "o200k_base",
            Encoding::Cl100k => "cl100k_base",
        }
    }

    /// Returns the encoding of a name.
    pub fn parse(name: &str) -> Option<Encoding> {
        Encoding::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }

    /// Counts the tokens of a text.
    ///
    /// ```
    /// use overspill::Encoding;
    /// assert_eq!(Encoding::O200k.count("hello world"), 2);
    /// ```
    pub fn count(self, text: &str) -> u64 {
        self.count_within(text, usize::MAX).unwrap_or(u64::MAX)
    }

    /// Counts the tokens of at most about the first `most_bytes` of an input, in memory that does not grow with it unless it has
    /// no lines. Bytes that are not UTF-8 count as U+FFFD.
    ///
    /// ```
    /// use overspill::{Encoding, Tally};
    /// let tally = Encoding::O200k.tally(&b"hello\nworld\n"[..], 100)?;
    /// assert_eq!(tally, Tally { tokens: Encoding::O200k.count("hello\nworld\n"), bytes: 12, is_all: true });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tally(self, mut input: impl Read, most_bytes: u64) -> io::Result<Tally> {
        let mut tally = Tally::default();
        let mut pending = Vec::new();
        loop {
            let room = most_bytes.saturating_sub(tally.bytes + pending.len() as u64);
            let want = room.min(READ_BYTES as u64);
            let read = (&mut input).take(want).read_to_end(&mut pending)?;
            let is_end = want == 0 || (read as u64) < want;
            let upto = if is_end {
                pending.len()
            } else {
                last_plain_seam(&pending).unwrap_or(0)
            };
            tally.tokens += self.count(&text::decode(&pending[..upto]));
            tally.bytes += upto as u64;
            pending.drain(..upto);
            if is_end {
                tally.is_all = want > 0 || input.read(&mut [0])? == 0;
                return Ok(tally);
            }
        }
    }

    /// Counts the tokens of a text if there are at most `limit`; costs O(limit), whatever the length of the text.
    pub fn count_within(self, text: &str, limit: usize) -> Option<u64> {
        if text.len() > limit.saturating_mul(MAX_TOKEN_BYTES) {
            return None;
        }
        let counted = from_start(self, text, limit);
        (counted.done == text.len()).then_some(counted.sum as u64)
    }

    /// Tells whether a text has at most `limit` tokens, without a vocabulary where the length alone decides.
    pub(crate) fn fits(self, text: &str, limit: usize) -> bool {
        text.len() <= limit || self.count_within(text, limit).is_some()
    }

    fn encode(self, text: &str) -> Vec<u32> {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.encode_ordinary(text),
            // A byte is never less than a token, so counting bytes keeps every limit.
            None => text.bytes().map(u32::from).collect(),
        }
    }

    fn vocabulary(self) -> Option<&'static CoreBPE> {
        static O200K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        static CL100K: OnceLock<Option<CoreBPE>> = OnceLock::new();
        match self {
            Encoding::O200k => O200K.get_or_init(|| tiktoken_fast::o200k_base().ok()),
            Encoding::Cl100k => CL100K.get_or_init(|| tiktoken_fast::cl100k_base().ok()),
        }
        .as_ref()
    }

    /// Returns how many bytes `tokens` stand for.
    fn bytes_of(self, tokens: &[u32]) -> usize {
        self.vocabulary()
            .and_then(|vocabulary| vocabulary.decode_bytes(tokens).ok())
            .map_or(tokens.len(), |bytes| bytes.len())
    }
}

/// How many tokens the start of an input has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// The tokens of what was counted.
    pub tokens: u64,
    /// How much was counted.
    pub bytes: u64,
    /// Whether that is all there is.
    pub is_all: bool,
}

/// Returns the end of the most whole lines at the start of `text` that have at most `limit` tokens, without the newline
/// that ends them; `None` if not even the first line fits.
pub(crate) fn head_lines(encoding: Encoding, text: &str, limit: usize) -> Option<usize> {
    if text.len() <= limit {
        return Some(text.len());
    }
    let reach = limit.saturating_mul(MAX_TOKEN_BYTES);
    let text = match text.as_bytes().get(..=reach) {
        Some(within) => &text[..memrchr(b'\n', within)?],
        None => text,
    };
    let counted = from_start(encoding, text, limit);
    let (done, room) = (counted.done, limit - counted.sum);
    if done == text.len() {
        return Some(done);
    }
    let stretch = &text[done..seam_from(text, done + 1)];
    let ends: Vec<usize> = line_ends(stretch)
        .into_iter()
        .filter(|&end| end < stretch.len())
        .collect();
    let fits = |end: usize| encoding.fits(&stretch[..end], room);
    let likely =
        ends.partition_point(|&end| end <= counted.guess(|| start_within(encoding, stretch, room)));
    if let Some(end) = last_fit(&ends, likely, fits) {
        return Some(done + end);
    }
    // The newline before `done` goes too, and without it the count may differ: count what remains anew, line by line.
    let mut end = memrchr(b'\n', &text.as_bytes()[..done]);
    while let Some(at) = end {
        if encoding.fits(&text[..at], limit) {
            return Some(at);
        }
        end = memrchr(b'\n', &text.as_bytes()[..at]);
    }
    None
}

/// Returns the start of the most whole lines at the end of `text` that have at most `limit` tokens; `None` if not even
/// the last line fits.
pub(crate) fn tail_lines(encoding: Encoding, text: &str, limit: usize) -> Option<usize> {
    if text.len() <= limit {
        return Some(0);
    }
    let reach = limit.saturating_mul(MAX_TOKEN_BYTES);
    let base = match text.len().checked_sub(reach.saturating_add(1)) {
        Some(before) => before + memchr(b'\n', &text.as_bytes()[before..])? + 1,
        None => 0,
    };
    let text = &text[base..];
    let counted = from_end(encoding, text, limit);
    let (done, room) = (counted.done, limit - counted.sum);
    if done == 0 {
        return Some(base);
    }
    let stretch_start = seam_until(text, done - 1);
    let stretch = &text[stretch_start..done];
    let starts: Vec<usize> = line_starts(stretch)
        .into_iter()
        .rev()
        .filter(|&start| start > 0)
        .collect();
    let fits = |start: usize| encoding.fits(&stretch[start..], room);
    let guess = counted.guess(|| end_within(encoding, stretch, room));
    let likely = starts.partition_point(|&start| start + guess >= stretch.len());
    match last_fit(&starts, likely, fits) {
        Some(start) => Some(base + stretch_start + start),
        None => (done < text.len()).then_some(base + done),
    }
}

/// Returns the end of the longest prefix of `text`, on a grapheme edge, that has at most `limit` tokens.
pub(crate) fn head_part(encoding: Encoding, text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let text = &text[..text.floor_char_boundary(limit.saturating_mul(MAX_TOKEN_BYTES))];
    let counted = from_start(encoding, text, limit);
    let (rest, room) = (&text[counted.done..], limit - counted.sum);
    let mut bytes = counted.guess(|| start_within(encoding, rest, room));
    loop {
        let end = edge::floor(rest, rest.floor_char_boundary(bytes));
        match start_within(encoding, &rest[..end], room) {
            Ok(_) => return counted.done + end,
            Err(within) => bytes = within.min(end.saturating_sub(1)),
        }
    }
}

/// Returns the start of the longest suffix of `text`, on a grapheme edge, that has at most `limit` tokens.
pub(crate) fn tail_part(encoding: Encoding, text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return 0;
    }
    let reach = limit.saturating_mul(MAX_TOKEN_BYTES);
    let base = text.ceil_char_boundary(text.len().saturating_sub(reach));
    let text = &text[base..];
    let counted = from_end(encoding, text, limit);
    let (rest, room) = (&text[..counted.done], limit - counted.sum);
    let mut bytes = counted.guess(|| end_within(encoding, rest, room));
    loop {
        let start = edge::ceil(
            rest,
            rest.ceil_char_boundary(rest.len() - bytes.min(rest.len())),
        );
        match end_within(encoding, &rest[start..], room) {
            Ok(_) => return base + start,
            Err(within) => bytes = within.min((rest.len() - start).saturating_sub(1)),
        }
    }
}

/// How far a text was counted from one of its ends before a limit was passed.
struct Counted {
    /// The seam that counting came to.
    done: usize,
    /// The tokens up to there.
    sum: usize,
    /// About how many bytes beyond `done` the limit has room for, if that was seen in passing.
    beyond: Option<usize>,
}

impl Counted {
    fn guess(&self, count: impl FnOnce() -> Result<usize, usize>) -> usize {
        self.beyond
            .unwrap_or_else(|| count().unwrap_or_else(|bytes| bytes))
    }
}

/// Counts forward from seam to seam while the sum is within `limit`.
fn from_start(encoding: Encoding, text: &str, limit: usize) -> Counted {
    let mut counted = Counted {
        done: 0,
        sum: 0,
        beyond: None,
    };
    let mut too_much = usize::MAX;
    for step in [BATCH_BYTES, 1] {
        while counted.done < text.len() {
            let next = seam_from(text, counted.done.saturating_add(step));
            if next >= too_much {
                break;
            }
            match start_within(encoding, &text[counted.done..next], limit - counted.sum) {
                Ok(count) => {
                    counted = Counted {
                        done: next,
                        sum: counted.sum + count,
                        beyond: None,
                    }
                }
                Err(bytes) => {
                    (too_much, counted.beyond) = (next, Some(bytes));
                    break;
                }
            }
        }
    }
    counted
}

/// The same backward from the end.
fn from_end(encoding: Encoding, text: &str, limit: usize) -> Counted {
    let mut counted = Counted {
        done: text.len(),
        sum: 0,
        beyond: None,
    };
    let mut too_much = None;
    for step in [BATCH_BYTES, 1] {
        while counted.done > 0 {
            let next = seam_until(text, counted.done.saturating_sub(step));
            if Some(next) <= too_much {
                break;
            }
            match end_within(encoding, &text[next..counted.done], limit - counted.sum) {
                Ok(count) => {
                    counted = Counted {
                        done: next,
                        sum: counted.sum + count,
                        beyond: None,
                    }
                }
                Err(bytes) => {
                    (too_much, counted.beyond) = (Some(next), Some(bytes));
                    break;
                }
            }
        }
    }
    counted
}

/// Counts the tokens of a text if there are at most `room`; else returns about how many bytes at its start have `room`.
///
/// A text that is far longer is not read to its end: a start with a quarter more tokens than there is room for decides,
/// since what follows can change only the last few of them.
fn start_within(encoding: Encoding, text: &str, room: usize) -> Result<usize, usize> {
    let mut window = first_window(room, text.len());
    loop {
        let end = text.floor_char_boundary(window);
        let tokens = encoding.encode(&text[..end]);
        if end == text.len() && tokens.len() <= room {
            return Ok(tokens.len());
        }
        if end == text.len() || tokens.len() > decisive(room) {
            return Err(encoding.bytes_of(&tokens[..room]).min(end));
        }
        window = next_window(window, tokens.len(), room);
    }
}

/// The same from the end of a text.
fn end_within(encoding: Encoding, text: &str, room: usize) -> Result<usize, usize> {
    let mut window = first_window(room, text.len());
    loop {
        let start = text.ceil_char_boundary(text.len().saturating_sub(window));
        let tokens = encoding.encode(&text[start..]);
        if start == 0 && tokens.len() <= room {
            return Ok(tokens.len());
        }
        if start == 0 || tokens.len() > decisive(room) {
            return Err(encoding
                .bytes_of(&tokens[tokens.len() - room..])
                .min(text.len()));
        }
        window = next_window(window, tokens.len(), room);
    }
}

/// Returns how much of a text is read first: twice what plain text needs, or all of one that is not much longer.
fn first_window(room: usize, len: usize) -> usize {
    let window = room.saturating_mul(8).max(BATCH_BYTES);
    if len <= window.saturating_mul(4) {
        len
    } else {
        window
    }
}

/// Returns how much is read next: what `room` should take by the tokens seen so far, and some more.
fn next_window(window: usize, tokens: usize, room: usize) -> usize {
    let bytes_a_token = window / tokens.max(1) + 1;
    bytes_a_token
        .saturating_mul(decisive(room))
        .max(window.saturating_add(window / 4))
}

/// Returns how many tokens of a start tell that the whole has more than `room`.
fn decisive(room: usize) -> usize {
    room.saturating_add(room / 4).saturating_add(64)
}

/// Returns the last of `edges` for which `fits` holds. Where they are many, the search starts from the first `likely` ones
/// and goes back in growing steps: it may stop short by a few lines, but never searches for long.
fn last_fit(edges: &[usize], likely: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if edges.len() <= LINEAR_LINES {
        return edges.iter().rev().copied().find(|&edge| fits(edge));
    }
    let (mut count, mut step) = (likely, 1);
    while count > 0 && !fits(edges[count - 1]) {
        count = count.saturating_sub(step);
        step *= 2;
    }
    count.checked_sub(1).map(|last| edges[last])
}

fn line_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    if !text.ends_with('\n') {
        ends.push(text.len());
    }
    ends
}

fn line_starts(text: &str) -> Vec<usize> {
    let after_newlines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    std::iter::once(0)
        .chain(after_newlines.filter(|&at| at < text.len()))
        .collect()
}

/// Returns the first seam at or after `at`, or the end of the text.
fn seam_from(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut from = at.saturating_sub(1);
    while from < bytes.len() {
        match memchr(b'\n', &bytes[from..]) {
            Some(newline) if is_seam(text, from + newline + 1) => return from + newline + 1,
            Some(newline) => from += newline + 1,
            None => break,
        }
    }
    bytes.len()
}

/// Returns the last seam at or before `at`, or the start of the text.
fn seam_until(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut until = at;
    while let Some(newline) = memrchr(b'\n', &bytes[..until]) {
        if is_seam(text, newline + 1) {
            return newline + 1;
        }
        until = newline;
    }
    0
}

/// Tells whether counts add up at the line start `at`.
///
/// Both split patterns take line ends together with the white space around them, and a run of punctuation together with
/// the line ends (for o200k also the slashes) behind it. So nothing reaches across the start of a line that is not blank,
/// has only spaces and tabs for an indent, and does not start with a slash unless a plain letter or digit ends the line
/// before it.
fn is_seam(text: &str, at: usize) -> bool {
    let line = &text[at..];
    if line.starts_with('/') {
        return at >= 2 && text.as_bytes()[at - 2].is_ascii_alphanumeric();
    }
    line.trim_start_matches([' ', '\t'])
        .chars()
        .next()
        .is_some_and(|first| !first.is_whitespace())
}

/// Returns the last seam in bytes that may end in the middle of anything: one before a line that begins with a plain letter or
/// digit, so that nothing has to be decoded to know it.
fn last_plain_seam(bytes: &[u8]) -> Option<usize> {
    let before_plain = |&at: &usize| bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    memchr::memrchr_iter(b'\n', bytes)
        .find(before_plain)
        .map(|at| at + 1)
}

#[cfg(test)]
mod tests;
