//! What bounds a preview, and the units it is measured in.
//!
//! A limit is inclusive and may be off. *Lines* end at `\n`, and a final `\n` ends the last line without starting
//! another; *bytes* are UTF-8 bytes; *chars* are Unicode scalar values; *tokens* are those of an [`Encoding`].

use crate::tokens::{Encoding, MAX_TOKEN_BYTES};

/// What a preview may hold when no size limit is on. It keeps a stream's memory bounded whatever the user switched off.
pub const CEILING_BYTES: usize = 8 << 20;

/// The unit of a limit, and of what a cut removed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Unit {
    /// Lines, ended by `\n`.
    Lines,
    /// UTF-8 bytes.
    Bytes,
    /// Unicode scalar values.
    Chars,
    /// Tokens of the chosen encoding.
    Tokens,
}

impl Unit {
    /// Returns the word used in records: `lines`, `bytes`, `chars` or `tokens`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Lines => "lines",
            Unit::Bytes => "bytes",
            Unit::Chars => "chars",
            Unit::Tokens => "tokens",
        }
    }
}

/// The limits of a preview. Each one is off until it is set.
///
/// ```
/// use overspill::Limits;
/// const LIMITS: Limits = Limits::none().lines(2_000).bytes(50 * 1024);
/// assert_eq!(LIMITS, Limits::default());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    max_lines: Option<usize>,
    max_bytes: Option<usize>,
    max_chars: Option<usize>,
    max_tokens: Option<usize>,
    max_line_chars: Option<usize>,
    encoding: Encoding,
}

impl Default for Limits {
    /// 2000 lines and 51200 bytes.
    fn default() -> Self {
        Limits::none().lines(2_000).bytes(50 * 1024)
    }
}

impl Limits {
    /// Returns limits that are all off.
    pub const fn none() -> Self {
        Limits {
            max_lines: None,
            max_bytes: None,
            max_chars: None,
            max_tokens: None,
            max_line_chars: None,
            encoding: Encoding::O200k,
        }
    }

    /// Keeps at most `n` lines. Zero counts as one, since a preview is never empty.
    pub const fn lines(self, n: usize) -> Self {
        Limits {
            max_lines: Some(at_least_one(n)),
            ..self
        }
    }

    /// Keeps at most `n` bytes. Zero counts as one.
    pub const fn bytes(self, n: usize) -> Self {
        Limits {
            max_bytes: Some(at_least_one(n)),
            ..self
        }
    }

    /// Keeps at most `n` chars. Zero counts as one.
    pub const fn chars(self, n: usize) -> Self {
        Limits {
            max_chars: Some(at_least_one(n)),
            ..self
        }
    }

    /// Keeps at most `n` tokens. Zero counts as one.
    pub const fn tokens(self, n: usize) -> Self {
        Limits {
            max_tokens: Some(at_least_one(n)),
            ..self
        }
    }

    /// Shortens each line to at most `n` chars, its closing `...` included. Zero counts as one.
    pub const fn line_chars(self, n: usize) -> Self {
        Limits {
            max_line_chars: Some(at_least_one(n)),
            ..self
        }
    }

    /// Counts tokens with `encoding`. The default is [`Encoding::O200k`].
    pub const fn encoding(self, encoding: Encoding) -> Self {
        Limits { encoding, ..self }
    }

    /// Returns the limit on lines, if it is on.
    pub const fn max_lines(&self) -> Option<usize> {
        self.max_lines
    }

    /// Returns the limit on bytes, if it is on.
    pub const fn max_bytes(&self) -> Option<usize> {
        self.max_bytes
    }

    /// Returns the limit on chars, if it is on.
    pub const fn max_chars(&self) -> Option<usize> {
        self.max_chars
    }

    /// Returns the limit on tokens, if it is on.
    pub const fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    /// Returns the limit on the chars of one line, if it is on.
    pub const fn max_line_chars(&self) -> Option<usize> {
        self.max_line_chars
    }

    /// Returns the encoding that tokens are counted in.
    pub const fn token_encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the most bytes a preview can have under all the limits together, [`CEILING_BYTES`] if no size limit is on.
    pub fn reach_bytes(&self) -> usize {
        [
            self.max_bytes,
            self.max_chars.map(|n| n.saturating_mul(4)),
            self.max_tokens.map(|n| n.saturating_mul(MAX_TOKEN_BYTES)),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(CEILING_BYTES)
    }

    /// Returns the limits with the one on tokens off.
    pub(crate) const fn without_tokens(self) -> Self {
        Limits {
            max_tokens: None,
            ..self
        }
    }

    /// Returns the byte limit that is in force: the user's, or the ceiling where no size limit is on.
    pub(crate) fn bytes_in_force(&self) -> Option<usize> {
        let other = self.max_chars.is_some() || self.max_tokens.is_some();
        self.max_bytes
            .or(if other { None } else { Some(CEILING_BYTES) })
    }
}

const fn at_least_one(n: usize) -> usize {
    if n == 0 { 1 } else { n }
}

/// How large a text is. Chars are counted only where a limit asks for them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Size {
    /// Lines; a final newline does not start another.
    pub lines: u64,
    /// Bytes, as they are in the store.
    pub bytes: u64,
}

impl Size {
    /// Measures a text.
    pub fn of(text: &[u8]) -> Size {
        let newlines = count_newlines(text);
        let open = text.last().is_some_and(|&last| last != b'\n');
        Size {
            lines: newlines + u64::from(open),
            bytes: text.len() as u64,
        }
    }
}

pub(crate) fn count_newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// How much a cut left out, exactly, in the unit of the limit that stopped it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Removed {
    /// How many units are not in the preview.
    pub count: u64,
    /// The unit they are counted in.
    pub unit: Unit,
}
