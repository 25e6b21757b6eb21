//! Whole programs, run as a user runs them and compared with what the system has.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Core;
use crate::bench::process::{median, millis, peak_memory, time};
use crate::bench::subject::BesideTee;
use crate::bench::table::{Claim, Row, memory};

const LARGE_BYTES: u64 = 1 << 30;
const FLOOD_BYTES: u64 = 4 << 30;
const SMALL_BYTES: u64 = 40_000;

const LARGE_RUNS: usize = 5;
const SMALL_RUNS: usize = 200;

/// What the program may hold, in megabytes.
const MEMORY: f64 = 32.0;

/// Measures and prints.
pub(super) fn measure(bench: &Core) -> Result<()> {
    large(bench)?;
    flood(bench)?;
    small(bench)
}

/// A large log through a pipe with spill, against `tee`.
fn large(bench: &Core) -> Result<()> {
    let log = bench.log(LARGE_BYTES)?;
    let BesideTee { ours, theirs, peak } =
        bench.subject.beside_tee(&log, &["truncate"], LARGE_RUNS)?;
    std::fs::remove_file(&log).context("log")?;
    Row {
        what: "1 GiB of log piped through `overspill truncate`, against `tee FILE`",
        claim: Claim::at_most(1.3, "times"),
        figure: Some(ours / theirs),
        how: format!("{ours:.0} against {theirs:.0} ms, the best of {LARGE_RUNS} each, in turn"),
    }
    .print();
    memory("the same: peak memory", MEMORY, peak).print();
    Ok(())
}

/// A flood of short lines, of which the end is kept.
fn flood(bench: &Core) -> Result<()> {
    let subject = &bench.subject;
    let peak = peak_memory(vec![
        subject.program("yes", &[]),
        subject.program(
            "head",
            &[Path::new("-c"), Path::new(&FLOOD_BYTES.to_string())],
        ),
        subject.overspill(&["truncate", "--strategy", "tail"]),
    ])?;
    subject.check_spill(FLOOD_BYTES, None)?;
    subject.clear_store()?;
    memory(
        "4 GiB of `yes` piped through `overspill truncate --strategy tail`: peak memory",
        MEMORY,
        peak,
    )
    .print();
    Ok(())
}

/// An output within its limits, the usual case: what it costs to have overspill there.
fn small(bench: &Core) -> Result<()> {
    let subject = &bench.subject;
    let log = bench.log(SMALL_BYTES)?;
    let fed = |mut command: Command| -> Result<Vec<Command>> {
        command.stdin(File::open(&log).context("log")?);
        Ok(vec![command])
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..SMALL_RUNS {
        ours.push(time(fed(subject.overspill(&["truncate"]))?)?);
        theirs.push(time(fed(subject.program("cat", &[]))?)?);
    }
    if subject.has_spilled() {
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
