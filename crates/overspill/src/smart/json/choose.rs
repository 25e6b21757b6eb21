//! Which members or items of a container are kept, and how its room is shared among them.
//!
//! What is small stays whole and what is biggest shrinks: everything up to one level is whole, everything above it gets
//! just that. Where there are too many for that they are chosen: of an array the heaviest, the ends, and the start; of an
//! object the heavy ones, small scalars, and the start.

use super::tape::ValueKind;

/// How many values share the room of an array at least, if there are so many and they are large.
const SHARING_ITEMS: usize = 8;

/// The same for an object, whose members are less alike.
const SHARING_MEMBERS: usize = 32;

/// What a shortened value should have at least, so that there is something in it beside counts.
const LEAST_USEFUL: usize = 192;

/// Up to which size a scalar is small.
const SMALL: usize = 128;

/// A member or an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) at: usize,
    /// Its cost as it is, and the least that it can be shortened to.
    pub(super) size: usize,
    pub(super) least: usize,
    /// The room that it is given, 0 if it is not kept. It is here and not in a list of its own because a container may have
    /// as many children as there is memory for.
    pub(super) room: usize,
    pub(super) weight: u32,
    /// Whether it is no container.
    pub(super) is_scalar: bool,
    /// Whether it is kept whatever it costs, because more of it is to come.
    pub(super) is_open: bool,
}

/// Chooses among the children of a container that has `room` for them, and that lost so many before. Tells whether all of
/// them are kept.
pub(super) fn choose(kind: ValueKind, children: &mut [Child], lost: u64, room: usize) -> bool {
    let sharing = match kind {
        ValueKind::Object => SHARING_MEMBERS,
        _ => SHARING_ITEMS,
    };
    let fair = (room / sharing).max(LEAST_USEFUL).min(room);
    let useful: usize = children.iter().map(|child| child.useful(fair)).sum();
    let least: usize = children.iter().map(|child| child.least).sum();
    let are_few = lost + children.len() as u64 <= sharing as u64;
    let keeps_all = useful <= room || (are_few && least <= room);
    for child in children.iter_mut() {
        // A few members show what an object is, so each of them stays; of many alike, some with content say more.
        child.room = match keeps_all {
            true if useful <= room => child.useful(fair),
            true => child.least.max(1),
            false => 0,
        };
    }
    if !keeps_all {
        let mut choice = Choice {
            children,
            fair,
            rest: room,
        };
        match kind {
            ValueKind::Object => choice.members(),
            _ => choice.items(),
        }
    }
    share_out(children, room);
    keeps_all
}

/// Raises what each kept child has to the level that uses up `room`.
fn share_out(children: &mut [Child], room: usize) {
    let total = |level| children.iter().map(|c| c.room_at(level)).sum::<usize>();
    let (mut low, mut high) = (0, room);
    if total(high) <= room {
        low = high;
    }
    while low < high {
        let level = low + (high - low).div_ceil(2);
        if total(level) <= room {
            low = level;
        } else {
            high = level - 1;
        }
    }
    for child in children {
        child.room = child.room_at(low);
    }
}

impl Child {
    pub(super) fn is_kept(&self) -> bool {
        self.room > 0
    }

    /// Returns what it should have at least where a fair share is `fair`.
    fn useful(&self, fair: usize) -> usize {
        self.size.min(self.least.max(fair)).max(1)
    }

    fn room_at(&self, level: usize) -> usize {
        if self.is_kept() {
            self.room.max(self.size.min(level))
        } else {
            0
        }
    }
}

/// A choice in the making.
struct Choice<'c> {
    children: &'c mut [Child],
    fair: usize,
    rest: usize,
}

impl Choice<'_> {
    fn items(&mut self) {
        self.open_child();
        let by_weight = self.heaviest_first();
        self.take(0);
        self.take(self.children.len().saturating_sub(1));
        self.heavy(&by_weight);
        // One that does not fit ends it, so that the start has no holes; it may have what is left.
        for index in 0..self.children.len() {
            if !self.take(index) {
                self.take_rest(index);
                break;
            }
        }
        if !self.children.iter().any(Child::is_kept) {
            let least = |&index: &usize| self.children.get(index).map(|child| child.least);
            if let Some(smallest) = (0..self.children.len()).min_by_key(least) {
                self.take_rest(smallest);
            }
        }
    }

    fn members(&mut self) {
        self.open_child();
        let by_weight = self.heaviest_first();
        self.heavy(&by_weight);
        for index in 0..self.children.len() {
            let child = self.children.get(index);
            if child.is_some_and(|child| child.is_scalar && child.size <= SMALL) {
                self.take(index);
            }
        }
        for index in 0..self.children.len() {
            if !self.take(index) {
                self.take_rest(index);
            }
        }
    }

    /// Takes the one that is still open, which is the last.
    fn open_child(&mut self) {
        let last = self.children.len().saturating_sub(1);
        if self.children.get(last).is_some_and(|child| child.is_open) {
            self.set(last, self.useful(last));
        }
    }

    /// Takes those that weigh something, up to half of the room.
    fn heavy(&mut self, by_weight: &[usize]) {
        let stop = self.rest / 2;
        for &index in by_weight {
            if self.rest < stop + self.useful(index) {
                break;
            }
            self.take(index);
        }
    }

    /// Returns those that weigh something, the heaviest first, which it takes.
    fn heaviest_first(&mut self) -> Vec<usize> {
        let weight = |index: usize| self.children.get(index).map_or(0, |child| child.weight);
        let mut indices: Vec<usize> = (0..self.children.len())
            .filter(|&index| weight(index) > 0)
            .collect();
        indices.sort_by_key(|&index| std::cmp::Reverse(weight(index)));
        if let Some(&heaviest) = indices.first() {
            self.take(heaviest);
        }
        indices
    }

    /// Takes one if there is room; tells whether it is taken.
    fn take(&mut self, index: usize) -> bool {
        let Some(child) = self.children.get(index) else {
            return false;
        };
        if child.is_kept() {
            return true;
        }
        let room = self.useful(index);
        let fits = room <= self.rest;
        if fits {
            self.set(index, room);
        }
        fits
    }

    /// Takes one with what is left, if that is worth it.
    fn take_rest(&mut self, index: usize) {
        let least = self.children.get(index).map_or(0, |child| child.least);
        if self.rest >= least.max(self.useful(index) / 2) {
            self.set(index, self.rest);
        }
    }

    fn useful(&self, index: usize) -> usize {
        let child = self.children.get(index);
        child.map_or(0, |child| child.useful(self.fair))
    }

    fn set(&mut self, index: usize, room: usize) {
        if let Some(child) = self.children.get_mut(index) {
            child.room = room;
            self.rest = self.rest.saturating_sub(room);
        }
    }
}
