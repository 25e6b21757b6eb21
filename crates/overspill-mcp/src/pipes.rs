//! The two pipes to a client, and how to tell that it is gone.

use std::fmt;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// The pipes to a client.
pub struct Pipes {
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) is_gone: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Pipes {
    /// Returns pipes to a client that is gone when `is_gone` says so; one that is asked nothing may be gone all the same.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Sync + Unpin + 'static,
        is_gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Pipes {
        Pipes {
            input: Box::new(input),
            output: Box::new(output),
            is_gone: Box::new(is_gone),
        }
    }

    /// Returns standard input and output of this process. There must be a runtime to wait for them in.
    pub fn of_process() -> Pipes {
        let (input, output) = rmcp::transport::io::stdio_pipes();
        Pipes::new(input, output, is_stdout_unread)
    }
}

impl fmt::Debug for Pipes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipes").finish_non_exhaustive()
    }
}

/// Tells whether nobody reads our standard output any more.
fn is_stdout_unread() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&now)) {
        Ok(_) => fds[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL),
        Err(_) => false,
    }
}
