//! Numbers for names: the same name of languages that mean each other has one number.

use std::hash::{BuildHasher as _, RandomState};

/// Names with their numbers. A table of numbers beside one long string: a large code base has millions of names.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    /// Where each name ends, and its family.
    ends: Vec<(u32, u8)>,
    /// Numbers plus one by the hash of the name, 0 where there is none; made when a name is first looked up.
    slots: Vec<u32>,
    state: RandomState,
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the name of a number.
    pub(super) fn name(&self, number: u32) -> &[u8] {
        self.entry(number as usize).0
    }

    /// Returns the name of a number, with its family.
    pub(super) fn entry(&self, number: usize) -> (&[u8], u8) {
        let Some(&(end, family)) = self.ends.get(number) else {
            return (&[], 0);
        };
        let start = number
            .checked_sub(1)
            .map_or(0, |before| self.ends[before].0);
        (&self.bytes[start as usize..end as usize], family)
    }

    /// Adds a name that is known to be new. Fails beyond four gigabytes of names.
    pub(super) fn push(&mut self, name: &[u8], family: u8) -> Option<u32> {
        let end = u32::try_from(self.bytes.len() + name.len()).ok()?;
        let number = u32::try_from(self.ends.len()).ok()?;
        self.bytes.extend_from_slice(name);
        self.ends.push((end, family));
        Some(number)
    }

    /// Returns the number of a name, a new one if it has none.
    pub(super) fn number(&mut self, name: &[u8], family: u8) -> Option<u32> {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(name, family);
        match self.slots[slot] {
            0 => {
                let number = self.push(name, family)?;
                self.slots[slot] = number.checked_add(1)?;
                Some(number)
            }
            number => Some(number - 1),
        }
    }

    /// Returns the slot that has a name, or the free one where it belongs.
    fn slot(&self, name: &[u8], family: u8) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.state.hash_one((name, family)) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                number if self.entry(number as usize - 1) == (name, family) => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Makes room for twice as many names. There are always twice as many slots as names, so a free one is never far.
    fn grow(&mut self) {
        let slots = ((self.ends.len() + 1) * 4).next_power_of_two().max(1024);
        self.slots = vec![0; slots];
        for number in 0..self.ends.len() {
            let (name, family) = self.entry(number);
            let slot = self.slot(name, family);
            self.slots[slot] = number as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_and_families_are_apart() {
        let mut names = Names::default();
        let numbers: Vec<u32> = (0..5000)
            .map(|n| names.number(format!("name{n}").as_bytes(), 1).unwrap())
            .collect();
        assert_eq!(numbers, (0..5000).collect::<Vec<_>>());
        for n in [0, 17, 4999] {
            let name = format!("name{n}");
            assert_eq!(names.number(name.as_bytes(), 1), Some(n));
            assert_eq!(names.name(n), name.as_bytes());
        }
        assert_eq!(names.number(b"name17", 2), Some(5000));
        assert_eq!(names.entry(5000), (&b"name17"[..], 2));
        assert_eq!((names.len(), names.name(9999)), (5001, &b""[..]));
    }

    #[test]
    fn names_from_elsewhere_are_found_too() {
        let mut names = Names::default();
        names.push(b"one", 0);
        names.push(b"two", 0);
        assert_eq!(names.number(b"two", 0), Some(1));
        assert_eq!(names.number(b"three", 0), Some(2));
    }
}
