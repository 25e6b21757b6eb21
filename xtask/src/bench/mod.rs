//! Benchmarks: each measures claims of the README in one run, as ratios against a peer where that is possible.
//!
//! A missed claim is printed and does not fail: machines are noisy, and it is for people to judge.

mod core;
mod grep;
mod inputs;
mod map;
pub(crate) mod mcp;
mod process;
mod scratch;
mod smart;
mod subject;
mod table;

use anyhow::{Result, bail};

struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

const BENCHES: [Bench; 5] = [
    Bench {
        name: "core",
        about: "cutting, counting and spilling: time and memory",
        run: core::run,
    },
    Bench {
        name: "grep",
        about: "searching the Linux source against ripgrep; fetches both once",
        run: grep::run,
    },
    Bench {
        name: "map",
        about: "the repo map against aider's: this project, ripgrep, Linux; fetches what it needs once",
        run: map::run,
    },
    Bench {
        name: "mcp",
        about: "the MCP proxy against the server alone: time, memory, calls at once",
        run: mcp::run,
    },
    Bench {
        name: "smart",
        about: "the lines that matter: how many are kept, by what evidence, how fast",
        run: smart::run,
    },
];

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

/// Says what the figures were measured on.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    format!("{cores} cores, {model}, {}", std::env::consts::OS)
}
