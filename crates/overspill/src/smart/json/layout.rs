//! Writes what was kept as JSON text, with members and items that count what is missing.

use super::name::{self, Names};
use super::tape::{Kind, Tape};

/// How a document is laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Layout {
    /// On one line, without spaces.
    Compact,
    /// A line for each value, indented by `width` times `unit` for each level.
    Pretty { unit: char, width: usize },
}

impl Layout {
    /// Returns the bytes between two values at `depth`: the comma, and the line break.
    pub(super) fn gap_bytes(self, depth: usize) -> usize {
        match self {
            Layout::Compact => 1,
            Layout::Pretty { width, .. } => 2 + width * depth,
        }
    }

    /// Returns the bytes between a key and its value.
    pub(super) fn colon_bytes(self) -> usize {
        self.colon().len()
    }

    fn colon(self) -> &'static str {
        match self {
            Layout::Compact => ":",
            Layout::Pretty { .. } => ": ",
        }
    }
}

/// Returns what follows the kept start of a string.
pub(super) fn cut_mark(lost: u64) -> String {
    format!("... [{lost} chars omitted]")
}

/// Returns the kept document as text.
pub(super) fn render(tape: &Tape, layout: Layout) -> String {
    let mut writer = Writer {
        tape,
        layout,
        out: String::with_capacity(tape.bytes()),
    };
    writer.value(0, 0);
    writer.out
}

struct Writer<'t> {
    tape: &'t Tape,
    layout: Layout,
    out: String,
}

impl Writer<'_> {
    /// Writes a value inside `depth` containers. Recursion is as deep as what is kept, which is bounded.
    fn value(&mut self, at: usize, depth: usize) {
        let Some(node) = self.tape.node(at) else {
            return;
        };
        match node.kind {
            Kind::Plain => self.out.push_str(self.tape.value(at)),
            Kind::Text => {
                self.out.push('"');
                self.out.push_str(self.tape.value(at));
                if node.lost > 0 {
                    self.out.push_str(&cut_mark(node.lost));
                }
                self.out.push('"');
            }
            Kind::Object => self.object(at, depth, node.lost),
            Kind::Array => self.array(at, depth, node.lost, node.has_key),
        }
    }

    fn object(&mut self, at: usize, depth: usize, lost: u64) {
        let mut names = None;
        let mut is_first = true;
        self.out.push('{');
        for child in self.tape.children(at) {
            self.gap(depth + 1, is_first);
            is_first = false;
            let key = self.tape.key(child).unwrap_or_default();
            self.key(key);
            self.value(child, depth + 1);
            let node = self.tape.node(child);
            if let Some(node) = node.filter(|node| node.kind == Kind::Array && node.lost > 0) {
                let names = names.get_or_insert_with(|| Names::of(self.tape, at));
                let name = names.take(&format!("{key}{}", name::OMITTED));
                self.gap(depth + 1, false);
                self.count(&name, node.lost);
            }
        }
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

    fn array(&mut self, at: usize, depth: usize, lost: u64, has_key: bool) {
        let mut is_first = true;
        self.out.push('[');
        for child in self.tape.children(at) {
            self.gap(depth + 1, is_first);
            is_first = false;
            self.value(child, depth + 1);
        }
        // The object around it has a member for what a value of its own lost.
        if lost > 0 && !has_key {
            if !is_first {
                self.gap(depth + 1, false);
            }
            self.out.push('{');
            self.count(name::OMITTED_ITEMS, lost);
            self.out.push('}');
        }
        self.close(']', depth, is_first);
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
        if let Layout::Pretty { unit, width } = self.layout {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(unit, width * depth));
        }
    }

    fn key(&mut self, key: &str) {
        self.out.push('"');
        self.out.push_str(key);
        self.out.push('"');
        self.out.push_str(self.layout.colon());
    }

    fn count(&mut self, name: &str, lost: u64) {
        self.key(name);
        self.out.push_str(&lost.to_string());
    }
}
