//! Finds the configuration: the one place that reads the environment.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use overspill::settings::{FileSettings, SETTINGS};
use overspill::{Settings, io_cause};

use crate::args;
use crate::exit::usage_error;

/// The name of a configuration file.
pub(crate) const FILE_NAME: &str = "overspill.yaml";

/// More than this is no configuration.
const FILE_BYTES: u64 = 1 << 20;

const CONFIG_VARIABLE: &str = "OVERSPILL_CONFIG";
/// Holds the token that callers of the HTTP server must know.
pub(crate) const TOKEN_VARIABLE: &str = "OVERSPILL_MCP_TOKEN";

/// What is logged: a level, or levels by module.
pub(crate) const LOG_VARIABLE: &str = "OVERSPILL_LOG";
/// Where the log goes, if not to stderr.
pub(crate) const LOG_FILE_VARIABLE: &str = "OVERSPILL_LOG_FILE";

const VARIABLE_PREFIX: &str = "TOOL_OUTPUT_";

/// Returns settings from file and environment.
pub(crate) fn load(root: &Path, chosen: Option<&Path>) -> anyhow::Result<Settings> {
    let mut settings = Settings::new();
    if let Some(path) = find(root, chosen) {
        let file = read(&path, root)?;
        settings = settings.with_file(match is_projects(&path, root, chosen) {
            true => file.of_project()?,
            false => file,
        });
    }
    let mut names = SETTINGS.iter().filter_map(|setting| setting.variable);
    let is_garbled = |name: &&str| variable(name).is_some_and(|value| value.to_str().is_none());
    if let Some(name) = names.find(is_garbled) {
        return Err(usage_error(format!("`{name}` is not UTF-8 text")));
    }
    Ok(settings.with_environment(|name| variable(name)?.into_string().ok())?)
}

/// Tells whether the user has nothing against colours.
pub(crate) fn wants_colours() -> bool {
    variable("NO_COLOR").is_none_or(|value| value.is_empty())
        && variable("TERM").is_none_or(|value| value != "dumb")
}

/// Returns the file that holds: a chosen one, that of the root, or the user's.
pub(crate) fn find(root: &Path, chosen: Option<&Path>) -> Option<PathBuf> {
    let chosen = chosen
        .map(Path::to_owned)
        .or_else(|| variable(CONFIG_VARIABLE).map(PathBuf::from));
    chosen.or_else(|| {
        let of_root = root.join(FILE_NAME);
        let of_user = user_directory().map(|dir| dir.join("overspill").join(FILE_NAME));
        [Some(of_root), of_user]
            .into_iter()
            .flatten()
            .find(|path| path.symlink_metadata().is_ok())
    })
}

/// Tells whether a file holds only because it lies in the root, which somebody else may have written.
fn is_projects(path: &Path, root: &Path, chosen: Option<&Path>) -> bool {
    chosen.is_none() && variable(CONFIG_VARIABLE).is_none() && path == root.join(FILE_NAME)
}

/// Reads and checks a file. Errors name it relative to the root where it is there.
pub(crate) fn read(path: &Path, root: &Path) -> anyhow::Result<FileSettings> {
    let shown = path
        .strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string();
    let trouble = |cause: &str| usage_error(format!("configuration file `{shown}`: {cause}"));
    let metadata = std::fs::metadata(path).map_err(|error| trouble(&io_cause(&error)))?;
    if !metadata.is_file() {
        return Err(trouble("is not a file"));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| trouble(&io_cause(&error)))?;
    file.take(FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| trouble(&io_cause(&error)))?;
    if text.len() as u64 > FILE_BYTES {
        return Err(trouble("is larger than 1 MiB"));
    }
    let text = String::from_utf8(text).map_err(|_| trouble("is not UTF-8 text"))?;
    Ok(FileSettings::parse(&shown, &text)?)
}

/// Returns what the output is asked for, as whoever calls us knows it.
pub(crate) fn query() -> Option<String> {
    variable("TOOL_QUERY").map(|query| query.to_string_lossy().into_owned())
}

/// Returns what is logged, as the user wrote it, and the file it goes to.
pub(crate) fn log() -> (Option<String>, Option<PathBuf>) {
    let level = variable(LOG_VARIABLE).map(|level| level.to_string_lossy().into_owned());
    (level, variable(LOG_FILE_VARIABLE).map(PathBuf::from))
}

/// Returns where the journal of the user is, if the user has a place for state.
pub(crate) fn journal_directory() -> Option<PathBuf> {
    let chosen = variable("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let state = chosen.or_else(|| Some(home()?.join(".local/state")));
    state.map(|state| state.join("overspill"))
}

/// Returns the token that callers of the HTTP server must know.
pub(crate) fn token() -> Option<String> {
    variable(TOKEN_VARIABLE)?.into_string().ok()
}

/// Returns the key that a variable of the user's choice holds.
pub(crate) fn secret(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// Returns where what is too large for memory is held for a while.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir()
}

/// Returns the directory that an agent names in a variable as that of its project, if there is one.
pub(crate) fn project(name: &str) -> Option<PathBuf> {
    variable(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && path.is_dir())
}

/// Tells whether the program was called as a hook, also where what was typed cannot be understood.
pub(crate) fn is_hook() -> bool {
    args::names_hook(std::env::args_os().skip(1))
}

/// Returns variables that look like settings but are none.
pub(crate) fn unknown_variables() -> Vec<String> {
    let known = |name: &str| {
        SETTINGS
            .iter()
            .any(|setting| setting.variable == Some(name))
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<String> = names
        .filter(|name| name.starts_with(VARIABLE_PREFIX) && !known(name))
        .collect();
    unknown.sort();
    unknown
}

/// Returns the working directory or the chosen root, without symbolic links.
pub(crate) fn root(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = chosen.unwrap_or(Path::new("."));
    let root = path
        .canonicalize()
        .map_err(|error| usage_error(format!("root `{}`: {}", path.display(), io_cause(&error))))?;
    if !root.is_dir() {
        return Err(usage_error(format!(
            "root `{}`: is not a directory",
            path.display()
        )));
    }
    Ok(root)
}

/// Returns the name this program was called by, for hints that can be typed as they are.
pub(crate) fn program() -> String {
    let name = std::env::args_os()
        .next()
        .unwrap_or_else(|| OsString::from("overspill"));
    let name = name.to_string_lossy();
    let is_plain = (1..=200).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    if is_plain {
        name.into_owned()
    } else {
        "overspill".to_owned()
    }
}

/// Returns how a client starts this program: by its name if that leads here, else by its path.
pub(crate) fn installed_program() -> anyhow::Result<String> {
    const NAME: &str = "overspill";
    let own = std::env::current_exe().context("where this program is")?;
    let path = variable("PATH").unwrap_or_default();
    // A relative directory would be another one for the client.
    let found = std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(NAME))
        .find(|file| file.is_file());
    let leads_here = |file: PathBuf| file.canonicalize().ok() == own.canonicalize().ok();
    if found.is_some_and(leads_here) {
        return Ok(NAME.to_owned());
    }
    let shown = own.display().to_string();
    own.into_os_string().into_string().map_err(|_| {
        usage_error(format!(
            "`{shown}`, where this program is, is not UTF-8 text: put it on the `PATH`"
        ))
    })
}

/// Tells whether a path in a configuration leads to this program, whatever its file is called.
pub(crate) fn is_own_program(path: &str) -> bool {
    let path = Path::new(path);
    // A name without a directory would be looked for on a `PATH` that may not be the client's.
    if !path.is_absolute() {
        return false;
    }
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    own.is_ok_and(|own| path.canonicalize().is_ok_and(|path| path == own))
}

/// Returns the user's home.
pub(crate) fn home() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from)
}

/// Returns where Claude Code keeps its file of the user.
pub(crate) fn claude_directory() -> Option<PathBuf> {
    variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(home)
}

/// Returns where Codex keeps its files of the user.
pub(crate) fn codex_directory() -> Option<PathBuf> {
    let chosen = variable("CODEX_HOME").map(PathBuf::from);
    chosen.or_else(|| Some(home()?.join(".codex")))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns where programs keep configurations of the user.
pub(crate) fn user_directory() -> Option<PathBuf> {
    let chosen = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    chosen.or_else(|| home().map(|home| home.join(".config")))
}

/// Returns where programs keep data of the user.
pub(crate) fn data_directory() -> Option<PathBuf> {
    let chosen = variable("XDG_DATA_HOME").map(PathBuf::from);
    chosen.or_else(|| home().map(|home| home.join(".local/share")))
}

/// Returns where programs keep for the user what they can make again.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let chosen = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let dir = chosen.or_else(|| home().map(|home| home.join(".cache")));
    dir.filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("overspill"))
}

/// Writes a new configuration file into the root.
pub(crate) fn write_new(root: &Path, text: &str, may_replace: bool) -> anyhow::Result<PathBuf> {
    let path = root.join(FILE_NAME);
    if !may_replace && path.symlink_metadata().is_ok() {
        bail!(usage_error(format!(
            "`{FILE_NAME}` exists already; `--force` writes over it"
        )));
    }
    std::fs::write(&path, text).with_context(|| format!("`{FILE_NAME}`"))?;
    Ok(path)
}
