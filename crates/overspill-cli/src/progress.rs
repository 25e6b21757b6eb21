//! Shows on a terminal that long work goes on. Anything but a terminal gets nothing.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const FIRST_AFTER: Duration = Duration::from_secs(1);
const THEN_EVERY: Duration = Duration::from_millis(200);

/// A line on stderr that counts bytes.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    /// Starts counting; `quiet` shows nothing.
    pub(crate) fn new(quiet: bool) -> Self {
        let start = Instant::now();
        let shows = !quiet && std::io::stderr().is_terminal();
        Progress {
            start,
            next: shows.then(|| start + FIRST_AFTER),
            is_shown: false,
        }
    }

    /// Tells how many bytes there are by now.
    pub(crate) fn update(&mut self, bytes: u64) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            self.next = Some(now + THEN_EVERY);
            self.is_shown = true;
            let seconds = self.start.elapsed().as_secs();
            drop(write!(
                std::io::stderr().lock(),
                "\r\x1b[Koverspill: {:.1} MiB, {seconds} s",
                bytes as f64 / f64::from(1 << 20)
            ));
        }
    }
}

/// A line on stderr that counts seconds, for work that tells nothing of itself.
#[derive(Debug)]
pub(crate) struct Ticker {
    /// Dropped to end it.
    end: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ticker {
    /// Starts counting.
    pub(crate) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Ticker {
                end: None,
                thread: None,
            };
        }
        let (end, ended) = mpsc::channel();
        let start = Instant::now();
        let thread = thread::Builder::new().spawn(move || {
            let mut wait = FIRST_AFTER;
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                wait = THEN_EVERY;
                let seconds = start.elapsed().as_secs();
                drop(write!(
                    std::io::stderr().lock(),
                    "\r\x1b[Koverspill: {seconds} s"
                ));
            }
            if wait == THEN_EVERY {
                drop(write!(std::io::stderr().lock(), "\r\x1b[K"));
            }
        });
        Ticker {
            end: Some(end),
            thread: thread.ok(),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            drop(write!(std::io::stderr().lock(), "\r\x1b[K"));
        }
    }
}
