//! Finds the files below a directory, in parallel.
//!
//! Directories are listed and their files looked up relative to handles below the root's, so that a directory that is
//! swapped for a link while the walk goes on leads nowhere. Ignore rules are asked of every directory, but of a file only
//! once somebody wants it: a search that needs the hundred newest files never asks about the others.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use overspill::notice::Message;
use overspill::{Answer, Code, Context, ToolError};
use rustix::fs::{AtFlags, FileType, RawDir, statat};

use crate::rules::{Rules, Signs, Verdict, join};
use crate::sandbox::{self, Place, Root};
use crate::threads::{self, Died};

/// How much of a directory is listed at once.
const LISTING_BYTES: usize = 1 << 15;

/// How long what workers have found is waited for once the time is over.
const AFTERWARDS: Duration = Duration::from_millis(30);

/// Chooses files by their path below the root.
pub(crate) type Filter = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What a walk takes.
pub(crate) struct Walk {
    pub(crate) root: Arc<Root>,
    /// The directory to start from, below the root.
    pub(crate) start: Box<[u8]>,
    /// Whether hidden files and directories are taken.
    pub(crate) hidden: bool,
    /// Whether ignore rules hold.
    pub(crate) rules: bool,
    /// A directory that is left out: the store.
    pub(crate) except: Option<Box<[u8]>>,
    /// Which files are taken.
    pub(crate) filter: Option<Filter>,
    /// Set when nobody wants what it finds.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Walk {
    /// Returns the walk of a search that starts at a place: what is hidden, ignored or stored is left out.
    pub(crate) fn new(cx: &Context<'_>, root: &Arc<Root>, place: &Place) -> Walk {
        let store = sandbox::plain(&cx.store().dir());
        let store = store.strip_prefix(cx.root()).ok();
        // Named as the path, the store is searched, though its own rules hide it from git.
        let is_in_store = store.is_some_and(|store| place.path.starts_with(store));
        let except = store.filter(|_| !is_in_store);
        Walk {
            root: Arc::clone(root),
            start: place.path.as_os_str().as_bytes().into(),
            hidden: false,
            rules: !is_in_store,
            except: except.map(|path| path.as_os_str().as_bytes().into()),
            filter: None,
            cancelled: cx.cancelled(),
        }
    }
}

/// A file that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its path below the root.
    pub(crate) path: Box<[u8]>,
    /// When it was modified, in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// When it was last changed in any way, which nobody can set, in the same unit.
    pub(crate) changed: i64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    rules: Option<Arc<Rules>>,
}

impl Found {
    /// Returns a file that was named, to which no rules apply.
    pub(crate) fn named(path: Box<[u8]>, bytes: u64) -> Found {
        Found {
            path,
            modified: 0,
            changed: 0,
            inode: 0,
            bytes,
            rules: None,
        }
    }

    /// Tells whether ignore rules leave it out.
    pub(crate) fn is_ignored(&self) -> bool {
        let verdict = self
            .rules
            .as_ref()
            .map(|rules| rules.verdict(&self.path, false));
        verdict == Some(Verdict::Out)
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<Found>,
    /// How many directories could not be listed.
    pub(crate) unreadable: u64,
    /// Whether it ended before its time.
    pub(crate) is_complete: bool,
}

impl Walked {
    /// Puts the newest first, those of one moment by path.
    pub(crate) fn newest_first(&mut self) {
        self.files.sort_unstable_by(|a, b| {
            b.modified
                .cmp(&a.modified)
                .then_with(|| a.path.cmp(&b.path))
        });
    }
}

/// Returns how long a search may take.
pub(crate) fn time_limit(cx: &Context<'_>) -> Duration {
    let milliseconds = cx.settings().number("search_timeout_ms");
    // Without a limit a day is as good as none.
    Duration::from_millis(milliseconds.map_or(86_400_000, |n| n as u64))
}

/// Returns the error of a search that found nothing in its time.
/// `what` is what can be narrowed.
pub(crate) fn timeout(cx: &Context<'_>, time_limit: Duration, what: &str) -> ToolError {
    let t = time_limit.as_millis().to_string();
    let message = Message::SearchTimeout.say(cx.lang(), &[("t", &t)]);
    ToolError::new(Code::Timeout, message)
        .hint(Message::TryNarrower.say(cx.lang(), &[("what", what)]))
}

/// Says what a walk did not reach.
pub(crate) fn remarks(cx: &Context<'_>, walked: &Walked, time_limit: Duration) -> Vec<String> {
    let [t, n] = [time_limit.as_millis() as u64, walked.unreadable].map(|n| n.to_string());
    let remarks = [
        (!walked.is_complete, Message::TimeLimit),
        (walked.unreadable > 0, Message::Unreadable),
    ];
    let applying = remarks.into_iter().filter(|(applies, _)| *applies);
    applying
        .map(|(_, message)| message.say(cx.lang(), &[("t", &t), ("n", &n)]))
        .collect()
}

/// Marks the answer of a walk as what it is: all there is, or not.
pub(crate) fn marked(answer: Answer, walked: &Walked, is_truncated: bool) -> Answer {
    let answer = match walked.is_complete {
        true => answer,
        false => answer.data("aborted_reason", "timeout"),
    };
    match walked.is_complete && walked.unreadable == 0 && !is_truncated {
        true => answer,
        false => answer.partial(),
    }
}

/// Walks until all is found or the time is over. Threads that are caught in a slow call then are not waited for.
pub(crate) fn walk(walk: Walk, deadline: Instant) -> Walked {
    let rules = if walk.rules {
        Rules::above(&walk.root, &walk.start)
    } else {
        None
    };
    let start = Pending {
        path: walk.start.clone(),
        rules,
    };
    let shared = Arc::new(Shared {
        walk,
        queue: Mutex::new(Queue {
            pending: vec![start],
            busy: 0,
        }),
        changed: Condvar::new(),
        is_over: AtomicBool::new(false),
        unreadable: AtomicU64::new(0),
    });
    let died = Died::default();
    let (sender, receiver) = mpsc::channel();
    threads::spawn(threads::count(), || {
        let (shared, sender, died) = (Arc::clone(&shared), sender.clone(), died.clone());
        move || died.watch(|| drop(sender.send(shared.work())))
    });
    drop(sender);
    let mut walked = Walked {
        is_complete: true,
        ..Walked::default()
    };
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(files) if walked.files.is_empty() => walked.files = files,
            Ok(files) => walked.files.extend(files),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                walked.is_complete = false;
                shared.is_over.store(true, Ordering::Relaxed);
                shared.changed.notify_all();
                break;
            }
        }
    }
    // The workers notice that the time is over just after this thread does.
    let last = Instant::now() + AFTERWARDS;
    while let Ok(files) = receiver.recv_timeout(last.saturating_duration_since(Instant::now())) {
        walked.files.extend(files);
    }
    assert!(!died.has(), "a worker of the walk died");
    walked.unreadable = shared.unreadable.load(Ordering::Relaxed);
    walked
}

/// A directory that is still to be listed.
struct Pending {
    path: Box<[u8]>,
    rules: Option<Arc<Rules>>,
}

struct Queue {
    pending: Vec<Pending>,
    /// How many directories are being listed at the moment, which may bring more.
    busy: usize,
}

/// A directory that is done with, even if listing it panics: the others must not wait for it.
struct Done<'s> {
    shared: &'s Shared,
    below: Vec<Pending>,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.shared.put(std::mem::take(&mut self.below));
    }
}

struct Shared {
    walk: Walk,
    queue: Mutex<Queue>,
    changed: Condvar,
    is_over: AtomicBool,
    unreadable: AtomicU64,
}

impl Shared {
    fn work(&self) -> Vec<Found> {
        let mut files = Vec::new();
        let mut listing = Listing::default();
        while let Some(directory) = self.take() {
            let mut done = Done {
                shared: self,
                below: Vec::new(),
            };
            match self.list(&directory, &mut listing, &mut files, &mut done.below) {
                // It went away, or is no directory any more: as if it had not been there.
                Err(error) if !sandbox::is_gone(&error) => {
                    self.unreadable.fetch_add(1, Ordering::Relaxed);
                }
                _ => {}
            }
        }
        files
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Pending> {
        let mut queue = self.lock();
        loop {
            if self.is_over.load(Ordering::Relaxed) || self.walk.cancelled.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(directory) = queue.pending.pop() {
                queue.busy += 1;
                return Some(directory);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, below: Vec<Pending>) {
        let mut queue = self.lock();
        queue.busy -= 1;
        let wakes = !below.is_empty() || queue.busy == 0;
        queue.pending.extend(below);
        drop(queue);
        if wakes {
            self.changed.notify_all();
        }
    }

    /// Lists a directory: its files go to `files`, the directories in it to `below`.
    fn list(
        &self,
        directory: &Pending,
        listing: &mut Listing,
        files: &mut Vec<Found>,
        below: &mut Vec<Pending>,
    ) -> io::Result<()> {
        let handle = self.walk.root.open_directory(&directory.path)?;
        let signs = listing.read(&handle)?;
        let rules = match self.walk.rules {
            true => Rules::enter(
                &self.walk.root,
                directory.rules.as_ref(),
                &directory.path,
                signs,
            ),
            false => None,
        };
        for (name, file_type) in listing.names() {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            match known_type(&handle, name, file_type) {
                FileType::Directory => {
                    let path = join(&directory.path, name.to_bytes());
                    if self.enters(name, &path, rules.as_deref()) {
                        below.push(Pending {
                            path,
                            rules: rules.clone(),
                        });
                    }
                }
                FileType::RegularFile => {
                    files.extend(self.look_up(&handle, &directory.path, name, rules.as_ref()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn enters(&self, name: &CStr, path: &[u8], rules: Option<&Rules>) -> bool {
        let verdict = rules.map_or(Verdict::None, |rules| rules.verdict(path, true));
        let is_shown = self.walk.hidden || verdict == Verdict::In || !is_hidden(name);
        verdict != Verdict::Out && is_shown && self.walk.except.as_deref() != Some(path)
    }

    /// Looks up a file, if it is one that is wanted.
    fn look_up(
        &self,
        handle: &OwnedFd,
        dir: &[u8],
        name: &CStr,
        rules: Option<&Arc<Rules>>,
    ) -> Option<Found> {
        let path = join(dir, name.to_bytes());
        if self.walk.filter.as_ref().is_some_and(|takes| !takes(&path)) {
            return None;
        }
        let is_whitelisted =
            || rules.is_some_and(|rules| rules.verdict(&path, false) == Verdict::In);
        if is_hidden(name) && !self.walk.hidden && !is_whitelisted() {
            return None;
        }
        let stat = statat(handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let time = |seconds: i64, nanoseconds: i64| {
            seconds
                .saturating_mul(1_000_000_000)
                .saturating_add(nanoseconds)
        };
        let [modified_nsec, changed_nsec] =
            [stat.st_mtime_nsec, stat.st_ctime_nsec].map(|n| i64::try_from(n).unwrap_or(0));
        Some(Found {
            path,
            modified: time(stat.st_mtime, modified_nsec),
            changed: time(stat.st_ctime, changed_nsec),
            inode: stat.st_ino,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            rules: rules.cloned(),
        })
    }
}

/// Returns the type of an entry, looked up where the listing does not tell.
fn known_type(handle: &OwnedFd, name: &CStr, listed: FileType) -> FileType {
    match listed {
        FileType::Unknown => statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| {
                FileType::from_raw_mode(stat.st_mode)
            }),
        known => known,
    }
}

fn is_hidden(name: &CStr) -> bool {
    name.to_bytes().starts_with(b".")
}

/// The names in a directory, one after the other, each ended by a NUL.
#[derive(Default)]
struct Listing {
    names: Vec<u8>,
    entries: Vec<(usize, FileType)>,
    buffer: Vec<u8>,
}

impl Listing {
    fn read(&mut self, handle: &OwnedFd) -> rustix::io::Result<Signs> {
        self.names.clear();
        self.entries.clear();
        self.buffer.reserve(LISTING_BYTES);
        let mut signs = Signs::default();
        let mut entries = RawDir::new(handle, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                signs.see(name);
                self.entries.push((self.names.len(), entry.file_type()));
                self.names
                    .extend_from_slice(entry.file_name().to_bytes_with_nul());
            }
        }
        Ok(signs)
    }

    fn names(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().filter_map(|&(start, file_type)| {
            let name = CStr::from_bytes_until_nul(&self.names[start..]).ok()?;
            Some((name, file_type))
        })
    }
}
