//! Checks that overspill finds what ripgrep finds, before any time is compared.
//!
//! Binary files are left out of what ripgrep found; long lines, `\r` and broken UTF-8 may differ as overspill documents it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{Grep, PAGE};
use crate::workspace::by_hand;

/// Long enough for any machine to finish.
const UNHURRIED: [&str; 2] = ["--search-timeout-ms", "60000"];

/// Lines of more chars are cut by overspill, on a grapheme edge and with `...` at the end.
const MAX_LINE_CHARS: usize = 2000;

/// More chars than path, line number, a grapheme and the `...` have together: the path counts as part of the line.
const CUT_MARGIN: usize = 300;

/// How many files are asked for at once.
const FILES: u64 = 4000;

/// How many chars of a line are quoted.
const QUOTED_CHARS: usize = 120;

/// How many lines matched, by file.
type Counts = BTreeMap<String, u64>;

/// Checks each pattern and fails after the last, so that all differences are seen at once.
pub(super) fn check(bench: &Grep, patterns: &[&str]) -> Result<()> {
    let mut n_different = 0;
    for pattern in patterns {
        let theirs = bench.rg_counts(pattern)?;
        let checks = [
            ("page", check_page(bench, pattern)?),
            ("total", check_total(bench, pattern, &theirs)?),
            ("lines by file", check_counts(bench, pattern, &theirs)?),
        ];
        for (what, outcome) in checks {
            match outcome {
                Outcome::Same => {}
                Outcome::Skipped => println!("`{pattern}`, {what}: not complete, skipped"),
                Outcome::Different(how) => {
                    println!("`{pattern}`, {what}: DIFFERENT: {how}");
                    n_different += 1;
                }
            }
        }
    }
    if n_different > 0 {
        bail!("{n_different} results are not ripgrep's, so nothing was measured");
    }
    println!("results: the same as ripgrep's\n");
    Ok(())
}

enum Outcome {
    Same,
    /// The answer says that it is not all.
    Skipped,
    Different(String),
}

/// A line that matched.
struct Match {
    file: String,
    line: u64,
    text: String,
}

/// The first page, in its order.
fn check_page(bench: &Grep, pattern: &str) -> Result<Outcome> {
    let answer = bench.answer(&UNHURRIED, &json!({"pattern": pattern, "total": false}))?;
    let ours = matches(&answer)?;
    let theirs = bench.rg_page(pattern)?;
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        if !ours.is_same(theirs) {
            let how = format!(
                "match {} is {}, ripgrep's {}",
                index + 1,
                ours.quoted(),
                theirs.quoted()
            );
            return Ok(Outcome::Different(how));
        }
    }
    Ok(same_number(
        "matches",
        ours.len() as u64,
        theirs.len() as u64,
    ))
}

/// The number of all lines that matched.
fn check_total(bench: &Grep, pattern: &str, theirs: &Counts) -> Result<Outcome> {
    let answer = bench.answer(&UNHURRIED, &json!({"pattern": pattern}))?;
    if !is_complete(&answer) {
        return Ok(Outcome::Skipped);
    }
    let ours = answer["stats"]["matched_lines"].as_u64();
    let ours = ours.context("no `stats.matched_lines`")?;
    Ok(same_number("lines", ours, theirs.values().sum()))
}

/// The lines that matched in each file, page by page: one answer with all of them would be cut.
fn check_counts(bench: &Grep, pattern: &str, theirs: &Counts) -> Result<Outcome> {
    let (mut ours, mut offset) = (Counts::new(), Some(0));
    while let Some(at) = offset {
        let params = json!({
            "pattern": pattern, "output_mode": "count", "limit": FILES, "offset": at, "total": false,
        });
        let answer = bench.answer(&UNHURRIED, &params)?;
        if !answer["data"]["aborted_reason"].is_null() {
            return Ok(Outcome::Skipped);
        }
        ours.extend(counts(&answer)?);
        offset = answer["data"]["next_offset"].as_u64();
    }
    let files = theirs.keys().chain(ours.keys());
    let differs = |file: &&String| ours.get(*file) != theirs.get(*file);
    Ok(match files.into_iter().find(differs) {
        None => Outcome::Same,
        Some(file) => {
            let count = |counts: &Counts| counts.get(file).copied().unwrap_or_default();
            same_number(&format!("lines in `{file}`"), count(&ours), count(theirs))
        }
    })
}

fn same_number(of: &str, ours: u64, theirs: u64) -> Outcome {
    if ours == theirs {
        Outcome::Same
    } else {
        Outcome::Different(format!("{ours} {of}, ripgrep has {theirs}"))
    }
}

fn is_complete(answer: &Value) -> bool {
    let data = &answer["data"];
    data["aborted_reason"].is_null() && data["total_is_lower_bound"] != true
}

/// Returns the matches of an answer.
fn matches(answer: &Value) -> Result<Vec<Match>> {
    let matches = answer["data"]["matches"].as_array();
    let read = |found: &Value| {
        Some(Match {
            file: found["file"].as_str()?.to_owned(),
            line: found["line"].as_u64()?,
            text: found["text"].as_str()?.to_owned(),
        })
    };
    matches
        .and_then(|matches| matches.iter().map(read).collect())
        .context("no `data.matches` of `file`, `line` and `text`")
}

/// Returns the counts of an answer.
fn counts(answer: &Value) -> Result<Counts> {
    let counts = answer["data"]["counts"].as_array();
    let read = |count: &Value| Some((count["file"].as_str()?.to_owned(), count["count"].as_u64()?));
    counts
        .and_then(|counts| counts.iter().map(read).collect())
        .context("no `data.counts` of `file` and `count`")
}

impl Match {
    fn is_same(&self, theirs: &Match) -> bool {
        (&self.file, self.line) == (&theirs.file, theirs.line)
            && is_same_text(&self.text, &theirs.text)
    }

    fn quoted(&self) -> String {
        let text: String = self.text.chars().take(QUOTED_CHARS).collect();
        format!("`{}:{}: {text}`", self.file, self.line)
    }
}

/// Tells whether a line is ripgrep's, whole or cut as a long line is.
fn is_same_text(ours: &str, theirs: &str) -> bool {
    let is_cut = |start: &str| {
        theirs.starts_with(start)
            && theirs.chars().count() > MAX_LINE_CHARS - CUT_MARGIN
            && start.chars().count() > MAX_LINE_CHARS - CUT_MARGIN
    };
    ours == theirs || ours.strip_suffix("...").is_some_and(is_cut)
}

impl Grep {
    /// Returns ripgrep's first page, the newest file first.
    fn rg_page(&self, pattern: &str) -> Result<Vec<Match>> {
        let mut page = Vec::new();
        let rg = self.rg(&["--null", "--sortr", "modified"], pattern);
        self.read_rg(rg, |file, rest| {
            let rest = String::from_utf8_lossy(rest);
            let (line, text) = rest.split_once(':').context("no line number")?;
            page.push(Match {
                file: file.to_owned(),
                line: line.parse().context("line number")?,
                text: text.strip_suffix('\r').unwrap_or(text).to_owned(),
            });
            Ok(page.len() < PAGE)
        })?;
        Ok(page)
    }

    /// Returns how many lines ripgrep finds in each file, from the same list of lines as is timed.
    fn rg_counts(&self, pattern: &str) -> Result<Counts> {
        let mut counts = Counts::new();
        // Lines of a file come together, so that a file is looked up once and not for each of millions of lines.
        let mut current = (String::new(), 0);
        self.read_rg(self.rg(&["--null"], pattern), |file, _| {
            if file != current.0 {
                let (file, count) = std::mem::replace(&mut current, (file.to_owned(), 0));
                *counts.entry(file).or_default() += count;
            }
            current.1 += 1;
            Ok(true)
        })?;
        *counts.entry(current.0).or_default() += current.1;
        counts.remove("");
        Ok(counts)
    }

    /// Gives each line that ripgrep finds to `each` as file and rest (`line:text`), as long as it returns true.
    fn read_rg(
        &self,
        mut rg: Command,
        mut each: impl FnMut(&str, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let by_hand = by_hand(&rg);
        let mut child = rg
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| by_hand.clone())?;
        let stdout = child.stdout.take().context("no stdout of ripgrep")?;
        let mut stdout = BufReader::with_capacity(1 << 16, stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line)? > 0 {
            let found = line.strip_suffix(b"\n").unwrap_or(&line);
            // What has no NUL after its path is a remark about a binary file.
            if let Some(end) = found.iter().position(|byte| *byte == 0) {
                let file = String::from_utf8_lossy(&found[..end]);
                let file = file.strip_prefix("./").unwrap_or(&file);
                if !self.binaries.contains(file)
                    && !each(file, &found[end + 1..]).with_context(|| by_hand.clone())?
                {
                    // Without a reader it ends at its next write, or when it has searched all.
                    drop(stdout);
                    child.wait()?;
                    return Ok(());
                }
            }
            line.clear();
        }
        match child.wait()?.code() {
            // 1 is that nothing matched.
            Some(0 | 1) => Ok(()),
            _ => bail!("`{by_hand}` did not search all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_may_be_cut() {
        let long = "é".repeat(MAX_LINE_CHARS + 1);
        let cut = |chars| "é".repeat(chars) + "...";
        assert!(is_same_text("a", "a"));
        assert!(is_same_text(&long, &long));
        assert!(is_same_text(&cut(MAX_LINE_CHARS - 3), &long));
        assert!(is_same_text(&cut(MAX_LINE_CHARS), &long));
        assert!(!is_same_text(&cut(MAX_LINE_CHARS / 2), &long));
        assert!(!is_same_text("a...", "ab"));
    }
}
