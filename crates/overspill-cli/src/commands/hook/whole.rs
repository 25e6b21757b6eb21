//! Files in which an agent keeps the whole of a result that it shows only a part of.

use std::fs::File;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open as open_raw};

/// Opens such a file, if it is a regular one, below a directory of the agent, and no link.
pub(super) fn open(path: &Path, dir: &Path) -> Option<File> {
    let is_plain =
        path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    // The directories may be reached through links, the file may be none.
    let real = path.parent()?.canonicalize().ok()?;
    if !is_plain || !real.starts_with(dir.canonicalize().ok()?) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open_raw(real.join(path.file_name()?), flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_regular_file_below_the_directory_is_opened() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("agent");
        std::fs::create_dir_all(dir.join("in")).unwrap();
        std::fs::write(dir.join("in/whole.txt"), "all").unwrap();
        std::fs::write(scratch.path().join("secret"), "no").unwrap();
        symlink(scratch.path().join("secret"), dir.join("link")).unwrap();
        symlink(scratch.path(), dir.join("out")).unwrap();
        assert!(open(&dir.join("in/whole.txt"), &dir).is_some());
        for path in [
            dir.join("in"),
            dir.join("link"),
            dir.join("out/secret"),
            dir.join("in/../../secret"),
            dir.join("in/none"),
            scratch.path().join("secret"),
            "in/whole.txt".into(),
            "/".into(),
        ] {
            assert!(open(&path, &dir).is_none(), "{}", path.display());
        }
    }
}
