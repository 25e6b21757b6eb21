//! What is kept of a document: its nodes in the order in which they came, and their text in one string.
//!
//! A node is followed by all that is inside it, and so is its text. A value that turned out not to be kept is therefore
//! dropped by cutting both off, and a whole value is copied by copying a range.

/// What a value is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ValueKind {
    Object,
    Array,
    /// A string.
    Text,
    /// A number, `true`, `false` or `null`.
    Plain,
}

impl ValueKind {
    pub(super) fn is_container(self) -> bool {
        matches!(self, ValueKind::Object | ValueKind::Array)
    }
}

/// A value, with its key if it is that of a member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TapeNode {
    pub(super) kind: ValueKind,
    pub(super) has_key: bool,
    /// Where its text starts: the key, then the value, both as they came but without quotes.
    start: u32,
    key_len: u32,
    value_len: u32,
    /// How many nodes it is, with those inside it; 0 while it is open.
    span: u32,
    /// The most that a string inside it weighs, kept or not.
    pub(super) weight: u32,
    /// The highest number in a key of a lost member that looks like one of the names in [`name`](super::name).
    pub(super) taken: u32,
    /// Its place among the items of its array, lost ones included; `u32::MAX` if it is that far or farther.
    pub(super) index: u32,
    /// How many members, items or chars it lost.
    pub(super) lost: u64,
}

/// The memory that a node takes, beside its text.
pub(super) const NODE_BYTES: usize = size_of::<TapeNode>();

/// The kept nodes of a document. Offsets are 32 bits wide: [`Builder`](super::build::Builder) sees to it that they suffice.
#[derive(Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<TapeNode>,
    text: String,
}

impl Tape {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the memory that the tape takes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * NODE_BYTES + self.text.len()
    }

    pub(super) fn node(&self, at: usize) -> Option<&TapeNode> {
        self.nodes.get(at)
    }

    pub(super) fn node_mut(&mut self, at: usize) -> Option<&mut TapeNode> {
        self.nodes.get_mut(at)
    }

    pub(super) fn key(&self, at: usize) -> Option<&str> {
        let node = self.nodes.get(at).filter(|node| node.has_key)?;
        self.slice(node.start, node.key_len)
    }

    /// Returns the text of a value that is no container, without quotes.
    pub(super) fn value(&self, at: usize) -> &str {
        self.nodes
            .get(at)
            .and_then(|node| self.slice(node.start + node.key_len, node.value_len))
            .unwrap_or_default()
    }

    fn slice(&self, start: u32, len: u32) -> Option<&str> {
        let start = start as usize;
        self.text.get(start..start + len as usize)
    }

    /// Returns where what is inside a value ends.
    pub(super) fn end(&self, at: usize) -> usize {
        match self.nodes.get(at) {
            Some(node) if node.span > 0 => at + node.span as usize,
            _ => self.nodes.len(),
        }
    }

    pub(super) fn is_open(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.span == 0)
    }

    /// Returns the memory that a value takes, with what is inside it.
    pub(super) fn bytes_of(&self, at: usize) -> usize {
        let end = self.end(at);
        (end - at) * NODE_BYTES + (self.text_start(end) - self.text_start(at))
    }

    fn text_start(&self, at: usize) -> usize {
        self.nodes
            .get(at)
            .map_or(self.text.len(), |node| node.start as usize)
    }

    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.end(at);
        std::iter::successors(Some(at + 1), |&child| Some(self.end(child)))
            .take_while(move |&child| child < end)
    }

    /// Tells whether nothing but counts is left of a value. An array that lost items may have one such item, which has no
    /// text; nobody else keeps any.
    pub(super) fn is_hollow(&self, at: usize) -> bool {
        let mut inner = at;
        while let Some(node) = self.nodes.get(inner) {
            let has_children = self.end(inner) > inner + 1;
            match node.kind {
                _ if node.span == 0 => return false,
                ValueKind::Array if has_children => {
                    if self.end(inner + 1) < self.end(inner) {
                        return false;
                    }
                    inner += 1;
                }
                _ => return node.lost > 0 && node.value_len == 0 && !has_children,
            }
        }
        false
    }

    /// Takes a hollow item off the end.
    pub(super) fn pop_hollow(&mut self, at: usize) -> Vec<TapeNode> {
        self.nodes.split_off(at)
    }

    /// Puts it back. No text was added since.
    pub(super) fn push_hollow(&mut self, nodes: Vec<TapeNode>) {
        self.nodes.extend(nodes);
    }

    /// Returns how many containers are around the innermost value.
    pub(super) fn depth(&self) -> usize {
        let mut ends: Vec<usize> = Vec::new();
        let mut most = 0;
        for at in 0..self.nodes.len() {
            while ends.pop_if(|end| *end <= at).is_some() {}
            most = most.max(ends.len());
            ends.push(self.end(at));
        }
        most
    }

    /// Adds the text of a key, whose value is to come.
    pub(super) fn push_key(&mut self, key: &str) {
        self.text.push_str(key);
    }

    /// Takes the text of a key back.
    pub(super) fn drop_key(&mut self, key_len: usize) {
        let len = self.text.len().saturating_sub(key_len);
        self.text.truncate(len);
    }

    /// Adds a value, whose key, if it has one, was added before. A container is open until it is closed.
    pub(super) fn push(&mut self, kind: ValueKind, key_len: Option<usize>, value: &str) -> usize {
        let at = self.nodes.len();
        let len = key_len.unwrap_or(0);
        self.nodes.push(TapeNode {
            kind,
            has_key: key_len.is_some(),
            start: (self.text.len() - len) as u32,
            key_len: len as u32,
            value_len: value.len() as u32,
            span: u32::from(!kind.is_container()),
            weight: 0,
            taken: 0,
            index: 0,
            lost: 0,
        });
        self.text.push_str(value);
        at
    }

    pub(super) fn close(&mut self, at: usize) {
        let span = (self.nodes.len() - at) as u32;
        if let Some(node) = self.nodes.get_mut(at) {
            node.span = span;
        }
    }

    /// Drops a value and all that came after it.
    pub(super) fn truncate(&mut self, at: usize) {
        self.text.truncate(self.text_start(at));
        self.nodes.truncate(at);
    }

    /// Adds a value of another tape, without what is inside it and with only `value_len` of its own text.
    pub(super) fn push_part(&mut self, from: &Tape, at: usize, value_len: usize) -> usize {
        let key = from.key(at);
        self.text.push_str(key.unwrap_or_default());
        let node = from.nodes.get(at);
        let kind = node.map_or(ValueKind::Plain, |node| node.kind);
        let value = from.value(at).get(..value_len).unwrap_or_default();
        let new = self.push(kind, key.map(str::len), value);
        if let (Some(node), Some(new)) = (node, self.nodes.get_mut(new)) {
            (new.weight, new.taken) = (node.weight, node.taken);
            (new.index, new.lost) = (node.index, node.lost);
        }
        new
    }

    /// Adds a value of another tape with all that is inside it.
    pub(super) fn push_whole(&mut self, from: &Tape, at: usize) {
        let end = from.end(at);
        let old = from.text_start(at);
        let new = self.text.len();
        let text = from.text.get(old..from.text_start(end));
        self.text.push_str(text.unwrap_or_default());
        let nodes = from.nodes.get(at..end).unwrap_or_default();
        self.nodes.extend(nodes.iter().map(|node| TapeNode {
            start: (node.start as usize - old + new) as u32,
            ..*node
        }));
    }
}
