//! Rows that wait beside the database, because it was busy: a JSON line each, taken in by the next writer.

use std::fs::{DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::fs::{Mode, OFlags, open};

use super::row::Row;

const FILE_NAME: &str = "journal.pending";

/// The most bytes that wait. A journal that is busy for longer than that is no journal.
const MOST_BYTES: u64 = 8 << 20;

/// How long a writer waits for another to finish with the file.
const PATIENCE: Duration = Duration::from_millis(500);

/// Adds rows to those that wait.
pub(super) fn append(dir: &Path, rows: &[Row]) -> anyhow::Result<()> {
    make_dir(dir)?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut file = open_own(dir, FILE_NAME, flags)?;
    let start = Instant::now();
    while file.try_lock().is_err() {
        if start.elapsed() > PATIENCE {
            bail!("`{FILE_NAME}` is locked");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    if file.metadata()?.len() > MOST_BYTES {
        bail!("`{FILE_NAME}` is full");
    }
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, row)?;
        lines.push(b'\n');
    }
    file.write_all(&lines)
        .with_context(|| format!("`{FILE_NAME}`"))
}

/// Rows that wait, locked until they are forgotten.
pub(super) struct Waiting {
    pub(super) rows: Vec<Row>,
    file: File,
}

/// Returns the rows that wait, if there are any and nobody else has them. A line that is no row is passed by: the disk may have
/// been full in the middle of it.
pub(super) fn take(dir: &Path) -> Option<Waiting> {
    if dir.join(FILE_NAME).symlink_metadata().ok()?.len() == 0 {
        return None;
    }
    let mut file = open_own(dir, FILE_NAME, OFlags::RDWR).ok()?;
    file.try_lock().ok()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    let lines = text.split(|&byte| byte == b'\n');
    let rows = lines.filter_map(|line| serde_json::from_slice(line).ok());
    Some(Waiting {
        rows: rows.collect(),
        file,
    })
}

impl Waiting {
    /// Forgets the rows, which are in the database now.
    pub(super) fn forget(self) {
        // Where that fails they are taken in again, and their keys are known by then.
        drop(self.file.set_len(0));
    }
}

/// Makes the directory of the journal, which nobody else may read.
pub(super) fn make_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a file beside the database that is nobody else's: not through a link, and not one that would wait for a reader.
pub(super) fn open_own(dir: &Path, name: &str, flags: OFlags) -> anyhow::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(dir.join(name), flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(file.with_context(|| format!("`{name}`"))?);
    if !file.metadata()?.is_file() {
        bail!("`{name}` is not a file");
    }
    Ok(file)
}
