//! `RepoMap`: the definitions of a code base that the rest of it refers to most.
//!
//! The walk finds the files (`walk.rs`), `sources.rs` has their tags from the cache or makes them (`tags.rs`, by the table in
//! `language.rs`), `graph.rs` joins who refers to whom, `rank.rs` ranks, `choice.rs` puts the definitions in order by what
//! the call asks for, and `render.rs` shows as many as there is room for. `cache.rs` keeps tags by content, and the last
//! maps, which hold as long as no file is touched.

mod cache;
mod choice;
mod codec;
mod graph;
mod language;
mod names;
mod rank;
mod render;
mod sources;
mod standing;
mod tags;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use overspill::notice::Message;
use overspill::{Answer, Context, Cut, Limits, Strategy, Tool, ToolError, cut};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::cache::{Cache, Kept};
use self::choice::Wish;
use self::language::LANGUAGES;
use self::render::{Drawing, Drawn};
use self::sources::{Gathering, Sources, Stamp, State, Stop};
use crate::defaults;
use crate::sandbox::{Place, Root};
use crate::target::{self, Target, quoted};
use crate::threads;
use crate::walk::{self, Filter, Found, Walk, Walked};

/// The fewest tokens that a shown definition takes.
const DEFINITION_TOKENS: usize = 4;

/// The most definitions that are ever shown.
const MOST_SHOWN: usize = 20_000;

/// Shows the definitions that matter most.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepoMap;

/// What `RepoMap` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepoMapParams {
    /// Directory relative to the project root
    #[serde(default = "defaults::here")]
    pub path: String,
    /// Files or directories the work is about, separated by commas; what they use rises
    pub focus: Option<String>,
    /// Identifiers or words the work is about
    pub query: Option<String>,
    /// The most tokens of the map; 2000 if not given
    #[schemars(range(min = 1))]
    pub max_tokens: Option<usize>,
}

impl Tool for RepoMap {
    const NAME: &'static str = "RepoMap";
    const DESCRIPTION: &'static str = "Show the most referred-to definitions of the code base: files with line numbers and signatures.";
    type Params = RepoMapParams;

    fn run(&self, cx: &Context<'_>, params: RepoMapParams) -> Result<Answer, ToolError> {
        let start = Instant::now();
        let time_limit = walk::time_limit(cx);
        let call = Call::new(cx, &params, start + time_limit)?;
        let mut walked = walk::walk(call.walk(cx), call.stop.deadline);
        walked.is_complete &= !call.stop.cancelled.load(Ordering::Relaxed);
        walked.files.retain(|file| !file.is_ignored());
        walked.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let key = call.key(cx, &walked);
        if let Some(kept) = call
            .cache
            .as_ref()
            .zip(key)
            .and_then(|(cache, key)| cache.map(key))
        {
            let files = kept.data.get("files").cloned().unwrap_or_default();
            return Ok(call.dress(kept.answer().stat("cached_files", files)));
        }
        load_vocabulary(&call.limits);
        call.map(cx, walked, key, time_limit)
    }
}

/// Loads what tokens are counted with while the files are parsed.
fn load_vocabulary(limits: &Limits) {
    let encoding = limits.token_encoding();
    threads::spawn(1, || {
        move || {
            let _ = encoding.count("a");
        }
    });
}

/// What a call asks for, checked.
struct Call<'p> {
    params: &'p RepoMapParams,
    root: Arc<Root>,
    place: Place,
    wish: Wish,
    /// What the text is within.
    limits: Limits,
    cache: Option<Cache>,
    stop: Stop,
}

impl<'p> Call<'p> {
    fn new(
        cx: &Context<'_>,
        params: &'p RepoMapParams,
        deadline: Instant,
    ) -> Result<Call<'p>, ToolError> {
        let root = target::root(cx)?;
        let place = target::directory(cx, &params.path)?;
        let limits = cx.policy().limits;
        let tokens = params.max_tokens.or(limits.max_tokens());
        let limits = limits.tokens(tokens.unwrap_or_else(defaults::map_tokens));
        Ok(Call {
            params,
            wish: Wish::new(
                focus(cx, &root, params.focus.as_deref().unwrap_or_default())?,
                params.query.as_deref().unwrap_or_default(),
            ),
            root,
            place,
            limits,
            cache: cx.cache().map(|dir| Cache::new(dir, cx.root())),
            stop: Stop {
                deadline,
                cancelled: cx.cancelled(),
            },
        })
    }

    /// Returns where the map is of, below the root.
    fn below(&self) -> &[u8] {
        self.place.path.as_os_str().as_bytes()
    }

    fn walk(&self, cx: &Context<'_>) -> Walk {
        let is_code: Filter = Box::new(|path: &[u8]| language::of_path(path).is_some());
        Walk {
            filter: Some(is_code),
            ..Walk::new(cx, &self.root, &self.place)
        }
    }

    /// Returns what the answer depends on, as a number; nothing while files may change unseen, or are not all known.
    fn key(&self, cx: &Context<'_>, walked: &Walked) -> Option<u64> {
        let now = SystemTime::now();
        let is_settled = |file: &Found| Stamp::of(file).is_settled(now);
        if !walked.is_complete || walked.unreadable > 0 || !walked.files.iter().all(is_settled) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        cache::fingerprint().hash(&mut hasher);
        (
            self.below(),
            &self.params.path,
            &self.params.focus,
            &self.params.query,
        )
            .hash(&mut hasher);
        format!("{:?}{:?}", self.limits, cx.lang()).hash(&mut hasher);
        cx.settings().max_result_chars().hash(&mut hasher);
        for file in &walked.files {
            (&file.path, Stamp::of(file)).hash(&mut hasher);
        }
        Some(hasher.finish())
    }

    /// Makes the map.
    fn map(
        &self,
        cx: &Context<'_>,
        walked: Walked,
        key: Option<u64>,
        time_limit: Duration,
    ) -> Result<Answer, ToolError> {
        let Walked {
            files,
            unreadable,
            is_complete,
        } = walked;
        let (found, large): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|file| file.bytes <= sources::MOST_BYTES);
        let known = self.cache.as_ref().map(Cache::load).unwrap_or_default();
        let (sources, other, gathering) =
            sources::gather(&self.root, found, known, self.below(), &self.stop);
        if let Some(cache) = self.cache.as_ref().filter(|_| gathering.is_new) {
            cache.save(&sources, &other);
        }
        drop(other);
        let walked = Walked {
            files: Vec::new(),
            unreadable: unreadable + gathering.unreadable,
            is_complete: is_complete && gathering.is_complete,
        };
        if !walked.is_complete && sources.files.is_empty() {
            let error = walk::timeout(cx, time_limit, "path");
            return Err(error.path_resolved(self.place.shown()));
        }
        let counts = Counts::new(&sources, large.len(), &gathering);
        let remarks = walk::remarks(cx, &walked, time_limit);
        let kept = self.drawn(cx, &sources, &counts, &remarks, key.unwrap_or(0))?;
        let is_whole = walked.is_complete && walked.unreadable == 0;
        if let Some(cache) = self.cache.as_ref().filter(|_| is_whole && key.is_some()) {
            cache.keep(kept.clone());
        }
        let answer = kept.answer().stat("cached_files", gathering.cached);
        Ok(self.dress(walk::marked(answer, &walked, false)))
    }

    /// Draws as much as there is room for.
    fn drawn(
        &self,
        cx: &Context<'_>,
        sources: &Sources,
        counts: &Counts,
        remarks: &[String],
        key: u64,
    ) -> Result<Kept, ToolError> {
        let most = self.limits.max_tokens().unwrap_or(usize::MAX) / DEFINITION_TOKENS + 1;
        let chosen = choice::choose(sources, &self.wish, self.below(), most.min(MOST_SHOWN));
        let mut drawing = Drawing::new(&self.root, sources, &chosen);
        let mut kept = None;
        target::page(cx, |limits| {
            let limits = match self.limits.max_tokens() {
                Some(tokens) => limits.tokens(tokens),
                None => *limits,
            };
            let text = |drawn: &Drawn| self.text(cx, drawn, counts, remarks);
            let drawn = drawing.most(|drawn| is_within(&text(drawn), &limits));
            let made = Kept {
                key,
                text: cut_to(&text(&drawn), &limits, cx),
                data: counts.data(&drawn),
                stats: counts.stats(&drawn),
            };
            let answer = made.answer();
            kept = Some(made);
            Ok(answer)
        })?;
        // The page is made once at least.
        Ok(kept.unwrap_or_else(|| Kept {
            key,
            text: String::new(),
            data: Map::new(),
            stats: Map::new(),
        }))
    }

    fn text(&self, cx: &Context<'_>, drawn: &Drawn, counts: &Counts, remarks: &[String]) -> String {
        let [n, all, m] =
            [drawn.definitions, counts.definitions, counts.parsed].map(|count| count.to_string());
        let path = quoted(&self.params.path);
        let values = [("n", &*n), ("all", &*all), ("m", &*m), ("path", &*path)];
        let head = match counts.definitions {
            0 => Message::MapNone,
            _ => Message::MapOf,
        };
        let mut lines = vec![head.say(cx.lang(), &values)];
        let skipped = [counts.large, counts.unparsed, counts.binary].map(|count| count.to_string());
        if counts.large + counts.unparsed + counts.binary > 0 {
            let [large, unparsed, binary] = &skipped;
            let values = [
                ("large", &**large),
                ("unparsed", &**unparsed),
                ("binary", &**binary),
            ];
            lines.push(Message::MapSkipped.say(cx.lang(), &values));
        }
        lines.extend_from_slice(remarks);
        if !drawn.text.is_empty() {
            lines.extend([String::new(), drawn.text.clone()]);
        }
        lines.join("\n")
    }

    /// Says what the call was, and that the answer is within its bounds already.
    fn dress(&self, answer: Answer) -> Answer {
        answer.paged().context("path_resolved", self.place.shown())
    }
}

impl Kept {
    fn answer(&self) -> Answer {
        let answer = Answer::new(self.data.clone(), self.text.clone());
        let stats = self.stats.iter();
        stats.fold(answer, |answer, (key, value)| {
            answer.stat(key, value.clone())
        })
    }
}

/// Returns the paths of `focus` as they are below the root. What lies outside or does not exist is told.
fn focus(cx: &Context<'_>, root: &Root, given: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    let paths = given
        .split(',')
        .map(str::trim)
        .filter(|path| !path.is_empty());
    let mut focus = Vec::new();
    for path in paths {
        if let Target::Inside(place) = target::find(cx, root, path, Message::NoSuchPath)? {
            focus.push(place.path.as_os_str().as_bytes().to_owned());
        }
    }
    Ok(focus)
}

fn is_within(text: &str, limits: &Limits) -> bool {
    matches!(cut(text, limits, Strategy::Head), Cut::Whole(_))
}

/// Returns a text within limits; what is said about the map may be too long by itself.
fn cut_to(text: &str, limits: &Limits, cx: &Context<'_>) -> String {
    match cut(text, limits, Strategy::Head) {
        Cut::Whole(text) => text.to_owned(),
        Cut::Part(preview) => preview.text(cx.lang()).into_owned(),
    }
}

/// What was found.
struct Counts {
    definitions: usize,
    parsed: usize,
    large: usize,
    unparsed: usize,
    binary: usize,
    unreadable: u64,
    /// Parsed files by language.
    languages: BTreeMap<&'static str, usize>,
}

impl Counts {
    fn new(sources: &Sources, large: usize, gathering: &Gathering) -> Counts {
        let of = |state: State| sources.files.iter().filter(move |file| file.state == state);
        let mut languages = BTreeMap::new();
        let mut definitions = 0;
        for file in of(State::Parsed) {
            let name = LANGUAGES
                .get(file.language)
                .map_or("", |language| language.name);
            *languages.entry(name).or_default() += 1;
            let own = file.definitions.iter();
            definitions += own.filter(|own| own.kind != language::Kind::Scope).count();
        }
        Counts {
            definitions,
            parsed: of(State::Parsed).count(),
            large,
            unparsed: of(State::Unparsed).count(),
            binary: of(State::Binary).count(),
            unreadable: gathering.unreadable,
            languages,
        }
    }

    fn data(&self, drawn: &Drawn) -> Map<String, Value> {
        let skipped = json!({
            "too_large": self.large,
            "unparsed": self.unparsed,
            "binary": self.binary,
            "unreadable": self.unreadable,
        });
        let data = [
            ("map", json!(drawn.text)),
            ("definitions", json!(drawn.definitions)),
            ("total_definitions", json!(self.definitions)),
            ("files", json!(self.parsed)),
            ("languages", json!(self.languages)),
            ("skipped", skipped),
        ];
        data.into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    fn stats(&self, drawn: &Drawn) -> Map<String, Value> {
        let stats = [
            ("parsed_files", json!(self.parsed)),
            ("shown_definitions", json!(drawn.definitions)),
        ];
        stats
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}
