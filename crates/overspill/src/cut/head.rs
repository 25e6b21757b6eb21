//! Keeps the start of an output.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memrchr};

use super::{Ends, Extent, Part, Preview, body, edge, is_alone_too_long, shown_lines};
use crate::limits::{Limits, Size, Unit};
use crate::tokens;

/// Cuts an output that is over the limit `first`.
pub(super) fn cut<'t>(ends: &Ends<'t>, limits: &Limits, first: Unit) -> Preview<'t> {
    let text = if ends.complete {
        body(ends.head)
    } else {
        ends.head
    };
    let (end, stop) = extent(text, ends.complete, limits);
    let kept = Extent {
        head_end: end,
        tail_start: ends.tail.len(),
    };
    let removed = ends.removed(&kept, stop.unwrap_or(first), limits);
    let shown = match &text[..end] {
        // Not one char fits into the limit, and a preview is never empty.
        "" if ends.original_bytes > 0 => "?",
        kept => kept,
    };
    let size = Size {
        lines: shown_lines(shown, "", limits),
        bytes: shown.len() as u64,
    };
    let parts = vec![Part::Text(Cow::Borrowed(shown))];
    Preview::new(parts, removed, ends.original(), size).missing_from(text, end)
}

/// Returns where the kept start of `text` ends, and which limit stopped it there, if one did.
fn extent(text: &str, complete: bool, limits: &Limits) -> (usize, Option<Unit>) {
    let (end, stop) = whole_lines(text, complete, limits);
    match stop {
        None | Some(Unit::Lines) if end.is_some_and(|end| end > 0) => (end.unwrap_or(0), stop),
        _ => into_next_line(text, end, limits, stop),
    }
}

/// Returns the end of the most whole lines within the limits, if any fit, and what stopped them.
fn whole_lines(text: &str, complete: bool, limits: &Limits) -> (Option<usize>, Option<Unit>) {
    let mut best = (
        Some(text.len()),
        if complete { None } else { Some(Unit::Bytes) },
    );
    // Lines come first: where two limits stop at the same line, the lines are what the reader can count.
    for (end, unit) in [
        (by_lines(text, limits), Unit::Lines),
        (by_bytes(text, limits), Unit::Bytes),
        (by_chars(text, limits), Unit::Chars),
    ] {
        if let Some(end) = end.filter(|end| *end < best.0) {
            best = (end, Some(unit));
        }
    }
    if let (Some(end), Some(max)) = (best.0, limits.max_tokens()) {
        let within = tokens::head_lines(limits.token_encoding(), &text[..end], max);
        if within < best.0 {
            best = (within, Some(Unit::Tokens));
        }
    }
    best
}

/// Extends what was kept into the next line where that line alone is too long, or where nothing visible was kept.
fn into_next_line(
    text: &str,
    end: Option<usize>,
    limits: &Limits,
    stop: Option<Unit>,
) -> (usize, Option<Unit>) {
    let next = end.map_or(0, |end| (end + 1).min(text.len()));
    let next_end = memchr(b'\n', &text.as_bytes()[next..]).map_or(text.len(), |at| next + at);
    let (kept, line) = (&text[..end.unwrap_or(0)], &text[next..next_end]);
    let shows_something = !kept.trim().is_empty() || (!kept.is_empty() && line.trim().is_empty());
    if shows_something && !is_alone_too_long(line, limits) {
        return (kept.len(), stop);
    }
    // A lone blank line under a limit of one line: its newline is all that can be shown.
    let reach = if stop == Some(Unit::Lines) {
        next
    } else {
        next_end
    };
    let (part, unit) = longest_part(&text[..reach], limits);
    if part > kept.len() {
        (part, unit.or(stop))
    } else {
        (kept.len(), stop)
    }
}

/// Returns the longest prefix on a grapheme edge within the size limits, and which of them stopped it.
pub(super) fn longest_part(text: &str, limits: &Limits) -> (usize, Option<Unit>) {
    let mut best = (text.len(), None);
    if let Some(bytes) = limits.bytes_in_force().filter(|bytes| *bytes < best.0) {
        best = (text.floor_char_boundary(bytes), Some(Unit::Bytes));
    }
    if let Some(at) = limits
        .max_chars()
        .and_then(|max| nth_char(text, max))
        .filter(|at| *at < best.0)
    {
        best = (at, Some(Unit::Chars));
    }
    best.0 = edge::floor(text, best.0);
    if let Some(max) = limits.max_tokens() {
        let within = tokens::head_part(limits.token_encoding(), &text[..best.0], max);
        if within < best.0 {
            best = (within, Some(Unit::Tokens));
        }
    }
    best
}

/// Returns the offset of char number `n`, if there are more than `n`.
pub(super) fn nth_char(text: &str, n: usize) -> Option<usize> {
    if text.len() <= n {
        return None;
    }
    text.char_indices().nth(n).map(|(at, _)| at)
}

/// The end of the lines that the line limit allows, if it stops before the end.
fn by_lines(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let max = limits.max_lines()?;
    memchr_iter(b'\n', text.as_bytes()).nth(max - 1).map(Some)
}

fn by_bytes(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let max = limits.bytes_in_force()?;
    (text.len() > max).then(|| memrchr(b'\n', &text.as_bytes()[..=max]))
}

fn by_chars(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let at = nth_char(text, limits.max_chars()?)?;
    Some(memrchr(b'\n', &text.as_bytes()[..=at]))
}
