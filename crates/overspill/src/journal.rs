//! What is noted of each call: a log line for a cut, and a record for whoever keeps a journal.
//!
//! A record has sizes, names and the id of a spill, and lends the text only so that its tokens can be counted. When it
//! happened, and where the record is kept, is the business of the [`Journal`].

use std::fmt;
use std::fs::File;

use crate::bound::Policy;
use crate::limits::{Limits, Size};
use crate::store::SpillId;
use crate::strategy::Strategy;
use crate::tokens::Encoding;

/// Keeps account of calls. It is told on the way of the answer, so it must neither wait nor fail.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Notes that the output of a call was bounded.
    fn bounded(&self, call: Call<'_>);

    /// Notes that a spill was looked into; `by` is the tool or the command that did.
    fn read_again(&self, spill: &SpillId, by: &str);

    /// Hears that an output is over its limits while it still comes, so that what counts its tokens can be made ready.
    fn expect_cut(&self, _encoding: Encoding) {}
}

/// What becomes of the news that an output was bounded.
#[derive(Clone, Copy, Debug, Default)]
pub enum Record<'s> {
    /// Nothing: it is part of a call that is recorded elsewhere.
    Nothing,
    /// A cut is logged.
    #[default]
    Log,
    /// A cut is logged, and the call is noted in a journal.
    Journal(&'s dyn Journal),
}

impl<'s> Record<'s> {
    pub(crate) fn journal(self) -> Option<&'s dyn Journal> {
        match self {
            Record::Journal(journal) => Some(journal),
            Record::Nothing | Record::Log => None,
        }
    }

    /// Tells whether anybody wants to know of a cut.
    pub(crate) fn is_wanted(self) -> bool {
        match self {
            Record::Nothing => false,
            Record::Log => tracing::enabled!(tracing::Level::INFO),
            Record::Journal(_) => true,
        }
    }
}

/// A call whose output was bounded.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call<'c> {
    /// The tool that made the output.
    pub tool: &'c str,
    /// What was to be kept.
    pub strategy: Strategy,
    /// What bounded the preview.
    pub limits: Limits,
    /// What bounded the whole message, if anything.
    pub max_result_chars: Option<usize>,
    /// The size of the output as it came.
    pub before: Size,
    /// The size of what is shown in its place, the notice included.
    pub after: Size,
    /// How it ended.
    pub ending: Ending<'c>,
}

/// What became of an output.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ending<'c> {
    /// All of it is shown.
    Whole,
    /// The tool pages, and there is more on the next page.
    Paged,
    /// It was cut.
    Cut {
        /// The limit that stopped the cut.
        limit: Limit,
        /// Where the whole is, if it was saved.
        spill: Option<&'c SpillId>,
        /// The whole, for counting.
        whole: Text<'c>,
        /// What is shown, for counting.
        shown: &'c str,
    },
}

/// The text of an output, as far as it is at hand. It is for counting and must not be kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum Text<'c> {
    /// In memory.
    Here(&'c str),
    /// In the store.
    Saved(File),
    /// Not any more.
    Gone,
}

/// What an output was too long for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// `max_lines`
    Lines,
    /// `max_bytes`
    Bytes,
    /// `max_chars`
    Chars,
    /// `max_tokens`
    Tokens,
    /// `max_line_chars`
    LineChars,
    /// `max_result_chars`, the guard
    Result,
    /// No limit: control codes took text away.
    Codes,
}

impl Limit {
    /// Returns the name of its setting; `control_codes` where there is none.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Lines => "max_lines",
            Limit::Bytes => "max_bytes",
            Limit::Chars => "max_chars",
            Limit::Tokens => "max_tokens",
            Limit::LineChars => "max_line_chars",
            Limit::Result => "max_result_chars",
            Limit::Codes => "control_codes",
        }
    }

    /// Returns the limit that stopped a cut: the one that what is shown comes nearest to. The unit of what was removed does
    /// not tell, since a strategy may count in another.
    pub(crate) fn nearest(preview: &str, message: &str, policy: &Policy<'_>) -> Limit {
        let limits = &policy.limits;
        let size = Size::of(preview.as_bytes());
        let full = |used: u64, max: Option<usize>| max.map(|max| used as f64 / max as f64);
        let chars = |text: &str| text.chars().count() as u64;
        let tokens = |max: usize| match preview.len() < max {
            // A token is at least a byte, so the limit is far off, and no vocabulary is needed to know it.
            true => preview.len() as u64 / 4,
            false => limits.token_encoding().count(preview),
        };
        let candidates = [
            (Limit::Lines, full(size.lines, limits.max_lines())),
            (Limit::Bytes, full(size.bytes, limits.bytes_in_force())),
            (
                Limit::Chars,
                limits
                    .max_chars()
                    .and_then(|max| full(chars(preview), Some(max))),
            ),
            (
                Limit::Tokens,
                limits
                    .max_tokens()
                    .and_then(|max| full(tokens(max), Some(max))),
            ),
            (
                Limit::Result,
                policy
                    .max_result_chars
                    .and_then(|max| full(chars(message), Some(max))),
            ),
        ];
        candidates
            .into_iter()
            .filter_map(|(limit, used)| Some((limit, used?)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(Limit::Bytes, |(limit, _)| limit)
    }
}

impl Policy<'_> {
    /// Notes an output that is shown as it came, for those who see without bounding it that it is within its limits.
    pub fn note_whole(&self, output: &[u8]) {
        if self.record.journal().is_some() {
            let size = Size::of(output);
            self.note(size, size, Ending::Whole);
        }
    }

    /// Notes a call: in the journal, and in the log if its output was cut.
    pub(crate) fn note(&self, before: Size, after: Size, ending: Ending<'_>) {
        let call = Call {
            tool: &self.tool,
            strategy: self.strategy,
            limits: self.limits,
            max_result_chars: self.max_result_chars,
            before,
            after,
            ending,
        };
        if self.record.is_wanted() {
            log(&call);
        }
        if let Some(journal) = self.record.journal() {
            journal.bounded(call);
        }
    }
}

/// Logs a cut in one line.
fn log(call: &Call<'_>) {
    let Ending::Cut { limit, spill, .. } = &call.ending else {
        return;
    };
    let (before, after) = (call.before, call.after);
    tracing::info!(
        tool = call.tool,
        strategy = call.strategy.name(),
        limit = limit.name(),
        lines_before = before.lines,
        lines_after = after.lines,
        bytes_before = before.bytes,
        bytes_after = after.bytes,
        saved_percent = percent_saved(before.bytes, after.bytes),
        spill = spill.map(SpillId::as_str),
        "cut"
    );
}

/// Returns how many percent of the bytes are not shown; none where the notice is longer than what went.
fn percent_saved(before: u64, after: u64) -> u64 {
    match before {
        0 => 0,
        before => before.saturating_sub(after).saturating_mul(100) / before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_nearest_to_full_is_the_one_that_bit() {
        let limits = Limits::none().lines(10).bytes(100);
        let cases = [
            (limits, None, "a\n".repeat(10), Limit::Lines),
            (limits, None, "x".repeat(99), Limit::Bytes),
            (limits.chars(20), None, "é".repeat(20), Limit::Chars),
            (limits.tokens(3), None, "a b c".to_owned(), Limit::Tokens),
            (limits.tokens(60), None, "a\n".repeat(9), Limit::Lines),
            (limits, Some(50), "x".repeat(49), Limit::Result),
            (Limits::none(), None, "x".to_owned(), Limit::Bytes),
        ];
        for (limits, max_result_chars, text, expected) in cases {
            let policy = Policy {
                limits,
                max_result_chars,
                ..Policy::new("X")
            };
            assert_eq!(Limit::nearest(&text, &text, &policy), expected, "{text}");
        }
    }

    #[test]
    fn percent_is_of_what_came() {
        let cases = [((0, 10), 0), ((100, 25), 75), ((10, 30), 0)];
        for ((before, after), expected) in cases {
            assert_eq!(percent_saved(before, after), expected);
        }
    }
}
