//! Where a word was found in a line, how it stands there, and the count beside it.

use super::weights;
use super::words::Stand;

/// How a word stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Manner {
    /// It announces what follows: `error:`, `[ERROR]`, `FAILED` at the start.
    Label,
    /// It is the level that a line is logged at: `[ERROR]`.
    Level,
    /// It is the end of a type's name, with a message behind it or nothing.
    Type,
    /// It is a type's name within a sentence.
    Mention,
    /// It is in capitals.
    Loud,
    /// It is a word of a sentence.
    Prose,
}

impl Manner {
    pub(super) fn failure_points(self) -> u16 {
        match self {
            Manner::Level => weights::LEVEL,
            Manner::Label | Manner::Type => weights::FAILURE_LABEL,
            Manner::Loud => weights::FAILURE_LOUD,
            Manner::Mention => weights::FAILURE_MENTION,
            Manner::Prose => weights::FAILURE_PROSE,
        }
    }
}

/// A word where it was found in the content of a line.
pub(super) struct WordPlace<'l> {
    pub(super) line: &'l [u8],
    pub(super) start: usize,
    pub(super) end: usize,
}

impl WordPlace<'_> {
    /// Returns how the word stands, or nothing if it may not stand so.
    pub(super) fn manner(&self, stand: Stand) -> Option<Manner> {
        match stand {
            Stand::Start => (self.start == 0).then_some(Manner::Label),
            Stand::Any => Some(Manner::Loud),
            Stand::Type if self.is_type() => Some(match self.after() {
                None | Some(b':') => Manner::Type,
                _ if self.is_first_word() => Manner::Type,
                _ => Manner::Mention,
            }),
            Stand::Word | Stand::Type => self.is_word().then(|| self.word_manner()),
        }
    }

    fn word_manner(&self) -> Manner {
        let is_label = matches!(self.after(), Some(b':' | b'!' | b']' | b'[')) || self.is_level();
        let word = &self.line[self.start..self.end];
        let is_loud =
            word.iter().any(u8::is_ascii_uppercase) && !word.iter().any(u8::is_ascii_lowercase);
        let is_bracketed = self.before() == Some(b'[') && self.after() == Some(b']');
        let is_spaced = self.start <= 48
            && matches!(self.after(), Some(b' ' | b'\t' | b'|'))
            && !matches!(word, b"FAIL" | b"FAILED");
        if is_loud && (is_bracketed || is_spaced) {
            return Manner::Level;
        }
        match (is_label, is_loud) {
            (true, _) => Manner::Label,
            (_, true) if self.start == 0 => Manner::Label,
            (_, true) => Manner::Loud,
            _ => Manner::Prose,
        }
    }

    /// Tells whether the word is the value of a level: `level=error`, `"level":"error"`.
    fn is_level(&self) -> bool {
        let before = self.line[..self.start].trim_ascii_end();
        let before = before.strip_suffix(b"\"").unwrap_or(before);
        let before = before.trim_ascii_end();
        let before = before.strip_suffix(b":").or(before.strip_suffix(b"="));
        before.is_some_and(|key| {
            let key = key.strip_suffix(b"\"").unwrap_or(key);
            ends_with_any(key, &[b"level", b"lvl", b"severity", b"status"])
        })
    }

    fn is_first_word(&self) -> bool {
        !self.line[..self.start].contains(&b' ')
    }

    /// Tells whether the word ends a type's name: a capital behind a letter, or behind a dot.
    fn is_type(&self) -> bool {
        let starts_capital = self.line[self.start].is_ascii_uppercase();
        let joins = self
            .before()
            .is_some_and(|before| before.is_ascii_alphanumeric() || before == b'.');
        let ends = self.after().is_none_or(|after| {
            !after.is_ascii_alphanumeric()
                && !matches!(after, b'_' | b'/' | b'-')
                && !self.is_file_name()
        });
        starts_capital && joins && ends
    }

    /// Tells whether the word stands alone, not within an identifier, a path, a flag or a call.
    fn is_word(&self) -> bool {
        let line = self.line;
        let is_joined =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'\\' | b'@');
        let before = self.before().is_some_and(|before| {
            is_joined(before)
                || matches!(before, b'-' | b'.' | b'$')
                || line[..self.start].ends_with(b"::")
        });
        let after = self.after().is_some_and(|after| {
            let is_hyphened = after == b'-'
                && line
                    .get(self.end + 1)
                    .is_some_and(u8::is_ascii_alphanumeric);
            is_joined(after)
                || after == b'('
                || is_hyphened
                || line[self.end..].starts_with(b"::")
                || self.is_file_name()
        });
        !before && !after
    }

    /// Tells whether a dot and letters follow, as in `error.rs`.
    fn is_file_name(&self) -> bool {
        self.after() == Some(b'.')
            && self
                .line
                .get(self.end + 1)
                .is_some_and(u8::is_ascii_alphanumeric)
    }

    pub(super) fn is_exit(&self) -> bool {
        self.line[self.start..self.end]
            .to_ascii_lowercase()
            .starts_with(b"exit")
    }

    /// Tells whether the word begins or ends the line, a mark or a time in brackets behind it aside: there it is a status.
    pub(super) fn is_at_an_end(&self) -> bool {
        let rest = self.line[self.end..].trim_ascii();
        self.start == 0 || rest.is_empty() || matches!(rest[0], b'(' | b'[' | b'.' | b'!')
    }

    /// Returns the number that soon follows: `exited with code 3`, `exit status: 3`.
    pub(super) fn exit_code(&self) -> Option<u64> {
        const SOON: usize = 16;
        let rest = &self.line[self.end..];
        let start = rest.iter().take(SOON).position(u8::is_ascii_digit)?;
        let digits = rest[start..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        number(&rest[start..start + digits])
    }

    /// Returns the count beside the word: `3 errors`, `errors: 3`, `failed=3`.
    pub(super) fn count(&self) -> Option<u64> {
        self.count_before()
            .or_else(|| number_after(&self.line[self.end..]))
            .or_else(|| is_nought(&self.line[self.end..]).then_some(0))
    }

    /// Returns the count before the word: `3 passed`, but not `ok 3`.
    pub(super) fn count_before(&self) -> Option<u64> {
        number_before(&self.line[..self.start])
    }

    fn before(&self) -> Option<u8> {
        self.start.checked_sub(1).map(|at| self.line[at])
    }

    pub(super) fn after(&self) -> Option<u8> {
        self.line.get(self.end).copied()
    }
}

fn ends_with_any(text: &[u8], ends: &[&[u8]]) -> bool {
    ends.iter().any(|end| {
        text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
    })
}

/// Returns the number that ends `text` before one space, `no` counting as nought, also with one word between: `2 tests failed`.
fn number_before(text: &[u8]) -> Option<u64> {
    let text = text.strip_suffix(b" ")?;
    let word_start = text
        .iter()
        .rposition(|byte| matches!(byte, b' ' | b'(' | b'[' | b'|' | b','))
        .map_or(0, |at| at + 1);
    let word = &text[word_start..];
    if word.eq_ignore_ascii_case(b"no") || word.eq_ignore_ascii_case(b"without") {
        return Some(0);
    }
    number(word).or_else(|| {
        let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic);
        let before = text[..word_start].strip_suffix(b" ").filter(|_| is_word)?;
        let start = before
            .iter()
            .rposition(|byte| !byte.is_ascii_digit())
            .map_or(0, |at| at + 1);
        let is_count = ends_with_any(
            word,
            &[
                b"test",
                b"tests",
                b"case",
                b"cases",
                b"file",
                b"files",
                b"check",
                b"checks",
                b"suite",
                b"suites",
                b"example",
                b"examples",
                b"spec",
                b"specs",
                b"assertion",
                b"assertions",
                b"previous",
                b"task",
                b"tasks",
            ],
        );
        number(&before[start..]).filter(|_| is_count)
    })
}

/// Returns the number behind `:`, `=` or a space, if it is a count: nothing of its own follows, as in `error: 0 of 5 ready`.
fn number_after(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let (&mark, value) = text.split_first()?;
    let value = value.trim_ascii_start();
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let rest = &value[digits..];
    let is_count = match (mark, rest.first()) {
        (
            b':' | b'=' | b' ',
            None | Some(b',' | b';' | b')' | b']' | b'}' | b'|' | b'"' | b'\t'),
        ) => true,
        (b'=', Some(b' ')) => true,
        (b':', Some(b' ')) => rest.starts_with(b"  ") || is_label_next(rest.trim_ascii_start()),
        _ => false,
    };
    number(&value[..digits]).filter(|_| is_count)
}

/// Tells whether a text begins with a word that is itself a label: `Errors: 0`.
fn is_label_next(text: &[u8]) -> bool {
    let word = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    word > 0 && matches!(text.get(word), Some(b':' | b'='))
}

/// Tells whether a line that goes on so ends in a count of nought: `in tests: 0`.
fn is_nought(rest: &[u8]) -> bool {
    if rest.len() > 24 || rest.iter().filter(|byte| byte.is_ascii_digit()).count() != 1 {
        return false;
    }
    let value = rest
        .trim_ascii_end()
        .strip_suffix(b"0")
        .map(<[u8]>::trim_ascii_end);
    value.is_some_and(|label| label.ends_with(b":") || label.ends_with(b"="))
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number =
        !digits.is_empty() && digits.len() <= 9 && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        digits
            .iter()
            .fold(0, |n, digit| n * 10 + u64::from(digit - b'0'))
    })
}
