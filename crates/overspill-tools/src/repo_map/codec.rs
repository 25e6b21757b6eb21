//! The tags of a root's files as bytes.
//!
//! Numbers are short where they are small, names stand once, and a path names only what differs from the one before it. In
//! front stand a mark, the fingerprint of what made the tags, and a sum of all that follows. Reading believes nothing: every
//! length and every number is checked, and what does not add up is no cache.

use super::language::{Kind, LANGUAGES, Visibility};
use super::names::Names;
use super::sources::{Source, Sources, Stamp, State};
use super::tags::Definition;

/// Says what file it is.
const MARK: &[u8; 8] = b"ovspmap1";

/// Bytes before what the sum is of.
const HEAD_BYTES: usize = 24;

/// Returns files as bytes. Only names that one of them has are kept.
pub(super) fn encode(
    sources: &Sources,
    other: &[Source],
    fingerprint: u64,
    root: &[u8],
) -> Vec<u8> {
    let mut files: Vec<&Source> = sources.files.iter().chain(other).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    // A file that changed is there as it was too.
    files.dedup_by(|later, first| later.path == first.path);
    let mut numbers = vec![0_u32; sources.names.len()];
    let mut names: Vec<u32> = Vec::new();
    let mut body = Writer::default();
    body.number(files.len() as u64);
    let mut before: &[u8] = b"";
    for file in files {
        let shared = before.iter().zip(&file.path).take_while(|(a, b)| a == b);
        let shared = shared.count();
        body.number(shared as u64);
        body.bytes(&file.path[shared..]);
        before = &file.path;
        body.file(file, |name| {
            let number = &mut numbers[name as usize];
            if *number == 0 {
                names.push(name);
                *number = names.len() as u32;
            }
            u64::from(*number - 1)
        });
    }
    let mut all = Writer::default();
    all.bytes(root);
    all.number(names.len() as u64);
    for name in names {
        let (name, family) = sources.names.entry(name as usize);
        all.number(u64::from(family));
        all.bytes(name);
    }
    let mut bytes = MARK.to_vec();
    bytes.extend(fingerprint.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(all.0);
    bytes.extend(body.0);
    let sum = sum(&bytes[HEAD_BYTES..]);
    bytes[16..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads files; nothing if the bytes are not whole, not of this fingerprint or not of this root.
pub(super) fn decode(bytes: &[u8], fingerprint: u64, root: &[u8]) -> Option<Sources> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let is_ours = head[..8] == *MARK
        && head[8..16] == fingerprint.to_le_bytes()
        && head[16..] == sum(rest).to_le_bytes();
    let mut reader = Reader(rest);
    if !is_ours || reader.bytes()? != root {
        return None;
    }
    let mut names = Names::default();
    for _ in 0..reader.count()? {
        let family = u8::try_from(reader.number()?).ok()?;
        names.push(reader.bytes()?, family)?;
    }
    let mut files: Vec<Source> = Vec::new();
    for _ in 0..reader.count()? {
        let shared = usize::try_from(reader.number()?).ok()?;
        let before: &[u8] = files.last().map_or(b"", |file| &file.path);
        let path = [before.get(..shared)?, reader.bytes()?].concat();
        if path.as_slice() <= before && !files.is_empty() {
            return None;
        }
        files.push(reader.file(path, names.len() as u64)?);
    }
    reader.0.is_empty().then_some(Sources { names, files })
}

/// Returns a sum that any damage changes.
fn sum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    words.fold(bytes.len() as u64, |sum, word| {
        let mixed = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 29)
    })
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    /// Writes a number, seven bits a byte.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn file(&mut self, file: &Source, mut number: impl FnMut(u32) -> u64) {
        self.number(u64::from(file.stamp.is_some()));
        if let Some(stamp) = file.stamp {
            self.number(stamp.bytes);
            self.number(stamp.modified as u64);
            self.number(stamp.changed as u64);
            self.number(stamp.inode);
        }
        self.number(file.content.0);
        self.number(file.content.1);
        self.number(
            State::ALL
                .iter()
                .position(|state| *state == file.state)
                .unwrap_or(0) as u64,
        );
        self.number(file.language as u64);
        self.number(u64::from(file.is_generated));
        self.number(file.definitions.len() as u64);
        for definition in &file.definitions {
            let kind = Kind::ALL.iter().position(|kind| *kind == definition.kind);
            self.number(number(definition.name));
            self.number(kind.unwrap_or(0) as u64);
            let said = Visibility::ALL
                .iter()
                .position(|said| *said == definition.visibility);
            self.number(said.unwrap_or(0) as u64);
            self.number(u64::from(definition.line));
            self.number(u64::from(definition.start));
            self.number(u64::from(definition.bytes));
            self.number(u64::from(definition.within));
        }
        self.number(file.references.len() as u64);
        for &(name, count) in &file.references {
            self.number(number(name));
            self.number(u64::from(count));
        }
    }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// Reads how many things follow. Each has a byte at least, so a number beyond that is none.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn file(&mut self, path: Vec<u8>, names: u64) -> Option<Source> {
        let stamp = match self.number()? {
            0 => None,
            _ => Some(Stamp {
                bytes: self.number()?,
                modified: self.number()? as i64,
                changed: self.number()? as i64,
                inode: self.number()?,
            }),
        };
        let content = (self.number()?, self.number()?);
        let state = *State::ALL.get(usize::try_from(self.number()?).ok()?)?;
        let language = usize::try_from(self.number()?)
            .ok()
            .filter(|at| *at < LANGUAGES.len())?;
        let is_generated = self.number()? != 0;
        let count = self.count()?;
        let mut definitions = Vec::with_capacity(count.min(1024));
        for before in 0..count {
            definitions.push(self.definition(names, before)?);
        }
        let count = self.count()?;
        let mut references = Vec::with_capacity(count.min(4096));
        for _ in 0..count {
            references.push((self.name(names)?, self.small()?));
        }
        Some(Source {
            path: path.into(),
            stamp,
            content,
            state,
            language,
            is_generated,
            definitions,
            references,
        })
    }

    fn name(&mut self, names: u64) -> Option<u32> {
        let name = self.number().filter(|name| *name < names)?;
        u32::try_from(name).ok()
    }

    /// Reads a definition; what it is inside of stands before it.
    fn definition(&mut self, names: u64, before: usize) -> Option<Definition> {
        Some(Definition {
            name: self.name(names)?,
            kind: *Kind::ALL.get(usize::try_from(self.number()?).ok()?)?,
            visibility: *Visibility::ALL.get(usize::try_from(self.number()?).ok()?)?,
            line: self.small().filter(|line| *line < u32::MAX)?,
            start: self.small()?,
            bytes: u16::try_from(self.number()?).ok()?,
            within: self.small().filter(|within| *within as usize <= before)?,
        })
    }
}
