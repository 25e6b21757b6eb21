//! Turns a pattern into something that finds lines: ripgrep's engine, or for what that refuses a backtracking one.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::Sink;

use super::input::{Input, Searched, Stop};

/// The most memory a compiled pattern may take.
const PATTERN_BYTES: usize = 32 << 20;

/// The longest pattern that is read; a longer one takes seconds to compile.
const MOST_PATTERN_BYTES: usize = 1 << 16;

/// How many steps back the backtracking engine may take in a window of a line, and in a whole text.
const WINDOW_STEPS: usize = 50_000;
const TEXT_STEPS: usize = 200_000;

/// How much of a long line is searched at once, and what is seen before and after that. A step may scan all there is, so
/// that a line of any length at once would take time with its square.
const WINDOW_BYTES: usize = 4096;
const MARGIN_BYTES: usize = 512;

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
        if pattern.len() > MOST_PATTERN_BYTES {
            return Err(format!("longer than {MOST_PATTERN_BYTES} bytes"));
        }
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
    regex: fancy_regex::Regex,
    multiline: bool,
    given_up: AtomicU64,
}

impl Backtracker {
    fn new(pattern: &str, reading: Reading) -> Result<Backtracker, String> {
        let steps = match reading.multiline {
            true => TEXT_STEPS,
            false => WINDOW_STEPS,
        };
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(!reading.case_sensitive)
            .multi_line(true)
            .backtrack_limit(steps)
            .delegate_size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| first_cause(&error.to_string()))?;
        Ok(Backtracker {
            regex,
            multiline: reading.multiline,
            given_up: AtomicU64::new(0),
        })
    }

    /// Finds the first match from a position on; none where the steps run out, which is counted.
    fn find(&self, text: &[u8], at: usize) -> Option<Match> {
        let text = as_text(text);
        if self.multiline {
            return self
                .find_in(&text, at)
                .unwrap_or_else(|GivenUp| self.give_up());
        }
        // A line is searched without its end, where `$` stands.
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut has_given_up = false;
        for start in (at..=line.len()).step_by(WINDOW_BYTES) {
            match self.find_in_window(line, start) {
                Ok(None) => {}
                Ok(found) => return found,
                Err(GivenUp) => has_given_up = true,
            }
        }
        if has_given_up { self.give_up() } else { None }
    }

    fn give_up(&self) -> Option<Match> {
        self.given_up.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Finds a match that starts in the window from `start` on.
    fn find_in_window(&self, line: &str, start: usize) -> Result<Option<Match>, GivenUp> {
        let from = line.floor_char_boundary(start.saturating_sub(MARGIN_BYTES));
        let to = line.ceil_char_boundary((start + WINDOW_BYTES + MARGIN_BYTES).min(line.len()));
        let found = self.find_in(&line[from..to], start - from)?;
        let found = found.map(|found| Match::new(from + found.start(), from + found.end()));
        // What reaches the end of the window may take that for the end of the line.
        let is_true = |found: &Match| found.end() < to || to == line.len();
        Ok(found.filter(is_true))
    }

    /// Finds the first match from a position on; an error if that takes too many steps.
    fn find_in(&self, text: &str, at: usize) -> Result<Option<Match>, GivenUp> {
        // After an empty match the search goes on a byte further, which may be inside a character.
        let Some(at) = (at..=text.len()).find(|at| text.is_char_boundary(*at)) else {
            return Ok(None);
        };
        let found = self.regex.find_from_pos(text, at).map_err(|_| GivenUp)?;
        Ok(found.map(|found| Match::new(found.start(), found.end())))
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
        let cases = [("((?=a)a+)+$", 1), ("(?=a)(a+)+$", 0), ("(a|aa)+\\1$", 1)];
        for (pattern, given_up) in cases {
            let engine = Engine::new(pattern, Reading::default()).unwrap();
            assert_eq!(engine.match_start(long.as_bytes()), 0, "{pattern}");
            assert_eq!(engine.given_up(), given_up, "{pattern}");
        }
        // Neither the edge of a window nor a byte that is no text is what it is not.
        let engine = |pattern| Engine::new(pattern, Reading::default()).unwrap();
        assert_eq!(
            engine("(?=x)x$").match_start(format!("{}y", "x".repeat(20_000)).as_bytes()),
            0
        );
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
        // A long line alone is no reason to give up.
        let engine = Engine::new("(?<!x)needle", Reading::default()).unwrap();
        let line = "x".repeat(300_000) + " needle";
        assert_eq!(engine.match_start(line.as_bytes()), 300_001);
    }
}
