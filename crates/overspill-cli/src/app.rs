//! What every command needs: the root, the settings, and the flags that concern all.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use overspill::settings::{Effective, SETTINGS};
use overspill::{Keeping, Paths, Policy, Settings, Store};

use crate::config;

/// Why nothing is saved under `--no-spill`.
const NO_SPILL: &str = "`--no-spill` was given";

/// A call of the program.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) program: String,
    tool: Option<String>,
    has_task_tool: bool,
    spills: bool,
    works_in_root: bool,
}

impl App {
    /// Gathers settings from file, environment and flags.
    pub(crate) fn new(matches: &ArgMatches) -> anyhow::Result<App> {
        let matches = deepest(matches);
        let path = |name: &str| matches.get_one::<PathBuf>(name).map(PathBuf::as_path);
        let root = config::root(path("root"))?;
        let settings = with_flags(config::load(&root, path("config"))?, matches)?;
        Ok(App {
            works_in_root: Path::new(".").canonicalize().is_ok_and(|here| here == root),
            root,
            settings,
            program: program(matches),
            tool: matches.get_one::<String>("tool").cloned(),
            has_task_tool: matches.get_flag("task-tool"),
            spills: !matches.get_flag("no-spill"),
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

    /// Returns the store under these settings.
    pub(crate) fn store(&self, effective: &Effective) -> Store {
        Store::new(&self.root, &effective.store_dir(), effective.retention())
    }

    /// Returns how the output of a tool is bounded.
    pub(crate) fn policy<'s>(
        &self,
        tool: &str,
        effective: &Effective,
        store: &'s Store,
    ) -> Policy<'s> {
        let mut reach = effective.reach();
        if self.has_task_tool {
            reach.task = Some("Task".to_owned());
        }
        reach.program = Some(self.program.clone());
        let paths = if self.works_in_root {
            Paths::Relative
        } else {
            Paths::Absolute
        };
        Policy {
            limits: effective.limits(),
            strategy: effective.strategy(),
            max_result_chars: effective.max_result_chars(),
            lang: effective.lang(),
            reach,
            tool: tool.to_owned(),
            keeping: if self.spills {
                Keeping::Store { store, paths }
            } else {
                Keeping::Nowhere(NO_SPILL)
            },
        }
    }
}

/// Returns the matches of the subcommand that was given, which hold the flags of all levels.
pub(crate) fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches
        .subcommand()
        .map_or(matches, |(_, matches)| deepest(matches))
}

/// Returns how this program is called so that it finds the same store: its name and the flags that lead there.
fn program(matches: &ArgMatches) -> String {
    let path = |name: &str| {
        matches
            .get_one::<PathBuf>(name)
            .map(|path| path.to_string_lossy().into_owned())
    };
    let flags = [
        ("root", path("root")),
        ("config", path("config")),
        ("store-dir", matches.get_one::<String>("store_dir").cloned()),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!(" --{flag} {}", quoted(&value?))));
    config::program() + &given.collect::<String>()
}

/// Quotes a word for a shell where it needs it.
fn quoted(word: &str) -> String {
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
