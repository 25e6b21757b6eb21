//! Shortens a kept document to a cost.
//!
//! Room goes from the root down: each container shares its own out among the children that it keeps, and what one leaves
//! over goes to the next. The result costs no more than the room, but for what is still open, which always stays.

use super::choose::{self, Child};
use super::scale::Scale;
use super::tape::{Kind, Tape};
use super::{name, raw};

/// What is left of a document.
#[derive(Debug)]
pub(super) struct Pruned {
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
pub(super) fn prune(scale: &Scale<'_>, room: usize) -> Pruned {
    let mut pruner = Pruner {
        from: scale.tape,
        scale,
        out: Pruned {
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
    out: Pruned,
}

impl Pruner<'_> {
    /// Writes a value inside `depth` containers; returns what it costs. Recursion is as deep as what is kept, which is
    /// bounded.
    fn value(&mut self, at: usize, depth: usize, room: usize) -> usize {
        let Some(node) = self.from.node(at) else {
            return 0;
        };
        let size = self.scale.size(at);
        if size <= room || node.kind == Kind::Plain {
            self.whole(at);
            return size;
        }
        match node.kind {
            Kind::Text => self.text(at, depth, room),
            _ => self.container(at, depth, room),
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
        let (len, kept_chars) = raw::cut(value, max_bytes.min(value.len().saturating_sub(1)));
        let new = self.out.tape.push_part(self.from, at, len);
        let lost = chars - kept_chars;
        if let Some(node) = self.out.tape.node_mut(new) {
            node.lost = lost;
        }
        frame + len + self.scale.count(at, depth, lost)
    }

    fn container(&mut self, at: usize, depth: usize, room: usize) -> usize {
        let Some(node) = self.from.node(at) else {
            return 0;
        };
        let mut children: Vec<Child> = self
            .from
            .children(at)
            .filter_map(|child| self.child(child, depth + 1))
            .collect();
        let frame = self.scale.frame(at, depth);
        let mut choose = |lost: u64| {
            let inside = room.saturating_sub(frame + self.scale.count(at, depth, lost));
            choose::choose(node.kind, &mut children, node.lost, inside)
        };
        // Room for a count is set aside only if there is something to count.
        if !choose(node.lost) {
            choose(node.lost + self.from.children(at).count() as u64);
        }
        let new = self.out.tape.push_part(self.from, at, 0);
        let lost_weight = self.lose(new, &children);
        children.retain(Child::is_kept);
        let is_open = self.from.is_open(at);
        if is_open {
            self.out.open.push(Open {
                at: new,
                lost_weight,
            });
        }
        let lost = self.out.tape.node(new).map_or(0, |node| node.lost);
        let mut used = frame + self.scale.count(at, depth, lost);
        let mut left_over = 0;
        for child in children {
            left_over += child.room;
            let room = left_over.min(child.size.max(child.room));
            let cost = self.value(child.at, depth + 1, room);
            left_over = left_over.saturating_sub(cost);
            used += cost;
        }
        if !is_open {
            self.out.tape.close(new);
        }
        used
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
