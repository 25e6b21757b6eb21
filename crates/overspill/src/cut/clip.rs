//! Shortens lines that are over `max_line_chars`, as they stream by.
//!
//! A shortened line keeps its start, whatever the strategy, and ends in `...`; its chars, the dots included, are within the
//! limit. Bytes pass undecoded; no more of a line is held than the limit can keep.

use memchr::{memchr, memrchr};

use super::edge;
use crate::limits::Limits;
use crate::text;

/// What a shortened line ends in.
pub(crate) const DOTS: &str = "...";

/// Tells whether a line of `text` is over the limit on its chars.
pub(super) fn is_needed(text: &str, limits: &Limits) -> bool {
    let Some(max) = limits.max_line_chars() else {
        return false;
    };
    let mut at = short_lines(text.as_bytes(), max);
    while at < text.len() {
        let line = text[at..].split('\n').next().unwrap_or("");
        let shown = line.strip_suffix('\r').unwrap_or(line);
        if super::head::nth_char(shown, max).is_some() {
            return true;
        }
        at = (at + line.len() + 1).min(text.len());
        at += short_lines(&text.as_bytes()[at..], max);
    }
    false
}

/// Returns the length of the complete lines at the start of `bytes` that are short whatever they hold.
fn short_lines(bytes: &[u8], max_chars: usize) -> usize {
    let mut end: usize = 0;
    loop {
        // A leap: the last newline within reach ends a line that is short, and so are all before it.
        let reach = end
            .saturating_add(max_chars)
            .saturating_add(1)
            .min(bytes.len());
        match memrchr(b'\n', &bytes[end..reach]) {
            Some(newline) => end += newline + 1,
            None => return end,
        }
    }
}

/// Passes lines on, the long ones shortened.
#[derive(Debug)]
pub(crate) struct Clipper {
    max_chars: usize,
    /// The start of the current line, held until it is known whether the line is too long.
    held: Vec<u8>,
    /// Whether the current line was found too long and the rest of it is dropped.
    dropping: bool,
    dropped: text::CharCounter,
    /// Whether what was dropped so far ends in `\r`, which stays if the line ends there.
    ends_in_return: bool,
    removed_chars: u64,
}

impl Clipper {
    pub(crate) fn new(max_chars: usize) -> Self {
        Clipper {
            max_chars,
            held: Vec::new(),
            dropping: false,
            dropped: Default::default(),
            ends_in_return: false,
            removed_chars: 0,
        }
    }

    /// Returns how many chars were left out of the lines so far.
    pub(crate) fn removed_chars(&self) -> u64 {
        self.removed_chars
    }

    /// Takes a chunk; what may pass goes to `keep`, a second argument telling whether it is the `...` of a shortened line.
    pub(crate) fn push(&mut self, mut chunk: &[u8], keep: &mut impl FnMut(&[u8], bool)) {
        if self.held.is_empty() && !self.dropping {
            let short = short_lines(chunk, self.max_chars);
            keep(&chunk[..short], false);
            chunk = &chunk[short..];
        }
        while let Some(newline) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(newline);
            self.part(line, keep);
            self.end(keep);
            keep(b"\n", false);
            let short = short_lines(&rest[1..], self.max_chars);
            keep(&rest[1..=short], false);
            chunk = &rest[1 + short..];
        }
        self.part(chunk, keep);
    }

    /// Passes on what is held of a line that ends here. The `\r` of a line end belongs to it, not to the line.
    pub(crate) fn end(&mut self, keep: &mut impl FnMut(&[u8], bool)) {
        let is_return_dropped = self.dropping && self.ends_in_return;
        let has_return = is_return_dropped
            || (!self.dropping && self.held.pop_if(|last| *last == b'\r').is_some());
        if !self.dropping {
            self.settle(keep);
        }
        if self.dropping {
            self.removed_chars += self.dropped.total() - u64::from(is_return_dropped);
        } else {
            keep(&self.held, false);
        }
        if has_return {
            keep(b"\r", false);
        }
        *self = Clipper {
            removed_chars: self.removed_chars,
            ..Clipper::new(self.max_chars)
        };
    }

    fn part(&mut self, mut piece: &[u8], keep: &mut impl FnMut(&[u8], bool)) {
        // Four bytes a char, and enough behind the limit to see whether its edge is inside a cluster.
        let enough = self
            .max_chars
            .saturating_mul(4)
            .saturating_add(edge::CONTEXT_BYTES + 4);
        if !self.dropping {
            let taken = piece.len().min(enough.saturating_sub(self.held.len()));
            self.held.extend_from_slice(&piece[..taken]);
            piece = &piece[taken..];
            if self.held.len() >= enough {
                self.settle(keep);
            }
        }
        if self.dropping {
            self.dropped.push(piece);
            self.ends_in_return = piece
                .last()
                .map_or(self.ends_in_return, |&last| last == b'\r');
        }
    }

    /// Decides whether what is held of the line is too long, and if so passes on its start.
    fn settle(&mut self, keep: &mut impl FnMut(&[u8], bool)) {
        if self.held.len() <= self.max_chars {
            return;
        }
        let shown = text::decode(&self.held);
        if super::head::nth_char(&shown, self.max_chars).is_none() {
            return;
        }
        let dots = if self.max_chars > DOTS.len() {
            DOTS
        } else {
            ""
        };
        let room =
            super::head::nth_char(&shown, self.max_chars - dots.len()).unwrap_or(shown.len());
        let kept = text::raw_prefix_len(&self.held, edge::floor(&shown, room));
        keep(&self.held[..kept], false);
        if !dots.is_empty() {
            keep(dots.as_bytes(), true);
        }
        self.dropped.push(&self.held[kept..]);
        self.ends_in_return = self.held.ends_with(b"\r");
        self.dropping = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(max_chars: usize, chunks: &[&str]) -> (String, u64) {
        let (mut clipper, mut out) = (Clipper::new(max_chars), Vec::new());
        let mut keep = |bytes: &[u8], _: bool| out.extend_from_slice(bytes);
        chunks
            .iter()
            .for_each(|chunk| clipper.push(chunk.as_bytes(), &mut keep));
        clipper.end(&mut keep);
        (String::from_utf8(out).unwrap(), clipper.removed_chars())
    }

    #[test]
    fn long_lines_end_in_dots_and_short_ones_pass() {
        assert_eq!(clip(5, &["abcde\nabcdef\n"]), ("abcde\nab...\n".into(), 4));
        assert_eq!(clip(5, &["abc", "def", "g"]), ("ab...".into(), 5));
        assert_eq!(clip(5, &["ééééé\néééééé"]), ("ééééé\néé...".into(), 4));
        assert_eq!(clip(3, &["abcd"]), ("abc".into(), 1));
        assert_eq!(
            clip(5, &["abcde\r\nabcdef\r", "\n"]),
            ("abcde\r\nab...\r\n".into(), 4)
        );
        let long = "x".repeat(1000) + "\r";
        assert_eq!(clip(5, &[&long, "\n"]), ("xx...\r\n".into(), 998));
    }

    #[test]
    fn a_line_beyond_what_is_held_is_counted_to_its_end() {
        let long = "x".repeat(100_000);
        assert_eq!(
            clip(10, &[&long, &long, "\nok"]),
            (format!("{}...\nok", "x".repeat(7)), 199_993)
        );
    }

    #[test]
    fn a_cluster_is_not_split() {
        assert_eq!(clip(5, &["ae\u{301}bcdefgh"]).0, "a...");
    }
}
