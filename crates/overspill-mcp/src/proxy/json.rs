//! Reads JSON for where things are, not for what they are: what is not changed is sent on byte for byte.
//!
//! Nothing is held but a key and a stack of brackets, so a message may be of any size.

use std::io::{self, BufRead};
use std::ops::Range;

use memchr::{memchr, memchr2};

/// Deeper nesting is no message.
const MAX_DEPTH: usize = 10_000;

/// More of a key than this is not looked at.
const KEY_BYTES: usize = 128;

/// Why a text is not JSON.
#[derive(Debug)]
pub(super) enum Fault {
    Malformed,
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

/// A piece of JSON.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Token {
    Open(Bracket),
    Close,
    /// A key, as it is meant: one that is long has only its start, one that cannot be read is empty.
    Key(Vec<u8>),
    String,
    /// A number, `true`, `false` or `null`.
    Word,
}

/// What a container is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bracket {
    Object,
    Array,
}

/// Reads one value, piece by piece.
pub(super) struct Pieces<R> {
    input: R,
    at: u64,
    open: Vec<Bracket>,
    expects: Expects,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expects {
    Value,
    /// A value, or the end of an array that has none.
    ValueOrEnd,
    Key,
    /// A key, or the end of an object that has none.
    KeyOrEnd,
    CommaOrEnd,
    End,
}

impl<R: BufRead> Pieces<R> {
    pub(super) fn new(input: R) -> Self {
        Pieces {
            input,
            at: 0,
            open: Vec::new(),
            expects: Expects::Value,
        }
    }

    /// Returns how many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the next piece and where it is; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Token, Range<u64>)>, Fault> {
        loop {
            let Some(byte) = self.skip_space()? else {
                return match self.expects {
                    Expects::End => Ok(None),
                    _ => Err(Fault::Malformed),
                };
            };
            let start = self.at;
            let token = match (byte, self.expects) {
                (b'"', Expects::Key | Expects::KeyOrEnd) => self.key()?,
                (b'}' | b']', _) => self.close(byte)?,
                (b',', Expects::CommaOrEnd) => {
                    self.take();
                    self.expects = match self.open.last() {
                        Some(Bracket::Object) => Expects::Key,
                        _ => Expects::Value,
                    };
                    continue;
                }
                (_, Expects::Value | Expects::ValueOrEnd) => self.value(byte)?,
                _ => return Err(Fault::Malformed),
            };
            return Ok(Some((token, start..self.at)));
        }
    }

    fn value(&mut self, byte: u8) -> Result<Token, Fault> {
        match byte {
            b'{' => self.open(Bracket::Object, Expects::KeyOrEnd),
            b'[' => self.open(Bracket::Array, Expects::ValueOrEnd),
            b'"' => {
                self.string(None)?;
                self.expects = self.after_value();
                Ok(Token::String)
            }
            _ => self.word(),
        }
    }

    fn open(&mut self, bracket: Bracket, expects: Expects) -> Result<Token, Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault::Malformed);
        }
        self.take();
        self.open.push(bracket);
        self.expects = expects;
        Ok(Token::Open(bracket))
    }

    fn close(&mut self, byte: u8) -> Result<Token, Fault> {
        let is_due = match (self.open.last(), self.expects) {
            (Some(Bracket::Object), Expects::KeyOrEnd | Expects::CommaOrEnd) => byte == b'}',
            (Some(Bracket::Array), Expects::ValueOrEnd | Expects::CommaOrEnd) => byte == b']',
            _ => false,
        };
        if !is_due {
            return Err(Fault::Malformed);
        }
        self.take();
        self.open.pop();
        self.expects = self.after_value();
        Ok(Token::Close)
    }

    fn key(&mut self) -> Result<Token, Fault> {
        let mut key = Vec::new();
        self.string(Some(&mut key))?;
        if self.skip_space()? != Some(b':') {
            return Err(Fault::Malformed);
        }
        self.take();
        self.expects = Expects::Value;
        // Another way to write a known key must not lead past what is looked at.
        if key.contains(&b'\\') {
            let quoted = [b"\"", key.as_slice(), b"\""].concat();
            key = serde_json::from_slice::<String>(&quoted).map_or(Vec::new(), String::into_bytes);
        }
        Ok(Token::Key(key))
    }

    fn word(&mut self) -> Result<Token, Fault> {
        let start = self.at;
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'+' | b'.') {
                break;
            }
            self.take();
        }
        if self.at == start {
            return Err(Fault::Malformed);
        }
        self.expects = self.after_value();
        Ok(Token::Word)
    }

    /// Passes over a string, its quotes included; `kept` gets the start of it.
    fn string(&mut self, mut kept: Option<&mut Vec<u8>>) -> Result<(), Fault> {
        self.take();
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Err(Fault::Malformed);
            }
            let end = memchr2(b'"', b'\\', buffer);
            let plain = end.unwrap_or(buffer.len());
            if let Some(kept) = &mut kept {
                let room = KEY_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..plain.min(room)]);
            }
            let byte = end.map(|end| buffer[end]);
            self.skip(plain);
            match byte {
                Some(b'"') => {
                    self.take();
                    return Ok(());
                }
                Some(_) => {
                    self.take();
                    let Some(escaped) = self.peek()? else {
                        return Err(Fault::Malformed);
                    };
                    self.take();
                    if let Some(kept) = kept.as_mut().filter(|kept| kept.len() < KEY_BYTES) {
                        kept.extend_from_slice(&[b'\\', escaped]);
                    }
                }
                None => {}
            }
        }
    }

    fn after_value(&self) -> Expects {
        match self.open.is_empty() {
            true => Expects::End,
            false => Expects::CommaOrEnd,
        }
    }

    fn skip_space(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.take(),
                other => return Ok(other),
            }
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn take(&mut self) {
        self.skip(1);
    }

    fn skip(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.at += bytes as u64;
    }
}

/// Gives the content of a string, given without its quotes, to `take`, in large pieces: an escape is short, and there may be
/// one a line.
pub(super) fn unescape(mut input: impl BufRead, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    const PIECE_BYTES: usize = 64 << 10;
    let mut piece = Unescaped::default();
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let plain = memchr(b'\\', buffer).unwrap_or(buffer.len());
        if plain > 0 {
            piece.push(&buffer[..plain]);
            input.consume(plain);
        } else {
            input.consume(1);
            let mut escape = [0];
            if input.read_exact(&mut escape).is_err() {
                break;
            }
            match escape[0] {
                b'u' => piece.push_unit(code_unit(&mut input)?),
                byte => piece.push(&[plain_escape(byte)]),
            }
        }
        if piece.bytes.len() >= PIECE_BYTES {
            take(&piece.bytes);
            piece.bytes.clear();
        }
    }
    piece.end();
    take(&piece.bytes);
    Ok(())
}

/// The content of a string as it is read.
#[derive(Default)]
struct Unescaped {
    bytes: Vec<u8>,
    /// The first half of a character that is written as two.
    high: Option<u32>,
}

impl Unescaped {
    fn push(&mut self, bytes: &[u8]) {
        self.end();
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes a character, or half of one.
    fn push_unit(&mut self, unit: u32) {
        match (self.high, unit) {
            (Some(high), 0xDC00..0xE000) => {
                self.high = None;
                self.push_char(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            }
            (_, 0xD800..0xDC00) => {
                self.end();
                self.high = Some(unit);
            }
            _ => {
                self.end();
                self.push_char(unit);
            }
        }
    }

    fn push_char(&mut self, code: u32) {
        let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut bytes = [0; 4];
        self.bytes
            .extend_from_slice(char.encode_utf8(&mut bytes).as_bytes());
    }

    /// Marks a half that its other half does not follow.
    fn end(&mut self) {
        if self.high.take().is_some() {
            self.push_char(0xFFFD);
        }
    }
}

fn plain_escape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0c,
        other => other,
    }
}

fn code_unit(input: &mut impl BufRead) -> io::Result<u32> {
    let mut digits = [0; 4];
    input.read_exact(&mut digits)?;
    let text = std::str::from_utf8(&digits).unwrap_or("fffd");
    Ok(u32::from_str_radix(text, 16).unwrap_or(0xFFFD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(text: &str) -> String {
        let mut bytes = Vec::new();
        // Every boundary of the buffer is tried.
        let input = io::BufReader::with_capacity(1, text.as_bytes());
        unescape(input, |piece| bytes.extend_from_slice(piece)).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn strings_are_read_as_serde_reads_them() {
        for text in [
            r"plain",
            r#"a\"b\\c\/d\n\t\r\b\f"#,
            r"\u0041\u00e9\u4e2d",
            r"\ud83d\ude00 two halves",
            "中文 \u{1f600}",
        ] {
            let wanted: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            assert_eq!(unescaped(text), wanted);
        }
        assert_eq!(unescaped(r"\ud83dx"), "\u{fffd}x");
        assert_eq!(unescaped(r"\ud83d\ud83d\ude00"), "\u{fffd}\u{1f600}");
        assert_eq!(unescaped(r"\ude00"), "\u{fffd}");
        assert_eq!(unescaped(r"\ud83d"), "\u{fffd}");
    }

    #[test]
    fn what_is_no_json_is_told() {
        let read = |text: &str| {
            let mut pieces = Pieces::new(text.as_bytes());
            while pieces.next()?.is_some() {}
            Ok::<_, Fault>(())
        };
        for text in [
            "{}",
            "[1,{\"a\":[]}]",
            " \"x\" ",
            "-1.5e3",
            "{\"a\":{},\"b\":[\"]\"]}",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "[}",
            "1 2",
            "\"x",
            "{a:1}",
            "log: {}",
            "]",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(20_000)).is_err());
    }
}
