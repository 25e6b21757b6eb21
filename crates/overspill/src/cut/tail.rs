//! Keeps the end of an output. The mirror image of [`head`](super::head).

use std::borrow::Cow;

use memchr::{memchr, memrchr, memrchr_iter};

use super::{Ends, Extent, Part, Preview, edge, is_alone_too_long, shown_lines};
use crate::limits::{Limits, Size, Unit};
use crate::tokens;

/// Cuts an output that is over the limit `first`.
pub(super) fn cut<'t>(ends: &Ends<'t>, limits: &Limits, first: Unit) -> Preview<'t> {
    let text = ends.tail;
    let (start, stop) = extent(text, ends.complete, limits);
    let kept = Extent {
        head_end: 0,
        tail_start: start,
    };
    let removed = ends.removed(&kept, stop.unwrap_or(first), limits);
    let shown = match &text[start..] {
        "" if ends.original_bytes > 0 => "?",
        kept => kept,
    };
    let size = Size {
        lines: shown_lines("", shown, limits),
        bytes: shown.len() as u64,
    };
    Preview::new(
        vec![Part::Text(Cow::Borrowed(shown))],
        removed,
        ends.original(),
        size,
    )
}

/// Returns where the kept end of `text` starts, and which limit stopped it there, if one did.
fn extent(text: &str, complete: bool, limits: &Limits) -> (usize, Option<Unit>) {
    let (start, stop) = whole_lines(text, complete, limits);
    match stop {
        None | Some(Unit::Lines) if start.is_some_and(|start| start < text.len()) => {
            (start.unwrap_or(text.len()), stop)
        }
        _ => into_line_before(text, start, limits, stop),
    }
}

/// Returns the start of the most whole lines within the limits, if any fit, and what stopped them.
fn whole_lines(text: &str, complete: bool, limits: &Limits) -> (Option<usize>, Option<Unit>) {
    let mut best = (Some(0), if complete { None } else { Some(Unit::Bytes) });
    // `None` says that not even the last line fits, which is later than any start.
    let later = |a: Option<usize>, b: Option<usize>| {
        a.map_or(usize::MAX, |a| a) > b.map_or(usize::MAX, |b| b)
    };
    for (start, unit) in [
        (by_lines(text, limits), Unit::Lines),
        (by_bytes(text, limits), Unit::Bytes),
        (by_chars(text, limits), Unit::Chars),
    ] {
        if let Some(start) = start.filter(|start| later(*start, best.0)) {
            best = (start, Some(unit));
        }
    }
    if let (Some(start), Some(max)) = (best.0, limits.max_tokens()) {
        let within =
            tokens::tail_lines(limits.token_encoding(), &text[start..], max).map(|at| start + at);
        if later(within, best.0) {
            best = (within, Some(Unit::Tokens));
        }
    }
    best
}

/// Extends what was kept into the line before it where that line alone is too long, or where nothing visible was kept.
fn into_line_before(
    text: &str,
    start: Option<usize>,
    limits: &Limits,
    stop: Option<Unit>,
) -> (usize, Option<Unit>) {
    let before_end = start.map_or(text.len(), |start| start.saturating_sub(1));
    let before_start = memrchr(b'\n', &text.as_bytes()[..before_end]).map_or(0, |at| at + 1);
    let kept_start = start.unwrap_or(text.len());
    let (kept, line) = (&text[kept_start..], &text[before_start..before_end]);
    let shows_something = !kept.trim().is_empty() || (!kept.is_empty() && line.trim().is_empty());
    if shows_something && !is_alone_too_long(line, limits) {
        return (kept_start, stop);
    }
    // A lone blank line under a limit of one line: the newline before it is all that can be shown.
    let reach = if stop == Some(Unit::Lines) {
        before_end
    } else {
        before_start
    };
    let (part, unit) = longest_part(&text[reach..], limits);
    if reach + part < kept_start {
        (reach + part, unit.or(stop))
    } else {
        (kept_start, stop)
    }
}

/// Returns the start of the longest suffix on a grapheme edge within the size limits, and which of them stopped it.
pub(super) fn longest_part(text: &str, limits: &Limits) -> (usize, Option<Unit>) {
    let mut best = (0, None);
    if let Some(bytes) = limits.bytes_in_force().filter(|bytes| *bytes < text.len()) {
        best = (
            text.ceil_char_boundary(text.len() - bytes),
            Some(Unit::Bytes),
        );
    }
    if let Some(at) = limits
        .max_chars()
        .and_then(|max| nth_char_back(text, max))
        .filter(|at| *at > best.0)
    {
        best = (at, Some(Unit::Chars));
    }
    best.0 = edge::ceil(text, best.0);
    if let Some(max) = limits.max_tokens() {
        let within = best.0 + tokens::tail_part(limits.token_encoding(), &text[best.0..], max);
        if within > best.0 {
            best = (within, Some(Unit::Tokens));
        }
    }
    best
}

/// Returns the offset where the last `n` chars start, if there are more than `n`.
pub(super) fn nth_char_back(text: &str, n: usize) -> Option<usize> {
    if text.len() <= n {
        return None;
    }
    match n.checked_sub(1) {
        None => Some(text.len()),
        Some(back) => text
            .char_indices()
            .rev()
            .nth(back)
            .map(|(at, _)| at)
            .filter(|&at| at > 0),
    }
}

/// The start of the lines that the line limit allows, if it stops after the start.
fn by_lines(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let max = limits.max_lines()?;
    memrchr_iter(b'\n', text.as_bytes())
        .nth(max - 1)
        .map(|at| Some(at + 1))
}

fn by_bytes(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let from = text
        .len()
        .checked_sub(limits.bytes_in_force()?)
        .filter(|from| *from > 0)?;
    Some(line_start_from(text, from))
}

fn by_chars(text: &str, limits: &Limits) -> Option<Option<usize>> {
    let from = nth_char_back(text, limits.max_chars()?)?;
    Some(line_start_from(text, from))
}

/// Returns the first line start at or after `from`, which is not the start of the text.
fn line_start_from(text: &str, from: usize) -> Option<usize> {
    memchr(b'\n', &text.as_bytes()[from - 1..]).map(|at| from + at)
}
