//! Names for the members that say how much is missing, chosen so that they collide with no key of their object.

use std::collections::BTreeSet;

use super::raw;
use super::tape::Tape;

/// What is added to the key of an array that lost items.
pub(super) const OMITTED: &str = "_omitted";

/// The key of the member that counts lost members.
pub(super) const OMITTED_MEMBERS: &str = "_omitted_members";

/// The key in the item that counts lost items.
pub(super) const OMITTED_ITEMS: &str = "_omitted_items";

/// Numbers from here on are taken for part of a name: no object gets that far.
const MAX_NUMBER: u32 = 1_000_000_000;

/// Returns the number in a key that looks like one of our names, 1 if it has none.
pub(super) fn number(key: &str) -> Option<u32> {
    let has_escape = memchr::memchr(b'\\', key.as_bytes()).is_some();
    if !has_escape && !key.contains(OMITTED) {
        return None;
    }
    let mut decoded = String::new();
    raw::decode(key, &mut decoded);
    let is_name = |name: &str| name.ends_with(OMITTED) || name == OMITTED_MEMBERS;
    if is_name(&decoded) {
        return Some(1);
    }
    let (name, digits) = decoded.rsplit_once('_')?;
    let number = digits.parse().ok().filter(|&number| number < MAX_NUMBER);
    number.filter(|_| is_name(name))
}

/// The names of one object that are in use.
#[derive(Debug)]
pub(super) struct Names {
    used: BTreeSet<String>,
    /// The number that the next name to collide gets.
    next: u32,
    /// Whether a name may do without a number.
    may_be_bare: bool,
}

impl Names {
    /// Returns those of the object at `at`; of its lost members only the highest number is known.
    pub(super) fn of(tape: &Tape, at: usize) -> Self {
        let taken = tape.node(at).map_or(0, |node| node.taken);
        let keys = tape.children(at).filter_map(|child| tape.key(child));
        let used = keys
            .filter(|key| number(key).is_some())
            .map(|key| decoded(key, ""))
            .collect();
        Names {
            used,
            next: taken.max(1) + 1,
            may_be_bare: taken == 0,
        }
    }

    /// Returns a name for `stem`, a key as it is written, that is not in use, and takes it.
    pub(super) fn take(&mut self, stem: &str) -> String {
        if self.may_be_bare && self.used.insert(decoded(stem, "")) {
            return stem.to_owned();
        }
        // Numbers only go up, so that many equal keys cost no more than they are many.
        loop {
            let suffix = format!("_{}", self.next);
            self.next = self.next.saturating_add(1);
            if self.used.insert(decoded(stem, &suffix)) || self.next == u32::MAX {
                return format!("{stem}{suffix}");
            }
        }
    }
}

fn decoded(key: &str, suffix: &str) -> String {
    let mut out = String::with_capacity(key.len() + suffix.len());
    raw::decode(key, &mut out);
    out.push_str(suffix);
    out
}
