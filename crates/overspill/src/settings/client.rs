//! The clients whose own cut is known: what they do to a result that we leave too long.
//!
//! A result that is cut twice loses what the first cut took care to keep, and its notice. So where the user set no limit,
//! what is sent to a known client stays below its cut.

use super::plain_name;
use crate::limits::Unit;
use crate::notice::Outcome;

/// An agent that cuts what its tools return.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Client {
    /// Its name in a file.
    pub name: &'static str,
    /// What its names over MCP begin with.
    pub told_as: &'static [&'static str],
    /// The largest result that it shows its model whole, in chars or bytes, as measured.
    pub cut: usize,
    /// What it does with a larger one.
    pub beyond: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The most of a whole message, in that unit, that is safely below its cut.
    pub message: usize,
    /// The same of the result of a call that failed, of which some show less.
    pub failed_message: usize,
    /// The key of `_meta` by which a tool asks it for a wider cut, and the most chars it grants.
    pub wider: Option<(&'static str, usize)>,
    pub(crate) values: &'static [(&'static str, &'static str)],
}

impl Client {
    /// Returns how large it takes a text for.
    pub fn size(&self, text: &str) -> usize {
        match self.unit {
            Unit::Chars => text.chars().count(),
            _ => text.len(),
        }
    }

    /// Returns the most of the message of a call that ended so.
    pub fn most(&self, outcome: Outcome) -> usize {
        match outcome {
            Outcome::Failed => self.failed_message,
            _ => self.message,
        }
    }
}

/// Every client whose cut was measured.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        told_as: &["claude-code"],
        cut: 49_000,
        beyond: "over about 50000 chars: 2 KB are shown",
        unit: Unit::Chars,
        message: 48_000,
        failed_message: 9_500,
        wider: Some(("anthropic/maxResultSizeChars", 500_000)),
        values: &[("max_chars", "44000")],
    },
    Client {
        name: "codex",
        told_as: &["codex"],
        cut: 10_000,
        beyond: "over 10000 tokens, for some models 10000 bytes: the middle is dropped",
        unit: Unit::Bytes,
        message: 9_500,
        failed_message: 9_500,
        wider: None,
        values: &[("max_bytes", "8800")],
    },
    Client {
        name: "gemini-cli",
        told_as: &["gemini"],
        cut: 40_000,
        beyond: "over 40000 chars: the first 8000 and the last 32000 are shown",
        unit: Unit::Chars,
        message: 38_500,
        failed_message: 38_500,
        wider: None,
        values: &[("max_chars", "35000")],
    },
    Client {
        name: "opencode",
        told_as: &["opencode"],
        cut: 50 << 10,
        beyond: "over 2000 lines or 50 KiB: the start is shown",
        unit: Unit::Bytes,
        message: 49_000,
        failed_message: 49_000,
        wider: None,
        values: &[("max_lines", "1900"), ("max_bytes", "45000")],
    },
];

/// Returns the client that calls itself so.
pub fn client(name: &str) -> Option<&'static Client> {
    let plain = plain_name(name);
    CLIENTS.iter().find(|client| {
        client
            .told_as
            .iter()
            .any(|told| plain.starts_with(&plain_name(told)))
    })
}

/// The settings that bound the size of a message: one that the user sets stands for all.
pub(super) const SIZES: [&str; 5] = [
    "max_bytes",
    "max_chars",
    "max_tokens",
    "max_result_chars",
    "preset",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_known_by_what_they_call_themselves() {
        let name = |told: &str| client(told).map(|client| client.name);
        assert_eq!(name("claude-code"), Some("claude-code"));
        assert_eq!(name("codex-mcp-client"), Some("codex"));
        assert_eq!(name("gemini-cli-mcp-client"), Some("gemini-cli"));
        assert_eq!(name("opencode"), Some("opencode"));
        assert_eq!(name("inspector-cli"), None);
    }
}
