//! Whole programs, run as a user runs them and compared with what the system has.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Core;
use crate::bench::process::{best, median, millis, peak_memory, program, time};
use crate::bench::table::{Claim, Row};

const LARGE_BYTES: u64 = 1 << 30;
const FLOOD_BYTES: u64 = 4 << 30;
const SMALL_BYTES: u64 = 40_000;

const LARGE_RUNS: usize = 5;
const SMALL_RUNS: usize = 200;

/// Where the program keeps its spills, below the directory it runs in.
const STORE: &str = "tool-output";

/// Measures and prints.
pub(super) fn measure(bench: &Core) -> Result<()> {
    large(bench)?;
    flood(bench)?;
    small(bench)
}

/// A large log through a pipe with spill, against `tee`, which also writes all and shows nothing.
fn large(bench: &Core) -> Result<()> {
    let log = bench.log(LARGE_BYTES)?;
    let copy = bench.scratch.file("copy");
    let ours = || {
        vec![
            bench.program("cat", &[&log]),
            bench.overspill(&["truncate"]),
        ]
    };
    let theirs = || {
        vec![
            bench.program("cat", &[&log]),
            bench.program("tee", &[&copy]),
        ]
    };

    // Not timed, so that it also brings the log into the page cache for the runs that are.
    let peak = peak_memory(ours())?;
    bench.check_spill(LARGE_BYTES, Some(&log))?;
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..LARGE_RUNS {
        // What a run wrote goes before the next, so that each finds as much free memory to write into.
        bench.clear_store()?;
        our_times.push(time(ours())?);
        bench.clear_store()?;
        their_times.push(time(theirs())?);
        std::fs::remove_file(&copy).context("output of tee")?;
    }
    std::fs::remove_file(&log).context("log")?;
    let (ours, theirs) = (millis(best(&our_times)), millis(best(&their_times)));
    Row {
        what: "1 GiB of log piped through `overspill truncate`, against `tee FILE`",
        claim: Claim::at_most(1.3, "times"),
        figure: Some(ours / theirs),
        how: format!("{ours:.0} against {theirs:.0} ms, the best of {LARGE_RUNS} each, in turn"),
    }
    .print();
    print_memory("the same: peak memory", peak);
    Ok(())
}

/// A flood of short lines, of which the end is kept.
fn flood(bench: &Core) -> Result<()> {
    let peak = peak_memory(vec![
        bench.program("yes", &[]),
        bench.program(
            "head",
            &[Path::new("-c"), Path::new(&FLOOD_BYTES.to_string())],
        ),
        bench.overspill(&["truncate", "--strategy", "tail"]),
    ])?;
    bench.check_spill(FLOOD_BYTES, None)?;
    bench.clear_store()?;
    print_memory(
        "4 GiB of `yes` piped through `overspill truncate --strategy tail`: peak memory",
        peak,
    );
    Ok(())
}

/// An output within its limits, the usual case: what it costs to have overspill there.
fn small(bench: &Core) -> Result<()> {
    let log = bench.log(SMALL_BYTES)?;
    let fed = |mut command: Command| -> Result<Vec<Command>> {
        command.stdin(File::open(&log).context("log")?);
        Ok(vec![command])
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SMALL_RUNS {
        ours.push(time(fed(bench.overspill(&["truncate"]))?)?);
        theirs.push(time(fed(bench.program("cat", &[]))?)?);
    }
    if bench.scratch.file(STORE).exists() {
        bail!("the small log was spilled, so it is not within the limits");
    }
    let (ours, theirs) = (millis(median(ours)), millis(median(theirs)));
    Row {
        what: "40 KB of log through `overspill truncate`, more than through `cat`",
        claim: Claim::at_most(3.0, "ms"),
        figure: Some(ours - theirs),
        how: format!("{ours:.2} against {theirs:.2} ms, medians of {SMALL_RUNS} each, in turn"),
    }
    .print();
    Ok(())
}

fn print_memory(what: &str, peak: Option<u64>) {
    let how = if peak.is_some() {
        "`VmHWM`"
    } else {
        "only Linux tells"
    };
    let figure = peak.map(|bytes| bytes as f64 / 1e6);
    Row {
        what,
        claim: Claim::under(32.0, "MB"),
        figure,
        how: how.to_owned(),
    }
    .print();
}

impl Core {
    fn overspill(&self, args: &[&str]) -> Command {
        let mut overspill = self.program(&self.overspill.to_string_lossy(), &[]);
        overspill.args(args);
        overspill
    }

    /// Returns a program to run in the scratch directory.
    fn program(&self, name: &str, args: &[&Path]) -> Command {
        let mut command = program(Path::new(name), self.scratch.dir());
        command.args(args);
        command
    }

    /// Checks that there is one spill, of a size and with the bytes of a file.
    fn check_spill(&self, bytes: u64, of: Option<&Path>) -> Result<()> {
        let mut spills = Vec::new();
        for entry in std::fs::read_dir(self.scratch.file(STORE)).context("store")? {
            spills.push(entry?.path());
        }
        spills.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        let [spill] = &spills[..] else {
            bail!("{} spills, expected one", spills.len())
        };
        let len = std::fs::metadata(spill)?.len();
        if len != bytes {
            bail!("the spill has {len} bytes, expected {bytes}");
        }
        match of {
            Some(file) if !same_bytes(spill, file)? => bail!("the spill is not what came in"),
            _ => Ok(()),
        }
    }

    fn clear_store(&self) -> Result<()> {
        let store = self.scratch.file(STORE);
        if store.exists() {
            std::fs::remove_dir_all(store).context("store")?;
        }
        Ok(())
    }
}

/// Compares two files of the same length, which may be larger than memory.
fn same_bytes(one: &Path, other: &Path) -> Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut a, mut b) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        let len = one.read(&mut a)?;
        other.read_exact(&mut b[..len])?;
        if len == 0 || a[..len] != b[..len] {
            return Ok(len == 0);
        }
    }
}
