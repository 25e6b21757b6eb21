//! `overspill stats`: what calls cost and saved, and how often a spill was looked into afterwards.
//!
//! - [`figures`]: reads the journal and adds up; the only one that knows its tables.
//! - [`since`]: what the user may say of time.
//! - [`advice`]: which line of the configuration would help, if any.
//! - [`table`]: for people; [`export`]: for programs.

mod advice;
mod export;
mod figures;
mod since;
mod table;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use overspill::notice::Message;

pub(crate) use self::since::Since;

use self::figures::{Figures, Scope};
use crate::app::App;
use crate::args::StatsArgs;
use crate::exit::usage_error;
use crate::journal::database;
use crate::{config, output};

/// Prints the figures in the form that was asked for.
pub(crate) fn run(app: &App, args: &StatsArgs) -> anyhow::Result<ExitCode> {
    let Some(dir) = config::journal_directory() else {
        return Err(usage_error(
            "there is no journal: neither `XDG_STATE_HOME` nor `HOME` says where it would be",
        ));
    };
    let root = app.host.root().to_string_lossy().into_owned();
    let scope = Scope {
        root: (!args.all).then_some(root),
        tool: app.named_tool().map(str::to_owned),
        since: args.since.clone(),
    };
    let figures = database::read(&dir, |connection| Figures::read(connection, &scope))
        .map_err(|error| usage_error(format!("journal in `{}`: {error:#}", dir.display())))?
        .unwrap_or_default();
    let effective = app.host.settings().effective("");
    let lang = effective.lang();
    let text = if args.json {
        export::json(&figures, &scope) + "\n"
    } else if args.csv {
        export::csv(&figures)
    } else if args.prometheus {
        export::open_metrics(&figures)
    } else if figures.is_empty() {
        let message = match effective.has_journal() {
            true => Message::StatsEmpty,
            false => Message::StatsOff,
        };
        message.say(lang, &[]) + "\n"
    } else {
        table::table(&figures, &scope, lang, bars())
    };
    output::print(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Tells whether rates are drawn: on a terminal of a user who has nothing against looks.
fn bars() -> table::Bars {
    match std::io::stdout().is_terminal() && config::wants_colours() {
        true => table::Bars::Drawn,
        false => table::Bars::None,
    }
}
