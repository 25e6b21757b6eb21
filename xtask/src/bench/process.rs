//! Runs programs as a shell would, and tells how long they took and how much memory they held.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How often a running program's memory is looked at. Its peak never falls, so only what the last moment adds can be missed.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Returns a program to run in a directory, out of reach of the user's own settings of overspill, git and ripgrep.
pub(crate) fn program(name: &Path, dir: &Path) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(dir)
        .env("HOME", dir)
        .env("XDG_CONFIG_HOME", dir)
        .env_remove("RIPGREP_CONFIG_PATH");
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("TOOL_OUTPUT_") || name.starts_with("OVERSPILL_") {
            command.env_remove(&variable);
        }
    }
    // What is measured is the work itself; what is noted of it has a figure of its own in the README.
    command.env("TOOL_OUTPUT_JOURNAL", "off");
    command
}

/// Runs a pipeline, its output unread, and returns the time until all of it has ended.
pub(crate) fn time(pipeline: Vec<Command>) -> Result<Duration> {
    let start = Instant::now();
    let children = spawn(pipeline)?;
    wait(children)?;
    Ok(start.elapsed())
}

/// Runs a pipeline, its output unread, and returns the peak memory of its last program in bytes; `None` where the system
/// does not tell.
pub(crate) fn peak_memory(pipeline: Vec<Command>) -> Result<Option<u64>> {
    let children = spawn(pipeline)?;
    let mut peak = None;
    if let Some(last) = children.last() {
        // A program that has ended but was not waited for has no memory left to tell of.
        while let Some(bytes) = peak_so_far(last.id()) {
            peak = Some(bytes);
            std::thread::sleep(LOOK_EVERY);
        }
    }
    wait(children)?;
    Ok(peak)
}

/// Returns the shortest of several times: what others do on the machine only adds to it.
pub(crate) fn best(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or_default()
}

/// Returns the middle one of several times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns a time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn spawn(pipeline: Vec<Command>) -> Result<Vec<Child>> {
    let last = pipeline.len().saturating_sub(1);
    let mut children: Vec<Child> = Vec::new();
    for (index, mut command) in pipeline.into_iter().enumerate() {
        if let Some(stdout) = children.last_mut().and_then(|child| child.stdout.take()) {
            command.stdin(stdout);
        }
        command.stdout(if index == last {
            Stdio::null()
        } else {
            Stdio::piped()
        });
        let name = command.get_program().to_string_lossy().into_owned();
        children.push(command.spawn().with_context(|| format!("`{name}`"))?);
    }
    Ok(children)
}

/// Waits for all; as in a shell, the last one's status is the pipeline's.
fn wait(children: Vec<Child>) -> Result<()> {
    let mut last = None;
    for mut child in children {
        last = Some(child.wait()?);
    }
    match last {
        Some(status) if !status.success() => {
            bail!("the last program of a pipeline ended with {status}")
        }
        _ => Ok(()),
    }
}

fn peak_so_far(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
