//! What values cost: memory while a document is kept, bytes of text when it is laid out.
//!
//! Sizes of text are estimates from above, but for names that had to be numbered.

use super::layout::Layout;
use super::name;
use super::tape::{Kind, NODE_BYTES, Node, Tape};

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
    layout: Layout,
    /// The size of each value, with what is inside it.
    sizes: Vec<usize>,
}

impl<'t> Scale<'t> {
    pub(super) fn of_memory(tape: &'t Tape) -> Self {
        Scale { tape, text: None }
    }

    pub(super) fn of_text(tape: &'t Tape, layout: Layout) -> Self {
        let sizes = Vec::with_capacity(tape.len());
        let mut scale = Scale {
            tape,
            text: Some(Text { layout, sizes }),
        };
        let mut sizes = Vec::with_capacity(tape.len());
        // The containers that the next value is inside of, and where they end.
        let mut around: Vec<(usize, usize)> = Vec::new();
        for at in 0..=tape.len() {
            while let Some((inner, _)) = around.pop_if(|&mut (_, end)| end <= at) {
                let size = sizes.get(inner).copied().unwrap_or(0);
                if let Some(total) = around.last().and_then(|&(outer, _)| sizes.get_mut(outer)) {
                    *total += size;
                }
            }
            if let Some(node) = tape.node(at) {
                sizes.push(scale.alone(at, node, around.len()));
                around.push((at, tape.end(at)));
            }
        }
        if let Some(text) = &mut scale.text {
            text.sizes = sizes;
        }
        scale
    }

    /// Returns the cost of a value with what is inside it.
    pub(super) fn size(&self, at: usize) -> usize {
        match &self.text {
            None => self.tape.bytes_of(at),
            Some(text) => text.sizes.get(at).copied().unwrap_or(0),
        }
    }

    /// Returns the cost of a value inside `depth` containers without what is inside it: key, brackets or quotes, and what
    /// separates it from the one before.
    pub(super) fn frame(&self, at: usize, depth: usize) -> usize {
        let key = self.tape.key(at).map(str::len);
        let Some(Text { layout, .. }) = self.text else {
            return NODE_BYTES + key.unwrap_or(0);
        };
        let key = key.map_or(0, |len| len + 2 + layout.colon_bytes());
        let brackets = match self.tape.node(at).map(|node| node.kind) {
            Some(Kind::Object | Kind::Array) => 1 + layout.gap_bytes(depth),
            Some(Kind::Text) => 2,
            Some(Kind::Plain) | None => 0,
        };
        layout.gap_bytes(depth) + key + brackets
    }

    /// Returns the cost of saying that a value lost so much.
    pub(super) fn count(&self, at: usize, depth: usize, lost: u64) -> usize {
        let (Some(Text { layout, .. }), Some(node)) = (&self.text, self.tape.node(at)) else {
            return 0;
        };
        if lost == 0 {
            return 0;
        }
        let digits = lost.ilog10() as usize + 1;
        let quotes = 2 + layout.colon_bytes();
        digits
            + match node.kind {
                Kind::Plain => 0,
                Kind::Text => "... [ chars omitted]".len(),
                Kind::Object => layout.gap_bytes(depth + 1) + name::OMITTED_MEMBERS.len() + quotes,
                Kind::Array => match self.tape.key(at) {
                    Some(key) => layout.gap_bytes(depth) + key.len() + name::OMITTED.len() + quotes,
                    None => layout.gap_bytes(depth + 1) + name::OMITTED_ITEMS.len() + quotes + 2,
                },
            }
    }

    /// Returns the least that a value can be shortened to.
    pub(super) fn least(&self, at: usize, depth: usize) -> usize {
        let size = self.size(at);
        let Some(node) = self.tape.node(at) else {
            return size;
        };
        let inside = (self.tape.end(at) - at) as u64;
        let rest = match node.kind {
            Kind::Plain => return size,
            Kind::Text => {
                let chars = node.lost + self.tape.value(at).len() as u64;
                LEAST_TEXT + self.count(at, depth, chars)
            }
            Kind::Object | Kind::Array => self.count(at, depth, node.lost + inside),
        };
        size.min(self.frame(at, depth) + rest)
    }

    fn alone(&self, at: usize, node: &Node, depth: usize) -> usize {
        self.frame(at, depth) + self.tape.value(at).len() + self.count(at, depth, node.lost)
    }
}
