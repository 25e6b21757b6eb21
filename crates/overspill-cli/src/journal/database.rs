//! The SQLite file: opened for each writing, so that one that was deleted or set aside meanwhile is begun anew.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};
use rustix::fs::OFlags;

use super::row::{CallRow, ReadingRow, Row};
use super::{now_ms, pending};

pub(crate) const FILE_NAME: &str = "journal.db";
const LOCK_NAME: &str = "journal.lock";
const ASIDE_PREFIX: &str = "journal.db.corrupt-";

/// How many journals that were set aside are kept.
const KEPT_ASIDE: usize = 3;

/// How long another writer is waited for, before the rows wait in their turn.
const BUSY: Duration = Duration::from_millis(400);

/// How long a row is kept.
const KEPT_DAYS: i64 = 90;
const DAY_MS: i64 = 86_400_000;

/// How many calls are kept.
const KEPT_CALLS: i64 = 200_000;

/// After how many calls old ones are looked for.
const PRUNE_EVERY: i64 = 512;

/// What `user_version` says of a file that has the tables below.
const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    root TEXT NOT NULL,
    tool TEXT NOT NULL,
    strategy TEXT NOT NULL,
    ending TEXT NOT NULL,
    limit_name TEXT,
    max_lines INTEGER,
    max_bytes INTEGER,
    max_chars INTEGER,
    max_tokens INTEGER,
    max_line_chars INTEGER,
    max_result_chars INTEGER,
    lines_before INTEGER NOT NULL,
    lines_after INTEGER NOT NULL,
    bytes_before INTEGER NOT NULL,
    bytes_after INTEGER NOT NULL,
    tokens_before INTEGER,
    tokens_after INTEGER,
    is_estimated INTEGER NOT NULL,
    spill TEXT
);
CREATE INDEX IF NOT EXISTS call_at ON call (root, at_ms);
CREATE TABLE IF NOT EXISTS reading (
    key INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    root TEXT NOT NULL,
    spill TEXT NOT NULL,
    tool TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS reading_of ON reading (root, spill);
PRAGMA user_version = 1;
";

/// Writes rows, and those that wait. A file that is no database is set aside.
pub(super) fn write(dir: &Path, rows: &[Row]) -> anyhow::Result<()> {
    anew_if_corrupt(dir, || {
        let mut connection = open(dir)?;
        // The log is folded in when it is long, not by each call that ends: that would wait for the disk.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        insert(&mut connection, dir, rows)
    })
}

/// Opens the journal for looking at it, with what waited taken in; nothing if there is none.
pub(crate) fn read<T>(
    dir: &Path,
    look: impl Fn(&Connection) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    if dir.symlink_metadata().is_err() {
        return Ok(None);
    }
    let looked = anew_if_corrupt(dir, || {
        let mut connection = open(dir)?;
        insert(&mut connection, dir, &[])?;
        look(&connection)
    });
    looked.map(Some)
}

/// Does something with the journal; where it turns out to be corrupt, once more with a new one.
fn anew_if_corrupt<T>(dir: &Path, work: impl Fn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let inode = |path: &Path| path.symlink_metadata().map(|data| data.ino()).ok();
    let before = inode(&dir.join(FILE_NAME));
    match work() {
        Err(error) if is_corrupt(&error) => {
            let lock = pending::open_own(dir, LOCK_NAME, OFlags::RDWR | OFlags::CREATE)?;
            lock.lock()?;
            // Another process may have been quicker, and this is its new file then.
            if inode(&dir.join(FILE_NAME)) == before {
                set_aside(dir)?;
            }
            drop(lock);
            work()
        }
        done => done,
    }
}

fn is_corrupt(error: &anyhow::Error) -> bool {
    let code = error
        .downcast_ref::<rusqlite::Error>()
        .and_then(rusqlite::Error::sqlite_error_code);
    matches!(
        code,
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}

/// Gives a corrupt journal another name. Its log is of no use without it.
fn set_aside(dir: &Path) -> anyhow::Result<()> {
    let aside = dir.join(format!("{ASIDE_PREFIX}{}", now_ms()));
    std::fs::rename(dir.join(FILE_NAME), &aside)?;
    for end in ["-wal", "-shm"] {
        drop(std::fs::remove_file(dir.join(format!("{FILE_NAME}{end}"))));
    }
    tracing::warn!("journal: it was corrupt, and is now `{}`", aside.display());
    let names =
        std::fs::read_dir(dir)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut old: Vec<String> = names
        .filter(|name| name.starts_with(ASIDE_PREFIX))
        .collect();
    old.sort();
    for name in old.iter().rev().skip(KEPT_ASIDE) {
        drop(std::fs::remove_file(dir.join(name)));
    }
    Ok(())
}

fn open(dir: &Path) -> anyhow::Result<Connection> {
    let path = dir.join(FILE_NAME);
    make(dir, &path).with_context(|| format!("`{}`", path.display()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite refuses a link anywhere in a path, and the user's directories may well be behind one.
    let real = dir.canonicalize()?.join(FILE_NAME);
    let connection = Connection::open_with_flags(real, flags)?;
    connection.busy_timeout(BUSY)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version {
        VERSION => {}
        0 => {
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.execute_batch(&format!("BEGIN IMMEDIATE;{TABLES}COMMIT;"))?;
        }
        newer => bail!(
            "`{}` is of version {newer}, which is newer than this program",
            path.display()
        ),
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    Ok(connection)
}

/// Makes the directory and an empty file, which nobody else may read, unless they are there.
fn make(dir: &Path, path: &PathBuf) -> anyhow::Result<()> {
    match path.symlink_metadata() {
        Ok(data) if data.is_file() => return Ok(()),
        Ok(_) => bail!("is not a file"),
        Err(_) => {}
    }
    pending::make_dir(dir)?;
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

fn insert(connection: &mut Connection, dir: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let waiting = pending::take(dir);
    let waited = waiting.iter().flat_map(|waiting| &waiting.rows);
    for row in waited.chain(rows) {
        match row {
            Row::Call(call) => insert_call(&transaction, call)?,
            Row::Reading(reading) => insert_reading(&transaction, reading)?,
        }
    }
    if transaction.last_insert_rowid() % PRUNE_EVERY == PRUNE_EVERY - 1 {
        prune(&transaction)?;
    }
    transaction.commit()?;
    if let Some(waiting) = waiting {
        waiting.forget();
    }
    Ok(())
}

fn insert_call(connection: &Connection, row: &CallRow) -> rusqlite::Result<()> {
    // SQLite has signed numbers only; no size comes near the difference.
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let max = |name: &str| row.max(name).map(number);
    connection.execute(
        "INSERT OR IGNORE INTO call (key, at_ms, root, tool, strategy, ending, limit_name, max_lines, max_bytes, max_chars,
            max_tokens, max_line_chars, max_result_chars, lines_before, lines_after, bytes_before, bytes_after,
            tokens_before, tokens_after, is_estimated, spill)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            row.key,
            row.at_ms,
            row.root,
            row.tool,
            row.strategy,
            row.ending,
            row.limit,
            max("max_lines"),
            max("max_bytes"),
            max("max_chars"),
            max("max_tokens"),
            max("max_line_chars"),
            max("max_result_chars"),
            number(row.lines_before),
            number(row.lines_after),
            number(row.bytes_before),
            number(row.bytes_after),
            row.tokens_before.map(number),
            row.tokens_after.map(number),
            row.is_estimated,
            row.spill,
        ],
    )?;
    Ok(())
}

fn insert_reading(connection: &Connection, row: &ReadingRow) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR IGNORE INTO reading (key, at_ms, root, spill, tool) VALUES (?, ?, ?, ?, ?)",
        params![row.key, row.at_ms, row.root, row.spill, row.by],
    )?;
    Ok(())
}

/// Forgets what is old, or too much.
fn prune(connection: &Connection) -> rusqlite::Result<()> {
    let oldest = now_ms() - KEPT_DAYS * DAY_MS;
    connection.execute(
        "DELETE FROM call WHERE at_ms < ?1 OR id <= (SELECT max(id) FROM call) - ?2",
        params![oldest, KEPT_CALLS],
    )?;
    connection.execute(
        "DELETE FROM reading WHERE at_ms < max(?1, (SELECT min(at_ms) FROM call))",
        params![oldest],
    )?;
    Ok(())
}
