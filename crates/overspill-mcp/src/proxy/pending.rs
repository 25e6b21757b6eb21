//! The requests that wait for an answer.

use std::collections::{HashMap, VecDeque};

use memchr::memmem;
use serde_json::Value;

/// What a request asks for, as far as its answer is bounded by it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Asked {
    /// `tools/call`, or what becomes of it as a task.
    Call { tool: String, query: String },
    /// `tools/list`.
    Tools,
    /// `resources/read`.
    Resource { uri: String },
    /// `subscriptions/listen`, which is answered when it ends.
    Forever,
    /// Anything else: the answer passes as it comes.
    Other,
}

impl Default for Asked {
    /// The result of a task of which nothing is known: it is bounded as that of any tool.
    fn default() -> Self {
        Asked::Call {
            tool: "task".to_owned(),
            query: String::new(),
        }
    }
}

/// What was asked, by the id of the request.
#[derive(Debug, Default)]
pub(super) struct Pending {
    asked: HashMap<String, Entry>,
    /// Those that were cancelled, the oldest first: an answer may come all the same.
    cancelled: VecDeque<String>,
}

#[derive(Debug)]
struct Entry {
    /// The id as it was written.
    id: String,
    asked: Asked,
    is_waited_for: bool,
}

/// More cancelled requests than this are not remembered.
const MAX_CANCELLED: usize = 1000;

impl Pending {
    pub(super) fn put(&mut self, id: &str, asked: Asked) {
        let entry = Entry {
            id: id.to_owned(),
            // What goes on until it is cancelled is no answer to wait for.
            is_waited_for: asked != Asked::Forever,
            asked,
        };
        self.asked.insert(key(id), entry);
    }

    pub(super) fn take(&mut self, id: &str) -> Option<Asked> {
        let key = self.key_of(id)?;
        self.asked.remove(&key).map(|entry| entry.asked)
    }

    /// Returns the key of a request that waits; a number that came back as a string, or the other way, is the same to many a
    /// client.
    fn key_of(&self, id: &str) -> Option<String> {
        let key = key(id);
        let other = match key.strip_prefix('"') {
            Some(rest) => rest.trim_end_matches('"').to_owned(),
            None => format!("\"{key}\""),
        };
        [key, other]
            .into_iter()
            .find(|key| self.asked.contains_key(key))
    }

    /// Notes that nobody waits for an answer any more.
    pub(super) fn cancel(&mut self, id: &str) {
        let key = key(id);
        if let Some(entry) = self.asked.get_mut(&key) {
            entry.is_waited_for = false;
            self.cancelled.push_back(key);
        }
        if self.cancelled.len() > MAX_CANCELLED
            && let Some(oldest) = self.cancelled.pop_front()
            && self
                .asked
                .get(&oldest)
                .is_some_and(|entry| !entry.is_waited_for)
        {
            self.asked.remove(&oldest);
        }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.key_of(id).is_some()
    }

    pub(super) fn is_waited_for(&self) -> bool {
        self.asked.values().any(|entry| entry.is_waited_for)
    }

    /// Returns the ids of all that wait, in an order that is always the same.
    pub(super) fn drain(&mut self) -> Vec<String> {
        let mut ids: Vec<String> = self
            .asked
            .drain()
            .filter(|(_, entry)| entry.is_waited_for || entry.asked == Asked::Forever)
            .map(|(_, entry)| entry.id)
            .collect();
        ids.sort_by_key(|id| (id.len(), id.clone()));
        ids
    }
}

/// Returns an id in the one way it is written here: a server may write the same string with other escapes, or the same
/// number with a fraction of nothing.
fn key(id: &str) -> String {
    match serde_json::from_str::<Value>(id) {
        Ok(Value::Number(number)) => match number.as_f64().filter(|_| !number.is_i64()) {
            Some(float) if float.fract() == 0.0 && float.abs() < 2f64.powi(53) => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        },
        Ok(id) => id.to_string(),
        Err(_) => id.to_owned(),
    }
}

/// Tells whether a line begins as a message does.
pub(super) fn is_begun(start: &[u8]) -> bool {
    let key = start.trim_ascii_start().strip_prefix(b"{");
    let key = key.map(|rest| rest.trim_ascii_start()).unwrap_or_default();
    [&b"\"jsonrpc\""[..], b"\"id\"", b"\"result\"", b"\"error\""]
        .iter()
        .any(|known| key.starts_with(known))
}

/// Returns the id of a message of which only the start and the end are known: one that stands before the result, or behind it.
pub(crate) fn id_of(start: &[u8], end: &[u8]) -> Option<String> {
    let before = memmem::find(start, b"\"result\"").map_or(start, |at| &start[..at]);
    let find = |text: &[u8], at: Option<usize>| {
        let value = text[at? + 4..].trim_ascii_start().strip_prefix(b":")?;
        let value = value.trim_ascii_start();
        let len = match value.first()? {
            b'"' => memchr::memchr(b'"', &value[1..])? + 2,
            _ => value.iter().position(|byte| !is_number(*byte))?,
        };
        let id = String::from_utf8(value[..len].to_vec()).ok()?;
        serde_json::from_str::<Value>(&id).is_ok().then_some(id)
    };
    find(before, memmem::find(before, b"\"id\"")).or_else(|| {
        // Behind the result there is nothing but the id and the version.
        let tail = &end[end.len().saturating_sub(200)..];
        find(tail, memmem::rfind(tail, b"\"id\""))
    })
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'e' | b'E' | b'+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        for (one, other) in [("1", "1.0"), ("-3", "-3e0"), (r#""é""#, r#""\u00e9""#)] {
            assert_eq!(key(one), key(other));
        }
        assert_ne!(key("1"), key(r#""1""#));
        assert_ne!(key("18446744073709551615"), key("18446744073709551614"));
    }

    #[test]
    fn the_id_of_a_message_that_is_lost_is_found_at_either_end() {
        let id = |start: &str, end: &str| id_of(start.as_bytes(), end.as_bytes());
        assert_eq!(
            id("{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{", "}}"),
            Some("12".into())
        );
        assert_eq!(
            id("{\"id\" : \"a\",\"result\":{\"id\":3", "}}"),
            Some("\"a\"".into())
        );
        assert_eq!(
            id(
                "{\"result\":{\"id\":3",
                "xx\"}]},\"jsonrpc\":\"2.0\",\"id\":9}"
            ),
            Some("9".into())
        );
        assert_eq!(id("{\"result\":{\"id\":3", "xx"), None);
    }
}
