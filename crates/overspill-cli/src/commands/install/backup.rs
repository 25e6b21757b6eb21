//! Configuration files on disk: read within bounds, backed up once, and replaced whole or not at all.
//!
//! A file behind a symbolic link is changed where it is, and its backup stands beside it there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use overspill::io_cause;

use crate::exit::usage_error;

/// More than this is no configuration. Claude Code keeps more than that in its file, so there is room.
const MAX_BYTES: u64 = 64 << 20;

/// What the name of a backup ends with.
const SUFFIX: &str = ".overspill-backup";

/// A file that was read.
#[derive(Debug)]
pub(super) struct Source {
    /// As the user knows it.
    pub(super) path: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
    metadata: Metadata,
    pub(super) text: String,
}

/// What an older backup is to a file that is about to be changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Backup {
    /// Made for this change.
    New,
    /// There already, and still the right one.
    Older,
}

impl Source {
    /// Reads a file; `None` if there is none.
    pub(super) fn read(path: &Path) -> anyhow::Result<Option<Source>> {
        let trouble = |cause: &str| usage_error(format!("`{}`: {cause}", path.display()));
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link that leads nowhere is there, and is nothing to write to.
                return match path.symlink_metadata() {
                    Ok(_) => Err(trouble("is a symbolic link that leads nowhere")),
                    Err(_) => Ok(None),
                };
            }
            Err(error) => return Err(trouble(&io_cause(&error))),
        };
        let (metadata, bytes) = read(&real).map_err(|cause| trouble(&cause))?;
        let text = String::from_utf8(bytes).map_err(|_| trouble("is not UTF-8 text"))?;
        Ok(Some(Source {
            path: path.to_owned(),
            real,
            metadata,
            text,
        }))
    }

    /// Returns where the backup of this file is, or would be.
    pub(super) fn backup_path(&self) -> PathBuf {
        let mut path = self.real.clone().into_os_string();
        path.push(SUFFIX);
        path.into()
    }

    /// Returns the backup's text; `None` if there is none that could be one.
    pub(super) fn backup(&self) -> Option<String> {
        let path = self.backup_path();
        path.symlink_metadata().ok()?.is_file().then_some(())?;
        String::from_utf8(read(&path).ok()?.1).ok()
    }

    /// Makes the backup, unless there is one that is the same or belongs to what is in the file now.
    pub(super) fn back_up(&self, is_wrapped: bool) -> anyhow::Result<Backup> {
        let path = self.backup_path();
        if path.symlink_metadata().is_ok() {
            let older = self.backup();
            return match older {
                Some(older) if is_wrapped || older == self.text => Ok(Backup::Older),
                _ => Err(usage_error(format!(
                    "`{}` is left from an earlier install and is not what `{}` is now: compare them, then move or remove it",
                    path.display(),
                    self.path.display()
                ))),
            };
        }
        let made = self.create(&path, &self.text);
        made.map_err(|error| self.not_written(&path, &error))?;
        Ok(Backup::New)
    }

    /// Removes the backup, if there is one.
    pub(super) fn drop_backup(&self) -> anyhow::Result<()> {
        let path = self.backup_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.not_written(&path, &error))
            }
            _ => Ok(()),
        }
    }

    /// Replaces the text of the file, which must still be the one that was read.
    pub(super) fn replace(&self, text: &str) -> anyhow::Result<()> {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let temporary = format!(".{name}.overspill-{}", std::process::id());
        let temporary = self.real.with_file_name(temporary);
        let made = self.create(&temporary, text);
        made.map_err(|error| self.not_written(&temporary, &error))?;
        let replaced = self.exchange(&temporary);
        if replaced.is_err() {
            // The file is as it was; what is left is only litter.
            drop(fs::remove_file(&temporary));
        }
        replaced
    }

    fn exchange(&self, temporary: &Path) -> anyhow::Result<()> {
        let now = read(&self.real).map(|(_, bytes)| bytes);
        if now.as_deref() != Ok(self.text.as_bytes()) {
            return Err(usage_error(format!(
                "`{}` was changed by somebody else meanwhile, so it stays: try again",
                self.path.display()
            )));
        }
        let renamed = fs::rename(temporary, &self.real);
        renamed.map_err(|error| self.not_written(&self.real, &error))
    }

    /// Writes a new file with the owner and the mode of this one.
    fn create(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // Nobody else may read it before it has its mode: there are secrets in it.
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let written = self.fill(&mut file, text);
        if written.is_err() {
            drop(fs::remove_file(path));
        }
        written
    }

    fn fill(&self, file: &mut File, text: &str) -> io::Result<()> {
        file.write_all(text.as_bytes())?;
        let (own, wanted) = (file.metadata()?, &self.metadata);
        if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid()) {
            fchown(&*file, Some(wanted.uid()), Some(wanted.gid()))?;
        }
        file.set_permissions(self.metadata.permissions())?;
        file.sync_all()
    }

    fn not_written(&self, path: &Path, error: &io::Error) -> anyhow::Error {
        usage_error(format!(
            "`{}` stays as it is: cannot write `{}`: {}",
            self.path.display(),
            path.display(),
            io_cause(error)
        ))
    }
}

fn read(path: &Path) -> Result<(Metadata, Vec<u8>), String> {
    // A FIFO would block whoever opens it.
    let metadata = fs::metadata(path).map_err(|error| io_cause(&error))?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    let file = File::open(path).map_err(|error| io_cause(&error))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_BYTES + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| io_cause(&error))?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err("is larger than 64 MiB".to_owned()),
        false => Ok((metadata, bytes)),
    }
}
