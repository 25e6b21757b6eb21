//! The `smart` strategy: keeps the lines that matter.
//!
//! Every line gets a score from evidence that holds for any tool (the [`Evidence`] kinds), and the budget is filled by score
//! in the original order, verbatim, with a marker for each gap. The parts, in the order a line meets them:
//!
//! - [`words`], [`lexicon`]: the table of words that tell of trouble, and how a word is looked up in it.
//! - [`scan`], [`place`], [`shape`], [`reading`]: one line by itself: its words and how they stand, its template, its build, and
//!   what that comes to.
//! - [`form`]: what the output is as a whole: a diff, records, a table, or text.
//! - [`sketch`]: how often a template came.
//! - [`score`]: a line among the others: blocks, repeats, rarity, the query, the two ends.
//! - [`pick`]: the lines that fit into the limits.
//! - [`document`], [`json`]: a JSON document is not lines: it is shortened as a tree.
//!
//! One pass, in bounded memory. Lines are held up to a capacity; beyond it those of the lowest scores are dropped, by the
//! same scores that pick the preview. So what scores high is not missed, but for one thing: when a line is dropped, its
//! template's rarity is judged by what came so far, and by a sketch that may overrate how often it came. Below the
//! capacity (some 6 MiB) every score is exact.

mod document;
mod form;
mod json;
mod lexicon;
mod pick;
mod place;
mod query;
mod reading;
mod scan;
mod score;
mod shape;
mod sketch;
mod words;

use memchr::memchr;

pub(crate) use self::document::Document;
use self::form::{Former, Role};
use self::pick::Budget;
use self::query::{Query, TermCounts};
use self::reading::{Reader, Reading};
use self::sketch::Sketch;
use crate::limits::Limits;

/// What is held of lines, beyond what the limits ask for.
const HELD_BYTES: usize = 6 << 20;

/// What is held of one line at least, and what is held of its end if it is longer.
const LINE_BYTES: usize = 256 << 10;
const LINE_END_BYTES: usize = 4 << 10;

/// From how many lines on a template is common.
const COMMON: u32 = 8;

/// What a held line costs beside its text.
const LINE_COST: usize = size_of::<Line>();

/// Why a line was kept.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Evidence {
    /// Nothing: there was room.
    #[default]
    Room,
    /// Words of failure: an error, an exception, a failed test.
    Failure,
    /// It is logged at a level of failure.
    Level,
    /// How a program or a run of tests ended.
    Outcome,
    /// Words of trouble: cannot, not found, denied.
    Trouble,
    /// Values that a check compared.
    Values,
    /// A warning.
    Warning,
    /// It belongs to the block of such a line: a stack, a snippet, a difference.
    Block,
    /// It stands beside such a line.
    Context,
    /// Its template is rare in this output.
    Rarity,
    /// It answers the query.
    Query,
    /// It is at the start.
    Head,
    /// It is at the end.
    Tail,
    /// It holds the structure of the output: a header of a diff or a table.
    Structure,
    /// It repeats what came before, and so counts less. Never a reason to keep a line; only to be left out of account.
    Repeats,
    /// Its words are benign here (`0 errors`, a passed test, a flag), and so count less. As with `Repeats`.
    Benign,
}

impl Evidence {
    /// Every kind, in the order that help lists them.
    pub const ALL: [Evidence; 16] = [
        Evidence::Room,
        Evidence::Failure,
        Evidence::Level,
        Evidence::Outcome,
        Evidence::Trouble,
        Evidence::Values,
        Evidence::Warning,
        Evidence::Block,
        Evidence::Context,
        Evidence::Rarity,
        Evidence::Query,
        Evidence::Head,
        Evidence::Tail,
        Evidence::Structure,
        Evidence::Repeats,
        Evidence::Benign,
    ];

    /// Returns its name, as `--explain` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Room => "room",
            Evidence::Failure => "failure",
            Evidence::Level => "level",
            Evidence::Outcome => "outcome",
            Evidence::Trouble => "trouble",
            Evidence::Values => "values",
            Evidence::Warning => "warning",
            Evidence::Block => "block",
            Evidence::Context => "context",
            Evidence::Rarity => "rarity",
            Evidence::Query => "query",
            Evidence::Head => "head",
            Evidence::Tail => "tail",
            Evidence::Structure => "structure",
            Evidence::Repeats => "repeats",
            Evidence::Benign => "benign",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// What the `smart` strategy goes by, beside the output itself.
///
/// ```
/// use overspill::{Lang, Limits, Salience, Strategy, Stream, Streamed};
///
/// let about = Salience::default().query("Which commit changed the parser?");
/// let mut stream = Stream::new(&Limits::none().bytes(400), Strategy::Smart).salience(&about);
/// for n in 0..500 {
///     let what = if n == 250 { "parser: one pass" } else { "tidy" };
///     stream.push(format!("{n} {what}\n").as_bytes());
/// }
/// let Streamed::Part(preview) = stream.finish() else { panic!() };
/// assert!(preview.text(Lang::En).contains("\n250 parser: one pass\n"));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Salience {
    query: Option<String>,
    is_command: bool,
    without: u32,
}

impl Salience {
    /// Returns the same with a query: a question or a pattern. Lines with its words rise.
    #[must_use]
    pub fn query(self, query: &str) -> Self {
        Salience {
            query: Some(query.to_owned()),
            is_command: false,
            ..self
        }
    }

    /// Returns the same with the command that made the output for a query. It asks for less than a question does: its words
    /// are often in every line.
    #[must_use]
    pub fn command(self, command: &str) -> Self {
        Salience {
            query: Some(command.to_owned()),
            is_command: true,
            ..self
        }
    }

    /// Returns the same with one kind of evidence left out of account, for those who measure what it is worth.
    #[must_use]
    pub fn without(self, evidence: Evidence) -> Self {
        Salience {
            without: self.without | evidence.bit(),
            ..self
        }
    }

    fn counts(&self, evidence: Evidence) -> bool {
        self.without & evidence.bit() == 0
    }
}

/// Why a run of lines was kept.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reason {
    /// The number of its first line, from 1.
    pub first: u64,
    /// The number of its last line.
    pub last: u64,
    /// The highest score of a line in it, in points: 100 is a plain error message.
    pub points: u32,
    /// The evidence for its lines, the commonest first.
    pub evidence: Vec<Evidence>,
}

/// How a line ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    /// By its newline.
    Newline,
    /// With the output, which may have been broken off in it.
    Output,
}

/// A line that is held.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number, from 1.
    number: u64,
    /// Where it begins in the output.
    offset: u64,
    /// Where it begins in the held text.
    at: usize,
    /// Its length in the held text.
    len: usize,
    reading: Reading,
    role: Role,
    /// How many lines with this content there were before it.
    repeats: u32,
    /// How many hot lines of its kind there were, itself included.
    nth: u32,
    /// Which words of the query it has.
    terms: u16,
    /// Where something is missing in what is held of it, if it was longer.
    hole: Option<usize>,
}

/// Takes an output as it comes and holds the lines that matter.
#[derive(Debug)]
pub(crate) struct Keeper {
    salience: Salience,
    query: Query,
    budget: Budget,
    reader: Reader,
    former: Former,
    counts: Counts,
    text: Vec<u8>,
    lines: Vec<Line>,
    /// How much may be held, and how much of it stays when it is too much.
    capacity: usize,
    kept: usize,
    /// The line that has not ended: its start, up to `max_line`, then its end.
    open: Vec<u8>,
    open_len: u64,
    max_line: usize,
}

/// What is counted over all lines, held or not.
#[derive(Debug, Default)]
struct Counts {
    lines: u64,
    bytes: u64,
    /// Lines whose words matter.
    hot: u64,
    /// Lines that say aloud that something failed.
    loud: u64,
    /// Lines of a template that had come several times before.
    common: u64,
    terms: TermCounts,
    templates: Sketch,
    contents: Sketch,
    kinds: Sketch,
}

impl Keeper {
    pub(crate) fn new(limits: &Limits, salience: &Salience) -> Self {
        let budget = Budget::of(limits);
        let room = budget.bytes();
        Keeper {
            query: Query::new(salience.query.as_deref().unwrap_or("")),
            salience: salience.clone(),
            budget,
            reader: Reader::new(salience.counts(Evidence::Benign)),
            former: Former::default(),
            counts: Counts::default(),
            text: Vec::new(),
            lines: Vec::new(),
            kept: (HELD_BYTES / 4).saturating_add(room.saturating_mul(2)),
            capacity: HELD_BYTES.saturating_add(room.saturating_mul(3)),
            open: Vec::new(),
            open_len: 0,
            max_line: room.saturating_mul(2).clamp(LINE_BYTES, 4 * LINE_BYTES),
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
            .extend_from_slice(&rest[rest.len().saturating_sub(LINE_END_BYTES)..]);
        if self.open.len() > self.max_line + 4 * LINE_END_BYTES {
            let end = self.open.len() - LINE_END_BYTES;
            self.open.drain(self.max_line..end);
        }
    }

    fn close(&mut self, ending: Ending) {
        let mut line = std::mem::take(&mut self.open);
        if line.len() > self.max_line + LINE_END_BYTES {
            let end = line.len() - LINE_END_BYTES;
            line.drain(self.max_line..end);
        }
        self.take(&line, self.open_len, ending);
        self.open = line;
        self.open.clear();
        self.open_len = 0;
    }

    /// Holds a line of `len` bytes, of which `line` is all, or its start and its end.
    fn take(&mut self, line: &[u8], len: u64, ending: Ending) {
        let hole = (len > line.len() as u64).then_some(self.max_line);
        if line.is_empty() {
            return self.take_blank();
        }
        let reading = self.reader.read(line);
        let role = self.former.role(line, hole.is_none(), ending);
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
        counts.hot += u64::from(reading.points >= score::HOT);
        counts.loud += u64::from(reading.points >= score::LOUD);
        counts.common += u64::from(nth > COMMON);
        counts.lines += 1;
        self.lines.push(Line {
            number: counts.lines,
            offset: counts.bytes,
            at: self.text.len(),
            len: line.len(),
            reading,
            role,
            repeats,
            nth: nth_of_kind,
            terms,
            hole,
        });
        counts.bytes += len + 1;
        self.text.extend_from_slice(line);
        if self.text.len() + self.lines.len() * LINE_COST > self.capacity {
            self.compact();
        }
    }

    /// Returns the lowest score of which the lines with a higher one all fit into what stays.
    fn least_kept(&self, scores: &[score::Score]) -> u32 {
        let mut costs = vec![0; score::MAX_POINTS as usize + 1];
        for (line, score) in self.lines.iter().zip(scores) {
            costs[score.points.min(score::MAX_POINTS) as usize] += line.len + LINE_COST;
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
        let is_third = match &self.lines[..] {
            [.., first, second] => first.len + second.len == 0 && first.number + 1 == second.number,
            _ => false,
        };
        if is_third {
            self.counts.bytes += 1;
            return;
        }
        self.lines.push(Line {
            number,
            offset: self.counts.bytes,
            at: self.text.len(),
            len: 0,
            reading: Reading::BLANK,
            role: Role::Plain,
            repeats: 0,
            nth: 0,
            terms: 0,
            hole: None,
        });
        self.counts.bytes += 1;
    }

    /// Marks the `---` and `+++` lines above a hunk that begins.
    fn mark_file_header(&mut self) {
        if let [.., old, new] = &mut self.lines[..]
            && self.text[old.at..].starts_with(b"--- ")
            && self.text[new.at..].starts_with(b"+++ ")
        {
            (old.role, new.role) = (Role::Header, Role::Header);
        }
    }

    /// Drops the lines of the lowest scores.
    fn compact(&mut self) {
        let scores = self.scores(&self.budget);
        let least = self.least_kept(&scores);
        let mut room = self.kept;
        let mut is_kept = vec![false; self.lines.len()];
        // Those above the least are sure to fit; of those at it the first that do.
        for is_above in [true, false] {
            for (at, line) in self.lines.iter().enumerate() {
                let cost = line.len + LINE_COST;
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
        let mut text = Vec::with_capacity(self.kept);
        let mut is_kept = is_kept.into_iter();
        self.lines.retain_mut(|line| {
            let keeps = is_kept.next().unwrap_or(false);
            if keeps {
                let from = std::mem::replace(&mut line.at, text.len());
                text.extend_from_slice(&self.text[from..from + line.len]);
            }
            keeps
        });
        self.text = text;
    }

    fn is_table(&self) -> bool {
        let first = self
            .lines
            .iter()
            .zip(1..)
            .take_while(|(line, number)| line.number == *number);
        form::is_table(first.map(|(line, _)| &self.text[line.at..line.at + line.len]))
    }

    fn scores(&self, budget: &Budget) -> Vec<score::Score> {
        score::Scorer {
            lines: &self.lines,
            counts: &self.counts,
            salience: &self.salience,
            budget,
            is_table: self.is_table(),
        }
        .scores()
    }
}

#[cfg(test)]
mod tests;
