//! Counts tokens, and finds the longest part of a text within a number of them.
//!
//! Both vocabularies are built into the program and loaded on first use. A cut to N tokens reads O(N) bytes: a token is
//! at most [`MAX_TOKEN_BYTES`] long, and counts add up at *seams*, line starts that the split pattern of both encodings
//! never reaches across, so a text is counted in batches that end at seams and counting stops once the limit is passed.
//!
//! BPE counts are not monotone: one more blank line can lower the count. A search may therefore stop a line short inside
//! a run of blank lines, but what it returns has been counted and never exceeds the limit.

use std::cell::OnceCell;
use std::sync::OnceLock;

use memchr::{memchr, memrchr};
use tiktoken_fast::CoreBPE;

use crate::cut::edge;

/// The longest token of either vocabulary, in bytes.
pub const MAX_TOKEN_BYTES: usize = 128;

/// How many bytes are counted at once before the sum is compared with the limit.
const BATCH_BYTES: usize = 4096;

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

    /// Counts the tokens of a text if there are at most `limit`; costs O(limit), whatever the length of the text.
    pub fn count_within(self, text: &str, limit: usize) -> Option<u64> {
        if text.len() > limit.saturating_mul(MAX_TOKEN_BYTES) {
            return None;
        }
        let mut sum = 0;
        let mut done = 0;
        while done < text.len() {
            let next = seam_from(text, done.saturating_add(BATCH_BYTES));
            sum += self.encode(&text[done..next]).len();
            if sum > limit {
                return None;
            }
            done = next;
        }
        Some(sum as u64)
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

    /// Returns how many bytes the first or last `n` of `tokens` stand for.
    fn bytes_of(self, tokens: &[u32]) -> usize {
        self.vocabulary()
            .and_then(|vocabulary| vocabulary.decode_bytes(tokens).ok())
            .map_or(tokens.len(), |bytes| bytes.len())
    }
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
    let (done, sum) = head_seams(encoding, text, limit);
    if done == text.len() {
        return Some(done);
    }
    let stretch_end = seam_from(text, done + 1);
    let stretch = &text[done..stretch_end];
    let ends = line_ends(stretch);
    let room = limit - sum;
    let guess = OnceCell::new();
    let guess = || *guess.get_or_init(|| head_window(encoding, stretch, room).1);
    let fits = |end: usize| encoding.fits(&stretch[..end], room);
    if let Some(end) = last_fit(&ends, |end| end <= guess(), fits) {
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
    tail_lines_within(encoding, &text[base..], limit).map(|start| base + start)
}

fn tail_lines_within(encoding: Encoding, text: &str, limit: usize) -> Option<usize> {
    let (done, sum) = tail_seams(encoding, text, limit);
    if done == 0 {
        return Some(0);
    }
    let stretch_start = seam_until(text, done - 1);
    let stretch = &text[stretch_start..done];
    let starts: Vec<usize> = line_starts(stretch).into_iter().rev().collect();
    let room = limit - sum;
    let guess = OnceCell::new();
    let guess = || *guess.get_or_init(|| stretch.len() - tail_window(encoding, stretch, room).1);
    let fits = |start: usize| encoding.fits(&stretch[start..], room);
    match last_fit(&starts, |start| start >= guess(), fits) {
        Some(start) => Some(stretch_start + start),
        None => (done < text.len()).then_some(done),
    }
}

/// Returns the end of the longest prefix of `text`, on a grapheme edge, that has at most `limit` tokens.
pub(crate) fn head_part(encoding: Encoding, text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let text = &text[..text.floor_char_boundary(limit.saturating_mul(MAX_TOKEN_BYTES))];
    let (done, sum) = head_seams(encoding, text, limit);
    let rest = &text[done..];
    let room = limit - sum;
    let (tokens, mut bytes) = head_window(encoding, rest, room);
    let mut take = room.min(tokens.len());
    loop {
        let end = edge::floor(rest, rest.floor_char_boundary(bytes));
        let count = encoding.count(&rest[..end]) as usize;
        if count <= room {
            return done + end;
        }
        take = take.saturating_sub(count - room);
        bytes = encoding.bytes_of(&tokens[..take]);
    }
}

/// Returns the start of the longest suffix of `text`, on a grapheme edge, that has at most `limit` tokens.
pub(crate) fn tail_part(encoding: Encoding, text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return 0;
    }
    let base = text.ceil_char_boundary(
        text.len()
            .saturating_sub(limit.saturating_mul(MAX_TOKEN_BYTES)),
    );
    base + tail_part_within(encoding, &text[base..], limit)
}

fn tail_part_within(encoding: Encoding, text: &str, limit: usize) -> usize {
    let (done, sum) = tail_seams(encoding, text, limit);
    let rest = &text[..done];
    let room = limit - sum;
    let (tokens, mut bytes) = tail_window(encoding, rest, room);
    let mut take = room.min(tokens.len());
    loop {
        let start = edge::ceil(
            rest,
            rest.ceil_char_boundary(rest.len() - bytes.min(rest.len())),
        );
        let count = encoding.count(&rest[start..]) as usize;
        if count <= room {
            return start;
        }
        take = take.saturating_sub(count - room);
        bytes = encoding.bytes_of(&tokens[tokens.len() - take..]);
    }
}

/// Returns tokens at the start of `text`, more than `room` if it has them, and the bytes that the first `room` stand for.
fn head_window(encoding: Encoding, text: &str, room: usize) -> (Vec<u32>, usize) {
    let mut window = room.saturating_mul(8).max(64);
    loop {
        let end = text.floor_char_boundary(window);
        let tokens = encoding.encode(&text[..end]);
        if tokens.len() > room || end == text.len() {
            let bytes = encoding
                .bytes_of(&tokens[..room.min(tokens.len())])
                .min(end);
            return (tokens, bytes);
        }
        window = window.saturating_mul(2);
    }
}

/// The same for the end of `text` and the last `room` tokens.
fn tail_window(encoding: Encoding, text: &str, room: usize) -> (Vec<u32>, usize) {
    let mut window = room.saturating_mul(8).max(64);
    loop {
        let start = text.ceil_char_boundary(text.len().saturating_sub(window));
        let tokens = encoding.encode(&text[start..]);
        if tokens.len() > room || start == 0 {
            let first = tokens.len().saturating_sub(room);
            let bytes = encoding.bytes_of(&tokens[first..]).min(text.len());
            return (tokens, bytes);
        }
        window = window.saturating_mul(2);
    }
}

/// Counts forward from seam to seam while the sum is within `limit`; returns how far it came and the sum.
fn head_seams(encoding: Encoding, text: &str, limit: usize) -> (usize, usize) {
    let (mut done, mut sum) = (0, 0);
    let mut too_much = usize::MAX;
    for step in [BATCH_BYTES, 1] {
        while done < text.len() {
            let next = seam_from(text, done.saturating_add(step));
            let count = (next < too_much)
                .then(|| count_batch(encoding, &text[done..next], limit - sum))
                .flatten();
            let Some(count) = count else {
                too_much = next;
                break;
            };
            sum += count;
            done = next;
        }
    }
    (done, sum)
}

/// The same backward from the end.
fn tail_seams(encoding: Encoding, text: &str, limit: usize) -> (usize, usize) {
    let (mut done, mut sum) = (text.len(), 0);
    let mut too_much = None;
    for step in [BATCH_BYTES, 1] {
        while done > 0 {
            let next = seam_until(text, done.saturating_sub(step));
            let count = (Some(next) > too_much)
                .then(|| count_batch(encoding, &text[next..done], limit - sum))
                .flatten();
            let Some(count) = count else {
                too_much = Some(next);
                break;
            };
            sum += count;
            done = next;
        }
    }
    (done, sum)
}

/// Counts the tokens of a batch, if there is room for them.
fn count_batch(encoding: Encoding, batch: &str, room: usize) -> Option<usize> {
    if batch.len() > room.saturating_mul(MAX_TOKEN_BYTES) {
        return None;
    }
    let count = encoding.encode(batch).len();
    (count <= room).then_some(count)
}

/// Returns the last of `edges` for which `fits` holds. Where they are many, the search starts from those that are `likely`
/// to, and may stop short where the counts are not monotone.
fn last_fit(
    edges: &[usize],
    likely: impl Fn(usize) -> bool,
    fits: impl Fn(usize) -> bool,
) -> Option<usize> {
    let mut index = edges.len();
    if edges.len() > LINEAR_LINES {
        index = edges.partition_point(|&edge| likely(edge));
        while index < edges.len() && fits(edges[index]) {
            index += 1;
        }
    }
    edges[..index]
        .iter()
        .rev()
        .copied()
        .find(|&edge| fits(edge))
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

#[cfg(test)]
mod tests;
