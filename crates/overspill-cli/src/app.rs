//! What every command needs: the root, the settings, and the flags that concern all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use overspill::settings::{Effective, Origin, SETTINGS};
use overspill::{Host, Paths, Settings, notice};

use crate::journal::Recorder;
use crate::{config, summarizer};

/// A call of the program.
#[derive(Debug)]
pub(crate) struct App {
    /// Root, settings and store, and what the agent is told about them.
    pub(crate) host: Host,
    /// How this program is called so that it finds the same store.
    pub(crate) program: String,
    tool: Option<String>,
}

impl App {
    /// Gathers settings from file, environment and flags.
    pub(crate) fn new(matches: &ArgMatches) -> anyhow::Result<App> {
        let matches = deepest(matches);
        let chosen = path(matches, "root");
        App::at(&config::root(chosen)?, matches, chosen)
    }

    /// Gathers the same for an agent that may work anywhere, now or at its next call: whatever it is told is absolute.
    /// `project` is the root unless the user named one.
    pub(crate) fn for_agent(matches: &ArgMatches, project: Option<&Path>) -> anyhow::Result<App> {
        let matches = deepest(matches);
        let root = config::root(path(matches, "root").or(project))?;
        let app = App::at(&root, matches, Some(&root))?;
        Ok(App {
            host: app.host.with_paths(Paths::Absolute),
            ..app
        })
    }

    /// `told` is the root that whoever calls this program next has to name.
    fn at(root: &Path, matches: &ArgMatches, told: Option<&Path>) -> anyhow::Result<App> {
        let settings = with_flags(config::load(root, path(matches, "config"))?, matches)?;
        let here = Path::new(".").canonicalize().unwrap_or_default();
        let below = here
            .strip_prefix(root)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        let effective = settings.effective("");
        let program = program(matches, told, &effective);
        let paths = if here == root {
            Paths::Relative
        } else {
            Paths::Absolute
        };
        let mut host = Host::new(root, settings)
            .at(if below.is_empty() { "." } else { &below })
            .with_paths(paths)
            .with_program(&program);
        if let Some(dir) = config::journal_directory().filter(|_| effective.has_journal()) {
            host = host.with_journal(Arc::new(Recorder::new(dir, root)));
        }
        if let Some(dir) = config::cache_directory() {
            host = host.with_cache(&dir);
        }
        if let Some(summarizer) = summarizer::of_settings(&effective)? {
            host = host.with_summarizer(summarizer);
        }
        if matches.get_flag("task-tool") {
            host = host.with_task_tool("Task");
        }
        if matches.get_flag("no-spill") {
            host = host.without_spills(notice::not_wanted(effective.lang()));
        }
        Ok(App {
            host,
            program,
            tool: matches.get_one::<String>("tool").cloned(),
        })
    }

    /// Returns the tool whose settings hold: the one the user named, or the command's own.
    pub(crate) fn tool<'a>(&'a self, own: &'a str) -> &'a str {
        self.tool.as_deref().unwrap_or(own)
    }

    /// Returns the tool the user named.
    pub(crate) fn named_tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }
}

/// Returns the matches of the subcommand that was given, which hold the flags of all levels.
pub(crate) fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, matches)| deepest(matches))
}

fn path<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m Path> {
    matches.get_one::<PathBuf>(name).map(PathBuf::as_path)
}

/// Returns the name of this program and the flags that lead to its root, its configuration and its store.
fn program(matches: &ArgMatches, root: Option<&Path>, effective: &Effective) -> String {
    // What a file says holds for the next call as well; a flag or a variable may not.
    let is_lasting = matches!(
        effective.origin("store_dir"),
        Some(Origin::BuiltIn | Origin::File { .. })
    );
    let store_dir = effective.store_dir();
    let flags = [
        ("root", root),
        ("config", path(matches, "config")),
        ("store-dir", (!is_lasting).then_some(&*store_dir)),
    ];
    let flag = |(name, path): (&str, Option<&Path>)| {
        Some(format!(" --{name} {}", quoted(&path?.to_string_lossy())))
    };
    config::program() + &flags.into_iter().filter_map(flag).collect::<String>()
}

/// Quotes a word for a shell where it needs it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-+:@%=,".contains(c));
    if is_plain {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Puts the flags that are settings over the others.
fn with_flags(mut settings: Settings, matches: &ArgMatches) -> anyhow::Result<Settings> {
    for setting in SETTINGS.iter().filter(|setting| setting.has_flag) {
        if let Some(text) = matches.get_one::<String>(setting.key) {
            settings = settings.with_option(setting.key, text, &format!("--{}", setting.flag()))?;
        }
    }
    if let Some(text) = matches.get_one::<String>("lang") {
        settings = settings.with_option("language", text, "--lang")?;
    }
    Ok(settings)
}
