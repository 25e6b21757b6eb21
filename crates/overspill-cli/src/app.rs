//! What every command needs: the root, the settings, and the flags that concern all.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use overspill::settings::{Effective, Origin, SETTINGS};
use overspill::{Keeping, Paths, Policy, Settings, Store, notice};

use crate::config;

/// A call of the program.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    /// How this program was called, with the flags that lead to its root and configuration.
    program: String,
    /// The working directory, relative to the root.
    pub(crate) cwd: String,
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
        let here = Path::new(".").canonicalize().unwrap_or_default();
        let below = here
            .strip_prefix(&root)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(App {
            works_in_root: here == root,
            cwd: if below.is_empty() {
                ".".to_owned()
            } else {
                below
            },
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

    /// Returns how this program is called so that it finds the same store.
    pub(crate) fn program(&self, effective: &Effective) -> String {
        // What a file says holds for the next call as well; a flag or a variable may not.
        let is_lasting = matches!(
            effective.origin("store_dir"),
            Some(Origin::BuiltIn | Origin::File { .. })
        );
        let store_dir = effective.store_dir();
        let flag =
            (!is_lasting).then(|| format!(" --store-dir {}", quoted(&store_dir.to_string_lossy())));
        self.program.clone() + &flag.unwrap_or_default()
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
        reach.program = effective.has_shell().then(|| self.program(effective));
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
                Keeping::Nowhere(notice::not_wanted(effective.lang()))
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

/// Returns the name of this program and the flags that lead to its root and configuration.
fn program(matches: &ArgMatches) -> String {
    let flag = |name: &str| {
        let path = matches.get_one::<PathBuf>(name)?;
        Some(format!(" --{name} {}", quoted(&path.to_string_lossy())))
    };
    config::program()
        + &["root", "config"]
            .into_iter()
            .filter_map(flag)
            .collect::<String>()
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
