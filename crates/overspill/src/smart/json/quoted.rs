//! Reads one JSON string over any number of chunks.
//!
//! A string of up to [`PIECE_BYTES`] is taken as a whole, from the chunk itself if all of it is there. A longer one is
//! checked, counted and weighed in pieces, whose edges depend on the string alone; its start is kept.

use std::borrow::Cow;

use super::raw;
use crate::smart::query::Query;
use crate::text;

/// The longest string that is taken as a whole, and the size of the pieces of longer ones.
pub(super) const PIECE_BYTES: usize = 4096;

/// How far back the end of a word is sought, so that none is weighed in two parts.
const MAX_WORD_BYTES: usize = 64;

/// A string as it is written, without its quotes, and with U+FFFD for what is not UTF-8.
#[derive(Debug)]
pub(super) struct Quoted<'s> {
    /// All of it, or its start.
    pub(super) raw: Cow<'s, str>,
    /// How many chars it is, if `raw` is only its start.
    pub(super) chars: Option<u64>,
    /// What `weigh` says about it, or the query.
    pub(super) weight: u32,
    /// What the query says about it.
    pub(super) asked: u32,
}

impl Quoted<'_> {
    /// Returns the same with what the query says about it.
    fn asked(self, asked: u32) -> Self {
        Quoted {
            weight: self.weight.max(asked),
            asked,
            ..self
        }
    }
}

/// Takes a string as it comes.
#[derive(Debug)]
pub(super) struct Quotes {
    weigh: fn(&str) -> u32,
    query: Query,
    /// How much is kept of the start of a long string.
    max_start: usize,
    /// What came and was not looked at yet, if the string began in an earlier chunk or is long.
    piece: Vec<u8>,
    /// Whether the next byte belongs to an escape sequence.
    is_escaped: bool,
    has_escape: bool,
    long: Option<Long>,
    /// What an escaped text means, as `weigh` wants it.
    scratch: String,
}

/// A string of more than one piece.
#[derive(Debug, Default)]
struct Long {
    start: String,
    is_start_full: bool,
    chars: u64,
    weight: u32,
    asked: u32,
}

impl Quotes {
    pub(super) fn new(max_start: usize, weigh: fn(&str) -> u32) -> Self {
        Quotes {
            weigh,
            query: Query::default(),
            max_start: max_start.max(PIECE_BYTES),
            piece: Vec::new(),
            is_escaped: false,
            has_escape: false,
            long: None,
            scratch: String::new(),
        }
    }

    /// Tells what the document is asked for.
    pub(super) fn ask(&mut self, query: Query) {
        self.query = query;
    }

    /// Forgets the last string; the next bytes are those after an opening quote.
    pub(super) fn start(&mut self) {
        self.piece.clear();
        self.has_escape = false;
        self.long = None;
    }

    /// Finds the closing quote, if it is among `bytes`.
    pub(super) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = usize::from(std::mem::take(&mut self.is_escaped));
        while let Some(rest) = bytes.get(at..) {
            at += memchr::memchr2(b'"', b'\\', rest)?;
            if bytes.get(at) == Some(&b'"') {
                return Some(at);
            }
            self.has_escape = true;
            at += 2;
        }
        // The backslash was the last byte.
        self.is_escaped = true;
        None
    }

    /// Takes bytes from within the string; none if they cannot be.
    pub(super) fn hold(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            if self.piece.len() >= PIECE_BYTES {
                self.take_piece(false)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
        }
        Some(())
    }

    /// Returns the string, of which `bytes` are the last; none if it is not one.
    pub(super) fn end<'s>(&'s mut self, bytes: &'s [u8]) -> Option<Quoted<'s>> {
        let is_held = self.long.is_some() || !self.piece.is_empty();
        if !is_held && bytes.len() <= PIECE_BYTES {
            let asked = self.query.weight(bytes);
            return short(bytes, self.has_escape, self.weigh, &mut self.scratch)
                .map(|text| text.asked(asked));
        }
        self.hold(bytes)?;
        if self.long.is_none() {
            let asked = self.query.weight(&self.piece);
            return short(&self.piece, self.has_escape, self.weigh, &mut self.scratch)
                .map(|text| text.asked(asked));
        }
        self.take_piece(true)?;
        let long = self.long.as_ref()?;
        Some(Quoted {
            raw: Cow::Borrowed(&long.start),
            chars: long.is_start_full.then_some(long.chars),
            weight: long.weight.max(long.asked),
            asked: long.asked,
        })
    }

    fn take_piece(&mut self, is_last: bool) -> Option<()> {
        if raw::has_control(&self.piece) {
            return None;
        }
        let mut len = raw::sound_len(&self.piece, is_last)?;
        if !is_last {
            let from = len.saturating_sub(MAX_WORD_BYTES);
            let space = memchr::memrchr(b' ', self.piece.get(from..len)?);
            len = space.map_or(len, |space| from + space + 1);
        }
        let text = text::decode(self.piece.get(..len)?);
        let long = self.long.get_or_insert_default();
        long.chars += raw::count_chars(&text);
        long.asked = long.asked.max(self.query.weight(text.as_bytes()));
        long.weight = long.weight.max(weight(
            &text,
            self.has_escape,
            self.weigh,
            &mut self.scratch,
        ));
        if long.start.len() + text.len() > self.max_start {
            long.is_start_full = true;
        }
        if !long.is_start_full {
            long.start.push_str(&text);
        }
        self.piece.drain(..len);
        Some(())
    }
}

fn short<'s>(
    bytes: &'s [u8],
    has_escape: bool,
    weigh: fn(&str) -> u32,
    scratch: &mut String,
) -> Option<Quoted<'s>> {
    if raw::has_control(bytes) || (has_escape && raw::sound_len(bytes, true).is_none()) {
        return None;
    }
    let raw = text::decode(bytes);
    let weight = weight(&raw, has_escape, weigh, scratch);
    Some(Quoted {
        raw,
        chars: None,
        weight,
        asked: 0,
    })
}

fn weight(raw: &str, has_escape: bool, weigh: fn(&str) -> u32, scratch: &mut String) -> u32 {
    if !has_escape {
        return weigh(raw);
    }
    scratch.clear();
    raw::decode(raw, scratch);
    weigh(scratch)
}
