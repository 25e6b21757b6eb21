//! What is searched: the Linux source as Debian packs it, fetched once and kept for later runs.
//!
//! Every file gets a modification time of its own, so that "newest first" has one right order and two programs can be compared
//! line by line. The times are the same on every machine.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use crate::bench::inputs::Numbers;
use crate::bench::scratch::Scratch;
use crate::workspace::{capture, run};

const SERIES: &str = "linux-source-6.";

/// The minor version to have where there is a choice: that of Debian 12, on which the README's figures were measured.
const WANTED: u32 = 1;

/// The rules with which Debian hides the whole tree from git.
const HIDING_RULES: [&str; 2] = ["/*", "!/debian/"];

/// The times of the files: from the first second of 2025 on, for a year.
const FIRST_TIME: Duration = Duration::from_secs(1_735_689_600);
const TIME_SPAN: Duration = Duration::from_secs(365 * 86_400);

/// Returns the directory with the source, which is fetched if it is not there.
pub(in crate::bench) fn prepare(dir: &Path) -> Result<PathBuf> {
    let tree = dir.join("linux");
    let stamp = dir.join("linux.stamp");
    if stamp.exists() && tree.exists() {
        return Ok(tree);
    }
    if !tree.exists() {
        fetch(dir, &tree).with_context(|| {
            format!(
                "Linux source (apt, dpkg, tar and xz fetch it; where they cannot, unpack any Linux 6 as `{}`)",
                tree.display()
            )
        })?;
    }
    // Both can be repeated, so a run that was stopped here is made good by the next.
    unhide(&tree)?;
    let n_files = date(&tree)?;
    fs::write(&stamp, format!("{n_files} files\n")).context("stamp of the Linux source")?;
    Ok(tree)
}

/// Returns the files below a directory in the order of their names, links left out.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("directory `{}`", dir.display()))? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Downloads and unpacks the package. The tree appears whole or not at all.
fn fetch(dir: &Path, tree: &Path) -> Result<()> {
    let package = package()?;
    println!("fetching {package}, once: 140 MB, unpacked 1.4 GB");
    let scratch = Scratch::new(dir.join("linux.part"))?;
    let mut download = Command::new("apt-get");
    download
        .args(["download", "--quiet", &package])
        .current_dir(scratch.dir());
    run(download).context("`apt-get update` as root may be needed")?;

    let mut unpack = Command::new("dpkg-deb");
    unpack
        .arg("--extract")
        .arg(find(scratch.dir(), ".deb")?)
        .arg(scratch.file("deb"));
    run(unpack)?;

    let unpacked = scratch.file("tree");
    fs::create_dir(&unpacked).context("directory for the Linux source")?;
    let mut untar = Command::new("tar");
    untar
        .args(["--extract", "--strip-components=1", "--file"])
        .arg(find(&scratch.file("deb/usr/src"), ".tar.xz")?)
        .arg("--directory")
        .arg(&unpacked);
    run(untar)?;
    fs::rename(&unpacked, tree).context("directory for the Linux source")
}

/// Returns the name of the package that apt knows.
fn package() -> Result<String> {
    if let Some(package) = choose(&known()?) {
        return Ok(package);
    }
    // A fresh container has no lists of packages.
    let mut update = Command::new("apt-get");
    update.args(["update", "--quiet"]);
    run(update)
        .context("apt knows no Linux source and its lists were not updated; do it as root")?;
    choose(&known()?).with_context(|| format!("no package `{SERIES}*` in apt's sources"))
}

/// Returns the packages of the series as apt lists them, a line each.
fn known() -> Result<String> {
    let mut search = Command::new("apt-cache");
    search.args(["search", "--names-only", "^linux-source-6[.][0-9]+$"]);
    capture(search)
}

/// Returns the wanted one of the listed packages, else the newest.
fn choose(listed: &str) -> Option<String> {
    let minor = |line: &str| {
        let name = line.split_whitespace().next()?;
        name.strip_prefix(SERIES)?.parse::<u32>().ok()
    };
    let minors = listed.lines().filter_map(minor);
    let best = minors.max_by_key(|minor| (*minor == WANTED, *minor))?;
    Some(format!("{SERIES}{best}"))
}

/// Returns the file in a directory whose name ends so.
fn find(dir: &Path, end: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(dir).with_context(|| format!("directory `{}`", dir.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            return Ok(path);
        }
    }
    anyhow::bail!("no `*{end}` in `{}`", dir.display())
}

/// Takes the rules out that would have every search find nothing.
fn unhide(tree: &Path) -> Result<()> {
    let path = tree.join(".gitignore");
    let rules = fs::read_to_string(&path).context("`.gitignore` of the Linux source")?;
    let kept: String = rules
        .split_inclusive('\n')
        .filter(|rule| !HIDING_RULES.contains(&rule.trim_end()))
        .collect();
    fs::write(&path, kept).context("`.gitignore` of the Linux source")
}

/// Gives every file its own time and returns how many there are.
fn date(tree: &Path) -> Result<usize> {
    let files = files(tree)?;
    let mut numbers = Numbers::new();
    let mut taken = HashSet::new();
    for path in &files {
        let offset = loop {
            let offset = Duration::from_nanos(numbers.next() % TIME_SPAN.as_nanos() as u64);
            if taken.insert(offset) {
                break offset;
            }
        };
        File::open(path)
            .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH + FIRST_TIME + offset))
            .with_context(|| format!("time of `{}`", path.display()))?;
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_package_is_chosen_else_the_newest() {
        let listed = |names: &[&str]| choose(&names.join(" - Linux kernel source\n"));
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(
            listed(&["linux-source-6.12", "linux-source-6.1", ""]),
            name("linux-source-6.1")
        );
        assert_eq!(
            listed(&["linux-source-6.9", "linux-source-6.12", ""]),
            name("linux-source-6.12")
        );
        assert_eq!(listed(&["linux-source-6.x", ""]), None);
        assert_eq!(listed(&[]), None);
    }
}
