//! Writes as many of the best definitions as there is room for: files in the order of their best one, definitions in the
//! order of the text, each as its line number and its signature, below what it is inside of.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::Arc;

use super::choice::Chosen;
use super::sources::{MOST_BYTES, Source, Sources, hash};
use crate::sandbox::{Root, one_line, shown};

/// The most chars of a signature that are shown.
const SIGNATURE_CHARS: usize = 160;

/// How many definitions are tried one by one once no more fit in a row: a short one may fit where a long one did not.
const TRIES: usize = 24;

/// How deep definitions are shown inside each other.
const MOST_DEPTH: usize = 6;

/// What is shown of a map.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) definitions: usize,
}

/// Chooses how many definitions are drawn.
pub(super) struct Drawing<'s> {
    root: Arc<Root>,
    sources: &'s Sources,
    chosen: &'s [Chosen],
    /// The definitions that may be shown, by file.
    by_file: BTreeMap<u32, Vec<u32>>,
    /// Signatures of the files that were read, by file and definition.
    signatures: BTreeMap<u32, BTreeMap<u32, String>>,
}

impl<'s> Drawing<'s> {
    pub(super) fn new(root: &Arc<Root>, sources: &'s Sources, chosen: &'s [Chosen]) -> Drawing<'s> {
        let mut by_file: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for chosen in chosen {
            by_file
                .entry(chosen.file)
                .or_default()
                .push(chosen.definition);
        }
        Drawing {
            root: Arc::clone(root),
            sources,
            chosen,
            by_file,
            signatures: BTreeMap::new(),
        }
    }

    /// Returns the most that `fits`.
    pub(super) fn most(&mut self, fits: impl Fn(&Drawn) -> bool) -> Drawn {
        let mut low = 0;
        let mut high = 8;
        let mut best = Drawn::default();
        let try_first = |drawing: &mut Self, count: usize| {
            let drawn = drawing.draw(&drawing.chosen[..count]);
            fits(&drawn).then_some(drawn)
        };
        // Only the files of what is tried are read, so the start is small.
        while low < self.chosen.len() {
            let count = high.min(self.chosen.len());
            match try_first(self, count) {
                Some(drawn) => (best, low) = (drawn, count),
                None => break,
            }
            high *= 2;
        }
        let mut high = high.min(self.chosen.len() + 1);
        while low + 1 < high {
            let count = low.midpoint(high);
            match try_first(self, count) {
                Some(drawn) => (best, low) = (drawn, count),
                None => high = count,
            }
        }
        let mut picked = self.chosen[..low].to_vec();
        for &next in self.chosen.iter().skip(low).take(TRIES) {
            picked.push(next);
            let drawn = self.draw(&picked);
            match fits(&drawn) {
                true => best = drawn,
                false => drop(picked.pop()),
            }
        }
        best
    }

    fn draw(&mut self, chosen: &[Chosen]) -> Drawn {
        let mut order = Vec::new();
        let mut files: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut definitions = 0;
        for chosen in chosen {
            self.read(chosen.file);
            let signatures = self.signatures.get(&chosen.file);
            if !signatures.is_some_and(|known| known.contains_key(&chosen.definition)) {
                continue;
            }
            definitions += 1;
            let numbers = files.entry(chosen.file).or_insert_with(|| {
                order.push(chosen.file);
                BTreeSet::new()
            });
            let source = &self.sources.files[chosen.file as usize];
            numbers.extend(with_outer(source, chosen.definition));
        }
        let mut text = String::new();
        for file in order {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let source = &self.sources.files[file as usize];
            text.push_str(&one_line(&shown(&source.path)));
            for &number in &files[&file] {
                let Some(signature) = self
                    .signatures
                    .get(&file)
                    .and_then(|known| known.get(&number))
                else {
                    continue;
                };
                let depth = with_outer(source, number).count() - 1;
                let line = source.definitions[number as usize].line + 1;
                let indent = "  ".repeat(depth);
                text.push_str(&format!("\n{line}: {indent}{signature}"));
            }
        }
        Drawn { text, definitions }
    }

    /// Reads the signatures of a file that may be shown. A file that changed since it was parsed has none.
    fn read(&mut self, file: u32) {
        if self.signatures.contains_key(&file) {
            return;
        }
        let source = &self.sources.files[file as usize];
        let mut content = Vec::new();
        let opened = self.root.open_seen(&source.path);
        let read = opened.and_then(|opened| opened.take(MOST_BYTES + 1).read_to_end(&mut content));
        let mut signatures = BTreeMap::new();
        if read.is_ok() && hash(&content) == source.content {
            let wanted = self.by_file.get(&file).into_iter().flatten();
            for number in wanted.flat_map(|&number| with_outer(source, number)) {
                let definition = &source.definitions[number as usize];
                let start = definition.start as usize;
                let bytes = content.get(start..start + usize::from(definition.bytes));
                let name = self.sources.names.name(definition.name);
                signatures
                    .entry(number)
                    .or_insert_with(|| signature(bytes.unwrap_or_default(), name));
            }
        }
        self.signatures.insert(file, signatures);
    }
}

/// Returns a definition and what it is inside of, from within.
fn with_outer(source: &Source, number: u32) -> impl Iterator<Item = u32> {
    let outer = |number: &u32| source.definitions[*number as usize].within.checked_sub(1);
    std::iter::successors(Some(number), outer).take(MOST_DEPTH)
}

/// Returns a signature on one line and not at any length. Where it does not have the name, as that of a `typedef` whose name
/// is at its end, the name is added.
fn signature(bytes: &[u8], name: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = text
        .trim_end_matches(|c: char| "{:=;\\,".contains(c) || c.is_whitespace())
        .replace("( ", "(")
        .replace(", )", ")")
        .replace(",)", ")");
    let name = String::from_utf8_lossy(name);
    if !text.contains(&*name) {
        text = format!("{text} ... {name}");
    }
    match text.char_indices().nth(SIGNATURE_CHARS) {
        Some((at, _)) => format!("{}...", text[..at].trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_one_short_line() {
        let of = |text: &str, name: &str| signature(text.as_bytes(), name.as_bytes());
        assert_eq!(
            of("pub fn a(\n    b: u8,\n    c: u8,\n) -> u8 {", "a"),
            "pub fn a(b: u8, c: u8) -> u8"
        );
        assert_eq!(of("class A:\n", "A"), "class A");
        assert_eq!(
            of("typedef struct {", "list_t"),
            "typedef struct ... list_t"
        );
        let long = format!("fn long({})", "x".repeat(500));
        assert_eq!(of(&long, "long").len(), SIGNATURE_CHARS + 3);
        assert_eq!(of("fn a\u{a0}() \u{ff}", "a"), "fn a () \u{ff}");
    }
}
