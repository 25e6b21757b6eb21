//! A directory for a benchmark's inputs and outputs, gone when the benchmark is.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// An empty directory that is removed when it is dropped.
pub(crate) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Makes `dir`, without what a run that was stopped may have left in it.
    pub(crate) fn new(dir: PathBuf) -> Result<Self> {
        if dir.exists() {
            std::fs::remove_dir_all(&dir)
                .with_context(|| format!("directory `{}`", dir.display()))?;
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("directory `{}`", dir.display()))?;
        Ok(Scratch { dir })
    }

    /// Returns the directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            eprintln!("xtask: directory `{}` stays: {error}", self.dir.display());
        }
    }
}
