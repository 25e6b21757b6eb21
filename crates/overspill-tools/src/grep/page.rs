//! Makes the answer of a search: the page within the content limits, and what the model is told about it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use overspill::notice::Message;
use overspill::{Answer, Context, Cut, Lang, Limits, Strategy, ToolError, cut};
use serde_json::{Map, Value, json};

use super::collect::{Collected, Line};
use super::engine::Engine;
use super::scan::{Hit, Scanned, Search};
use super::{GrepParams, OutputMode, Took};
use crate::sandbox::{one_line, shown};
use crate::target::{self, quoted};
use crate::walk;

/// What of a line is left at least, however long the path before it is.
const LEAST_CHARS: usize = 20;

/// What a line ends in that is not all there.
const DOTS: &str = "...";

/// What stands between lines that do not follow each other.
const GAP: &str = "--";

/// The most bytes of a list of files that is passed on as it is.
const LISTING_BYTES: usize = 1 << 18;

/// A page of a search.
pub(super) struct Page {
    /// The files that match.
    pub(super) hits: Arc<Vec<Hit>>,
    /// Which of them the page starts with.
    pub(super) first: usize,
    /// The lines of the page, in content mode.
    pub(super) collected: Collected,
    /// How many lines are shown after a match.
    pub(super) after: usize,
    pub(super) search: Arc<Search>,
    pub(super) scanned: Scanned,
    pub(super) path_resolved: String,
    pub(super) is_file: bool,
}

/// What a page shows.
struct Body {
    /// What follows the first lines of the text.
    text: String,
    /// The members of `data` that depend on the mode.
    data: Map<String, Value>,
    /// How many matches, or files, are shown.
    shown: u64,
    /// Whether the limits left lines of the page out.
    is_cut: bool,
    /// How many lines are shorter than in the file.
    shortened: u64,
}

impl Page {
    pub(super) fn answer(
        &self,
        cx: &Context<'_>,
        params: &GrepParams,
        limits: &Limits,
        took: Took,
    ) -> Result<Answer, ToolError> {
        let lang = cx.lang();
        let is_content = params.output_mode == OutputMode::Content;
        let has_nothing = match is_content {
            true => self.collected.lines.is_empty(),
            false => self.first >= self.hits.len(),
        };
        if has_nothing && self.scanned.timed_out {
            let error = walk::timeout(cx, took.limit, "path, include");
            return Err(error.path_resolved(self.path_resolved.as_str()));
        }
        let body = match params.output_mode {
            OutputMode::Content => self.content(limits),
            _ => self.files(params),
        };
        let head = Head {
            page: self,
            params,
            body: &body,
            lang,
            limits,
            took,
        };
        let mut text = head.text();
        if !body.text.is_empty() {
            text = format!("{text}\n\n{}", body.text);
        }
        let is_partial = head.is_truncated() || head.is_incomplete();
        let data = head.data();
        // A list of files is not cut by the content limits. One of any length would be an unbounded answer, so beyond
        // this it is bounded like any other output.
        let fits = is_content || text.len() <= LISTING_BYTES;
        let answer = Answer::new(data, text)
            .stat("time_ms", took.time.as_millis() as u64)
            .stat("matched_files", self.hits.len())
            .stat("searched_files", self.scanned.searched)
            .context("path_resolved", self.path_resolved.as_str())
            .context("pattern", target::repeated(cx, &params.pattern))
            .context("sorted_by", "mtime_desc");
        let answer = match params.output_mode {
            // One match decides about a file, and the others are not counted.
            OutputMode::FilesWithMatches => answer,
            _ => answer.stat("matched_lines", head.total_lines()),
        };
        let answer = if is_partial { answer.partial() } else { answer };
        let fits = fits && (is_content || cx.is_within_guard(&answer));
        Ok(if fits { answer.paged() } else { answer })
    }

    fn path(&self, file: usize) -> String {
        shown(&self.search.files[file].path)
    }

    /// Shows the lines that match, as many as the limits allow.
    fn content(&self, limits: &Limits) -> Body {
        let has_neighbours = self.collected.lines.iter().any(|line| !line.is_match);
        let mut lines: Vec<Shown> = Vec::new();
        for line in &self.collected.lines {
            let path = self.path(line.file);
            if let Some(last) = lines.last() {
                let follows = last.path == path && last.number + 1 == line.number;
                if has_neighbours && !follows {
                    lines.push(Shown::gap());
                }
            }
            lines.push(Shown::new(path, line, limits));
        }
        let all = lines.len();
        let first = lines.iter().position(|line| line.is_match).unwrap_or(0);
        let (mut text, mut kept) = fit(&lines, limits);
        if first >= kept {
            // Neighbours alone are no page: without a match on it the next one would start where this one did.
            lines.drain(..first);
            (text, kept) = fit(&lines, limits);
        }
        lines.truncate(kept);
        drop_strays(&mut lines, &mut text, self.after);
        let is_dotted = lines.len() == 1 && text != lines[0].text;
        if is_dotted {
            text = dotted(&text, limits);
            lines[0].settle(&text);
        }
        let is_cut = lines.len() < all || is_dotted || self.collected.is_full;
        Body {
            is_cut,
            ..self.content_body(text, &lines)
        }
    }

    fn content_body(&self, text: String, lines: &[Shown]) -> Body {
        let matches: Vec<&Shown> = lines.iter().filter(|line| line.is_match).collect();
        let mut names: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        for line in &matches {
            if seen.insert(line.path.as_str()) {
                names.push(&line.path);
            }
        }
        let as_json =
            |line: &&Shown| json!({ "file": line.path, "line": line.number, "text": line.content });
        let data = [
            (
                "matches",
                matches.iter().map(as_json).collect::<Vec<Value>>().into(),
            ),
            ("num_files", names.len().into()),
            ("filenames", names.into()),
            (
                "num_lines",
                lines.iter().filter(|line| !line.is_gap()).count().into(),
            ),
        ];
        Body {
            text,
            data: data
                .map(|(key, value): (&str, Value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
            shown: matches.len() as u64,
            is_cut: false,
            shortened: lines.iter().filter(|line| line.is_cut).count() as u64,
        }
    }

    /// Shows the files that match, in count mode with how often.
    fn files(&self, params: &GrepParams) -> Body {
        let limit = usize::try_from(params.limit).unwrap_or(usize::MAX);
        let hits = &self.hits[self.first..];
        let hits = &hits[..hits.len().min(limit)];
        let names: Vec<String> = hits.iter().map(|hit| self.path(hit.file)).collect();
        let mut data = Map::new();
        data.insert("matches".to_owned(), json!([]));
        data.insert("num_files".to_owned(), names.len().into());
        let text = if params.output_mode == OutputMode::Count {
            let pairs = || names.iter().zip(hits);
            let counts: Vec<Value> = pairs()
                .map(|(file, hit)| json!({ "file": file, "count": hit.lines }))
                .collect();
            data.insert("counts".to_owned(), counts.into());
            pairs()
                .map(|(file, hit)| format!("{}: {}", one_line(file), hit.lines))
                .collect::<Vec<_>>()
                .join("\n")
        } else {
            let names: Vec<_> = names.iter().map(|name| one_line(name)).collect();
            names.join("\n")
        };
        data.insert("filenames".to_owned(), names.into());
        Body {
            text,
            data,
            shown: hits.len() as u64,
            is_cut: false,
            shortened: 0,
        }
    }
}

/// Returns the lines as one text within the limits, and how many of them that are: whole ones, unless the first alone does
/// not fit.
fn fit(lines: &[Shown], limits: &Limits) -> (String, usize) {
    let all: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let all = all.join("\n");
    let Cut::Part(preview) = cut(&all, limits, Strategy::Head) else {
        return (all, lines.len());
    };
    let kept = usize::try_from(preview.kept().lines).unwrap_or(usize::MAX);
    let (mut text, mut kept) = (preview.text(Lang::En).into_owned(), kept.min(lines.len()));
    let last = text.rfind('\n').map_or(0, |newline| newline + 1);
    let is_part = kept > 1 && lines[kept - 1].text != text[last..];
    if is_part {
        // The next page starts with it.
        text.truncate(last - 1);
        kept -= 1;
    }
    (text, kept)
}

/// Drops what stands after the neighbours of the last match: it belongs to one that is not there.
fn drop_strays(lines: &mut Vec<Shown>, text: &mut String, after: usize) {
    let Some(last) = lines.iter().rposition(|line| line.is_match) else {
        return;
    };
    let reach = lines[last].number.saturating_add(after as u64);
    let follows = |line: &&Shown| !line.is_gap() && line.number <= reach;
    let end = last + 1 + lines[last + 1..].iter().take_while(follows).count();
    let bytes: usize = lines[end..].iter().map(|line| line.text.len() + 1).sum();
    text.truncate(text.len().saturating_sub(bytes));
    lines.truncate(end);
}

/// Returns the start of a text that does not fit, ended by dots.
fn dotted(text: &str, limits: &Limits) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut kept = chars.len().saturating_sub(DOTS.len());
    loop {
        let text: String = chars[..kept].iter().copied().chain(DOTS.chars()).collect();
        if kept == 0 || matches!(cut(&text, limits, Strategy::Head), Cut::Whole(_)) {
            return text;
        }
        kept -= 1;
    }
}

/// A line as it is shown.
#[derive(Debug)]
struct Shown {
    path: String,
    number: u64,
    /// The line of the file, without what stands before it.
    content: String,
    /// How many bytes of the text stand before that.
    before: usize,
    text: String,
    is_match: bool,
    is_cut: bool,
}

impl Shown {
    fn new(path: String, line: &Line, limits: &Limits) -> Shown {
        let shown = one_line(&path);
        let before = match line.is_match {
            true => format!("{shown}:{}: ", line.number),
            false => format!("{shown}-{}- ", line.number),
        };
        let max = limits.max_line_chars().unwrap_or(usize::MAX);
        let room = max.saturating_sub(before.chars().count());
        let content = clipped(&line.text, room.max(LEAST_CHARS));
        let text = format!("{before}{content}");
        Shown {
            number: line.number,
            is_match: line.is_match,
            is_cut: line.is_cut || content != line.text || text.chars().count() > max,
            before: before.len(),
            // Of a line whose path alone is too long not even the least is shown.
            text: clipped(&text, max).into_owned(),
            content: content.into_owned(),
            path,
        }
    }

    /// Returns what stands between lines that do not follow each other.
    fn gap() -> Shown {
        Shown {
            path: String::new(),
            number: 0,
            content: String::new(),
            before: 0,
            text: GAP.to_owned(),
            is_match: false,
            is_cut: false,
        }
    }

    fn is_gap(&self) -> bool {
        self.path.is_empty()
    }

    /// Takes over how much of the line is shown in the end.
    fn settle(&mut self, shown: &str) {
        if shown != self.text && !self.is_gap() {
            let content = shown.get(self.before..).unwrap_or("");
            content.clone_into(&mut self.content);
        }
    }
}

/// Returns a line of at most `max` chars.
fn clipped(line: &str, max: usize) -> Cow<'_, str> {
    match cut(line, &Limits::none().line_chars(max), Strategy::Head) {
        Cut::Whole(_) => Cow::Borrowed(line),
        Cut::Part(part) => Cow::Owned(part.text(Lang::En).into_owned()),
    }
}

/// What is said before the lines of a page, and beside them in `data`.
struct Head<'a> {
    page: &'a Page,
    params: &'a GrepParams,
    body: &'a Body,
    lang: Lang,
    limits: &'a Limits,
    took: Took,
}

impl Head<'_> {
    fn total_lines(&self) -> u64 {
        let counted: u64 = self.page.hits.iter().map(|hit| hit.lines).sum();
        counted - self.page.collected.lost.min(counted)
    }

    /// Returns how many matches, or files, there are, as far as that is known.
    fn total(&self) -> u64 {
        match self.params.output_mode {
            OutputMode::Content => self.total_lines(),
            _ => self.page.hits.len() as u64,
        }
    }

    fn next_offset(&self) -> u64 {
        self.params.offset.saturating_add(self.body.shown)
    }

    fn has_more(&self) -> bool {
        self.next_offset() < self.total()
    }

    /// Tells whether another page can be asked for. What was found when the time was over may have gaps, so that an offset
    /// would mean something else next time.
    fn has_next(&self) -> bool {
        let scanned = &self.page.scanned;
        (self.has_more() || scanned.timed_out) && !scanned.has_gaps
    }

    fn is_truncated(&self) -> bool {
        self.has_more()
            || self.page.scanned.timed_out
            || self.body.is_cut
            || self.body.shortened > 0
    }

    /// Tells whether something was not searched that should have been.
    fn is_incomplete(&self) -> bool {
        let scanned = &self.page.scanned;
        scanned.timed_out || scanned.unreadable > 0 || self.is_fallback()
    }

    fn is_fallback(&self) -> bool {
        matches!(self.page.search.engine, Engine::Backtracking(_))
    }

    fn text(&self) -> String {
        let values = [
            ("n", &*self.total_lines().to_string()),
            ("m", &*self.page.hits.len().to_string()),
            ("pattern", &*quoted(&self.params.pattern)),
            ("path", &*quoted(&self.params.path)),
            ("t", &*self.took.time.as_millis().to_string()),
        ];
        let found = match self.params.output_mode {
            _ if self.total() == 0 => Message::GrepNone,
            OutputMode::FilesWithMatches => Message::GrepFiles,
            _ => Message::GrepFound,
        };
        let head = [
            found.say(self.lang, &values),
            Message::SortedTook.say(self.lang, &values),
        ];
        head.into_iter()
            .chain(self.remarks())
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn remarks(&self) -> Vec<String> {
        let scanned = &self.page.scanned;
        let mut remarks = self.seen_so_far();
        remarks.extend(self.place());
        let mut say = |applies: bool, message: Message, values: &[(&str, &str)]| {
            if applies {
                remarks.push(message.say(self.lang, values));
            }
        };
        let shortened = self.body.shortened.to_string();
        let max = self.limits.max_line_chars().unwrap_or_default().to_string();
        let is_context_cut = self.body.is_cut && !self.has_more();
        say(is_context_cut, Message::ContextCut, &[]);
        say(
            self.body.shortened > 0,
            Message::LinesShortened,
            &[("n", &shortened), ("max", &max)],
        );
        let t = self.took.limit.as_millis().to_string();
        say(scanned.timed_out, Message::TimeLimit, &[("t", &t)]);
        say(self.is_fallback(), Message::Fallback, &[]);
        let given_up = scanned.given_up;
        say(
            given_up > 0,
            Message::StepLimit,
            &[("n", &given_up.to_string())],
        );
        say(
            scanned.unreadable > 0,
            Message::Unreadable,
            &[("n", &scanned.unreadable.to_string())],
        );
        let is_binary = self.page.is_file && scanned.binary > 0;
        say(
            is_binary,
            Message::BinarySkipped,
            &[("path", &quoted(&self.params.path))],
        );
        remarks
    }

    /// Says that there are more than the first line tells.
    fn seen_so_far(&self) -> Vec<String> {
        if self.page.scanned.is_exact || self.total() == 0 {
            return Vec::new();
        }
        let (total, unit) = (self.total().to_string(), self.unit());
        vec![Message::AtLeast.say(self.lang, &[("n", &total), ("unit", &unit)])]
    }

    fn unit(&self) -> String {
        let unit = match self.params.output_mode {
            OutputMode::Content => Message::Matches,
            _ => Message::Files,
        };
        unit.say(self.lang, &[])
    }

    /// Says which part of all there is the page shows.
    fn place(&self) -> Vec<String> {
        let (offset, shown) = (self.params.offset, self.body.shown);
        let values = [
            ("unit", &*self.unit()),
            ("n", &*shown.to_string()),
            (
                "from",
                &*offset.saturating_add(u64::from(shown > 0)).to_string(),
            ),
            ("to", &*self.next_offset().to_string()),
            ("next", &*self.next_offset().to_string()),
        ];
        let message = match (self.has_more(), offset, shown) {
            (true, 0, _) => Message::GrepFirst,
            (true, _, _) => Message::GrepPart,
            (false, 0, _) if self.has_next() => {
                return vec![Message::NextOffset.say(self.lang, &values)];
            }
            (false, 0, _) => return Vec::new(),
            (false, _, 0) => Message::GrepPast,
            (false, _, _) => Message::GrepLast,
        };
        let mut place = vec![message.say(self.lang, &values)];
        if self.has_next() {
            place.push(Message::NextOffset.say(self.lang, &values));
        }
        place
    }

    fn data(&self) -> Map<String, Value> {
        let scanned = &self.page.scanned;
        let mut data = self.body.data.clone();
        let mut put = |key: &str, value: Value| drop(data.insert(key.to_owned(), value));
        let mode = match self.params.output_mode {
            OutputMode::Content => "content",
            OutputMode::FilesWithMatches => "files_with_matches",
            OutputMode::Count => "count",
        };
        put("truncated", self.is_truncated().into());
        put("mode", mode.into());
        if self.params.output_mode == OutputMode::Content {
            put("total_lines_before_truncation", self.total_lines().into());
        }
        if !scanned.is_exact {
            put("total_is_lower_bound", true.into());
        }
        if self.is_truncated() {
            put("hint", Message::GrepHint.say(self.lang, &[]).into());
        }
        if self.has_next() {
            put("next_offset", self.next_offset().into());
        }
        if self.is_fallback() {
            put("fallback_used", true.into());
            put("fallback_reason", "rg_failed".into());
        }
        if scanned.timed_out {
            put("aborted_reason", "timeout".into());
        }
        data
    }
}
