//! Keeps every path inside the root.
//!
//! A path that a caller gives is opened first, without reading a byte, and what was opened is checked then: by the name the
//! kernel has for it, so that nothing swapped in between can lead outside. Only what passed is opened for reading, through
//! the same handle. What a walk finds is opened relative to the root's own handle with no link followed on the way.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::Errno;

/// From how many bytes on the system takes no path.
const PATH_BYTES: usize = 4096;

/// The most links that are followed on the way to one that points nowhere.
const MOST_LINKS: usize = 40;

/// A root, opened.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    path: PathBuf,
}

/// What a path turned out to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Directory,
    File,
    /// A device, a FIFO or a socket, which is never opened.
    Other,
}

/// Why a path leads nowhere.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It leads outside the root.
    Outside,
    /// There is nothing.
    Missing,
    /// The operating system refused.
    System(io::Error),
}

/// Something inside the root, held by a handle.
#[derive(Debug)]
pub(crate) struct Place {
    handle: OwnedFd,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// Where it is below the root, without links; empty for the root itself.
    pub(crate) path: PathBuf,
}

impl Root {
    /// Opens a root.
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty())?;
        let path = real_path(&handle)?;
        Ok(Root { handle, path })
    }

    /// Turns a path, relative to the root or absolute, into what it names inside the root.
    pub(crate) fn resolve(&self, given: &str) -> Result<Place, Refusal> {
        if given.contains('\0') {
            return Err(Refusal::Missing);
        }
        let given = Path::new(if given.is_empty() { "." } else { given });
        if given.as_os_str().len() >= PATH_BYTES {
            // The system opens no such path, and its words are all there is to judge it by.
            return Err(match self.leaves(given) {
                true => Refusal::Outside,
                false => Refusal::Missing,
            });
        }
        match self.open_any(given) {
            Ok(place) => place.ok_or(Refusal::Outside),
            Err(errno) => Err(self.why_not(given, errno)),
        }
    }

    /// Opens what a path names, without reading it; `None` for what is outside.
    fn open_any(&self, given: &Path) -> Result<Option<Place>, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat(&self.handle, given, flags, Mode::empty())?;
        let real = real_path(&opened)?;
        let Ok(path) = real.strip_prefix(&self.path) else {
            return Ok(None);
        };
        // The name alone is no proof: what lies in another mount namespace has a name of that namespace. So it is opened
        // again from the root down, and must be the same.
        let handle = match self.open_below(path.as_os_str().as_bytes(), OFlags::PATH) {
            Ok(handle) => handle,
            Err(Errno::LOOP | Errno::XDEV) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let (stat, other) = (fstat(&handle)?, fstat(&opened)?);
        if (stat.st_dev, stat.st_ino) != (other.st_dev, other.st_ino) {
            return Ok(None);
        }
        Ok(Some(Place {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            path: path.to_owned(),
            handle,
        }))
    }

    /// Tells what to say of a path that cannot be opened. One that leads outside is outside whether it exists or not, so
    /// that nobody can feel for what is there.
    fn why_not(&self, given: &Path, errno: Errno) -> Refusal {
        if self.leads_outside(given, MOST_LINKS) {
            return Refusal::Outside;
        }
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
                Refusal::Missing
            }
            errno => Refusal::System(errno.into()),
        }
    }

    /// Tells whether a path that cannot be opened would lead outside: by its words, by where its start leads, or by a link
    /// on the way that points nowhere.
    fn leads_outside(&self, given: &Path, links: usize) -> bool {
        if self.leaves(given) {
            return true;
        }
        let existing = given.ancestors().skip(1).find_map(|above| {
            let above = if above == Path::new("") {
                Path::new(".")
            } else {
                above
            };
            Some((above, self.open_any(above).ok()?))
        });
        let (above, place) = match existing {
            Some((above, Some(place))) => (above, place),
            Some((_, None)) => return true,
            None => return false,
        };
        let rest = given.strip_prefix(above).unwrap_or(given);
        let Some(Component::Normal(next)) = rest.components().next() else {
            return false;
        };
        let Ok(target) = readlinkat(&place.handle, next, Vec::new()) else {
            return false;
        };
        let target = place.path.join(OsStr::from_bytes(target.to_bytes()));
        links == 0 || self.leads_outside(&target, links - 1)
    }

    /// Tells whether a path leads outside by its words alone.
    fn leaves(&self, given: &Path) -> bool {
        let below = match given.strip_prefix(&self.path) {
            Ok(below) => below,
            Err(_) if given.is_absolute() => return true,
            Err(_) => given,
        };
        let mut depth = 0_usize;
        for part in below.components() {
            match part {
                Component::ParentDir if depth == 0 => return true,
                Component::ParentDir => depth -= 1,
                Component::Normal(_) => depth += 1,
                _ => {}
            }
        }
        false
    }

    /// Opens a directory below the root for listing. No link is followed.
    pub(crate) fn open_directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        Ok(self.open_below(path, OFlags::RDONLY | OFlags::DIRECTORY)?)
    }

    /// Opens a file below the root for reading. No link is followed, and what is no regular file is not opened.
    pub(crate) fn open_file(&self, path: &[u8]) -> io::Result<File> {
        let seen = self.open_below(path, OFlags::PATH)?;
        match kind(FileType::from_raw_mode(fstat(&seen)?.st_mode)) {
            Kind::File => reopen(&seen),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens what a walk has just seen to be a regular file. Should it be a FIFO by now, reading it ends at once; a look
    /// at each of a hundred thousand files would cost a tenth of the search.
    pub(crate) fn open_seen(&self, path: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(self.open_below(path, flags).map(File::from)?)
    }

    /// Opens a path below the root. No link is followed on the way.
    fn open_below(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() {
            b".".as_slice()
        } else {
            path
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.handle, path, flags, Mode::empty(), resolve) {
            // Older kernels and some containers do not have it.
            Err(Errno::NOSYS | Errno::PERM) => self.open_by_steps(path, flags),
            opened => opened,
        }
    }

    /// Opens a path one name after the other.
    fn open_by_steps(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        let last = names.pop().unwrap_or(b".");
        let mut above = None;
        for name in names {
            let from = above.as_ref().unwrap_or(&self.handle);
            above = Some(openat(from, name, step, Mode::empty())?);
        }
        let from = above.as_ref().unwrap_or(&self.handle);
        let opened = openat(from, last, flags, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
            // A handle that is no more than a name is opened even of a link.
            FileType::Symlink => Err(Errno::LOOP),
            _ => Ok(opened),
        }
    }
}

impl Place {
    /// Opens it for reading: the very thing that was checked.
    pub(crate) fn open(&self) -> io::Result<File> {
        reopen(&self.handle)
    }

    /// Returns a path that leads to it whatever becomes of its name.
    pub(crate) fn handle_path(&self) -> PathBuf {
        by_handle(&self.handle)
    }

    /// Returns its path below the root as it is shown: with `/`, and `.` for the root itself.
    pub(crate) fn shown(&self) -> String {
        shown(self.path.as_os_str().as_bytes())
    }
}

/// Returns a path below the root as it is shown.
pub(crate) fn shown(path: &[u8]) -> String {
    match path {
        b"" => ".".to_owned(),
        path => String::from_utf8_lossy(path).into_owned(),
    }
}

/// Tells whether what was to be opened went away, or became something else, since it was seen.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound, WouldBlock};
    let gone = [Errno::LOOP, Errno::NXIO].map(|errno| Some(errno.raw_os_error()));
    matches!(
        error.kind(),
        NotFound | NotADirectory | IsADirectory | InvalidInput | WouldBlock
    ) || gone.contains(&error.raw_os_error())
}

/// Returns a path as it stands in a text: on one line, whatever it holds.
pub(crate) fn one_line(path: &str) -> Cow<'_, str> {
    match path.contains(['\n', '\r']) {
        true => Cow::Owned(path.replace('\n', "\\n").replace('\r', "\\r")),
        false => Cow::Borrowed(path),
    }
}

/// Opens what a handle holds for reading, from its start.
pub(crate) fn reopen(handle: &impl AsFd) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(openat(
        CWD,
        by_handle(handle),
        flags,
        Mode::empty(),
    )?))
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File,
        _ => Kind::Other,
    }
}

fn by_handle(handle: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

/// Returns the name that the kernel has for what is open. Without /proc nothing can be checked, and nothing is opened.
fn real_path(handle: &impl AsFd) -> Result<PathBuf, Errno> {
    let name = readlinkat(CWD, by_handle(handle), Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns a path without `.` and `..`, by its words.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_opened_by_steps_where_the_kernel_cannot_do_it_at_once() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("root/a/b")).unwrap();
        fs::write(base.join("root/a/b/c"), "x").unwrap();
        fs::write(base.join("secret"), "x").unwrap();
        symlink("../..", base.join("root/a/up")).unwrap();
        symlink("b/c", base.join("root/a/link")).unwrap();
        let root = Root::open(&base.join("root")).unwrap();
        for flags in [OFlags::RDONLY, OFlags::PATH] {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            for (path, is_open) in [
                ("a/b/c", true),
                (".", true),
                ("a/up/secret", false),
                ("a/link", false),
                ("a/none", false),
            ] {
                let opened = root.open_by_steps(path.as_bytes(), flags);
                assert_eq!(opened.is_ok(), is_open, "{path}");
            }
        }
    }
}
