//! Picks the lines that fit into the limits, best first, and lays them out.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::document;
use super::form::Role;
use super::score::Score;
use super::shape::Shape;
use super::{Evidence, Keeper, Line, Reason};
use crate::cut::{Ends, Part, Preview, edge};
use crate::limits::{CEILING_BYTES, Limits, Removed, Size, Unit};
use crate::notice::{self, Lang};
use crate::text;

/// Below which score a line is not kept away from any other: it is not worth the marker.
const WORTH_A_GAP: u32 = 1500;

/// How many bytes a line has for free when lines are weighed by length: a short line is not worth more for being short.
const FREE_BYTES: u64 = 1500;

/// How long a frame of a stack counts as.
const FRAME_BYTES: u64 = 80;

/// How often a preview that proved too long is tried again with less room.
const TRIES: u32 = 24;

/// What there is room for, as shares of it are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u64,
    lines: u64,
}

impl Budget {
    pub(super) fn of(limits: &Limits) -> Self {
        let sizes = [
            limits.max_bytes(),
            limits.max_chars(),
            limits.max_tokens().map(|tokens| tokens.saturating_mul(4)),
        ];
        Budget {
            bytes: sizes.into_iter().flatten().min().unwrap_or(CEILING_BYTES) as u64,
            lines: limits.max_lines().map_or(u64::MAX, |lines| lines as u64),
        }
    }

    /// Returns the percentage of the budget that so much takes.
    pub(super) fn share(&self, bytes: u64, lines: u64) -> u64 {
        let bytes = bytes.saturating_mul(100) / self.bytes.max(1);
        let lines = lines.saturating_mul(100) / self.lines.max(1);
        bytes.max(lines)
    }
}

/// An amount in every unit that a limit is on for.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    lines: usize,
    bytes: usize,
    chars: usize,
    tokens: usize,
}

impl Cost {
    /// Returns what a text and its line end cost.
    fn of(text: &str, limits: &Limits) -> Cost {
        let chars = limits.max_chars().map_or(0, |_| text.chars().count() + 1);
        let tokens = limits
            .max_tokens()
            .map_or(0, |_| limits.token_encoding().count(text) as usize + 1);
        Cost {
            lines: 1,
            bytes: text.len() + 1,
            chars,
            tokens,
        }
    }

    /// Returns what the limits leave room for, in 128ths of them. The last line has no line end, so one more fits.
    fn room(limits: &Limits, scale: usize) -> Cost {
        let of = |limit: Option<usize>, one: usize| {
            limit.map_or(usize::MAX / 256, |limit| {
                (limit as u128 * scale as u128 / 128) as usize + one
            })
        };
        Cost {
            lines: of(limits.max_lines(), 0),
            bytes: of(limits.bytes_in_force(), 1),
            chars: of(limits.max_chars(), 1),
            tokens: of(limits.max_tokens(), 1),
        }
    }

    fn plus(self, other: Cost) -> Cost {
        Cost {
            lines: self.lines + other.lines,
            bytes: self.bytes + other.bytes,
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
        }
    }

    fn minus(self, other: Cost) -> Cost {
        Cost {
            lines: self.lines.saturating_sub(other.lines),
            bytes: self.bytes.saturating_sub(other.bytes),
            chars: self.chars.saturating_sub(other.chars),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    fn times(self, n: usize) -> Cost {
        (1..n).fold(self, |sum, _| sum.plus(self))
    }

    fn fits(self, room: Cost) -> bool {
        self.lines <= room.lines
            && self.bytes <= room.bytes
            && self.chars <= room.chars
            && self.tokens <= room.tokens
    }
}

impl Keeper {
    /// Returns the preview of an output that is over a limit, or nothing if there is too little room for one.
    pub(crate) fn preview(&self, ends: &Ends<'_>, limits: &Limits) -> Option<Preview<'static>> {
        let scores = self.scores(&Budget::of(limits));
        let mut scale = 128;
        for _ in 0..TRIES {
            let picker = Picker::new(self, &scores, limits, scale)?;
            let preview = picker.preview(ends)?;
            let is_within = Lang::ALL
                .into_iter()
                .all(|lang| !crate::cut::is_over(&preview.text(lang), limits));
            if is_within {
                return Some(preview);
            }
            scale = scale * 7 / 8;
        }
        None
    }

    fn text_of(&self, line: &Line) -> Cow<'_, str> {
        text::decode(&self.text[line.at..line.at + line.len])
    }
}

/// What stands for the lines that are left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Gaps {
    /// A marker in each gap.
    Marked,
    /// One record at the end, so that every line is one.
    Counted,
}

struct Picker<'k> {
    keeper: &'k Keeper,
    scores: &'k [Score],
    limits: &'k Limits,
    gaps: Gaps,
    room: Cost,
    marker: Cost,
}

impl<'k> Picker<'k> {
    /// Returns nothing if there is no room for a few lines and the markers between them.
    fn new(
        keeper: &'k Keeper,
        scores: &'k [Score],
        limits: &'k Limits,
        scale: usize,
    ) -> Option<Self> {
        let room = Cost::room(limits, scale);
        let all = keeper.counts.lines;
        let longest = Lang::ALL
            .into_iter()
            .map(|lang| notice::omitted(all, all, lang))
            .max_by_key(String::len)?;
        let marker = Cost::of(&longest, limits);
        let has_wide_lines = limits
            .max_line_chars()
            .is_none_or(|max| max >= longest.chars().count());
        let gaps = match keeper.former.is_records() {
            true => Gaps::Counted,
            false => Gaps::Marked,
        };
        (marker.times(5).fits(room) && has_wide_lines).then_some(Picker {
            keeper,
            scores,
            limits,
            gaps,
            room,
            marker,
        })
    }

    fn preview(&self, ends: &Ends<'_>) -> Option<Preview<'static>> {
        let kept = self.pick();
        let mut layout = Layout::default();
        for (at, line) in self
            .keeper
            .lines
            .iter()
            .enumerate()
            .filter(|(at, _)| kept[*at])
        {
            layout.add(line, &self.shown(line)?, &self.scores[at], self.gaps);
        }
        let all = self.keeper.counts.lines;
        layout.end(all, self.gaps);
        (layout.size.lines > 0).then(|| layout.into_preview(ends, all))
    }

    /// Returns for each held line whether it is kept.
    fn pick(&self) -> Vec<bool> {
        let lines = &self.keeper.lines;
        let needs = needed_headers(lines);
        let mut kept = vec![false; lines.len()];
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&at| order_of(&lines[at], &self.scores[at]));
        // There is one gap to begin with, and the record that counts what is left out takes no more.
        let (mut used, mut gaps) = (self.marker, 1);
        for at in order {
            let sides = self.sides(&kept, at);
            let is_alone = sides == 0 && self.scores[at].points < WORTH_A_GAP;
            if is_alone || needs[at].is_some_and(|header| !kept[header]) {
                continue;
            }
            let Some(text) = self.shown(&lines[at]) else {
                continue;
            };
            let cost = used.plus(Cost::of(&text, self.limits));
            let (cost, gaps_after) = match (self.gaps, sides) {
                (Gaps::Counted, _) | (Gaps::Marked, 1) => (cost, gaps),
                (Gaps::Marked, 0) => (cost.plus(self.marker), gaps + 1),
                (Gaps::Marked, _) if gaps > 0 => (cost.minus(self.marker), gaps - 1),
                (Gaps::Marked, _) => (cost, gaps),
            };
            if cost.fits(self.room) {
                (used, gaps) = (cost, gaps_after);
                kept[at] = true;
            }
        }
        kept
    }

    /// Returns how many neighbours of a line are kept; beyond either end of the output is as good as kept.
    fn sides(&self, kept: &[bool], at: usize) -> usize {
        let lines = &self.keeper.lines;
        let number = lines[at].number;
        let before = number == 1 || (at > 0 && kept[at - 1] && lines[at - 1].number + 1 == number);
        let after = number == self.keeper.counts.lines
            || (at + 1 < lines.len() && kept[at + 1] && lines[at + 1].number == number + 1);
        usize::from(before) + usize::from(after)
    }

    /// Returns a line as it is shown: whole, or its start if it does not fit alone; nothing if it cannot be shown so.
    fn shown(&self, line: &Line) -> Option<Cow<'k, str>> {
        let whole = self.keeper.text_of(line);
        let is_too_long = line.is_cut
            || whole.len() > self.room.bytes
            || (self.limits.max_chars().is_some() && whole.chars().count() > self.room.chars);
        if !is_too_long {
            return Some(whole);
        }
        let room = (self.room.bytes.min(self.room.chars) / 4).min(whole.len());
        if self.gaps == Gaps::Counted {
            return document::shorten(&whole, room).map(Cow::Owned);
        }
        let end = edge::floor(&whole, whole.floor_char_boundary(room));
        Some(Cow::Owned(format!("{}...", &whole[..end])))
    }
}

/// Returns the place of a line in the order in which lines are kept: by score, the very long ones later. Of equals the first
/// comes first, but at the end the last.
fn order_of(line: &Line, score: &Score) -> (Reverse<u64>, u64) {
    // The frames of a stack stay level, so that it is kept from its start and not in pieces.
    let len = match line.reading.shape {
        Shape::Frame => FRAME_BYTES,
        _ => line.len as u64,
    };
    let priority = u64::from(score.points) * 1000 / (FREE_BYTES + len);
    let place = match score.evidence {
        Evidence::Tail => u64::MAX - line.number,
        _ => line.number,
    };
    (Reverse(priority), place)
}

/// Returns for each line the header that it must not stand without.
fn needed_headers(lines: &[Line]) -> Vec<Option<usize>> {
    let (mut file, mut hunk) = (None, None);
    let needed = |(at, line): (usize, &Line)| match line.role {
        Role::Header => {
            (file, hunk) = (Some(at), None);
            None
        }
        Role::Hunk => {
            hunk = Some(at);
            file
        }
        Role::Change | Role::Same => hunk,
        Role::Plain => None,
    };
    lines.iter().enumerate().map(needed).collect()
}

/// A preview as it is put together.
#[derive(Default)]
struct Layout {
    parts: Vec<Part<'static>>,
    run: String,
    size: Size,
    /// The number of the last line that was added.
    last: u64,
    first_missing: Option<u64>,
    reasons: Vec<Reason>,
    evidence: Vec<Evidence>,
}

impl Layout {
    fn add(&mut self, line: &Line, text: &str, score: &Score, gaps: Gaps) {
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
        self.size.bytes += text.len() as u64;
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

    fn end(&mut self, all: u64, gaps: Gaps) {
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

    fn into_preview(self, ends: &Ends<'_>, all: u64) -> Preview<'static> {
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
