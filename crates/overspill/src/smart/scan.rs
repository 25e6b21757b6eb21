//! One pass over a line: its words are looked up, and its template and content are hashed.
//!
//! This is where the time of the `smart` strategy goes, so each byte is classed once.

use super::lexicon::{Hit, LEXICON};

/// The hashes of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Hashes {
    /// The template: the first word and the punctuation, with digits, hashes and paths masked, so that lines that one
    /// statement printed share it.
    pub(super) template: u32,
    /// The content: all of it, bare numbers and times masked.
    pub(super) content: u32,
    /// The kind: its words, without what has digits or is a path. Messages of one kind tell of one trouble.
    pub(super) kind: u32,
}

/// Scans the content of a line, and calls `found` for every word of the table in it.
pub(super) fn scan(body: &[u8], mut found: impl FnMut(Hit)) -> Hashes {
    let lexicon = &*LEXICON;
    lexicon.look_at_start(body, &mut found);
    let mut hashes = Hashing {
        template: SEED,
        content: SEED,
        kind: SEED,
    };
    let (mut at, mut token, mut bits, mut all_bits) = (0, 0, 0, 0);
    // Where the phrase ends that was found last: its words are not looked up again.
    let mut known = 0;
    while at < body.len() {
        let class = CLASS[usize::from(body[at])];
        if class & ALPHA != 0 {
            let run = Run::at(body, at);
            if at >= known && run.len > 1 {
                known = lexicon.look_up(body, at, &run, &mut found);
            }
            bits |= LETTER;
            at += run.len;
            continue;
        }
        if class == SPACE {
            hashes.add(&body[token..at], bits);
            all_bits |= bits;
            (token, bits) = (at + 1, 0);
        }
        bits |= class;
        at += 1;
    }
    hashes.add(&body[token..], bits);
    if (all_bits | bits) & HIGH != 0 {
        lexicon.look_for_signs(body, &mut found);
    }
    hashes.end()
}

/// A run of letters, read eight at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) len: usize,
    /// Its first sixteen letters in lower case, as two numbers.
    letters: [u64; 2],
    /// Whether there is a capital behind its first letter.
    pub(super) has_capital: bool,
}

impl Run {
    /// Reads the run that begins at `at`.
    #[inline]
    pub(super) fn at(body: &[u8], at: usize) -> Run {
        const CASE: u64 = ONES * 0x20;
        let mut run = Run::default();
        loop {
            let word = load(&body[at + run.len..]);
            let len = letters(word);
            let mask = if len < 8 {
                (1 << (8 * len)) - 1
            } else {
                u64::MAX
            };
            let first = if run.len == 0 { 0xff } else { 0 };
            run.has_capital |= !word & CASE & mask & !first != 0;
            if let Some(letters) = run.letters.get_mut(run.len / 8) {
                *letters = (word | CASE) & mask;
            }
            run.len += len;
            if len < 8 {
                return run;
            }
        }
    }

    /// Returns its hash, in either case, never nought. Runs that differ only behind their sixteenth letter share it.
    #[inline]
    pub(super) fn hash(&self) -> u32 {
        let hash = mix(mix(self.len as u64, self.letters[0]), self.letters[1]);
        (hash >> 32) as u32 | 1
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

/// Returns the first eight bytes of a text as a number, the first the lowest; what is missing is nought.
#[inline]
fn load(text: &[u8]) -> u64 {
    match text.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => text
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// Returns how many of eight bytes, from the lowest, are letters of ASCII. All eight are compared at once: adding to the low
/// seven bits of each carries into its high bit where it is at or above a bound.
#[inline]
fn letters(word: u64) -> usize {
    let low = (word | (ONES * 0x20)) & !HIGHS;
    let from_a = low + ONES * (0x80 - 0x61);
    let above_z = low + ONES * (0x7f - 0x7a);
    let is_letter = from_a & !above_z & !word & HIGHS;
    ((is_letter ^ HIGHS).trailing_zeros() / 8) as usize
}

/// The hashes of a line as they are made.
struct Hashing {
    template: u64,
    content: u64,
    kind: u64,
}

impl Hashing {
    fn end(&self) -> Hashes {
        let fold = |hash: u64| (hash ^ hash >> 32) as u32;
        Hashes {
            template: fold(self.template),
            content: fold(self.content),
            kind: fold(self.kind),
        }
    }

    /// Adds a word, between spaces, that has characters of these classes.
    #[inline]
    fn add(&mut self, token: &[u8], bits: u8) {
        if token.is_empty() {
            return;
        }
        let has_digit = bits & DIGIT != 0;
        let is_number = has_digit && bits & (SLASH | LETTER) == 0;
        let whole = if is_number { 0 } else { hash(token) };
        let is_first = self.content == SEED;
        self.content = mix(self.content, whole);
        if !has_digit && bits & SLASH == 0 {
            self.kind = mix(self.kind, whole);
        }
        if has_digit && is_code_of_rule(token) {
            self.template = mix(self.template, u64::from(token[0]));
        } else if bits & SLASH != 0 {
            self.template = mix(self.template, u64::from(b'/'));
        } else if has_digit && bits & PUNCT == 0 {
            self.template = mix(self.template, u64::from(b'0'));
        } else if is_first && !has_digit {
            self.template = mix(self.template, whole);
        } else if bits & PUNCT != 0 {
            let marks = token
                .iter()
                .filter(|&&byte| CLASS[usize::from(byte)] & PUNCT != 0);
            self.template = marks.fold(self.template, |hash, &mark| mix(hash, u64::from(mark)));
        }
    }
}

/// Tells whether a word is the code of a rule, such as `E1111:` or `SC2086`, of which the letter tells the kind.
fn is_code_of_rule(token: &[u8]) -> bool {
    let letters = token
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    let digits = token[letters..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (1..=4).contains(&letters) && (3..=5).contains(&digits) && token.len() <= letters + digits + 1
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(SEED)
}

/// Hashes a word, eight bytes at a time; the last eight may overlap those before.
#[inline]
pub(super) fn hash(token: &[u8]) -> u64 {
    let len = token.len() as u64;
    let (words, rest) = token.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(len, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    match (rest, token.last_chunk::<8>()) {
        ([], _) => hash,
        (_, Some(last)) => mix(hash, u64::from_le_bytes(*last)),
        _ => match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                mix(hash, u64::from(first) << 32 | u64::from(last))
            }
            _ => rest
                .iter()
                .fold(hash, |hash, &byte| mix(hash, u64::from(byte))),
        },
    }
}

const DIGIT: u8 = 1;
const SLASH: u8 = 2;
const PUNCT: u8 = 4;
/// A letter of any script, or an underscore.
const LETTER: u8 = 8;
/// A letter of ASCII.
const ALPHA: u8 = 16;
/// A byte of a character that is not ASCII.
const HIGH: u8 = 32;
const SPACE: u8 = 64;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [LETTER | HIGH; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] = match b {
            b'0'..=b'9' => DIGIT,
            b'/' | b'\\' => SLASH | PUNCT,
            b'_' => LETTER,
            b'a'..=b'z' | b'A'..=b'Z' => LETTER | ALPHA,
            b' ' => SPACE,
            b'.' | b'-' | b',' => 0,
            _ if b.is_ascii_punctuation() => PUNCT,
            _ => 0,
        };
        byte += 1;
    }
    table
}
