//! Benchmarks: each measures claims of the README in one run, as ratios against a peer where that is possible.
//!
//! A missed claim is printed and does not fail: machines are noisy, and it is for people to judge.

mod core;
mod inputs;
mod process;
mod scratch;
mod table;

use anyhow::{Result, bail};

struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const BENCHES: [Bench; 1] = [Bench {
    name: "core",
    about: "cutting, counting and spilling: time and memory",
    run: core::run,
}];

/// Prints what can be measured.
pub(crate) fn list() -> Result<()> {
    for bench in &BENCHES {
        println!("cargo xtask bench {}   {}", bench.name, bench.about);
    }
    Ok(())
}

/// Runs the benchmark of a name.
pub(crate) fn run(name: &str) -> Result<()> {
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.run)(),
        None => bail!("no benchmark `{name}`; `cargo xtask bench` lists them"),
    }
}
