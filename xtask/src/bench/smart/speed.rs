//! What `smart` costs on a large log: time beside `tee`, and memory.

use anyhow::{Context as _, Result};

use super::data::Set;
use crate::bench::inputs;
use crate::bench::subject::{BesideTee, Subject};
use crate::bench::table::{self, Claim, Row, memory};

const BYTES: u64 = 1 << 30;
const RUNS: usize = 3;

/// Measures a log made of a set of outputs, and prints.
pub(super) fn measure(subject: &Subject, set: &Set) -> Result<()> {
    let outputs: Vec<&str> = set.cases.iter().map(|case| case.output.as_str()).collect();
    let (bytes, lines) = outputs.iter().fold((0, 0), |(bytes, lines), output| {
        (bytes + output.len(), lines + output.lines().count())
    });
    println!(
        "\n{}, each line with its time before it: {} bytes a line without it\n",
        set.name,
        bytes / lines.max(1)
    );
    let log = subject.log(|out| inputs::write_jobs(out, &outputs, BYTES))?;
    let args = ["truncate", "--strategy", "smart"];
    let BesideTee { ours, theirs, peak } = subject.beside_tee(&log, &args, RUNS)?;
    std::fs::remove_file(&log).context("log")?;

    table::print_head();
    let megabytes = BYTES as f64 / 1e6;
    Row {
        what: "1 GiB of CI log piped through `overspill truncate --strategy smart`, spilled",
        claim: Claim::at_least(150.0, "MB/s"),
        figure: Some(megabytes / ours * 1e3),
        how: format!("{ours:.0} ms, the best of {RUNS}"),
    }
    .print();
    // What scoring each line costs more than copying it is told, not claimed.
    println!(
        "| the same, against `tee FILE` | | {:.2} times | | {ours:.0} against {theirs:.0} ms, the best of {RUNS} each, in turn |",
        ours / theirs
    );
    memory("the same: peak memory", 64.0, peak).print();
    Ok(())
}
