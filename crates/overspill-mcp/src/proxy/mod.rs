//! The MCP proxy: relays every message as it came, and bounds what a result shows a model.
//!
//! [`Proxy`] knows nothing of pipes or sockets: a message comes from the client or from the server, and what becomes of it is
//! returned. [`stdio`] and [`http`] carry messages. Messages are never parsed into types and written again, since that would
//! lose what the types do not know; they are kept as bytes, and edited in place.

mod edit;
pub(crate) mod held;
pub mod http;
mod json;
pub(crate) mod lines;
mod outline;
mod own;
pub(crate) mod pending;
mod rewrite;
mod sse;
pub mod stdio;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overspill::notice::Message;
use overspill::settings::{Client, Origin, client};
use overspill::{Host, Lang, Paths, Policy, Salience, Strategy};
use serde_json::{Map, Value, json};

pub(crate) use self::edit::Edited;
use self::held::{Held, Holder, Taken};
use self::json::Fault;
pub use self::lines::Report;
use self::outline::Outline;
use self::pending::{Asked, Pending};
use self::rewrite::{Kind, text_at};
use crate::server::resources;

/// The server cannot be asked any more.
const SERVER_GONE: i64 = -32000;
/// A message came that cannot be passed on.
const UNUSABLE: i64 = -32603;

/// How a proxy is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server's name, in `mcp__NAME__tool`.
    pub name: String,
    /// Whether the client is offered two tools to get at spills.
    pub own_tools: OwnTools,
    /// Where large messages are held while they pass.
    pub scratch: PathBuf,
}

/// Whether a proxy offers tools of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OwnTools {
    /// `overspill_read` and `overspill_grep` are added to the server's.
    Offered,
    /// The client sees the server's alone.
    Withheld,
}

impl OwnTools {
    fn are_offered(self) -> bool {
        self == OwnTools::Offered
    }
}

/// What becomes of a message of the client.
#[derive(Debug)]
pub(crate) enum FromClient {
    /// It goes to the server.
    Forward(Forwarded),
    /// It is answered here, by work that may take a while.
    Own(Box<OwnCall>),
}

/// A message for the server, and what HTTP says of it beside it.
#[derive(Debug)]
pub(crate) struct Forwarded {
    pub(crate) message: Held,
    /// The ids of its requests, as they are written: one, several if it is a batch, or none.
    pub(crate) ids: Vec<String>,
    pub(crate) method: String,
    /// What the method is used on.
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

/// What becomes of a message of the server.
#[derive(Debug)]
pub(crate) enum FromServer {
    /// It goes to the client.
    Forward(Edited),
    /// It is no message, but a request waits for it: what goes to the client in its place, and what it begins with.
    Refused(Vec<u8>, String),
    /// It is no message: as it came, and what it begins with.
    Garbage(Held, String),
}

/// A call that is answered here.
#[derive(Debug)]
pub(crate) struct OwnCall {
    host: Host,
    pub(crate) id: String,
    asked: Asked,
    arguments: Map<String, Value>,
    /// A request that names its version is of the wire on which every result names its type.
    names_type: bool,
}

impl OwnCall {
    /// Does the work, and returns the answer.
    pub(crate) fn answer(self) -> Vec<u8> {
        let result = match &self.asked {
            Asked::Resource { uri } => resources::read(&self.host, uri)
                .map(|result| json!(result))
                .map_err(|error| json!(error)),
            Asked::Call { tool, .. } => {
                let mut result = own::call(tool, self.arguments, &self.host);
                if self.names_type {
                    result["resultType"] = json!("complete");
                }
                Ok(result)
            }
            Asked::Tools | Asked::Forever | Asked::Other => Ok(json!({})),
        };
        let (key, value) = match result {
            Ok(result) => ("result", result),
            Err(error) => ("error", error),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":{value}}}"#, self.id).into_bytes()
    }
}

/// A proxy between one client and one server.
#[derive(Debug)]
pub struct Proxy {
    host: Host,
    options: Options,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pending: Pending,
    /// The version of the protocol that the server chose.
    version: Option<String>,
    /// What the client said it is.
    client: Option<&'static Client>,
    /// Which tool a task is of.
    tasks: HashMap<String, Asked>,
    /// Whether the server has a tool that is called as one of ours.
    has_ours: bool,
    /// What stops a call that is answered here.
    own: HashMap<String, Arc<AtomicBool>>,
}

/// More tasks than this are not remembered by their tool.
const MAX_TASKS: usize = 10_000;

impl Proxy {
    /// Returns a proxy whose spills go into the store of `host`.
    pub fn new(host: Host, options: Options) -> Proxy {
        let reach = |name: &'static str| options.own_tools.are_offered().then_some(name);
        Proxy {
            host: host
                .with_reach(reach(own::GREP), reach(own::READ))
                .with_paths(Paths::Absolute),
            options,
            state: Mutex::default(),
        }
    }

    pub(crate) fn scratch(&self) -> &Path {
        &self.options.scratch
    }

    /// Returns the name of the server.
    pub(crate) fn name(&self) -> &str {
        &self.options.name
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message of the client.
    pub(crate) fn client_said(&self, held: Held) -> io::Result<FromClient> {
        let outline = match Outline::read(&held, 0..held.len()) {
            Ok(outline) => outline,
            // The server says what is wrong with it.
            Err(Fault::Malformed) => Outline::default(),
            Err(Fault::Io(error)) => return Err(error),
        };
        if outline.batch.is_empty() {
            if let Some(call) = self.asked(&held, &outline)? {
                return Ok(FromClient::Own(Box::new(call)));
            }
            let ids = request_id(&held, &outline)?.into_iter().collect();
            return Ok(FromClient::Forward(forwarded(held, &outline, ids)?));
        }
        let mut ids = Vec::new();
        for part in outline.batch.clone() {
            if let Ok(outline) = Outline::read(&held, part) {
                self.note_request(&held, &outline)?;
                ids.extend(request_id(&held, &outline)?);
            }
        }
        Ok(FromClient::Forward(forwarded(held, &outline, ids)?))
    }

    /// Returns a proxy for another client of the same server.
    pub(crate) fn fork(&self) -> Proxy {
        Proxy {
            host: self.host.clone(),
            options: self.options.clone(),
            state: Mutex::default(),
        }
    }

    /// Notes a request, and returns it if it is for us.
    fn asked(&self, held: &Held, outline: &Outline) -> io::Result<Option<OwnCall>> {
        let Some((id, asked)) = self.note_request(held, outline)? else {
            return Ok(None);
        };
        let is_ours = match &asked {
            Asked::Call { tool, .. } => self.is_own(tool) && !self.state().has_ours,
            // The server may be one of ours, with spills of its own.
            Asked::Resource { uri } => resources::has(&self.host, uri),
            _ => false,
        };
        if !is_ours {
            return Ok(None);
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut state = self.state();
        state.pending.take(&id);
        state.own.insert(id.clone(), Arc::clone(&cancelled));
        let host = self.host.clone().for_client(state.client);
        Ok(Some(OwnCall {
            host: host.cancelled_by(cancelled),
            id,
            asked,
            arguments: arguments(held, outline)?,
            names_type: outline.params.version.is_some(),
        }))
    }

    /// Tells whether a call is being answered here.
    pub(crate) fn has_own(&self) -> bool {
        !self.state().own.is_empty()
    }

    /// Forgets a call that was answered here.
    pub(crate) fn answered(&self, id: &str) {
        self.state().own.remove(id);
    }

    fn is_own(&self, tool: &str) -> bool {
        self.options.own_tools.are_offered() && (tool == own::READ || tool == own::GREP)
    }

    /// Notes what a request asks, so that its answer is known when it comes.
    fn note_request(&self, held: &Held, outline: &Outline) -> io::Result<Option<(String, Asked)>> {
        let text = |range: &Option<Range<u64>>| match range {
            Some(range) => text_at(held, range),
            None => Ok(String::new()),
        };
        let params = &outline.params;
        if params.client.is_some() {
            self.state().client = client(&text(&params.client)?);
        }
        let raw = |range: &Range<u64>| -> io::Result<String> {
            Ok(String::from_utf8_lossy(&held.bytes(range.clone())?).into_owned())
        };
        let method = text(&outline.method)?;
        if let ("notifications/cancelled", Some(id)) = (method.as_str(), &params.cancelled) {
            self.cancel(&raw(id)?);
        }
        let (Some(id), Some(_)) = (&outline.id, &outline.method) else {
            return Ok(None);
        };
        let id = raw(id)?;
        let asked = match method.as_str() {
            "tools/call" => Asked::Call {
                tool: text(&params.name)?,
                query: text(&params.query)?,
            },
            "tools/list" => Asked::Tools,
            "resources/read" => Asked::Resource {
                uri: text(&params.uri)?,
            },
            "tasks/result" | "tasks/get" | "tasks/cancel" => {
                let task = text(&params.task)?;
                self.state().tasks.get(&task).cloned().unwrap_or_default()
            }
            "subscriptions/listen" => Asked::Forever,
            _ => Asked::Other,
        };
        self.state().pending.put(&id, asked.clone());
        Ok(Some((id, asked)))
    }

    fn cancel(&self, id: &str) {
        let mut state = self.state();
        state.pending.cancel(id);
        if let Some(flag) = state.own.get(id) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Takes a message of the server.
    pub(crate) fn server_said(&self, held: Held) -> io::Result<FromServer> {
        // Some programs begin their output with a byte order mark.
        let mark = held.bytes(0..3)? == "\u{feff}".as_bytes();
        let all = 3 * u64::from(mark)..held.len();
        self.server_said_at(held, all)
    }

    /// Takes a message of the server that is a part of a line.
    pub(crate) fn server_said_at(&self, held: Held, part: Range<u64>) -> io::Result<FromServer> {
        let outline = match Outline::read(&held, part) {
            Ok(outline) => outline,
            Err(Fault::Malformed) => return self.garbage(held),
            Err(Fault::Io(error)) => return Err(error),
        };
        let mut edits = Vec::new();
        if outline.batch.is_empty() {
            if let Some(version) = &outline.version {
                self.state().version = Some(text_at(&held, version)?);
            }
            let is_failure = outline.failure.is_some() && outline.has_protocol;
            if outline.method.is_none() && outline.id.is_none() && !is_failure {
                let start = start_of(&held)?;
                return Ok(FromServer::Garbage(held, start));
            }
            edits = self.edits(&held, &outline)?;
        }
        for part in outline.batch {
            match Outline::read(&held, part.clone()) {
                Ok(outline) if outline.batch.is_empty() => {
                    edits.extend(self.edits(&held, &outline)?);
                }
                Ok(_) | Err(Fault::Malformed) => {
                    let why = Message::NotAMessage.say(self.lang(), &[]);
                    edits.push(edit::Edit::replace(part, self.unusable("null", &why)));
                }
                Err(Fault::Io(error)) => return Err(error),
            }
        }
        match Edited::new(held, edits) {
            Ok(edited) => Ok(FromServer::Forward(edited)),
            Err(held) => self.garbage(held),
        }
    }

    /// Answers the request that something answers which is no message, if one waits for it.
    fn garbage(&self, held: Held) -> io::Result<FromServer> {
        const ENDS: u64 = 4096;
        let start = held.bytes(0..ENDS)?;
        let end = held.bytes(held.len().saturating_sub(ENDS)..held.len())?;
        // A line of a log may tell of a message.
        let id = match pending::is_begun(&start) {
            true => pending::id_of(&start, &end).filter(|id| self.state().pending.has(id)),
            false => None,
        };
        let Some(id) = id else {
            let start = start_of(&held)?;
            return Ok(FromServer::Garbage(held, start));
        };
        self.state().pending.take(&id);
        let why = Message::NotAMessage.say(self.lang(), &[]);
        let start = start_of(&held)?;
        Ok(FromServer::Refused(self.unusable(&id, &why), start))
    }

    fn lang(&self) -> Lang {
        self.host.settings().effective("").lang()
    }

    fn unusable(&self, id: &str, why: &str) -> Vec<u8> {
        let values = [("name", self.name()), ("why", why)];
        let message = Message::ResultUnusable.say(self.lang(), &values);
        refusal(id, UNUSABLE, &message)
    }

    /// Returns what is changed in a message of the server.
    fn edits(&self, held: &Held, outline: &Outline) -> io::Result<Vec<edit::Edit>> {
        let asked = match (&outline.method, &outline.id) {
            // A task tells its result when it has one.
            (Some(_), None) if outline.has_content() => Asked::default(),
            (None, Some(id)) => {
                let id = String::from_utf8_lossy(&held.bytes(id.clone())?).into_owned();
                match self.state().pending.take(&id) {
                    Some(asked) => asked,
                    // An answer to what nobody asked, or that was answered: a client may show it all the same.
                    None if outline.has_content() => Asked::default(),
                    None => return Ok(Vec::new()),
                }
            }
            _ => return Ok(Vec::new()),
        };
        let client = self.state().client;
        let host = self.host.clone().for_client(client);
        match asked {
            Asked::Tools => self.edit_tools(held, outline, &host),
            Asked::Call { .. } | Asked::Resource { .. } => {
                self.note_task(held, outline, &asked)?;
                self.bound(held, outline, &asked, &host)
            }
            Asked::Forever | Asked::Other => Ok(Vec::new()),
        }
    }

    fn edit_tools(
        &self,
        held: &Held,
        outline: &Outline,
        host: &Host,
    ) -> io::Result<Vec<edit::Edit>> {
        let own = match self.options.own_tools {
            OwnTools::Offered => own::listed(),
            OwnTools::Withheld => Vec::new(),
        };
        for name in outline
            .list
            .tools
            .iter()
            .filter_map(|tool| tool.name.as_ref())
        {
            let is_ours = self.is_own(&text_at(held, name)?);
            self.state().has_ours |= is_ours;
        }
        rewrite::tools(held, &outline.list, &own, |tool| {
            crate::server::wider_cut(&self.full_name(tool), host.settings())
        })
    }

    /// Remembers which tool a task is of, if the answer to a call is that there is a task.
    fn note_task(&self, held: &Held, outline: &Outline, asked: &Asked) -> io::Result<()> {
        if let Some(task) = &outline.task {
            let task = text_at(held, task)?;
            let mut state = self.state();
            if state.tasks.len() >= MAX_TASKS {
                // Of those that are forgotten the result is bounded as that of any tool.
                state.tasks.clear();
            }
            state.tasks.insert(task, asked.clone());
        }
        Ok(())
    }

    fn bound(
        &self,
        held: &Held,
        outline: &Outline,
        asked: &Asked,
        host: &Host,
    ) -> io::Result<Vec<edit::Edit>> {
        let (tool, query, kind) = match asked {
            Asked::Call { tool, query } => (self.full_name(tool), query.as_str(), Kind::Call),
            Asked::Resource { uri } => (self.full_name("resource"), "", Kind::Resource { uri }),
            Asked::Tools | Asked::Forever | Asked::Other => return Ok(Vec::new()),
        };
        let effective = host.settings().effective(&tool);
        let mut policy: Policy<'_> = host.policy(&tool, &effective);
        // What comes is of any kind, and often JSON, which only this strategy leaves readable.
        if effective.origin("strategy") == Some(&Origin::BuiltIn) {
            policy.strategy = Strategy::Smart;
        }
        if !query.is_empty() {
            policy.salience = Salience::default().query(query);
        }
        rewrite::bound(held, outline, kind, &policy, effective.client())
    }

    /// Returns a tool's name as configuration knows it.
    fn full_name(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.options.name)
    }

    /// Returns the answer to a message that could not be held: to the request that it answers, or, if that cannot be told, to
    /// all that wait.
    pub(crate) fn lost(&self, why: &str, start: &[u8], end: &[u8]) -> Vec<Vec<u8>> {
        let known = pending::id_of(start, end);
        let mut state = self.state();
        let ids = match known.filter(|id| state.pending.take(id).is_some()) {
            Some(id) => vec![id],
            None => state.pending.drain(),
        };
        drop(state);
        ids.iter().map(|id| self.unusable(id, why)).collect()
    }

    /// Returns the answer to a request that could not be held.
    pub(crate) fn refuse(&self, why: &str, start: &[u8], end: &[u8]) -> Option<Vec<u8>> {
        let message = Message::RequestUnusable.say(self.lang(), &[("why", why)]);
        pending::id_of(start, end).map(|id| refusal(&id, UNUSABLE, &message))
    }

    /// Returns the answer to a request that the server could not be asked, or did not answer; nothing if it was answered.
    pub(crate) fn failed(&self, id: &str, how: &Trouble) -> Option<Vec<u8>> {
        self.state().pending.take(id)?;
        Some(refusal(id, SERVER_GONE, &self.told(how)))
    }

    /// Says what is the matter with the server.
    fn told(&self, how: &Trouble) -> String {
        let how = how.say(self.lang());
        let values = [("name", self.name()), ("how", how.as_str())];
        Message::ServerGone.say(self.lang(), &values)
    }

    /// Tells whether a request has no answer yet.
    pub(crate) fn has_pending(&self, id: &str) -> bool {
        self.state().pending.has(id)
    }

    /// Returns the version of the protocol that the server chose.
    pub(crate) fn version(&self) -> Option<String> {
        self.state().version.clone()
    }

    /// Tells whether a request waits for its answer.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.state().pending.is_waited_for()
    }

    /// Returns answers to all requests that wait, when the server is gone.
    pub(crate) fn server_gone(&self, how: &Trouble) -> Vec<Vec<u8>> {
        let ids = self.state().pending.drain();
        let message = self.told(how);
        ids.iter()
            .map(|id| refusal(id, SERVER_GONE, &message))
            .collect()
    }
}

/// What is the matter with a server.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    NotStarted(String),
    Exited(i32),
    Signalled(i32),
    Silent,
    Unreachable(String),
    BrokeOff(String),
    SaidNothing,
}

impl Trouble {
    fn say(&self, lang: Lang) -> String {
        match self {
            Trouble::NotStarted(cause) => Message::ServerNotStarted.say(lang, &[("cause", cause)]),
            Trouble::Exited(code) => Message::ServerExited.say(lang, &[("n", &code.to_string())]),
            Trouble::Signalled(signal) => {
                Message::ServerSignalled.say(lang, &[("n", &signal.to_string())])
            }
            Trouble::Silent => Message::ServerSilent.say(lang, &[]),
            Trouble::Unreachable(cause) => {
                Message::ServerUnreachable.say(lang, &[("cause", cause)])
            }
            Trouble::BrokeOff(cause) => Message::ServerBrokeOff.say(lang, &[("cause", cause)]),
            Trouble::SaidNothing => Message::ServerSaidNothing.say(lang, &[]),
        }
    }
}

/// Returns the id of a message that asks for an answer.
fn request_id(held: &Held, outline: &Outline) -> io::Result<Option<String>> {
    Ok(match (&outline.id, &outline.method) {
        (Some(id), Some(_)) => Some(String::from_utf8_lossy(&held.bytes(id.clone())?).into_owned()),
        _ => None,
    })
}

fn forwarded(held: Held, outline: &Outline, ids: Vec<String>) -> io::Result<Forwarded> {
    let text = |range: &Option<Range<u64>>| match range {
        Some(range) => text_at(&held, range),
        None => Ok(String::new()),
    };
    let method = text(&outline.method)?;
    let name = match outline.params.name {
        Some(_) => text(&outline.params.name)?,
        None => text(&outline.params.uri)?,
    };
    let version = text(&outline.params.version)?;
    Ok(Forwarded {
        ids,
        method,
        name,
        version: Some(version).filter(|version| !version.is_empty()),
        message: held,
    })
}

/// Returns an answer that is an error.
fn refusal(id: &str, code: i64, message: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": message });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").into_bytes()
}

fn arguments(held: &Held, outline: &Outline) -> io::Result<Map<String, Value>> {
    let Some(range) = outline.params.arguments.clone() else {
        return Ok(Map::new());
    };
    Ok(serde_json::from_slice(&held.bytes(range)?).unwrap_or_default())
}

/// Returns what a line that is no message begins with.
fn start_of(held: &Held) -> io::Result<String> {
    const SHOWN_BYTES: u64 = 200;
    let start = held.bytes(0..SHOWN_BYTES)?;
    let text: String = String::from_utf8_lossy(&start)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    Ok(match held.len() > SHOWN_BYTES {
        true => text + "...",
        false => text,
    })
}

#[cfg(test)]
mod tests;
