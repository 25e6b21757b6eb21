//! Keeps both ends of an output, with a marker between them.
//!
//! Each limit that bites gives either end a share: for lines half of `max_lines` - 2, for the sizes 40 % of the limit less
//! [`RESERVED`] for the marker. An end is as long as its smallest share allows. What was put together is then measured
//! with its marker, and made smaller until it is within every limit; for all but tiny limits the first try is.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

use super::head::nth_char;
use super::preview::{Gap, GapStyle, Part, Preview};
use super::tail::nth_char_back;
use super::{Ends, Extent, body, clip, edge, kept_lines};
use crate::limits::{Limits, Removed, Size, Unit};
use crate::notice::{self, Lang};
use crate::tokens;

/// What is left for the marker of a size limit.
const RESERVED: usize = 200;

/// From which limit on the marker gets [`RESERVED`]; below it the ends get all that the marker leaves.
const ROOMY: usize = 250;

/// More tokens than the words of a marker can have.
const MARKER_TOKENS: usize = 100;

/// Cuts an output that is over the limit `first`, and over none before it.
pub(super) fn cut<'t>(ends: &Ends<'t>, limits: &Limits, first: Unit) -> Preview<'t> {
    // What is shown can be shorter than what came, without its final newline and control codes, and longer, where bytes
    // were not UTF-8.
    let shown = ends.complete.then(|| ends.shown(limits));
    if first != Unit::Tokens && shown.is_some_and(|shown| shown.exceeded(limits).is_none()) {
        return super::head::cut(ends, limits, first);
    }
    if limits.max_lines() == Some(1) {
        // Two ends on one line would be no line of the output.
        return super::head::cut(ends, limits, first);
    }
    let bites = |unit: Unit| {
        let is_over = |ends: &Ends<'_>| {
            Ends {
                clips: Default::default(),
                ..*ends
            }
            .exceeded(&only(limits, unit))
                == Some(unit)
        };
        unit == first
            || (unit > first && is_over(ends))
            || (unit != Unit::Tokens && shown.as_ref().is_some_and(is_over))
    };
    let mut biting: Vec<Unit> = ALL.into_iter().filter(|&unit| bites(unit)).collect();
    // By eighths: from all of the share down to nothing in a few dozen steps.
    let (mut scale, mut has_few_lines) = (1024, false);
    while scale > 0 {
        let preview = Attempt {
            ends,
            limits,
            biting: &biting,
            scale,
            has_few_lines,
        }
        .assemble();
        let Some(preview) = preview else { break };
        match first_broken(&preview, limits) {
            None if preview.text(Lang::En).is_empty() => break,
            None => return preview,
            Some(unit) if !biting.contains(&unit) => biting.push(unit),
            Some(Unit::Lines) if !has_few_lines => has_few_lines = true,
            Some(_) => scale = scale * 7 / 8,
        }
    }
    // No room for two ends.
    super::head::cut(ends, limits, first)
}

const ALL: [Unit; 4] = [Unit::Lines, Unit::Bytes, Unit::Chars, Unit::Tokens];

/// Returns `limits` with all but one switched off.
fn only(limits: &Limits, unit: Unit) -> Limits {
    let none = Limits::none().encoding(limits.token_encoding());
    match unit {
        Unit::Lines => limits.max_lines().map_or(none, |max| none.lines(max)),
        Unit::Bytes => limits.bytes_in_force().map_or(none, |max| none.bytes(max)),
        Unit::Chars => limits.max_chars().map_or(none, |max| none.chars(max)),
        Unit::Tokens => limits.max_tokens().map_or(none, |max| none.tokens(max)),
    }
}

/// Returns a limit that the preview breaks, in any language its marker may be in.
fn first_broken(preview: &Preview<'_>, limits: &Limits) -> Option<Unit> {
    let sizes = limits.without_tokens();
    // A line that is too long counts as too many chars: less of both ends makes it shorter.
    let broken = |lang| {
        let text = preview.text(lang);
        let too_long = clip::is_needed(&text, limits).then_some(Unit::Chars);
        Ends::measured(&text, &sizes).exceeded(&sizes).or(too_long)
    };
    if let Some(unit) = Lang::ALL.into_iter().find_map(broken) {
        return Some(unit);
    }
    let (encoding, max) = (limits.token_encoding(), limits.max_tokens()?);
    let [first, others @ ..] = Lang::ALL;
    let Some(count) = encoding.count_within(&preview.text(first), max) else {
        return Some(Unit::Tokens);
    };
    // Between languages only the words of the marker differ, so one count does where there is room to spare.
    let is_roomy = count as usize + MARKER_TOKENS <= max;
    let is_over = |lang| !encoding.fits(&preview.text(lang), max);
    (!is_roomy && others.into_iter().any(is_over)).then_some(Unit::Tokens)
}

/// One try at a preview with two ends.
struct Attempt<'a, 't> {
    ends: &'a Ends<'t>,
    limits: &'a Limits,
    biting: &'a [Unit],
    /// The part of each share that is used, in 1024ths.
    scale: usize,
    /// Whether the blank lines around a marker are too many.
    has_few_lines: bool,
}

/// How much of one limit either end may have.
struct Share {
    head: usize,
    tail: usize,
}

impl<'t> Attempt<'_, 't> {
    /// Puts a preview together, if there is room for anything of both ends.
    fn assemble(&self) -> Option<Preview<'t>> {
        let text = if self.ends.complete {
            body(self.ends.head)
        } else {
            self.ends.head
        };
        let (head_end, head_unit) = self.head_extent(text);
        let (tail_start, tail_unit) = self.tail_extent(self.ends.tail);
        if self.ends.complete && head_end >= tail_start {
            // Nothing lies between them: only a final newline was too much.
            return None;
        }
        let (head, tail) = (&text[..head_end], &self.ends.tail[tail_start..]);
        // A blank line is something, where lines are what is counted.
        let is_nothing = |part: &str, unit: Unit| part.is_empty() && unit != Unit::Lines;
        if is_nothing(head, head_unit) || is_nothing(tail, tail_unit) {
            return None;
        }
        let unit = if head_unit == Unit::Lines {
            tail_unit
        } else {
            head_unit
        };
        let style = self.style(unit)?;
        let (gap, lines) = self.gap(
            style,
            &Extent {
                head_end,
                tail_start,
            },
            unit,
            head,
            tail,
        );
        let size = Size {
            lines,
            bytes: (head.len() + tail.len()) as u64,
        };
        let parts = vec![
            Part::Text(Cow::Borrowed(head)),
            Part::Gap(gap),
            Part::Text(Cow::Borrowed(tail)),
        ];
        let preview = Preview::new(parts, gap.removed, self.ends.original(), size);
        Some(preview.missing_from(text, head_end))
    }

    /// Returns what is missing between two ends, and how many lines they have.
    fn gap(
        &self,
        style: GapStyle,
        kept: &Extent,
        unit: Unit,
        head: &str,
        tail: &str,
    ) -> (Gap, u64) {
        if unit == Unit::Lines {
            let share = self.share(unit);
            let lines = (share.head + share.tail) as u64;
            let removed = Removed {
                count: self.ends.size.lines.saturating_sub(lines),
                unit,
            };
            return (
                Gap {
                    removed,
                    lines: removed.count,
                    style,
                },
                lines,
            );
        }
        let removed = self.ends.removed(kept, unit, self.limits);
        let lines = self.ends.size.lines.saturating_sub(kept_lines(head, tail));
        (
            Gap {
                removed,
                lines,
                style,
            },
            kept_lines(head, tail),
        )
    }

    /// Returns the fullest marker that the limits leave room for, if there is room for any.
    fn style(&self, unit: Unit) -> Option<GapStyle> {
        let line_chars = self.limits.max_line_chars().unwrap_or(usize::MAX);
        let fullest = match (self.limits.max_lines(), unit) {
            (Some(2), _) => return Some(GapStyle::Break),
            (_, Unit::Lines) => GapStyle::Lines,
            _ if self.has_few_lines => GapStyle::SizeLine,
            _ => GapStyle::Paragraph,
        };
        let sizes = self.biting.iter().filter(|unit| **unit != Unit::Lines);
        match sizes.map(|&unit| self.room(unit)).min() {
            Some(GapRoom::None) => None,
            _ if line_chars < clip::DOTS.len() => Some(GapStyle::Break),
            _ if line_chars < self.marker_len(Unit::Chars) => Some(GapStyle::DotsLine),
            Some(GapRoom::Dots) => Some(GapStyle::Dots),
            Some(GapRoom::Marker) | None => Some(fullest),
        }
    }

    fn room(&self, unit: Unit) -> GapRoom {
        match self.max(unit) {
            max if max >= self.marker_len(unit) + 2 => GapRoom::Marker,
            max if max >= clip::DOTS.len() + 2 => GapRoom::Dots,
            _ => GapRoom::None,
        }
    }

    fn max(&self, unit: Unit) -> usize {
        match unit {
            Unit::Lines => self.limits.max_lines(),
            Unit::Bytes => self.limits.bytes_in_force(),
            Unit::Chars => self.limits.max_chars(),
            Unit::Tokens => self.limits.max_tokens(),
        }
        .unwrap_or(usize::MAX)
    }

    /// Returns the length of the longest marker this output can need, in `unit`.
    fn marker_len(&self, unit: Unit) -> usize {
        let lines = self.ends.size.lines;
        let removed = Removed {
            count: self.ends.size.bytes,
            unit: Unit::Tokens,
        };
        let gap = Gap {
            removed,
            lines,
            style: GapStyle::Paragraph,
        };
        let lens = Lang::ALL.into_iter().map(|lang| {
            let marker = notice::marker(&gap, lang);
            match unit {
                Unit::Chars => marker.chars().count(),
                Unit::Lines | Unit::Bytes | Unit::Tokens => marker.len(),
            }
        });
        // In tokens a marker is about a third of its bytes; the measured result decides.
        let longest = lens.max().unwrap_or(0);
        if unit == Unit::Tokens {
            longest / 2
        } else {
            longest
        }
    }

    fn share(&self, unit: Unit) -> Share {
        let max = self.max(unit);
        let (head, tail) = match (unit, max) {
            (Unit::Lines, 2..=3) => (1, 1),
            (Unit::Lines, _) => ((max - 2) / 2, max - 2 - (max - 2) / 2),
            (_, ROOMY..) => (two_fifths(max - RESERVED), two_fifths(max - RESERVED)),
            _ => {
                let marker = match self.room(unit) {
                    GapRoom::Marker => self.marker_len(unit),
                    GapRoom::Dots => clip::DOTS.len(),
                    GapRoom::None => 0,
                };
                (
                    max.saturating_sub(marker).div_ceil(2),
                    max.saturating_sub(marker) / 2,
                )
            }
        };
        if unit == Unit::Lines {
            return Share { head, tail };
        }
        let scaled = |share: usize| (share as u128 * self.scale as u128 / 1024) as usize;
        Share {
            head: scaled(head),
            tail: scaled(tail),
        }
    }

    /// Returns where the kept start ends, and the limit whose share stopped it.
    fn head_extent(&self, text: &str) -> (usize, Unit) {
        let mut best = (text.len(), Unit::Bytes);
        for &unit in self.biting {
            let share = self.share(unit).head;
            let within = &text[..best.0];
            let end = match unit {
                Unit::Lines => memchr_iter(b'\n', within.as_bytes()).nth(share - 1),
                Unit::Bytes => (share < within.len()).then(|| text.floor_char_boundary(share)),
                Unit::Chars => nth_char(within, share),
                Unit::Tokens => Some(tokens::head_part(
                    self.limits.token_encoding(),
                    within,
                    share,
                )),
            };
            if let Some(end) = end.filter(|end| *end < best.0) {
                best = (end, unit);
            }
        }
        let (end, unit) = best;
        if unit == Unit::Lines {
            best
        } else {
            (snap_back(text, edge::floor(text, end)), unit)
        }
    }

    /// Returns where the kept end starts, and the limit whose share stopped it.
    fn tail_extent(&self, text: &str) -> (usize, Unit) {
        let mut best = (0, Unit::Bytes);
        for &unit in self.biting {
            let share = self.share(unit).tail;
            let within = &text[best.0..];
            let start = match unit {
                Unit::Lines => memrchr_iter(b'\n', within.as_bytes())
                    .nth(share - 1)
                    .map(|at| at + 1),
                Unit::Bytes => within
                    .len()
                    .checked_sub(share)
                    .map(|at| within.ceil_char_boundary(at)),
                Unit::Chars => nth_char_back(within, share),
                Unit::Tokens => Some(tokens::tail_part(
                    self.limits.token_encoding(),
                    within,
                    share,
                )),
            };
            if let Some(start) = start.filter(|start| *start > 0) {
                best = (best.0 + start, unit);
            }
        }
        let (start, unit) = best;
        if unit == Unit::Lines {
            best
        } else {
            (snap_on(text, edge::ceil(text, start)), unit)
        }
    }
}

fn two_fifths(n: usize) -> usize {
    n / 5 * 2 + n % 5 * 2 / 5
}

/// What there is room for between the ends, smallest first.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum GapRoom {
    None,
    Dots,
    Marker,
}

/// Moves the end of the start back to a line edge where that costs less than a tenth of it.
fn snap_back(text: &str, end: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(end).is_none_or(|&next| next == b'\n') {
        return end;
    }
    match memrchr(b'\n', &bytes[..end]) {
        Some(newline) if newline > 0 && (end - newline) * 10 < end => newline,
        _ => end,
    }
}

/// Moves the start of the end on to a line edge where that costs less than a tenth of it.
fn snap_on(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    if start == 0 || bytes[start - 1] == b'\n' {
        return start;
    }
    match memchr(b'\n', &bytes[start..]) {
        Some(ahead) if start + ahead + 1 < text.len() && (ahead + 1) * 10 < text.len() - start => {
            start + ahead + 1
        }
        _ => start,
    }
}
