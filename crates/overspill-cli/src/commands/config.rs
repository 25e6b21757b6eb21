//! `overspill config`: what holds and why, a file to start with, and whether one is right.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use overspill::settings::{self, Value};
use serde_json::{Map, json};

use crate::app::{App, deepest};
use crate::args::{ConfigAction, ConfigArgs, Profile};
use crate::{config, output};

/// Shows, writes or checks.
pub(crate) fn run(matches: &ArgMatches, args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        ConfigAction::Show { json } => show(&App::new(matches)?, *json)?,
        ConfigAction::Init { profile, force } => init(matches, *profile, *force)?,
        ConfigAction::Check { file } => check(matches, file.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, as_json: bool) -> anyhow::Result<()> {
    let effective = app.host.settings().effective(app.tool(""));
    if as_json {
        let object: Map<_, _> = effective
            .iter()
            .map(|(setting, value, origin)| {
                let value = match value {
                    Value::Number(number) => json!(number),
                    value => json!(value.to_string()),
                };
                (
                    setting.full_key(),
                    json!({ "value": value, "origin": origin.to_string() }),
                )
            })
            .collect();
        return Ok(output::print_line(
            &serde_json::Value::Object(object).to_string(),
        )?);
    }
    let rows: Vec<[String; 3]> = effective
        .iter()
        .map(|(setting, value, origin)| [setting.full_key(), value.to_string(), origin.to_string()])
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (keys, values) = (width(0), width(1));
    let lines: String = rows
        .iter()
        .map(|[key, value, origin]| format!("{key:keys$}  {value:values$}  {origin}\n"))
        .collect();
    Ok(output::print(lines.as_bytes())?)
}

fn init(matches: &ArgMatches, profile: Profile, may_replace: bool) -> anyhow::Result<()> {
    let root = config::root(path(matches, "root"))?;
    let profile = match profile {
        Profile::Default => settings::Profile::Default,
        Profile::Compact => settings::Profile::Compact,
    };
    let written = config::write_new(&root, &settings::init_file(profile), may_replace)?;
    Ok(output::print_line(&format!("wrote {}", written.display()))?)
}

fn check(matches: &ArgMatches, file: Option<&Path>) -> anyhow::Result<()> {
    let root = config::root(path(matches, "root"))?;
    let found = file
        .map(Path::to_owned)
        .or_else(|| config::find(&root, path(matches, "config")));
    let checked = match &found {
        Some(path) => {
            config::read(path, &root)?;
            format!("{}: no mistakes", path.display())
        }
        None => "no configuration file; the built-in values hold".to_owned(),
    };
    App::new(matches)?;
    output::print_line(&checked)?;
    for name in config::unknown_variables() {
        output::print_line(&format!(
            "environment variable `{name}` is none of overspill's"
        ))?;
    }
    Ok(())
}

fn path<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m Path> {
    deepest(matches)
        .get_one::<PathBuf>(name)
        .map(PathBuf::as_path)
}
