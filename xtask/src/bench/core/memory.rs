//! Cuts of a text in memory, measured by the library's example `speed`, whose lines are read here.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Core;
use crate::bench::inputs;
use crate::bench::table::{Claim, Row};
use crate::workspace::capture;

const TEXT_BYTES: u64 = 100_000_000;
const HOSTILE_BYTES: usize = 1_000_000;

/// In how many processes a cut to tokens is measured, each with the vocabulary not loaded yet.
const PROCESSES: usize = 5;

const STRATEGIES: [&str; 3] = ["head", "tail", "head_tail"];

/// How long a cut to tokens took, in milliseconds: the first of a process, and the second.
struct TokenCut {
    name: String,
    cold: f64,
    warm: f64,
}

/// Measures and prints; returns the single figures behind the claims as tables.
pub(super) fn measure(bench: &Core) -> Result<String> {
    let rates = rates(bench)?;
    tokens(bench)?;
    let cuts = hostile(bench)?;
    let mut details = String::from("| cut of 100 MB in memory | GB/s |\n|---|---|\n");
    for (name, rate) in rates {
        writeln!(details, "| {name} | {rate:.1} |")?;
    }
    details +=
        "\n| 1 MB cut to 25,000 tokens | ms, vocabulary not loaded | ms, loaded |\n|---|---|---|\n";
    for TokenCut { name, cold, warm } in cuts {
        writeln!(details, "| {name} | {cold:.1} | {warm:.1} |")?;
    }
    Ok(details)
}

/// Cuts without a token limit.
fn rates(bench: &Core) -> Result<Vec<(String, f64)>> {
    let rates = bench.speed(&[Path::new("cut"), &bench.log(TEXT_BYTES)?])?;
    let slowest = rates.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (name, rate) = slowest.context("`speed cut` printed nothing")?;
    Row {
        what: "count and cut 100 MB in memory",
        claim: Claim::at_least(4.0, "GB/s"),
        figure: Some(*rate),
        how: format!("the slowest of {}: {name}; medians of 9", rates.len()),
    }
    .print();
    Ok(rates)
}

/// A token limit on a large text.
fn tokens(bench: &Core) -> Result<()> {
    let cuts = bench.token_cuts("log", &bench.log(TEXT_BYTES)?)?;
    let (time, name) = slowest(&cuts)?;
    Row {
        what: "cut 100 MB to 25,000 tokens, vocabulary not loaded",
        claim: Claim::under(80.0, "ms"),
        figure: Some(time),
        how: format!(
            "the slowest of {}: {name}; the best of {PROCESSES} processes",
            cuts.len()
        ),
    }
    .print();
    Ok(())
}

/// Texts that are hard on a tokenizer, and a log to compare them with.
fn hostile(bench: &Core) -> Result<Vec<TokenCut>> {
    let plain = bench.token_cuts("log", &bench.log(HOSTILE_BYTES as u64)?)?;
    let mut hostile = Vec::new();
    let file = bench.subject.file("hostile");
    for (name, text) in inputs::hostile(HOSTILE_BYTES) {
        std::fs::write(&file, text).context("hostile text")?;
        hostile.extend(bench.token_cuts(name, &file)?);
    }
    let (time, name) = slowest(&hostile)?;
    Row {
        what: "cut a hostile megabyte to 25,000 tokens, vocabulary not loaded",
        claim: Claim::under(3000.0, "ms"),
        figure: Some(time),
        how: format!(
            "the slowest of {}: {name}; the best of {PROCESSES} processes",
            hostile.len()
        ),
    }
    .print();
    let (plain_time, _) = slowest(&plain)?;
    Row {
        what: "the same, against a megabyte of log",
        claim: Claim::at_most(10.0, "times"),
        figure: Some(time / plain_time),
        how: format!("{time:.1} against {plain_time:.1} ms: {name}"),
    }
    .print();
    Ok(plain.into_iter().chain(hostile).collect())
}

/// Returns the longest time of a process's first cut, and of which cut it is.
fn slowest(cuts: &[TokenCut]) -> Result<(f64, &str)> {
    let slowest = cuts
        .iter()
        .max_by(|a, b| a.cold.total_cmp(&b.cold))
        .context("nothing was cut")?;
    Ok((slowest.cold, &slowest.name))
}

impl Core {
    /// Cuts a text to tokens by every strategy.
    fn token_cuts(&self, name: &str, text: &Path) -> Result<Vec<TokenCut>> {
        let cut = |strategy: &&str| {
            let mut best = TokenCut {
                name: format!("{name}, {strategy}"),
                cold: f64::MAX,
                warm: f64::MAX,
            };
            for _ in 0..PROCESSES {
                for (name, time) in self.speed(&[Path::new("tokens"), text, Path::new(strategy)])? {
                    let best = if name == "cold" {
                        &mut best.cold
                    } else {
                        &mut best.warm
                    };
                    *best = best.min(time);
                }
            }
            Ok(best)
        };
        STRATEGIES.iter().map(cut).collect()
    }

    /// Runs the example and returns its lines as names and values.
    fn speed(&self, args: &[&Path]) -> Result<Vec<(String, f64)>> {
        let mut speed = Command::new(&self.speed);
        speed.args(args);
        let mut values = Vec::new();
        for line in capture(speed)?.lines() {
            let mut fields = line.split('\t');
            let (Some(name), Some(value)) = (fields.next(), fields.next()) else {
                bail!("`speed` printed `{line}`")
            };
            let value = value
                .parse()
                .with_context(|| format!("`speed` printed `{line}`"))?;
            values.push((name.to_owned(), value));
        }
        Ok(values)
    }
}
