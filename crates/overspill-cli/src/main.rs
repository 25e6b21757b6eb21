//! The `overspill` command: flags, configuration, rendering. What it does is in the libraries.

mod app;
mod args;
mod commands;
mod config;
mod exit;
mod journal;
mod logs;
mod output;
mod people;
mod progress;
mod signals;
mod summarizer;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use crate::app::App;
use crate::args::{Cli, Command, OutputArgs};

fn main() -> ExitCode {
    logs::start();
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return exit::usage(&error),
    };
    if let Some(done) = commands::tools::from_people(&matches) {
        return done.unwrap_or_else(|error| exit::report(&error));
    }
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    match run(&cli, &matches) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

fn run(cli: &Cli, matches: &clap::ArgMatches) -> anyhow::Result<ExitCode> {
    let wanted = |own: &OutputArgs| own.over(&cli.output);
    let Some(command) = &cli.command else {
        return commands::truncate::from_pipe(&App::new(matches)?, &cli.output);
    };
    match command {
        Command::Truncate(args) => commands::truncate::run(
            &App::new(matches)?,
            args.file.as_deref(),
            &wanted(&args.output),
        ),
        Command::Run(args) => commands::run::run(&App::new(matches)?, args, &wanted(&args.output)),
        Command::Show(args) => commands::show::run(&App::new(matches)?, args),
        Command::List(args) => commands::list::run(&App::new(matches)?, args),
        Command::Clean(args) => commands::clean::run(&App::new(matches)?, args),
        Command::Stats(args) => commands::stats::run(&App::new(matches)?, args),
        Command::Call(args) => commands::tools::call(App::new(matches)?, args),
        Command::Tools(args) => commands::tools::list(args),
        Command::Mcp(args) => commands::mcp::run(App::new(matches)?, args),
        Command::Proxy(args) => commands::proxy::run(matches, args),
        Command::Install(args) => commands::install::install(matches, args),
        Command::Uninstall(args) => commands::install::uninstall(matches, args),
        Command::Hook(args) => commands::hook::run(matches, args),
        Command::Config(args) => commands::config::run(matches, args),
        Command::Completions(args) => commands::generate::completions(args),
        Command::Man => commands::generate::man(),
        Command::Docs(args) => commands::generate::docs(args),
    }
}
