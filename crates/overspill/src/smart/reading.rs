//! Reads one line by itself: what it says of trouble, how it is built, and the template it is made from.
//!
//! Pure functions of the line. How often its template came and what stands around it is not known here.

use super::Evidence;
use super::place::{Manner, WordPlace};
use super::scan;
use super::shape::{self, Shape};
use super::weights;
use super::words::{Row, Sense};

/// More of a line than this is not read: what it is shows at its start.
const READ_BYTES: usize = 512;

/// A line of no more than this has a level and nothing else.
const EMPTY_BYTES: usize = 12;

/// What a line shows by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Reading {
    /// How much the words in it matter, at most 136.
    pub(super) points: u16,
    /// The evidence behind most of the points.
    pub(super) evidence: Evidence,
    /// How it is built.
    pub(super) shape: Shape,
    /// Columns of white space before its content.
    pub(super) indent: u16,
    /// The hash of its template: digits, hashes and paths masked.
    pub(super) template: u32,
    /// The hash of its content, time stamp and bare numbers aside.
    pub(super) content: u32,
    /// The hash of its words.
    pub(super) kind: u32,
}

impl Reading {
    /// What a blank line shows.
    pub(super) const BLANK: Reading = Reading {
        points: 0,
        evidence: Evidence::Room,
        shape: Shape::Blank,
        indent: 0,
        template: 0,
        content: 0,
        kind: 0,
    };
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct LineReader {
    /// Room for a line without its colours.
    plain: Vec<u8>,
    known: Known,
    /// Whether what makes words benign is minded.
    minds_benign: bool,
}

impl LineReader {
    pub(super) fn new(minds_benign: bool) -> Self {
        LineReader {
            plain: Vec::new(),
            known: Known::default(),
            minds_benign,
        }
    }

    /// Reads a line, given without its line end. Of a long one both ends are read, and what matters more counts: the end of
    /// a line that a progress bar drew over and over is where the trouble shows.
    pub(super) fn read(&mut self, line: &[u8]) -> Reading {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= READ_BYTES {
            return self.read_part(line);
        }
        let start = self.read_part(&line[..READ_BYTES]);
        let end = &line[line.len() - READ_BYTES..];
        let drawn = memchr::memrchr(b'\r', end).map_or(end, |at| &end[at + 1..]);
        let end = self.read_part(drawn);
        Reading {
            points: start.points.max(end.points),
            evidence: if end.points > start.points {
                end.evidence
            } else {
                start.evidence
            },
            ..start
        }
    }

    fn read_part(&mut self, line: &[u8]) -> Reading {
        let line = shape::without_colours(line, &mut self.plain);
        let content = &line[shape::prefix_len(line)..];
        let minds_benign = self.minds_benign;
        self.known
            .get_or_read(content, |content| read_content(content, minds_benign))
    }
}

/// Reads what is behind the time stamp of a line.
fn read_content(content: &[u8], minds_benign: bool) -> Reading {
    let indent = shape::indent(&content[shape::level_len(content)..]);
    let body = content.trim_ascii();
    let mut words = Words::default();
    let hashes = scan::scan(body, |hit| {
        let place = WordPlace {
            line: body,
            start: hit.start,
            end: hit.end,
        };
        words.take(hit.row, &place);
    });
    let (mut points, mut evidence) = words.judge(body, minds_benign);
    if points < weights::NUMBERED && shape::is_numbered(body) {
        (points, evidence) = (weights::NUMBERED, Evidence::Failure);
    }
    Reading {
        points,
        evidence,
        shape: Shape::of(body, indent),
        indent,
        template: hashes.template,
        content: hashes.content,
        kind: hashes.kind,
    }
}

/// What lately was read, by the hash of the content: a long log says much of what it says more than once.
#[derive(Debug, Default)]
struct Known {
    /// The part of a content's hash that its slot does not tell, and what was read.
    slots: Vec<(u32, Reading)>,
    /// How many were read without them.
    read: u32,
}

impl Known {
    /// A power of two. What is known must not crowd the counts out of the processor's cache.
    const SLOTS: usize = 1 << 13;

    /// From how many contents on the slots are worth their making: a single text is read by a reader of its own.
    const WORTH: u32 = 256;

    #[inline]
    fn get_or_read(&mut self, content: &[u8], read: impl FnOnce(&[u8]) -> Reading) -> Reading {
        if self.read < Self::WORTH {
            self.read += 1;
            return read(content);
        }
        if self.slots.is_empty() {
            self.slots = vec![(0, Reading::BLANK); Self::SLOTS];
        }
        let hash = scan::hash(content);
        // Never nought, which marks an empty slot.
        let rest = hash as u32 | 1;
        let (known, reading) = &mut self.slots[(hash >> 32) as usize % Self::SLOTS];
        if *known != rest {
            (*known, *reading) = (rest, read(content));
        }
        *reading
    }
}

/// Returns how much the words of a text by itself matter; nought if they are not hot.
pub(super) fn weight(text: &[u8]) -> u32 {
    let points = LineReader::new(true).read(text).points;
    u32::from(if points >= weights::HOT { points } else { 0 })
}

/// The points of each kind of evidence in a line.
#[derive(Default)]
struct Words {
    failure: u16,
    trouble: u16,
    warning: u16,
    values: u16,
    outcome: u16,
    passes: bool,
    /// Whether it is logged at a level of failure: `[ERROR]`.
    level: bool,
    /// Whether it is logged at a level at which nothing fails.
    calm: bool,
    /// Whether a failure stands as a label or a mark, which no "passed" beside it makes benign.
    announced: bool,
}

impl Words {
    fn take(&mut self, row: &Row, place: &WordPlace<'_>) {
        let Some(manner) = place.manner(row.stand) else {
            return;
        };
        match row.sense {
            Sense::Failure => match place.count() {
                Some(0) => raise(&mut self.outcome, weights::COUNT_NONE),
                Some(_) => {
                    raise(&mut self.outcome, weights::COUNT_FAILED);
                    self.announced = true;
                }
                None if manner == Manner::Level => self.level = true,
                None => {
                    raise(&mut self.failure, manner.failure_points());
                    self.announced |= !matches!(manner, Manner::Prose | Manner::Mention);
                }
            },
            // `timeout=10` sets something.
            Sense::Trouble if place.after() == Some(b'=') => {}
            Sense::Trouble => raise(&mut self.trouble, weights::TROUBLE),
            Sense::Warning => match place.count() {
                Some(0) => {}
                _ if manner == Manner::Label => raise(&mut self.warning, weights::WARNING_LABEL),
                _ => raise(&mut self.warning, weights::WARNING_PROSE),
            },
            Sense::Values if manner == Manner::Prose => {
                raise(&mut self.values, weights::VALUES_PROSE);
            }
            Sense::Values => raise(&mut self.values, weights::VALUES_LABEL),
            Sense::Outcome if place.is_exit() => match place.exit_code() {
                Some(0) => raise(&mut self.outcome, weights::EXIT_OK),
                Some(_) => raise(&mut self.outcome, weights::EXIT_FAILED),
                None => raise(&mut self.outcome, weights::OUTCOME),
            },
            Sense::Outcome => raise(&mut self.outcome, weights::OUTCOME),
            Sense::Calm => self.calm |= matches!(manner, Manner::Level | Manner::Label),
            Sense::Pass => match place.count_before() {
                Some(_) => raise(&mut self.outcome, weights::COUNT_PASSED),
                None => self.passes |= manner != Manner::Prose || place.is_at_an_end(),
            },
        }
    }

    /// Returns the points of the line, and the evidence that most of them are from.
    fn judge(&self, body: &[u8], minds_benign: bool) -> (u16, Evidence) {
        let kinds = [
            (self.failure, Evidence::Failure),
            (self.outcome, Evidence::Outcome),
            (self.trouble, Evidence::Trouble),
            (self.values, Evidence::Values),
            (self.warning, Evidence::Warning),
        ];
        let (most, evidence) = kinds
            .into_iter()
            .max_by_key(|(points, _)| *points)
            .unwrap_or_default();
        match (most, self.level) {
            (0, false) => return (0, Evidence::Room),
            (0, true) if body.len() <= EMPTY_BYTES => {
                return (weights::LEVEL_ALONE, Evidence::Level);
            }
            (0, true) => return (weights::LEVEL, Evidence::Level),
            (_, true) => return (most.max(weights::LEVEL) + weights::LEVEL_BESIDE, evidence),
            (_, false) => {}
        }
        let rest: u16 = kinds.iter().map(|(points, _)| *points).sum::<u16>() - most;
        let place = match shape::has_location(body) {
            true => weights::LOCATION,
            false => 0,
        };
        let points = most + rest / weights::OTHER_WORDS_PART + place;
        match minds_benign {
            true => (self.benign(body, points), evidence),
            false => (points, evidence),
        }
    }

    /// Returns what is left of `points` where the line's words name things, or tell that all is well.
    fn benign(&self, body: &[u8], points: u16) -> u16 {
        match self {
            Words {
                announced: true, ..
            } => points,
            Words { passes: true, .. } => points.min(weights::BENIGN_MOST),
            _ if shape::is_command(body) => points.min(weights::BENIGN_MOST),
            Words { calm: true, .. } => points / weights::CALM_PART,
            _ if shape::is_code(body) => points * weights::CODE_SHARE / 100,
            _ => points,
        }
    }
}

fn raise(points: &mut u16, to: u16) {
    *points = (*points).max(to);
}
