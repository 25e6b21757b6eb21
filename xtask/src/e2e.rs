//! `cargo xtask e2e`: the program with the real thing, that is agents, clients, servers and the MCP conformance suite.
//!
//! The scripts in `e2e/` do the work and need Python, Node and a network to install from, once. What cannot be installed is
//! told last, where nobody overlooks it. Every script runs, whatever the others found.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{by_hand, release_binary, root, target};

const SCRIPTS: [&str; 3] = ["conformance.py", "clients.py", "agents.py"];

/// The exit code of a script that held, but for what could not be installed.
const INCOMPLETE: i32 = 3;

/// Runs every script.
pub(crate) fn run() -> Result<()> {
    let program = release_binary()?;
    let cache = target()?.join("e2e");
    let (mut failed, mut incomplete) = (Vec::new(), Vec::new());
    for script in SCRIPTS {
        let mut command = command(script, &program, &cache);
        println!("\n== {}", by_hand(&command));
        let status = command.status().with_context(|| by_hand(&command))?;
        match status.code() {
            Some(0) => {}
            Some(INCOMPLETE) => incomplete.push(script),
            _ => failed.push(script),
        }
    }
    if !incomplete.is_empty() {
        eprintln!(
            "\n!!! NOT ALL WAS TESTED: {} could not install something, see `!!!` above",
            incomplete.join(", ")
        );
    }
    if !failed.is_empty() {
        bail!("not everything holds in {}", failed.join(", "));
    }
    println!("\nall that ran holds");
    Ok(())
}

fn command(script: &str, program: &Path, cache: &Path) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(Path::new("e2e").join(script))
        .arg("--overspill")
        .arg(program)
        .arg("--cache")
        .arg(cache)
        .current_dir(root());
    command
}
