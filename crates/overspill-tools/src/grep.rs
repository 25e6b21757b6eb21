//! `Grep`: searches file contents, the newest files first.
//!
//! Three steps: the walk finds the files and when they were modified, the scan finds out which of them match and stops
//! once the page is known, and only the lines of the page are read again, with their neighbours. `page.rs` makes the
//! answer of them.

mod collect;
pub(crate) mod engine;
pub(crate) mod input;
mod page;
mod scan;

use std::sync::Arc;
use std::time::{Duration, Instant};

use overspill::notice::Message;
use overspill::{Answer, Code, Context, Limits, Salience, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use self::collect::{Collected, Wanted, collect};
use self::engine::{Engine, Reading};
use self::input::Stop;
use self::scan::{Goal, Hit, Scanned, Search, Source, Unit, scan};
use crate::defaults;
use crate::globs::{self, Anchor, Globs};
use crate::sandbox::{Kind, Place, Root};
use crate::target::{self, Target, quoted};
use crate::threads;
use crate::walk::{self, Filter, Found, Walk};

/// From how many matches on a page is likely to have too many tokens.
const LARGE_PAGE: u64 = 200;

/// Searches file contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

/// What `Grep` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepParams {
    /// Regex to search for, e.g. 'class\s+User'
    pub pattern: String,
    /// Directory or file to search, relative to the project root
    #[serde(default = "defaults::here")]
    pub path: String,
    /// Glob that filters files, e.g. '*.ts'
    pub include: Option<String>,
    /// Tell upper and lower case apart
    #[serde(default)]
    pub case_sensitive: bool,
    /// What to return: matching lines, files that match, or matches per file
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Lines of context around each match
    #[schemars(range(max = 1000))]
    pub context: Option<usize>,
    /// Lines of context before each match
    #[schemars(range(max = 1000))]
    pub before: Option<usize>,
    /// Lines of context after each match
    #[schemars(range(max = 1000))]
    pub after: Option<usize>,
    /// At most how many matches, or files
    #[serde(default = "defaults::page_limit")]
    #[schemars(range(min = 1))]
    pub limit: u64,
    /// How many matches, or files, to skip
    #[serde(default)]
    pub offset: u64,
    /// Count all matches; false stops once the page is full
    #[serde(default = "defaults::yes")]
    pub total: bool,
    /// Let a match span lines
    #[serde(default)]
    pub multiline: bool,
    /// Search hidden files too
    #[serde(default)]
    pub hidden: bool,
    /// Search files that .gitignore leaves out too
    #[serde(default)]
    pub no_ignore: bool,
}

/// How long a search took, and how long it might have.
#[derive(Clone, Copy, Debug)]
struct Took {
    time: Duration,
    limit: Duration,
}

/// What `Grep` returns.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The lines that match.
    #[default]
    Content,
    /// The files that have a match.
    FilesWithMatches,
    /// How many lines match in each file.
    Count,
}

impl Tool for Grep {
    const NAME: &'static str = "Grep";
    const DESCRIPTION: &'static str = "Search file contents using regex. Returns matches sorted by file modification time (newest first).";
    type Params = GrepParams;

    fn salience(params: &GrepParams) -> Salience {
        Salience::default().query(&params.pattern)
    }

    fn run(&self, cx: &Context<'_>, params: GrepParams) -> Result<Answer, ToolError> {
        let start = Instant::now();
        let time_limit = walk::time_limit(cx);
        let stop = Stop {
            deadline: start + time_limit,
            is_over: Arc::default(),
            cancelled: cx.cancelled(),
        };
        let engine = compile(cx, &params)?;
        if params.output_mode == OutputMode::Content && params.limit > LARGE_PAGE {
            load_vocabulary(&cx.policy().limits);
        }
        let found = find(cx, &params, engine, &stop)?;
        let page = found.page(cx, &params, &stop);
        let took = Took {
            time: start.elapsed(),
            limit: time_limit,
        };
        target::page(cx, |limits| page.answer(cx, &params, limits, took))
    }
}

/// Loads what tokens are counted with while the search runs: a large page will need it, and it takes a while.
fn load_vocabulary(limits: &Limits) {
    if limits.max_tokens().is_some() {
        let encoding = limits.token_encoding();
        threads::spawn(1, || {
            move || {
                let _ = encoding.count("a");
            }
        });
    }
}

fn compile(cx: &Context<'_>, params: &GrepParams) -> Result<Engine, ToolError> {
    let reading = Reading {
        case_sensitive: params.case_sensitive,
        multiline: params.multiline,
    };
    Engine::new(&params.pattern, reading).map_err(|details| {
        let is_large = details.contains("size limit") || details.contains("longer than");
        let spans_lines =
            !params.multiline && (params.pattern.contains("\\n") || params.pattern.contains('\n'));
        let hint = match (is_large, spans_lines) {
            (true, _) => Message::TryShorter,
            (false, true) => Message::TryMultiline,
            (false, false) => Message::TryEscaping,
        };
        let message = Message::BadPattern.say(cx.lang(), &[("details", &details)]);
        ToolError::new(Code::InvalidParam, message).hint(hint.say(cx.lang(), &[]))
    })
}

/// What was searched and what was found.
struct Outcome {
    search: Arc<Search>,
    scanned: Scanned,
    /// What the path of the call stands for.
    path_resolved: String,
    /// Whether the path named one file.
    is_file: bool,
}

fn find(
    cx: &Context<'_>,
    params: &GrepParams,
    engine: Engine,
    stop: &Stop,
) -> Result<Outcome, ToolError> {
    let include = params
        .include
        .as_deref()
        // A model's way to leave it out.
        .filter(|glob| !glob.is_empty())
        .map(|glob| globs::parse(cx, "include", glob, Anchor::Anywhere))
        .transpose()?;
    let root = target::root(cx)?;
    let target = target::find(cx, &root, &params.path, Message::NoSearchRoot)?;
    let files = match target {
        Target::Inside(place) => match place.kind {
            Kind::Directory => below(cx, &root, &place, params, include, stop),
            Kind::File => {
                Files::one(&place).map_err(|error| target::trouble(cx, &params.path, &error))?
            }
            Kind::Other => {
                let message =
                    Message::BadSearchRoot.say(cx.lang(), &[("path", &quoted(&params.path))]);
                return Err(ToolError::new(Code::InvalidParam, message)
                    .hint(Message::TryOtherPath.say(cx.lang(), &[]))
                    .path_resolved(place.shown()));
            }
        },
        Target::Spill(entry, file) => Files {
            found: vec![Found::named(entry.path.as_bytes().into(), entry.bytes)],
            source: Source::Held(file),
            path_resolved: entry.path,
            unreadable: 0,
            is_complete: true,
            is_file: true,
        },
    };
    let page_end = params
        .offset
        .saturating_add(most(&cx.policy().limits, params));
    let is_content = params.output_mode == OutputMode::Content;
    let files_len = files.found.len();
    let search = Arc::new(Search {
        source: files.source,
        files: files.found,
        engine,
        multiline: params.multiline,
        most_lines: match params.output_mode {
            OutputMode::FilesWithMatches => 1,
            OutputMode::Content if !params.total => page_end.saturating_add(1),
            _ => u64::MAX,
        },
        wanted: (is_content && (params.offset == 0 || files_len == 1)).then(|| Wanted {
            skip: params.offset,
            ..wanted(cx, params)
        }),
    });
    let goal = Goal {
        offset: params.offset,
        wanted: page_end,
        unit: match params.output_mode {
            OutputMode::Content => Unit::Matches,
            _ => Unit::Files,
        },
        total: params.total,
    };
    let mut scanned = match files.is_complete {
        true => scan(&search, goal, stop),
        // Without all the files nobody knows which are the newest.
        false => Scanned {
            timed_out: true,
            ..Scanned::default()
        },
    };
    scanned.unreadable += files.unreadable;
    Ok(Outcome {
        search,
        scanned,
        path_resolved: files.path_resolved,
        is_file: files.is_file,
    })
}

/// Returns how many matches or files the page can hold.
fn most(limits: &Limits, params: &GrepParams) -> u64 {
    match (params.output_mode, limits.max_lines()) {
        (OutputMode::Content, Some(lines)) => params.limit.min(lines as u64),
        _ => params.limit,
    }
}

/// The files of a search.
struct Files {
    found: Vec<Found>,
    source: Source,
    path_resolved: String,
    unreadable: u64,
    is_complete: bool,
    is_file: bool,
}

impl Files {
    fn one(place: &Place) -> std::io::Result<Files> {
        let path = place.path.as_os_str().as_encoded_bytes();
        Ok(Files {
            found: vec![Found::named(path.into(), place.bytes)],
            source: Source::Held(place.open()?),
            path_resolved: place.shown(),
            unreadable: 0,
            is_complete: true,
            is_file: true,
        })
    }
}

/// Finds the files below a directory, the newest first.
fn below(
    cx: &Context<'_>,
    root: &Arc<Root>,
    place: &Place,
    params: &GrepParams,
    include: Option<Globs>,
    stop: &Stop,
) -> Files {
    let filter =
        include.map(|globs| -> Filter { Box::new(move |path: &[u8]| globs.chooses(path)) });
    let walk = Walk::new(cx, root, place);
    let walk = Walk {
        hidden: params.hidden,
        rules: walk.rules && !params.no_ignore,
        filter,
        ..walk
    };
    let mut walked = walk::walk(walk, stop.deadline);
    walked.newest_first();
    Files {
        found: walked.files,
        source: Source::Tree(Arc::clone(root)),
        path_resolved: place.shown(),
        unreadable: walked.unreadable,
        is_complete: walked.is_complete,
        is_file: false,
    }
}

impl Outcome {
    /// Reads what the page shows.
    fn page(mut self, cx: &Context<'_>, params: &GrepParams, stop: &Stop) -> page::Page {
        let hits = Arc::new(std::mem::take(&mut self.scanned.hits));
        let (first, skip) = first_hit(&hits, params);
        let collected = match params.output_mode {
            OutputMode::Content if first < hits.len() => {
                let wanted = Wanted {
                    skip,
                    ..wanted(cx, params)
                };
                collect(&self.search, &hits, first, wanted, stop)
            }
            _ => Collected::default(),
        };
        self.scanned.timed_out |= collected.timed_out;
        page::Page {
            hits,
            first,
            collected,
            after: wanted(cx, params).after,
            search: self.search,
            scanned: self.scanned,
            path_resolved: self.path_resolved,
            is_file: self.is_file,
        }
    }
}

/// Returns which file the page starts with, and how many matches of it come before the page.
fn first_hit(hits: &[Hit], params: &GrepParams) -> (usize, u64) {
    if params.output_mode != OutputMode::Content {
        let offset = usize::try_from(params.offset).unwrap_or(usize::MAX);
        return (offset.min(hits.len()), 0);
    }
    let mut before = 0;
    for (at, hit) in hits.iter().enumerate() {
        if before + hit.lines > params.offset {
            return (at, params.offset - before);
        }
        before += hit.lines;
    }
    (hits.len(), 0)
}

/// Returns what the page wants, if it starts with the first match.
fn wanted(cx: &Context<'_>, params: &GrepParams) -> Wanted {
    let limits = cx.policy().limits;
    let both = params
        .context
        .or_else(|| cx.settings().number("show_context"))
        .unwrap_or(0);
    Wanted {
        skip: 0,
        matches: most(&limits, params),
        before: params.before.unwrap_or(both),
        after: params.after.unwrap_or(both),
        line_chars: limits
            .max_line_chars()
            .unwrap_or_else(|| limits.reach_bytes()),
        bytes: limits.reach_bytes().saturating_add(1),
    }
}
