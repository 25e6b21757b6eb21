//! Exit codes, and how trouble is told: one line on stderr, and a hint below it where there is one.

use std::io::Write as _;
use std::process::ExitCode;

/// The tool's answer is an error.
pub(crate) const ANSWER: u8 = 1;

/// Usage or configuration.
pub(crate) const USAGE: u8 = 2;

/// Trouble that is the user's to mend: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns an error that ends with exit code 2.
pub(crate) fn usage_error(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// Prints what clap has to say.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Help and version go to stdout, and a closed pipe there is no trouble.
    drop(error.print());
    if error.use_stderr() {
        failed(USAGE)
    } else {
        ExitCode::SUCCESS
    }
}

/// Returns the exit code of trouble. A hook has none: to some agents 2 means that their call is refused, and others show any
/// other to the user at every call. Whoever typed it has been told on stderr.
fn failed(code: u8) -> ExitCode {
    match crate::config::is_hook() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(code),
    }
}

/// Prints an error and returns its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let mut stderr = std::io::stderr().lock();
    drop(writeln!(stderr, "overspill: {error:#}"));
    let ours = error.downcast_ref::<overspill::Error>();
    if let Some(hint) = ours.and_then(overspill::Error::hint) {
        drop(writeln!(stderr, "hint: {hint}"));
    }
    let is_answer = ours.is_some_and(|error| error.kind() == overspill::ErrorKind::NoSpill);
    failed(if is_answer { ANSWER } else { USAGE })
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io_errors = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    io_errors
        .into_iter()
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
