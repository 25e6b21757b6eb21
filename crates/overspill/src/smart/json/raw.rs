//! The inside of a JSON string as it was written: escape sequences, how many chars they are, and where it may be cut.
//!
//! A surrogate without its partner is allowed by the grammar, and counts as one char.

use crate::cut::edge;

/// The longest that a char can be as it is written: a pair of surrogates.
const MAX_RAW_CHAR_BYTES: usize = 12;

/// What a backslash starts.
enum Escape {
    Char {
        len: usize,
        char: char,
    },
    /// The text ends before it is known.
    Unfinished,
    Wrong,
}

/// Returns how much of `bytes` is known to be chars or no part of any, which is all of it if it is `whole`; none if there is an
/// escape that is none.
pub(super) fn sound_len(bytes: &[u8], whole: bool) -> Option<usize> {
    let mut at = 0;
    let mut end = bytes.len();
    while let Some(skipped) = memchr::memchr(b'\\', bytes.get(at..)?) {
        at += skipped;
        match escape(bytes.get(at..)?, whole) {
            Escape::Char { len, .. } => at += len,
            Escape::Unfinished => {
                end = at;
                break;
            }
            Escape::Wrong => return None,
        }
    }
    match whole || end < bytes.len() {
        true => Some(end),
        false => Some(crate::text::without_cut_end(bytes).len()),
    }
}

/// Tells whether a byte that a string must escape is among `bytes`.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    // Not `any`: without a way out of the loop the compiler looks at many bytes at once.
    bytes
        .iter()
        .fold(false, |found, &byte| found | (byte < b' '))
}

/// Returns how many chars `raw` is when it is decoded.
pub(super) fn count_chars(raw: &str) -> u64 {
    let mut rest = raw;
    let mut chars = 0;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, after) = rest.split_at(at);
        let (len, _) = first_char(after);
        chars += before.chars().count() as u64 + 1;
        rest = after.get(len..).unwrap_or_default();
    }
    chars + rest.chars().count() as u64
}

/// Adds what `raw` means to `out`.
pub(super) fn decode(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, after) = rest.split_at(at);
        let (len, char) = first_char(after);
        out.push_str(before);
        out.push(char);
        rest = after.get(len..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Returns the longest start of `raw` within `max_bytes` that ends between graphemes: its bytes, and its chars.
pub(super) fn cut(raw: &str, max_bytes: usize) -> (usize, u64) {
    if raw.len() <= max_bytes {
        return (raw.len(), count_chars(raw));
    }
    let seen = raw.floor_char_boundary(max_bytes + edge::CONTEXT_BYTES);
    let seen = raw.get(..seen).unwrap_or_default();
    let len = if memchr::memchr(b'\\', seen.as_bytes()).is_none() {
        edge::floor(raw, raw.floor_char_boundary(max_bytes))
    } else {
        cut_escaped(raw, max_bytes)
    };
    (len, count_chars(raw.get(..len).unwrap_or_default()))
}

/// The same where there are escapes: the neighbourhood of the cut is decoded, and the cut sought there.
fn cut_escaped(raw: &str, max_bytes: usize) -> usize {
    let context = edge::CONTEXT_BYTES * MAX_RAW_CHAR_BYTES;
    let (from, until) = (max_bytes.saturating_sub(context), max_bytes + context);
    let mut window = String::new();
    // Where the chars of the window are in `raw`, by their place in the window.
    let mut places = Vec::new();
    let (mut at, mut cut) = (0, 0);
    while at < until {
        let rest = raw.get(at..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        // What is far before the cut is passed without decoding, up to the next escape.
        if let Some(plain) = from.checked_sub(at) {
            let near = rest.get(..rest.floor_char_boundary(plain));
            let near = near.unwrap_or_default();
            let skipped = memchr::memchr(b'\\', near.as_bytes()).unwrap_or(near.len());
            if skipped > 0 {
                at += skipped;
                continue;
            }
        }
        let (len, char) = first_char(rest);
        if at >= from {
            places.push((window.len(), at));
            if at <= max_bytes {
                cut = window.len();
            }
            window.push(char);
        }
        at += len;
    }
    let edge = edge::floor(&window, cut);
    let place = places.binary_search_by_key(&edge, |&(place, _)| place);
    place
        .ok()
        .and_then(|found| places.get(found))
        .map_or(0, |&(_, at)| at)
}

/// Returns the first char of a text that is not empty, and how long it is as it is written.
fn first_char(raw: &str) -> (usize, char) {
    match (raw.as_bytes(), raw.chars().next()) {
        ([b'\\', ..], _) => match escape(raw.as_bytes(), true) {
            Escape::Char { len, char } => (len, char),
            Escape::Unfinished | Escape::Wrong => (1, '\\'),
        },
        (_, Some(char)) => (char.len_utf8(), char),
        (_, None) => (0, char::REPLACEMENT_CHARACTER),
    }
}

/// Reads the escape sequence at the start of `bytes`; if they are the `whole` rest of the string, nothing follows them.
fn escape(bytes: &[u8], whole: bool) -> Escape {
    let unfinished = if whole {
        Escape::Wrong
    } else {
        Escape::Unfinished
    };
    let char = match bytes.get(1) {
        None => return unfinished,
        Some(b'u') => return unicode_escape(bytes, whole),
        Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(_) => return Escape::Wrong,
    };
    Escape::Char { len: 2, char }
}

fn unicode_escape(bytes: &[u8], whole: bool) -> Escape {
    let Some(first) = hex(bytes) else {
        let digits = bytes.get(2..).unwrap_or_default();
        let may_come = digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit);
        return if may_come && !whole {
            Escape::Unfinished
        } else {
            Escape::Wrong
        };
    };
    let lone = Escape::Char {
        len: 6,
        char: char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER),
    };
    if !(0xD800..0xDC00).contains(&first) {
        return lone;
    }
    let rest = bytes.get(6..).unwrap_or_default();
    match hex(rest) {
        Some(second @ 0xDC00..0xE000) => Escape::Char {
            len: MAX_RAW_CHAR_BYTES,
            char: char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
                .unwrap_or(char::REPLACEMENT_CHARACTER),
        },
        None if !whole && rest.len() < 6 && b"\\u".starts_with(&rest[..rest.len().min(2)]) => {
            Escape::Unfinished
        }
        _ => lone,
    }
}

/// Returns the number in `\uXXXX` at the start of `bytes`.
fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(number * 16 + char::from(digit).to_digit(16)?)
    })
}
