//! What bounds the text of one answer.

use std::io;
use std::ops::Range;

use overspill::settings::Client;
use overspill::{Bounded, Keeping, Limits, Outcome, Policy, Record, Sink, Strategy};

use super::{begins, copied, inner};
use crate::proxy::held::Held;
use crate::proxy::json::unescape;

/// What a message has around its text: the block it stands in, and the link to the spill.
const AROUND: usize = 300;

/// What bounds an answer.
pub(super) struct Limit<'p> {
    pub(super) policy: &'p Policy<'p>,
    pub(super) client: Option<&'static Client>,
    pub(super) outcome: Outcome,
    /// How much passes beside the text, which the client counts too.
    pub(super) beside: u64,
}

impl Limit<'_> {
    /// Bounds parts of a message as one output: strings by what they say, all else as it is written.
    pub(super) fn bounded(
        &self,
        held: &Held,
        parts: &[Range<u64>],
    ) -> io::Result<Bounded<'static>> {
        let policy = self.guarded();
        let mut sink = Sink::new(&policy);
        let mut ends_in_newline = true;
        for range in parts {
            if !ends_in_newline {
                sink.push(b"\n");
            }
            let take = |piece: &[u8]| {
                sink.push(piece);
                if let Some(last) = piece.last() {
                    ends_in_newline = *last == b'\n';
                }
            };
            match begins(held, range, b'"')? {
                true => unescape(held.pieces(inner(range)), take)?,
                false => copied(held, range.clone(), take)?,
            }
        }
        let size = |text: &[u8]| {
            let text = overspill::decode(text);
            match self.client {
                Some(client) => client.size(&text),
                None => text.chars().count(),
            }
        };
        let beside = usize::try_from(self.beside).unwrap_or(usize::MAX);
        Ok(sink.finish_as(self.outcome, |bounded| match bounded {
            Bounded::Whole(bytes) => size(bytes).saturating_add(beside),
            Bounded::Cut(cut) => size(cut.content.as_bytes())
                .saturating_add(AROUND)
                .saturating_add(beside),
        }))
    }

    /// Tells whether a piece of JSON, taken as text, is within the limits.
    pub(super) fn is_within(&self, held: &Held, range: &Range<u64>) -> io::Result<bool> {
        let policy = Policy {
            keeping: Keeping::Nowhere(""),
            record: Record::Nothing,
            // Whether it fits is the same under all of them, and this one looks at no line twice.
            strategy: Strategy::Head,
            ..self.guarded()
        };
        let mut sink = Sink::new(&policy);
        copied(held, range.clone(), |piece| sink.push(piece))?;
        Ok(matches!(sink.finish(Outcome::Succeeded), Bounded::Whole(_)))
    }

    /// Tells whether so many bytes of JSON are within every limit, whatever they are.
    pub(super) fn is_surely_within(&self, bytes: u64) -> bool {
        let limits: &Limits = &self.policy.limits;
        let lines = [limits.max_lines(), limits.max_line_chars()];
        let within = |limit: usize| bytes.saturating_add(self.beside) <= limit as u64;
        lines.into_iter().chain(self.sizes()).flatten().all(within)
    }

    /// Returns how much may pass beside the text: enough for what tells of a result, too little to matter.
    pub(super) fn most_beside(&self) -> u64 {
        /// Where nothing bounds the size of a text.
        const UNLIMITED: usize = 256 << 10;
        let room = self.sizes().into_iter().flatten().min();
        room.unwrap_or(UNLIMITED) as u64 / 4
    }

    /// Returns the limits on the size of the whole.
    fn sizes(&self) -> [Option<usize>; 5] {
        let limits = &self.policy.limits;
        [
            limits.max_bytes(),
            limits.max_chars(),
            limits.max_tokens(),
            self.policy.max_result_chars,
            self.most(),
        ]
    }

    /// Returns the most of a message, if its client is known.
    fn most(&self) -> Option<usize> {
        self.client.map(|client| client.most(self.outcome))
    }

    /// Returns the policy with the client's own cut as its guard.
    fn guarded(&self) -> Policy<'_> {
        Policy {
            max_result_chars: self.most().or(self.policy.max_result_chars),
            ..self.policy.clone()
        }
    }
}
