//! Labelled outputs, and how much of what matters in them a preview keeps.
//!
//! The regression test and `cargo xtask bench smart` both include this file, so that both mean the same by it: a marked line
//! is kept if its first 160 chars, without escapes and with each run of white space as one space, occur in a line of the preview.

use std::io;
use std::path::Path;

use overspill::{Lang, Limits, Salience, Strategy, Stream, Streamed};
use serde_json::Value;

/// How much of a marked line has to be kept.
const MARKED_CHARS: usize = 160;

/// An output, and what matters in it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) output: String,
    query: Option<String>,
    /// Whether one marked line is enough.
    any_of: bool,
    marked: Vec<String>,
}

/// Returns the labelled outputs of a directory with `labels.jsonl`.
pub(crate) fn cases_in(dir: &Path) -> io::Result<Vec<Case>> {
    let labels = std::fs::read_to_string(dir.join("labels.jsonl"))?;
    let case = |line| {
        let label: Value = serde_json::from_str(line)?;
        let name = label["name"].as_str().unwrap_or_default();
        let output = std::fs::read(dir.join(format!("{name}.txt")))?;
        Ok(Case::new(name, &output, &label, &[&label["lines"]]))
    };
    labels.lines().map(case).collect()
}

impl Case {
    /// Makes a case of an output and its label, whose marked lines are in `marked`.
    pub(crate) fn new(name: &str, output: &[u8], label: &Value, marked: &[&Value]) -> Self {
        let query = label["query"].as_str().filter(|query| !query.is_empty());
        let lines = marked.iter().filter_map(|lines| lines.as_array()).flatten();
        Case {
            name: name.to_owned(),
            output: String::from_utf8_lossy(output).replace("\r\n", "\n"),
            query: query.map(str::to_owned),
            any_of: label["any_of"].as_bool().unwrap_or(false),
            marked: lines
                .filter_map(Value::as_str)
                .map(|line| plain(line).chars().take(MARKED_CHARS).collect())
                .collect(),
        }
    }

    /// Returns the preview of the output, for its query if it has one; `None` if all of it is within the limits.
    pub(crate) fn preview(
        &self,
        limits: &Limits,
        strategy: Strategy,
        salience: &Salience,
    ) -> Option<String> {
        let salience = match &self.query {
            Some(query) => salience.clone().query(query),
            None => salience.clone(),
        };
        let mut stream = Stream::new(limits, strategy).salience(&salience);
        stream.push(self.output.as_bytes());
        match stream.finish() {
            Streamed::Whole(_) => None,
            Streamed::Part(preview) => Some(preview.text(Lang::En).into_owned()),
        }
    }

    /// Returns the share of the marked lines that a preview has.
    pub(crate) fn recall(&self, preview: &str) -> f64 {
        let lines: Vec<String> = preview.split(['\n', '\r']).map(plain).collect();
        let is_kept = |marked: &&String| lines.iter().any(|line| line.contains(marked.as_str()));
        let n_kept = self.marked.iter().filter(is_kept).count();
        if self.any_of {
            return f64::from(n_kept > 0);
        }
        n_kept as f64 / self.marked.len() as f64
    }
}

/// Returns the mean recall over the cases that are over the limits, and how many those are; `None` if none is.
pub(crate) fn mean_recall(
    cases: &[Case],
    limits: &Limits,
    strategy: Strategy,
    salience: &Salience,
) -> Option<(f64, usize)> {
    let recalls: Vec<f64> = cases
        .iter()
        .filter_map(|case| Some(case.recall(&case.preview(limits, strategy, salience)?)))
        .collect();
    let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
    (!recalls.is_empty()).then_some((mean, recalls.len()))
}

/// Returns a line as it is compared: without the terminal's escapes, and with single spaces.
pub(crate) fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\x1b') {
        text += &rest[..at];
        rest = &rest[at..];
        let len = escape_len(rest).unwrap_or_else(|| {
            text.push('\x1b');
            1
        });
        rest = &rest[len..];
    }
    text += rest;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the length of the escape at the start of a text: a colour or a movement, a title, a character set.
fn escape_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(1)? {
        b'[' => {
            let is_parameter = |byte: &&u8| matches!(byte, b'0'..=b'9' | b';' | b'?');
            let n_parameters = bytes[2..].iter().take_while(is_parameter).count();
            let last = bytes.get(2 + n_parameters)?;
            last.is_ascii_alphabetic().then_some(3 + n_parameters)
        }
        b']' => text.find('\x07').map(|bell| bell + 1),
        b'(' | b')' => matches!(bytes.get(2)?, b'A'..=b'Z' | b'0'..=b'9').then_some(3),
        _ => None,
    }
}
