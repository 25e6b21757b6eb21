//! Cuts text to its limits.
//!
//! Works on borrowed text; saying what was cut is [`notice`](crate::notice)'s job. A cut falls on a line edge, or on a
//! grapheme edge where one line alone is too long. The same code serves a whole text and a stream: it sees only the two
//! [`Ends`] of the output and its size, and never looks further into them than a stream is sure to have kept.
//!
//! A strategy is a module here that turns ends and limits into [`Part`]s. One that scores lines in the middle brings its
//! own keeper in [`stream`](crate::stream) and returns its kept runs as parts with gaps between them.

mod both;
pub(crate) mod clip;
pub(crate) mod edge;
mod head;
mod preview;
mod tail;

pub use self::preview::{Gap, GapStyle, Part, Preview};

use crate::limits::{Limits, Removed, Size, Unit};
use crate::smart::Salience;
use crate::strategy::Strategy;
use crate::stream::{Stream, Streamed};

/// Below which size all of an output is counted in tokens. From it on what was removed is given in bytes, which are exact
/// for free, since counting all of a large output would undo the point of a cut that costs O(limit).
pub(crate) const COUNTED_BYTES: usize = 1_000_000;

/// A text within its limits, or the part of it that was kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Cut<'t> {
    /// The text is within every limit: the same bytes, not copied.
    Whole(&'t str),
    /// The text was over a limit.
    Part(Preview<'t>),
}

/// Cuts `text` to `limits`, keeping what `strategy` says.
///
/// ```
/// use overspill::{Cut, Lang, Limits, Strategy, cut};
///
/// let limits = Limits::none().lines(2);
/// assert_eq!(cut("a\nb\n", &limits, Strategy::Head), Cut::Whole("a\nb\n"));
///
/// let Cut::Part(preview) = cut("a\nb\nc\n", &limits, Strategy::Tail) else { panic!() };
/// assert_eq!(preview.text(Lang::En), "b\nc");
/// assert_eq!(preview.removed().count, 1);
/// ```
pub fn cut<'t>(text: &'t str, limits: &Limits, strategy: Strategy) -> Cut<'t> {
    cut_for(text, limits, strategy, &Salience::default())
}

/// The same, with what the `smart` strategy goes by.
pub(crate) fn cut_for<'t>(
    text: &'t str,
    limits: &Limits,
    strategy: Strategy,
    salience: &Salience,
) -> Cut<'t> {
    let is_scored = strategy == Strategy::Smart && is_over(text, limits);
    if is_scored || clip::is_needed(text, limits) {
        let mut stream = Stream::new(limits, strategy).salience(salience);
        stream.push(text.as_bytes());
        return match stream.finish() {
            Streamed::Part(preview) => Cut::Part(preview),
            Streamed::Whole(_) => Cut::Whole(text),
        };
    }
    let ends = Ends::measured(text, limits);
    match ends.exceeded(limits) {
        None => Cut::Whole(text),
        Some(first) => Cut::Part(ends.cut(limits, strategy, first)),
    }
}

/// What is known of an output when it is cut: its two ends as text, and its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<'t> {
    /// The start, as far as it was kept.
    pub(crate) head: &'t str,
    /// The end, as far as it was kept, without the newline that ends the last line.
    pub(crate) tail: &'t str,
    /// Whether the ends are all there is: then both are the same text, but for a final newline.
    pub(crate) complete: bool,
    /// The size of the output as it is shown.
    pub(crate) size: Size,
    /// Its bytes as they came: more, where control codes were applied, or fewer, where those move the cursor.
    pub(crate) original_bytes: u64,
    /// Its chars, where somebody counted them.
    pub(crate) chars: Option<u64>,
    /// What shortening long lines took away, and where.
    pub(crate) clips: Clips<'t>,
    /// The bytes as they came, where they differ from `head` and `tail` because some were not UTF-8.
    pub(crate) raw: Option<RawEnds<'t>>,
}

/// Where long lines were shortened: offsets of the closing `...` in the two ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clips<'t> {
    pub(crate) in_head: &'t [usize],
    pub(crate) in_tail: &'t [usize],
    pub(crate) removed_chars: u64,
}

/// The bytes behind the two ends, where they are not the text itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawEnds<'t> {
    pub(crate) head: &'t [u8],
    pub(crate) tail: &'t [u8],
}

/// What of the ends is kept: the head up to `head_end`, the tail from `tail_start`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) head_end: usize,
    pub(crate) tail_start: usize,
}

impl<'t> Ends<'t> {
    pub(crate) fn whole(text: &'t str) -> Self {
        Ends {
            head: text,
            tail: body(text),
            complete: true,
            size: Size::of(text.as_bytes()),
            original_bytes: text.len() as u64,
            chars: None,
            clips: Clips::default(),
            raw: None,
        }
    }

    /// The same, its chars counted if a limit asks for them and the bytes do not decide.
    pub(crate) fn measured(text: &'t str, limits: &Limits) -> Self {
        let asks = limits.max_chars().is_some_and(|max| text.len() > max);
        Ends {
            chars: asks.then(|| text.chars().count() as u64),
            ..Ends::whole(text)
        }
    }

    /// Returns what is shown of a complete output where all of it is: without its final newline and control codes. It is
    /// scanned again only where it is not what came.
    fn shown(&self, limits: &Limits) -> Self {
        let text = body(self.head);
        if self.raw.is_some() || self.clips.removed_chars > 0 {
            return Ends::measured(text, limits);
        }
        let bytes = text.len() as u64;
        let newline = self.head.len() as u64 - bytes;
        let chars = self.chars.map(|chars| chars - newline);
        Ends {
            head: text,
            tail: text,
            size: Size { bytes, ..self.size },
            original_bytes: bytes,
            chars,
            ..*self
        }
    }

    /// Returns the unit of the first limit that the output is over, in the order lines, bytes, chars, tokens.
    pub(crate) fn exceeded(&self, limits: &Limits) -> Option<Unit> {
        let over = |limit: Option<usize>, size: u64| limit.is_some_and(|limit| size > limit as u64);
        if over(limits.max_lines(), self.size.lines) {
            return Some(Unit::Lines);
        }
        if over(
            limits.bytes_in_force(),
            self.size.bytes.max(self.original_bytes),
        ) {
            return Some(Unit::Bytes);
        }
        if let Some(max) = limits.max_chars() {
            let chars = if self.size.bytes <= max as u64 {
                self.size.bytes
            } else {
                self.chars()
            };
            if chars > max as u64 {
                return Some(Unit::Chars);
            }
        }
        if limits
            .max_tokens()
            .is_some_and(|max| !self.complete || !limits.token_encoding().fits(self.head, max))
        {
            return Some(Unit::Tokens);
        }
        (self.clips.removed_chars > 0).then_some(Unit::Chars)
    }

    /// Returns the size of the output as it came.
    pub(crate) fn original(&self) -> Size {
        Size {
            bytes: self.original_bytes,
            ..self.size
        }
    }

    /// Cuts an output that is over the limit `first`.
    pub(crate) fn cut(&self, limits: &Limits, strategy: Strategy, first: Unit) -> Preview<'t> {
        match strategy {
            Strategy::Head => head::cut(self, limits, first),
            Strategy::Tail => tail::cut(self, limits, first),
            Strategy::HeadTail | Strategy::Smart | Strategy::Summarize => {
                both::cut(self, limits, first)
            }
        }
    }

    /// Returns the chars of the output. Where nobody counted them they are those of `head`, which then is all of it, and
    /// what was clipped off.
    fn chars(&self) -> u64 {
        self.chars.unwrap_or_else(|| {
            let dots = (clip::DOTS.len() * self.clips.in_head.len()) as u64;
            self.head.chars().count() as u64 - dots + self.clips.removed_chars
        })
    }

    /// Returns how much is not in `kept`, in `unit`.
    fn removed(&self, kept: &Extent, unit: Unit, limits: &Limits) -> Removed {
        let encoding = limits.token_encoding();
        let (head, tail) = (&self.head[..kept.head_end], &self.tail[kept.tail_start..]);
        let dots = self.clips.dots(kept);
        let count = match unit {
            Unit::Lines => self
                .size
                .lines
                .saturating_sub(shown_lines(head, tail, limits)),
            Unit::Bytes => (self.size.bytes.max(self.original_bytes) + dots)
                .saturating_sub(self.raw_bytes(kept)),
            Unit::Chars => (self.chars() + dots)
                .saturating_sub((head.chars().count() + tail.chars().count()) as u64),
            Unit::Tokens => match self.all_tokens(encoding) {
                Some(all) => all.saturating_sub(encoding.count(head) + encoding.count(tail)),
                None => return self.removed(kept, Unit::Bytes, limits),
            },
        };
        Removed { count, unit }
    }

    /// Returns the bytes as they came that `kept` shows.
    fn raw_bytes(&self, kept: &Extent) -> u64 {
        let tail_len = self.tail.len() - kept.tail_start;
        let bytes = match self.raw {
            None => kept.head_end + tail_len,
            Some(raw) => {
                crate::text::raw_prefix_len(raw.head, kept.head_end)
                    + crate::text::raw_suffix_len(raw.tail, tail_len)
            }
        };
        bytes as u64
    }

    fn all_tokens(&self, encoding: crate::Encoding) -> Option<u64> {
        let countable = self.clips.removed_chars == 0 && self.size.bytes < COUNTED_BYTES as u64;
        countable.then(|| encoding.count(self.head))
    }
}

impl Clips<'_> {
    /// Returns how many dots of shortened lines are among what was kept. A cut may fall within them.
    fn dots(&self, kept: &Extent) -> u64 {
        let in_head = |&at: &usize| kept.head_end.saturating_sub(at).min(clip::DOTS.len());
        let in_tail = |&at: &usize| {
            (at + clip::DOTS.len())
                .saturating_sub(kept.tail_start)
                .min(clip::DOTS.len())
        };
        (self.in_head.iter().map(in_head).sum::<usize>()
            + self.in_tail.iter().map(in_tail).sum::<usize>()) as u64
    }
}

/// Tells whether a text is over a limit.
pub(crate) fn is_over(text: &str, limits: &Limits) -> bool {
    clip::is_needed(text, limits) || Ends::measured(text, limits).exceeded(limits).is_some()
}

/// Tells whether a text is over its limits only in the length of lines.
pub(crate) fn is_only_clipped(text: &str, limits: &Limits) -> bool {
    clip::is_needed(text, limits) && Ends::measured(text, limits).exceeded(limits).is_none()
}

/// Returns the lines that two kept ends hold; an end that is not empty has one more line than newlines.
fn kept_lines(head: &str, tail: &str) -> u64 {
    let lines =
        |text: &str| crate::limits::count_newlines(text.as_bytes()) + u64::from(!text.is_empty());
    lines(head) + lines(tail)
}

/// The same, for ends that the line limit allows: a lone newline that stands for a blank line is one line, not two.
fn shown_lines(head: &str, tail: &str, limits: &Limits) -> u64 {
    kept_lines(head, tail).min(limits.max_lines().map_or(u64::MAX, |max| max as u64))
}

/// Returns the text without the newline that ends its last line.
fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Tells whether `line` alone is over a size limit of `limits`.
fn is_alone_too_long(line: &str, limits: &Limits) -> bool {
    limits.bytes_in_force().is_some_and(|max| line.len() > max)
        || limits
            .max_chars()
            .is_some_and(|max| head::nth_char(line, max).is_some())
        || limits
            .max_tokens()
            .is_some_and(|max| !limits.token_encoding().fits(line, max))
}

#[cfg(test)]
mod tests;
