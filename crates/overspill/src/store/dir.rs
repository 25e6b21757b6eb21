//! Opens the store's directory without following a symbolic link into it.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, open, openat, statat};
use rustix::io::Errno;

use crate::error::{Error, io_cause};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RWXU;

/// What to do where the directory is missing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Missing {
    /// Make it.
    Create,
    /// Say so.
    Report,
}

/// Opens the store's directory. One that is relative to the root is reached from there by real directories only; of an
/// absolute one, which the user chose, the last component must be real.
pub(super) fn open_store(root: &Path, dir: &Path, missing: Missing) -> Result<OwnedFd, Error> {
    let shown = dir.to_string_lossy();
    let trouble = |errno: Errno| Error::store(&shown, io_cause(&errno.into()));
    if dir.is_absolute() {
        let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
            return open(dir, DIRECTORY, Mode::empty()).map_err(trouble);
        };
        if missing == Missing::Create {
            std::fs::create_dir_all(parent)
                .map_err(|error| Error::store(&shown, io_cause(&error)))?;
        }
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        let parent = openat(CWD, parent, flags, Mode::empty()).map_err(trouble)?;
        return step(&parent, Path::new(name), &shown, missing);
    }
    let is_inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if !dir.components().all(is_inside) {
        return Err(Error::store(&shown, "leads outside the root"));
    }
    let root = openat(
        CWD,
        root,
        DIRECTORY.difference(OFlags::NOFOLLOW),
        Mode::empty(),
    );
    let mut at = root.map_err(trouble)?;
    for component in dir.components() {
        if let Component::Normal(name) = component {
            at = step(&at, Path::new(name), &shown, missing)?;
        }
    }
    Ok(at)
}

/// Opens a directory in `at`, making it first if it is missing and may be made.
fn step(at: &OwnedFd, name: &Path, shown: &str, missing: Missing) -> Result<OwnedFd, Error> {
    let errno = match openat(at, name, DIRECTORY, Mode::empty()) {
        Ok(dir) => return Ok(dir),
        Err(errno) => errno,
    };
    if errno == Errno::NOENT && missing == Missing::Create {
        match mkdirat(at, name, PRIVATE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(Error::store(shown, io_cause(&errno.into()))),
        }
        return step(at, name, shown, Missing::Report);
    }
    let kind = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode));
    Err(match kind {
        Ok(FileType::Symlink) => Error::store(shown, "is a symbolic link, which is not followed"),
        Ok(kind) if kind != FileType::Directory => Error::store(shown, "is not a directory"),
        _ => Error::store(shown, io_cause(&errno.into())),
    })
}
