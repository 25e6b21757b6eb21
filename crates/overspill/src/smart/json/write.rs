//! Writes what was kept as JSON text, with members and items that count what is missing.

use super::gaps::{self, Said};
use super::name::{self, Names};
use super::tape::{Tape, ValueKind};

/// The most bytes of a char.
const MAX_CHAR_BYTES: usize = 4;

/// What is between the values of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Spacing {
    /// Nothing: all of it is on one line.
    Compact,
    /// A line for each value, indented by `width` times `unit` for each level.
    Pretty { unit: char, width: usize },
    /// Line breaks where a line would be too long: a container that fits on a line is on one, of another each child starts
    /// one, but that numbers and the like share them.
    Wrapped,
}

impl Spacing {
    /// Returns the bytes between two values at `depth`: the comma, and the line break. Wrapped ones rarely have one.
    pub(super) fn gap_bytes(self, depth: usize) -> usize {
        match self {
            Spacing::Compact | Spacing::Wrapped => 1,
            Spacing::Pretty { .. } => 2 + self.indent(depth),
        }
    }

    /// Returns how far a line at `depth` is indented.
    pub(super) fn indent(self, depth: usize) -> usize {
        match self {
            Spacing::Compact | Spacing::Wrapped => 0,
            Spacing::Pretty { width, .. } => width * depth,
        }
    }

    /// Returns the bytes between a key and its value.
    pub(super) fn colon_bytes(self) -> usize {
        self.colon().len()
    }

    fn colon(self) -> &'static str {
        match self {
            Spacing::Compact | Spacing::Wrapped => ":",
            Spacing::Pretty { .. } => ": ",
        }
    }
}

/// How a document is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) spacing: Spacing,
    /// The most chars of a line, `usize::MAX` where it does not matter.
    pub(super) max_line: usize,
}

/// Returns what follows the kept start of a string.
pub(super) fn cut_mark(lost: u64) -> String {
    format!("... [{lost} chars omitted]")
}

/// Returns the kept document as text.
pub(super) fn write(tape: &Tape, style: Style) -> String {
    let mut writer = Writer {
        tape,
        style,
        out: String::with_capacity(tape.bytes()),
        line: 0,
        is_flat: false,
    };
    writer.value(0, 0);
    writer.out
}

struct Writer<'t> {
    tape: &'t Tape,
    style: Style,
    out: String,
    /// Where the last line starts.
    line: usize,
    /// Whether no line is broken where some could be, to see if it is necessary.
    is_flat: bool,
}

impl Writer<'_> {
    /// Writes a value inside `depth` containers. Recursion is as deep as what is kept, which is bounded.
    fn value(&mut self, at: usize, depth: usize) {
        let Some(node) = self.tape.node(at) else {
            return;
        };
        match node.kind {
            ValueKind::Plain => self.out.push_str(self.tape.value(at)),
            ValueKind::Text => {
                self.out.push('"');
                self.out.push_str(self.tape.value(at));
                if node.lost > 0 {
                    self.out.push_str(&cut_mark(node.lost));
                }
                self.out.push('"');
            }
            ValueKind::Object | ValueKind::Array => self.container(at, depth, node.kind),
        }
    }

    fn container(&mut self, at: usize, depth: usize, kind: ValueKind) {
        let write = |writer: &mut Self| match kind {
            ValueKind::Object => writer.object(at, depth),
            _ => writer.array(at, depth),
        };
        if self.style.spacing == Spacing::Wrapped && !self.is_flat {
            let start = self.out.len();
            self.is_flat = true;
            write(self);
            self.is_flat = false;
            // A comma may follow.
            if self.has_line_room(1) {
                return;
            }
            self.out.truncate(start);
        }
        write(self);
    }

    fn object(&mut self, at: usize, depth: usize) {
        let mut names = None;
        let mut is_first = true;
        self.out.push('{');
        for child in self.tape.children(at) {
            if self.is_futile() {
                return;
            }
            self.gap(depth + 1, is_first);
            is_first = false;
            let key = self.tape.key(child).unwrap_or_default();
            self.key(key);
            self.value(child, depth + 1);
            let node = self.tape.node(child);
            if let Some(node) = node.filter(|node| node.kind == ValueKind::Array && node.lost > 0) {
                let names = names.get_or_insert_with(|| Names::of(self.tape, at));
                let name = names.take(&format!("{key}{}", name::OMITTED));
                self.gap(depth + 1, false);
                self.lost_items(&name, child, node.lost);
            }
        }
        let lost = self.tape.node(at).map_or(0, |node| node.lost);
        if lost > 0 {
            let names = names.get_or_insert_with(|| Names::of(self.tape, at));
            let name = names.take(name::OMITTED_MEMBERS);
            if !is_first {
                self.gap(depth + 1, false);
            }
            self.count(&name, lost);
        }
        self.close('}', depth, is_first);
    }

    fn array(&mut self, at: usize, depth: usize) {
        let mut is_first = true;
        let mut after_plain = false;
        self.out.push('[');
        for child in self.tape.children(at) {
            if self.is_futile() {
                return;
            }
            let is_plain = self
                .tape
                .node(child)
                .is_some_and(|n| n.kind == ValueKind::Plain);
            if !(is_plain && after_plain && self.follow(child, depth + 1)) {
                self.gap(depth + 1, is_first);
                self.value(child, depth + 1);
            }
            (is_first, after_plain) = (false, is_plain);
        }
        // The object around it has a member for what a value of its own lost.
        let node = self.tape.node(at);
        if let Some(node) = node.filter(|node| node.lost > 0 && !node.has_key) {
            if !is_first {
                self.gap(depth + 1, false);
            }
            self.out.push('{');
            self.lost_items(name::OMITTED_ITEMS, at, node.lost);
            self.out.push('}');
        }
        self.close(']', depth, is_first);
    }

    /// Writes an item on the line of the one before, if that may be; tells whether it did.
    fn follow(&mut self, item: usize, depth: usize) -> bool {
        if self.style.spacing != Spacing::Wrapped {
            return false;
        }
        let start = self.out.len();
        self.out.push(',');
        self.value(item, depth);
        let fits = self.is_flat || self.has_line_room(1);
        if !fits {
            self.out.truncate(start);
        }
        fits
    }

    fn gap(&mut self, depth: usize, is_first: bool) {
        if !is_first {
            self.out.push(',');
        }
        self.break_line(depth);
    }

    /// Writes a closing bracket, on the same line if nothing but a count is inside: the smallest text is one line.
    fn close(&mut self, bracket: char, depth: usize, is_empty: bool) {
        if !is_empty {
            self.break_line(depth);
        }
        self.out.push(bracket);
    }

    fn break_line(&mut self, depth: usize) {
        if self.is_flat || self.style.spacing == Spacing::Compact {
            return;
        }
        self.out.push('\n');
        self.line = self.out.len();
        if let Spacing::Pretty { unit, .. } = self.style.spacing {
            let indent = self.style.spacing.indent(depth);
            self.out.extend(std::iter::repeat_n(unit, indent));
        }
    }

    /// Tells whether the last line has room for so many chars more.
    fn has_line_room(&self, chars: usize) -> bool {
        let line = self.out.get(self.line..).unwrap_or_default();
        let max_chars = self.style.max_line.saturating_sub(chars);
        line.len() <= max_chars || line.chars().count() <= max_chars
    }

    /// Tells whether what is written on one line is found too long for it already.
    fn is_futile(&self) -> bool {
        self.is_flat && (self.out.len() - self.line) / MAX_CHAR_BYTES > self.style.max_line
    }

    fn key(&mut self, key: &str) {
        self.out.push('"');
        self.out.push_str(key);
        self.out.push('"');
        self.out.push_str(self.style.spacing.colon());
    }

    /// Writes what the array at `at` lost; where that was only if the line has room for it.
    fn lost_items(&mut self, name: &str, at: usize, lost: u64) {
        let start = self.out.len();
        if let Said::Places(places) = gaps::say(self.tape, at, lost) {
            self.key(name);
            self.out.push('"');
            self.out.push_str(&places);
            self.out.push('"');
            // A closing bracket and a comma may follow.
            if self.is_flat || self.has_line_room(2) {
                return;
            }
            self.out.truncate(start);
        }
        self.count(name, lost);
    }

    fn count(&mut self, name: &str, lost: u64) {
        self.key(name);
        self.out.push_str(&lost.to_string());
    }
}
