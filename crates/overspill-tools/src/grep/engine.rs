//! Turns a pattern into something that finds lines: ripgrep's engine, or for what that refuses a backtracking one.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::Sink;

use super::input::{Input, Searched, Stop};

/// The most memory a compiled pattern may take.
const PATTERN_BYTES: usize = 32 << 20;

/// The longest pattern that is read; a longer one takes seconds to compile.
const MOST_PATTERN_BYTES: usize = 1 << 16;

/// How many steps back the backtracking engine may take on a line of at most so many bytes: more than enough to try each
/// position, and on a long line few enough, since a step may scan all of it.
const STEPS: [(usize, usize); 3] = [
    (12 << 10, 50_000),
    (48 << 10, 200_000),
    (usize::MAX, 1_000_000),
];

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Reading {
    /// Whether upper and lower case are told apart.
    pub(crate) case_sensitive: bool,
    /// Whether a match may span lines.
    pub(crate) multiline: bool,
}

/// A pattern that can be searched for.
#[derive(Debug)]
pub(crate) enum Engine {
    /// Time linear in the text.
    Linear(RegexMatcher),
    /// Look-around and back-references, with a limit on its steps.
    Backtracking(Box<Backtracker>),
}

impl Engine {
    /// Compiles a pattern. The error says in one line what is wrong with it.
    pub(crate) fn new(pattern: &str, reading: Reading) -> Result<Engine, String> {
        if pattern.len() > MOST_PATTERN_BYTES {
            return Err(format!("longer than {MOST_PATTERN_BYTES} bytes"));
        }
        match linear(pattern, reading) {
            Ok(matcher) => Ok(Engine::Linear(matcher)),
            Err(why) if is_beyond(pattern, &why) => Backtracker::new(pattern, reading)
                .map(|engine| Engine::Backtracking(Box::new(engine))),
            Err(why) => Err(why),
        }
    }

    /// Searches a file that is open.
    pub(crate) fn search<S: Sink<Error = io::Error>>(
        &self,
        input: &mut Input,
        file: File,
        bytes: u64,
        sink: S,
    ) -> io::Result<Searched> {
        match self {
            Engine::Linear(matcher) => input.search(file, bytes, matcher, sink),
            Engine::Backtracking(backtracker) => {
                let stop = Some(input.stop());
                input.search(file, bytes, Watched { backtracker, stop }, sink)
            }
        }
    }

    /// Returns what ends a line for it.
    pub(crate) fn line_terminator(&self) -> LineTerminator {
        let own = match self {
            Engine::Linear(matcher) => matcher.line_terminator(),
            Engine::Backtracking(_) => None,
        };
        own.unwrap_or_default()
    }

    /// Returns where in a line the first match starts.
    pub(crate) fn match_start(&self, line: &[u8]) -> usize {
        let found = match self {
            Engine::Linear(matcher) => matcher.find(line).ok().flatten(),
            Engine::Backtracking(backtracker) => backtracker.find(line, 0),
        };
        found.map_or(0, |found| found.start())
    }

    /// Returns on how many lines the steps ran out, so that nobody knows whether they match.
    pub(crate) fn given_up(&self) -> u64 {
        match self {
            Engine::Linear(_) => 0,
            Engine::Backtracking(backtracker) => backtracker.given_up.load(Ordering::Relaxed),
        }
    }
}

fn linear(pattern: &str, reading: Reading) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(!reading.case_sensitive)
        .multi_line(true)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    if reading.multiline {
        return builder
            .build(pattern)
            .map_err(|error| first_cause(&error.to_string()));
    }
    // A match never spans lines, and `\r\n` ends one as `\n` does. A pattern of plain words cannot tell, and is faster
    // without; one that speaks of `\r` itself wants it told apart.
    let is_crlf = pattern.contains(['$', '.', '[', '\\']) && !pattern.contains("\\r");
    match is_crlf {
        true => builder.crlf(true),
        false => builder.line_terminator(Some(b'\n')),
    };
    let built = builder.build(pattern);
    built.map_err(|error| first_cause(&error.to_string()))
}

/// Tells whether a pattern asks for more than the linear engine can do, and is not just wrong.
fn is_beyond(pattern: &str, why: &str) -> bool {
    const REFUSED: [&str; 2] = ["look-around", "backreferences"];
    // What else only a backtracking engine knows: atomic groups, named back-references, conditions, `\K` and `\G`.
    const SIGNS: [&str; 7] = ["(?>", "(?P=", "(?P>", "\\k<", "(?(", "\\K", "\\G"];
    REFUSED.iter().any(|refused| why.contains(refused))
        || SIGNS.iter().any(|sign| pattern.contains(sign))
}

/// Returns the line of a regex error that says what is wrong; the others show the pattern again.
fn first_cause(error: &str) -> String {
    let cause = error
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("error: "));
    let cause = cause.unwrap_or_else(|| error.lines().next().unwrap_or(""));
    cause[..cause.floor_char_boundary(200)].to_owned()
}

/// A backtracking engine that gives up on a line rather than hang on it. How soon depends on the line and not on a clock, so
/// that the same text gives the same answer.
#[derive(Debug)]
pub(crate) struct Backtracker {
    pattern: String,
    reading: Reading,
    /// One for each number of steps, compiled when it is first needed.
    regexes: [OnceLock<fancy_regex::Regex>; STEPS.len()],
    given_up: AtomicU64,
}

impl Backtracker {
    fn new(pattern: &str, reading: Reading) -> Result<Backtracker, String> {
        let backtracker = Backtracker {
            pattern: pattern.to_owned(),
            reading,
            regexes: Default::default(),
            given_up: AtomicU64::new(0),
        };
        let first = backtracker.compile(STEPS[0].1)?;
        drop(backtracker.regexes[0].set(first));
        Ok(backtracker)
    }

    fn compile(&self, steps: usize) -> Result<fancy_regex::Regex, String> {
        fancy_regex::RegexBuilder::new(&self.pattern)
            .case_insensitive(!self.reading.case_sensitive)
            .multi_line(true)
            .backtrack_limit(steps)
            .delegate_size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| first_cause(&error.to_string()))
    }

    /// Returns the regex for a text of so many bytes.
    fn regex(&self, bytes: usize) -> Option<&fancy_regex::Regex> {
        let at = STEPS.iter().position(|(most, _)| bytes <= *most)?;
        if self.regexes[at].get().is_none() {
            drop(self.regexes[at].set(self.compile(STEPS[at].1).ok()?));
        }
        self.regexes[at].get()
    }

    /// Finds the first match from a position on; none where the steps run out, which is counted.
    fn find(&self, text: &[u8], at: usize) -> Option<Match> {
        let text = as_text(text);
        let line = match self.reading.multiline {
            true => &text,
            // A line is searched without its end, where `$` stands.
            false => {
                let line = text.strip_suffix('\n').unwrap_or(&text);
                line.strip_suffix('\r').unwrap_or(line)
            }
        };
        // After an empty match the search goes on a byte further, which may be inside a character.
        let at = (at..=line.len()).find(|at| line.is_char_boundary(*at))?;
        match self.regex(line.len())?.find_from_pos(line, at) {
            Ok(found) => found.map(|found| Match::new(found.start(), found.end())),
            Err(_) => {
                self.given_up.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Returns bytes as text in which a byte is still a byte, so that offsets stay true. An invalid one becomes a character
/// that no pattern means.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{1A}'));
    }
    Cow::Owned(text)
}

/// A backtracking engine under a time limit.
#[derive(Clone, Debug)]
pub(crate) struct Watched<'e> {
    pub(crate) backtracker: &'e Backtracker,
    pub(crate) stop: Option<Stop>,
}

/// The time was over before the line was searched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TimeOver;

impl fmt::Display for TimeOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is over")
    }
}

impl Matcher for Watched<'_> {
    type Captures = NoCaptures;
    type Error = TimeOver;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, TimeOver> {
        match &self.stop {
            Some(stop) if stop.is_over() => Err(TimeOver),
            _ => Ok(self.backtracker.find(text, at)),
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, TimeOver> {
        Ok(NoCaptures::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, text: &str) -> (bool, bool) {
        match Engine::new(pattern, Reading::default()).unwrap() {
            Engine::Linear(matcher) => (true, matcher.is_match(text.as_bytes()).unwrap()),
            Engine::Backtracking(matcher) => (false, matcher.find(text.as_bytes(), 0).is_some()),
        }
    }

    #[test]
    fn what_the_linear_engine_refuses_goes_to_the_other() {
        let cases = [
            (r"fo+\b", "a FOO", true, true),
            (r"(?<!un)safe", "unsafe", false, false),
            (r"(?<!un)safe", "Safe", false, true),
            (r"(\w)\1", "book", false, true),
            (r"(\w)\1", "bok", false, false),
            (r"(?=x)x$", "x\r\n", false, true),
            (r"x$", "x\r\n", true, true),
            (r"x\r$", "x\r\n", true, true),
        ];
        for (pattern, text, is_linear, matches) in cases {
            assert_eq!(finds(pattern, text), (is_linear, matches), "{pattern}");
        }
    }

    #[test]
    fn a_bad_pattern_is_one_line() {
        let cases = [
            ("a(", "unclosed group"),
            (
                "[z-a]",
                "invalid character class range, the start must be <= the end",
            ),
            (
                "a{2,1}",
                "invalid repetition count range, the start must be <= the end",
            ),
            ("a\\nb", "the literal \"\\n\" is not allowed in a regex"),
            (
                "(?<=a",
                "Parsing error at position 5: Opening parenthesis without closing parenthesis",
            ),
        ];
        for (pattern, expected) in cases {
            let error = Engine::new(pattern, Reading::default()).unwrap_err();
            assert_eq!(error, expected, "{pattern}");
        }
    }

    #[test]
    fn steps_are_limited() {
        let long = "a".repeat(3_000) + "b";
        let cases = [("((?=a)a+)+$", 1), ("(?=a)(a+)+$", 0), ("(a|aa)+\\1$", 1)];
        for (pattern, given_up) in cases {
            let engine = Engine::new(pattern, Reading::default()).unwrap();
            assert_eq!(engine.match_start(long.as_bytes()), 0, "{pattern}");
            assert_eq!(engine.given_up(), given_up, "{pattern}");
        }
        // A byte that is no text is no question mark.
        let engine = |pattern| Engine::new(pattern, Reading::default()).unwrap();
        let Engine::Backtracking(bytes) = engine("(?!y)[?é](?=!)") else {
            panic!()
        };
        assert_eq!(
            bytes
                .find(b"caf\xe9! \xc3\xa9!", 0)
                .map(|found| found.start()),
            Some(6)
        );
        assert_eq!(bytes.find(b"caf\xe9!", 0), None);
        // Look-around sees all of a line, however long it is.
        let line = format!("START{} END", "y".repeat(60_000));
        for (pattern, finds) in [
            ("START(?=.*END)", true),
            ("^(?!.*END)", false),
            ("(?=S)S.*$", true),
        ] {
            let Engine::Backtracking(backtracker) = engine(pattern) else {
                panic!()
            };
            assert_eq!(
                backtracker.find(line.as_bytes(), 0).is_some(),
                finds,
                "{pattern}"
            );
        }
        // A long line alone is no reason to give up.
        let engine = Engine::new("(?<!x)needle", Reading::default()).unwrap();
        let line = "x".repeat(300_000) + " needle";
        assert_eq!(engine.match_start(line.as_bytes()), 300_001);
    }
}
