//! The files of a map with their tags: from the cache where they are unchanged, else read and parsed by all cores.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

use super::language::{self, LANGUAGES, Space};
use super::names::Names;
use super::standing;
use super::tags::{Definition, Tagger, Tags};
use crate::sandbox::{Root, is_gone};
use crate::threads::{self, Died};
use crate::walk::Found;

/// Larger files are data.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// How many files a worker finishes before it hands them over.
const BATCH: usize = 32;

/// How long what workers have made is waited for once the time is over.
const AFTERWARDS: Duration = Duration::from_millis(30);

/// How old a change must be for the times of a file to tell whether it was changed again.
const SETTLED: Duration = Duration::from_secs(2);

/// What tells that a file was not touched.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: u64,
}

impl Stamp {
    pub(super) fn of(found: &Found) -> Stamp {
        Stamp {
            bytes: found.bytes,
            modified: found.modified,
            changed: found.changed,
            inode: found.inode,
        }
    }

    /// Tells whether the file changed so long before `now` that another change would show in the stamp.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
        let settled = now.saturating_sub(SETTLED.as_nanos() as i64);
        self.modified.max(self.changed) < settled
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Parsed,
    /// It does not parse.
    Unparsed,
    /// It has a NUL.
    Binary,
}

impl State {
    /// Every state, in the order of their numbers in the cache.
    pub(super) const ALL: [State; 3] = [State::Parsed, State::Unparsed, State::Binary];
}

/// A file with its tags.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: Box<[u8]>,
    /// `None` where it had just changed when it was read.
    pub(super) stamp: Option<Stamp>,
    /// A hash of its content, with its length.
    pub(super) content: (u64, u64),
    pub(super) state: State,
    pub(super) language: usize,
    pub(super) is_generated: bool,
    pub(super) definitions: Vec<Definition>,
    pub(super) references: Vec<(u32, u32)>,
}

/// Files with their tags, and the names that these have in common.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) names: Names,
    /// In the order of their paths.
    pub(super) files: Vec<Source>,
}

/// How the files were come by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathering {
    /// How many came from the cache.
    pub(super) cached: usize,
    /// How many could not be read.
    pub(super) unreadable: u64,
    /// Whether there was time for all.
    pub(super) is_complete: bool,
    /// Whether the cache does not have what was gathered.
    pub(super) is_new: bool,
}

/// When to stop.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) deadline: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
}

/// Brings `known`, what the cache has of the files below `below`, to the state of `found`, both in the order of paths. What
/// the cache has of other files is returned apart, since the next call may ask for it.
pub(super) fn gather(
    root: &Arc<Root>,
    found: Vec<Found>,
    known: Sources,
    below: &[u8],
    stop: &Stop,
) -> (Sources, Vec<Source>, Gathering) {
    let Sources { mut names, files } = known;
    let mut matched = match_up(found, files);
    let mut gathering = Gathering {
        cached: matched.current.len(),
        is_complete: true,
        ..Gathering::default()
    };
    let mut current = std::mem::take(&mut matched.current);
    let is_below = |source: &Source| match below {
        b"" => true,
        below => source
            .path
            .strip_prefix(below)
            .is_some_and(|rest| rest.starts_with(b"/")),
    };
    gathering.is_new = !matched.todo.is_empty() || matched.other.iter().any(is_below);
    if !matched.todo.is_empty() {
        let by_content: HashMap<_, usize> = (0..)
            .zip(&matched.other)
            .map(|(at, source)| ((source.content, source.language), at))
            .collect();
        let work = Arc::new(Work {
            root: Arc::clone(root),
            todo: std::mem::take(&mut matched.todo),
            next: AtomicUsize::new(0),
            known: by_content.keys().copied().collect(),
            is_over: AtomicBool::new(false),
            cancelled: Arc::clone(&stop.cancelled),
            unreadable: AtomicU64::new(0),
        });
        let take = |made: Made| {
            let source = match by_content.get(&made.key()) {
                Some(&at) => made.like(&matched.other[at]),
                None => made.with_names(&mut names)?,
            };
            current.push(source);
            Some(())
        };
        gathering.is_complete = run(&work, stop, take);
        gathering.unreadable = work.unreadable.load(Ordering::Relaxed);
        current.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
    // Without the time to look at all nobody knows what is gone.
    let is_complete = gathering.is_complete;
    matched
        .other
        .retain(|source| !is_complete || !is_below(source));
    let sources = Sources {
        names,
        files: current,
    };
    (sources, matched.other, gathering)
}

/// What the cache has, beside what was found.
struct Matched {
    /// Files that are as the cache has them.
    current: Vec<Source>,
    /// What else the cache has.
    other: Vec<Source>,
    /// Files that must be read.
    todo: Vec<Found>,
}

fn match_up(found: Vec<Found>, known: Vec<Source>) -> Matched {
    let mut matched = Matched {
        current: Vec::new(),
        other: Vec::new(),
        todo: Vec::new(),
    };
    let mut known = known.into_iter().peekable();
    for file in found {
        while let Some(before) = known.next_if(|source| source.path < file.path) {
            matched.other.push(before);
        }
        match known.next_if(|source| source.path == file.path) {
            Some(source) if source.stamp == Some(Stamp::of(&file)) => matched.current.push(source),
            Some(source) => {
                matched.other.push(source);
                matched.todo.push(file);
            }
            None => matched.todo.push(file),
        }
    }
    matched.other.extend(known);
    matched
}

/// What tells that a file has the tags of another: its content and the language that its path tells.
type Key = ((u64, u64), usize);

/// What workers share.
struct Work {
    root: Arc<Root>,
    todo: Vec<Found>,
    next: AtomicUsize,
    /// Contents whose tags are known.
    known: HashSet<Key>,
    is_over: AtomicBool,
    cancelled: Arc<AtomicBool>,
    unreadable: AtomicU64,
}

/// A file that a worker is done with.
struct Made {
    source: Source,
    names: Vec<(Box<[u8]>, Space)>,
}

impl Made {
    fn key(&self) -> Key {
        (self.source.content, self.source.language)
    }

    /// Returns it with the tags of a file of the same content.
    fn like(self, other: &Source) -> Source {
        Source {
            path: self.source.path,
            stamp: self.source.stamp,
            ..other.clone()
        }
    }

    /// Returns it with its names among those of all.
    fn with_names(self, names: &mut Names) -> Option<Source> {
        let mut source = self.source;
        let family = LANGUAGES.get(source.language)?.family as u8;
        let numbers: Option<Vec<u32>> = self
            .names
            .iter()
            .map(|(name, space)| names.number(name, 2 * family + *space as u8))
            .collect();
        let numbers = numbers?;
        for definition in &mut source.definitions {
            definition.name = numbers[definition.name as usize];
        }
        for (name, _) in &mut source.references {
            *name = numbers[*name as usize];
        }
        Some(source)
    }
}

/// Has workers make tags until all is done or the time is over; tells whether all is done.
fn run(work: &Arc<Work>, stop: &Stop, mut take: impl FnMut(Made) -> Option<()>) -> bool {
    let died = Died::default();
    let (sender, receiver) = mpsc::channel();
    threads::spawn(threads::count(), || {
        let (work, sender, died) = (Arc::clone(work), sender.clone(), died.clone());
        move || died.watch(|| work.work(&sender))
    });
    drop(sender);
    let mut last = stop.deadline;
    let mut is_complete = true;
    loop {
        match receiver.recv_timeout(last.saturating_duration_since(Instant::now())) {
            Ok(batch) => {
                for made in batch {
                    if take(made).is_none() {
                        is_complete = false;
                    }
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) if is_complete => {
                is_complete = false;
                work.is_over.store(true, Ordering::Relaxed);
                last = Instant::now() + AFTERWARDS;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => break,
        }
    }
    assert!(!died.has(), "a worker of the map died");
    is_complete && !work.cancelled.load(Ordering::Relaxed)
}

impl Work {
    fn stops(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.cancelled.load(Ordering::Relaxed)
    }

    fn work(&self, sender: &mpsc::Sender<Vec<Made>>) {
        let mut tagger = Tagger::new();
        let mut batch = Vec::new();
        let mut content = Vec::new();
        while !self.stops() {
            let Some(file) = self.todo.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            batch.extend(self.make(file, &mut tagger, &mut content));
            if batch.len() >= BATCH && sender.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
        drop(sender.send(batch));
    }

    /// Reads a file and makes its tags.
    fn make(&self, file: &Found, tagger: &mut Tagger, content: &mut Vec<u8>) -> Option<Made> {
        let now = SystemTime::now();
        content.clear();
        let opened = self.root.open_seen(&file.path);
        match opened.and_then(|opened| opened.take(MOST_BYTES + 1).read_to_end(content)) {
            // It grew since it was seen.
            Ok(read) if read as u64 > MOST_BYTES => return None,
            Ok(_) => {}
            Err(error) => {
                let is_gone = is_gone(&error);
                self.unreadable
                    .fetch_add(u64::from(!is_gone), Ordering::Relaxed);
                return None;
            }
        }
        let named = language::of_path(&file.path)?;
        let language = language::of_content(named, &file.path, content);
        let stamp = Stamp::of(file);
        let mut source = Source {
            path: file.path.clone(),
            stamp: Some(stamp).filter(|stamp| stamp.is_settled(now)),
            content: hash(content),
            state: State::Parsed,
            language,
            is_generated: standing::is_generated(content),
            definitions: Vec::new(),
            references: Vec::new(),
        };
        let mut names = Vec::new();
        if memchr::memchr(0, content).is_some() {
            source.state = State::Binary;
        } else if !self.known.contains(&(source.content, language)) {
            match tagger.tags(language, content, || self.stops()) {
                Some(tags) => {
                    let Tags {
                        definitions,
                        references,
                        names: own,
                    } = tags;
                    (source.definitions, source.references, names) = (definitions, references, own);
                }
                None if self.stops() => return None,
                None => source.state = State::Unparsed,
            }
        }
        Some(Made { source, names })
    }
}

/// Returns what tells contents apart.
pub(super) fn hash(content: &[u8]) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    (hasher.finish(), content.len() as u64)
}
