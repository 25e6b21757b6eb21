//! Finds spills by id, prefix, path or age.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use super::dir::{Missing, open_store};
use super::name::{Format, SpillId, Stem};
use super::{Saved, Store};
use crate::error::{Error, ErrorKind};

/// A spill as the store lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its id; the text and the JSON of one envelope share it.
    pub id: SpillId,
    /// The tool that made the output.
    pub tool: String,
    /// What it holds.
    pub format: Format,
    /// Its path, as in [`Saved`].
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written.
    pub modified: SystemTime,
    /// Its name in the store's directory.
    pub(super) name: String,
}

impl Store {
    /// Lists the spills, the newest first. A store that was never used has none.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        match self.open_existing()? {
            Some(dir) => self.entries(&dir),
            None => Ok(Vec::new()),
        }
    }

    /// Finds a spill by its id, a prefix of it that no other has, its path, or the word `latest`.
    pub fn find(&self, wanted: &str) -> Result<Entry, Error> {
        let entries = self.list()?;
        let is_wanted = |entry: &&Entry| match wanted {
            "latest" => true,
            _ if wanted.contains(['/', '.']) => self.is_path_of(entry, wanted),
            _ => !wanted.is_empty() && entry.id.as_str().starts_with(wanted),
        };
        let mut found: Vec<&Entry> = entries.iter().filter(is_wanted).collect();
        if wanted == "latest" {
            found.retain(|entry| entry.id == entries[0].id);
        }
        let Some(first) = found.first() else {
            return Err(if entries.is_empty() {
                self.nothing_saved()
            } else {
                self.no_spill(wanted)
            });
        };
        if let Some(other) = found.iter().find(|entry| entry.id != first.id) {
            let message = format!(
                "`{wanted}` is the start of more than one id: `{}`, `{}`",
                first.id, other.id
            );
            return Err(Error::new(ErrorKind::NoSpill, message).with_hint("give more of the id"));
        }
        // Of an envelope's two files the text is the one to read by line.
        let text = found.iter().find(|entry| entry.format == Format::Text);
        Ok((*text.unwrap_or(first)).clone())
    }

    /// Opens a spill for reading.
    pub fn open(&self, entry: &Entry) -> Result<File, Error> {
        let dir = open_store(&self.root, &self.dir, Missing::Report)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&dir, &entry.name, flags, Mode::empty())
            .map_err(|errno| self.trouble(&errno.into()))?;
        Ok(File::from(file))
    }

    /// Opens a spill that was just saved.
    pub(crate) fn reopen(&self, saved: &Saved) -> Option<File> {
        let name = saved.path.rsplit('/').next()?;
        let dir = open_store(&self.root, &self.dir, Missing::Report).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        openat(&dir, name, flags, Mode::empty())
            .ok()
            .map(File::from)
    }

    /// Returns the id of the spill that a path names, relative to the root or absolute. Whether it is still there is not
    /// looked at.
    pub fn spill_at(&self, path: &Path) -> Option<SpillId> {
        let path = plain(&self.root.join(path));
        if path.parent()? != plain(&self.dir()) {
            return None;
        }
        let (stem, _) = Stem::parse(path.file_name()?.to_str()?)?;
        Some(stem.id)
    }

    /// Opens the directory, if there is one.
    pub(super) fn open_existing(&self) -> Result<Option<OwnedFd>, Error> {
        match self.dir().symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            _ => open_store(&self.root, &self.dir, Missing::Report).map(Some),
        }
    }

    pub(super) fn entries(&self, dir: &OwnedFd) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        for file in Dir::read_from(dir).map_err(|errno| self.trouble(&errno.into()))? {
            let file = file.map_err(|errno| self.trouble(&errno.into()))?;
            let name = file.file_name().to_string_lossy().into_owned();
            if let Some((stem, format)) = Stem::parse(&name)
                && let Ok(stat) = statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)
                && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
            {
                let Saved { id, path, .. } = self.saved(&stem, format);
                let modified =
                    UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
                entries.push(Entry {
                    id,
                    tool: stem.tool,
                    format,
                    path,
                    bytes: stat.st_size as u64,
                    modified,
                    name,
                });
            }
        }
        entries.sort_by(|a, b| b.name.cmp(&a.name));
        Ok(entries)
    }

    /// Tells whether `wanted` is the name or the path of a spill, relative to the root or absolute.
    fn is_path_of(&self, entry: &Entry, wanted: &str) -> bool {
        entry.name == wanted
            || plain(&self.root.join(wanted)) == plain(&self.dir().join(&entry.name))
    }

    fn nothing_saved(&self) -> Error {
        let message = format!("nothing is saved in `{}`", self.dir().to_string_lossy());
        Error::new(ErrorKind::NoSpill, message)
            .with_hint("`--root` or `--store-dir` names another place")
    }

    fn no_spill(&self, wanted: &str) -> Error {
        let kept = match self.retention().days {
            0 => String::new(),
            days => format!("; spills are kept {days} days"),
        };
        let shown = &wanted[..wanted.floor_char_boundary(200)];
        Error::new(
            ErrorKind::NoSpill,
            format!(
                "no spill `{shown}` in `{}`{kept}",
                self.dir.to_string_lossy()
            ),
        )
        .with_hint("`overspill list` shows what there is")
    }
}

/// Returns a path without what leads nowhere.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}
