//! `overspill run`: runs a command and bounds its output.
//!
//! Its stdin is ours, and so is its process group: signals that reach us are passed on, and there is no time limit.

use std::io::{self, Write as _};
use std::process::{Command, ExitCode};
use std::time::Instant;

use overspill::{Code, Envelope, Lang, Outcome, Policy, Sink, io_cause, notice};
use overspill_tools::process::{Left, Running, exit_code};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::args::{Format, OutputArgs, RunArgs};
use crate::exit;
use crate::output::{self, Facts};
use crate::progress::Progress;
use crate::signals::{self, Caught};

const TOOL: &str = "Run";

/// The exit codes of a shell for a command that cannot be run, and for one that does not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs a command, prints its bounded output, and returns its exit code.
pub(crate) fn run(app: &App, args: &RunArgs, wanted: &OutputArgs) -> anyhow::Result<ExitCode> {
    let tool = app.tool(TOOL);
    let effective = app.host.settings().effective(tool);
    let policy = Policy {
        salience: wanted.salience(&command_line(args)),
        ..app.host.policy(tool, &effective)
    };
    let start = Instant::now();
    signals::outlive_file_limit()?;
    let caught = Caught::new()?;
    let mut running = match spawn(args) {
        Ok(running) => running,
        Err(error) => return Ok(cannot_run(app, args, &error, wanted.format(), policy.lang)),
    };
    let forwarding = caught.forward_to(running.id());
    let mut sink = if args.raw {
        Sink::new(&policy)
    } else {
        Sink::of_terminal(&policy)
    };
    let mut progress = Progress::new(args.quiet);
    let taken = running.take_output(|bytes| {
        sink.push(bytes);
        progress.update(sink.bytes());
    })?;
    // Once it is waited for, its number may be another's.
    forwarding.stop();
    let status = running.wait()?;
    drop(progress);

    let outcome = if status.success() {
        Outcome::Succeeded
    } else {
        Outcome::Failed
    };
    let code = exit_code(status);
    let facts = Facts {
        failed: (!status.success()).then_some(i32::from(code)),
        stats: [
            ("time_ms", json!(start.elapsed().as_millis() as u64)),
            ("exit_code", json!(code)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect(),
        params: params(args),
        cwd: app.host.cwd().to_owned(),
    };
    // Whatever becomes of what we print, the exit code is the command's.
    if let Err(error) = output::print_output(sink, outcome, wanted, &facts) {
        drop(writeln!(io::stderr().lock(), "overspill: {error}"));
    }
    if taken.left == Left::Behind && !args.quiet {
        drop(writeln!(
            io::stderr().lock(),
            "overspill: {}",
            notice::background_left(policy.lang)
        ));
    }
    Ok(ExitCode::from(code))
}

fn params(args: &RunArgs) -> Map<String, Value> {
    let command = args
        .command
        .iter()
        .map(|part| part.to_string_lossy())
        .collect();
    [("command".to_owned(), command)].into_iter().collect()
}

/// Returns the command as the query that its output answers.
fn command_line(args: &RunArgs) -> String {
    let words: Vec<_> = args
        .command
        .iter()
        .map(|part| part.to_string_lossy())
        .collect();
    words.join(" ")
}

fn spawn(args: &RunArgs) -> io::Result<Running> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Running::start(command, None)
}

/// Tells why a command could not be started, as a shell would.
fn cannot_run(
    app: &App,
    args: &RunArgs,
    error: &io::Error,
    format: Format,
    lang: Lang,
) -> ExitCode {
    let program = args
        .command
        .first()
        .map(|program| program.to_string_lossy())
        .unwrap_or_default();
    let message = format!("`{program}`: {}", io_cause(error));
    drop(writeln!(io::stderr().lock(), "overspill: {message}"));
    let (exit_code, code) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, Code::NotFound),
        io::ErrorKind::InvalidInput => (exit::USAGE, Code::InvalidParam),
        io::ErrorKind::PermissionDenied => (CANNOT_RUN, Code::PermissionDenied),
        _ => (CANNOT_RUN, Code::ExecutionError),
    };
    if format == Format::Envelope {
        let mut envelope = Envelope::of_output(b"", lang).failed(code, message);
        envelope
            .context
            .insert("cwd".to_owned(), json!(app.host.cwd()));
        envelope
            .context
            .insert("params_input".to_owned(), params(args).into());
        drop(output::print_line(&envelope.to_json()));
    }
    ExitCode::from(exit_code)
}
