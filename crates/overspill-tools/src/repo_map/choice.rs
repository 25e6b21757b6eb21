//! The definitions in the order of how much they matter to a call.

use std::cmp::Ordering;

use memchr::memmem;

use super::graph::Graph;
use super::language::Kind;
use super::names::Names;
use super::rank::rank;
use super::sources::Sources;
use super::standing::standing;
use super::tags::Definition;

/// How much of all starts are at the files that the call names, and at those that its query leads to.
const FOCUS: f64 = 0.7;
const QUERY: f64 = 0.5;

/// How much more a name counts that the query names, or that has a word of it.
const NAMED: f64 = 10.0;
const HINTED: f64 = 3.0;

/// How much a definition counts that nobody refers to, beside one that somebody does.
const UNREFERRED: f64 = 1e-6;

/// What a call asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    /// Files and directories, relative to the root, that the work is about.
    pub(super) focus: Vec<Vec<u8>>,
    /// Words of the query, in lower case.
    words: Vec<String>,
    /// The words as they were written.
    written: Vec<String>,
}

/// A definition by its file and its number in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) file: u32,
    pub(super) definition: u32,
    score: f64,
}

impl Wish {
    pub(super) fn new(focus: Vec<Vec<u8>>, query: &str) -> Wish {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words = query.split(|c: char| !is_word(c));
        let written: Vec<String> = words
            .filter(|word| word.len() >= 3)
            .map(str::to_owned)
            .collect();
        Wish {
            focus,
            words: written.iter().map(|word| word.to_lowercase()).collect(),
            written,
        }
    }

    /// Returns how much more a name counts.
    fn interest(&self, name: &[u8]) -> f64 {
        if self.written.iter().any(|word| word.as_bytes() == name) {
            return NAMED;
        }
        if self.words.is_empty() {
            return 1.0;
        }
        let name = name.to_ascii_lowercase();
        match self
            .words
            .iter()
            .any(|word| memmem::find(&name, word.as_bytes()).is_some())
        {
            true => HINTED,
            false => 1.0,
        }
    }

    fn is_focus(&self, path: &[u8]) -> bool {
        self.focus.iter().any(|focus| {
            let rest = path.strip_prefix(focus.as_slice());
            focus.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }
}

/// Returns the `most` definitions that matter most, the best first.
pub(super) fn choose(sources: &Sources, wish: &Wish, below: &[u8], most: usize) -> Vec<Chosen> {
    let interests = Interests::new(&sources.names, wish);
    let graph = Graph::new(sources, |name| interests.of(name));
    let standings: Vec<f64> = sources
        .files
        .iter()
        .map(|file| standing(&file.path, below, file.is_generated))
        .collect();
    let ranks = rank(&graph, &starts(sources, wish, &interests, &standings));
    let mut chosen = Vec::new();
    let mut own: Vec<u32> = Vec::new();
    for (at, (file, standing)) in (0..).zip(sources.files.iter().zip(&standings)) {
        own.clear();
        own.extend(
            file.definitions
                .iter()
                .filter(|d| d.kind != Kind::Scope)
                .map(|d| d.name),
        );
        own.sort_unstable();
        for (number, definition) in (0..).zip(&file.definitions) {
            if definition.kind == Kind::Scope {
                continue;
            }
            let flow = graph
                .place(&sources.names, file, definition)
                .map_or(0.0, |place| ranks.flow(place, at as usize));
            let alike = own.partition_point(|name| *name <= definition.name)
                - own.partition_point(|name| *name < definition.name);
            let unreferred = UNREFERRED * ranks.files[at as usize] / own.len() as f64;
            let interest = interests.of(definition.name);
            // What the query names is shown even if nobody refers to it.
            let asked = if interest >= NAMED {
                ranks.files[at as usize]
            } else {
                0.0
            };
            let score = (flow / alike as f64 + unreferred + asked)
                * weight(definition)
                * interest
                * standing;
            chosen.push(Chosen {
                file: at,
                definition: number,
                score,
            });
        }
    }
    best(chosen, most)
}

/// Keeps the best, in their order; of equals the first by path and line.
fn best(mut chosen: Vec<Chosen>, most: usize) -> Vec<Chosen> {
    let order = |a: &Chosen, b: &Chosen| -> Ordering {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.file, a.definition).cmp(&(b.file, b.definition)))
    };
    if chosen.len() > most {
        chosen.select_nth_unstable_by(most, order);
        chosen.truncate(most);
    }
    chosen.sort_unstable_by(order);
    chosen
}

/// Returns how much a definition says about the code, by what it is: types most, then what stands by itself.
fn weight(definition: &Definition) -> f64 {
    match definition.kind {
        Kind::Type => 1.0,
        Kind::Function if definition.within > 0 => 0.25,
        Kind::Function => 0.8,
        Kind::Macro => 0.6,
        Kind::Value => 0.2,
        Kind::Scope => 0.0,
    }
}

/// How much more each name counts; empty where nothing is asked.
struct Interests(Vec<f64>);

impl Interests {
    fn new(names: &Names, wish: &Wish) -> Interests {
        if wish.words.is_empty() {
            return Interests(Vec::new());
        }
        let numbers = 0..names.len();
        Interests(
            numbers
                .map(|number| wish.interest(names.entry(number).0))
                .collect(),
        )
    }

    fn of(&self, name: u32) -> f64 {
        self.0.get(name as usize).copied().unwrap_or(1.0)
    }
}

/// Returns how likely a reader starts at each file.
fn starts(sources: &Sources, wish: &Wish, interests: &Interests, standings: &[f64]) -> Vec<f64> {
    let files = || sources.files.iter();
    let focus: Vec<f64> = files()
        .map(|file| f64::from(wish.is_focus(&file.path)))
        .collect();
    let asked: Vec<f64> = files()
        .zip(standings)
        .map(|(file, standing)| {
            let defines = file
                .definitions
                .iter()
                .any(|d| interests.of(d.name) >= NAMED);
            let refers = file
                .references
                .iter()
                .any(|(name, _)| interests.of(*name) >= NAMED);
            let path = file.path.to_ascii_lowercase();
            let mut words = wish.words.iter();
            let is_named = words.any(|word| memmem::find(&path, word.as_bytes()).is_some());
            let sum = 3.0 * f64::from(defines) + f64::from(refers) + 2.0 * f64::from(is_named);
            sum * standing
        })
        .collect();
    let mut starts = normal(standings);
    for (own, share) in [(asked, QUERY), (focus, FOCUS)] {
        if own.iter().any(|start| *start > 0.0) {
            let own = normal(&own);
            starts = starts
                .iter()
                .zip(&own)
                .map(|(start, own)| (1.0 - share) * start + share * own)
                .collect();
        }
    }
    starts
}

fn normal(starts: &[f64]) -> Vec<f64> {
    let sum: f64 = starts.iter().sum();
    let sum = if sum > 0.0 { sum } else { 1.0 };
    starts.iter().map(|start| start / sum).collect()
}
