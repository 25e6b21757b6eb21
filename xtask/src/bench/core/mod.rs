//! The claims about the core: what a cut and a spill cost, in time and in memory.

mod memory;
mod programs;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::inputs;
use super::scratch::Scratch;
use super::{machine, table};
use crate::workspace::{self, cargo, release_binary, target};

/// Measures everything, and prints the claims as they are measured and the details at the end.
pub(crate) fn run() -> Result<()> {
    let bench = Core::prepare()?;
    println!("{}\n", machine());
    table::print_head();
    programs::measure(&bench)?;
    let details = memory::measure(&bench)?;
    println!("\n{details}");
    Ok(())
}

/// What is measured, and where.
struct Core {
    scratch: Scratch,
    /// The release binary.
    overspill: PathBuf,
    /// The library's example that measures what happens inside a process.
    speed: PathBuf,
}

impl Core {
    fn prepare() -> Result<Self> {
        let overspill = release_binary()?;
        let build = [
            "build",
            "--release",
            "--package",
            "overspill",
            "--example",
            "speed",
        ];
        workspace::run(cargo(&build))?;
        let target = target()?;
        let speed = target.join("release/examples/speed");
        Ok(Core {
            scratch: Scratch::new(target.join("bench/core"))?,
            overspill,
            speed,
        })
    }

    /// Writes a log of a size, over the one before.
    fn log(&self, bytes: u64) -> Result<PathBuf> {
        let path = self.scratch.file("log");
        let mut file = BufWriter::new(File::create(&path).context("log")?);
        inputs::write_log(&mut file, bytes)
            .and_then(|()| file.flush())
            .context("log")?;
        Ok(path)
    }
}
