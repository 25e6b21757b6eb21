//! `Run`: a shell command with a time limit.
//!
//! Its output is bounded while it runs. [`process`](crate::process) runs it; this module says where, and what becomes of
//! the way it ended.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use overspill::notice::{self, Message};
use overspill::{Answer, Code, Context, Outcome, Salience, Sink, Tool, ToolError, io_cause};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::defaults;
use crate::process::{Ending, Left, Running, Taken, exit_code};
use crate::sandbox::Place;
use crate::target;

/// Runs a shell command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run;

/// What `Run` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// Command for 'sh -c'
    pub command: String,
    /// Directory to run it in, relative to the project root
    #[serde(default = "defaults::here")]
    pub cwd: String,
    /// Time limit in milliseconds
    #[serde(default = "defaults::run_timeout_ms")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
}

impl Tool for Run {
    const NAME: &'static str = "Run";
    const DESCRIPTION: &'static str = "Run a shell command without input. Returns its output, stdout and stderr in order, and its exit code.";
    type Params = RunParams;

    fn salience(params: &RunParams) -> Salience {
        Salience::default().command(&params.command)
    }

    fn run(&self, cx: &Context<'_>, params: RunParams) -> Result<Answer, ToolError> {
        check(cx, &params.command)?;
        let place = target::directory(cx, &params.cwd)?;
        let policy = cx.policy();
        let mut sink = Sink::of_terminal(&policy);
        let mut running = start(&place, &params).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => target::trouble(cx, &params.cwd, &error),
            _ => cannot_start(cx, &error),
        })?;
        running.cancel_by(cx.cancelled());
        let taken = running
            .take_output(|bytes| sink.push(bytes))
            .map_err(|error| fault(cx, &error))?;
        let answer = match taken.ending {
            Ending::Finished => {
                let status = running.wait().map_err(|error| fault(cx, &error))?;
                let dress = |answer| remarked(cx, &place, taken, dressed(cx, status, answer));
                cx.finish(sink, outcome(status), dress)
            }
            Ending::TimedOut if sink.bytes() == 0 => return Err(timeout(cx, &params, &place)),
            // Nobody knows what it would have come to, so its notice must not say that it succeeded.
            ending => cx.finish(sink, Outcome::Failed, |answer| {
                remarked(cx, &place, taken, stopped(cx, &params, ending, answer))
            }),
        };
        Ok(answer)
    }
}

fn check(cx: &Context<'_>, command: &str) -> Result<(), ToolError> {
    let wrong = match command {
        command if command.trim().is_empty() => Message::EmptyCommand,
        command if command.contains('\0') => Message::NulInCommand,
        _ => return Ok(()),
    };
    let message = wrong.say(cx.lang(), &[]);
    let hint = Message::TryCommand.say(cx.lang(), &[]);
    Err(ToolError::new(Code::InvalidParam, message).hint(hint))
}

/// Starts the command in a directory that was checked.
fn start(place: &Place, params: &RunParams) -> io::Result<Running> {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(&params.command)
        // The very directory that was checked, even if its name leads elsewhere by now. The handle is closed only after
        // the child has entered it.
        .current_dir(place.handle_path())
        .stdin(Stdio::null());
    Running::start(command, Some(Duration::from_millis(params.timeout_ms)))
}

fn cannot_start(cx: &Context<'_>, error: &io::Error) -> ToolError {
    let message = Message::CannotStart.say(cx.lang(), &[("cause", &io_cause(error))]);
    let hint = Message::TryShell.say(cx.lang(), &[]);
    ToolError::new(Code::ExecutionError, message).hint(hint)
}

fn fault(cx: &Context<'_>, error: &io::Error) -> ToolError {
    let values = [("tool", Run::NAME), ("cause", &io_cause(error))];
    let message = Message::InternalFault.say(cx.lang(), &values);
    let hint = Message::TryOtherwise.say(cx.lang(), &[]);
    ToolError::new(Code::InternalError, message).hint(hint)
}

fn outcome(status: ExitStatus) -> Outcome {
    match status.success() {
        true => Outcome::Succeeded,
        false => Outcome::Failed,
    }
}

/// Answers for a command that ended by itself.
fn dressed(cx: &Context<'_>, status: ExitStatus, answer: Answer) -> Answer {
    let code = exit_code(status);
    let answer = answer.stat("exit_code", code);
    match status.signal() {
        Some(signal) => {
            let message = Message::Signalled.say(cx.lang(), &[("n", &signal.to_string())]);
            answer
                .stat("signal", signal)
                .failed(Code::ExecutionError, message)
        }
        None if status.success() => answer,
        None => {
            let message = notice::command_failed(i32::from(code), cx.lang());
            answer.failed(Code::ExecutionError, message)
        }
    }
}

/// Answers for a command that was stopped, with what it wrote.
fn stopped(cx: &Context<'_>, params: &RunParams, ending: Ending, answer: Answer) -> Answer {
    if ending == Ending::Cancelled {
        let message = Message::RunCancelled.say(cx.lang(), &[]);
        return answer.failed(Code::ExecutionError, message);
    }
    let time = params.timeout_ms.to_string();
    answer
        .partial()
        .data("aborted_reason", "timeout")
        .text(&Message::OutputSoFar.say(cx.lang(), &[]))
        .line(&Message::RunStopped.say(cx.lang(), &[("t", &time)]))
        .line(&Message::TryLonger.say(cx.lang(), &[]))
}

/// Answers for a command that its time limit stopped before it wrote anything.
fn timeout(cx: &Context<'_>, params: &RunParams, place: &Place) -> ToolError {
    let time = params.timeout_ms.to_string();
    let message = Message::RunTimeout.say(cx.lang(), &[("t", &time)]);
    ToolError::new(Code::Timeout, message)
        .hint(Message::TryLonger.say(cx.lang(), &[]))
        .path_resolved(place.shown())
}

/// Adds what every answer says.
fn remarked(cx: &Context<'_>, place: &Place, taken: Taken, answer: Answer) -> Answer {
    let answer = answer.context("path_resolved", place.shown());
    match taken.left {
        Left::Nothing => answer,
        Left::Behind => answer.line(&notice::background_left(cx.lang())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::sandbox::Root;

    #[test]
    fn a_directory_that_is_swapped_after_its_check_leads_nowhere_else() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("root/dir")).unwrap();
        let root = Root::open(&base.join("root")).unwrap();
        let place = root.resolve("dir").unwrap();
        fs::rename(base.join("root/dir"), base.join("root/moved")).unwrap();
        symlink(&base, base.join("root/dir")).unwrap();

        let params = RunParams {
            command: "pwd -P".to_owned(),
            cwd: "dir".to_owned(),
            timeout_ms: 10_000,
        };
        let mut running = start(&place, &params).unwrap();
        let mut output = Vec::new();
        running
            .take_output(|bytes| output.extend_from_slice(bytes))
            .unwrap();
        let moved = format!("{}\n", base.join("root/moved").display());
        assert_eq!(String::from_utf8(output).unwrap(), moved);
    }
}
