//! What is measured as a whole program: the release binary, run in a scratch directory with its spills.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::process::{best, millis, peak_memory, program, time};
use super::scratch::Scratch;
use crate::workspace::{release_binary, target};

/// Where the program keeps its spills, below the directory it runs in.
const STORE: &str = "tool-output";

/// The release binary and its scratch directory.
pub(crate) struct Subject {
    scratch: Scratch,
    overspill: PathBuf,
}

/// What the same input through the program and through `tee FILE` came to.
pub(crate) struct BesideTee {
    /// The program's best time in milliseconds.
    pub(crate) ours: f64,
    /// That of `tee`.
    pub(crate) theirs: f64,
    /// The program's peak memory in bytes; `None` where the system does not tell.
    pub(crate) peak: Option<u64>,
}

impl Subject {
    /// Builds the binary and makes the scratch directory of a benchmark.
    pub(crate) fn prepare(bench: &str) -> Result<Self> {
        Ok(Subject {
            overspill: release_binary()?,
            scratch: Scratch::new(target()?.join("bench").join(bench))?,
        })
    }

    /// Returns the path of a file in the scratch directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// Writes an input, over the one before.
    pub(crate) fn log(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<PathBuf> {
        let path = self.file("log");
        let mut file = BufWriter::new(File::create(&path).context("log")?);
        write(&mut file)
            .and_then(|()| file.flush())
            .context("log")?;
        Ok(path)
    }

    /// Returns the binary with arguments.
    pub(crate) fn overspill(&self, args: &[&str]) -> Command {
        let mut overspill = self.program(&self.overspill.to_string_lossy(), &[]);
        overspill.args(args);
        overspill
    }

    /// Returns a program to run in the scratch directory.
    pub(crate) fn program(&self, name: &str, args: &[&Path]) -> Command {
        let mut command = program(Path::new(name), self.scratch.dir());
        command.args(args);
        command
    }

    /// Pipes a log through the program and through `tee`, which also writes all and shows nothing, in turn.
    pub(crate) fn beside_tee(&self, log: &Path, args: &[&str], runs: usize) -> Result<BesideTee> {
        let copy = self.file("copy");
        let cat = || self.program("cat", &[log]);
        let ours = || vec![cat(), self.overspill(args)];
        let theirs = || vec![cat(), self.program("tee", &[&copy])];

        // Not timed, so that it also brings the log into the page cache for the runs that are.
        let peak = peak_memory(ours())?;
        let bytes = std::fs::metadata(log).context("log")?.len();
        self.check_spill(bytes, Some(log))?;
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            // What a run wrote goes before the next, so that each finds as much free memory to write into.
            self.clear_store()?;
            our_times.push(time(ours())?);
            self.clear_store()?;
            their_times.push(time(theirs())?);
            std::fs::remove_file(&copy).context("output of tee")?;
        }
        Ok(BesideTee {
            ours: millis(best(&our_times)),
            theirs: millis(best(&their_times)),
            peak,
        })
    }

    /// Tells whether something was spilled.
    pub(crate) fn has_spilled(&self) -> bool {
        self.file(STORE).exists()
    }

    /// Checks that there is one spill, of a size and with the bytes of a file.
    pub(crate) fn check_spill(&self, bytes: u64, of: Option<&Path>) -> Result<()> {
        let mut spills = Vec::new();
        for entry in std::fs::read_dir(self.file(STORE)).context("store")? {
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

    /// Removes what was spilled.
    pub(crate) fn clear_store(&self) -> Result<()> {
        let store = self.file(STORE);
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
