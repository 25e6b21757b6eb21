//! Keeps complete outputs on disk.
//!
//! A spill is whole or absent: it is written under a temporary name and renamed once it is complete. All access goes
//! through a handle of the store's directory, so that nothing outside it is read or written. Nothing is synced to the
//! disk before the rename: a spill survives the death of any process, not a power failure in the second it was made.

mod dir;
mod find;
mod name;
mod prune;

pub use self::find::Entry;
pub use self::name::{Format, SpillId};
pub use self::prune::Pruned;

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, linkat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use self::dir::{Missing, open_store};
use self::name::Stem;
use crate::error::{Error, ErrorKind, io_cause};

/// At most how often spills are cleaned up while a process lives.
const CLEAN_EVERY: Duration = Duration::from_secs(3600);

/// How many names are tried before giving up on a free one.
const NAME_TRIES: u32 = 32;

/// How long spills are kept, and how much of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Retention {
    /// Days by modification time; 0 keeps for ever.
    pub days: u32,
    /// The most bytes all spills may have together, if that is limited; the oldest go first.
    pub max_bytes: Option<u64>,
}

impl Default for Retention {
    /// Seven days, no limit on bytes.
    fn default() -> Self {
        Retention {
            days: 7,
            max_bytes: None,
        }
    }
}

/// The directory of complete outputs.
///
/// ```
/// # let root = tempfile::tempdir().unwrap();
/// use overspill::{Format, Retention, Store};
/// use std::path::Path;
///
/// let store = Store::new(root.path(), Path::new("tool-output"), Retention::default());
/// let mut spill = store.begin("Run")?;
/// spill.write(b"all of it\n")?;
/// let saved = spill.commit(Format::Text)?;
/// assert_eq!(std::fs::read(root.path().join(&saved.path)).unwrap(), b"all of it\n");
/// # Ok::<(), overspill::Error>(())
/// ```
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    dir: PathBuf,
    retention: Retention,
    cleaned: Mutex<Option<Instant>>,
}

/// A complete output that is in the store.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Saved {
    /// Its id.
    pub id: SpillId,
    /// Its path, relative to the root with `/` where it is inside, else absolute.
    pub path: String,
}

impl Store {
    /// Names a store; nothing is touched before the first spill. A `dir` that is not absolute is below `root`.
    pub fn new(root: &Path, dir: &Path, retention: Retention) -> Self {
        Store {
            root: root.to_owned(),
            dir: dir.to_owned(),
            retention,
            cleaned: Mutex::new(None),
        }
    }

    /// Returns the directory, absolute if the root is.
    pub fn dir(&self) -> PathBuf {
        self.root.join(&self.dir)
    }

    /// Returns how long spills are kept.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Starts a spill of a tool's output.
    pub fn begin(&self, tool: &str) -> Result<Spill<'_>, Error> {
        let dir = open_store(&self.root, &self.dir, Missing::Create)?;
        ignore_in_git(&dir);
        for _ in 0..NAME_TRIES {
            let stem = Stem::new(tool, SystemTime::now(), random());
            let temporary = stem.temporary();
            match create(&dir, &temporary) {
                Ok(file) => {
                    // Held while the spill grows, so that cleaning can tell it from one whose process died.
                    drop(file.try_lock());
                    return Ok(Spill {
                        store: self,
                        dir,
                        file,
                        stem,
                        temporary,
                        bytes: 0,
                        is_named: false,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(self.trouble(&errno.into())),
            }
        }
        Err(Error::store(
            &self.dir.to_string_lossy(),
            "no free name for a spill",
        ))
    }

    fn trouble(&self, error: &std::io::Error) -> Error {
        Error::store(&self.dir.to_string_lossy(), io_cause(error))
    }

    fn saved(&self, stem: &Stem, format: Format) -> Saved {
        Saved {
            id: stem.id.clone(),
            path: self.shown_path(&stem.file_name(format)),
        }
    }

    /// Returns the path of a file in the store as people and models see it.
    fn shown_path(&self, name: &str) -> String {
        let path = self.dir().join(name);
        let inside = path.strip_prefix(&self.root).unwrap_or(&path);
        let parts: Vec<_> = inside
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .collect();
        parts
            .iter()
            .collect::<PathBuf>()
            .to_string_lossy()
            .into_owned()
    }

    /// Returns a path of [`Saved`] as an absolute one, if the root is absolute.
    pub fn absolute(&self, path: &str) -> String {
        self.root.join(path).to_string_lossy().into_owned()
    }

    /// Cleans up at the first spill of a store, which a process has one of, and then at most hourly. What cannot be removed now is tried again then.
    fn clean_lazily(&self, keep: &SpillId) {
        let Ok(mut cleaned) = self.cleaned.lock() else {
            return;
        };
        let is_due = cleaned.is_none_or(|last| last.elapsed() >= CLEAN_EVERY);
        if is_due || self.retention.max_bytes.is_some() {
            *cleaned = Some(Instant::now());
            drop(prune::prune(self, Some(keep), prune::Mode::Remove));
        }
    }
}

/// A spill that is being written. Dropped before it is committed, it leaves nothing.
#[derive(Debug)]
pub struct Spill<'s> {
    store: &'s Store,
    dir: OwnedFd,
    file: File,
    stem: Stem,
    temporary: String,
    bytes: u64,
    /// Whether the file has its final name, so that nothing is left to remove.
    is_named: bool,
}

impl<'s> Spill<'s> {
    /// Appends to the spill.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        if self
            .store
            .retention
            .max_bytes
            .is_some_and(|max| self.bytes > max)
        {
            return Err(Error::new(
                ErrorKind::Store,
                "the output is larger than `max_store_bytes`",
            ));
        }
        self.file
            .write_all(bytes)
            .map_err(|error| self.store.trouble(&error))
    }

    /// Gives the spill its final name. Old spills may be cleaned up.
    pub fn commit(mut self, format: Format) -> Result<Saved, Error> {
        let named = rename_new(&self.dir, &self.temporary, &self.stem.file_name(format));
        named.map_err(|errno| self.store.trouble(&errno.into()))?;
        self.is_named = true;
        self.store.clean_lazily(&self.stem.id);
        Ok(self.store.saved(&self.stem, format))
    }

    /// Starts another file that shares this one's id, for the text of an envelope. Their bytes count together.
    pub fn companion(&self) -> Result<Spill<'s>, Error> {
        let store = self.store;
        let dir = open_store(&store.root, &store.dir, Missing::Report)?;
        let temporary = self.stem.temporary_companion();
        let file = create(&dir, &temporary).map_err(|errno| store.trouble(&errno.into()))?;
        drop(file.try_lock());
        Ok(Spill {
            store,
            dir,
            file,
            stem: self.stem.clone(),
            temporary,
            bytes: self.bytes,
            is_named: false,
        })
    }
}

impl Drop for Spill<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = unlinkat(&self.dir, &self.temporary, AtFlags::empty());
        }
    }
}

fn create(dir: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// Renames within `dir`, never over a file that exists.
fn rename_new(dir: &OwnedFd, from: &str, to: &str) -> Result<(), Errno> {
    match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot; a hard link refuses an existing name as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            linkat(dir, from, dir, to, AtFlags::empty())?;
            unlinkat(dir, from, AtFlags::empty())
        }
        result => result,
    }
}

/// Keeps the spills out of git, where the directory is the store's own: empty but for spills.
fn ignore_in_git(dir: &OwnedFd) {
    match statat(dir, ".gitignore", AtFlags::SYMLINK_NOFOLLOW) {
        // Left empty by a disk that was full.
        Ok(stat) if stat.st_size == 0 => drop(unlinkat(dir, ".gitignore", AtFlags::empty()).ok()),
        Ok(_) => return,
        Err(_) => {}
    }
    let is_ours = rustix::fs::Dir::read_from(dir).is_ok_and(|entries| {
        entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .all(|name| {
                matches!(name.as_str(), "." | "..")
                    || Stem::parse(&name).is_some()
                    || Stem::is_temporary(&name)
            })
    });
    if is_ours && let Ok(mut file) = create(dir, ".gitignore") {
        // A disk that is full now is tried again by the next spill.
        drop(file.write_all(
            b"*
",
        ));
    }
}

/// Returns 20 random bits; without a source of them the clock has to do, since a taken name is never written over.
fn random() -> u32 {
    let mut bytes = [0; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(4) => u32::from_ne_bytes(bytes) & 0xF_FFFF,
        _ => std::process::id() & 0xF_FFFF,
    }
}

#[cfg(test)]
mod tests;
