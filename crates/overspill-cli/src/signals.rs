//! Passes signals on to the command that runs, so that stopping us stops it, and we live to print what it said.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Signals that are passed on. Made before the command is started, so that none is missed.
#[derive(Debug)]
pub(crate) struct Caught(Signals);

/// Passes signals on until it is dropped.
#[derive(Debug)]
pub(crate) struct Forwarding {
    handle: Handle,
    is_over: Arc<AtomicBool>,
}

impl Caught {
    /// Starts catching signals.
    pub(crate) fn new() -> io::Result<Caught> {
        Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map(Caught)
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
            for number in signals.forever() {
                if !is_over.load(Ordering::SeqCst) && !is_from_terminal(number) {
                    forward(process, number);
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

/// Tells whether the terminal sent a signal: then the command, which is in the same process group, has it already, and a
/// second one would mean "stop at once" to many programs.
fn is_from_terminal(number: i32) -> bool {
    let is_typed = number == SIGINT || number == SIGQUIT;
    is_typed
        && [rustix::stdio::stdin(), rustix::stdio::stderr()]
            .iter()
            .any(|fd| rustix::termios::tcgetpgrp(fd) == Ok(getpgrp()))
}
