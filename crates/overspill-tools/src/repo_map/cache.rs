//! What parsing found, kept in the user's cache directory: one file a root for the tags of its files, and a small one for
//! the last maps, so that a tree that did not change is not even read.
//!
//! Nothing in it is needed, and nothing in it is believed: a file that is damaged, of another version or of another root is
//! as good as none. A file is written beside its place and renamed, so that whoever reads it has it whole, however many
//! write. Trouble of any kind is no trouble of the call.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, Timestamps, UTIME_NOW, openat};
use serde::{Deserialize, Serialize};

use super::codec;
use super::language::LANGUAGES;
use super::sources::{Source, Sources};

/// The most bytes of the cache of all roots together, and so of one.
const MOST_BYTES: u64 = 256 << 20;

/// How many of the last maps of a root are kept, and how long one may be.
const MOST_MAPS: usize = 8;
const MAP_BYTES: usize = 64 << 10;

/// After how long what an interrupted writer left is taken away.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// Told by hand when the same text gives other tags than before.
const VERSION: u32 = 1;

/// The directory in the user's cache.
const DIRECTORY: &str = "repo-map";

/// The cache of a root.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    root: Vec<u8>,
}

/// A map that was made before.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Kept {
    /// What it was made of: the state of the files and what was asked.
    pub(super) key: u64,
    pub(super) text: String,
    pub(super) data: serde_json::Map<String, serde_json::Value>,
    pub(super) stats: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize, Serialize)]
struct Maps {
    fingerprint: u64,
    root: Vec<u8>,
    maps: Vec<Kept>,
}

impl Cache {
    /// Returns the cache of a root in the user's cache directory. Nothing is touched before it is needed.
    pub(super) fn new(dir: &Path, root: &Path) -> Cache {
        Cache {
            dir: dir.join(DIRECTORY),
            root: root.as_os_str().as_bytes().to_owned(),
        }
    }

    /// Returns what is known of the files of the root, in the order of their paths.
    pub(super) fn load(&self) -> Sources {
        let bytes = self.read("tags").unwrap_or_default();
        codec::decode(&bytes, fingerprint(), &self.root).unwrap_or_default()
    }

    /// Keeps what is known: `sources`, and what the cache has of `other` files, whose names are those of `sources`.
    pub(super) fn save(&self, sources: &Sources, other: &[Source]) {
        let bytes = codec::encode(sources, other, fingerprint(), &self.root);
        if bytes.len() as u64 <= MOST_BYTES {
            self.write("tags", &bytes);
            self.prune();
        }
    }

    /// Returns the map that was made of `key`.
    pub(super) fn map(&self, key: u64) -> Option<Kept> {
        let kept = self.maps().into_iter().find(|kept| kept.key == key)?;
        // What is used is not the first to go.
        if let Ok(file) = open(&self.path("tags")) {
            let now = rustix::fs::Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_NOW,
            };
            let times = Timestamps {
                last_access: now,
                last_modification: now,
            };
            let _ = rustix::fs::futimens(&file, &times);
        }
        Some(kept)
    }

    /// Keeps a map beside the last ones.
    pub(super) fn keep(&self, kept: Kept) {
        if kept.text.len() > MAP_BYTES {
            return;
        }
        let mut maps = self.maps();
        maps.retain(|other| other.key != kept.key);
        maps.insert(0, kept);
        maps.truncate(MOST_MAPS);
        let maps = Maps {
            fingerprint: fingerprint(),
            root: self.root.clone(),
            maps,
        };
        if let Ok(bytes) = serde_json::to_vec(&maps) {
            self.write("maps", &bytes);
        }
    }

    fn maps(&self) -> Vec<Kept> {
        let bytes = self.read("maps").unwrap_or_default();
        match serde_json::from_slice::<Maps>(&bytes) {
            Ok(maps) if maps.fingerprint == fingerprint() && maps.root == self.root => maps.maps,
            _ => Vec::new(),
        }
    }

    fn path(&self, kind: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.root.hash(&mut hasher);
        self.dir.join(format!("{:016x}.{kind}", hasher.finish()))
    }

    fn read(&self, kind: &str) -> Option<Vec<u8>> {
        let file = open(&self.path(kind)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn write(&self, kind: &str, bytes: &[u8]) {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = self.path(kind);
        let mut builder = std::fs::DirBuilder::new();
        drop(builder.recursive(true).mode(0o700).create(&self.dir));
        let mut random = [0; 8];
        if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_err() {
            return;
        }
        let new = path.with_extension(format!("{:016x}.new", u64::from_ne_bytes(random)));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let Ok(handle) = openat(CWD, &new, flags, Mode::RUSR | Mode::WUSR) else {
            return;
        };
        let written = File::from(handle).write_all(bytes);
        if written.and_then(|()| std::fs::rename(&new, &path)).is_err() {
            drop(std::fs::remove_file(&new));
        }
    }

    /// Removes what was not used for longest until all is within its bound, and what interrupted writers left.
    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.dir) else {
            return;
        };
        let mut files = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("new") if used.elapsed().is_ok_and(|age| age > LEFT_OVER) => {
                    drop(std::fs::remove_file(&path));
                }
                Some("tags" | "maps") if metadata.is_file() => {
                    files.push((used, path, metadata.len()));
                }
                _ => {}
            }
        }
        files.sort_unstable();
        let mut all: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, bytes) in files {
            if all <= MOST_BYTES {
                return;
            }
            drop(std::fs::remove_file(&path));
            all -= bytes;
        }
    }
}

/// Opens a file of the cache: not through a link, and without waiting should it be a FIFO.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat(CWD, path, flags, Mode::empty())?))
}

/// Returns what tells whether tags were made as they would be made now.
pub(super) fn fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    (VERSION, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    for language in &LANGUAGES {
        language.fingerprint().hash(&mut hasher);
    }
    hasher.finish()
}
