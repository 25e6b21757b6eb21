//! Counts how often a hash came, in fixed memory.
//!
//! A count-min sketch of two rows with conservative update: never too low, and nearly exact until ten thousand different
//! hashes came. Which is enough, since only the order of magnitude of a count matters.

/// How many cells share a line of the processor's cache. Both places of a hash are in one such line.
const CELLS: usize = 32;

const LINES: usize = 1 << 12;

/// What a count stops at: by then nobody asks how much more it is.
pub(super) const MANY: u16 = u16::MAX;

/// How often each hash came, about.
#[derive(Debug)]
pub(super) struct Sketch {
    lines: Box<[CacheLine]>,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct CacheLine([u16; CELLS]);

impl Default for Sketch {
    fn default() -> Self {
        Sketch {
            lines: vec![CacheLine([0; CELLS]); LINES].into_boxed_slice(),
        }
    }
}

impl Sketch {
    /// Counts a hash, and returns how often it came, this time included.
    #[inline]
    pub(super) fn add(&mut self, hash: u32) -> u16 {
        let (line, [first, second]) = places(hash);
        let CacheLine(cells) = &mut self.lines[line];
        let count = cells[first].min(cells[second]).saturating_add(1);
        for at in [first, second] {
            cells[at] = cells[at].max(count);
        }
        count
    }

    /// Returns how often a hash came.
    #[inline]
    pub(super) fn count(&self, hash: u32) -> u16 {
        let (line, [first, second]) = places(hash);
        let CacheLine(cells) = &self.lines[line];
        cells[first].min(cells[second])
    }
}

/// Returns the line of a hash and its two places there, the first in its lower half, the second in its upper.
#[inline]
fn places(hash: u32) -> (usize, [usize; 2]) {
    let mixed = u64::from(hash).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let half = CELLS / 2;
    let first = (mixed >> 32) as usize % half;
    let second = half + (mixed >> 40) as usize % half;
    ((mixed >> 48) as usize % LINES, [first, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_few_hashes_came() {
        let mut sketch = Sketch::default();
        for round in 1..=3 {
            for hash in 0..2000u32 {
                assert!(sketch.add(hash.wrapping_mul(0x9E37_79B9)) >= round);
            }
        }
        let exact = (0..2000u32)
            .filter(|hash| sketch.count(hash.wrapping_mul(0x9E37_79B9)) == 3)
            .count();
        assert!(exact > 1900, "{exact}");
        assert_eq!(sketch.count(u32::MAX / 3), 0);
    }
}
