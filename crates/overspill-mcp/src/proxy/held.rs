//! A message as it came: in memory while it is small, in a file that nobody else sees when it is not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// More than this of a message goes to a file.
const MEMORY_BYTES: usize = 1 << 20;

/// More than this is no message.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// How much of a file is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The bytes of a message, without the newline that ended it.
#[derive(Debug)]
pub(crate) enum Held {
    Memory(Vec<u8>),
    File { file: File, len: u64 },
}

impl Held {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Held::Memory(bytes) => bytes.len() as u64,
            Held::File { len, .. } => *len,
        }
    }

    /// Returns what reads a part of it.
    pub(crate) fn part(&self, range: Range<u64>) -> Part<'_> {
        Part {
            held: self,
            at: range.start.min(self.len()),
            end: range.end.min(self.len()),
        }
    }

    /// Returns what reads a part of it piece by piece; what is in memory is not copied for it.
    pub(crate) fn pieces(&self, range: Range<u64>) -> Pieces<'_> {
        match self {
            Held::Memory(bytes) => {
                let end = range.end.min(self.len()) as usize;
                Pieces::Memory(&bytes[end.min(range.start as usize)..end])
            }
            Held::File { .. } => {
                Pieces::File(BufReader::with_capacity(CHUNK_BYTES, self.part(range)))
            }
        }
    }

    /// Returns a short part as bytes.
    pub(crate) fn bytes(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.part(range).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Reads a part of a message.
#[derive(Debug)]
pub(crate) struct Part<'h> {
    held: &'h Held,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let wanted = out.len().min((self.end - self.at) as usize);
        let out = &mut out[..wanted];
        let len = match self.held {
            Held::Memory(bytes) => {
                let from = self.at as usize;
                out.copy_from_slice(&bytes[from..from + wanted]);
                wanted
            }
            Held::File { file, .. } => file.read_at(out, self.at)?,
        };
        self.at += len as u64;
        Ok(len)
    }
}

/// Reads a part of a message piece by piece.
#[derive(Debug)]
pub(crate) enum Pieces<'h> {
    Memory(&'h [u8]),
    File(BufReader<Part<'h>>),
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Pieces::Memory(bytes) => bytes.read(out),
            Pieces::File(file) => file.read(out),
        }
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Pieces::Memory(bytes) => Ok(bytes),
            Pieces::File(file) => file.fill_buf(),
        }
    }

    fn consume(&mut self, bytes: usize) {
        match self {
            Pieces::Memory(held) => *held = &held[bytes..],
            Pieces::File(file) => file.consume(bytes),
        }
    }
}

/// Takes a message as it comes.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Where a large message is put.
    scratch: PathBuf,
    state: State,
    len: u64,
}

#[derive(Debug)]
enum State {
    Memory(Vec<u8>),
    File(File),
    /// It is too large, or there is no room: its first and its last bytes, which may tell what it answers.
    Lost {
        why: String,
        start: Vec<u8>,
        end: Vec<u8>,
    },
}

/// What became of a message.
#[derive(Debug)]
pub(crate) enum Taken {
    Message(Held),
    Lost {
        why: String,
        start: Vec<u8>,
        end: Vec<u8>,
    },
}

impl Holder {
    pub(crate) fn new(scratch: &Path) -> Holder {
        Holder {
            scratch: scratch.to_owned(),
            state: State::Memory(Vec::new()),
            len: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        match &mut self.state {
            State::Memory(held) if held.len() + bytes.len() <= MEMORY_BYTES => {
                held.extend_from_slice(bytes);
            }
            State::Memory(held) => {
                let held = std::mem::take(held);
                self.state = match spilled(&self.scratch, &held, bytes) {
                    Ok(file) => State::File(file),
                    Err(error) => lost(&error.to_string(), &held, bytes),
                };
            }
            State::File(_) if self.len > MOST_BYTES => {
                self.lose(&format!("it is larger than {MOST_BYTES} bytes"), bytes);
            }
            State::File(file) => {
                if let Err(error) = file.write_all(bytes) {
                    self.lose(&error.to_string(), bytes);
                }
            }
            State::Lost { end, .. } => push_end(end, bytes),
        }
    }

    fn lose(&mut self, why: &str, bytes: &[u8]) {
        let mut start = vec![0; CHUNK_BYTES];
        let read = match &self.state {
            State::File(file) => file.read_at(&mut start, 0).unwrap_or(0),
            _ => 0,
        };
        start.truncate(read);
        self.state = lost(why, &start, bytes);
    }

    /// Ends the message, and is ready for the next.
    pub(crate) fn end(&mut self) -> Taken {
        let len = std::mem::take(&mut self.len);
        match std::mem::replace(&mut self.state, State::Memory(Vec::new())) {
            State::Memory(bytes) => Taken::Message(Held::Memory(bytes)),
            State::File(file) => Taken::Message(Held::File { file, len }),
            State::Lost { why, start, end } => Taken::Lost { why, start, end },
        }
    }
}

fn spilled(scratch: &Path, held: &[u8], bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(scratch)?;
    file.write_all(held)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn lost(why: &str, start: &[u8], bytes: &[u8]) -> State {
    let mut end = Vec::new();
    push_end(&mut end, bytes);
    State::Lost {
        why: why.to_owned(),
        start: start[..start.len().min(CHUNK_BYTES)].to_vec(),
        end,
    }
}

/// Keeps the last bytes that came.
fn push_end(end: &mut Vec<u8>, bytes: &[u8]) {
    const END_BYTES: usize = 4 << 10;
    end.extend_from_slice(&bytes[bytes.len().saturating_sub(END_BYTES)..]);
    if end.len() > END_BYTES {
        end.drain(..end.len() - END_BYTES);
    }
}
