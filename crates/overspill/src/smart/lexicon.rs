//! The table of words, laid out to be looked up at the speed of a stream.
//!
//! A run of letters is looked up by its hash, and only if a word of its length begins with its first two letters. A phrase
//! is found by its first word, a type's name by its last part. What is not ASCII is looked for by an automaton, and only in
//! lines that have such characters.

use std::cmp::Reverse;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::scan::Run;
use super::words::{ROWS, Row, Stand};

/// A power of two with room to spare for every first word.
const SLOTS: usize = 2048;

/// A row of the table, found in a line.
pub(super) struct Hit {
    pub(super) row: &'static Row,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Hit {
    fn new(row: &'static Row, start: usize) -> Self {
        Hit {
            row,
            start,
            end: start + row.word.len(),
        }
    }
}

/// The one lexicon there is.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

/// The table, laid out.
pub(super) struct Lexicon {
    /// The hashes of first words, each where it says or next to it; nought where there is none.
    hashes: Vec<u32>,
    /// At the same place: the rows that begin with it, the longest first.
    slots: Vec<Vec<&'static Row>>,
    /// By the first two letters: a bit for each length of a first word that begins so.
    lengths: Vec<u32>,
    /// The rows that may be the last part of a type's name.
    types: Vec<&'static Row>,
    /// The rows that must stand at the start of a line, and the bytes that they begin with.
    starts: Vec<&'static Row>,
    initials: [bool; 256],
    /// The rows that are not ASCII, and what finds them.
    signs: Vec<&'static Row>,
    sign_finder: Option<AhoCorasick>,
}

impl Lexicon {
    fn new() -> Self {
        let (starts, others): (Vec<&Row>, Vec<&Row>) =
            ROWS.iter().partition(|row| row.stand == Stand::Start);
        let (words, signs): (Vec<&Row>, Vec<&Row>) =
            others.into_iter().partition(|row| row.word.is_ascii());
        let types: Vec<&Row> = words
            .iter()
            .copied()
            .filter(|row| row.stand == Stand::Type)
            .collect();
        let mut lexicon = Lexicon {
            hashes: vec![0; SLOTS],
            slots: vec![Vec::new(); SLOTS],
            lengths: vec![0; 1 << 10],
            types,
            initials: initials(&starts),
            starts,
            sign_finder: AhoCorasick::new(signs.iter().map(|row| row.word)).ok(),
            signs,
        };
        words.into_iter().for_each(|row| lexicon.insert(row));
        lexicon
    }

    fn insert(&mut self, row: &'static Row) {
        let word = row.word.as_bytes();
        let first = Run::at(word, 0);
        self.lengths[pair(word)] |= 1 << first.len;
        let slot = self.slot(first.hash());
        self.hashes[slot] = first.hash();
        self.slots[slot].push(row);
        self.slots[slot].sort_by_key(|row| Reverse(row.word.len()));
    }

    /// Returns the slot of a hash, or the empty one where it would be.
    #[inline]
    fn slot(&self, hash: u32) -> usize {
        // The lowest bit is always set.
        let mut at = (hash >> 1) as usize % SLOTS;
        while self.hashes[at] != hash && self.hashes[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        at
    }

    /// Looks up the run of letters at `start`, at least two, and returns where what was found ends.
    #[inline]
    pub(super) fn look_up(
        &self,
        line: &[u8],
        start: usize,
        run: &Run,
        found: &mut impl FnMut(Hit),
    ) -> usize {
        if run.len < 32 && self.lengths[pair(&line[start..])] & (1 << run.len) != 0 {
            let slot = self.slot(run.hash());
            let rows: &[&Row] = if self.hashes[slot] == 0 {
                &[]
            } else {
                &self.slots[slot]
            };
            for &row in rows {
                if row.word.len() <= run.len || starts_with(&line[start..], row.word) {
                    found(Hit::new(row, start));
                    return start + row.word.len();
                }
            }
        }
        if run.has_capital {
            self.look_up_type(line, start, start + run.len, found);
        }
        start
    }

    /// Looks for a type's name whose last part is in the table: `KeyError`.
    fn look_up_type(&self, line: &[u8], start: usize, end: usize, found: &mut impl FnMut(Hit)) {
        for &row in &self.types {
            let part = end.saturating_sub(row.word.len());
            if part > start
                && line[part].is_ascii_uppercase()
                && starts_with(&line[part..], row.word)
            {
                found(Hit::new(row, part));
                return;
            }
        }
    }

    /// Looks for what must stand at the start of a line.
    pub(super) fn look_at_start(&self, body: &[u8], found: &mut impl FnMut(Hit)) {
        if !body
            .first()
            .is_some_and(|&first| self.initials[usize::from(first)])
        {
            return;
        }
        for &row in &self.starts {
            if starts_with(body, row.word) {
                found(Hit::new(row, 0));
            }
        }
    }

    /// Looks for what is not ASCII.
    pub(super) fn look_for_signs(&self, line: &[u8], found: &mut impl FnMut(Hit)) {
        let Some(finder) = &self.sign_finder else {
            return;
        };
        for sign in finder.find_iter(line) {
            found(Hit::new(
                self.signs[sign.pattern().as_usize()],
                sign.start(),
            ));
        }
    }
}

/// Returns which bytes rows begin with, in either case.
fn initials(rows: &[&Row]) -> [bool; 256] {
    let mut initials = [false; 256];
    for first in rows.iter().filter_map(|row| row.word.bytes().next()) {
        initials[usize::from(first.to_ascii_lowercase())] = true;
        initials[usize::from(first.to_ascii_uppercase())] = true;
    }
    initials
}

fn starts_with(text: &[u8], word: &str) -> bool {
    text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word.as_bytes())
}

/// Returns a number for the first two letters of a run, in either case.
fn pair(run: &[u8]) -> usize {
    match run {
        [first, second, ..] => usize::from(first & 31) << 5 | usize::from(second & 31),
        _ => 0,
    }
}
