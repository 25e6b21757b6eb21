//! `cargo xtask test`: all that must hold before a change is done, as the README and CI run it.
//!
//! Needs nothing but Rust; ripgrep, which searches are compared with, is installed where it is missing. The first step that
//! fails ends the run, with its name and the command that repeats it alone.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::docs;
use crate::ripgrep;
use crate::workspace::{by_hand, cargo, release_binary, root, run as run_command, target};

/// The stripped release binary stays below this, with both vocabularies (10 MB) and the tables of fifteen grammars (28 MB) in it.
const MAX_BINARY_BYTES: u64 = 60_000_000;

const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";

/// Runs every step.
pub(crate) fn run() -> Result<()> {
    command_step("format", cargo(&["fmt", "--all", "--check"]))?;
    command_step(
        "lints",
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    command_step("tests", tests()?)?;
    command_step("rustdoc", rustdoc())?;
    step("generated files", "cargo xtask docs --check", docs::check)?;
    step("release binary", "cargo build --release", check_binary)?;
    if root().join(FUZZ_MANIFEST).exists() {
        command_step("fuzz targets", check_fuzz()?)?;
    }
    println!("\nall checks passed");
    Ok(())
}

fn command_step(name: &str, command: Command) -> Result<()> {
    step(name, &by_hand(&command), || run_command(command))
}

fn step(name: &str, does: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {name}: {does}");
    work().with_context(|| format!("step `{name}`"))
}

fn tests() -> Result<Command> {
    let mut tests = cargo(&["test", "--workspace"]);
    // Without it the tests that compare with it would have nothing to compare with.
    ripgrep::provide_to(&mut tests)?;
    Ok(tests)
}

fn rustdoc() -> Command {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    doc
}

fn check_binary() -> Result<()> {
    let binary = release_binary()?;
    let bytes = std::fs::metadata(&binary)
        .with_context(|| format!("`{}`", binary.display()))?
        .len();
    let megabytes = bytes as f64 / 1e6;
    if bytes >= MAX_BINARY_BYTES {
        bail!(
            "`{}` has {megabytes:.1} MB, expected under {} MB",
            binary.display(),
            MAX_BINARY_BYTES / 1_000_000
        );
    }
    println!("{megabytes:.1} MB");
    Ok(())
}

/// Returns the check that the fuzz targets, a workspace of their own, still compile.
fn check_fuzz() -> Result<Command> {
    let mut check = cargo(&["check", "--manifest-path", FUZZ_MANIFEST]);
    check.env("CARGO_TARGET_DIR", target()?.join("fuzz-check"));
    // Nothing is linked, so libFuzzer need not be there: without this its C++ would be built, and a compiler needed.
    check.env("CUSTOM_LIBFUZZER_PATH", "./not-linked.a");
    Ok(check)
}
