//! The clients whose own cut is known: what they do to a result that we leave too long.
//!
//! A result that is cut twice loses what the first cut took care to keep, and its notice. So where the user set no limit,
//! what is sent to a known client stays below its cut.

use super::plain_name;

/// An agent that cuts what its tools return.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Client {
    /// Its name in a file.
    pub name: &'static str,
    /// What its names over MCP begin with.
    pub told_as: &'static [&'static str],
    /// What it does by itself, as measured.
    pub cut: &'static str,
    /// How it measures.
    pub measure: Measure,
    /// The most of a whole message, by that measure, that is safely below its cut.
    pub message: usize,
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// What a client measures when it decides to cut.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Measure {
    /// The text as it is, in bytes, which are never fewer than its chars.
    #[default]
    Text,
    /// The list of content blocks as JSON, in which a newline or a quote is two bytes.
    Json,
}

impl Measure {
    /// Returns the size of a text, in what it is sent as.
    pub fn of(self, text: &str) -> usize {
        match self {
            Measure::Text => text.len(),
            Measure::Json => text.bytes().map(escaped_len).sum(),
        }
    }
}

/// Returns the length of a byte in a JSON string.
fn escaped_len(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// Every client whose cut was measured.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        told_as: &["claude-code", "claude"],
        cut: "over about 50000 chars: 2 KB are shown",
        measure: Measure::Text,
        message: 48_000,
        values: &[("max_chars", "44000")],
    },
    Client {
        name: "codex",
        told_as: &["codex"],
        cut: "over 10000 tokens of 4 bytes, for some models 10000 bytes, counted as JSON: the middle is dropped",
        measure: Measure::Json,
        message: 9_600,
        values: &[("max_bytes", "8000")],
    },
    Client {
        name: "gemini-cli",
        told_as: &["gemini"],
        cut: "over 40000 chars: the first 8000 and the last 32000 are shown",
        measure: Measure::Text,
        message: 38_500,
        values: &[("max_chars", "35000")],
    },
    Client {
        name: "opencode",
        told_as: &["opencode"],
        cut: "over 2000 lines or 50 KiB: the start is shown",
        measure: Measure::Text,
        message: 49_000,
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
