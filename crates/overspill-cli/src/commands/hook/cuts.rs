//! What each agent lets through of its own tools: the one table of the cuts that lie behind ours. That of MCP results is in
//! the [table of clients](CLIENTS).
//!
//! Measured with the real programs (`e2e/agents.py`), but for Cursor, of which nothing is known and which has no row. A cut
//! is that of a version, so what we put in a tool's place stays a margin below it.

use overspill::settings::{CLIENTS, Client};

use super::bounding::Kind;
use crate::args::Agent;

/// What an agent lets through of a kind of result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    agent: Agent,
    kind: Kind,
    /// The largest result of a tool that the agent shows its model whole.
    own: usize,
    /// The most that a message in a tool's place may have, below what the agent cuts that to.
    pub(super) ours: usize,
    /// The most lines of either.
    pub(super) lines: usize,
    unit: Unit,
}

/// What an agent counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unit {
    /// The units of a JavaScript string, of which a character beyond the first 65536 has two.
    Utf16,
    Bytes,
}

const fn row(agent: Agent, kind: Kind, own: usize, ours: usize, unit: Unit) -> Cut {
    Cut {
        agent,
        kind,
        own,
        ours,
        lines: usize::MAX,
        unit,
    }
}

/// opencode also counts lines.
const OPENCODE_LINES: usize = 1_980;

/// The cuts of every agent. What has no row is not cut by the agent, or not known to be.
pub(super) const CUTS: &[Cut] = &[
    // Beyond this the model gets a preview of 2 KB and a path.
    row(Agent::Claude, Kind::Shell, 30_000, 28_000, Unit::Utf16),
    row(Agent::Claude, Kind::FailedShell, 10_000, 9_500, Unit::Utf16),
    row(Agent::Claude, Kind::Search, 20_000, 18_000, Unit::Utf16),
    // 10,000 bytes of what a hook says. What a shell printed comes cut already.
    row(Agent::Codex, Kind::Shell, usize::MAX, 9_500, Unit::Bytes),
    // The first 8,000 and the last 32,000 of a longer one. What a hook says is not cut.
    row(Agent::Gemini, Kind::Shell, 40_000, 38_000, Unit::Utf16),
    // What a shell printed is cut before the plugin sees it.
    Cut {
        lines: OPENCODE_LINES,
        ..row(Agent::Opencode, Kind::Shell, 50 << 10, 48_000, Unit::Bytes)
    },
];

impl Cut {
    /// Returns the cut of an agent for a kind of result.
    pub(super) fn of(agent: Agent, kind: Kind) -> Option<Cut> {
        match kind {
            Kind::Mcp => Cut::of_mcp(agent),
            _ => CUTS
                .iter()
                .find(|cut| cut.agent == agent && cut.kind == kind)
                .copied(),
        }
    }

    /// Returns the cut of an agent for what comes from an MCP server.
    fn of_mcp(agent: Agent) -> Option<Cut> {
        let (name, unit, lines) = match agent {
            Agent::Claude => ("claude-code", Unit::Utf16, usize::MAX),
            Agent::Codex => ("codex", Unit::Bytes, usize::MAX),
            Agent::Gemini => ("gemini-cli", Unit::Utf16, usize::MAX),
            Agent::Opencode => ("opencode", Unit::Bytes, OPENCODE_LINES),
            Agent::Cursor => return None,
        };
        let client: &Client = CLIENTS.iter().find(|client| client.name == name)?;
        Some(Cut {
            lines,
            ..row(agent, Kind::Mcp, client.cut, client.message, unit)
        })
    }

    /// Tells whether the agent shows a result whole that stands beside so much else.
    pub(super) fn passes(&self, text: &str, beside: usize) -> bool {
        let newlines = text.bytes().filter(|&byte| byte == b'\n').count();
        self.size(text).saturating_add(beside) <= self.own && newlines <= self.lines
    }

    /// Returns how large the agent takes a text for.
    pub(super) fn size(&self, text: &str) -> usize {
        match self.unit {
            Unit::Utf16 => text.encode_utf16().count(),
            Unit::Bytes => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_a_tools_place_is_below_what_the_agent_cuts() {
        for agent in [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode] {
            let cut = Cut::of(agent, Kind::Mcp).unwrap();
            assert!(cut.ours < cut.own, "{cut:?}");
        }
        for (at, cut) in CUTS.iter().enumerate() {
            assert!(cut.ours < cut.own, "{cut:?}");
            let first = CUTS
                .iter()
                .position(|other| (other.agent, other.kind) == (cut.agent, cut.kind));
            assert_eq!(first, Some(at), "one row each: {cut:?}");
        }
    }

    #[test]
    fn a_text_is_as_large_as_the_agent_counts_it() {
        let cut = row(Agent::Claude, Kind::Shell, 4, 3, Unit::Utf16);
        assert!(cut.passes("ab😀", 0) && !cut.passes("abc😀", 0) && !cut.passes("ab😀", 1));
        let cut = Cut {
            lines: 1,
            ..row(Agent::Codex, Kind::Mcp, 4, 3, Unit::Bytes)
        };
        assert!(cut.passes("é\nx", 0) && !cut.passes("\n\n", 0) && !cut.passes("ééé", 0));
    }
}
