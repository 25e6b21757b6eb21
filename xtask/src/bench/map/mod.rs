//! The claims about the repo map: the first map of a tree and the next one, against aider's on the same tree.
//!
//! Both are timed as whole programs with the source in the page cache. aider's has its list of files given, loads nothing for
//! its chat and counts tokens for nothing, all in its favour; where it does not end in a quarter of an hour, that is its time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::grep::kernel;
use super::machine;
use super::process::{best, program, time};
use super::scratch::Scratch;
use super::table::{self, Claim, Row};
use crate::workspace::{cargo, release_binary, root, run as run_command, target};

/// How long aider is waited for.
const PATIENCE: Duration = Duration::from_secs(900);

/// How often is measured what is quick.
const ROUNDS: usize = 5;

/// The files that both look at.
const ENDINGS: &str =
    ".rs,.py,.js,.ts,.tsx,.go,.java,.c,.h,.cc,.cpp,.hpp,.cs,.rb,.php,.kt,.swift,.sh";

/// Measures and prints the claims.
pub(crate) fn run() -> Result<()> {
    let overspill = release_binary()?;
    let dir = target()?.join("bench");
    std::fs::create_dir_all(&dir).with_context(|| format!("directory `{}`", dir.display()))?;
    let aider = prepare_aider(&dir);
    if let Err(error) = &aider {
        eprintln!("xtask: aider is not measured: {error:#}");
    }
    let trees = [
        ("this project", root().to_owned()),
        ("ripgrep", prepare_ripgrep(&dir)?),
        ("Linux", kernel::prepare(&dir)?),
    ];
    println!("{}\n", machine());
    table::print_head();
    for (name, tree) in &trees {
        let scratch = Scratch::new(dir.join("map"))?;
        let own = measure(ROUNDS, || time_own(&overspill, tree, &scratch))?;
        let peer = aider
            .as_ref()
            .ok()
            .map(|python| time_aider(python, tree, &scratch));
        print(name, own, peer.transpose()?);
    }
    Ok(())
}

/// How long the first map took and the next one.
#[derive(Clone, Copy)]
struct Times {
    first: Duration,
    next: Option<Duration>,
}

/// Repeats what is quick, and takes the best: what others do on the machine only adds to it.
fn measure(rounds: usize, mut once: impl FnMut() -> Result<Times>) -> Result<Times> {
    let one = once()?;
    if one.first > Duration::from_secs(10) {
        return Ok(one);
    }
    let mut all = vec![one];
    for _ in 1..rounds {
        all.push(once()?);
    }
    let firsts: Vec<Duration> = all.iter().map(|times| times.first).collect();
    let nexts: Vec<Duration> = all.iter().filter_map(|times| times.next).collect();
    Ok(Times {
        first: best(&firsts),
        next: Some(best(&nexts)),
    })
}

fn time_own(overspill: &Path, tree: &Path, scratch: &Scratch) -> Result<Times> {
    let cache = scratch.file("cache");
    if cache.exists() {
        std::fs::remove_dir_all(&cache).context("the cache")?;
    }
    let map = || {
        let mut command = program(overspill, scratch.dir());
        command
            .env("XDG_CACHE_HOME", &cache)
            .arg("--root")
            .arg(tree)
            .args(["--search-timeout-ms", "off", "map"]);
        command
    };
    Ok(Times {
        first: time(vec![map()])?,
        next: Some(time(vec![map()])?),
    })
}

/// Times aider's map. Its cache is in the tree, and is taken away before and after.
fn time_aider(python: &Path, tree: &Path, scratch: &Scratch) -> Result<Times> {
    let map = || {
        let mut command = program(python, scratch.dir());
        command
            .arg(scratch.file("aider_map.py"))
            .arg(tree)
            .arg(scratch.file("aider.txt"))
            .arg(ENDINGS)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    std::fs::write(scratch.file("aider_map.py"), include_str!("aider_map.py"))
        .context("the script that runs aider")?;
    forget(tree)?;
    let first = within_patience(map())?;
    let next = match first < PATIENCE {
        true => Some(within_patience(map())?),
        false => None,
    };
    forget(tree)?;
    Ok(Times { first, next })
}

/// Removes what aider keeps in a tree.
fn forget(tree: &Path) -> Result<()> {
    for entry in
        std::fs::read_dir(tree).with_context(|| format!("directory `{}`", tree.display()))?
    {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(".aider.tags.cache")
        {
            std::fs::remove_dir_all(entry.path()).context("aider's cache")?;
        }
    }
    Ok(())
}

/// Runs a program and returns how long it took, at most as long as we wait.
fn within_patience(mut command: Command) -> Result<Duration> {
    let start = Instant::now();
    let mut child = command.spawn().context("aider's Python")?;
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("aider's map ended with {status}");
            }
            return Ok(start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(PATIENCE)
}

fn print(name: &str, own: Times, peer: Option<Times>) {
    let rows = [
        (
            "first map",
            5.0,
            Some(own.first),
            peer.map(|peer| peer.first),
        ),
        ("next map", 20.0, own.next, peer.and_then(|peer| peer.next)),
    ];
    for (what, claim, own, peer) in rows {
        let seconds = |time: Option<Duration>| {
            time.map_or("-".to_owned(), |time| {
                format!("{:.3} s", time.as_secs_f64())
            })
        };
        let is_cut = peer.is_some_and(|peer| peer >= PATIENCE);
        let row = Row {
            what: &format!("{name}: {what}, against aider"),
            claim: Claim::at_least(claim, "times as fast"),
            figure: own
                .zip(peer)
                .map(|(own, peer)| peer.as_secs_f64() / own.as_secs_f64()),
            how: format!(
                "{} against {}{}",
                seconds(own),
                if is_cut { "more than " } else { "" },
                seconds(peer)
            ),
        };
        row.print();
    }
}

/// Returns the Python that has aider, which is installed once.
fn prepare_aider(dir: &Path) -> Result<PathBuf> {
    let home = dir.join("aider");
    let python = home.join("bin/python");
    if !home.join("installed").exists() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&home);
        run_command(venv)?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "aider-chat"]);
        run_command(install)?;
        std::fs::write(home.join("installed"), "").context("stamp of aider")?;
    }
    Ok(python)
}

/// Returns ripgrep's source with that of its own libraries, as crates.io has them; fetched once.
fn prepare_ripgrep(dir: &Path) -> Result<PathBuf> {
    let tree = dir.join("ripgrep-source");
    if tree.exists() {
        return Ok(tree);
    }
    let scratch = Scratch::new(dir.join("ripgrep-fetch"))?;
    let manifest = "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n\
                    ripgrep = \"15\"\ngrep = \"0.4\"\nignore = \"0.4\"\nglobset = \"0.4\"\n";
    std::fs::write(scratch.file("Cargo.toml"), manifest).context("manifest")?;
    std::fs::write(scratch.file("lib.rs"), "").context("library")?;
    let mut vendor = cargo(&["vendor", "--quiet", "--manifest-path"]);
    vendor
        .arg(scratch.file("Cargo.toml"))
        .arg(scratch.file("vendored"))
        .stdout(Stdio::null());
    run_command(vendor)?;
    let unpacked = scratch.file("source");
    std::fs::create_dir(&unpacked).context("directory for ripgrep's source")?;
    for entry in std::fs::read_dir(scratch.file("vendored")).context("the vendored sources")? {
        let entry = entry?;
        let name = entry.file_name();
        let own = name.to_string_lossy();
        if own.starts_with("grep") || ["ripgrep", "ignore", "globset"].contains(&&*own) {
            std::fs::rename(entry.path(), unpacked.join(&name)).context("ripgrep's source")?;
        }
    }
    std::fs::rename(&unpacked, &tree).context("directory for ripgrep's source")?;
    Ok(tree)
}
