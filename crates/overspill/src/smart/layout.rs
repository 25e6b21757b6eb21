//! Puts the kept lines together, with what stands for the others, and notes why each run was kept.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::keeper::HeldLine;
use super::score::Score;
use super::{Evidence, Reason};
use crate::cut::clip::DOTS;
use crate::cut::{Ends, Part, Preview};
use crate::limits::{Removed, Size, Unit};

/// What stands for the lines that are left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Gaps {
    /// A marker in each gap.
    Marked,
    /// One record at the end, so that every line is one.
    Counted,
}

/// A preview as it is put together.
#[derive(Default)]
pub(super) struct Layout {
    parts: Vec<Part<'static>>,
    run: String,
    pub(super) size: Size,
    /// The number of the last line that was added.
    last: u64,
    first_missing: Option<u64>,
    reasons: Vec<Reason>,
    evidence: Vec<Evidence>,
}

impl Layout {
    pub(super) fn add(&mut self, line: &HeldLine, text: &str, score: &Score, gaps: Gaps) {
        match line.number > self.last + 1 {
            true => self.gap(line.number - 1, gaps),
            // The line end between two kept lines is kept as well.
            false => self.size.bytes += u64::from(self.last > 0),
        }
        if self.size.lines > 0 || !self.parts.is_empty() {
            self.run.push('\n');
        }
        self.run.push_str(text);
        self.size.lines += 1;
        // Dots, and what a shortened record counts, were not in the output.
        self.size.bytes += match !line.has_hole && text.len() >= line.len as usize {
            true => line.len as usize,
            false => text.len().saturating_sub(DOTS.len()),
        } as u64;
        self.explain(line.number, score);
        self.last = line.number;
    }

    /// Leaves out the lines up to `last`.
    fn gap(&mut self, last: u64, gaps: Gaps) {
        let first = self.last + 1;
        self.first_missing.get_or_insert(first);
        if gaps == Gaps::Counted {
            return;
        }
        let run = std::mem::take(&mut self.run);
        if self.last > 0 {
            self.parts.push(Part::Text(Cow::Owned(run + "\n")));
        }
        self.parts.push(Part::Omitted { first, last });
    }

    /// Notes why a line is kept.
    fn explain(&mut self, number: u64, score: &Score) {
        let points = score.points / 100;
        match self.reasons.last_mut() {
            Some(run) if run.last + 1 == number => {
                run.last = number;
                run.points = run.points.max(points);
            }
            _ => {
                self.settle_evidence();
                self.reasons.push(Reason {
                    first: number,
                    last: number,
                    points,
                    evidence: Vec::new(),
                });
            }
        }
        self.evidence.push(score.evidence);
    }

    /// Gives the evidence of the lines so far to the last run, the commonest first.
    fn settle_evidence(&mut self) {
        let evidence = std::mem::take(&mut self.evidence);
        let count = |kind: Evidence| evidence.iter().filter(|other| **other == kind).count();
        let mut kinds: Vec<Evidence> = Evidence::ALL
            .into_iter()
            .filter(|kind| count(*kind) > 0)
            .collect();
        kinds.sort_by_key(|kind| Reverse(count(*kind)));
        if let Some(run) = self.reasons.last_mut() {
            run.evidence = kinds;
        }
    }

    pub(super) fn end(&mut self, all: u64, gaps: Gaps) {
        self.settle_evidence();
        if self.last < all {
            self.gap(all, gaps);
        }
        if gaps == Gaps::Counted {
            let omitted = all - self.size.lines;
            self.run
                .push_str(&format!("\n{{\"_omitted_lines\":{omitted}}}"));
        }
        if !self.run.is_empty() {
            self.parts
                .push(Part::Text(Cow::Owned(std::mem::take(&mut self.run))));
        }
    }

    pub(super) fn into_preview(self, ends: &Ends<'_>, all: u64) -> Preview<'static> {
        let removed = match all - self.size.lines {
            // Nothing but the ends of long lines went.
            0 => Removed {
                count: ends.original().bytes.saturating_sub(self.size.bytes),
                unit: Unit::Bytes,
            },
            count => Removed {
                count,
                unit: Unit::Lines,
            },
        };
        Preview::new(self.parts, removed, ends.original(), self.size)
            .with_first_missing(self.first_missing.unwrap_or(1))
            .with_reasons(self.reasons)
    }
}
