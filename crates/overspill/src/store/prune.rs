//! Removes spills that are too old or too many, and what dead processes left.
//!
//! Only regular files whose names are those of spills are touched.

use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode as FileMode, OFlags, fstat, openat, unlinkat};

use super::find::Entry;
use super::name::{SpillId, Stem};
use super::{Retention, Store};
use crate::error::Error;

const DAY: Duration = Duration::from_secs(86_400);

/// How old a temporary file must be, so that one is not taken from a process between its making and its lock.
const TEMPORARY_AGE: Duration = Duration::from_secs(60);

/// Whether files are removed or only named.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    Remove,
    DryRun,
}

/// What a cleaning removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Pruned {
    /// The spills, oldest first.
    pub spills: Vec<Entry>,
    /// How many unfinished spills of dead processes.
    pub temporaries: u64,
    /// The bytes of all of them.
    pub bytes: u64,
}

impl Store {
    /// Removes spills that are older than the retention allows, then the oldest over its quota.
    pub fn prune(&self) -> Result<Pruned, Error> {
        prune(self, None, Mode::Remove)
    }

    /// Returns what [`prune`](Self::prune) would remove.
    pub fn prune_dry_run(&self) -> Result<Pruned, Error> {
        prune(self, None, Mode::DryRun)
    }
}

/// Removes what is due, but for the spill `keep`.
pub(super) fn prune(store: &Store, keep: Option<&SpillId>, mode: Mode) -> Result<Pruned, Error> {
    let Some(dir) = store.open_existing()? else {
        return Ok(Pruned::default());
    };
    let mut entries = store.entries(&dir)?;
    entries.reverse();
    let mut pruned = Pruned::default();
    for entry in due(entries, store.retention(), keep) {
        if mode == Mode::DryRun || unlinkat(&dir, &entry.name, AtFlags::empty()).is_ok() {
            pruned.bytes += entry.bytes;
            pruned.spills.push(entry);
        }
    }
    prune_temporaries(&dir, mode, &mut pruned);
    Ok(pruned)
}

/// Returns which of the spills, oldest first, are to go.
fn due(entries: Vec<Entry>, retention: Retention, keep: Option<&SpillId>) -> Vec<Entry> {
    let cutoff = match retention.days {
        0 => None,
        days => SystemTime::now().checked_sub(DAY * days),
    };
    let mut left: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut is_due = |entry: &Entry| {
        let is_old = cutoff.is_some_and(|cutoff| entry.modified < cutoff);
        let is_over = retention.max_bytes.is_some_and(|max| left > max);
        let goes = (is_old || is_over) && Some(&entry.id) != keep;
        left -= if goes { entry.bytes } else { 0 };
        goes
    };
    entries.into_iter().filter(|entry| is_due(entry)).collect()
}

/// Removes unfinished spills that no living process holds.
fn prune_temporaries(dir: &OwnedFd, mode: Mode, pruned: &mut Pruned) {
    let Ok(files) = Dir::read_from(dir) else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some(bytes) = Stem::is_temporary(&name)
            .then(|| orphan(dir, &name))
            .flatten()
        else {
            continue;
        };
        if mode == Mode::DryRun || unlinkat(dir, &name, AtFlags::empty()).is_ok() {
            pruned.temporaries += 1;
            pruned.bytes += bytes;
        }
    }
}

/// Returns the size of a temporary file whose process is gone.
fn orphan(dir: &OwnedFd, name: &str) -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = std::fs::File::from(openat(dir, name, flags, FileMode::empty()).ok()?);
    let stat = fstat(&file).ok()?;
    let modified = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let is_aged = modified.elapsed().is_ok_and(|age| age >= TEMPORARY_AGE);
    (is_file && is_aged && file.try_lock().is_ok()).then_some(stat.st_size as u64)
}
