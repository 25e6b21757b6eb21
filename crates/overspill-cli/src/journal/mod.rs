//! The journal: the figures of each call, for `overspill stats`. What a tool said is never in it.
//!
//! It is one SQLite file a user, in the directory for state, with the root as a column: so nothing is written into a project
//! because a command was run there, a read-only project is counted too, and cleaning the store loses no figure.
//!
//! A call must neither wait for its record nor fail by it. [`Recorder`] hands it to a thread, which counts tokens and writes;
//! when the recorder is dropped, after the answer is printed, the thread is waited for, but not for long. [`database`] is the
//! file; where it is busy, or the time is over, rows go to [`pending`], from where the next writer takes them. Trouble is a
//! line in the log.

pub(crate) mod database;
mod pending;
mod row;

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use overspill::{Call, Encoding, Ending, Journal, SpillId, Text};

use self::row::{CallRow, ReadingRow, Row};

/// How many notes may wait to be written. More are dropped, since memory is bounded too.
const QUEUED: usize = 1024;

/// How long the end of the program waits for what is not written yet.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of an output is counted; what is longer is estimated from that. Counting takes about 16 ms a MiB, and the end of
/// the program waits for it.
const COUNTED_BYTES: u64 = 1 << 20;

/// About how many bytes a token has, where there is no time to count.
const BYTES_A_TOKEN: u64 = 4;

/// Notes calls in the journal of the user.
#[derive(Debug)]
pub(crate) struct Recorder {
    dir: PathBuf,
    root: String,
    /// Started by the first note.
    writer: OnceLock<Arc<Writer>>,
}

/// What the callers share with the thread that writes.
#[derive(Debug, Default)]
struct Writer {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    notes: VecDeque<Note>,
    /// What the thread is about to write, as it would be written at once.
    in_hand: Vec<Row>,
    stage: Stage,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    /// More may come.
    #[default]
    Open,
    /// Nothing more comes.
    Closing,
    /// The thread has ended.
    Over,
}

/// What the thread is told.
#[derive(Debug)]
enum Note {
    /// Load a vocabulary, which takes about 65 ms.
    Prepare(Encoding),
    Row(Row),
    /// A row whose tokens are to be counted.
    Cut(Box<CallRow>, Material),
}

/// What the tokens of a cut are counted from. It is forgotten when they are.
#[derive(Debug)]
struct Material {
    encoding: Encoding,
    whole: Whole,
    shown: String,
}

#[derive(Debug)]
enum Whole {
    Text(String),
    File(File),
    Gone,
}

impl Recorder {
    /// Returns a recorder of calls in a root. Nothing is touched before the first.
    pub(crate) fn new(dir: PathBuf, root: &Path) -> Recorder {
        Recorder {
            dir,
            root: root.to_string_lossy().into_owned(),
            writer: OnceLock::new(),
        }
    }

    fn tell(&self, note: Note) {
        let writer = self.writer.get_or_init(|| Writer::start(self.dir.clone()));
        let mut queue = writer.lock();
        if queue.notes.len() < QUEUED {
            queue.notes.push_back(note);
            writer.changed.notify_all();
        } else {
            tracing::warn!("journal: a call is not noted: too many wait");
        }
    }
}

impl Journal for Recorder {
    fn bounded(&self, call: Call<'_>) {
        let row = CallRow::new(&call, &self.root, now_ms());
        let Ending::Cut { whole, shown, .. } = call.ending else {
            return self.tell(Note::Row(Row::Call(row)));
        };
        let material = Material {
            encoding: call.limits.token_encoding(),
            whole: match whole {
                Text::Here(text) => {
                    let end = usize::try_from(COUNTED_BYTES).unwrap_or(usize::MAX);
                    Whole::Text(text[..text.floor_char_boundary(end)].to_owned())
                }
                Text::Saved(file) => Whole::File(file),
                _ => Whole::Gone,
            },
            shown: shown.to_owned(),
        };
        self.tell(Note::Cut(Box::new(row), material));
    }

    fn read_again(&self, spill: &SpillId, by: &str) {
        let reading = ReadingRow::new(spill, by, &self.root, now_ms());
        self.tell(Note::Row(Row::Reading(reading)));
    }

    fn expect_cut(&self, encoding: Encoding) {
        self.tell(Note::Prepare(encoding));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else {
            return;
        };
        let mut queue = writer.lock();
        if queue.stage == Stage::Open {
            queue.stage = Stage::Closing;
            writer.changed.notify_all();
        }
        let is_busy = |queue: &mut Queue| queue.stage != Stage::Over;
        let Ok((mut queue, _)) = writer.changed.wait_timeout_while(queue, PATIENCE, is_busy) else {
            return;
        };
        let left = queue.left();
        drop(queue);
        keep_for_later(&self.dir, &left);
    }
}

impl Writer {
    fn start(dir: PathBuf) -> Arc<Writer> {
        let writer = Arc::new(Writer::default());
        let own = Arc::clone(&writer);
        let thread = std::thread::Builder::new().name("journal".to_owned());
        if thread.spawn(move || own.write_all(&dir)).is_err() {
            // What is noted waits for another process then.
            writer.lock().stage = Stage::Over;
        }
        writer
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nobody leaves the queue half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what comes until nothing more can: what waits together is written together.
    fn write_all(&self, dir: &Path) {
        loop {
            let queue = self.lock();
            let is_idle = |queue: &mut Queue| queue.notes.is_empty() && queue.stage == Stage::Open;
            let Ok(mut queue) = self.changed.wait_while(queue, is_idle) else {
                return;
            };
            let notes = std::mem::take(&mut queue.notes);
            if notes.is_empty() {
                queue.stage = Stage::Over;
                self.changed.notify_all();
                return;
            }
            queue.in_hand = notes.iter().filter_map(Note::at_once).collect();
            drop(queue);
            let rows: Vec<Row> = notes.into_iter().filter_map(Note::settled).collect();
            write(dir, &rows);
            self.lock().in_hand.clear();
        }
    }
}

impl Queue {
    /// Returns what is not written, as far as it is known.
    fn left(&mut self) -> Vec<Row> {
        let mut left = std::mem::take(&mut self.in_hand);
        left.extend(self.notes.drain(..).filter_map(|note| note.at_once()));
        left
    }
}

/// Writes rows into the database, or to those that wait.
fn write(dir: &Path, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    if let Err(trouble) = database::write(dir, rows) {
        tracing::debug!("journal: {trouble:#}; the rows wait in a file beside it");
        keep_for_later(dir, rows);
    }
}

/// Has rows wait for another process.
fn keep_for_later(dir: &Path, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    if let Err(trouble) = pending::append(dir, rows) {
        tracing::warn!("journal: {} calls are not noted: {trouble:#}", rows.len());
    }
}

impl Note {
    /// Returns the row, its tokens counted.
    fn settled(self) -> Option<Row> {
        match self {
            Note::Prepare(encoding) => {
                let _ = encoding.count("a");
                None
            }
            Note::Row(row) => Some(row),
            Note::Cut(mut row, material) => {
                material.count(&mut row);
                Some(Row::Call(*row))
            }
        }
    }

    /// Returns the row as it is without the time to count.
    fn at_once(&self) -> Option<Row> {
        match self {
            Note::Prepare(_) => None,
            Note::Row(row) => Some(row.clone()),
            Note::Cut(row, _) => {
                let mut row = row.clone();
                row.tokens_before = Some(row.bytes_before / BYTES_A_TOKEN);
                row.tokens_after = Some(row.bytes_after / BYTES_A_TOKEN);
                row.is_estimated = true;
                Some(Row::Call(*row))
            }
        }
    }
}

impl Material {
    fn count(self, row: &mut CallRow) {
        let after = self.encoding.count(&self.shown);
        let tally = match self.whole {
            Whole::Text(text) => self.encoding.tally(text.as_bytes(), COUNTED_BYTES).ok(),
            Whole::File(file) => self.encoding.tally(file, COUNTED_BYTES).ok(),
            Whole::Gone => None,
        };
        let (tokens, bytes) = match tally {
            Some(tally) => (tally.tokens, tally.bytes),
            // What is shown is the best sample there is.
            None => (after, self.shown.len() as u64),
        };
        let before = row.bytes_before;
        row.is_estimated = bytes < before;
        row.tokens_before = Some(match row.is_estimated {
            true => scaled(tokens, before, bytes),
            false => tokens,
        });
        row.tokens_after = Some(after);
    }
}

/// Returns the tokens of `all` bytes of which `bytes` have `tokens`.
fn scaled(tokens: u64, all: u64, bytes: u64) -> u64 {
    let scaled = u128::from(tokens) * u128::from(all) / u128::from(bytes.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_goes_by_the_part_that_was_counted() {
        assert_eq!(scaled(10, 1000, 100), 100);
        assert_eq!(scaled(10, 1000, 0), 10_000);
        assert_eq!(scaled(u64::MAX, u64::MAX, 1), u64::MAX);
    }
}
