//! ripgrep, which searches are compared with: the peer of a benchmark, the measure of a test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{by_hand, capture, cargo, run, target};

/// Makes sure that a command finds `rg` on its `PATH`.
#[expect(
    clippy::disallowed_methods,
    reason = "what is forbidden to the program is not to what tests it"
)]
pub(crate) fn provide_to(command: &mut Command) -> Result<()> {
    if version(Path::new("rg")).is_ok() {
        return Ok(());
    }
    let (rg, _) = prepare(&target()?.join("bench"))?;
    let own = rg.parent().map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = own.into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(dirs)?);
    Ok(())
}

/// Returns ripgrep as crates.io has it, else the one on `PATH`, and what it says of its version. It is installed once; without its directory the next run takes the
/// newest again.
pub(crate) fn prepare(dir: &Path) -> Result<(PathBuf, String)> {
    let root = dir.join("ripgrep");
    let own = root.join("bin/rg");
    if !own.exists() {
        // Distributions have versions that are years old, and no claim should rest on those.
        let mut install = cargo(&["install", "ripgrep", "--locked", "--root"]);
        install.arg(&root);
        let by_hand = by_hand(&install);
        if let Err(error) = run(install) {
            eprintln!("xtask: {error:#}; looking for `rg` on `PATH`");
            let version = version(Path::new("rg"))
                .with_context(|| format!("no ripgrep: `{by_hand}` installs it"))?;
            return Ok((PathBuf::from("rg"), version));
        }
    }
    let version = version(&own)?;
    Ok((own, version))
}

fn version(rg: &Path) -> Result<String> {
    let mut command = Command::new(rg);
    command.arg("--version");
    let text = capture(command)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
