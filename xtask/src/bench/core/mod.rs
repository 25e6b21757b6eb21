//! The claims about the core: what a cut and a spill cost, in time and in memory.

mod memory;
mod programs;

use std::path::PathBuf;

use anyhow::Result;

use super::inputs;
use super::subject::Subject;
use super::{machine, table};
use crate::workspace::{self, cargo, target};

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
    subject: Subject,
    /// The library's example that measures what happens inside a process.
    speed: PathBuf,
}

impl Core {
    fn prepare() -> Result<Self> {
        let subject = Subject::prepare("core")?;
        let build = [
            "build",
            "--release",
            "--package",
            "overspill",
            "--example",
            "speed",
        ];
        workspace::run(cargo(&build))?;
        Ok(Core {
            subject,
            speed: target()?.join("release/examples/speed"),
        })
    }

    /// Writes a log of a size, over the one before.
    fn log(&self, bytes: u64) -> Result<PathBuf> {
        self.subject.log(|out| inputs::write_log(out, bytes))
    }
}
