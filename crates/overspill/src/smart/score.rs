//! Scores a line among the others.
//!
//! A score is in hundredths of a point; 100 points are a plain error message. What several kinds of evidence say of a line
//! does not add up: the strongest counts, and others add a little. What each is worth is in [`weights`].

use super::form::Role;
use super::keeper::{Counts, HeldLine};
use super::pick::Room;
use super::shape::Shape;
use super::sketch::MANY;
use super::weights::{self, CONTEXT_SHARES, HOT, LOUD, Steps};
use super::{Asked, Evidence, Salience};

/// How far neighbours reach that are kept for context.
const CONTEXT_LINES: usize = CONTEXT_SHARES.len();

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
    pub(super) lines: &'k [HeldLine],
    pub(super) counts: &'k Counts,
    pub(super) salience: &'k Salience,
    pub(super) room: &'k Room,
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
                let HeldLine {
                    number, reading, ..
                } = line;
                let goes_on = reading.evidence == Evidence::Level && *number == next;
                run = if goes_on { run + 1 } else { 0 };
                let is_hot = reading.evidence == Evidence::Level || reading.points >= HOT;
                next = if is_hot { number + 1 } else { 0 };
                let share = 100u32.saturating_sub(run * weights::LEVEL_RUN_SHARE);
                self.own_points(line) * share.max(weights::LEVEL_RUN_LEAST_SHARE) / 100
            })
            .collect()
    }

    fn own_points(&self, line: &HeldLine) -> u32 {
        if !self.salience.counts(line.reading.evidence) {
            return 0;
        }
        let points = u32::from(line.reading.points) * 100;
        let points = match line.role {
            Role::Change | Role::Same => points * weights::DIFF_SHARE / 100,
            Role::File | Role::Header | Role::Hunk | Role::Plain => points,
        };
        let as_hot = match line.reading.points {
            LOUD.. => self.counts.loud,
            _ => self.counts.hot,
        };
        let share = (as_hot * 100 / self.counts.lines.max(1)).min(100) as u32;
        let points = points * (100 + weights::CROWD_SHARE - share).min(100) / 100;
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
        let doublings = from_either_end.ilog2().min(weights::KIND_DOUBLINGS);
        points * (100 - weights::KIND_SHARE * doublings) / 100
    }

    /// Raises the lines behind a hot one: those that go on with it, and its neighbours.
    fn warm_after(&self, points: u32, at: usize, scores: &mut [Score]) {
        let lines = self.lines;
        let mut blanks = 0;
        let mut is_inside = false;
        for next in at + 1..lines.len().min(at + weights::BLOCK_LINES) {
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
            // A remark is about the message right above, or about the block of it.
            let is_remark =
                line.reading.shape == Shape::Remark && blanks == 0 && (is_inside || next == at + 1);
            if is_remark || self.is_call(next) || belongs(line, &lines[at], blanks > 0) {
                self.raise(
                    &mut scores[next],
                    points * weights::BLOCK_SHARE,
                    Evidence::Block,
                );
                is_inside = true;
            } else if is_inside && blanks == 0 {
                // What follows a stack is what it led to: the exception of a traceback.
                self.raise(
                    &mut scores[next],
                    points * weights::CLOSING_SHARE,
                    Evidence::Block,
                );
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
        for before in (at.saturating_sub(weights::BLOCK_LINES)..at).rev() {
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
                self.raise(score, points * weights::PARENT_SHARE, Evidence::Block);
                indent = reading.indent;
            } else if reading.shape == Shape::Heading {
                self.raise(score, points * weights::HEADING_SHARE, Evidence::Block);
                return;
            } else if reading.indent > hot.indent && distance < weights::INNER_LINES {
                self.raise(score, points * weights::INNER_SHARE, Evidence::Block);
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
                _ if seen.is_new(line.reading.content) => weights::LAST_REPEAT_SHARE,
                repeats => {
                    weights::REPEAT_SHARE / (1 + repeats.ilog2() / 2).min(weights::REPEAT_PART)
                }
            };
            score.points = score.points * share / 100;
        }
    }

    /// Raises a line for where it stands, what it answers, what it holds together and how rare it is.
    fn place(&self, line: &HeldLine, score: &mut Score) {
        let Scorer {
            counts, salience, ..
        } = self;
        let mut raise = |points: u32, evidence: Evidence| {
            if salience.counts(evidence) {
                score.raise(points, evidence);
            }
        };
        let asked = counts.terms.points(line.terms, counts.lines);
        let asked = match salience.asked {
            Asked::Command(_) => asked * weights::COMMAND_SHARE / 100,
            Asked::Query(_) | Asked::Nothing => asked,
        };
        raise(asked, Evidence::Query);
        raise(self.head(line), Evidence::Head);
        raise(self.tail(line), Evidence::Tail);
        match line.role {
            Role::File | Role::Header => raise(weights::HEADER, Evidence::Structure),
            Role::Hunk => raise(weights::HUNK, Evidence::Structure),
            Role::Change => raise(weights::CHANGE, Evidence::Structure),
            Role::Plain if self.is_table && line.number == 1 => {
                raise(weights::HEADER, Evidence::Structure);
            }
            Role::Same | Role::Plain => {}
        }
        if line.reading.shape != Shape::Blank && salience.counts(Evidence::Rarity) {
            let rarity = self.rarity(line);
            score.raise(rarity, Evidence::Rarity);
            // The frames of a stack stay level, so that it is kept from its start and not in pieces.
            if line.reading.shape != Shape::Frame {
                score.points += rarity / weights::RARE_PART;
            }
        }
    }

    /// Returns what a rare template is worth: the more of the output repeats itself, the more a line tells that does not.
    fn rarity(&self, line: &HeldLine) -> u32 {
        // Once it was common it stays so, and need not be looked up.
        let count = match line.nth {
            nth if nth < 1 << weights::RARE_DOUBLINGS => {
                self.counts.templates.count(line.reading.template).max(1)
            }
            common => common,
        };
        let repetitive = (self.counts.common * 100 / self.counts.lines.max(1)) as u32;
        let most = weights::RARE + weights::RARE_PER_PERCENT * repetitive;
        most * weights::RARE_DOUBLINGS.saturating_sub(count.ilog2()) / weights::RARE_DOUBLINGS
    }

    /// Returns what it is worth to stand near the start.
    fn head(&self, line: &HeldLine) -> u32 {
        let share = self
            .room
            .share(line.offset + u64::from(line.len), line.number);
        let first = match line.number {
            1 => step(weights::FIRST_LINE, share),
            _ => 0,
        };
        let calm = match self.counts.loud {
            0 => step(weights::CALM_HEAD, share),
            _ => 0,
        };
        step(weights::HEAD, share).max(first).max(calm)
    }

    /// Returns what it is worth to stand near the end.
    fn tail(&self, line: &HeldLine) -> u32 {
        let counts = self.counts;
        let share = self
            .room
            .share(counts.bytes - line.offset, counts.lines + 1 - line.number);
        step(weights::TAIL, share)
    }

    /// Raises a line between two that are better, since a marker would take as much room.
    fn close_gaps(&self, scores: &mut [Score]) {
        let before: Vec<u32> = scores.iter().map(|score| score.points).collect();
        for (at, sides) in self.lines.windows(3).enumerate() {
            let is_between = sides[0].number + 2 == sides[2].number;
            if is_between && sides[1].len < weights::BETWEEN_BYTES {
                let least = before[at].min(before[at + 2]);
                self.raise(
                    &mut scores[at + 1],
                    least * weights::BETWEEN_SHARE,
                    Evidence::Context,
                );
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

/// Returns what a place is worth that is so much of the room away from an end.
fn step(steps: &Steps, share: u64) -> u32 {
    let step = steps.iter().find(|(most, _)| share <= *most);
    step.map_or(0, |(_, points)| *points)
}

/// Returns what a neighbour is worth, from 1 line away on.
fn context_share(distance: usize) -> u32 {
    CONTEXT_SHARES[distance.min(CONTEXT_LINES) - 1]
}

/// Tells whether a line goes on with what a hot line began.
fn belongs(line: &HeldLine, hot: &HeldLine, is_after_blank: bool) -> bool {
    let is_deeper = line.reading.indent > hot.reading.indent;
    match line.reading.shape {
        Shape::Frame | Shape::Snippet => true,
        Shape::Detail => !is_after_blank || is_deeper,
        Shape::Heading | Shape::Rule | Shape::Blank => false,
        Shape::Plain | Shape::Remark => is_deeper && line.reading.points < HOT,
    }
}
