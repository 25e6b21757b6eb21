//! Reads bytes as text: UTF-8, with U+FFFD for what is not.
//!
//! The store keeps the bytes; only what a model reads is decoded, and the length of a decoded part can be told in the
//! bytes it came from.

use std::borrow::Cow;

/// How much of an output is looked at to tell whether it is binary.
pub(crate) const PROBE_BYTES: usize = 8192;

/// What some programs write before any text: U+FEFF.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Tells whether an output is binary: a NUL in its first 8 KiB.
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(PROBE_BYTES)]).is_some()
}

/// Returns bytes as text, with U+FFFD for what is not UTF-8.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Returns `bytes` without a character that is cut off at the end.
pub(crate) fn without_cut_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(4)..]) {
        Ok(_) => bytes,
        Err(_) => {
            let cut =
                (1..=3.min(bytes.len())).find(|&n| is_open_sequence(&bytes[bytes.len() - n..]));
            &bytes[..bytes.len() - cut.unwrap_or(0)]
        }
    }
}

/// Returns `bytes` without the rest of a character that is cut off at the start.
pub(crate) fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|&&byte| byte & 0xC0 == 0x80)
        .count();
    &bytes[rest..]
}

/// Tells whether `bytes` are the first bytes of a character, and not all of it.
fn is_open_sequence(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
}

/// Returns how many of `bytes` the first `shown` bytes of their decoded text stand for.
///
/// ```
/// let bytes = b"a\xff\xffb";
/// let shown = overspill::decode(bytes).find('b').unwrap();
/// assert_eq!((shown, overspill::raw_prefix_len(bytes, shown)), (7, 3));
/// ```
pub fn raw_prefix_len(bytes: &[u8], shown: usize) -> usize {
    let (mut left, mut raw) = (shown, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len().min(left);
        raw += valid;
        left -= valid;
        if left == 0 {
            break;
        }
        raw += chunk.invalid().len();
        left = left.saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
        if left == 0 {
            break;
        }
    }
    raw
}

/// Returns how many of `bytes` the last `shown` bytes of their decoded text stand for.
pub(crate) fn raw_suffix_len(bytes: &[u8], shown: usize) -> usize {
    let all = decode(bytes).len();
    bytes.len() - raw_prefix_len(bytes, all - shown)
}

/// Counts the chars of a text that comes in chunks.
#[derive(Debug, Default)]
pub(crate) struct CharCounter {
    chars: u64,
    open: Vec<u8>,
}

impl CharCounter {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if self.open.is_empty() {
            let closed = without_cut_end(chunk);
            self.chars += count_chars(closed);
            self.open.extend_from_slice(&chunk[closed.len()..]);
            return;
        }
        // At most three bytes are open, so a few more decide them.
        let taken = chunk.len().min(4);
        self.open.extend_from_slice(&chunk[..taken]);
        let closed = without_cut_end(&self.open).len();
        self.chars += count_chars(&self.open[..closed]);
        self.open.drain(..closed);
        if taken < chunk.len() {
            self.push(&chunk[taken..]);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.chars + count_chars(&self.open)
    }
}

fn count_chars(bytes: &[u8]) -> u64 {
    let chunk_chars = |chunk: std::str::Utf8Chunk<'_>| {
        chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty())
    };
    bytes.utf8_chunks().map(chunk_chars).sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_open_character_is_left_off() {
        assert_eq!(without_cut_end("aé".as_bytes()), "aé".as_bytes());
        assert_eq!(without_cut_end(&"aé".as_bytes()[..2]), b"a");
        assert_eq!(without_cut_end(&"a👍".as_bytes()[..4]), b"a");
        assert_eq!(without_cut_end(b"a\xff"), b"a\xff");
        assert_eq!(without_cut_start(&"é".as_bytes()[1..]), b"");
    }

    proptest! {
        #[test]
        fn chars_are_counted_the_same_in_any_chunks(bytes: Vec<u8>, size in 1usize..7) {
            let mut counter = CharCounter::default();
            bytes.chunks(size).for_each(|chunk| counter.push(chunk));
            prop_assert_eq!(counter.total(), decode(&bytes).chars().count() as u64);
        }

        #[test]
        fn raw_lengths_add_up(bytes: Vec<u8>, at: prop::sample::Index) {
            let shown = decode(&bytes).into_owned();
            let edges: Vec<usize> = shown.char_indices().map(|(at, _)| at).chain([shown.len()]).collect();
            let at = *at.get(&edges);
            let both = raw_prefix_len(&bytes, at) + raw_suffix_len(&bytes, shown.len() - at);
            prop_assert_eq!(both, bytes.len());
        }
    }
}
