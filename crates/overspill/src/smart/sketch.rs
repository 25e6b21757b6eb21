//! Counts how often a hash came, in fixed memory.
//!
//! A count-min sketch of two rows with conservative update: never too low, and exact until tens of thousands of different
//! hashes came. Which is enough, since only the order of magnitude of a count matters.

const WIDTH: usize = 1 << 16;

/// How often each hash came, about.
#[derive(Debug)]
pub(super) struct Sketch {
    rows: Box<[[u32; 2]]>,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch {
            rows: vec![[0; 2]; WIDTH].into_boxed_slice(),
        }
    }
}

impl Sketch {
    /// Counts a hash, and returns how often it came, this time included.
    pub(super) fn add(&mut self, hash: u64) -> u32 {
        let count = self.count(hash).saturating_add(1);
        for (row, at) in places(hash).into_iter().enumerate() {
            let cell = &mut self.rows[at][row];
            *cell = (*cell).max(count);
        }
        count
    }

    /// Returns how often a hash came.
    pub(super) fn count(&self, hash: u64) -> u32 {
        let [first, second] = places(hash);
        self.rows[first][0].min(self.rows[second][1])
    }
}

fn places(hash: u64) -> [usize; 2] {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    [
        (mixed >> 48) as usize % WIDTH,
        (mixed >> 24) as usize % WIDTH,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_few_hashes_came() {
        let mut sketch = Sketch::default();
        for round in 1..=3 {
            for hash in 0..2000u64 {
                assert!(sketch.add(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >= round);
            }
        }
        let exact = (0..2000u64)
            .filter(|hash| sketch.count(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)) == 3)
            .count();
        assert!(exact > 1990, "{exact}");
        assert_eq!(sketch.count(u64::MAX / 3), 0);
    }
}
