//! What a line of limited length can hold.
//!
//! Every value starts a line of its own where lines are short, so what counts is its key and, of a string or a number, all of
//! it. What cannot be shortened to that is left out.

use super::gaps;
use super::name;
use super::tape::{Tape, ValueKind};
use super::write::{Style, cut_mark};

/// How many chars of a string are worth a line.
const LEAST_CHARS: usize = 8;

/// A style whose lines are limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    pub(super) style: Style,
}

impl Narrow {
    /// Tells whether a value inside `depth` containers can be on a line, or the count of what it lost.
    pub(super) fn holds(self, tape: &Tape, at: usize, depth: usize) -> bool {
        let Some(node) = tape.node(at) else {
            return false;
        };
        let most = node.lost + (tape.end(at) - at) as u64;
        let colon = self.style.spacing.colon_bytes();
        // A count has quotes, brackets around it, and a comma.
        let count = gaps::digits(most) + colon + "\"\"{},".len() + self.style.spacing.indent(1);
        let needed = match node.kind {
            ValueKind::Plain => tape.value(at).chars().count(),
            ValueKind::Text => match self.max_text(tape, at, depth) {
                Some(max) => return max >= LEAST_CHARS,
                None => 0,
            },
            ValueKind::Object => count + name::OMITTED_MEMBERS.len(),
            ValueKind::Array if node.has_key => count + name::OMITTED.len(),
            // Brackets of its own.
            ValueKind::Array => count + name::OMITTED_ITEMS.len() + 2,
        };
        needed <= self.room(tape, at, depth)
    }

    /// Returns how many chars of a string there is room for; none if that is all of it, or if it is no string.
    pub(super) fn max_text(self, tape: &Tape, at: usize, depth: usize) -> Option<usize> {
        let node = tape.node(at).filter(|node| node.kind == ValueKind::Text)?;
        let room = self.room(tape, at, depth).saturating_sub(2);
        let value = tape.value(at);
        let mark = |lost: u64| if lost > 0 { cut_mark(lost).len() } else { 0 };
        if value.len() + mark(node.lost) <= room {
            return None;
        }
        let chars = value.chars().count();
        if chars + mark(node.lost) <= room {
            return None;
        }
        Some(room.saturating_sub(mark(node.lost + chars as u64)))
    }

    /// Returns how many chars a line has for a value beside its key and what is around it.
    fn room(self, tape: &Tape, at: usize, depth: usize) -> usize {
        let Style { spacing, max_line } = self.style;
        let key = tape.key(at).map_or(0, |key| {
            key.chars().count() + "\"\"".len() + spacing.colon_bytes()
        });
        let comma = 1;
        max_line.saturating_sub(spacing.indent(depth) + key + comma)
    }
}
