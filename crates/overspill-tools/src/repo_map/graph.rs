//! Who refers to whom: files point to names, and names to the files that define them.
//!
//! A reference is held by its name and not drawn to every file that defines it, so that the graph is as large as the text
//! and not its square. A name that is private to a directory is another one there. Everything is added up in the order of
//! paths and of the text, whatever the numbers of names are, so that the same files give the same sums.

use std::collections::HashMap;

use super::language::{Kind, LANGUAGES, Reach, reach};
use super::names::Names;
use super::sources::{Source, Sources};
use super::tags::Definition;

/// A name that more files define says nothing about any of them.
const MOST_DEFINERS: u32 = 50;

/// From how many bytes on a name is unlikely to be met by chance.
const TELLING_BYTES: usize = 5;

/// How much more a name counts that is one of several words, and how much less one that is short or private.
const COMPOUND: f64 = 2.0;
const SHORT: f64 = 0.3;
const PRIVATE: f64 = 0.2;

/// How much less a method or a macro counts whose name is a single word, or one that every library has.
const PLAIN: f64 = 0.1;

/// Names of several words that are mostly those of a language's own library.
const EVERYDAY: [&[u8]; 48] = [
    b"as_bytes",
    b"as_mut",
    b"as_path",
    b"as_ref",
    b"as_slice",
    b"as_str",
    b"and_then",
    b"ends_with",
    b"for_each",
    b"from_str",
    b"get_mut",
    b"into_iter",
    b"is_dir",
    b"is_empty",
    b"is_err",
    b"is_file",
    b"is_none",
    b"is_ok",
    b"is_some",
    b"iter_mut",
    b"map_err",
    b"ok_or",
    b"or_else",
    b"read_to_end",
    b"read_to_string",
    b"starts_with",
    b"strip_prefix",
    b"strip_suffix",
    b"to_owned",
    b"to_string",
    b"to_vec",
    b"try_from",
    b"try_into",
    b"unwrap_or",
    b"with_capacity",
    b"write_all",
    b"write_fmt",
    b"addEventListener",
    b"endsWith",
    b"forEach",
    b"hashCode",
    b"hasOwnProperty",
    b"indexOf",
    b"startsWith",
    b"toLowerCase",
    b"toString",
    b"isEmpty",
    b"getName",
];

/// The graph of a code base.
pub(super) struct Graph {
    /// For each file, the names it refers to, as places in `names`, with how strongly.
    pub(super) references: Vec<Vec<(u32, f64)>>,
    /// For each file, the places of the names it defines for others, in the order of the text, each once.
    pub(super) definitions: Vec<Vec<u32>>,
    /// The names that a file defines for others.
    pub(super) names: Vec<Name>,
    places: Places,
}

/// A name that a file defines for others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Name {
    /// How many files define it.
    pub(super) definers: u32,
    /// How much a reference to it counts.
    weight: f64,
    /// Whether it is ever more than a method or a macro of a name that others have too.
    is_free: bool,
    /// The last file that was seen to define it.
    last: u32,
}

/// Where names are in the graph.
#[derive(Default)]
struct Places {
    /// For each name of the code base, its place plus one; 0 for none.
    anywhere: Vec<u32>,
    /// For each name, whether it is private to some directory.
    is_private: Vec<bool>,
    /// Directories that names are private to, numbered.
    homes: HashMap<Box<[u8]>, u32>,
    /// Names that are private to a directory.
    below: HashMap<(u32, u32), u32>,
}

impl Places {
    /// Returns the directories above a path that names are private to, the nearest first.
    fn homes_above(&self, path: &[u8]) -> Vec<u32> {
        fn above<'p>(dir: &&'p [u8]) -> Option<&'p [u8]> {
            let dir = *dir;
            match memchr::memrchr(b'/', dir) {
                Some(slash) => Some(&dir[..slash]),
                None => (!dir.is_empty()).then_some(&dir[..0]),
            }
        }
        std::iter::successors(Some(path), above)
            .filter_map(|dir| self.homes.get(dir).copied())
            .collect()
    }

    /// Returns the place of a name as a file sees it: the nearest one that is private to a directory above, else the public.
    fn seen(&self, name: u32, homes: &[u32]) -> Option<u32> {
        if self.is_private[name as usize] {
            let nearest = homes.iter().find_map(|home| self.below.get(&(name, *home)));
            if let Some(place) = nearest {
                return Some(*place);
            }
        }
        self.anywhere[name as usize].checked_sub(1)
    }
}

impl Graph {
    /// Returns the graph of files. `interest` tells how much more a name counts that the call asks for.
    pub(super) fn new(sources: &Sources, interest: impl Fn(u32) -> f64) -> Graph {
        let count = sources.names.len();
        let mut graph = Graph {
            references: Vec::with_capacity(sources.files.len()),
            definitions: Vec::with_capacity(sources.files.len()),
            names: Vec::new(),
            places: Places {
                anywhere: vec![0; count],
                is_private: vec![false; count],
                ..Places::default()
            },
        };
        for (number, source) in (1..).zip(&sources.files) {
            let own = graph.define(sources, number, source, &interest);
            graph.definitions.push(own);
        }
        for name in &mut graph.names {
            name.weight /= f64::from(name.definers).sqrt();
            if !name.is_free {
                name.weight *= PLAIN;
            }
        }
        for own in &mut graph.definitions {
            own.retain(|place| graph.names[*place as usize].definers <= MOST_DEFINERS);
        }
        let mut owners = vec![0; count];
        for (number, source) in (1..).zip(&sources.files) {
            // What a file defines it means itself.
            for definition in &source.definitions {
                owners[definition.name as usize] = number;
            }
            let is_own = |name: u32| owners[name as usize] == number;
            graph.references.push(graph.refer(source, is_own));
        }
        graph
    }

    /// Returns the place of what a file defines, if others may use it.
    pub(super) fn place(
        &self,
        names: &Names,
        source: &Source,
        definition: &Definition,
    ) -> Option<usize> {
        let place = match reach_of(names, source, definition) {
            Reach::Anywhere => self.places.anywhere[definition.name as usize].checked_sub(1),
            Reach::Below(dir) => {
                let home = self.places.homes.get(dir);
                home.and_then(|home| self.places.below.get(&(definition.name, *home)).copied())
            }
            Reach::Nowhere => None,
        };
        place.map(|place| place as usize)
    }

    /// Enters what a file defines for others.
    fn define(
        &mut self,
        sources: &Sources,
        number: u32,
        source: &Source,
        interest: impl Fn(u32) -> f64,
    ) -> Vec<u32> {
        let mut own = Vec::new();
        for definition in source.definitions.iter().filter(|d| d.kind != Kind::Scope) {
            let next = self.names.len() as u32;
            let name = definition.name;
            let place = match reach_of(&sources.names, source, definition) {
                Reach::Nowhere => continue,
                Reach::Anywhere => {
                    let place = &mut self.places.anywhere[name as usize];
                    if *place == 0 {
                        *place = next + 1;
                    }
                    *place - 1
                }
                Reach::Below(dir) => {
                    self.places.is_private[name as usize] = true;
                    let homes = self.places.homes.len() as u32;
                    let home = *self.places.homes.entry(dir.into()).or_insert(homes);
                    *self.places.below.entry((name, home)).or_insert(next)
                }
            };
            let text = sources.names.name(name);
            if place == next {
                let weight = weight(text) * interest(name);
                self.names.push(Name {
                    weight,
                    ..Name::default()
                });
            }
            let known = &mut self.names[place as usize];
            let is_everyday = match definition.kind {
                Kind::Function if definition.within > 0 => true,
                Kind::Macro => text.iter().all(u8::is_ascii_lowercase),
                _ => false,
            };
            known.is_free |= !is_everyday || (is_compound(text) && !EVERYDAY.contains(&text));
            if known.last != number {
                known.last = number;
                known.definers += 1;
                own.push(place);
            }
        }
        own
    }

    /// Returns what a file refers to outside of itself.
    fn refer(&self, source: &Source, is_own: impl Fn(u32) -> bool) -> Vec<(u32, f64)> {
        let homes = self.places.homes_above(&source.path);
        let outward = source.references.iter().filter(|(name, _)| !is_own(*name));
        let weighed = outward.filter_map(|&(name, count)| {
            let place = self.places.seen(name, &homes)?;
            let known = &self.names[place as usize];
            let is_telling = known.definers <= MOST_DEFINERS;
            is_telling.then(|| (place, f64::from(count).sqrt() * known.weight))
        });
        weighed.collect()
    }
}

fn reach_of<'s>(names: &Names, source: &'s Source, definition: &Definition) -> Reach<'s> {
    let Some(language) = LANGUAGES.get(source.language) else {
        return Reach::Nowhere;
    };
    let name = names.name(definition.name);
    reach(
        language.family,
        &source.path,
        name,
        definition.kind,
        definition.visibility,
    )
}

/// Returns how much a reference to a name counts, by the name alone.
fn weight(name: &[u8]) -> f64 {
    let mut weight = 1.0;
    if name.len() >= TELLING_BYTES && is_compound(name) {
        weight *= COMPOUND;
    }
    if name.len() <= 3 {
        weight *= SHORT;
    }
    if name.starts_with(b"_") {
        weight *= PRIVATE;
    }
    weight
}

/// Tells whether a name is of several words: `several_words`, `SeveralWords`, `severalWords`.
fn is_compound(name: &[u8]) -> bool {
    let inner = name.strip_prefix(b"_").unwrap_or(name);
    let changes = inner
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    changes || memchr::memchr2(b'_', b'-', inner).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_words_are_told_from_one() {
        for name in [
            "several_words",
            "SeveralWords",
            "severalWords",
            "several-words",
        ] {
            assert!(is_compound(name.as_bytes()), "{name}");
        }
        for name in ["one", "One", "ONE", "_one", "one1"] {
            assert!(!is_compound(name.as_bytes()), "{name}");
        }
    }
}
