//! Shows a tool's answer to people: what a model reads, with colours on a terminal.

use std::collections::HashSet;

use overspill::Envelope;
use serde_json::Value;

const PATH: &str = "\x1b[35m";
const NUMBER: &str = "\x1b[32m";
const DIRECTORY: &str = "\x1b[1;34m";
const REMARK: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// Returns what is printed of an answer.
pub(crate) fn shown(tool: &str, envelope: &Envelope, colours: bool) -> String {
    let text = readable(envelope);
    if !colours {
        return text;
    }
    let paths = paths(envelope);
    let colour = |line: &str| match tool {
        "Grep" => found_line(line, &paths),
        "LS" | "RepoStructure" => directory_line(line),
        _ => remark_line(line),
    };
    text.lines().map(colour).collect::<Vec<_>>().join("\n")
}

/// Returns the payload with what is said about it.
fn readable(envelope: &Envelope) -> String {
    let member = |key: &str| envelope.data.get(key).and_then(Value::as_str);
    match (member("preview"), member("content")) {
        (Some(preview), _) => format!("{preview}\n\n{}", envelope.text),
        (None, Some(content)) => {
            let content = content.strip_suffix('\n').unwrap_or(content);
            let is_all = envelope.data.get("truncated") == Some(&Value::Bool(false))
                && envelope
                    .data
                    .get("start_line")
                    .is_none_or(|line| *line == 1)
                && envelope.data.get("end_line") == envelope.data.get("total_lines");
            match content {
                "" => envelope.text.clone(),
                content if is_all => content.to_owned(),
                content => format!("{content}\n\n{}", envelope.text),
            }
        }
        (None, None) => envelope.text.clone(),
    }
}

fn paths(envelope: &Envelope) -> HashSet<&str> {
    let names = envelope.data.get("filenames").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn found_line(line: &str, paths: &HashSet<&str>) -> String {
    if paths.contains(line) {
        return format!("{PATH}{line}{PLAIN}");
    }
    for mark in [':', '-'] {
        for (at, _) in line.match_indices(mark) {
            if paths.contains(&line[..at]) {
                let rest = &line[at + 1..];
                let digits =
                    rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let (path, (number, rest)) = (&line[..at], rest.split_at(digits));
                return format!("{PATH}{path}{PLAIN}{mark}{NUMBER}{number}{PLAIN}{rest}");
            }
        }
    }
    remark_line(line)
}

fn directory_line(line: &str) -> String {
    match line.split_once('/') {
        Some((before, after)) if after.is_empty() || after.starts_with(' ') => {
            let (indent, name) = before.split_at(before.len() - before.trim_start().len());
            format!("{indent}{DIRECTORY}{name}/{PLAIN}{after}")
        }
        _ => remark_line(line),
    }
}

fn remark_line(line: &str) -> String {
    let is_remark = (line.starts_with('[') && line.ends_with(']'))
        || (line.starts_with('(') && line.ends_with(')'));
    match is_remark {
        true => format!("{REMARK}{line}{PLAIN}"),
        false => line.to_owned(),
    }
}
