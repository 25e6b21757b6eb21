//! Reads the lines of a page from the files that hold it, with their neighbours.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use overspill::{Cut, Lang, Limits, Strategy, cut, decode};

use super::input::{Input, Searched, Stop};
use super::scan::{COUNTING, Hit, Search, searcher};
use crate::threads;

/// How long collecting may take where the search itself has used up the time.
const AFTERWARDS: Duration = Duration::from_millis(50);

/// What is shown before a match that lies beyond the start of a long line.
const BEFORE_CHARS: usize = 200;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Wanted {
    /// How many matches of the first file are on an earlier page.
    pub(super) skip: u64,
    /// How many matches there are on this one.
    pub(super) matches: u64,
    pub(super) before: usize,
    pub(super) after: usize,
    /// The most chars that are kept of a line.
    pub(super) line_chars: usize,
    /// The most bytes of all lines together; more cannot be shown.
    pub(super) bytes: usize,
}

/// A line of the page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line {
    /// Which of the files.
    pub(super) file: usize,
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) is_match: bool,
    pub(super) text: String,
    /// Whether the text is not all of it.
    pub(super) is_cut: bool,
}

/// The lines of a page.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Collected {
    pub(super) lines: Vec<Line>,
    /// How many matches were counted but were gone when they were read.
    pub(super) lost: u64,
    /// Whether there was no room for all of them.
    pub(super) is_full: bool,
    /// Whether the time was over before all were read.
    pub(super) timed_out: bool,
}

/// Collects the lines of a page from the files that hold it, the `first` of the hits and those after it.
pub(super) fn collect(
    search: &Arc<Search>,
    hits: &Arc<Vec<Hit>>,
    first: usize,
    wanted: Wanted,
    stop: &Stop,
) -> Collected {
    let deadline = stop.deadline.max(Instant::now() + AFTERWARDS);
    let stop = Stop {
        deadline,
        is_over: Arc::default(),
        cancelled: Arc::clone(&stop.cancelled),
    };
    let (sender, receiver) = mpsc::channel();
    threads::spawn(1, || {
        let (search, hits) = (Arc::clone(search), Arc::clone(hits));
        let (stop, sender) = (stop.clone(), sender.clone());
        move || collect_all(&search, &hits[first..], wanted, stop, &sender)
    });
    drop(sender);
    let mut collected = Collected::default();
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(part) => {
                collected.lines.extend(part.lines);
                collected.lost += part.lost;
                collected.is_full |= part.is_full;
                collected.timed_out |= part.timed_out;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                collected.timed_out = true;
                break;
            }
        }
    }
    collected
}

fn collect_all(
    search: &Search,
    hits: &[Hit],
    wanted: Wanted,
    stop: Stop,
    sender: &mpsc::Sender<Collected>,
) {
    let mut input = Input::new(searcher_of_lines(search, wanted), stop);
    let mut left = wanted;
    for hit in hits {
        let mut lines = Lines::new(search, left, hit.file, After::Stop);
        let expected = (hit.lines - left.skip).min(left.matches);
        let file = &search.files[hit.file];
        let searched = match &hit.collected {
            Some(collected) => {
                lines.take_collected(collected);
                Ok(Searched::Text)
            }
            None => search.source.open(&file.path).and_then(|open| {
                let engine = &search.engine;
                engine.search(&mut input, open, file.bytes, &mut lines)
            }),
        };
        // What went away since it was counted is missing from the page, and that is the truth by now.
        let timed_out = searched.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        let taken = left.matches - lines.wanted.matches;
        let is_full = lines.wanted.bytes == 0;
        left = Wanted {
            skip: 0,
            ..lines.wanted
        };
        let part = Collected {
            lines: lines.lines,
            lost: match is_full || timed_out {
                true => 0,
                false => expected.saturating_sub(taken),
            },
            is_full,
            timed_out,
        };
        if sender.send(part).is_err() || left.matches == 0 || is_full || timed_out {
            return;
        }
    }
}

/// Returns how the lines of a page are read.
pub(super) fn searcher_of_lines(search: &Search, wanted: Wanted) -> Searcher {
    searcher(search)
        .line_number(true)
        .before_context(wanted.before)
        .after_context(wanted.after)
        .build()
}

/// What becomes of the matches after the wanted ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum After {
    /// The search of the file ends.
    Stop,
    /// It ends with the next one, which shows that there are more.
    OneMore,
    /// They are counted.
    Count,
}

/// Takes the wanted lines of one file.
pub(super) struct Lines<'s> {
    search: &'s Search,
    /// What is still wanted.
    wanted: Wanted,
    file: usize,
    after: After,
    /// How many lines match, the unwanted ones included.
    pub(super) seen: u64,
    /// When there was first no room for more.
    full_at: Option<Instant>,
    /// Whether counting ended before the file did.
    pub(super) is_cut_short: bool,
    /// Neighbours that may turn out to stand before a wanted match.
    near: Vec<Line>,
    pub(super) lines: Vec<Line>,
}

impl<'s> Lines<'s> {
    pub(super) fn new(search: &'s Search, wanted: Wanted, file: usize, after: After) -> Lines<'s> {
        Lines {
            search,
            wanted,
            file,
            after,
            seen: 0,
            full_at: None,
            is_cut_short: false,
            near: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Takes lines that were collected while they were counted.
    fn take_collected(&mut self, collected: &[Line]) {
        let (mut last, mut near): (Option<u64>, Vec<&Line>) = (None, Vec::new());
        for line in collected {
            let follows = last.is_some_and(|last| line.number <= last + self.wanted.after as u64);
            if line.is_match {
                if self.is_full() {
                    return;
                }
                // Neighbours come with their match, and leave it room.
                near.drain(..).for_each(|near| self.push(near.clone()));
                self.wanted.matches -= 1;
                last = Some(line.number);
                self.push(line.clone());
            } else if follows && self.wanted.bytes > 0 {
                self.push(line.clone());
            } else {
                near.push(line);
            }
        }
    }

    /// Tells whether there is no room for another line.
    pub(super) fn is_out_of_room(&self) -> bool {
        self.wanted.bytes == 0
    }

    /// Tells whether the page has been full for as long as the total is worth.
    fn has_counted_enough(&mut self) -> bool {
        // The clock is not looked at for each of a million lines.
        if !self.seen.is_multiple_of(1024) {
            return self.is_cut_short;
        }
        let full_at = *self.full_at.get_or_insert_with(Instant::now);
        self.is_cut_short = full_at.elapsed() > COUNTING;
        self.is_cut_short
    }

    fn is_full(&self) -> bool {
        self.wanted.matches == 0 || self.wanted.bytes == 0
    }

    fn line(&self, number: u64, bytes: &[u8], is_match: bool) -> Line {
        let bytes = bytes
            .strip_suffix(b"\n")
            .map_or(bytes, |line| line.strip_suffix(b"\r").unwrap_or(line));
        let at = if is_match && bytes.len() > self.wanted.line_chars {
            self.search.engine.match_start(bytes)
        } else {
            0
        };
        let (text, is_cut) = shortened(bytes, at, self.wanted.line_chars);
        Line {
            file: self.file,
            number,
            is_match,
            text,
            is_cut,
        }
    }

    fn push(&mut self, line: Line) {
        self.wanted.bytes = self.wanted.bytes.saturating_sub(line.text.len() + 1);
        self.lines.push(line);
    }

    /// Takes a line that matches; tells whether more are wanted.
    fn take(&mut self, number: u64, bytes: &[u8]) -> bool {
        self.seen += 1;
        if self.wanted.skip > 0 {
            self.wanted.skip -= 1;
            self.near.clear();
            return true;
        }
        if self.is_full() {
            self.near.clear();
            self.is_cut_short = self.after == After::OneMore || self.has_counted_enough();
            return self.after == After::Count && !self.is_cut_short;
        }
        let first = number.saturating_sub(self.wanted.before as u64);
        for line in std::mem::take(&mut self.near) {
            if line.number >= first {
                self.push(line);
            }
        }
        self.wanted.matches -= 1;
        let line = self.line(number, bytes, true);
        self.push(line);
        true
    }
}

impl Sink for &mut Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number().unwrap_or(1);
        for (number, line) in (first..).zip(found.lines()) {
            if !self.take(number, line) {
                return Ok(false);
            }
        }
        // Without neighbours after it the last match is the last line.
        Ok(!self.is_full() || self.wanted.after > 0 || self.after != After::Stop)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        let number = near.line_number().unwrap_or(1);
        let last = self.lines.iter().rev().find(|line| line.is_match);
        let follows = last.is_some_and(|last| number <= last.number + self.wanted.after as u64);
        if follows && self.wanted.bytes > 0 {
            let line = self.line(number, near.bytes(), false);
            self.push(line);
        } else if !self.is_full() {
            let line = self.line(number, near.bytes(), false);
            self.near.push(line);
        } else {
            return Ok(self.after != After::Stop);
        }
        Ok(true)
    }
}

/// Returns a line of at most `max` chars, and whether that is not all of it. It keeps its start, unless the match lies
/// beyond: then the neighbourhood of the match.
fn shortened(line: &[u8], at: usize, max: usize) -> (String, bool) {
    // No char takes more than four bytes, so this is more than can be kept.
    let most = max.saturating_mul(4).saturating_add(4);
    if line.len() <= most {
        let text = decode(line);
        if text.chars().nth(max).is_none() {
            return (text.into_owned(), false);
        }
    }
    let before = match at <= most {
        true => decode(&line[..at]).chars().count(),
        false => usize::MAX,
    };
    let is_near = before < max.saturating_sub(BEFORE_CHARS) || before < max / 2;
    let from = if is_near {
        0
    } else {
        at.saturating_sub(BEFORE_CHARS.min(max / 4))
    };
    let part = &line[from..line.len().min(from.saturating_add(most))];
    let (skipped, part) = match from {
        0 => (0, part),
        // The cut may have split a character.
        _ => {
            let broken = part
                .iter()
                .take(3)
                .take_while(|&&byte| byte & 0xC0 == 0x80)
                .count();
            (from, &part[broken..])
        }
    };
    let mut text = decode(part).into_owned();
    if skipped > 0 {
        text.insert_str(0, "...");
    }
    let is_tail_gone = from + most < line.len();
    if is_tail_gone {
        // Longer than can be kept, so that the cut below ends it in dots.
        text.push_str("....");
    }
    match cut(&text, &Limits::none().line_chars(max), Strategy::Head) {
        Cut::Whole(_) => (text, skipped > 0),
        Cut::Part(preview) => (preview.text(Lang::En).into_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_match() {
        assert_eq!(shortened(b"short", 3, 10), ("short".to_owned(), false));
        assert_eq!(
            shortened(b"0123456789abc", 0, 10),
            ("0123456...".to_owned(), true)
        );
        let line = format!("{}needle{}", "x".repeat(5000), "y".repeat(5000));
        let (text, is_cut) = shortened(line.as_bytes(), 5000, 2000);
        assert_eq!((text.chars().count(), is_cut), (2000, true));
        assert!(
            text.starts_with("...xxx") && text.contains("needle") && text.ends_with("yyy..."),
            "{text}"
        );
        let line = "é".repeat(5000) + "needle";
        let (text, _) = shortened(line.as_bytes(), 10_000, 2000);
        assert!(
            text.starts_with("...é") && text.ends_with("éneedle"),
            "{text}"
        );
    }

    proptest::proptest! {
        #[test]
        fn a_shortened_line_is_within_its_limit(line: Vec<u8>, at: usize, max in 1usize..60) {
            let line: Vec<u8> = line.into_iter().filter(|byte| !b"\r\n".contains(byte)).collect();
            let at = at % (line.len() + 1);
            let (text, is_cut) = shortened(&line, at, max);
            assert!(text.chars().count() <= max, "{text}");
            assert_eq!(is_cut, text != decode(&line));
        }

        #[test]
        fn a_shortened_line_has_no_broken_character(line in "\\PC{0,400}", at: usize, max in 1usize..60) {
            let line: String = line.replace('\n', " ");
            let at = (0..=at % (line.len() + 1)).rev().find(|at| line.is_char_boundary(*at)).unwrap();
            let (text, _) = shortened(line.as_bytes(), at, max);
            let kept = text.strip_prefix("...").filter(|_| !line.starts_with("...")).unwrap_or(&text);
            let kept = kept.strip_suffix("...").unwrap_or(kept);
            assert!(line.contains(kept.trim_end_matches('.')), "{line} -> {text}");
        }
    }
}
