//! Takes an output line by line and holds those that matter, in bounded memory.

use std::ops::Range;

use memchr::memchr;

use super::form::{self, Former, Role};
use super::pick::Room;
use super::query::{Query, TermCounts};
use super::reading::{LineReader, Reading};
use super::score;
use super::sketch::Sketch;
use super::weights;
use super::{Evidence, Salience};
use crate::limits::Limits;

/// What is held of lines, beyond what the limits ask for.
const HELD_BYTES: usize = 6 << 20;

/// What is held of one line at least, and what is held of its end if it is longer.
const HELD_LINE_BYTES: usize = 256 << 10;
const HELD_END_BYTES: usize = 4 << 10;

/// From how many lines on a template is common.
const COMMON: u16 = 8;

/// What a held line costs beside its text.
pub(super) const LINE_COST: usize = size_of::<HeldLine>();

/// How a line ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// By its newline.
    Newline,
    /// With the output, which may have been broken off in it.
    Output,
}

/// A line that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldLine {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Where it begins in the output.
    pub(super) offset: u64,
    /// Where it begins in the held text.
    pub(super) at: usize,
    /// Its length in the held text.
    pub(super) len: u32,
    pub(super) reading: Reading,
    pub(super) role: Role,
    /// How many lines with this content there were before it.
    pub(super) repeats: u16,
    /// How many lines of its template there were, itself included.
    pub(super) nth: u16,
    /// How many hot lines of its kind there were, itself included.
    pub(super) nth_of_kind: u16,
    /// Which words of the query it has.
    pub(super) terms: u16,
    /// Whether it was longer, and all but its start and its last [`HELD_END_BYTES`] is missing.
    pub(super) has_hole: bool,
}

impl HeldLine {
    /// Returns where it is in the held text.
    pub(super) fn range(&self) -> Range<usize> {
        self.at..self.at + self.len as usize
    }

    /// Returns what it costs to hold it.
    fn cost(&self) -> usize {
        self.len as usize + LINE_COST
    }
}

/// Takes an output as it comes and holds the lines that matter.
#[derive(Debug)]
pub(crate) struct LineKeeper {
    pub(super) salience: Salience,
    pub(super) query: Query,
    pub(super) room: Room,
    pub(super) reader: LineReader,
    pub(super) former: Former,
    pub(super) counts: Counts,
    pub(super) text: Vec<u8>,
    pub(super) lines: Vec<HeldLine>,
    /// How many blank lines came in a row just now.
    pub(super) blanks: u64,
    /// How much may be held, and how much of it stays when it is too much.
    pub(super) capacity: usize,
    pub(super) kept: usize,
    /// The line that has not ended: its start, up to `max_line`, then its end.
    pub(super) open: Vec<u8>,
    pub(super) open_len: u64,
    pub(super) max_line: usize,
}

/// What is counted over all lines, held or not.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Lines whose words matter.
    pub(super) hot: u64,
    /// Lines that say aloud that something failed.
    pub(super) loud: u64,
    /// Lines of a template that had come several times before.
    pub(super) common: u64,
    pub(super) terms: TermCounts,
    pub(super) templates: Sketch,
    pub(super) contents: Sketch,
    pub(super) kinds: Sketch,
}

impl LineKeeper {
    pub(crate) fn new(limits: &Limits, salience: &Salience) -> Self {
        let room = Room::of(limits);
        let bytes = room.bytes();
        LineKeeper {
            query: Query::new(salience.asked.words()),
            salience: salience.clone(),
            room,
            reader: LineReader::new(salience.counts(Evidence::Benign)),
            former: Former::default(),
            counts: Counts::default(),
            text: Vec::new(),
            lines: Vec::new(),
            blanks: 0,
            kept: (HELD_BYTES / 4).saturating_add(bytes.saturating_mul(2)),
            capacity: HELD_BYTES.saturating_add(bytes.saturating_mul(3)),
            open: Vec::new(),
            open_len: 0,
            max_line: bytes
                .saturating_mul(2)
                .clamp(HELD_LINE_BYTES, 4 * HELD_LINE_BYTES),
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, mut chunk: &[u8]) {
        while let Some(newline) = memchr(b'\n', chunk) {
            let line = &chunk[..newline];
            chunk = &chunk[newline + 1..];
            if self.open_len == 0 && line.len() <= self.max_line {
                self.take(line, line.len() as u64, Ending::Newline);
            } else {
                self.extend(line);
                self.close(Ending::Newline);
            }
        }
        self.extend(chunk);
    }

    /// Takes the end of the output into account.
    pub(crate) fn end(&mut self) {
        if self.open_len > 0 {
            self.close(Ending::Output);
        }
    }

    fn extend(&mut self, piece: &[u8]) {
        self.open_len += piece.len() as u64;
        let taken = piece
            .len()
            .min(self.max_line.saturating_sub(self.open.len()));
        self.open.extend_from_slice(&piece[..taken]);
        let rest = &piece[taken..];
        self.open
            .extend_from_slice(&rest[rest.len().saturating_sub(HELD_END_BYTES)..]);
        if self.open.len() > self.max_line + 4 * HELD_END_BYTES {
            let end = self.open.len() - HELD_END_BYTES;
            self.open.drain(self.max_line..end);
        }
    }

    fn close(&mut self, ending: Ending) {
        let mut line = std::mem::take(&mut self.open);
        if line.len() > self.max_line + HELD_END_BYTES {
            let end = line.len() - HELD_END_BYTES;
            line.drain(self.max_line..end);
        }
        self.take(&line, self.open_len, ending);
        self.open = line;
        self.open.clear();
        self.open_len = 0;
    }

    /// Holds a line of `len` bytes, of which `line` is all, or its start and its end.
    fn take(&mut self, line: &[u8], len: u64, ending: Ending) {
        let has_hole = len > line.len() as u64;
        if line.is_empty() {
            return self.take_blank();
        }
        self.blanks = 0;
        let reading = self.reader.read(line);
        let role = self.former.role(line, !has_hole, ending);
        if role == Role::Hunk {
            self.mark_file_header();
        }
        let counts = &mut self.counts;
        let nth = counts.templates.add(reading.template);
        let repeats = counts.contents.add(reading.content) - 1;
        let nth_of_kind = match reading.points {
            0 => 0,
            _ => counts.kinds.add(reading.kind),
        };
        let terms = self.query.terms_in(line);
        counts.terms.add(terms);
        counts.hot += u64::from(reading.points >= weights::HOT);
        counts.loud += u64::from(reading.points >= weights::LOUD);
        counts.common += u64::from(nth > COMMON);
        counts.lines += 1;
        self.lines.push(HeldLine {
            number: counts.lines,
            offset: counts.bytes,
            at: self.text.len(),
            len: line.len() as u32,
            reading,
            role,
            repeats,
            nth,
            nth_of_kind,
            terms,
            has_hole,
        });
        counts.bytes += len + 1;
        self.text.extend_from_slice(line);
        if self.text.len() + self.lines.len() * LINE_COST > self.capacity {
            self.compact();
        }
    }

    /// Returns the lowest score of which the lines with a higher one all fit into what stays.
    fn least_kept(&self, scores: &[score::Score]) -> u32 {
        let mut costs = vec![0; weights::MOST as usize + 1];
        for (line, score) in self.lines.iter().zip(scores) {
            costs[score.points.min(weights::MOST) as usize] += line.cost();
        }
        let mut room = self.kept;
        let fits = |&points: &usize| {
            let fits = costs[points] <= room;
            room = room.saturating_sub(costs[points]);
            !fits
        };
        (0..costs.len()).rev().find(fits).unwrap_or(0) as u32
    }

    /// Holds a blank line, unless it goes on with two that are held: nobody misses it.
    fn take_blank(&mut self) {
        self.counts.lines += 1;
        self.former.role(b"", true, Ending::Newline);
        let number = self.counts.lines;
        self.blanks += 1;
        if self.blanks > 2 {
            self.counts.bytes += 1;
            return;
        }
        self.lines.push(HeldLine {
            number,
            offset: self.counts.bytes,
            at: self.text.len(),
            len: 0,
            reading: Reading::BLANK,
            role: Role::Plain,
            repeats: 0,
            nth: 0,
            nth_of_kind: 0,
            terms: 0,
            has_hole: false,
        });
        self.counts.bytes += 1;
    }

    /// Marks the `---` and `+++` lines above a hunk that begins.
    fn mark_file_header(&mut self) {
        if let [.., old, new] = &mut self.lines[..]
            && old.number + 1 == self.counts.lines
            && new.number == self.counts.lines
            && self.text[old.at..].starts_with(b"--- ")
            && self.text[new.at..].starts_with(b"+++ ")
        {
            (old.role, new.role) = (Role::Header, Role::Header);
        }
    }

    /// Drops the lines of the lowest scores.
    fn compact(&mut self) {
        let scores = self.scores(&self.room);
        let least = self.least_kept(&scores);
        let mut room = self.kept;
        let mut is_kept = vec![false; self.lines.len()];
        // Those above the least are sure to fit; of those at it the first that do.
        for is_above in [true, false] {
            for (at, line) in self.lines.iter().enumerate() {
                let cost = line.cost();
                let points = scores[at].points;
                let is_meant = if is_above {
                    points > least
                } else {
                    points == least
                };
                if is_meant && cost <= room {
                    room -= cost;
                    is_kept[at] = true;
                }
            }
        }
        // What stays moves down within the text, so that there is never a second one.
        let (text, mut end) = (&mut self.text, 0);
        let mut is_kept = is_kept.into_iter();
        self.lines.retain_mut(|line| {
            let keeps = is_kept.next().unwrap_or(false);
            if keeps {
                text.copy_within(line.range(), end);
                line.at = end;
                end += line.len as usize;
            }
            keeps
        });
        self.text.truncate(end);
    }

    fn is_table(&self) -> bool {
        let first = self
            .lines
            .iter()
            .zip(1..)
            .take_while(|(line, number)| line.number == *number);
        form::is_table(first.map(|(line, _)| &self.text[line.range()]))
    }

    pub(super) fn scores(&self, room: &Room) -> Vec<score::Score> {
        score::Scorer {
            lines: &self.lines,
            counts: &self.counts,
            salience: &self.salience,
            room,
            is_table: self.is_table(),
        }
        .scores()
    }
}
