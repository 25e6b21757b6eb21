//! What the output is asked for: the words of a query, and how common each is.

use aho_corasick::AhoCorasick;

use super::weights;

/// The most words of a query that count.
const MAX_TERMS: usize = 16;

/// Words too common, or too much of a shell's, to ask for anything.
const STOP_WORDS: &[&str] = &[
    "the", "and", "for", "are", "was", "were", "did", "does", "has", "have", "had", "not", "with",
    "from", "into", "that", "this", "what", "which", "who", "why", "how", "when", "where", "can",
    "all", "any", "its", "you", "use", "get", "show", "list", "find", "grep", "cat", "head",
    "tail", "sed", "awk", "echo", "bash", "run", "test", "version", "name", "type", "line", "file",
    "output", "python", "python3", "node", "npm", "cargo", "make", "sudo", "env", "true", "false",
    "null", "dev", "usr", "bin", "tmp", "home", "src", "lib",
];

/// The words of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    finder: Option<AhoCorasick>,
}

impl Query {
    /// Reads a query: a question, a pattern or a command. Its words count as parts of words too, in either case where they are ASCII.
    pub(crate) fn new(text: &str) -> Query {
        let mut terms: Vec<String> = Vec::new();
        let mut add = |term: &str| {
            if !term.is_empty()
                && !terms.iter().any(|known| known == term)
                && terms.len() < MAX_TERMS
            {
                terms.push(term.to_owned());
            }
        };
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let word = word.trim_matches('_').to_lowercase();
            if word.is_ascii() {
                let stem = word
                    .strip_suffix('s')
                    .filter(|stem| stem.len() > 3)
                    .unwrap_or(&word);
                if stem.len() >= 3 && !STOP_WORDS.contains(&stem) {
                    add(stem);
                }
            } else if word.chars().any(is_written_without_spaces) {
                // Any two letters that follow each other.
                let letters: Vec<char> = word.chars().collect();
                letters
                    .windows(2)
                    .for_each(|pair| add(&pair.iter().collect::<String>()));
            } else {
                add(&word);
            }
        }
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&terms)
            .ok();
        Query {
            finder: finder.filter(|_| !terms.is_empty()),
        }
    }

    /// Returns a bit for each word of the query that a line has.
    pub(super) fn terms_in(&self, line: &[u8]) -> u16 {
        let Some(finder) = &self.finder else {
            return 0;
        };
        finder
            .find_overlapping_iter(line)
            .fold(0, |terms, hit| terms | 1 << hit.pattern().as_usize())
    }
}

impl Query {
    /// Returns how much a piece of a document answers the query; more than any failure does.
    pub(super) fn weight(&self, text: &[u8]) -> u32 {
        match self.terms_in(text).count_ones() {
            0 => 0,
            terms => weights::QUERY_IN_DOCUMENT + weights::QUERY_WORD_IN_DOCUMENT * terms,
        }
    }
}

/// Tells whether a letter is of Chinese, Japanese or Korean.
fn is_written_without_spaces(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// How many lines have each word of the query.
#[derive(Debug, Default)]
pub(super) struct TermCounts([u64; MAX_TERMS]);

impl TermCounts {
    pub(super) fn add(&mut self, terms: u16) {
        let mut left = terms;
        while left != 0 {
            self.0[left.trailing_zeros() as usize] += 1;
            left &= left - 1;
        }
    }

    /// Returns what a line with these words is worth among `lines` lines, in hundredths of a point. The rarest word counts, and
    /// a quarter of each other; one that stands in every third line not at all. Never as much as a plain error message.
    pub(super) fn points(&self, terms: u16, lines: u64) -> u32 {
        let bits = |n: u64| 64 - n.leading_zeros();
        let (mut rarest, mut all) = (0, 0);
        for term in (0..MAX_TERMS).filter(|term| terms & (1 << term) != 0) {
            let count = self.0[term].max(1);
            if count * weights::QUERY_COMMON_PART <= lines {
                let all_bits = bits(lines) + 1;
                let left = (all_bits - bits(count)) * weights::QUERY_WORD / all_bits;
                rarest = rarest.max(left);
                all += left;
            }
        }
        (rarest + (all - rarest) / weights::QUERY_OTHERS_PART).min(weights::QUERY_MOST)
    }
}
