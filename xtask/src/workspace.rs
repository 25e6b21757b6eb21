//! Where things are, and how cargo is run on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Returns cargo's target directory: xtask was built there, wherever the user's configuration puts it.
pub(crate) fn target() -> Result<PathBuf> {
    let xtask = std::env::current_exe().context("path of xtask")?;
    let target = xtask
        .ancestors()
        .nth(2)
        .context("xtask is not in a target directory")?;
    Ok(target.to_owned())
}

/// Returns cargo with arguments, run in the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(args).current_dir(root());
    cargo
}

/// Builds the release binary and returns its path.
pub(crate) fn release_binary() -> Result<PathBuf> {
    run(cargo(&["build", "--release", "--package", "overspill-cli"]))?;
    Ok(target()?.join("release").join("overspill"))
}

/// Runs a command to its end; its output goes where ours goes.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| by_hand(&command))?;
    if !status.success() {
        bail!("`{}` ended with {status}", by_hand(&command));
    }
    Ok(())
}

/// Runs a command to its end and returns what it printed to stdout.
pub(crate) fn capture(mut command: Command) -> Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| by_hand(&command))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", by_hand(&command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| by_hand(&command))
}

/// Returns a command as a person would type it in the root.
pub(crate) fn by_hand(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        let quote = if value.contains(' ') { "'" } else { "" };
        Some(format!("{}={quote}{value}{quote}", name.to_string_lossy()))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    variables
        .chain(words.map(|word| word.to_string_lossy().into_owned()))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_by_hand() {
        let mut doc = cargo(&["doc", "--no-deps"]);
        doc.env("RUSTDOCFLAGS", "-D warnings").env_remove("LANG");
        assert_eq!(
            by_hand(&doc),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }
}
