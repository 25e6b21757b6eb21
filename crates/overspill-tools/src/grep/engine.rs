//! Turns a pattern into something that finds lines: ripgrep's engine, or for what that refuses a backtracking one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// The most memory a compiled pattern may take.
const PATTERN_BYTES: usize = 32 << 20;

/// How many steps back the backtracking engine may take on one line.
const MAX_STEPS: usize = 200_000;

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
    pub(crate) fn new(
        pattern: &str,
        reading: Reading,
        deadline: Instant,
    ) -> Result<Engine, String> {
        match linear(pattern, reading) {
            Ok(matcher) => Ok(Engine::Linear(matcher)),
            Err(why) => match Backtracker::new(pattern, reading, deadline) {
                Some(backtracker) => Ok(Engine::Backtracking(backtracker)),
                None => Err(why),
            },
        }
    }

    /// Returns what ends a line for it.
    pub(crate) fn line_terminator(&self) -> LineTerminator {
        let own = match self {
            Engine::Linear(matcher) => matcher.line_terminator(),
            Engine::Backtracking(matcher) => matcher.line_terminator(),
        };
        own.unwrap_or_default()
    }

    /// Returns where in a line the first match starts.
    pub(crate) fn match_start(&self, line: &[u8]) -> usize {
        let found = match self {
            Engine::Linear(matcher) => matcher.find(line).ok().flatten(),
            Engine::Backtracking(matcher) => matcher.find(line).ok().flatten(),
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
    // A match never spans lines, and `$` also matches before `\r\n`: but only a pattern with one of these can tell, a
    // pattern that speaks of `\r` itself wants it told apart, and the others are faster without.
    let is_crlf = pattern.contains(['$', '.']) && !pattern.contains("\\r");
    match is_crlf {
        true => builder.crlf(true),
        false => builder.line_terminator(Some(b'\n')),
    };
    let built = builder.build(pattern);
    built.map_err(|error| first_cause(&error.to_string()))
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
    regex: fancy_regex::Regex,
    deadline: Instant,
    given_up: AtomicU64,
}

impl Backtracker {
    fn new(pattern: &str, reading: Reading, deadline: Instant) -> Option<Backtracker> {
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(!reading.case_sensitive)
            .multi_line(true)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(PATTERN_BYTES)
            .build()
            .ok()?;
        Some(Backtracker {
            regex,
            deadline,
            given_up: AtomicU64::new(0),
        })
    }
}

impl Matcher for Backtracker {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        if Instant::now() > self.deadline {
            return Ok(None);
        }
        let valid;
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => {
                // Every invalid byte becomes one character of the same length, so that offsets stay true.
                valid = text
                    .iter()
                    .map(|&byte| {
                        if byte.is_ascii() {
                            char::from(byte)
                        } else {
                            '?'
                        }
                    })
                    .collect::<String>();
                &valid
            }
        };
        // A line is searched without its end, where `$` stands.
        let line = text
            .strip_suffix('\n')
            .map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        if at > line.len() || !line.is_char_boundary(at) {
            return Ok(None);
        }
        match self.regex.find_from_pos(line, at) {
            Ok(found) => Ok(found.map(|found| Match::new(found.start(), found.end()))),
            Err(_) => {
                self.given_up.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn finds(pattern: &str, text: &str) -> (bool, bool) {
        match Engine::new(pattern, Reading::default(), later()).unwrap() {
            Engine::Linear(matcher) => (true, matcher.is_match(text.as_bytes()).unwrap()),
            Engine::Backtracking(matcher) => (false, matcher.is_match(text.as_bytes()).unwrap()),
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
        let error = |pattern| Engine::new(pattern, Reading::default(), later()).unwrap_err();
        assert_eq!(error("a("), "unclosed group");
        assert_eq!(
            error("[z-a]"),
            "invalid character class range, the start must be <= the end"
        );
        assert_eq!(
            error("(?<=a"),
            "look-around, including look-ahead and look-behind, is not supported"
        );
    }

    #[test]
    fn steps_are_limited() {
        let engine = Engine::new("((?=a)a+)+$", Reading::default(), later()).unwrap();
        let Engine::Backtracking(backtracker) = &engine else {
            panic!()
        };
        let text = "a".repeat(5000) + "b";
        assert_eq!(backtracker.find(text.as_bytes()), Ok(None));
        assert_eq!(engine.given_up(), 1);
    }
}
