//! Shortens one JSON document so that the result still parses.
//!
//! A [`TreeKeeper`] takes the document as it comes. It checks all of it, and keeps a copy in bounded memory: past that, what is
//! biggest is shortened, and from then on an array that lost items takes only its last one and those that weigh more than
//! what was lost. A [`Tree`] is that copy; it is shortened once more to what the caller has room for.
//!
//! Both are the same step, [`prune`](prune::prune): room is shared out from the root down, what is small stays whole, and
//! each container that lost something counts it. [`write`] turns the counts into members and items. What is kept is
//! verbatim, never decoded and encoded again, but for what was not UTF-8.
//!
//! Where lines may only be so long, [`narrow`] shortens strings to that first, and the text is wrapped.

mod build;
mod choose;
mod gaps;
mod name;
mod narrow;
mod prune;
mod quoted;
mod raw;
mod read;
mod scale;
mod tape;
mod write;

use self::build::Builder;
use self::narrow::Narrow;
use self::read::Parser;
use self::scale::Scale;
use self::tape::Tape;
use self::write::{Spacing, Style};
use super::query::Query;

/// How often a document is laid out at most to find the fullest text that fits.
const MAX_TRIES: usize = 28;

/// Below which room nothing is told apart: the counts alone take as much.
const LEAST_ROOM: usize = 48;

/// Takes a JSON document as it comes and keeps a shortened copy in bounded memory.
#[derive(Debug)]
pub(crate) struct TreeKeeper {
    /// Absent once the text was found not to be a document.
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    parser: Parser,
    builder: Builder,
}

impl TreeKeeper {
    /// Makes a keeper of about `max_kept` bytes. `weigh` tells how much a piece of the text of a string matters, 0 for
    /// plain text; what holds it is preferred. It is asked about whole strings up to 4 KiB, and about pieces of longer ones.
    pub(crate) fn new(max_kept: usize, weigh: fn(&str) -> u32) -> Self {
        let builder = Builder::new(max_kept);
        let parser = Parser::new(builder.max_text(), weigh);
        TreeKeeper {
            live: Some(Live { parser, builder }),
        }
    }

    /// Tells what the document is asked for, before any of it came: what answers it is preferred, by its text or by its key.
    pub(crate) fn ask(&mut self, query: Query) {
        if let Some(live) = &mut self.live {
            live.parser.ask(query);
        }
    }

    /// Takes the next bytes. Returns false as soon as the text cannot be a document whose root is an object or an array;
    /// what was kept is then freed.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> bool {
        let Some(live) = &mut self.live else {
            return false;
        };
        let sound = live.parser.push(chunk, &mut live.builder);
        if !sound {
            self.live = None;
        }
        sound
    }

    /// Returns the document, if it was one, complete.
    pub(crate) fn finish(self) -> Option<Tree> {
        let live = self.live?;
        let spacing = live.parser.finish()?;
        Some(Tree {
            tape: live.builder.tape,
            style: Style {
                spacing,
                max_line: usize::MAX,
            },
        })
    }
}

/// A JSON document, or what was kept of it.
#[derive(Debug)]
pub(crate) struct Tree {
    tape: Tape,
    style: Style,
}

impl Tree {
    /// Returns the same for lines of at most `max_line` chars: long strings are shortened to that, what has no room on a line
    /// is left out, and a document without line breaks gets some, as does one that is indented too far.
    pub(crate) fn narrow(&self, max_line: usize) -> Tree {
        let spacing = match self.style.spacing {
            Spacing::Pretty { .. } if self.indent() <= max_line / 2 => self.style.spacing,
            _ => Spacing::Wrapped,
        };
        let style = Style { spacing, max_line };
        let scale = Scale::of_text(&self.tape, style);
        let tape = prune::clip(&scale, Narrow { style });
        Tree { tape, style }
    }

    fn indent(&self) -> usize {
        self.style.spacing.indent(self.tape.depth())
    }

    /// Returns the fullest shortened text within `max_bytes` for which `fits` says yes, as far as a bounded search finds
    /// it; none if not even the smallest does.
    pub(crate) fn shorten(&self, max_bytes: usize, fits: &dyn Fn(&str) -> bool) -> Option<String> {
        let whole = Scale::of_text(&self.tape, self.style).size(0);
        let mut search = Search {
            style: self.style,
            max_bytes,
            fits,
            base: None,
            best: None,
            tries: 0,
        };
        let first = whole.min(max_bytes);
        let (mut low, mut high);
        if search.try_room(&self.tape, first) {
            // Sizes are estimates from above, so somewhat more room may still give a text within the limit.
            let is_full = search.best_len() >= max_bytes - max_bytes / 32;
            if first == whole || is_full {
                return search.best;
            }
            (low, high) = (first, whole.min(max_bytes.saturating_add(max_bytes / 4)));
        } else {
            if !search.try_room(&self.tape, 0) {
                return None;
            }
            (low, high) = (LEAST_ROOM, first);
        }
        while search.tries < MAX_TRIES && high.saturating_sub(low) > (low / 64).max(8) {
            let room = between(low, high);
            if search.try_room(&self.tape, room) {
                low = room;
            } else {
                high = room;
            }
        }
        search.best
    }
}

/// A search for the room that gives the fullest text.
struct Search<'f> {
    style: Style,
    max_bytes: usize,
    fits: &'f dyn Fn(&str) -> bool,
    /// What the last try that was too much kept. Later ones start from it, so that each costs what it yields and not what
    /// the document holds.
    base: Option<Tape>,
    best: Option<String>,
    tries: usize,
}

impl Search<'_> {
    fn try_room(&mut self, document: &Tape, room: usize) -> bool {
        self.tries += 1;
        let base = self.base.as_ref().unwrap_or(document);
        let tape = prune::prune(&Scale::of_text(base, self.style), room).tape;
        let text = write::write(&tape, self.style);
        let fits = text.len() <= self.max_bytes && (self.fits)(&text);
        if !fits {
            // The smallest is tried early and says nothing about what is between.
            if room > 0 {
                self.base = Some(tape);
            }
        } else if self.best.is_none() || text.len() > self.best_len() {
            self.best = Some(text);
        }
        fits
    }

    fn best_len(&self) -> usize {
        self.best.as_ref().map_or(0, String::len)
    }
}

/// Returns a room to try between two: in proportion as long as they are far apart.
fn between(low: usize, high: usize) -> usize {
    if high / 4 > low {
        low.saturating_mul(high).isqrt().clamp(low + 1, high)
    } else {
        low + (high - low) / 2
    }
}

#[cfg(test)]
mod tests;
