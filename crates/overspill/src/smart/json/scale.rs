//! What values cost: memory while a document is kept, bytes of text when it is laid out.
//!
//! Sizes of text are estimates, from above but for names that had to be numbered, for line breaks where lines are wrapped, and
//! for where many items are missing.

use super::gaps;
use super::name;
use super::tape::{NODE_BYTES, Tape, TapeNode, ValueKind};
use super::write::Style;

/// How many bytes of a string are worth showing.
const LEAST_TEXT: usize = 16;

/// The costs of the values of one tape.
#[derive(Debug)]
pub(super) struct Scale<'t> {
    pub(super) tape: &'t Tape,
    /// Absent where memory is what counts.
    text: Option<Text>,
}

#[derive(Debug)]
struct Text {
    style: Style,
    /// The size of each value, with what is inside it.
    sizes: Vec<usize>,
    /// The least that each can be shortened to.
    leasts: Vec<usize>,
}

impl<'t> Scale<'t> {
    pub(super) fn of_memory(tape: &'t Tape) -> Self {
        Scale { tape, text: None }
    }

    pub(super) fn of_text(tape: &'t Tape, style: Style) -> Self {
        let mut scale = Scale {
            tape,
            text: Some(Text {
                style,
                sizes: Vec::new(),
                leasts: Vec::new(),
            }),
        };
        let mut sizes: Vec<usize> = Vec::with_capacity(tape.len());
        // Of a container, the least of what is inside it until it is complete.
        let mut leasts: Vec<usize> = Vec::with_capacity(tape.len());
        // The containers that the next value is inside of, and where they end.
        let mut around: Vec<(usize, usize)> = Vec::new();
        for at in 0..=tape.len() {
            while let Some((inner, _)) = around.pop_if(|&mut (_, end)| end <= at) {
                let size = sizes.get(inner).copied().unwrap_or(0);
                let inside = leasts.get(inner).copied().unwrap_or(0);
                let least = size.min(scale.least_of(inner, around.len(), inside));
                if let Some(whole) = leasts.get_mut(inner) {
                    *whole = least;
                }
                let outer = around.last().map_or(usize::MAX, |&(outer, _)| outer);
                if let (Some(total), Some(inside)) = (sizes.get_mut(outer), leasts.get_mut(outer)) {
                    *total += size;
                    *inside = least.min(*inside);
                }
            }
            if let Some(node) = tape.node(at) {
                sizes.push(scale.alone(at, node, around.len()));
                leasts.push(usize::MAX);
                around.push((at, tape.end(at)));
            }
        }
        if let Some(text) = &mut scale.text {
            (text.sizes, text.leasts) = (sizes, leasts);
        }
        scale
    }

    /// Tells whether the length of lines matters.
    pub(super) fn is_narrow(&self) -> bool {
        let text = self.text.as_ref();
        text.is_some_and(|text| text.style.max_line < usize::MAX)
    }

    /// Returns the cost of a value with what is inside it.
    pub(super) fn size(&self, at: usize) -> usize {
        match &self.text {
            None => self.tape.bytes_of(at),
            Some(text) => text.sizes.get(at).copied().unwrap_or(0),
        }
    }

    /// Returns the least that a value inside `depth` containers can be shortened to. Something in an item is shown; of a
    /// member the key may be all.
    pub(super) fn least(&self, at: usize, depth: usize) -> usize {
        match &self.text {
            // Room for a few values inside it; what the smallest takes is not worth finding out.
            None => self.size(at).min(self.least_of(at, depth, 3 * NODE_BYTES)),
            Some(text) => text.leasts.get(at).copied().unwrap_or(0),
        }
    }

    /// Returns the cost of a value inside `depth` containers without what is inside it: key, brackets or quotes, and what
    /// separates it from the one before.
    pub(super) fn frame(&self, at: usize, depth: usize) -> usize {
        let key = self.tape.key(at).map(str::len);
        let Some(Text { style, .. }) = self.text else {
            return NODE_BYTES + key.unwrap_or(0);
        };
        let spacing = style.spacing;
        let key = key.map_or(0, |len| len + 2 + spacing.colon_bytes());
        let brackets = match self.tape.node(at).map(|node| node.kind) {
            Some(ValueKind::Object | ValueKind::Array) => 1 + spacing.gap_bytes(depth),
            Some(ValueKind::Text) => 2,
            Some(ValueKind::Plain) | None => 0,
        };
        spacing.gap_bytes(depth) + key + brackets
    }

    /// Returns the cost of saying that a value lost so much, about what it is while nobody knows which of it.
    pub(super) fn count(&self, at: usize, depth: usize, lost: u64) -> usize {
        let said = match self.tape.node(at).map(|node| node.kind) {
            Some(ValueKind::Array) => gaps::likely_bytes(lost),
            _ => gaps::digits(lost),
        };
        self.saying(at, depth, lost, said)
    }

    /// Returns the cost of saying what a value lost that is on `tape` at `new`, as it came from `at`.
    pub(super) fn count_on(&self, tape: &Tape, new: usize, at: usize, depth: usize) -> usize {
        let Some(node) = tape.node(new).filter(|_| self.text.is_some()) else {
            return 0;
        };
        let said = match node.kind {
            ValueKind::Array if node.lost > 0 => gaps::say(tape, new, node.lost).bytes(),
            _ => gaps::digits(node.lost),
        };
        self.saying(at, depth, node.lost, said)
    }

    fn saying(&self, at: usize, depth: usize, lost: u64, said: usize) -> usize {
        let (Some(Text { style, .. }), Some(node)) = (&self.text, self.tape.node(at)) else {
            return 0;
        };
        if lost == 0 {
            return 0;
        }
        let spacing = style.spacing;
        let quotes = 2 + spacing.colon_bytes();
        let (outer, inner) = (spacing.gap_bytes(depth), spacing.gap_bytes(depth + 1));
        said + match node.kind {
            ValueKind::Plain => 0,
            ValueKind::Text => "... [ chars omitted]".len(),
            ValueKind::Object => inner + name::OMITTED_MEMBERS.len() + quotes,
            ValueKind::Array => match self.tape.key(at) {
                Some(key) => outer + key.len() + name::OMITTED.len() + quotes,
                None => inner + name::OMITTED_ITEMS.len() + quotes + 2,
            },
        }
    }

    /// The same, where something inside it takes no less than `inside`; at most its size, in any case.
    fn least_of(&self, at: usize, depth: usize, inside: usize) -> usize {
        let Some(node) = self.tape.node(at) else {
            return 0;
        };
        let nodes = (self.tape.end(at) - at) as u64;
        let rest = match node.kind {
            ValueKind::Plain => return usize::MAX,
            ValueKind::Text => {
                let chars = node.lost + self.tape.value(at).len() as u64;
                LEAST_TEXT + self.count(at, depth, chars)
            }
            ValueKind::Object | ValueKind::Array if node.has_key => self.saying(
                at,
                depth,
                node.lost + nodes,
                gaps::digits(node.lost + nodes),
            ),
            ValueKind::Object | ValueKind::Array => {
                inside.saturating_add(self.count(at, depth, node.lost + nodes))
            }
        };
        rest.saturating_add(self.frame(at, depth))
    }

    fn alone(&self, at: usize, node: &TapeNode, depth: usize) -> usize {
        let count = match node.lost {
            0 => 0,
            _ => self.count_on(self.tape, at, at, depth),
        };
        self.frame(at, depth) + self.tape.value(at).len() + count
    }
}
