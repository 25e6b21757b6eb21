//! Bounds what a tool of an agent returned, below the cut of that agent.
//!
//! The shapes of the agents' JSON are left to a module each; here a result is a text, or a file that has all of it. What is
//! within its limits and passes the agent's own cut is not touched, and neither is what overspill bounded before.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use overspill::notice::Message;
use overspill::settings::{Effective, Origin};
use overspill::{
    Bounded, Host, Lang, Limits, Outcome, Policy, Salience, Saved, Sink, SpillId, Strategy,
    Truncated,
};
use overspill_tools::Buffer;

use super::cuts::Cut;
use super::json::Json;
use crate::args::Agent;

const CHUNK_BYTES: usize = 1 << 17;

/// How much of either end of a result is looked at for a notice of ours.
const NOTICE_BYTES: usize = 4096;

/// The settings that are limits.
const LIMITS: [&str; 6] = [
    "max_lines",
    "max_bytes",
    "max_chars",
    "max_tokens",
    "max_line_chars",
    "max_result_chars",
];

/// What a tool does, as far as it decides how its result is bounded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Runs a command.
    Shell,
    /// Ran a command that failed, of which some show less.
    FailedShell,
    /// Reads a file; its lines are numbered from the start.
    Read,
    /// Searches files.
    Search,
    /// Belongs to an MCP server.
    Mcp,
}

/// One call of a tool that the agent made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'c> {
    pub(super) tool: &'c str,
    pub(super) kind: Kind,
    /// The tool's parameters.
    pub(super) input: &'c Json<'c>,
    pub(super) outcome: Outcome,
    pub(super) part: Part,
}

/// What of a result a text is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    All,
    /// What a command wrote to standard error, where that comes apart.
    Stderr,
}

/// Bounds results for an agent.
#[derive(Debug)]
pub(super) struct Bounder<'h> {
    pub(super) host: &'h Host,
    pub(super) agent: Agent,
}

impl Bounder<'_> {
    /// Returns what stands in for a result, or nothing if it is to pass as it is. `beside` is what the agent counts with it.
    pub(super) fn text(
        &self,
        call: &Call<'_>,
        text: &str,
        beside: usize,
    ) -> Option<Box<Truncated>> {
        let effective = self.host.settings().effective(call.tool);
        let policy = self.policy(call, &effective, beside);
        if self.is_to_pass(call, text, beside, &effective) {
            self.note_passed(call, text, &policy);
            return None;
        }
        let mut sink = Sink::new(&policy);
        // In parts, since a sink holds what it gets until it knows that it is too much.
        for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
            sink.push(chunk);
        }
        self.finish(sink, call)
    }

    /// Returns what stands in for a result of which the agent has only a part, and a file the whole.
    pub(super) fn file(
        &self,
        call: &Call<'_>,
        mut file: File,
        beside: usize,
    ) -> io::Result<Option<Box<Truncated>>> {
        let effective = self.host.settings().effective(call.tool);
        let policy = self.policy(call, &effective, beside);
        let mut sink = Sink::new(&policy);
        let mut buffer = Buffer::new(CHUNK_BYTES);
        loop {
            match file.read(buffer.bytes()) {
                Ok(0) => return Ok(self.finish(sink, call)),
                Ok(len) => sink.push(&buffer.bytes()[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the size of a text beside others in the same result.
    pub(super) fn size(&self, kind: Kind, text: &str) -> usize {
        Cut::of(self.agent, kind).map_or(0, |cut| cut.size(text))
    }

    /// Returns how large a message in a tool's place may be.
    pub(super) fn room(&self, call: &Call<'_>) -> usize {
        let effective = self.host.settings().effective(call.tool);
        let ours = Cut::of(self.agent, call.kind).map(|cut| cut.ours);
        effective.max_result_chars().or(ours).unwrap_or(usize::MAX)
    }

    /// Returns the path of a spill as the agent can use it.
    pub(super) fn path(&self, saved: &Saved) -> String {
        self.host.store().absolute(&saved.path)
    }

    /// Says a line that goes below a message.
    pub(super) fn say(&self, call: &Call<'_>, message: Message, values: &[(&str, &str)]) -> String {
        let effective = self.host.settings().effective(call.tool);
        format!("\n{}", message.say(effective.lang(), values))
    }

    fn finish(&self, sink: Sink<'_>, call: &Call<'_>) -> Option<Box<Truncated>> {
        let cut = Cut::of(self.agent, call.kind);
        let size = |text: &str| match cut {
            Some(cut) => cut.size(text),
            None => text.chars().count(),
        };
        let bounded = sink.finish_as(call.outcome, |bounded| match bounded {
            Bounded::Whole(bytes) => size(&overspill::decode(bytes)),
            Bounded::Cut(cut) => size(&cut.content),
        });
        match bounded {
            Bounded::Whole(_) => None,
            Bounded::Cut(cut) => Some(cut),
        }
    }

    fn is_to_pass(
        &self,
        call: &Call<'_>,
        text: &str,
        beside: usize,
        effective: &Effective,
    ) -> bool {
        let cut = Cut::of(self.agent, call.kind);
        if cut.is_some_and(|cut| !cut.passes(text, beside)) {
            return false;
        }
        if is_our_tool(call.tool) || is_bounded(text) || self.is_of_spill(call.input) {
            return true;
        }
        // A replacement has its price with these: Codex passes less of it than of a tool's own result, and Gemini calls it
        // an error. So only what they would cut is replaced, unless the user asks for less.
        let is_reluctant = matches!(self.agent, Agent::Codex | Agent::Gemini);
        (is_reluctant && !is_limited(effective)) || is_within(text, effective, beside)
    }

    fn policy(&self, call: &Call<'_>, effective: &Effective, beside: usize) -> Policy<'_> {
        let mut policy = self.host.policy(call.tool, effective);
        policy.strategy = match call.kind {
            // The agent numbers the lines, so that any gap would make the numbers wrong.
            Kind::Read => Strategy::Head,
            // What programs print is long for a reason that may stand anywhere in it.
            Kind::Shell | Kind::FailedShell | Kind::Mcp
                if effective.origin("strategy") == Some(&Origin::BuiltIn) =>
            {
                Strategy::Smart
            }
            _ => policy.strategy,
        };
        policy.salience = salience(call);
        // No agent but Claude Code can be relied on to search the store, which git ignores, and not all of them have a tool
        // that searches: a shell has both.
        policy.reach.grep = None;
        policy.reach.read = policy.reach.read.and(reader(self.agent));
        if let Some(cut) = Cut::of(self.agent, call.kind) {
            policy.limits = fewer_lines(policy.limits, cut.lines);
            policy.max_result_chars = policy.max_result_chars.or(Some(cut.ours));
        }
        // However much there is beside it, a message has room for its notice.
        let left = |max: usize| max.saturating_sub(beside).max(max / 4);
        policy.max_result_chars = policy.max_result_chars.map(left);
        if call.part == Part::Stderr {
            policy.tool = format!("{}_stderr", call.tool);
        }
        policy
    }

    /// Notes a result that passes as it is: as a reading of the spill that it is of, or as a call. One that overspill bounded
    /// before was noted then.
    fn note_passed(&self, call: &Call<'_>, text: &str, policy: &Policy<'_>) {
        // The other stream of a command is no call of its own.
        if call.part == Part::Stderr {
            return;
        }
        match self.spill_of(call.input) {
            Some(spill) => self.host.note_reading(&spill, call.tool),
            None if is_our_tool(call.tool) || is_our_command(call.input) || is_bounded(text) => {}
            None => policy.note_whole(text.as_bytes()),
        }
    }

    /// Returns the spill that a call looks into.
    fn spill_of(&self, input: &Json<'_>) -> Option<SpillId> {
        let Json::Object(members) = input else {
            return None;
        };
        let store = self.host.store();
        members
            .iter()
            .filter_map(|(_, value)| value.as_str())
            .find_map(|path| store.spill_at(&plain(&self.host.root().join(path))))
    }

    /// Tells whether a call looks something up in the store. To bound that would send the agent round in circles.
    fn is_of_spill(&self, input: &Json<'_>) -> bool {
        let store = plain(&self.host.store().dir());
        let is_inside = |value: &Json<'_>| {
            value.as_str().is_some_and(|path| {
                let path = plain(&self.host.root().join(path));
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path == store || (path.starts_with(&store) && is_spill_name(&name))
            })
        };
        match input {
            Json::Object(members) => members.iter().any(|(_, value)| is_inside(value)),
            _ => false,
        }
    }
}

/// Returns the tool of an agent that reads a spill by `offset` and `limit`, where there is one.
fn reader(agent: Agent) -> Option<String> {
    match agent {
        Agent::Claude => Some("Read".to_owned()),
        Agent::Opencode => Some("read".to_owned()),
        // Codex has none, that of Gemini CLI refuses what git ignores, that of Cursor is not known.
        Agent::Codex | Agent::Gemini | Agent::Cursor => None,
    }
}

/// Returns what the result answers.
fn salience(call: &Call<'_>) -> Salience {
    let given = |key: &str| call.input.get(key).and_then(Json::as_str);
    match call.kind {
        Kind::Shell | Kind::FailedShell => {
            let command = given("command").or_else(|| given("cmd"));
            Salience::default().command(command.unwrap_or_default())
        }
        _ => match Salience::QUERY_PARAMETERS.into_iter().find_map(given) {
            Some(query) => Salience::default().query(query),
            None => Salience::default(),
        },
    }
}

/// Tells whether the user set a limit.
fn is_limited(effective: &Effective) -> bool {
    LIMITS.iter().any(|key| {
        !matches!(
            effective.origin(key),
            None | Some(Origin::BuiltIn | Origin::BuiltInTool(_))
        )
    })
}

fn is_within(text: &str, effective: &Effective, beside: usize) -> bool {
    let limits = effective.limits();
    let fits = |limits: &Limits| {
        matches!(
            overspill::cut(text, limits, Strategy::Head),
            overspill::Cut::Whole(_)
        )
    };
    fits(&limits)
        && effective
            .max_result_chars()
            .is_none_or(|max| fits(&Limits::none().chars(max.saturating_sub(beside))))
}

fn fewer_lines(limits: Limits, max: usize) -> Limits {
    match limits.max_lines() {
        Some(lines) if lines <= max => limits,
        _ if max == usize::MAX => limits,
        _ => limits.lines(max),
    }
}

/// Tells whether a tool is overspill's own, whatever the agent makes of its name.
fn is_our_tool(tool: &str) -> bool {
    tool.to_lowercase().contains("overspill")
}

/// Tells whether a command is one of overspill's, which notes its own calls.
fn is_our_command(input: &Json<'_>) -> bool {
    let command = input.get("command").or_else(|| input.get("cmd"));
    let first = command
        .and_then(Json::as_str)
        .and_then(|command| command.split_whitespace().next());
    first.is_some_and(|word| {
        Path::new(word)
            .file_name()
            .is_some_and(|name| name == "overspill")
    })
}

/// Tells whether a result carries a notice of ours, so that it was bounded before: by `run`, the server or the proxy. One
/// that lies about it only keeps itself from being bounded twice; the agent's own cut still holds.
fn is_bounded(text: &str) -> bool {
    let ends = [
        &text[..text.floor_char_boundary(NOTICE_BYTES)],
        &text[text.ceil_char_boundary(text.len().saturating_sub(NOTICE_BYTES))..],
    ];
    let words = [
        Message::SavedAfterSuccess,
        Message::SavedAfterFailure,
        Message::Saved,
    ];
    Lang::ALL.into_iter().any(|lang| {
        words
            .map(|message| message.say(lang, &[("path", "")]))
            .iter()
            .any(|words| ends.iter().any(|end| names_spill(end, words)))
    })
}

/// Tells whether the path of a spill stands behind the words.
fn names_spill(text: &str, words: &str) -> bool {
    let behind = text.split(words).skip(1);
    behind.filter_map(|rest| rest.lines().next()).any(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("tool_") && (name.ends_with(".txt") || name.ends_with(".json"))
    })
}

fn is_spill_name(name: &str) -> bool {
    name.starts_with("tool_") && (name.ends_with(".txt") || name.ends_with(".json"))
}

/// Returns a path without what leads nowhere or back.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            _ => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_of_ours_is_known_by_the_spill_it_names() {
        let long = "x\n".repeat(10_000);
        let name = "tool-output/tool_20261115_225530_w3hjsr3z_Run.txt";
        for text in [
            format!(
                "{long}The tool call succeeded but the output was truncated. Full output saved to: {name}\nUse Grep."
            ),
            format!("The output was truncated. Full output saved to: /a b/{name}\n\n{long}"),
            format!("{long}⚠️ 输出过大已截断，完整内容见 {name}"),
        ] {
            assert!(is_bounded(&text), "{text}");
        }
        for text in [
            "Full output saved to: /tmp/x.txt".to_owned(),
            "The output was truncated. Full output saved to: /tmp/x.txt".to_owned(),
            format!("{long}The output was truncated. Full output saved to: {name}\n{long}"),
            "é".repeat(5000),
            String::new(),
        ] {
            assert!(!is_bounded(&text), "{text}");
        }
    }

    #[test]
    fn a_path_is_compared_without_detours() {
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(plain(Path::new("/../a")), Path::new("/a"));
    }
}
