//! `overspill run`: runs a command and bounds its output.
//!
//! stdout and stderr of the command are one pipe, so that they stay in the order they came. Its stdin is ours. Once it has
//! ended, what it left in the pipe is taken; a process that it left behind is not waited for.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use overspill::{Code, Envelope, Lang, Outcome, Sink, io_cause, notice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::args::{Format, RunArgs};
use crate::buffer::Buffer;
use crate::exit;
use crate::output::{self, Facts};
use crate::progress::Progress;
use crate::signals::{self, Caught, Forwarding};

const TOOL: &str = "Run";

const CHUNK_BYTES: usize = 1 << 17;

/// How long the pipe may stay silent after the command ended, while others still hold it.
const SILENCE: Duration = Duration::from_millis(500);

/// How long what others write after the command ended is taken at all.
const GRACE: Duration = Duration::from_secs(2);

/// The exit codes of a shell for a command that cannot be run, and for one that does not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs a command, prints its bounded output, and returns its exit code.
pub(crate) fn run(app: &App, args: &RunArgs, format: Format) -> anyhow::Result<ExitCode> {
    let tool = app.tool(TOOL);
    let effective = app.host.settings().effective(tool);
    let policy = app.host.policy(tool, &effective);
    let start = Instant::now();
    signals::outlive_file_limit()?;
    let caught = Caught::new()?;
    let (pipe, child) = match spawn(args) {
        Ok(spawned) => spawned,
        Err(error) => return Ok(cannot_run(app, args, &error, format, policy.lang)),
    };
    let forwarding = caught.forward_to(child.id());
    let mut sink = if args.raw {
        Sink::new(&policy)
    } else {
        Sink::of_terminal(&policy)
    };
    let mut progress = Progress::new(args.quiet);
    let (status, left) = take_output(pipe, child, &forwarding, |bytes| {
        sink.push(bytes);
        progress.update(sink.bytes());
    })?;
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
    if let Err(error) = output::print_output(sink, outcome, format, &facts) {
        drop(writeln!(io::stderr().lock(), "overspill: {error}"));
    }
    if left == Left::Behind && !args.quiet {
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

fn spawn(args: &RunArgs) -> io::Result<(io::PipeReader, Child)> {
    let (reader, writer) = io::pipe()?;
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let child = command.spawn()?;
    // `command` holds the writing ends, which must go for the pipe to end with the child.
    drop(command);
    Ok((reader, child))
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

/// Whether something still held the output when it was no longer waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Left {
    Nothing,
    Behind,
}

/// Takes the output until the pipe ends, or the command has ended and what it left behind keeps the pipe open.
fn take_output(
    mut pipe: io::PipeReader,
    mut child: Child,
    forwarding: &Forwarding,
    mut take: impl FnMut(&[u8]),
) -> anyhow::Result<(ExitStatus, Left)> {
    // Closed when the command has ended, so that one `poll` waits for output and end together.
    let (ended, end) = io::pipe()?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let status = child.wait();
            forwarding.stop();
            drop(end);
            status
        });
        let left = drain(&mut pipe, &ended, &mut take)?;
        let status = waiter
            .join()
            .map_err(|_| anyhow::anyhow!("the command could not be waited for"))??;
        Ok((status, left))
    })
}

fn drain(
    pipe: &mut io::PipeReader,
    ended: &io::PipeReader,
    take: &mut impl FnMut(&[u8]),
) -> io::Result<Left> {
    let mut buffer = Buffer::new(CHUNK_BYTES);
    let chunk = buffer.bytes();
    let mut ended_at: Option<Instant> = None;
    loop {
        let ready = wait(pipe, ended, ended_at)?;
        if ready.has_output {
            match pipe.read(chunk) {
                Ok(0) => return Ok(Left::Nothing),
                Ok(len) => take(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match ended_at {
            None if ready.has_ended => ended_at = Some(Instant::now()),
            Some(at) if !ready.has_output || at.elapsed() > GRACE => return Ok(Left::Behind),
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    has_output: bool,
    has_ended: bool,
}

/// Waits for output or the end of the command; once that has come, for output within a short while.
fn wait(
    pipe: &io::PipeReader,
    ended: &io::PipeReader,
    ended_at: Option<Instant>,
) -> io::Result<Ready> {
    let interest = PollFlags::IN | PollFlags::HUP;
    let mut fds = vec![PollFd::from_borrowed_fd(pipe.as_fd(), interest)];
    if ended_at.is_none() {
        fds.push(PollFd::from_borrowed_fd(ended.as_fd(), interest));
    }
    let silence = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(SILENCE.subsec_nanos()),
    };
    match poll(&mut fds, ended_at.map(|_| &silence)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => {
            return Ok(Ready {
                has_output: false,
                has_ended: false,
            });
        }
        Err(errno) => return Err(errno.into()),
    }
    let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    Ok(Ready {
        has_output: is_ready(0),
        has_ended: is_ready(1),
    })
}

/// Returns the command's own code, or 128 and the number of the signal that ended it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
