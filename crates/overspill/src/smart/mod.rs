//! The `smart` strategy: keeps the lines that matter.
//!
//! Every line gets a score from evidence that holds for any tool (the [`Evidence`] kinds), and the room is filled by score
//! in the original order, verbatim, with a marker for each gap. The parts, in the order a line meets them:
//!
//! - [`words`], [`lexicon`]: the table of words that tell of trouble, and how a word is looked up in it.
//! - [`scan`], [`place`], [`shape`], [`reading`]: one line by itself: its words and how they stand, its template, its build, and
//!   what that comes to.
//! - [`form`]: what the output is as a whole: a diff, records, a table, or text.
//! - [`sketch`]: how often a template came.
//! - [`keeper`]: the lines that are held.
//! - [`score`]: a line among the others: blocks, repeats, rarity, the query, the two ends.
//! - [`weights`]: what each of these is worth.
//! - [`pick`], [`layout`]: the lines that fit into the limits, and the preview they make.
//! - [`document`], [`json`]: a JSON document is not lines: it is shortened as a tree.
//!
//! One pass, in bounded memory. Lines are held up to a capacity; beyond it those of the lowest scores are dropped, by the
//! same scores that pick the preview. So what scores high is not missed, but for one thing: when a line is dropped, its
//! template's rarity is judged by what came so far, and by a sketch that may overrate how often it came. Below the
//! capacity (some 6 MiB) every score is exact.

mod document;
mod form;
mod json;
mod keeper;
mod layout;
mod lexicon;
mod pick;
mod place;
mod query;
mod reading;
mod scan;
mod score;
mod shape;
mod sketch;
mod weights;
mod words;

pub(crate) use self::document::Document;
pub(crate) use self::keeper::LineKeeper;

/// What speaks for a line, or against it.
///
/// Most kinds are reasons to keep a line. The last two, `Repeats` and `Benign`, make it count less: they never occur in a
/// [`Reason`], and exist to be left out of account with [`Salience::without`].
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
    /// It repeats what came before, and so counts less. Never in a [`Reason`].
    Repeats,
    /// Its words are benign here (`0 errors`, a passed test, a flag), and so count less. Never in a [`Reason`].
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
    asked: Asked,
    without: u32,
}

impl Salience {
    /// The parameters in which tools are told what to look for, the most telling first. The value of one is a query.
    pub const QUERY_PARAMETERS: [&str; 4] = ["query", "pattern", "q", "search"];

    /// Returns the same with a query: a question or a pattern. Lines with its words rise.
    #[must_use]
    pub fn query(self, query: &str) -> Self {
        Salience {
            asked: Asked::Query(query.to_owned()),
            ..self
        }
    }

    /// Returns the same with the command that made the output for a query. It asks for less than a question does: its words
    /// are often in every line.
    #[must_use]
    pub fn command(self, command: &str) -> Self {
        Salience {
            asked: Asked::Command(command.to_owned()),
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

    /// Returns what the output is asked for; nothing if that is not known.
    pub(crate) fn asked(&self) -> &str {
        self.asked.words()
    }

    fn counts(&self, evidence: Evidence) -> bool {
        self.without & evidence.bit() == 0
    }
}

/// What an output is asked for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
enum Asked {
    #[default]
    Nothing,
    /// A question or a pattern.
    Query(String),
    /// The command that made the output.
    Command(String),
}

impl Asked {
    fn words(&self) -> &str {
        match self {
            Asked::Nothing => "",
            Asked::Query(words) | Asked::Command(words) => words,
        }
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
    /// The evidence for its lines, the commonest first; only kinds that speak for a line.
    pub evidence: Vec<Evidence>,
}

#[cfg(test)]
mod tests;
