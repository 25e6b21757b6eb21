//! Turns a pattern into something that finds lines: ripgrep's engine, or for what that refuses a backtracking one.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::Sink;

use super::input::{Input, Searched, Stop};

/// The most memory a compiled pattern may take.
const PATTERN_BYTES: usize = 32 << 20;

/// How many steps back the backtracking engine may take on one line: at first, and if those were quick.
const FEW_STEPS: usize = 500;
const MANY_STEPS: usize = 1_000_000;

/// How long the first steps may take for the others to be tried.
const HASTE: Duration = Duration::from_millis(2);

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
    Backtracking(Backtracker),
}

impl Engine {
    /// Compiles a pattern. The error says in one line what is wrong with it.
    pub(crate) fn new(pattern: &str, reading: Reading) -> Result<Engine, String> {
        match linear(pattern, reading) {
            Ok(matcher) => Ok(Engine::Linear(matcher)),
            Err(why) if is_beyond(pattern, &why) => {
                Backtracker::new(pattern, reading).map(Engine::Backtracking)
            }
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

/// A backtracking engine that gives up on a line rather than hang on it.
#[derive(Debug)]
pub(crate) struct Backtracker {
    /// With few steps, to learn what a step costs on the line at hand: it may be a scan of all of it.
    hasty: fancy_regex::Regex,
    patient: fancy_regex::Regex,
    given_up: AtomicU64,
}

impl Backtracker {
    fn new(pattern: &str, reading: Reading) -> Result<Backtracker, String> {
        let build = |steps: usize| {
            fancy_regex::RegexBuilder::new(pattern)
                .case_insensitive(!reading.case_sensitive)
                .multi_line(true)
                .backtrack_limit(steps)
                .delegate_size_limit(PATTERN_BYTES)
                .build()
                .map_err(|error| first_cause(&error.to_string()))
        };
        Ok(Backtracker {
            hasty: build(FEW_STEPS)?,
            patient: build(MANY_STEPS)?,
            given_up: AtomicU64::new(0),
        })
    }

    /// Finds the first match from a position on; none where the steps run out, which is counted.
    fn find(&self, text: &[u8], at: usize) -> Option<Match> {
        let text = as_text(text);
        // A line is searched without its end, where `$` stands.
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        // After an empty match the search goes on a byte further, which may be inside a character.
        let at = (at..=line.len()).find(|at| line.is_char_boundary(*at))?;
        self.find_in(line, at).unwrap_or_else(|GivenUp| {
            self.given_up.fetch_add(1, Ordering::Relaxed);
            None
        })
    }

    /// Finds the first match from a position on; an error if that takes too many steps, or too long ones.
    fn find_in(&self, text: &str, at: usize) -> Result<Option<Match>, GivenUp> {
        let as_match = |found: Option<fancy_regex::Match<'_>>| {
            found.map(|found| Match::new(found.start(), found.end()))
        };
        let start = Instant::now();
        if let Ok(found) = self.hasty.find_from_pos(text, at) {
            return Ok(as_match(found));
        }
        if start.elapsed() > HASTE {
            return Err(GivenUp);
        }
        let found = self.patient.find_from_pos(text, at);
        found.map(as_match).map_err(|_| GivenUp)
    }
}

/// Returns bytes as text in which a byte is still a byte, so that offsets stay true.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    let ascii = |&byte: &u8| {
        if byte.is_ascii() {
            char::from(byte)
        } else {
            '?'
        }
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(ascii).collect()),
    }
}

/// The steps ran out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct GivenUp;

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
        let long = "a".repeat(30_000) + "b";
        for pattern in ["((?=a)a+)+$", "(?=a)(a+)+$", "(a|aa)+\\1$"] {
            let engine = Engine::new(pattern, Reading::default()).unwrap();
            let Engine::Backtracking(backtracker) = &engine else {
                panic!("{pattern}")
            };
            assert_eq!(backtracker.find(long.as_bytes(), 0), None, "{pattern}");
            assert_eq!(engine.given_up(), 1, "{pattern}");
        }
        // A long line alone is no reason to give up.
        let engine = Engine::new("(?<!x)needle", Reading::default()).unwrap();
        let line = "x".repeat(300_000) + " needle";
        assert_eq!(engine.match_start(line.as_bytes()), 300_001);
    }
}
