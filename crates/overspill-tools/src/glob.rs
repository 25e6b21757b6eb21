//! `Glob`: finds files by name, the newest first.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use overspill::notice::Message;
use overspill::{Answer, Code, Context, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::defaults;
use crate::globs::{self, Anchor, Globs};
use crate::sandbox::{self, Place, one_line, shown};
use crate::target::{self, quoted};
use crate::walk::{self, Filter, Walk, Walked};

/// Finds files by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

/// What `Glob` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobParams {
    /// Glob such as '*.rs' (at any depth) or 'src/**/*.{ts,tsx}'
    pub pattern: String,
    /// Directory to search, relative to the project root
    #[serde(default = "defaults::here")]
    pub path: String,
    /// At most how many files
    #[serde(default = "defaults::page_limit")]
    #[schemars(range(min = 1))]
    pub limit: u64,
}

impl Tool for Glob {
    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str =
        "Find files by glob pattern. Returns paths sorted by modification time (newest first).";
    type Params = GlobParams;

    fn run(&self, cx: &Context<'_>, params: GlobParams) -> Result<Answer, ToolError> {
        let start = Instant::now();
        let time_limit = walk::time_limit(cx);
        let place = target::directory(cx, &params.path)?;
        let pattern = below_start(cx, &params.pattern, &place)?;
        let globs = globs::parse(cx, "glob", &pattern, Anchor::Start)?;
        let walk = Walk {
            hidden: names_hidden(&pattern),
            filter: Some(filter(globs, &place)),
            ..Walk::new(cx, &target::root(cx)?, &place)
        };
        let mut walked = walk::walk(walk, start + time_limit);
        walked.files.retain(|file| !file.is_ignored());
        walked.newest_first();
        if !walked.is_complete && walked.files.is_empty() {
            return Err(walk::timeout(cx, time_limit, "path").path_resolved(place.shown()));
        }
        Ok(answer(cx, &params, &walked, start.elapsed(), time_limit)
            .context("path_resolved", place.shown())
            .context("pattern", target::repeated(cx, &params.pattern))
            .context("sorted_by", "mtime_desc"))
    }
}

/// Returns a pattern relative to where the search starts. One that leads outside is refused as a path would be.
fn below_start(cx: &Context<'_>, pattern: &str, place: &Place) -> Result<String, ToolError> {
    let (is_negated, path) = match pattern.strip_prefix('!') {
        Some(path) => ("!", path),
        None => ("", pattern),
    };
    let start = cx.root().join(&place.path);
    let given = Path::new(path);
    let has_parents = given.components().any(|part| part == Component::ParentDir);
    if !given.is_absolute() && !has_parents {
        return Ok(pattern.to_owned());
    }
    let full = sandbox::plain(&start.join(given));
    match full.strip_prefix(&start) {
        Ok(below) => Ok(format!("{is_negated}/{}", below.to_string_lossy())),
        Err(_) if full.starts_with(cx.root()) => Err(nowhere(cx, pattern)),
        Err(_) => Err(target::outside(cx)),
    }
}

/// Returns the error of a pattern for files that are not below the path.
fn nowhere(cx: &Context<'_>, pattern: &str) -> ToolError {
    let message = Message::GlobElsewhere.say(cx.lang(), &[("pattern", &quoted(pattern))]);
    ToolError::new(Code::InvalidParam, message).hint(Message::TryOtherPath.say(cx.lang(), &[]))
}

/// Tells whether a pattern asks for hidden files.
fn names_hidden(pattern: &str) -> bool {
    pattern
        .split('/')
        .any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// Matches paths from where the search starts.
fn filter(globs: Globs, place: &Place) -> Filter {
    let start = place.path.as_os_str().as_bytes().to_vec();
    let before = if start.is_empty() { 0 } else { start.len() + 1 };
    Box::new(move |path: &[u8]| globs.chooses(path.get(before..).unwrap_or(path)))
}

fn answer(
    cx: &Context<'_>,
    params: &GlobParams,
    walked: &Walked,
    took: Duration,
    time_limit: Duration,
) -> Answer {
    let all = walked.files.len();
    let shown = &walked.files[..all.min(usize::try_from(params.limit).unwrap_or(usize::MAX))];
    let paths: Vec<String> = shown.iter().map(|file| self::shown(&file.path)).collect();
    let values = [
        ("n", &*all.to_string()),
        ("pattern", &*quoted(&params.pattern)),
        ("path", &*quoted(&params.path)),
        ("t", &*took.as_millis().to_string()),
    ];
    let first = if all == 0 {
        Message::GlobNone
    } else {
        Message::GlobFound
    };
    let mut lines = vec![
        first.say(cx.lang(), &values),
        Message::SortedTook.say(cx.lang(), &values),
    ];
    let is_truncated = paths.len() < all;
    let [n, all_files] = [paths.len(), all].map(|count| count.to_string());
    if is_truncated {
        lines.push(Message::GlobSome.say(cx.lang(), &[("n", &n), ("all", &all_files)]));
    }
    lines.extend(walk::remarks(cx, walked, time_limit));
    if !paths.is_empty() {
        lines.push(String::new());
    }
    lines.extend(paths.iter().map(|path| one_line(path).into_owned()));
    let mut data = Map::new();
    data.insert("paths".to_owned(), paths.into());
    data.insert("truncated".to_owned(), Value::Bool(is_truncated));
    let answer = Answer::new(data, lines.join("\n"))
        .stat("time_ms", took.as_millis() as u64)
        .stat("matched_files", all);
    walk::marked(answer, walked, is_truncated)
}
