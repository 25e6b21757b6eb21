//! The claims about Grep: the first page of matches, newest file first, against ripgrep on the Linux source.
//!
//! Both programs are first checked to find the same, then timed as whole commands with the source in the page cache.

pub(super) mod kernel;
mod same;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::machine;
use super::process::{best, millis, program, time};
use super::table::{self, Claim, Row};
use crate::ripgrep;
use crate::workspace::{by_hand, capture, release_binary, target};

const PATTERNS: [&str; 9] = [
    "zqxjkvbpwq",
    "PM_RESUME",
    "struct page",
    r"\w+_lock\(",
    "input|textarea",
    "[A-Z]+_SUSPEND",
    "Jürgen",
    "copy_(from|to)_user",
    "e",
];

/// How many matches are a page.
const PAGE: usize = 100;

const ROUNDS: usize = 7;

/// Checks that the results are the same, measures, and prints the claims at the end.
pub(crate) fn run() -> Result<()> {
    let bench = Grep::prepare()?;
    println!(
        "{}, {}, Linux source of {} files, {} of them binary\n",
        machine(),
        bench.rg_version,
        bench.n_files,
        bench.binaries.len()
    );
    same::check(&bench, &PATTERNS)?;
    print_head();
    let mut times = Vec::new();
    for pattern in PATTERNS {
        let measured = bench.measure(pattern)?;
        measured.print();
        times.push(measured);
    }
    println!();
    print_claims(&times);
    Ok(())
}

/// What is measured, and where.
struct Grep {
    /// The directory that is kept between runs.
    dir: PathBuf,
    kernel: PathBuf,
    /// How many files a search that honours `.gitignore` has to read.
    n_files: u64,
    /// The files with a NUL, relative to the source: ripgrep shows what matched before it, overspill skips them.
    binaries: HashSet<String>,
    rg: PathBuf,
    rg_version: String,
    /// The release binary.
    overspill: PathBuf,
}

/// The times of a pattern in milliseconds.
struct Times {
    pattern: &'static str,
    /// ripgrep, every match, in any order.
    rg_all: f64,
    /// ripgrep, the newest file first, cut to a page.
    rg_page: f64,
    /// overspill, stopping at the page.
    page: f64,
    /// overspill, counting on.
    total: f64,
    /// How many files overspill read for the page.
    searched: u64,
    n_files: u64,
}

impl Grep {
    fn prepare() -> Result<Self> {
        let overspill = release_binary()?;
        let dir = target()?.join("bench");
        std::fs::create_dir_all(&dir).with_context(|| format!("directory `{}`", dir.display()))?;
        let (rg, rg_version) = ripgrep::prepare(&dir)?;
        let kernel = kernel::prepare(&dir)?;
        let mut bench = Grep {
            dir,
            kernel,
            n_files: 0,
            binaries: HashSet::new(),
            rg,
            rg_version,
            overspill,
        };
        bench.binaries = bench.find_binaries()?;
        let mut list = program(&bench.rg, &bench.kernel);
        list.args(["--files", "--no-require-git"]);
        bench.n_files = capture(list)?.lines().count() as u64;
        Ok(bench)
    }

    /// Reads all files, which also brings them into the page cache.
    fn find_binaries(&self) -> Result<HashSet<String>> {
        let mut binaries = HashSet::new();
        for path in kernel::files(&self.kernel)? {
            let bytes =
                std::fs::read(&path).with_context(|| format!("file `{}`", path.display()))?;
            let is_utf16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
            if bytes.contains(&0) && !is_utf16 {
                let path = path.strip_prefix(&self.kernel)?;
                binaries.insert(path.to_string_lossy().into_owned());
            }
        }
        Ok(binaries)
    }

    /// Returns a search by ripgrep.
    fn rg(&self, flags: &[&str], pattern: &str) -> Command {
        let mut rg = program(&self.rg, &self.kernel);
        rg.args(["-i", "-n", "--no-require-git"])
            .args(flags)
            .args([pattern, "."]);
        rg
    }

    /// Returns a search by overspill.
    fn grep(&self, flags: &[&str], params: &Value) -> Command {
        let mut overspill = program(&self.overspill, &self.dir);
        overspill.arg("--root").arg(&self.kernel).args(flags).args([
            "call",
            "Grep",
            &params.to_string(),
        ]);
        overspill
    }

    /// Returns overspill's answer to a search, its envelope.
    fn answer(&self, flags: &[&str], params: &Value) -> Result<Value> {
        let mut command = self.grep(flags, params);
        let by_hand = by_hand(&command);
        // An error is answered by an envelope as well, which says more than the exit code.
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| by_hand.clone())?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`{by_hand}` ended with {} and no envelope", output.status))?;
        if !output.status.success() || answer["status"] == "error" {
            bail!("`{by_hand}`: {}", answer["error"]);
        }
        Ok(answer)
    }

    fn measure(&self, pattern: &'static str) -> Result<Times> {
        let page = json!({"pattern": pattern, "total": false});
        let total = json!({"pattern": pattern});
        let answer = self.answer(&[], &page)?;
        if !answer["data"]["aborted_reason"].is_null() {
            bail!("`{pattern}`: stopped by its time limit, so its time compares to nothing");
        }
        let mut times: [Vec<_>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let pipelines = [
                // Through a pipe: what goes to the null device directly a search need not find.
                vec![self.rg(&[], pattern), program("cat".as_ref(), &self.dir)],
                vec![self.rg(&["--sortr", "modified"], pattern), self.head()],
                vec![self.grep(&[], &page)],
                vec![self.grep(&[], &total)],
            ];
            for (times, pipeline) in times.iter_mut().zip(pipelines) {
                times.push(time(pipeline)?);
            }
        }
        let [rg_all, rg_page, page, total] = times.map(|times| millis(best(&times)));
        let searched = &answer["stats"]["searched_files"];
        Ok(Times {
            pattern,
            rg_all,
            rg_page,
            page,
            total,
            searched: searched.as_u64().context("no `stats.searched_files`")?,
            n_files: self.n_files,
        })
    }

    fn head(&self) -> Command {
        let mut head = program("head".as_ref(), &self.dir);
        head.arg(format!("-{PAGE}"));
        head
    }
}

fn print_head() {
    println!(
        "| pattern | rg, unsorted, all: ms | rg, newest first, {PAGE}: ms | overspill, {PAGE}: ms | with total: ms \
         | rg newest first / overspill | overspill / rg unsorted | files read | stops early |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
}

impl Times {
    /// Returns how many times faster the page is than ripgrep's.
    fn gain(&self) -> f64 {
        self.rg_page / self.page
    }

    /// Returns how many times longer the page takes than an unsorted search by ripgrep.
    fn cost(&self) -> f64 {
        self.page / self.rg_all
    }

    /// Tells whether the page was known before (nearly) all was read.
    fn stops_early(&self) -> bool {
        self.searched * 20 < self.n_files * 19
    }

    /// Prints the times. That is done as soon as they are measured, since a benchmark takes minutes.
    fn print(&self) {
        let Times {
            rg_all,
            rg_page,
            page,
            total,
            searched,
            ..
        } = self;
        println!(
            "| {} | {rg_all:.0} | {rg_page:.0} | {page:.0} | {total:.0} | {:.2} | {:.2} | {searched} | {} |",
            self.name(),
            self.gain(),
            self.cost(),
            if self.stops_early() { "yes" } else { "no" },
        );
    }

    /// Returns the pattern as it is written in a table.
    fn name(&self) -> String {
        format!("`{}`", self.pattern.replace('|', r"\|"))
    }
}

fn print_claims(times: &[Times]) {
    table::print_head();
    let (early, full): (Vec<_>, Vec<_>) = times.iter().partition(|times| times.stops_early());
    let all: Vec<_> = times.iter().collect();
    let least_gain = |times: &[&Times]| {
        let least = times.iter().min_by(|a, b| a.gain().total_cmp(&b.gain()));
        worst("least", times.len(), least, Times::gain)
    };
    let (figure, how) = least_gain(&early);
    Row {
        what: "patterns that stop early: rg newest first, against overspill",
        claim: Claim::at_least(2.5, "times"),
        figure,
        how,
    }
    .print();
    let (figure, how) = least_gain(&all);
    Row {
        what: "all patterns: rg newest first, against overspill",
        claim: Claim::at_least(2.0, "times"),
        figure,
        how,
    }
    .print();
    let most = full.iter().max_by(|a, b| a.cost().total_cmp(&b.cost()));
    let (figure, how) = worst("most", full.len(), most, Times::cost);
    Row {
        what: "patterns for which all is read: overspill, against rg unsorted",
        claim: Claim::at_most(1.15, "times"),
        figure,
        how,
    }
    .print();
}

/// Returns the figure of the pattern that is worst for a claim, and how it came about.
fn worst(
    which: &str,
    n_patterns: usize,
    times: Option<&&Times>,
    figure: fn(&Times) -> f64,
) -> (Option<f64>, String) {
    let Some(times) = times else {
        return (None, "no such pattern".to_owned());
    };
    let how = format!(
        "the {which} of {n_patterns}: {}; the best of {ROUNDS} each, in turn",
        times.name()
    );
    (Some(figure(times)), how)
}
