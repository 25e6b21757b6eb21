//! Runs a command and takes its output as it comes.
//!
//! stdout and stderr are one pipe, so that they stay in the order they came. Once the command has ended, what it left in
//! the pipe is taken; a process that it left behind is not waited for. A command with a time limit is stopped with all of
//! its process group when the limit is over. What becomes of the output is the caller's.

use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid,
    waitpid,
};

use crate::buffer::Buffer;

const CHUNK_BYTES: usize = 1 << 17;

/// How long the pipe may stay silent after the command ended, while others still hold it.
const SILENCE: Duration = Duration::from_millis(500);

/// How long what others write after the command ended is taken at all.
const GRACE: Duration = Duration::from_secs(2);

/// How long a command that is stopped has to clean up before it is killed.
const CLEANUP: Duration = Duration::from_millis(200);

/// How long the output of what was killed is taken, while others still hold the pipe.
const AFTERMATH: Duration = Duration::from_millis(50);

/// How often a command that can be cancelled is looked after.
const GLANCE: Duration = Duration::from_millis(50);

/// A command that runs.
///
/// ```
/// use std::process::Command;
/// use overspill_tools::process::{Ending, Left, Running, Taken, exit_code};
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo out; echo err >&2; exit 3"]);
/// let mut running = Running::start(command, None)?;
/// let mut output = Vec::new();
/// let taken = running.take_output(|bytes| output.extend_from_slice(bytes))?;
/// assert_eq!(taken, Taken { ending: Ending::Finished, left: Left::Nothing });
/// assert_eq!(exit_code(running.wait()?), 3);
/// assert_eq!(output, b"out\nerr\n");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Running {
    child: Child,
    pipe: PipeReader,
    /// Whether the command leads a process group of its own.
    has_group: bool,
    deadline: Option<Instant>,
    cancelled: Option<Arc<AtomicBool>>,
}

/// How an output came to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Taken {
    /// Whether the command ended by itself.
    pub ending: Ending,
    /// Whether something still held the output when it was no longer waited for.
    pub left: Left,
}

/// Whether a command ended by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// It did.
    Finished,
    /// It was stopped when its time limit was over.
    TimedOut,
    /// It was stopped since nobody wanted it any more.
    Cancelled,
}

/// Whether something still held an output when it was no longer waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Left {
    /// The output is complete.
    Nothing,
    /// A process that the command left behind may write more.
    Behind,
}

/// How far a command is, and until when the next step is waited for.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    /// It has ended; others may still write.
    Ended {
        until: Instant,
    },
    /// Its time is over, and it was asked to end.
    Stopping {
        until: Instant,
    },
    /// It was killed; what left its process group may still write.
    Killed {
        until: Instant,
    },
}

impl Running {
    /// Starts a command. With a time limit it leads a process group of its own, so that all of it can be stopped.
    pub fn start(mut command: Command, time_limit: Option<Duration>) -> io::Result<Running> {
        let (pipe, writer) = io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        if time_limit.is_some() {
            command.process_group(0);
        }
        let child = command.spawn()?;
        // `command` holds the writing ends, which must go for the pipe to end with the child.
        drop(command);
        Ok(Running {
            child,
            pipe,
            has_group: time_limit.is_some(),
            // A limit beyond the end of time is none.
            deadline: time_limit.and_then(|limit| Instant::now().checked_add(limit)),
            cancelled: None,
        })
    }

    /// Stops the command once a flag is set, as if its time were over.
    pub fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.cancelled = Some(flag);
    }

    fn is_cancelled(&self) -> bool {
        let flag = self.cancelled.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Returns the command's process id. It is no other's before [`wait`](Running::wait).
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Takes the output until the command has ended, or its time is over. A pipe that others keep open then is left.
    pub fn take_output(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<Taken> {
        // Closed when the command has ended, so that one `poll` waits for output and end together.
        let (ended, end) = io::pipe()?;
        self.watch(end)?;
        let mut buffer = Buffer::new(CHUNK_BYTES);
        let mut phase = Phase::Running;
        let mut is_open = true;
        loop {
            let pipe = is_open.then_some(&self.pipe);
            let ended = matches!(phase, Phase::Running).then_some(&ended);
            let ready = wait_for(pipe, ended, self.next_step(phase))?;
            if ready.has_output {
                match self.pipe.read(buffer.bytes()) {
                    Ok(0) => is_open = false,
                    Ok(len) => take(&buffer.bytes()[..len]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            // Only of the others: the command itself may be silent as long as it likes.
            let is_silent =
                !ready.has_output && matches!(phase, Phase::Ended { .. } | Phase::Killed { .. });
            phase = self.advance(phase, ready.has_ended);
            if let Some(mut taken) = phase.taken(is_open, is_silent) {
                if taken.ending == Ending::TimedOut && self.is_cancelled() {
                    taken.ending = Ending::Cancelled;
                }
                return Ok(taken);
            }
        }
    }

    /// Waits for the command to end, and returns how it did. From here on its process id may be another's.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Lets a thread wait for the end of the command. The command is not reaped, so that whoever sends a signal to it or
    /// to its group meets nobody else.
    fn watch(&self, end: PipeWriter) -> io::Result<()> {
        let process = Pid::from_child(&self.child);
        thread::Builder::new().spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(process), options));
            drop(end);
        })?;
        Ok(())
    }

    /// Returns until when output is waited for.
    fn next_step(&self, phase: Phase) -> Option<Instant> {
        match phase {
            Phase::Running if self.cancelled.is_some() => {
                let glance = Instant::now() + GLANCE;
                Some(
                    self.deadline
                        .map_or(glance, |deadline| deadline.min(glance)),
                )
            }
            Phase::Running => self.deadline,
            Phase::Ended { until } => Some(until.min(Instant::now() + SILENCE)),
            Phase::Stopping { until } | Phase::Killed { until } => Some(until),
        }
    }

    /// Goes on to the next phase, if it is time.
    fn advance(&self, phase: Phase, has_ended: bool) -> Phase {
        let now = Instant::now();
        match phase {
            Phase::Running if has_ended => {
                let until = now + GRACE;
                let until = self.deadline.map_or(until, |deadline| deadline.min(until));
                // What is in the pipe is taken even if the time is over by now.
                let until = until.max(now + AFTERMATH);
                Phase::Ended { until }
            }
            Phase::Running
                if self.is_cancelled() || self.deadline.is_some_and(|deadline| now >= deadline) =>
            {
                self.signal_group(Signal::TERM);
                // What is stopped cannot clean up.
                self.signal_group(Signal::CONT);
                let until = now + CLEANUP;
                Phase::Stopping { until }
            }
            // All of the time passes even if the pipe is closed by now: the shell may be gone while what it ran, with its
            // output in a file, still cleans up.
            Phase::Stopping { until } if now >= until => {
                self.kill();
                let until = now + AFTERMATH;
                Phase::Killed { until }
            }
            phase => phase,
        }
    }

    fn kill(&self) {
        self.signal_group(Signal::KILL);
        if self.has_group {
            // It may have gone over to another group.
            let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if self.has_group {
            // A group that is gone needs no signal.
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Running {
    /// Leaves no zombie, and nothing that has a time limit but nobody to watch it.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.kill();
        let process = Pid::from_child(&self.child);
        // Killed or not, it may be a while until it is gone.
        let _ = thread::Builder::new().spawn(move || {
            let _ = retry_on_intr(|| waitpid(Some(process), WaitOptions::empty()));
        });
    }
}

impl Phase {
    /// Tells whether the output has come to its end.
    fn taken(self, is_open: bool, is_silent: bool) -> Option<Taken> {
        let (ending, until) = match self {
            Phase::Running | Phase::Stopping { .. } => return None,
            Phase::Ended { until } => (Ending::Finished, until),
            Phase::Killed { until } => (Ending::TimedOut, until),
        };
        let left = match is_open {
            false => Left::Nothing,
            true if is_silent || Instant::now() >= until => Left::Behind,
            true => return None,
        };
        Some(Taken { ending, left })
    }
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    has_output: bool,
    has_ended: bool,
}

/// Waits for output or the end of the command, whichever are given, and not longer than `until`.
fn wait_for(
    pipe: Option<&PipeReader>,
    ended: Option<&PipeReader>,
    until: Option<Instant>,
) -> io::Result<Ready> {
    let interest = PollFlags::IN | PollFlags::HUP;
    let watched = [pipe, ended].into_iter().flatten();
    let mut fds: Vec<PollFd<'_>> = watched
        .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), interest))
        .collect();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let mut are_ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut is_ready = |given: bool| given && are_ready.next().unwrap_or(false);
    Ok(Ready {
        has_output: is_ready(pipe.is_some()),
        has_ended: is_ready(ended.is_some()),
    })
}

/// Returns the command's own code, or 128 and the number of the signal that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
