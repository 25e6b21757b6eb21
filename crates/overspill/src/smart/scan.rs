//! One pass over a line: its words are looked up, and its template and content are hashed.
//!
//! This is where the time of the `smart` strategy goes, so each byte is looked at once, by its class.

use super::lexicon::{Hit, LEXICON};

/// The hashes of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Hashes {
    /// The template: the first word and the punctuation, with digits, hashes and paths masked, so that lines that one
    /// statement printed share it.
    pub(super) template: u64,
    /// The content: all of it, times and durations masked.
    pub(super) content: u64,
    /// The kind: its words, without what has digits or is a path. Messages of one kind tell of one trouble.
    pub(super) kind: u64,
}

/// Scans the content of a line, and calls `found` for every word of the table in it.
pub(super) fn scan(body: &[u8], mut found: impl FnMut(Hit)) -> Hashes {
    let lexicon = &*LEXICON;
    lexicon.look_at_start(body, &mut found);
    let mut hashes = Hashes {
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
            let start = at;
            let has_capital;
            (at, has_capital) = run_end(body, at + 1);
            bits |= LETTER;
            if start >= known && at - start > 1 {
                known = lexicon.look_up(body, start, at, &mut found);
                if has_capital {
                    lexicon.look_up_type(body, start, at, &mut found);
                }
            }
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
    hashes
}

/// Returns where a run of letters ends, and whether it has a capital; an apostrophe between letters is one of them.
fn run_end(body: &[u8], mut at: usize) -> (usize, bool) {
    let mut all = 0;
    loop {
        for &byte in &body[at..] {
            let class = CLASS[usize::from(byte)];
            if class & ALPHA == 0 {
                break;
            }
            all |= class;
            at += 1;
        }
        match body.get(at..at + 2) {
            Some([b'\'', next]) if next.is_ascii_alphabetic() => at += 1,
            _ => return (at, all & CAPITAL != 0),
        }
    }
}

impl Hashes {
    /// Adds a word, between spaces, that has characters of these classes.
    fn add(&mut self, token: &[u8], bits: u8) {
        if token.is_empty() {
            return;
        }
        let has_digit = bits & DIGIT != 0;
        let is_time = has_digit && bits & (SLASH | LETTER) == 0;
        let whole = if is_time { 0 } else { hash(token) };
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
fn hash(token: &[u8]) -> u64 {
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
const CAPITAL: u8 = 128;

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
            b'a'..=b'z' => LETTER | ALPHA,
            b'A'..=b'Z' => LETTER | ALPHA | CAPITAL,
            b' ' => SPACE,
            b'.' | b'-' | b',' => 0,
            _ if b.is_ascii_punctuation() => PUNCT,
            _ => 0,
        };
        byte += 1;
    }
    table
}
