//! Scores a line among the others.
//!
//! A score is in hundredths of a point; 100 points are a plain error message. What several kinds of evidence say of a line
//! does not add up: the strongest counts, and others add a little. The weights were set by what keeps most of the lines that people marked in real
//! logs, and hold for all tools alike.

use super::form::Role;
use super::keeper::{Counts, Line};
use super::pick::Budget;
use super::shape::Shape;
use super::sketch::MANY;
use super::{Evidence, Salience};

/// From how many points on a line is hot: it begins a block, and warms its neighbours.
pub(super) const HOT: u16 = 50;

/// From how many points on a line says aloud that something failed.
pub(super) const LOUD: u16 = 85;

/// The most lines of a block, in either direction.
const BLOCK_LINES: usize = 60;

/// What the lines of a block are worth, in percent of the hot line: those behind it, those before it.
const BLOCK_SHARE: u32 = 80;
const INNER_SHARE: u32 = 65;

/// What the line behind a block is worth.
const CLOSING_SHARE: u32 = 70;

/// What the line is worth that a hot one hangs from, and a heading above it.
const PARENT_SHARE: u32 = 75;
const HEADING_SHARE: u32 = 60;

/// How far neighbours reach that are kept for context; the nearest is worth 40 percent.
const CONTEXT_LINES: usize = 3;

/// What a header is worth for itself, of a file in a diff and of a table; a hunk's a little less. What stands below it brings
/// it along in any case.
const STRUCTURE: u32 = 9500;

/// No score is higher.
pub(super) const MAX_POINTS: u32 = 20_000;

/// A score, and the evidence that it is from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Score {
    pub(super) points: u32,
    pub(super) evidence: Evidence,
}

impl Score {
    fn raise(&mut self, points: u32, evidence: Evidence) {
        if points > self.points {
            *self = Score { points, evidence };
        }
    }
}

/// What scores are made from.
pub(super) struct Scorer<'k> {
    pub(super) lines: &'k [Line],
    pub(super) counts: &'k Counts,
    pub(super) salience: &'k Salience,
    pub(super) budget: &'k Budget,
    /// Whether the first line is the header of a table.
    pub(super) is_table: bool,
}

impl Scorer<'_> {
    /// Returns the score of each line.
    pub(super) fn scores(&self) -> Vec<Score> {
        let own = self.own();
        let mut scores: Vec<Score> = self
            .lines
            .iter()
            .zip(&own)
            .map(|(line, &points)| Score {
                points,
                evidence: if points > 0 {
                    line.reading.evidence
                } else {
                    Evidence::Room
                },
            })
            .collect();
        for (at, &points) in own.iter().enumerate() {
            if points >= u32::from(HOT) * 100 {
                self.warm_after(points, at, &mut scores);
                self.warm_before(points, at, &mut scores);
            }
        }
        if self.salience.counts(Evidence::Repeats) {
            self.damp(&mut scores);
        }
        for (line, score) in self.lines.iter().zip(&mut scores) {
            self.place(line, score);
        }
        self.close_gaps(&mut scores);
        scores
    }

    /// Returns what each line's own words are worth.
    fn own(&self) -> Vec<u32> {
        let (mut run, mut next) = (0, 0);
        self.lines
            .iter()
            .map(|line| {
                let Line {
                    number, reading, ..
                } = line;
                // Of lines that only their level makes hot the first is a message, and the rest go on with it.
                let goes_on = reading.evidence == Evidence::Level && *number == next;
                run = if goes_on { run + 1 } else { 0 };
                let is_hot = reading.evidence == Evidence::Level || reading.points >= HOT;
                next = if is_hot { number + 1 } else { 0 };
                self.own_points(line) * 100u32.saturating_sub(run * 6).max(35) / 100
            })
            .collect()
    }

    fn own_points(&self, line: &Line) -> u32 {
        if !self.salience.counts(line.reading.evidence) {
            return 0;
        }
        let points = u32::from(line.reading.points) * 100;
        // What a diff removes or adds is text about trouble, not a report of it.
        let points = match line.role {
            Role::Change | Role::Same => points / 2,
            Role::File | Role::Header | Role::Hunk | Role::Plain => points,
        };
        // Where a large part of all lines is as hot, being hot says less.
        let as_hot = match line.reading.points {
            LOUD.. => self.counts.loud,
            _ => self.counts.hot,
        };
        let share = (as_hot * 100 / self.counts.lines.max(1)).min(100) as u32;
        let points = points * (125 - share).min(100) / 100;
        if line.nth_of_kind == 0 || !self.salience.counts(Evidence::Repeats) {
            return points;
        }
        // The first and the last lines of a kind tell most.
        let nth = line.nth_of_kind;
        let count = self.counts.kinds.count(line.reading.kind).max(nth);
        let from_either_end = match nth {
            MANY => MANY,
            _ => nth.min(count - nth + 1),
        };
        points * (100 - 14 * from_either_end.ilog2().min(6)) / 100
    }

    /// Raises the lines behind a hot one: those that go on with it, and its neighbours.
    fn warm_after(&self, points: u32, at: usize, scores: &mut [Score]) {
        let lines = self.lines;
        let mut blanks = 0;
        let mut is_inside = false;
        for next in at + 1..lines.len().min(at + BLOCK_LINES) {
            let line = &lines[next];
            if line.number != lines[next - 1].number + 1 {
                return;
            }
            if line.reading.shape == Shape::Blank {
                blanks += 1;
                if blanks > 2 {
                    return;
                }
                continue;
            }
            if self.is_call(next) || belongs(line, &lines[at], blanks > 0) {
                self.raise(&mut scores[next], points * BLOCK_SHARE, Evidence::Block);
                is_inside = true;
            } else if is_inside && blanks == 0 {
                // What follows a stack is what it led to: the exception of a traceback.
                self.raise(&mut scores[next], points * CLOSING_SHARE, Evidence::Block);
                is_inside = false;
            } else if next <= at + CONTEXT_LINES {
                self.raise(
                    &mut scores[next],
                    points * context_share(next - at),
                    Evidence::Context,
                );
            } else {
                return;
            }
            blanks = 0;
        }
    }

    /// Raises the lines before a hot one: those that led to it, what it hangs from, the heading above, its neighbours.
    fn warm_before(&self, points: u32, at: usize, scores: &mut [Score]) {
        let lines = self.lines;
        let hot = &lines[at].reading;
        let mut indent = hot.indent;
        for before in (at.saturating_sub(BLOCK_LINES)..at).rev() {
            let reading = &lines[before].reading;
            if lines[before].number + 1 != lines[before + 1].number {
                return;
            }
            let distance = at - before;
            let score = &mut scores[before];
            if reading.shape == Shape::Blank {
                continue;
            }
            if reading.indent < indent {
                self.raise(score, points * PARENT_SHARE, Evidence::Block);
                indent = reading.indent;
            } else if reading.shape == Shape::Heading {
                self.raise(score, points * HEADING_SHARE, Evidence::Block);
                return;
            } else if reading.indent > hot.indent && distance < BLOCK_LINES / 3 * 2 {
                self.raise(score, points * INNER_SHARE, Evidence::Block);
            } else if distance <= CONTEXT_LINES {
                self.raise(score, points * context_share(distance), Evidence::Context);
            } else if indent == 0 && distance > 4 * CONTEXT_LINES {
                return;
            }
        }
    }

    /// Raises a score to so many hundredths of it, if that evidence counts.
    fn raise(&self, score: &mut Score, hundredfold: u32, evidence: Evidence) {
        if self.salience.counts(evidence) {
            score.raise(hundredfold / 100, evidence);
        }
    }

    /// Tells whether a line names the function whose frame is on the next line, indented.
    fn is_call(&self, at: usize) -> bool {
        let line = &self.lines[at].reading;
        self.lines.get(at + 1).is_some_and(|below| {
            below.number == self.lines[at].number + 1
                && below.reading.shape == Shape::Frame
                && below.reading.indent > line.indent
        })
    }

    /// Lowers lines that repeat what came before.
    fn damp(&self, scores: &mut [Score]) {
        let mut seen = Seen::new(self.lines.len());
        for (line, score) in self.lines.iter().zip(scores).rev() {
            let share = match line.repeats {
                // Most lines come once, and need not be looked up.
                0 => 100,
                _ if seen.is_new(line.reading.content) => 50,
                repeats => 40 / (1 + repeats.ilog2() / 2).min(4),
            };
            score.points = score.points * share / 100;
        }
    }

    /// Raises a line for where it stands, what it answers, what it holds together and how rare it is.
    fn place(&self, line: &Line, score: &mut Score) {
        let Scorer {
            counts, salience, ..
        } = self;
        let mut raise = |points: u32, evidence: Evidence| {
            if salience.counts(evidence) {
                score.raise(points, evidence);
            }
        };
        let asked = counts.terms.points(line.terms, counts.lines);
        let asked = if salience.is_command {
            asked / 2
        } else {
            asked
        };
        raise(asked, Evidence::Query);
        raise(self.head(line), Evidence::Head);
        raise(self.tail(line), Evidence::Tail);
        match line.role {
            Role::File | Role::Header => raise(STRUCTURE, Evidence::Structure),
            Role::Hunk => raise(STRUCTURE - 100, Evidence::Structure),
            Role::Change => raise(3000, Evidence::Structure),
            Role::Plain if self.is_table && line.number == 1 => {
                raise(STRUCTURE, Evidence::Structure);
            }
            Role::Same | Role::Plain => {}
        }
        if line.reading.shape != Shape::Blank && salience.counts(Evidence::Rarity) {
            let rarity = self.rarity(line);
            score.raise(rarity, Evidence::Rarity);
            // The frames of a stack stay level, so that it is kept from its start and not in pieces.
            if line.reading.shape != Shape::Frame {
                score.points += rarity / 2;
            }
        }
    }

    /// Returns what a rare template is worth: the more of the output repeats itself, the more a line tells that does not.
    fn rarity(&self, line: &Line) -> u32 {
        // Once it was common it stays so, and need not be looked up.
        let count = match line.nth {
            0..16 => self.counts.templates.count(line.reading.template).max(1),
            common => common,
        };
        let repetitive = (self.counts.common * 100 / self.counts.lines.max(1)) as u32;
        (1000 + 25 * repetitive) * 4u32.saturating_sub(count.ilog2()) / 4
    }

    /// Returns what it is worth to stand near the start: the first line nearly always stays, and then a little more. Where
    /// nothing failed the start tells as much as the end.
    fn head(&self, line: &Line) -> u32 {
        let share = self
            .budget
            .share(line.offset + u64::from(line.len), line.number);
        match share {
            0..=12 if line.number == 1 => 12_600,
            0..=25 if line.number == 1 => 9000,
            0..=2 => 9000,
            0..=45 if self.counts.loud == 0 => 4600,
            3..=5 => 4500,
            6..=15 => 3000,
            16..=50 => 1700,
            _ => 0,
        }
    }

    /// Returns what it is worth to stand near the end: three tenths of the budget are for it before anything else.
    fn tail(&self, line: &Line) -> u32 {
        let counts = self.counts;
        let share = self
            .budget
            .share(counts.bytes - line.offset, counts.lines + 1 - line.number);
        match share {
            0..=30 => 12_500,
            31..=60 => 4500,
            61..=100 => 2500,
            _ => 0,
        }
    }

    /// Raises a line between two that are better, since a marker would take as much room.
    fn close_gaps(&self, scores: &mut [Score]) {
        const SHORT: u32 = 200;
        let before: Vec<u32> = scores.iter().map(|score| score.points).collect();
        for (at, sides) in self.lines.windows(3).enumerate() {
            let is_between = sides[0].number + 2 == sides[2].number;
            if is_between && sides[1].len < SHORT {
                let least = before[at].min(before[at + 2]);
                self.raise(&mut scores[at + 1], least * 90, Evidence::Context);
            }
        }
    }
}

/// The contents that were seen, by their hashes, which are as good as random.
struct Seen {
    slots: Vec<u32>,
}

impl Seen {
    fn new(most: usize) -> Self {
        Seen {
            slots: vec![0; (2 * most).next_power_of_two()],
        }
    }

    /// Tells whether a content comes for the first time.
    fn is_new(&mut self, content: u32) -> bool {
        let content = content.max(1);
        let mut at = content as usize % self.slots.len();
        while self.slots[at] != 0 {
            if self.slots[at] == content {
                return false;
            }
            at = (at + 1) % self.slots.len();
        }
        self.slots[at] = content;
        true
    }
}

fn context_share(distance: usize) -> u32 {
    50 - 10 * distance.min(CONTEXT_LINES) as u32
}

/// Tells whether a line goes on with what a hot line began.
fn belongs(line: &Line, hot: &Line, is_after_blank: bool) -> bool {
    let is_deeper = line.reading.indent > hot.reading.indent;
    match line.reading.shape {
        Shape::Frame | Shape::Snippet => true,
        Shape::Detail => !is_after_blank || is_deeper,
        Shape::Heading | Shape::Rule | Shape::Blank => false,
        Shape::Plain => is_deeper && line.reading.points < HOT,
    }
}
