//! Passes signals on to the command that runs, so that stopping us stops it, and we live to print what it said.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Cause;

/// Signals that are passed on. Made before the command is started, so that none is missed.
#[derive(Debug)]
pub(crate) struct Caught(SignalsInfo<WithOrigin>);

/// Passes signals on until it is dropped.
#[derive(Debug)]
pub(crate) struct Forwarding {
    handle: Handle,
    is_over: Arc<AtomicBool>,
}

impl Caught {
    /// Starts catching signals.
    pub(crate) fn new() -> io::Result<Caught> {
        SignalsInfo::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]).map(Caught)
    }

    /// Passes what was caught, and what will be, on to a process.
    pub(crate) fn forward_to(self, process: u32) -> Forwarding {
        let mut signals = self.0;
        let is_over = Arc::new(AtomicBool::new(false));
        let forwarding = Forwarding {
            handle: signals.handle(),
            is_over: Arc::clone(&is_over),
        };
        std::thread::spawn(move || {
            for origin in signals.forever() {
                // What the terminal sends, it sends to the command as well, which is in the same process group; a second
                // signal would mean "stop at once" to many programs.
                if !is_over.load(Ordering::SeqCst) && origin.cause != Cause::Kernel {
                    forward(process, origin.signal);
                }
            }
        });
        forwarding
    }
}

impl Forwarding {
    /// Stops passing signals on: the process has ended, and its number may be another's.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn forward(process: u32, number: i32) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let (Some(process), Some(signal)) = (process, Signal::from_named_raw(number)) {
        let _ = kill_process(process, signal);
    }
}

/// Lets a spill that grows over the limit on file sizes fail with an error, as one on a full disk does.
pub(crate) fn outlive_file_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Returns a flag that the first request to stop sets. The second ends us.
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_stopped))?;
        flag::register(signal, Arc::clone(&is_stopped))?;
    }
    Ok(is_stopped)
}

/// Lets a first Ctrl-C pass: it ends what feeds our pipe, and then we print what came. A second one ends us.
pub(crate) fn outlive_interrupt() -> io::Result<Arc<AtomicBool>> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&is_interrupted))?;
    flag::register(SIGINT, Arc::clone(&is_interrupted))?;
    Ok(is_interrupted)
}

/// The exit code of a program that Ctrl-C ended.
pub(crate) const INTERRUPTED: i32 = 128 + SIGINT;
