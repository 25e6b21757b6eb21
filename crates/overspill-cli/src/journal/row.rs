//! What is in the journal: a row a call, and a row for each time that a spill was looked into.

use overspill::{Call, Ending, SpillId};
use serde::{Deserialize, Serialize};

/// The longest name of a tool that is noted.
const NAME_BYTES: usize = 200;

/// A row of either kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Row {
    Call(CallRow),
    Reading(ReadingRow),
}

/// A call whose output was bounded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct CallRow {
    /// Tells the row from all others, so that one which is taken in twice counts once.
    pub(super) key: i64,
    pub(super) at_ms: i64,
    pub(super) root: String,
    pub(super) tool: String,
    pub(super) strategy: String,
    pub(super) ending: String,
    pub(super) limit: Option<String>,
    /// The limits by the names of their settings; those that are off are left out.
    pub(super) limits: Vec<(String, u64)>,
    pub(super) lines_before: u64,
    pub(super) lines_after: u64,
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
    /// Tokens are counted only where something was cut: what is shown whole saves none, and the vocabulary takes longer to load
    /// than most calls take.
    pub(super) tokens_before: Option<u64>,
    pub(super) tokens_after: Option<u64>,
    pub(super) is_estimated: bool,
    pub(super) spill: Option<String>,
}

/// A look into a spill.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct ReadingRow {
    pub(super) key: i64,
    pub(super) at_ms: i64,
    pub(super) root: String,
    pub(super) spill: String,
    pub(super) by: String,
}

impl CallRow {
    pub(super) fn new(call: &Call<'_>, root: &str, at_ms: i64) -> CallRow {
        let (ending, limit, spill) = match &call.ending {
            Ending::Cut { limit, spill, .. } => ("cut", Some(limit.name().to_owned()), *spill),
            Ending::Paged => ("paged", None, None),
            _ => ("whole", None, None),
        };
        let limits = [
            ("max_lines", call.limits.max_lines()),
            ("max_bytes", call.limits.max_bytes()),
            ("max_chars", call.limits.max_chars()),
            ("max_tokens", call.limits.max_tokens()),
            ("max_line_chars", call.limits.max_line_chars()),
            ("max_result_chars", call.max_result_chars),
        ];
        let limits = limits
            .into_iter()
            .filter_map(|(name, max)| Some((name.to_owned(), max? as u64)));
        CallRow {
            key: key(),
            at_ms,
            root: root.to_owned(),
            tool: shortened(call.tool),
            strategy: call.strategy.name().to_owned(),
            ending: ending.to_owned(),
            limit,
            limits: limits.collect(),
            lines_before: call.before.lines,
            lines_after: call.after.lines,
            bytes_before: call.before.bytes,
            bytes_after: call.after.bytes,
            tokens_before: None,
            tokens_after: None,
            is_estimated: false,
            spill: spill.map(SpillId::to_string),
        }
    }

    /// Returns a limit that was on.
    pub(super) fn max(&self, name: &str) -> Option<u64> {
        let limit = self.limits.iter().find(|(known, _)| known == name);
        limit.map(|(_, max)| *max)
    }
}

impl ReadingRow {
    pub(super) fn new(spill: &SpillId, by: &str, root: &str, at_ms: i64) -> ReadingRow {
        ReadingRow {
            key: key(),
            at_ms,
            root: root.to_owned(),
            spill: spill.to_string(),
            by: shortened(by),
        }
    }
}

/// Returns a name as it is noted: whoever calls may say anything.
fn shortened(name: &str) -> String {
    name[..name.floor_char_boundary(NAME_BYTES)].to_owned()
}

/// Returns a number that no other row has, as far as chance can tell.
fn key() -> i64 {
    let mut bytes = [0; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(8) => i64::from_ne_bytes(bytes),
        _ => super::now_ms() ^ (i64::from(std::process::id()) << 40),
    }
}
