//! Finds out which files match, and how often, newest first.
//!
//! Workers take files in order, in small runs first, and report how often each matches. As soon as the runs that are
//! complete from the first on hold the page that was asked for, the page is known; what comes after is only counted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};

use super::collect::{After, Line, Lines, Wanted, searcher_of_lines};
use super::engine::Engine;
use super::input::{HELD_BYTES, Input, Searched, Stop};
use crate::sandbox::{self, Root, reopen};
use crate::threads::{self, Died};
use crate::walk::Found;

/// How long the total is counted once the page is known.
pub(super) const COUNTING: Duration = Duration::from_millis(500);

/// How long what workers have found is waited for once the time is over.
const AFTERWARDS: Duration = Duration::from_millis(30);

/// The most memory that one line may take; a file with a longer one is not searched to its end.
const LINE_BYTES: usize = 128 << 20;

/// The most memory that a file may take where a match may span its lines.
const TEXT_BYTES: usize = 32 << 20;

/// The most files that are taken at once.
const MOST_FILES: usize = 256;

/// What is searched, and for what.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) source: Source,
    pub(super) files: Vec<Found>,
    pub(super) engine: Engine,
    pub(super) multiline: bool,
    /// After how many matching lines of a file no more are counted: one decides about it, or they are all the page wants.
    pub(super) most_lines: u64,
    /// What the page wants, where it starts with the first match: then the lines of a large file are collected while they
    /// are counted, and it is not read twice.
    pub(super) wanted: Option<Wanted>,
}

impl Search {
    /// Returns what becomes of the matches of a file after those that the page wants.
    fn after(&self) -> After {
        match self.most_lines {
            u64::MAX => After::Count,
            _ => After::OneMore,
        }
    }
}

/// Where the files are opened.
#[derive(Debug)]
pub(super) enum Source {
    /// Below a root, by their paths.
    Tree(Arc<Root>),
    /// One file, which is open.
    Held(File),
}

impl Source {
    pub(super) fn open(&self, path: &[u8]) -> io::Result<File> {
        match self {
            Source::Tree(root) => root.open_seen(path),
            Source::Held(file) => reopen(file),
        }
    }
}

/// How far a scan goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Goal {
    /// How many matches, or files, come before the page.
    pub(super) offset: u64,
    /// How many matches, or files, the page needs.
    pub(super) wanted: u64,
    /// What the page counts.
    pub(super) unit: Unit,
    /// Whether it counts on for the total.
    pub(super) total: bool,
}

/// What a page counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unit {
    Matches,
    Files,
}

/// A file that matches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Hit {
    /// Which of the files.
    pub(super) file: usize,
    /// In how many lines.
    pub(super) lines: u64,
    /// Its lines for the page, where they were collected at once.
    pub(super) collected: Option<Vec<Line>>,
}

/// What a scan found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Scanned {
    /// The files that match, in order.
    pub(super) hits: Vec<Hit>,
    pub(super) searched: u64,
    pub(super) binary: u64,
    /// Files that could not be read, or not to their end.
    pub(super) unreadable: u64,
    /// Whether the page has no room for more, however few matches are on it.
    pub(super) is_full: bool,
    /// Lines on which the steps of the pattern ran out.
    pub(super) given_up: u64,
    /// Whether some of the files between those that match were not searched.
    pub(super) has_gaps: bool,
    /// Whether every file was searched.
    pub(super) is_exact: bool,
    /// Whether the time was over before the page was known.
    pub(super) timed_out: bool,
}

/// Scans until the page is known, then on for the total if that is wanted.
pub(super) fn scan(search: &Arc<Search>, goal: Goal, stop: &Stop) -> Scanned {
    let died = Died::default();
    let (next, merged) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let (sender, receiver) = mpsc::channel();
    threads::spawn(threads::count().min(search.files.len()).max(1), || {
        let worker = Worker {
            search: Arc::clone(search),
            stop: stop.clone(),
            next: Arc::clone(&next),
            merged: Arc::clone(&merged),
        };
        let (sender, died) = (sender.clone(), died.clone());
        move || died.watch(|| worker.work(&sender))
    });
    drop(sender);
    let mut merge = Merge::default();
    let (mut deadline, mut is_known) = (stop.deadline, false);
    let is_through = loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(run) => {
                merge.take(run, goal);
                merged.store(merge.units, Ordering::Relaxed);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break false,
            Err(mpsc::RecvTimeoutError::Disconnected) => break true,
        }
        if !is_known && (merge.units > goal.wanted || merge.merged.is_full) {
            is_known = true;
            if !goal.total {
                break false;
            }
            deadline = deadline.min(Instant::now() + COUNTING);
        }
    };
    assert!(!died.has(), "a worker of the search died");
    stop.is_over.store(true, Ordering::Relaxed);
    if !is_known && !is_through {
        // The workers notice that the time is over just after this thread does.
        let last = Instant::now() + AFTERWARDS;
        while let Ok(run) = receiver.recv_timeout(last.saturating_duration_since(Instant::now())) {
            merge.take(run, goal);
        }
    }
    let is_exact = merge.end == search.files.len();
    Scanned {
        is_exact,
        given_up: search.engine.given_up(),
        timed_out: !is_exact && !is_known,
        ..merge.finish(goal, is_known)
    }
}

/// What a worker found in a run of files.
#[derive(Debug, Default)]
struct Run {
    start: usize,
    end: usize,
    scanned: Scanned,
}

/// Puts runs together in order.
#[derive(Debug, Default)]
struct Merge {
    waiting: BTreeMap<usize, Run>,
    /// Up to where the runs are complete from the first on.
    end: usize,
    /// How many matches, or files, those hold.
    units: u64,
    merged: Scanned,
}

impl Merge {
    fn take(&mut self, run: Run, goal: Goal) {
        self.waiting.insert(run.start, run);
        while let Some(mut run) = self.waiting.remove(&self.end) {
            self.end = run.end;
            if self.units > goal.wanted {
                // They are not on the page.
                for hit in &mut run.scanned.hits {
                    hit.collected = None;
                }
            }
            self.units += match goal.unit {
                Unit::Matches => run.scanned.hits.iter().map(|hit| hit.lines).sum(),
                Unit::Files => run.scanned.hits.len() as u64,
            };
            self.add(run.scanned);
        }
    }

    fn add(&mut self, scanned: Scanned) {
        self.merged.hits.extend(scanned.hits);
        self.merged.searched += scanned.searched;
        self.merged.binary += scanned.binary;
        self.merged.unreadable += scanned.unreadable;
        self.merged.is_full |= scanned.is_full;
    }

    /// Returns what was found. What came after a gap counts, and is shown only where there is nothing before it.
    fn finish(mut self, goal: Goal, is_known: bool) -> Scanned {
        if !is_known && self.units > goal.offset {
            return self.merged;
        }
        self.merged.has_gaps = !is_known && !self.waiting.is_empty();
        for run in std::mem::take(&mut self.waiting).into_values() {
            self.add(run.scanned);
        }
        self.merged
    }
}

/// The time was over in the middle of a file, or all that is wanted of it was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct CutShort;

struct Worker {
    search: Arc<Search>,
    stop: Stop,
    /// The first file that nobody has taken.
    next: Arc<AtomicUsize>,
    /// How many matches are known to be before every file that is not taken.
    merged: Arc<AtomicU64>,
}

impl Worker {
    fn work(&self, sender: &mpsc::Sender<Run>) {
        let searcher = searcher(&self.search).line_number(false).build();
        let mut input = Input::new(searcher, self.stop.clone());
        while let Some(run) = self.take() {
            let mut run = Run {
                start: run.start,
                end: run.end,
                ..Run::default()
            };
            let files = run.start..run.end;
            for file in files {
                if self.stop.is_over() || self.count(file, &mut input, &mut run.scanned).is_err() {
                    // The run is not complete, but what it found may be all there is to show.
                    run.end = file;
                    break;
                }
            }
            if sender.send(run).is_err() || self.stop.is_over() {
                return;
            }
        }
    }

    /// Tells whether the page is full without what this worker finds.
    fn is_page_known(&self) -> bool {
        let wanted = self.search.wanted.map_or(0, |wanted| wanted.matches);
        self.merged.load(Ordering::Relaxed) > wanted
    }

    /// Takes the next files: few at first, since the page may be known soon.
    fn take(&self) -> Option<std::ops::Range<usize>> {
        let all = self.search.files.len();
        let after = |start: usize| (start + (start / 8).clamp(1, MOST_FILES)).min(all);
        let start = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |start| {
                (start < all).then(|| after(start))
            });
        start.ok().map(|start| start..after(start))
    }

    /// Counts the lines of a file that match. Fails if that ends before the file does.
    fn count(&self, at: usize, input: &mut Input, scanned: &mut Scanned) -> Result<(), CutShort> {
        let file = &self.search.files[at];
        if file.is_ignored() {
            return Ok(());
        }
        let mut counter = Counter {
            lines: 0,
            most: self.search.most_lines,
        };
        let mut collected = None;
        let mut is_cut_short;
        let searched = match self.search.wanted {
            Some(wanted) if file.bytes > HELD_BYTES as u64 && !self.is_page_known() => {
                let searcher = searcher_of_lines(&self.search, wanted);
                let mut lines = Lines::new(&self.search, wanted, at, self.search.after());
                let searched = self.search_file(file, &mut input.with(searcher), &mut lines);
                counter.lines = lines.seen;
                is_cut_short = lines.is_cut_short;
                scanned.is_full |= lines.is_out_of_room();
                collected = Some(lines.lines);
                searched
            }
            _ => {
                let searched = self.search_file(file, input, &mut counter);
                is_cut_short = self.search.most_lines > 1 && counter.lines >= counter.most;
                searched
            }
        };
        if counter.lines > 0 {
            scanned.hits.push(Hit {
                file: at,
                lines: counter.lines,
                collected,
            });
        }
        match searched {
            Ok(Searched::Text) => scanned.searched += 1,
            Ok(Searched::Binary) => scanned.binary += 1,
            // It went away, or became something else, after it was listed.
            Err(error) if sandbox::is_gone(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => is_cut_short = true,
            Err(_) => scanned.unreadable += 1,
        }
        if is_cut_short { Err(CutShort) } else { Ok(()) }
    }

    fn search_file<'s, S>(
        &self,
        file: &Found,
        input: &mut Input,
        sink: &'s mut S,
    ) -> io::Result<Searched>
    where
        &'s mut S: Sink<Error = io::Error>,
    {
        let open = self.search.source.open(&file.path)?;
        self.search.engine.search(input, open, file.bytes, sink)
    }
}

/// Returns how a file is searched, but for what is reported of it.
pub(super) fn searcher(search: &Search) -> SearcherBuilder {
    let mut builder = SearcherBuilder::new();
    // What is binary and what is UTF-16 is known before the search starts.
    builder
        .bom_sniffing(false)
        .multi_line(search.multiline)
        .line_terminator(search.engine.line_terminator())
        .heap_limit(Some(match search.multiline {
            true => TEXT_BYTES,
            false => LINE_BYTES,
        }));
    builder
}

struct Counter {
    lines: u64,
    most: u64,
}

impl Sink for &mut Counter {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += found.lines().count() as u64;
        Ok(self.lines < self.most)
    }
}
