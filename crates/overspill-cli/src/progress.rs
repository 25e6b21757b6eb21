//! Shows on a terminal that long work goes on. Anything but a terminal gets nothing.

use std::io::{IsTerminal as _, Write as _};
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

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            drop(write!(std::io::stderr().lock(), "\r\x1b[K"));
        }
    }
}
