//! Keeps what a parser finds, in bounded memory.
//!
//! Every value is written down as it comes. When that is too much, all of it is shortened to half; a container that lost
//! children then is *full*: from then on it keeps only those that weigh more than what it lost, and an array its last
//! item, which goes when the next one comes. Since that one is at the end of the tape, it costs nothing to drop. An item of
//! which nothing is left but counts is kept in the same way, and only if it is the only one.

use super::name;
use super::prune;
use super::quoted::Quoted;
use super::raw;
use super::scale::Scale;
use super::tape::{Tape, ValueKind};

/// How many containers may be around a value that is kept.
const MAX_KEPT_DEPTH: usize = 64;

/// The longest key that is kept: a member is dropped rather than its key altered. Times six, which is what an escape can
/// make of a char, it is below what [`Quotes`](super::quoted::Quotes) takes as a whole, so that a key that could be in the
/// way of a name of ours is always seen.
const MAX_KEY_BYTES: usize = 512;

/// How much of a long string's kept start is there only to tell where a grapheme ends.
const GRAPHEME_BYTES: usize = 2048;

/// The most that may be asked to be kept: offsets on a tape have 32 bits.
const MAX_KEPT: usize = 1 << 30;

/// Takes values as they come.
#[derive(Debug)]
pub(super) struct Builder {
    /// What is kept so far; once the root is closed, the document.
    pub(super) tape: Tape,
    /// The open containers that are kept.
    frames: Vec<Frame>,
    /// How many containers are open inside those that are not kept.
    skipped: usize,
    key: NextKey,
    /// What the query says about that key.
    asked: u32,
    /// The memory for the tape, and when it is shortened next.
    max_bytes: usize,
    limit: usize,
}

/// An open container.
#[derive(Debug)]
struct Frame {
    at: usize,
    kind: ValueKind,
    /// How many children came, kept or not.
    came: u64,
    /// What a child has to weigh more than to be kept, if the container lost some.
    full: Option<u32>,
    /// The last item, where it is kept only for being that.
    last: Option<usize>,
}

/// The key of the member that is to come.
#[derive(Clone, Copy, Debug)]
enum NextKey {
    None,
    Kept { len: usize },
    Lost,
}

impl Builder {
    pub(super) fn new(max_kept: usize) -> Self {
        // A buffer that grows has up to twice what it needs, and shortening takes some memory of its own.
        let max_bytes = max_kept.min(MAX_KEPT) / 8 * 3;
        Builder {
            tape: Tape::default(),
            frames: Vec::new(),
            skipped: 0,
            key: NextKey::None,
            asked: 0,
            max_bytes,
            limit: max_bytes,
        }
    }

    /// Returns how much of one string may be kept.
    pub(super) fn max_text(&self) -> usize {
        self.max_bytes / 4
    }

    pub(super) fn open(&mut self, kind: ValueKind) {
        if self.is_skipping() {
            self.lose();
            self.skipped += 1;
            return;
        }
        let at = self.push(kind, "");
        self.frames.push(Frame {
            at,
            kind,
            came: 0,
            full: None,
            last: None,
        });
    }

    pub(super) fn close(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else if let Some(frame) = self.frames.pop() {
            // Beside others, an item that is nothing but counts says no more than one more in the count.
            let is_idle = |&last: &usize| last > frame.at + 1 && self.tape.is_hollow(last);
            if let Some(last) = frame.last.filter(is_idle) {
                self.tape.truncate(last);
                self.count_lost(frame.at);
            }
            self.tape.close(frame.at);
            self.end_child(frame.at);
        }
    }

    pub(super) fn key(&mut self, key: &Quoted<'_>) {
        if self.skipped > 0 {
            return;
        }
        let is_whole = key.chars.is_none();
        if is_whole && key.raw.len() <= MAX_KEY_BYTES && self.frames.len() < MAX_KEPT_DEPTH {
            self.tape.push_key(&key.raw);
            self.asked = key.asked;
            self.key = NextKey::Kept { len: key.raw.len() };
        } else {
            self.note(name::number(&key.raw));
            self.key = NextKey::Lost;
        }
    }

    pub(super) fn plain(&mut self, value: &str) {
        if self.is_skipping() {
            self.lose();
            return;
        }
        let at = self.push(ValueKind::Plain, value);
        self.end_child(at);
    }

    pub(super) fn text(&mut self, text: &Quoted<'_>) {
        self.weigh(text.weight);
        if self.is_skipping() {
            self.lose();
            return;
        }
        let (value, lost) = match text.chars {
            None => (&*text.raw, 0),
            Some(chars) => {
                let max_bytes = text.raw.len().saturating_sub(GRAPHEME_BYTES);
                let (len, kept) = raw::cut(&text.raw, max_bytes);
                (text.raw.get(..len).unwrap_or_default(), chars - kept)
            }
        };
        let at = self.push(ValueKind::Text, value);
        if let Some(node) = self.tape.node_mut(at) {
            node.weight = node.weight.max(text.weight);
            node.lost = lost;
        }
        self.end_child(at);
    }

    /// Counts a value that is not kept.
    pub(super) fn lose(&mut self) {
        if self.skipped > 0 {
            return;
        }
        if let NextKey::Kept { len } = self.key {
            self.tape.drop_key(len);
        }
        self.key = NextKey::None;
        if let Some(frame) = self.frames.last_mut() {
            frame.came += 1;
            let at = frame.at;
            self.count_lost(at);
        }
    }

    /// Tells whether the next value is not kept whatever it is.
    fn is_skipping(&self) -> bool {
        self.skipped > 0 || matches!(self.key, NextKey::Lost) || self.frames.len() >= MAX_KEPT_DEPTH
    }

    fn push(&mut self, kind: ValueKind, value: &str) -> usize {
        // The last item is not the last any more.
        let mut index = 0;
        if let Some(frame) = self.frames.last_mut() {
            index = u32::try_from(frame.came).unwrap_or(u32::MAX);
            frame.came += 1;
            let at = frame.at;
            if let Some(last) = frame.last.take() {
                self.tape.truncate(last);
                self.count_lost(at);
            }
        }
        let key_len = match std::mem::replace(&mut self.key, NextKey::None) {
            NextKey::Kept { len } => Some(len),
            NextKey::None | NextKey::Lost => None,
        };
        let at = self.tape.push(kind, key_len, value);
        let asked = std::mem::take(&mut self.asked);
        if let Some(node) = self.tape.node_mut(at) {
            (node.weight, node.index) = (asked, index);
        }
        at
    }

    /// Decides about a value that is complete.
    fn end_child(&mut self, at: usize) {
        let weight = self.tape.node(at).map_or(0, |node| node.weight);
        self.weigh(weight);
        if let Some(frame) = self.frames.last_mut() {
            let is_too_light = frame.full.is_some_and(|full| weight <= full);
            let around = frame.at;
            if frame.kind == ValueKind::Array {
                let is_passing = is_too_light || self.tape.is_hollow(at);
                frame.last = is_passing.then_some(at);
            } else if is_too_light {
                let number = self.tape.key(at).and_then(name::number);
                self.tape.truncate(at);
                self.note(number);
                self.count_lost(around);
            }
        }
        if self.tape.bytes() > self.limit {
            self.shorten();
        }
    }

    fn weigh(&mut self, weight: u32) {
        if let Some(node) = self.parent() {
            node.weight = node.weight.max(weight);
        }
    }

    /// Remembers that a lost key had a name like one of ours.
    fn note(&mut self, number: Option<u32>) {
        if let (Some(number), Some(node)) = (number, self.parent()) {
            node.taken = node.taken.max(number);
        }
    }

    fn count_lost(&mut self, at: usize) {
        if let Some(node) = self.tape.node_mut(at) {
            node.lost += 1;
        }
    }

    fn parent(&mut self) -> Option<&mut super::tape::TapeNode> {
        let at = self.frames.last()?.at;
        self.tape.node_mut(at)
    }

    fn shorten(&mut self) {
        let pruned = prune::prune(&Scale::of_memory(&self.tape), self.max_bytes / 2);
        self.tape = pruned.tape;
        for (frame, open) in self.frames.iter_mut().zip(&pruned.open) {
            frame.at = open.at;
            frame.full = frame.full.max(open.lost_weight);
        }
        if let Some(frame) = self.frames.last_mut() {
            let weight = |at: usize| self.tape.node(at).map_or(0, |node| node.weight);
            let last = self.tape.children(frame.at).last();
            let is_passing = |&at: &usize| {
                frame.full.is_some_and(|full| weight(at) <= full) || self.tape.is_hollow(at)
            };
            frame.last = last.filter(|at| frame.kind == ValueKind::Array && is_passing(at));
        }
        // What is open stays, so the tape may be longer than asked; it is not shortened again for every value.
        self.limit = self.max_bytes.max(self.tape.bytes() * 2);
    }
}
