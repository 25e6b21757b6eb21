//! Searches one file for a pattern, for `show`, with the engines of Grep.

use std::fs::File;
use std::io;

use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::grep::engine::{Engine, Reading, Watched};

/// The most memory one line may take; a longer one ends the search with an error.
const LINE_BYTES: usize = 64 << 20;

/// How a file is searched.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Whether upper and lower case are told apart.
    pub case_sensitive: bool,
    /// How many lines before and after a match are given as well.
    pub context: usize,
}

/// A line that was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Found<'l> {
    /// It matches.
    Match {
        /// Its number, from 1.
        line: u64,
        /// The line without its newline.
        text: &'l [u8],
        /// Where in the line the first match is.
        at: usize,
        /// Where the line starts in the file.
        byte: u64,
    },
    /// It is near one that matches.
    Context {
        /// Its number, from 1.
        line: u64,
        /// The line without its newline.
        text: &'l [u8],
    },
    /// Lines were left out here.
    Gap,
}

/// Searches a file from its start; `take` gets each line in order.
///
/// Fails with [`io::ErrorKind::InvalidInput`] if the pattern is none.
pub fn search(
    file: &File,
    pattern: &str,
    options: Options,
    mut take: impl FnMut(Found<'_>),
) -> io::Result<u64> {
    let reading = Reading {
        case_sensitive: options.case_sensitive,
        multiline: false,
    };
    let engine = Engine::new(pattern, reading)
        .map_err(|cause| io::Error::new(io::ErrorKind::InvalidInput, cause))?;
    let mut lines = Lines {
        take: &mut take,
        engine: &engine,
        matches: 0,
    };
    let mut searcher = SearcherBuilder::new()
        .before_context(options.context)
        .after_context(options.context)
        .line_terminator(engine.line_terminator())
        // The bytes of a spill are searched as they are shown: as they came.
        .bom_sniffing(false)
        .heap_limit(Some(LINE_BYTES))
        .build();
    match &engine {
        Engine::Linear(matcher) => searcher.search_file(matcher, file, &mut lines)?,
        Engine::Backtracking(backtracker) => {
            // Whoever searches a saved output waits for the end of it.
            let stop = None;
            searcher.search_file(Watched { backtracker, stop }, file, &mut lines)?;
        }
    }
    Ok(lines.matches)
}

struct Lines<'t, T> {
    take: &'t mut T,
    engine: &'t Engine,
    matches: u64,
}

impl<T: FnMut(Found<'_>)> Sink for Lines<'_, T> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        let text = without_newline(found.bytes());
        let at = self.engine.match_start(text);
        let (line, byte) = (
            found.line_number().unwrap_or(0),
            found.absolute_byte_offset(),
        );
        (self.take)(Found::Match {
            line,
            text,
            at,
            byte,
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        (self.take)(Found::Context {
            line: near.line_number().unwrap_or(0),
            text: without_newline(near.bytes()),
        });
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        (self.take)(Found::Gap);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}

fn without_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    fn found(text: &str, pattern: &str, options: Options) -> Vec<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut lines = Vec::new();
        search(&file, pattern, options, |found| {
            lines.push(match found {
                Found::Match { line, text, .. } => {
                    format!("{line}: {}", String::from_utf8_lossy(text))
                }
                Found::Context { line, text } => {
                    format!("{line}- {}", String::from_utf8_lossy(text))
                }
                Found::Gap => "--".to_owned(),
            });
        })
        .unwrap();
        lines
    }

    #[test]
    fn matches_come_with_their_neighbours() {
        let text = "one\ntwo\nError here\nfour\nfive\nsix\nerror\n";
        assert_eq!(
            found(
                text,
                "error",
                Options {
                    context: 1,
                    ..Options::default()
                }
            ),
            [
                "2- two",
                "3: Error here",
                "4- four",
                "--",
                "6- six",
                "7: error"
            ]
        );
        let exact = Options {
            case_sensitive: true,
            ..Options::default()
        };
        assert_eq!(found(text, "^error$", exact), ["7: error"]);
        let text = "a\r\nab\r\nb\n";
        assert_eq!(
            found(text, "^A$|B$", Options::default()),
            ["1: a\r", "2: ab\r", "3: b"]
        );
    }

    #[test]
    fn look_around_works_too() {
        let found = found("unsafe\nsafe\n", "(?<!un)safe", Options::default());
        assert_eq!(found, ["2: safe"]);
    }

    #[test]
    fn a_bad_pattern_is_one_line() {
        let error = search(
            &tempfile::tempfile().unwrap(),
            "a(",
            Options::default(),
            |_| {},
        )
        .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::InvalidInput, "unclosed group")
        );
    }
}
