//! A server that is a child process, for a client at standard input and output.
//!
//! Whoever goes first, nobody hangs: when the client goes, the server is told by the end of its input, then by signals to
//! its whole group; when the server goes, every request that waits is answered, and then the client is left as it would be
//! without us.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWriteExt as _, BufWriter};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

use super::lines::{Lines, Report, decided};
use super::{Edited, FromClient, FromServer, Proxy, Taken};

/// How long the server may take to end after its input did, and after it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// How long it may be silent when its input has ended and the client still waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long requests are answered that were under way when the server went.
const LINGER: Duration = Duration::from_secs(1);

type ClientOut = BufWriter<rmcp::transport::io::StdioWriter>;

/// Starts the server and relays until one of the two goes, or until `until` is done. Returns how the server ended, if it went
/// first.
pub async fn relay(
    proxy: &Proxy,
    command: &[OsString],
    report: &dyn Report,
    until: impl Future<Output = ()>,
) -> io::Result<Option<ExitStatus>> {
    let mut child = spawn(command)?;
    let group = child.id().and_then(|id| Pid::from_raw(id as i32));
    let (client_in, client_out) = rmcp::transport::io::stdio_pipes();
    let link = Link {
        proxy,
        report,
        to_client: Mutex::new(BufWriter::new(client_out)),
        to_server: Mutex::new(child.stdin.take()),
        heard: Notify::new(),
        gone: OnceLock::new(),
    };
    let server_out = child
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("the server has no output"))?;
    let mut from_client = pin!(link.hear_client(client_in));
    let mut from_server = pin!(link.hear_server(server_out));
    let is_server_gone = tokio::select! {
        _ = &mut from_client => false,
        _ = &mut from_server => true,
        () = until => false,
    };
    if !is_server_gone {
        *link.to_server.lock().await = None;
        link.drain(from_server).await;
        let status = stop(&mut child, group).await;
        link.server_gone(&how_it_ended(status)).await;
        return Ok(None);
    }
    let status = stop(&mut child, group).await;
    link.server_gone(&how_it_ended(status)).await;
    // What the client wrote before it could know is answered too.
    let _ = timeout(LINGER, from_client).await;
    Ok(status)
}

fn spawn(command: &[OsString]) -> io::Result<Child> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::other("no command"))?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Waits for the server to end, and makes it.
async fn stop(child: &mut Child, group: Option<Pid>) -> Option<ExitStatus> {
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        if let (Some(signal), Some(group)) = (signal, group) {
            // It may be gone already.
            let _ = kill_process_group(group, signal);
        }
        if let Ok(Ok(status)) = timeout(GRACE, child.wait()).await {
            // What it left behind in its group goes with it.
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::TERM);
            }
            return Some(status);
        }
    }
    None
}

fn how_it_ended(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        },
        None => "does not answer any more".to_owned(),
    }
}

/// Tells whether nobody reads our standard output any more.
fn is_client_gone() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = rustix::event::Timespec {
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

/// The two directions between a client and a server.
struct Link<'p> {
    proxy: &'p Proxy,
    report: &'p dyn Report,
    to_client: Mutex<ClientOut>,
    to_server: Mutex<Option<ChildStdin>>,
    /// Told of every message of the server.
    heard: Notify,
    /// Why the server cannot be asked any more.
    gone: OnceLock<String>,
}

impl Link<'_> {
    async fn hear_client(&self, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut lines = Lines::new(input, self.proxy.scratch());
        while let Some(taken) = lines.next().await? {
            match taken {
                Taken::Message(held) => match decided(held, |held| self.proxy.client_said(held))? {
                    FromClient::Forward(forwarded) => {
                        self.ask(&Edited::unchanged(forwarded.message)).await?;
                    }
                    FromClient::Answer(answer) => self.tell(&answer).await?,
                },
                // Of a request that cannot be held only an error can come.
                Taken::Lost { why, start, end } => {
                    if let Some(answer) = self.proxy.refuse(&why, &start, &end) {
                        self.tell(&answer).await?;
                    }
                }
            }
            if let Some(why) = self.gone.get() {
                self.server_gone(why).await;
            }
        }
        Ok(())
    }

    async fn hear_server(&self, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut lines = Lines::new(input, self.proxy.scratch());
        while let Some(taken) = lines.next().await? {
            match taken {
                Taken::Message(held) => match decided(held, |held| self.proxy.server_said(held))? {
                    FromServer::Forward(message) => self.send(&message).await?,
                    FromServer::Garbage(_, start) => self.report.say(&format!(
                        "`{}` printed a line that is no message: {start}",
                        self.proxy.name()
                    )),
                },
                Taken::Lost { why, start, end } => {
                    for answer in self.proxy.lost(&why, &start, &end) {
                        self.tell(&answer).await?;
                    }
                }
            }
            self.heard.notify_one();
        }
        Ok(())
    }

    /// Passes a message to the server. One that is gone is not asked: its requests are answered by who notices.
    async fn ask(&self, message: &Edited) -> io::Result<()> {
        let mut to_server = self.to_server.lock().await;
        if let Some(out) = to_server.as_mut() {
            let written = async {
                message.write(out).await?;
                out.write_all(b"\n").await?;
                out.flush().await
            };
            if written.await.is_err() {
                *to_server = None;
            }
        }
        Ok(())
    }

    async fn send(&self, message: &Edited) -> io::Result<()> {
        let mut out = self.to_client.lock().await;
        message.write(&mut *out).await?;
        out.write_all(b"\n").await?;
        out.flush().await
    }

    async fn tell(&self, message: &[u8]) -> io::Result<()> {
        let mut out = self.to_client.lock().await;
        out.write_all(message).await?;
        out.write_all(b"\n").await?;
        out.flush().await
    }

    async fn server_gone(&self, why: &str) {
        let why = self.gone.get_or_init(|| why.to_owned());
        for answer in self.proxy.server_gone(why) {
            // A client that does not read is gone as well.
            if self.tell(&answer).await.is_err() {
                return;
            }
        }
    }

    /// Relays what the server still has to say after its input ended, while it says something or the client waits for it.
    async fn drain(&self, from_server: impl Future<Output = io::Result<()>>) {
        let mut from_server = pin!(from_server);
        let mut silent = Duration::ZERO;
        let step = Duration::from_millis(100);
        loop {
            tokio::select! {
                _ = &mut from_server => return,
                () = self.heard.notified() => silent = Duration::ZERO,
                () = tokio::time::sleep(step) => silent += step,
            }
            let patience = match self.proxy.is_waited_for() {
                true => PATIENCE,
                false => GRACE,
            };
            if silent >= patience || is_client_gone() {
                return;
            }
        }
    }
}
