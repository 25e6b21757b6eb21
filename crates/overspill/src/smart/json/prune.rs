//! Shortens a kept document to a cost.
//!
//! Room goes from the root down: each container shares its own out among the children that it keeps, and what one leaves
//! over goes to the next. The result costs no more than the room, but for what is still open, which always stays.
//!
//! An item of which nothing would be left but counts is left out itself, unless its array had no other.

use super::choose::{self, Child};
use super::narrow::Narrow;
use super::scale::Scale;
use super::tape::{Tape, TapeNode, ValueKind};
use super::{name, raw};

/// What is left of a document.
#[derive(Debug)]
pub(super) struct Shortened {
    pub(super) tape: Tape,
    /// The containers that are still open, from the root inwards.
    pub(super) open: Vec<Open>,
}

/// A container that is still open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) at: usize,
    /// The most that a child weighs that it just lost, if it lost any.
    pub(super) lost_weight: Option<u32>,
}

/// Shortens a document so that it costs at most `room` on `scale`.
pub(super) fn prune(scale: &Scale<'_>, room: usize) -> Shortened {
    run(scale, room, None)
}

/// Shortens the strings of a document so that each line can be within `narrow`, and leaves out what cannot.
pub(super) fn clip(scale: &Scale<'_>, narrow: Narrow) -> Tape {
    run(scale, usize::MAX / 2, Some(narrow)).tape
}

fn run(scale: &Scale<'_>, room: usize, narrow: Option<Narrow>) -> Shortened {
    let mut pruner = Pruner {
        from: scale.tape,
        scale,
        narrow,
        out: Shortened {
            tape: Tape::default(),
            open: Vec::new(),
        },
    };
    pruner.value(0, 0, room);
    pruner.out
}

struct Pruner<'t> {
    from: &'t Tape,
    scale: &'t Scale<'t>,
    narrow: Option<Narrow>,
    out: Shortened,
}

/// The items that turned out hollow: their number, the most that one weighs, and one of them with its cost.
#[derive(Debug, Default)]
struct Hollow {
    count: u64,
    weight: Option<u32>,
    first: Option<(Vec<TapeNode>, usize)>,
}

impl Pruner<'_> {
    /// Writes a value inside `depth` containers; returns what it costs. Recursion is as deep as what is kept, which is
    /// bounded.
    fn value(&mut self, at: usize, depth: usize, room: usize) -> usize {
        let Some(node) = self.from.node(at) else {
            return 0;
        };
        let size = self.scale.size(at);
        let is_whole = match self.narrow {
            Some(narrow) => narrow.max_text(self.from, at, depth).is_none(),
            None => size <= room,
        };
        match node.kind {
            ValueKind::Text if !is_whole => self.text(at, depth, room),
            ValueKind::Object | ValueKind::Array if !is_whole || self.narrow.is_some() => {
                self.container(at, depth, room)
            }
            _ => {
                self.whole(at);
                size
            }
        }
    }

    fn whole(&mut self, at: usize) {
        let new = self.out.tape.len();
        self.out.tape.push_whole(self.from, at);
        // Only the last of a container's children can be open, so the open ones are a chain.
        let mut inner = Some(at);
        while let Some(open) = inner.filter(|&inner| self.from.is_open(inner)) {
            self.out.open.push(Open {
                at: new + (open - at),
                lost_weight: None,
            });
            inner = self.from.children(open).last();
        }
    }

    fn text(&mut self, at: usize, depth: usize, room: usize) -> usize {
        let value = self.from.value(at);
        let lost = self.from.node(at).map_or(0, |node| node.lost);
        let chars = lost + raw::count_chars(value);
        let frame = self.scale.frame(at, depth);
        let max_bytes = room.saturating_sub(frame + self.scale.count(at, depth, chars));
        let max_bytes = max_bytes.min(self.max_text(at, depth, chars));
        let (len, kept_chars) = raw::cut(value, max_bytes.min(value.len().saturating_sub(1)));
        let new = self.out.tape.push_part(self.from, at, len);
        let lost = chars - kept_chars;
        if let Some(node) = self.out.tape.node_mut(new) {
            node.lost = lost;
        }
        frame + len + self.scale.count(at, depth, lost)
    }

    /// Returns how many bytes of a string its line has room for. It must not have more chars when it is cut, for all that it
    /// has fewer bytes.
    fn max_text(&self, at: usize, depth: usize, chars: u64) -> usize {
        let value = self.from.value(at);
        if !self.scale.is_narrow() {
            return value.len();
        }
        let lost = self.from.node(at).map_or(0, |node| node.lost);
        let mark = |lost| self.scale.count(at, depth, lost);
        let shorter = mark(chars).saturating_sub(mark(lost));
        let max_chars = value.chars().count().saturating_sub(shorter);
        let in_line = self
            .narrow
            .and_then(|narrow| narrow.max_text(self.from, at, depth));
        let max_chars = in_line.map_or(max_chars, |in_line| in_line.min(max_chars));
        let end = value.char_indices().nth(max_chars);
        end.map_or(value.len(), |(end, _)| end)
    }

    fn container(&mut self, at: usize, depth: usize, room: usize) -> usize {
        let mut children = self.chosen(at, depth, room);
        let new = self.out.tape.push_part(self.from, at, 0);
        let lost_weight = self.lose(new, &children);
        children.retain(Child::is_kept);
        let is_open = self.from.is_open(at);
        let opened = self.out.open.len();
        if is_open {
            self.out.open.push(Open {
                at: new,
                lost_weight,
            });
        }
        let (inside, hollow) = self.children(new, &children, depth + 1);
        if let Some(open) = self.out.open.get_mut(opened).filter(|_| is_open) {
            open.lost_weight = open.lost_weight.max(hollow);
        }
        let count = self.scale.count_on(&self.out.tape, new, at, depth);
        if !is_open {
            self.out.tape.close(new);
        }
        self.scale.frame(at, depth) + count + inside
    }

    /// Returns the children of a container with the room that each is given.
    fn chosen(&self, at: usize, depth: usize, room: usize) -> Vec<Child> {
        let Some(node) = self.from.node(at) else {
            return Vec::new();
        };
        let children = self.from.children(at);
        let mut children: Vec<Child> = children
            .filter_map(|child| self.child(child, depth + 1))
            .collect();
        let all = node.lost + children.len() as u64;
        let frame = self.scale.frame(at, depth);
        let mut choose = |lost: u64| {
            let inside = room.saturating_sub(frame + self.scale.count(at, depth, lost));
            choose::choose(node.kind, &mut children, node.lost, inside)
        };
        // Room for a count is set aside only if there is something to count.
        if !choose(node.lost) {
            choose(all);
        }
        if let Some(narrow) = self.narrow {
            for child in &mut children {
                if !narrow.holds(self.from, child.at, depth + 1) {
                    child.room = 0;
                }
            }
        }
        children
    }

    /// Writes the kept children of the container at `new`; returns what they cost, and the most that one of them weighs that
    /// it lost after all.
    fn children(&mut self, new: usize, children: &[Child], depth: usize) -> (usize, Option<u32>) {
        let is_array = self.out.tape.node(new).map(|node| node.kind) == Some(ValueKind::Array);
        let mut hollow = Hollow::default();
        let (mut used, mut left_over) = (0, 0);
        for child in children {
            left_over += child.room;
            let room = left_over.min(child.size.max(child.room));
            let start = self.out.tape.len();
            let cost = self.value(child.at, depth, room);
            if is_array && self.out.tape.is_hollow(start) {
                let nodes = self.out.tape.pop_hollow(start);
                hollow.first.get_or_insert((nodes, cost));
                hollow.weight = hollow.weight.max(Some(child.weight));
                hollow.count += 1;
                continue;
            }
            left_over = left_over.saturating_sub(cost);
            used += cost;
        }
        let is_empty = self.out.tape.len() == new + 1;
        if let Some((nodes, cost)) = hollow.first.filter(|_| is_empty) {
            self.out.tape.push_hollow(nodes);
            hollow.count -= 1;
            used += cost;
        }
        if let Some(node) = self.out.tape.node_mut(new) {
            node.lost += hollow.count;
        }
        (used, hollow.weight)
    }

    /// Counts the children that are not kept; returns the most that one of them weighs.
    fn lose(&mut self, new: usize, children: &[Child]) -> Option<u32> {
        let mut most = None;
        for child in children.iter().filter(|child| !child.is_kept()) {
            most = most.max(Some(child.weight));
            let number = self.from.key(child.at).and_then(name::number);
            if let Some(node) = self.out.tape.node_mut(new) {
                node.lost += 1;
                node.taken = node.taken.max(number.unwrap_or(0));
            }
        }
        most
    }

    fn child(&self, at: usize, depth: usize) -> Option<Child> {
        let node = self.from.node(at)?;
        Some(Child {
            at,
            size: self.scale.size(at),
            least: self.scale.least(at, depth),
            room: 0,
            weight: node.weight,
            is_scalar: !node.kind.is_container(),
            is_open: self.from.is_open(at),
        })
    }
}
