//! A server that is a child process, for a client at two pipes.
//!
//! Whoever goes first, nobody hangs: when the client goes, the server is told by the end of its input, then by signals to
//! its whole group; when the server goes, every request that waits is answered, and then the client is left as it would be
//! without us.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::lines::{ClientLines, Lines, Report, decided};
use super::{Edited, FromClient, FromServer, Held, OwnCall, Proxy, Taken, Trouble};
use crate::pipes::Pipes;

/// How long the server may take to end after its input did, and after it was told to.
const GRACE: Duration = Duration::from_millis(700);

/// How long it may be silent when its input has ended and the client still waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long requests are answered that were under way when the server went, and how long a client may take to read the last
/// answers.
const LINGER: Duration = Duration::from_secs(1);

/// How often it is looked whether there is still something to wait for.
const STEP: Duration = Duration::from_millis(50);

/// What ended first.
enum Ended {
    /// The client said all it had to say, or is gone.
    Client,
    Server,
    /// We were told to end.
    Signal,
}

/// Starts the server and relays until one of the two goes, or until `until` is done. Returns how the server ended, if it went
/// first.
pub async fn relay(
    proxy: Proxy,
    command: &[OsString],
    client: Pipes,
    report: Arc<dyn Report>,
    until: impl Future<Output = ()>,
) -> io::Result<Option<ExitStatus>> {
    let mut child = match spawn(command) {
        Ok(child) => child,
        Err(error) => {
            refuse_all(&proxy, client, &error).await;
            return Err(error);
        }
    };
    let group = child.id().and_then(|id| Pid::from_raw(id as i32));
    let missing = || io::Error::other("the server has no pipes");
    let to_server = child.stdin.take().ok_or_else(missing)?;
    let server_out = child.stdout.take().ok_or_else(missing)?;
    let link = Arc::new(Link {
        proxy,
        report,
        client: ClientLines::new(client.output),
        is_client_gone: client.is_gone,
        heard: Notify::new(),
        is_at_work: AtomicBool::new(false),
        gone: OnceLock::new(),
    });
    let mut client = tokio::spawn(Arc::clone(&link).hear_client(client.input, to_server));
    let mut server = tokio::spawn(Arc::clone(&link).hear_server(server_out));
    tokio::pin!(until);
    let ended = tokio::select! {
        _ = &mut client => Ended::Client,
        _ = &mut server => Ended::Server,
        // What it left behind may hold its output open, so that the end of that does not come.
        _ = child.wait() => Ended::Server,
        () = &mut until => Ended::Signal,
    };
    match ended {
        Ended::Server => {}
        Ended::Client => {
            tokio::select! {
                () = link.drain(&mut server) => {}
                () = &mut until => {}
            }
        }
        // With the task the server's input ends.
        Ended::Signal => client.abort(),
    }
    let status = stop(&mut child, group, &ended).await;
    // What it said last is still in the pipe; a client that does not read must not keep us.
    while link.is_at_work.load(Ordering::Relaxed) && !(link.is_client_gone)() {
        tokio::time::sleep(STEP).await;
    }
    link.hear_out(&mut server).await;
    if !matches!(ended, Ended::Signal) {
        link.answer_own().await;
    }
    let _ = timeout(LINGER, link.server_gone(&how_it_ended(status))).await;
    if matches!(ended, Ended::Server) {
        // What the client wrote before it could know is answered too.
        linger(&mut client).await;
        return Ok(status);
    }
    Ok(None)
}

/// Answers what a client asks of a server that could not be started, so that it need not guess why nobody answers.
async fn refuse_all(proxy: &Proxy, client: Pipes, error: &io::Error) {
    let how = Trouble::NotStarted(error.to_string());
    let answers = ClientLines::new(client.output);
    let mut lines = Lines::new(client.input, proxy.scratch());
    while let Ok(Ok(Some(taken))) = timeout(LINGER, lines.next()).await {
        if let Taken::Message(held) = taken
            && decided(held, |held| proxy.client_said(held)).is_err()
        {
            return;
        }
        for answer in proxy.server_gone(&how) {
            if answers.tell(&answer).await.is_err() {
                return;
            }
        }
    }
}

/// Waits a little for a task to end, then ends it.
async fn linger(task: &mut JoinHandle<io::Result<()>>) {
    // One that was seen to end must not be asked again.
    if !task.is_finished() {
        let _ = timeout(LINGER, &mut *task).await;
        task.abort();
    }
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
async fn stop(child: &mut Child, group: Option<Pid>, ended: &Ended) -> Option<ExitStatus> {
    let mut status = None;
    let signals: &[Option<Signal>] = match ended {
        // Whoever told us to end has no patience to spare: what he does next we could not pass on.
        Ended::Signal => &[Some(Signal::TERM), Some(Signal::KILL)],
        Ended::Client | Ended::Server => &[None, Some(Signal::TERM), Some(Signal::KILL)],
    };
    for signal in signals.iter().copied() {
        if let (Some(signal), Some(group)) = (signal, group) {
            // It may be gone already.
            let _ = kill_process_group(group, signal);
        }
        if let Ok(Ok(ended)) = timeout(GRACE, child.wait()).await {
            status = Some(ended);
            break;
        }
    }
    // What it left behind in its group goes with it.
    if let Some(group) = group
        && kill_process_group(group, Signal::TERM).is_ok()
    {
        tokio::time::sleep(GRACE / 10).await;
        let _ = kill_process_group(group, Signal::KILL);
    }
    status
}

fn how_it_ended(status: Option<ExitStatus>) -> Trouble {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => Trouble::Exited(code),
        Some((None, Some(signal))) => Trouble::Signalled(signal),
        Some((None, None)) | None => Trouble::Silent,
    }
}

/// The two directions between a client and a server.
struct Link {
    proxy: Proxy,
    report: Arc<dyn Report>,
    client: ClientLines,
    is_client_gone: Box<dyn Fn() -> bool + Send + Sync>,
    /// Told of every message of the server.
    heard: Notify,
    /// Whether a message of the server is being bounded, which must not be broken off.
    is_at_work: AtomicBool,
    /// Why the server cannot be asked any more.
    gone: OnceLock<Trouble>,
}

impl Link {
    /// Hears the client until it ends; the server's input ends with it.
    async fn hear_client(
        self: Arc<Self>,
        input: impl AsyncRead + Unpin,
        to_server: ChildStdin,
    ) -> io::Result<()> {
        let mut lines = Lines::new(input, self.proxy.scratch());
        let mut to_server = Some(to_server);
        while let Some(taken) = lines.next().await? {
            match taken {
                Taken::Message(held) => match decided(held, |held| self.proxy.client_said(held))? {
                    FromClient::Forward(forwarded) => {
                        ask(&mut to_server, &Edited::unchanged(forwarded.message)).await;
                    }
                    FromClient::Own(call) => self.do_own(*call),
                },
                // Of a request that cannot be held only an error can come.
                Taken::Lost { why, start, end } => {
                    if let Some(answer) = self.proxy.refuse(&why, &start, &end) {
                        self.client.tell(&answer).await?;
                    }
                }
            }
            if let Some(how) = self.gone.get() {
                self.server_gone(how).await;
            }
        }
        Ok(())
    }

    /// Answers a call without keeping others waiting.
    fn do_own(self: &Arc<Self>, call: OwnCall) {
        let link = Arc::clone(self);
        tokio::spawn(async move {
            let id = call.id.clone();
            if let Ok(answer) = tokio::task::spawn_blocking(|| call.answer()).await {
                // A client that does not read is gone.
                let _ = link.client.tell(&answer).await;
            }
            link.proxy.answered(&id);
        });
    }

    async fn hear_server(self: Arc<Self>, input: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut lines = Lines::new(input, self.proxy.scratch());
        while let Some(taken) = lines.next().await? {
            match taken {
                Taken::Message(held) => match self.bounded(held)? {
                    FromServer::Forward(message) => self.client.send(&message, 0).await?,
                    FromServer::Refused(answer, start) => {
                        self.report_line(&start);
                        self.client.tell(&answer).await?;
                    }
                    FromServer::Garbage(_, start) => self.report_line(&start),
                },
                Taken::Lost { why, start, end } => {
                    for answer in self.proxy.lost(&why, &start, &end) {
                        self.client.tell(&answer).await?;
                    }
                }
            }
            self.heard.notify_one();
        }
        Ok(())
    }

    fn report_line(&self, start: &str) {
        let name = self.proxy.name();
        self.report.say(&format!(
            "`{name}` printed a line that is no message: {start}"
        ));
    }

    fn bounded(&self, held: Held) -> io::Result<FromServer> {
        self.is_at_work.store(true, Ordering::Relaxed);
        let bounded = decided(held, |held| self.proxy.server_said(held));
        self.is_at_work.store(false, Ordering::Relaxed);
        bounded
    }

    /// Hears what is left in the pipe of a server that is gone. Who holds its end open beyond it is not waited for, unless he
    /// says something.
    async fn hear_out(&self, server: &mut JoinHandle<io::Result<()>>) {
        let hearing = async {
            while !server.is_finished() {
                tokio::select! {
                    _ = &mut *server => return,
                    heard = timeout(LINGER, self.heard.notified()) => if heard.is_err() { return },
                }
            }
        };
        let _ = timeout(PATIENCE, hearing).await;
        server.abort();
    }

    /// Waits for the calls that are answered here.
    async fn answer_own(&self) {
        let answered = async {
            while self.proxy.has_own() && !(self.is_client_gone)() {
                tokio::time::sleep(STEP).await;
            }
        };
        let _ = timeout(PATIENCE, answered).await;
    }

    async fn server_gone(&self, how: &Trouble) {
        let how = self.gone.get_or_init(|| how.clone());
        for answer in self.proxy.server_gone(how) {
            // A client that does not read is gone as well.
            if self.client.tell(&answer).await.is_err() {
                return;
            }
        }
    }

    /// Relays what the server still has to say after its input ended, while it says something or the client waits for it.
    async fn drain(&self, server: &mut JoinHandle<io::Result<()>>) {
        let mut silent = Duration::ZERO;
        loop {
            tokio::select! {
                _ = &mut *server => return,
                () = self.heard.notified(), if self.proxy.is_waited_for() => silent = Duration::ZERO,
                () = tokio::time::sleep(STEP) => silent += STEP,
            }
            // Of a server that nobody waits for, what it says is no reason to stay.
            let patience = match self.proxy.is_waited_for() {
                true => PATIENCE,
                false => GRACE,
            };
            if silent >= patience || (self.is_client_gone)() {
                return;
            }
        }
    }
}

/// Passes a message to the server. One that is gone is not asked: its requests are answered by who notices.
async fn ask(to_server: &mut Option<ChildStdin>, message: &Edited) {
    if let Some(out) = to_server {
        let written = async {
            message.write(out).await?;
            out.write_all(b"\n").await?;
            out.flush().await
        };
        if written.await.is_err() {
            *to_server = None;
        }
    }
}
