//! Where items are missing from an array, told by their indexes from 0 on, as JSON's own tools count.

use super::tape::Tape;

/// How many gaps are named. Of more, the widest are, and `...` stands for those between them.
const MAX_GAPS: usize = 8;

/// What stands between the count of lost items and where they were.
const AT: &str = " at ";

/// Returns what is said of the items that an array lost: how many, and where if it kept others.
pub(super) fn say(tape: &Tape, at: usize, lost: u64) -> Said {
    let items = tape.children(at).filter_map(|child| tape.node(child));
    let indexes: Vec<u32> = items.map(|node| node.index).collect();
    if indexes.is_empty() || indexes.contains(&u32::MAX) {
        return Said::Count(lost);
    }
    let gaps = between(&indexes, indexes.len() as u64 + lost);
    Said::Places(format!("{lost}{AT}{}", list(&gaps)))
}

/// What is said of lost items.
#[derive(Debug)]
pub(super) enum Said {
    /// A bare number.
    Count(u64),
    /// The number and the indexes, for a string.
    Places(String),
}

impl Said {
    /// Returns how long it is as JSON.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Said::Count(lost) => digits(*lost),
            Said::Places(text) => text.len() + 2,
        }
    }
}

/// Returns about how long it is before it is known which items are kept: mostly the start and the end.
pub(super) fn likely_bytes(lost: u64) -> usize {
    let digits = digits(lost);
    "\"-\"".len() + AT.len() + 3 * digits
}

/// Returns how many digits a number has.
pub(super) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Returns the first and the last index of each gap.
fn between(kept: &[u32], all: u64) -> Vec<(u64, u64)> {
    let mut next = 0;
    let mut gaps = Vec::new();
    for index in kept.iter().map(|&index| u64::from(index)).chain([all]) {
        if index > next {
            gaps.push((next, index - 1));
        }
        next = index + 1;
    }
    gaps
}

fn list(gaps: &[(u64, u64)]) -> String {
    let mut widest: Vec<usize> = (0..gaps.len()).collect();
    let width = |&at: &usize| gaps.get(at).map_or(0, |(first, last)| last - first);
    widest.sort_by_key(|at| std::cmp::Reverse(width(at)));
    widest.truncate(MAX_GAPS);
    widest.sort_unstable();
    let mut parts = Vec::new();
    let mut next = 0;
    for at in widest {
        if at > next {
            parts.push("...".to_owned());
        }
        next = at + 1;
        parts.extend(gaps.get(at).map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        }));
    }
    if next < gaps.len() {
        parts.push("...".to_owned());
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_told_by_their_first_and_last_index() {
        for (kept, all, expected) in [
            (&[0, 1, 2][..], 3, ""),
            (&[0, 1, 2], 10, "3-9"),
            (&[0, 1, 9], 10, "2-8"),
            (&[5], 7, "0-4,6"),
            (&[1, 3, 4, 8], 10, "0,2,5-7,9"),
        ] {
            assert_eq!(list(&between(kept, all)), expected);
        }
    }

    #[test]
    fn of_many_gaps_the_widest_are_told() {
        let kept: Vec<u32> = (0..20).map(|n| n * n).collect();
        assert_eq!(
            list(&between(&kept, 500)),
            "...,145-168,170-195,197-224,226-255,257-288,290-323,325-360,362-499"
        );
        assert_eq!(
            list(&between(
                &[100, 102, 104, 106, 108, 110, 112, 114, 116, 300],
                301
            )),
            "0-99,101,103,105,107,109,111,...,117-299"
        );
    }
}
