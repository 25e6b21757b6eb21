//! `overspill install` and `overspill uninstall`: put the proxy before the MCP servers of an agent, and take it away.
//!
//! Both plan edits for each file, check that they can be taken back byte for byte, and print them; with `--write` they are made.
//! Where the files are is in [`agents`], what becomes of a server in `server`, how it is edited in `json` and `toml`.

pub(crate) mod agents;
mod backup;
mod edit;
mod json;
mod server;
mod toml;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;

use self::agents::{AGENTS, Agent, Dialect, Language};
use self::backup::{Backup, Source};
use self::server::{Plan, Way, Wish};
use crate::app::deepest;
use crate::args::InstallArgs;
use crate::exit::{USAGE, usage_error};
use crate::{config, output};

/// Some editors start a file with it; clients skip it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Puts the proxy before servers.
pub(crate) fn install(matches: &ArgMatches, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    run(matches, args, Way::Wrap(&config::installed_program()?))
}

/// Takes the proxy away.
pub(crate) fn uninstall(matches: &ArgMatches, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    run(matches, args, Way::Unwrap)
}

/// Returns a configuration with the proxy before every server that can have one: what `overspill proxy --config FILE` prints.
/// The dialect is that of [`agents::of_file`].
pub(crate) fn wrapped(text: &str, dialect: &Dialect, program: &str) -> anyhow::Result<String> {
    let wish = Wish {
        way: Way::Wrap(program),
        only: &[],
        except: &[],
    };
    let plan = plan(text, dialect, &wish).map_err(usage_error)?;
    Ok(edited(text, &plan))
}

fn run(matches: &ArgMatches, args: &InstallArgs, way: Way<'_>) -> anyhow::Result<ExitCode> {
    let root = deepest(matches).get_one::<PathBuf>("root");
    let root = config::root(root.map(PathBuf::as_path))?;
    let (mut changes, mut troubles, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for (agent, path) in files(args, &root) {
        match Source::read(&path) {
            Ok(None) if args.file.is_some() => troubles.push(not_there(&path)),
            Ok(None) => missing.push((agent, path)),
            Ok(Some(source)) => match Change::new(agent, source, way, &args.only) {
                Ok(change) => changes.push(change),
                Err(error) => troubles.push(error),
            },
            Err(error) => troubles.push(error),
        }
    }
    let is_named = |name: &&String| changes.iter().any(|change| change.plan.names(name));
    if let Some(name) = args.only.iter().find(|name| !is_named(name)) {
        troubles.push(usage_error(format!(
            "`--only {name}`: no such server in {}",
            shown(changes.iter().map(|change| change.source.path.as_path()))
        )));
        return fail(&troubles);
    }
    let mut is_changing = false;
    for change in &changes {
        let told = match args.write {
            true => change.write(),
            false => Ok(change.listing()),
        };
        is_changing |= !change.plan.edits.is_empty();
        match told {
            Ok(told) => output::print(told.as_bytes())?,
            Err(error) => troubles.push(error),
        }
    }
    if changes.is_empty() && troubles.is_empty() {
        output::print(nothing(&missing).as_bytes())?;
    }
    if is_changing && !args.write {
        output::print_line("nothing was written: `--write` makes these changes")?;
    }
    fail(&troubles)
}

/// Returns the files that are meant, whether they exist or not.
fn files(args: &InstallArgs, root: &Path) -> Vec<(&'static Agent, PathBuf)> {
    let chosen = args.agent.map(agents::named);
    if let Some(file) = &args.file {
        let agent = chosen.unwrap_or_else(|| agents::of_file(file));
        return vec![(agent, file.clone())];
    }
    let is_meant = |agent: &&Agent| chosen.is_none_or(|chosen| chosen.name == agent.name);
    let agents = AGENTS.iter().filter(is_meant);
    let files = agents.flat_map(|agent| {
        let files = agent.files(root).into_iter();
        files.map(move |file| (agent, file))
    });
    files.collect()
}

/// A file and what is to be changed in it.
struct Change<'a> {
    agent: &'static Agent,
    source: Source,
    plan: Plan,
    way: Way<'a>,
    /// Servers stay wrapped that were not when we came.
    is_partial: bool,
}

impl<'a> Change<'a> {
    fn new(
        agent: &'static Agent,
        source: Source,
        way: Way<'a>,
        only: &[String],
    ) -> anyhow::Result<Change<'a>> {
        let trouble = |why: String| {
            usage_error(format!(
                "`{}` ({}) stays as it is: {why}",
                source.path.display(),
                agent.title
            ))
        };
        // What had a proxy before it already when we came is the user's.
        let backup = match way {
            Way::Wrap(_) => None,
            Way::Unwrap => source.backup(),
        };
        let except = backup.and_then(|text| unwrapping(&text, &agent.dialect).ok());
        let except = except.map(|plan| plan.changed).unwrap_or_default();
        let wish = Wish {
            way,
            only,
            except: &except,
        };
        let plan = plan(&source.text, &agent.dialect, &wish).map_err(trouble)?;
        reversible(&source.text, &plan, &agent.dialect, way).map_err(trouble)?;
        let is_partial = plan.wrapped.iter().any(|name| !except.contains(name));
        Ok(Change {
            is_partial,
            agent,
            source,
            plan,
            way,
        })
    }

    /// Returns what would be changed.
    fn listing(&self) -> String {
        let mut out = self.remarks();
        if self.plan.edits.is_empty() {
            return out;
        }
        let path = self.source.path.display().to_string();
        let (_, body) = parted(&self.source.text);
        out += &edit::diff(body, &self.plan.edits, [&path, &path]);
        out
    }

    /// Makes the change, and tells.
    fn write(&self) -> anyhow::Result<String> {
        let mut out = self.remarks();
        if self.plan.edits.is_empty() {
            return Ok(out);
        }
        let new = edited(&self.source.text, &self.plan);
        let path = self.source.path.display();
        let names = quoted(&self.plan.changed);
        match self.way {
            Way::Wrap(_) => {
                let made = self.source.back_up(!self.plan.wrapped.is_empty())?;
                let replaced = self.source.replace(&new);
                if replaced.is_err() && made == Backup::New {
                    self.source.drop_backup()?;
                }
                replaced?;
                let backup = self.source.backup_path();
                out += &format!(
                    "`{path}`: the proxy is before {names}; as it was: `{}`\n",
                    backup.display()
                );
            }
            Way::Unwrap => {
                let as_before = match self.source.backup() {
                    Some(backup) if backup == new => ", and the file is as it was",
                    Some(_) => "; what else was changed in the file since stays",
                    None => "",
                };
                self.source.replace(&new)?;
                if !self.is_partial {
                    self.source.drop_backup()?;
                }
                out += &format!("`{path}`: no proxy is before {names} any more{as_before}\n");
            }
        }
        Ok(out)
    }

    /// Tells of servers that are not changed.
    fn remarks(&self) -> String {
        let path = self.source.path.display();
        let mut out = String::new();
        let is_install = matches!(self.way, Way::Wrap(_));
        for (name, why) in self.plan.left.iter().filter(|_| is_install) {
            out += &format!("`{path}`: `{name}` is left alone: {why}\n");
        }
        if self.plan.is_bare() {
            let title = self.agent.title;
            out += &format!("`{path}` ({title}): nothing to do: it names no MCP servers\n");
        } else if self.plan.edits.is_empty() {
            let why = match is_install {
                true if self.plan.wrapped.is_empty() => "no server can have the proxy before it",
                true => "the proxy is before its servers already",
                false => "there is no proxy before its servers",
            };
            out += &format!("`{path}` ({}): nothing to do: {why}\n", self.agent.title);
        }
        out
    }
}

/// Plans what is wanted for a text.
fn plan(text: &str, dialect: &Dialect, wish: &Wish<'_>) -> Result<Plan, String> {
    let (_, body) = parted(text);
    let planned = match dialect.language {
        Language::Json(syntax) => json::plan(body, syntax, dialect, wish),
        Language::Toml => toml::plan(body, dialect, wish),
    };
    planned.map_err(|fault| {
        let before = body.get(..fault.at).unwrap_or(body);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default();
        let column = column.chars().count() + 1;
        format!("line {line}, column {column}: {}", fault.what)
    })
}

fn unwrapping(text: &str, dialect: &Dialect) -> Result<Plan, String> {
    let wish = Wish {
        way: Way::Unwrap,
        only: &[],
        except: &[],
    };
    plan(text, dialect, &wish)
}

/// Checks that what a plan makes can be read again, and that installing can be undone byte for byte. No file is known for which
/// it is not so; but the file is not ours.
fn reversible(text: &str, plan: &Plan, dialect: &Dialect, way: Way<'_>) -> Result<(), String> {
    let bare = |text: &str| Ok(edited(text, &unwrapping(text, dialect)?));
    let new = edited(text, plan);
    let again: Result<String, String> = bare(&new);
    let again = again.map_err(|why| format!("it could not be read afterwards ({why})"))?;
    match way {
        Way::Wrap(_) if again != bare(text)? => {
            Err("the change could not be undone byte for byte".to_owned())
        }
        _ => Ok(()),
    }
}

/// Returns a text with what was planned.
fn edited(text: &str, plan: &Plan) -> String {
    let (mark, body) = parted(text);
    mark.to_owned() + &edit::apply(body, &plan.edits)
}

/// Parts a text from its byte order mark.
fn parted(text: &str) -> (&str, &str) {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (BYTE_ORDER_MARK, body),
        None => ("", text),
    }
}

/// Tells that a file does not exist that the user named.
fn not_there(path: &Path) -> anyhow::Error {
    usage_error(format!(
        "`--file {}`: there is no such file; without `--file` the usual ones of your agents are looked for",
        path.display()
    ))
}

/// Tells that none of the files exists.
fn nothing(missing: &[(&Agent, PathBuf)]) -> String {
    let line = |(agent, path): &(&Agent, PathBuf)| {
        let (title, path) = (agent.title, path.display());
        format!("nothing to do: there is no `{path}` ({title})\n")
    };
    missing.iter().map(line).collect()
}

fn shown<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    match paths.is_empty() {
        true => "any file".to_owned(),
        false => quoted(&paths),
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Tells all troubles; with any of them the exit code is that of configuration.
fn fail(troubles: &[anyhow::Error]) -> anyhow::Result<ExitCode> {
    let mut stderr = std::io::stderr().lock();
    for trouble in troubles {
        // Nothing can be told to whom nobody listens.
        drop(writeln!(stderr, "overspill: {trouble:#}"));
    }
    Ok(match troubles.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(USAGE),
    })
}

#[cfg(test)]
mod tests;
