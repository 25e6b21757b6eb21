//! Reads JSON as RFC 8259 has it, in any chunks, and hands what it finds to a [`Builder`].
//!
//! It is more lenient in two things: a byte order mark may be before the document, and in strings U+FFFD stands for what is
//! not UTF-8.
//!
//! Everything is checked, kept or not. Memory is bounded: of a number and of a string only a start is held, and of the
//! containers around a place one bit each.

use super::build::Builder;
use super::quoted::Quotes;
use super::tape::ValueKind;
use super::write::Spacing;
use crate::smart::query::Query;
use crate::text::BYTE_ORDER_MARK;

/// How deep containers may be nested.
const MAX_DEPTH: usize = 100_000;

/// The longest number that is kept. It cannot be shortened, and who needs a longer one does not need it in a preview.
const MAX_NUMBER_BYTES: usize = 1024;

/// The widest indent that is taken over.
const MAX_INDENT: usize = 8;

/// What may come next, between spaces, or what the last chunk ended in.
#[derive(Clone, Copy, Debug)]
enum ParserState {
    Root,
    /// In a byte order mark, of which so much was seen.
    InMark {
        seen: usize,
    },
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    Next,
    Done,
    InKey,
    InText,
    InNumber(Digits),
    InWord {
        word: &'static str,
        seen: usize,
    },
}

/// How far a number has come.
#[derive(Clone, Copy, Debug)]
enum Digits {
    Start,
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    Sign,
    Power,
}

/// Takes the bytes of a document.
#[derive(Debug)]
pub(super) struct Parser {
    state: ParserState,
    nesting: Nesting,
    quotes: Quotes,
    /// The start of a number from an earlier chunk.
    number: Vec<u8>,
    margin: Margin,
}

impl Parser {
    /// Makes a parser that holds up to `max_text` bytes of a string.
    pub(super) fn new(max_text: usize, weigh: fn(&str) -> u32) -> Self {
        Parser {
            state: ParserState::Root,
            nesting: Nesting::default(),
            quotes: Quotes::new(max_text, weigh),
            number: Vec::new(),
            margin: Margin::default(),
        }
    }

    /// Tells what the document is asked for.
    pub(super) fn ask(&mut self, query: Query) {
        self.quotes.ask(query);
    }

    /// Takes the next bytes; tells whether a document can begin like this.
    pub(super) fn push(&mut self, chunk: &[u8], builder: &mut Builder) -> bool {
        let mut rest = chunk;
        while !rest.is_empty() {
            let taken = self.step(rest, builder);
            match taken.and_then(|taken| rest.get(taken..)) {
                Some(later) => rest = later,
                None => return false,
            }
        }
        true
    }

    /// Returns what was between the values of the document, if it is complete.
    pub(super) fn finish(&self) -> Option<Spacing> {
        matches!(self.state, ParserState::Done).then(|| self.margin.spacing())
    }

    /// Takes one token, or what there is of it; returns how many bytes that were.
    fn step(&mut self, rest: &[u8], builder: &mut Builder) -> Option<usize> {
        match self.state {
            ParserState::InMark { seen } => self.byte_order_mark(rest, seen),
            ParserState::InKey | ParserState::InText => self.text(rest, builder),
            ParserState::InNumber(digits) => self.digits(rest, digits, builder),
            ParserState::InWord { word, seen } => self.word(rest, word, seen, builder),
            _ => {
                let is_space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
                let spaces = rest.iter().take_while(is_space).count();
                self.margin.see(rest.get(..spaces)?);
                match rest.get(spaces) {
                    None => Some(spaces),
                    Some(&byte) => Some(spaces + self.mark(byte, builder)?),
                }
            }
        }
    }

    /// Takes a byte that is structure, or the first of a value; returns whether it is used up.
    fn mark(&mut self, byte: u8, builder: &mut Builder) -> Option<usize> {
        let was_root = matches!(self.state, ParserState::Root);
        if !was_root {
            self.margin.close();
        } else if BYTE_ORDER_MARK.first() == Some(&byte) {
            self.state = ParserState::InMark { seen: 1 };
            return Some(1);
        }
        match (self.state, byte) {
            (ParserState::Root | ParserState::Value | ParserState::FirstItem, b'{' | b'[') => {
                self.open(byte == b'{', builder)?;
            }
            (ParserState::FirstItem, b']') | (ParserState::FirstKey, b'}') => self.close(builder),
            (ParserState::Next, b']' | b'}') if self.nesting.is_object() == (byte == b'}') => {
                self.close(builder);
            }
            (ParserState::Next, b',') if self.nesting.is_object() => self.state = ParserState::Key,
            (ParserState::Next, b',') => self.state = ParserState::Value,
            (ParserState::Colon, b':') => self.state = ParserState::Value,
            (ParserState::Key | ParserState::FirstKey, b'"') => {
                self.quotes.start();
                self.state = ParserState::InKey;
            }
            (ParserState::Value | ParserState::FirstItem, b'"') => {
                self.quotes.start();
                self.state = ParserState::InText;
            }
            (ParserState::Value | ParserState::FirstItem, _) => return self.scalar(byte),
            _ => return None,
        }
        if was_root {
            self.margin.open();
        }
        Some(1)
    }

    fn byte_order_mark(&mut self, rest: &[u8], seen: usize) -> Option<usize> {
        if rest.first() != BYTE_ORDER_MARK.get(seen) {
            return None;
        }
        self.state = match seen + 1 == BYTE_ORDER_MARK.len() {
            true => ParserState::Root,
            false => ParserState::InMark { seen: seen + 1 },
        };
        Some(1)
    }

    fn scalar(&mut self, byte: u8) -> Option<usize> {
        let word = match byte {
            b'-' | b'0'..=b'9' => {
                self.number.clear();
                self.state = ParserState::InNumber(Digits::Start);
                return Some(0);
            }
            b't' => "true",
            b'f' => "false",
            b'n' => "null",
            _ => return None,
        };
        self.state = ParserState::InWord { word, seen: 1 };
        Some(1)
    }

    fn open(&mut self, is_object: bool, builder: &mut Builder) -> Option<()> {
        self.nesting.push(is_object)?;
        if is_object {
            builder.open(ValueKind::Object);
            self.state = ParserState::FirstKey;
        } else {
            builder.open(ValueKind::Array);
            self.state = ParserState::FirstItem;
        }
        Some(())
    }

    fn close(&mut self, builder: &mut Builder) {
        builder.close();
        self.nesting.pop();
        self.state = match self.nesting.depth {
            0 => ParserState::Done,
            _ => ParserState::Next,
        };
    }

    fn text(&mut self, rest: &[u8], builder: &mut Builder) -> Option<usize> {
        let Some(end) = self.quotes.find_end(rest) else {
            self.quotes.hold(rest)?;
            return Some(rest.len());
        };
        let quoted = self.quotes.end(rest.get(..end)?)?;
        if matches!(self.state, ParserState::InKey) {
            builder.key(&quoted);
            self.state = ParserState::Colon;
        } else {
            builder.text(&quoted);
            self.state = ParserState::Next;
        }
        Some(end + 1)
    }

    fn digits(&mut self, rest: &[u8], start: Digits, builder: &mut Builder) -> Option<usize> {
        let mut digits = start;
        let mut len = 0;
        while let Some(next) = rest.get(len).and_then(|&byte| digits.next(byte)) {
            digits = next;
            len += 1;
        }
        let seen = rest.get(..len)?;
        if len == rest.len() {
            let room = (MAX_NUMBER_BYTES + 1).saturating_sub(self.number.len());
            self.number.extend_from_slice(seen.get(..room.min(len))?);
            self.state = ParserState::InNumber(digits);
            return Some(len);
        }
        if !digits.is_complete() {
            return None;
        }
        self.state = ParserState::Next;
        if self.number.len() + len > MAX_NUMBER_BYTES {
            builder.lose();
        } else if self.number.is_empty() {
            builder.plain(std::str::from_utf8(seen).ok()?);
        } else {
            self.number.extend_from_slice(seen);
            builder.plain(std::str::from_utf8(&self.number).ok()?);
        }
        Some(len)
    }

    fn word(
        &mut self,
        rest: &[u8],
        word: &'static str,
        seen: usize,
        builder: &mut Builder,
    ) -> Option<usize> {
        let missing = word.as_bytes().get(seen..)?;
        let len = missing.len().min(rest.len());
        if missing.get(..len) != rest.get(..len) {
            return None;
        }
        if len == missing.len() {
            builder.plain(word);
            self.state = ParserState::Next;
        } else {
            let seen = seen + len;
            self.state = ParserState::InWord { word, seen };
        }
        Some(len)
    }
}

impl Digits {
    /// Returns where the number is after `byte`; none if it is no part of it.
    fn next(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (Digits::Start, b'-') => Digits::Minus,
            (Digits::Start | Digits::Minus, b'0') => Digits::Zero,
            (Digits::Start | Digits::Minus | Digits::Whole, b'0'..=b'9') => Digits::Whole,
            (Digits::Zero | Digits::Whole, b'.') => Digits::Point,
            (Digits::Point | Digits::Fraction, b'0'..=b'9') => Digits::Fraction,
            (Digits::Zero | Digits::Whole | Digits::Fraction, b'e' | b'E') => Digits::Exponent,
            (Digits::Exponent, b'+' | b'-') => Digits::Sign,
            (Digits::Exponent | Digits::Sign | Digits::Power, b'0'..=b'9') => Digits::Power,
            _ => return None,
        };
        Some(next)
    }

    fn is_complete(self) -> bool {
        matches!(
            self,
            Digits::Zero | Digits::Whole | Digits::Fraction | Digits::Power
        )
    }
}

/// The containers around a place, a bit each: whether it is an object.
#[derive(Debug, Default)]
struct Nesting {
    bits: Vec<u64>,
    depth: usize,
}

impl Nesting {
    /// Enters a container; none if it is one too many.
    fn push(&mut self, is_object: bool) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        let bits = self.bits.get_mut(word)?;
        *bits = (*bits & !(1 << bit)) | (u64::from(is_object) << bit);
        self.depth += 1;
        Some(())
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn is_object(&self) -> bool {
        self.depth.checked_sub(1).is_some_and(|innermost| {
            let bits = self.bits.get(innermost / 64);
            bits.is_some_and(|bits| (bits >> (innermost % 64)) & 1 == 1)
        })
    }
}

/// The space after the root's opening bracket, which tells what is between its values.
#[derive(Debug, Default)]
struct Margin {
    is_open: bool,
    has_newline: bool,
    is_tab: bool,
    width: usize,
}

impl Margin {
    fn open(&mut self) {
        self.is_open = true;
    }

    fn close(&mut self) {
        self.is_open = false;
    }

    fn see(&mut self, spaces: &[u8]) {
        if !self.is_open {
            return;
        }
        for byte in spaces {
            match byte {
                b'\n' => {
                    self.has_newline = true;
                    (self.width, self.is_tab) = (0, false);
                }
                b'\r' => {}
                byte => {
                    self.is_tab = *byte == b'\t';
                    self.width = (self.width + 1).min(MAX_INDENT);
                }
            }
        }
    }

    fn spacing(&self) -> Spacing {
        if !self.has_newline {
            return Spacing::Compact;
        }
        let unit = if self.is_tab { '\t' } else { ' ' };
        Spacing::Pretty {
            unit,
            width: self.width,
        }
    }
}
