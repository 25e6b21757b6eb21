//! What the targets share: arbitrary limits, and what it means to be within them.

use arbitrary::Arbitrary;
use overspill::{Encoding, Limits, Size, Strategy};

/// Limits as a fuzzer makes them: small, so that they bite.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyLimits {
    lines: Option<u8>,
    bytes: Option<u16>,
    chars: Option<u16>,
    tokens: Option<u8>,
    line_chars: Option<u8>,
    is_cl100k: bool,
}

impl AnyLimits {
    /// Returns the limits; a zero is turned into a one by the library.
    pub fn limits(self) -> Limits {
        let limits = Limits::none();
        let limits = self.lines.map_or(limits, |n| limits.lines(n.into()));
        let limits = self.bytes.map_or(limits, |n| limits.bytes(n.into()));
        let limits = self.chars.map_or(limits, |n| limits.chars(n.into()));
        let limits = self.tokens.map_or(limits, |n| limits.tokens(n.into()));
        let limits = self
            .line_chars
            .map_or(limits, |n| limits.line_chars(n.into()));
        if self.is_cl100k {
            limits.encoding(Encoding::Cl100k)
        } else {
            limits
        }
    }
}

/// Returns one of the strategies.
pub fn strategy(choice: u8) -> Strategy {
    Strategy::ALL[usize::from(choice) % Strategy::ALL.len()]
}

/// Says which limit a text is over, if any.
pub fn broken(text: &str, limits: &Limits) -> Option<String> {
    let over = |what: &str, n: u64, max: Option<usize>| {
        max.filter(|max| n > *max as u64)
            .map(|max| format!("{n} {what} over {max}"))
    };
    let size = Size::of(text.as_bytes());
    let tokens = limits
        .max_tokens()
        .map_or(0, |_| limits.token_encoding().count(text));
    let longest = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).chars().count() as u64)
        .max()
        .unwrap_or(0);
    over("lines", size.lines, limits.max_lines())
        .or_else(|| over("bytes", size.bytes, limits.max_bytes()))
        .or_else(|| over("chars", text.chars().count() as u64, limits.max_chars()))
        .or_else(|| over("tokens", tokens, limits.max_tokens()))
        .or_else(|| over("chars in a line", longest, limits.max_line_chars()))
}
