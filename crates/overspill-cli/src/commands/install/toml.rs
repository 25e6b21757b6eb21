//! Servers in TOML: wraps and unwraps them by splicing, so that all else stays as it is.
//!
//! `toml_edit` tells where things stand; what is written is spliced text. TOML has comments, so a server behind an address keeps
//! its old lines as comments that start with a [`mark`]; taking the marks away, and our lines, is exact.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use super::agents::Dialect;
use super::edit::{Edit, Span, before_first, sorted};
use super::json::scan::{Fault, quoted as json_quoted};
use super::server::{Change, Field, Plan, Proxied, Server, Wish, start};

/// Plans what is wanted for a file.
pub(super) fn plan(text: &str, dialect: &Dialect, wish: &Wish<'_>) -> Result<Plan, Fault> {
    let document = Document::parse(text).map_err(|error| Fault {
        at: error.span().map_or(0, |span| span.start),
        what: error.message().replace('\n', "; ").into(),
    })?;
    let values = values(document.as_item());
    let mut plan = Plan::default();
    for path in dialect.servers {
        let table = path.iter().try_fold(document.as_item(), |item, key| {
            item.as_table_like()?.get(key)
        });
        let Some(table) = table.and_then(Item::as_table_like) else {
            continue;
        };
        for (name, _) in table.iter() {
            match Entry::read(text, dialect, table, name, &values) {
                Some(entry) => entry.add_to(&mut plan, wish),
                None => {
                    let why = "it is not a table".to_owned();
                    plan.left.push((name.to_owned(), why));
                }
            }
        }
    }
    plan.edits = sorted(plan.edits);
    Ok(plan)
}

/// Returns where all values are that are no tables of lines, in order.
fn values(item: &Item) -> Vec<Span> {
    let mut found = Vec::new();
    collect(item, &mut found);
    found.sort_by_key(|span| span.start);
    found
}

fn collect(item: &Item, found: &mut Vec<Span>) {
    match item {
        Item::None => {}
        Item::Value(Value::InlineTable(table)) if table.is_dotted() => {
            table
                .iter()
                .for_each(|(_, value)| found.extend(value.span()));
        }
        Item::Value(value) => found.extend(value.span()),
        Item::Table(table) => table.iter().for_each(|(_, item)| collect(item, found)),
        Item::ArrayOfTables(tables) => {
            let items = tables.iter().flat_map(|table| table.iter());
            items.for_each(|(_, item)| collect(item, found));
        }
    }
}

/// A key with its value.
struct Pair {
    name: String,
    key: Span,
    value: Span,
}

/// A server where it stands.
struct Entry<'t> {
    text: &'t str,
    dialect: &'t Dialect,
    values: &'t [Span],
    server: Server,
    /// Those of its members that are values.
    pairs: Vec<Pair>,
    args: Vec<Span>,
    form: Form,
}

/// How a server is written.
enum Form {
    /// Lines below a header, or with dotted keys; these are the lines of its headers.
    Lines(Vec<Span>),
    /// Braces, on a line of their own with the key.
    Braces(Pair),
    /// Braces in braces.
    Nested,
}

impl<'t> Entry<'t> {
    fn read(
        text: &'t str,
        dialect: &'t Dialect,
        parent: &dyn TableLike,
        name: &str,
        values: &'t [Span],
    ) -> Option<Entry<'t>> {
        let (key, item) = parent.get_key_value(name)?;
        let table = item.as_table_like()?;
        let members: Vec<&str> = table.iter().map(|(name, _)| name).collect();
        let pairs = members.iter().filter_map(|name| pair(table, name));
        let form = match item.as_inline_table() {
            None => Form::Lines(header_lines(text, table, dialect.headers)),
            Some(_) => match (pair(parent, name), key.span()) {
                (Some(pair), Some(_)) if !is_inside(values, &pair) => Form::Braces(pair),
                _ => Form::Nested,
            },
        };
        let args = table.get("args").and_then(Item::as_array);
        let args = args.map(|args| args.iter().filter_map(Value::span).collect());
        Some(Entry {
            text,
            dialect,
            values,
            pairs: pairs.collect(),
            args: args.unwrap_or_default(),
            form,
            server: Server {
                name: name.to_owned(),
                keys: members.iter().map(|name| (*name).to_owned()).collect(),
                kind: field(table, "type", string),
                line: line(table),
                url: field(table, dialect.url[0], string),
                headers: field(table, dialect.headers, strings_by_name),
            },
        })
    }

    fn pair(&self, name: &str) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.name == name)
    }

    /// Adds what becomes of the server to a plan.
    fn add_to(&self, plan: &mut Plan, wish: &Wish<'_>) {
        let verdict = self.server.verdict(self.dialect);
        plan.add(&self.server.name, verdict, wish, |change| match change {
            Change::Start(program) => self.started(program),
            Change::Reach(program, words) => self.reached(program, &words),
            Change::Unwrap(Proxied::Start {
                program,
                had_no_list,
            }) => self.unstarted(program, had_no_list),
            Change::Unwrap(Proxied::Reach { url, headers }) => self.unreached(&url, &headers),
        });
    }

    /// Puts the proxy before a server that is started.
    fn started(&self, program: &str) -> Option<Vec<Edit>> {
        let command = self.pair("command")?;
        let words = |had_no_list| {
            let words = start(&self.server.name, had_no_list);
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>()
        };
        // The program as it was written, quotes and all.
        let own = vec![self.text.get(command.value.clone())?.to_owned()];
        let replaced = Edit::replace(&command.value, quoted(program));
        let added = match (self.pair("args"), &self.form) {
            (Some(args), _) => {
                let new = [words(false), own].concat();
                before_first(self.text, &args.value, &self.args, &new)
            }
            (None, Form::Lines(_)) => {
                let list = [words(true), own].concat().join(", ");
                let (line, prefix) = self.line_start(command);
                let end = self.line_end();
                Edit::insert(line, format!("{prefix}args = [{list}]{end}"))
            }
            (None, _) => {
                let list = [words(true), own].concat().join(", ");
                Edit::insert(command.value.end, format!(", args = [{list}]"))
            }
        };
        Some(sorted(vec![replaced, added]))
    }

    fn unstarted(&self, program: usize, had_no_list: bool) -> Option<Vec<Edit>> {
        let (command, args) = (self.pair("command")?, self.pair("args")?);
        let own = self.args.get(program - 1)?;
        let restored = Edit::replace(&command.value, self.text.get(own.clone())?);
        let first = self.args.first()?.start;
        let removed = match (self.args.get(program), &self.form) {
            (Some(next), _) => first..next.start,
            (None, Form::Lines(_)) if had_no_list => self.lines(args),
            // Ours stands behind the command; anything else is somebody's own order.
            (None, _) if had_no_list && command.value.end < args.key.start => {
                command.value.end..args.value.end
            }
            (None, _) => first..self.with_comma(own.end),
        };
        Some(sorted(vec![restored, Edit::remove(removed)]))
    }

    /// Puts the proxy before a server behind an address.
    fn reached(&self, program: &str, words: &[String]) -> Option<Vec<Edit>> {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let (program, list) = (quoted(program), words.join(", "));
        let end = self.line_end();
        let (new, old, at) = match &self.form {
            Form::Nested => return None,
            Form::Lines(headers) => {
                let url = self.pair(self.dialect.url[0])?;
                let (at, prefix) = self.line_start(url);
                let new = format!("{prefix}command = {program}{end}{prefix}args = [{list}]{end}");
                let old = [vec![self.lines(url)], headers.clone()].concat();
                (new, old, at)
            }
            Form::Braces(pair) => {
                let start = self.text.get(self.line_start(pair).0..pair.value.start)?;
                let gone = [self.dialect.url[0], self.dialect.headers];
                let kept = self.pairs.iter();
                let kept = kept.filter(|pair| !gone.contains(&pair.name.as_str()));
                let kept = kept.filter_map(|pair| self.text.get(pair.key.start..pair.value.end));
                let kept: String = kept.map(|pair| format!(", {pair}")).collect();
                let new = format!("{start}{{ command = {program}, args = [{list}]{kept} }}{end}");
                (new, vec![self.lines(pair)], self.line_start(pair).0)
            }
        };
        // A line with our mark would be taken for one of these when the proxy is taken away.
        self.marked().is_empty().then_some(())?;
        let mark = mark(&self.server.name);
        let mut edits = vec![Edit::insert(at, new)];
        for span in old {
            let lines = self.text.get(span.clone())?.split_inclusive('\n');
            let starts = lines.scan(span.start, |at, line| {
                Some(std::mem::replace(at, *at + line.len()))
            });
            edits.extend(starts.map(|at| Edit::insert(at, mark.clone())));
        }
        // The new lines come before the first mark, which is put at the same place.
        edits[1..].sort_by_key(|edit| edit.at.start);
        Some(edits)
    }

    fn unreached(&self, url: &str, headers: &[(String, String)]) -> Option<Vec<Edit>> {
        let marked = self.marked();
        let mut edits = Vec::new();
        if !marked.is_empty() {
            edits.extend(marked.into_iter().map(Edit::remove));
            match &self.form {
                Form::Nested => return None,
                Form::Braces(pair) => edits.push(Edit::remove(self.lines(pair))),
                Form::Lines(_) => {
                    for name in ["command", "args"] {
                        edits.push(Edit::remove(self.lines(self.pair(name)?)));
                    }
                }
            }
            return Some(sorted(edits));
        }
        let (command, args) = (self.pair("command")?, self.pair("args")?);
        let pairs = headers.iter();
        let pairs = pairs.map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        let url = format!("{} = {}", self.dialect.url[0], quoted(url));
        edits.push(Edit::replace(&(command.key.start..command.value.end), url));
        edits.push(match (headers.is_empty(), &self.form) {
            (false, _) => Edit::replace(
                &(args.key.start..args.value.end),
                format!("{} = {{ {pairs} }}", self.dialect.headers),
            ),
            (true, Form::Lines(_)) => Edit::remove(self.lines(args)),
            (true, _) if command.value.end < args.key.start => {
                Edit::remove(command.value.end..args.value.end)
            }
            (true, _) => return None,
        });
        Some(sorted(edits))
    }

    /// Returns where the marks of this server are, which stand at the start of lines that are comments.
    fn marked(&self) -> Vec<Span> {
        let mark = mark(&self.server.name);
        let found = self.text.match_indices(&mark).map(|(at, _)| at);
        let is_comment = |at: &usize| {
            let is_first = *at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n');
            let before = self.values.partition_point(|value| value.start <= *at);
            let value = before.checked_sub(1).and_then(|n| self.values.get(n));
            is_first && value.is_none_or(|value| value.end <= *at)
        };
        found
            .filter(is_comment)
            .map(|at| at..at + mark.len())
            .collect()
    }

    /// Returns where the line of a key starts, and what stands before the key: indentation, and keys with dots.
    fn line_start(&self, pair: &Pair) -> (usize, &'t str) {
        let before = self.text.get(..pair.key.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (start, &before[start..])
    }

    /// Returns the lines of a key and its value, with the end of the last one.
    fn lines(&self, pair: &Pair) -> Span {
        whole_lines(self.text, self.line_start(pair).0, pair.value.end)
    }

    /// Returns how lines end in this file.
    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Returns the end of a part with the comma behind it, if one is there.
    fn with_comma(&self, end: usize) -> usize {
        let rest = self.text.get(end..).unwrap_or_default();
        let space = rest.len() - rest.trim_ascii_start().len();
        let is_comma = rest[space..].starts_with(',');
        if is_comma { end + space + 1 } else { end }
    }
}

/// Returns what a line of a server starts with that is put aside. The name is in it, quoted, so that each server gets its own.
fn mark(name: &str) -> String {
    format!("#overspill {}# ", quoted(name))
}

/// Returns a string as TOML writes it: as JSON does, but for one character.
fn quoted(text: &str) -> String {
    json_quoted(text).replace('\u{7f}', "\\u007F")
}

fn whole_lines(text: &str, start: usize, end: usize) -> Span {
    let rest = text.get(end..).unwrap_or_default();
    start..rest.find('\n').map_or(text.len(), |at| end + at + 1)
}

fn pair(table: &dyn TableLike, name: &str) -> Option<Pair> {
    let (key, item) = table.get_key_value(name)?;
    Some(Pair {
        name: name.to_owned(),
        key: key.span()?,
        value: item.as_value()?.span()?,
    })
}

/// Tells whether a pair stands inside a value.
fn is_inside(values: &[Span], pair: &Pair) -> bool {
    values
        .iter()
        .any(|value| value.start < pair.key.start && pair.value.end < value.end)
}

/// Returns the lines that name the headers of a server: one, one each, or a table of their own.
fn header_lines(text: &str, table: &dyn TableLike, name: &str) -> Vec<Span> {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |at| at + 1);
    let of_pair = |pair: &Pair| whole_lines(text, line_start(pair.key.start), pair.value.end);
    if let Some(pair) = pair(table, name) {
        return vec![of_pair(&pair)];
    }
    let Some(headers) = table.get(name).and_then(Item::as_table) else {
        return Vec::new();
    };
    let pairs = headers.iter().filter_map(|(name, _)| pair(headers, name));
    let mut spans: Vec<Range<usize>> = pairs.map(|pair| of_pair(&pair)).collect();
    if let (false, Some(header)) = (headers.is_dotted(), headers.span()) {
        spans.push(whole_lines(text, line_start(header.start), header.start));
    }
    spans
}

fn field<T>(table: &dyn TableLike, name: &str, read: impl Fn(&Item) -> Option<T>) -> Field<T> {
    table
        .get(name)
        .map_or(Field::Absent, |item| Field::of(read(item)))
}

fn line(table: &dyn TableLike) -> Field<Vec<String>> {
    match (
        field(table, "command", string),
        field(table, "args", strings),
    ) {
        (Field::Is(command), Field::Absent) => Field::Is(vec![command]),
        (Field::Is(command), Field::Is(args)) => Field::Is([vec![command], args].concat()),
        (Field::Absent, Field::Absent) => Field::Absent,
        _ => Field::Wrong,
    }
}

fn string(item: &Item) -> Option<String> {
    item.as_str().map(str::to_owned)
}

fn strings(item: &Item) -> Option<Vec<String>> {
    let items = item.as_array()?.iter();
    items.map(|item| Some(item.as_str()?.to_owned())).collect()
}

fn strings_by_name(item: &Item) -> Option<Vec<(String, String)>> {
    let items = item.as_table_like()?.iter();
    items
        .map(|(name, item)| Some((name.to_owned(), string(item)?)))
        .collect()
}
