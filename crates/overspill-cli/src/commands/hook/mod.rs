//! `overspill hook`: bounds what a coding agent's own tools return, as a hook of that agent.
//!
//! The agent's JSON comes on stdin, and its answer goes to stdout in the agent's own shape; a module each knows one. A hook
//! never breaks the agent: whatever is wrong, nothing is said on stdout, so that the original passes as it is, one line tells
//! why on stderr, and the exit code is 0.
//!
//! - [`bounding`]: what is bounded and how, for all agents; [`cuts`]: what each of them cuts behind us.
//! - [`claude`], [`codex`], [`gemini`], [`cursor`], [`opencode`]: from the input of a hook to its answer.
//! - [`wrap`]: the one hook that comes before a tool; [`shell`]: which commands it leaves alone.
//! - [`json`], [`blocks`], [`whole`]: the agent's JSON, lists of blocks, and files in which an agent keeps a whole result.

mod blocks;
mod bounding;
mod claude;
mod codex;
mod cursor;
mod cuts;
mod gemini;
mod json;
mod opencode;
mod shell;
mod whole;
mod wrap;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::bail;
use clap::ArgMatches;
use overspill::settings::Origin;
use serde_json::Value;

use self::bounding::{Bounder, Kind};
use self::cuts::Cut;
use self::json::Json;
use crate::app::App;
use crate::args::{Agent, HookArgs};
use crate::exit::usage_error;
use crate::{config, output, signals};

/// The longest input that is read. A longer one is passed by.
const INPUT_BYTES: u64 = 256 << 20;

/// Answers a hook of an agent, or prints its plugin.
pub(crate) fn run(matches: &ArgMatches, args: &HookArgs) -> anyhow::Result<ExitCode> {
    if args.wrap_shell && args.agent != Agent::Claude {
        return Err(usage_error("`--wrap-shell` is only for claude"));
    }
    if args.plugin {
        return print_plugin(args.agent);
    }
    // Dropped at the end: what the journal still has to write, it writes after the answer.
    let mut app = None;
    let answered = catch_unwind(AssertUnwindSafe(|| answer(matches, args, &mut app)));
    let reply = match answered {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => {
            log(&format!("{error:#}"));
            None
        }
        // What panicked has said so on stderr.
        Err(_) => None,
    };
    let text = match (reply, args.agent) {
        (Some(reply), _) => reply.to_string(),
        // Cursor wants an answer to everything.
        (None, Agent::Cursor) => "{}".to_owned(),
        (None, _) => return Ok(ExitCode::SUCCESS),
    };
    if let Err(error) = output::print_line(&text) {
        log(&error.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn print_plugin(agent: Agent) -> anyhow::Result<ExitCode> {
    if agent != Agent::Opencode {
        return Err(usage_error("`--plugin` is only for opencode"));
    }
    let program = format!("const PROGRAM = {}", Value::from(config::program()));
    let plugin = opencode::PLUGIN.replacen(opencode::PROGRAM, &program, 1);
    output::print(plugin.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the answer to the input on stdin; nothing if the agent is to go on as it would without us.
fn answer(
    matches: &ArgMatches,
    args: &HookArgs,
    app: &mut Option<App>,
) -> anyhow::Result<Option<Value>> {
    let mut input = read_input()?;
    let input = Json::parse(&mut input)?;
    if !matches!(input, Json::Object(_)) {
        return Ok(None);
    }
    // A spill that is larger than a process may write must not end it.
    signals::outlive_file_limit()?;
    let project = project_variable(args.agent).and_then(config::project);
    let app = app.insert(App::for_agent(matches, project.as_deref())?);
    if args.wrap_shell {
        return Ok(wrap::reply(input, &wrapping_program(app)));
    }
    let bounder = Bounder {
        host: &app.host,
        agent: args.agent,
    };
    match args.agent {
        Agent::Claude => claude::reply(input, &bounder),
        Agent::Codex => Ok(codex::reply(&input, &bounder)),
        Agent::Gemini => Ok(gemini::reply(&input, &bounder)),
        Agent::Cursor => Ok(cursor::reply(input, &bounder)),
        Agent::Opencode => opencode::reply(input, &bounder, config::data_directory().as_deref()),
    }
}

/// Returns the variable in which an agent tells the directory of its project. It may work in another by now.
fn project_variable(agent: Agent) -> Option<&'static str> {
    match agent {
        Agent::Claude => Some("CLAUDE_PROJECT_DIR"),
        Agent::Gemini => Some("GEMINI_PROJECT_DIR"),
        Agent::Codex | Agent::Cursor | Agent::Opencode => None,
    }
}

/// Returns how a wrapped command calls this program, so that what it prints is below the agent's own cut however it ends.
fn wrapping_program(app: &App) -> String {
    let effective = app.host.settings().effective("Run");
    let is_set = effective.origin("max_result_chars") != Some(&Origin::BuiltIn);
    match Cut::of(Agent::Claude, Kind::FailedShell) {
        Some(cut) if !is_set => format!("{} --max-result-chars {}", app.program, cut.ours),
        _ => app.program.clone(),
    }
}

fn read_input() -> anyhow::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        bail!("the hook's JSON comes on stdin");
    }
    let mut input = Vec::new();
    stdin
        .by_ref()
        .take(INPUT_BYTES + 1)
        .read_to_end(&mut input)?;
    if input.len() as u64 > INPUT_BYTES {
        // An agent may take it ill if nobody reads what it writes.
        drop(input);
        io::copy(&mut stdin, &mut io::sink())?;
        bail!("the hook's input is over {} MiB", INPUT_BYTES >> 20);
    }
    Ok(input)
}

/// Tells of trouble in one line. Every agent keeps the stderr of a hook that succeeds from its model.
fn log(trouble: &str) {
    let line = trouble.lines().next().unwrap_or_default();
    let line = &line[..line.floor_char_boundary(400)];
    tracing::warn!("hook: {line}");
    drop(writeln!(io::stderr().lock(), "overspill: hook: {line}"));
}
