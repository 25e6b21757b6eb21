//! Threads that nobody waits for: a call returns when its time is over, whatever a worker is caught in.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The most threads of one call.
const MOST: usize = 12;

/// Whether a worker panicked, which nobody would learn of otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Died(Arc<AtomicBool>);

impl Died {
    /// Does the work of a worker.
    pub(crate) fn watch(&self, work: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Tells whether one has.
    pub(crate) fn has(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns how many threads a call uses.
pub(crate) fn count() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MOST)
}

/// Starts `count` workers. Where not one can be started, the first works in this thread.
pub(crate) fn spawn<W: FnOnce() + Send + 'static>(count: usize, worker: impl Fn() -> W) {
    for at in 0..count {
        let started = thread::Builder::new()
            .name("overspill".to_owned())
            .spawn(worker());
        if started.is_err() {
            if at == 0 {
                worker()();
            }
            return;
        }
    }
}
