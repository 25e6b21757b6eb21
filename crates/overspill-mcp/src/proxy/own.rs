//! The two tools that the proxy adds, so that the client can get at what was left out.

use overspill::{AnyTool as _, Code, Host, ToolError, refuse};
use overspill_tools::grep::Grep;
use overspill_tools::read::Read;
use serde_json::{Map, Value, json};

use crate::server::answer::fitted;

/// Reads a spill by lines.
pub(super) const READ: &str = "overspill_read";
/// Searches a spill.
pub(super) const GREP: &str = "overspill_grep";

/// Returns the tools as `tools/list` shows them.
pub(super) fn listed() -> Vec<Value> {
    let id = json!({ "type": "string", "description": "Path or id of the saved output, as its notice names it" });
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let annotations = json!({ "readOnlyHint": true, "openWorldHint": false });
    vec![
        json!({
            "name": READ,
            "description": "Read lines of a tool output that was cut and saved.",
            "inputSchema": { "type": "object", "required": ["id"], "properties": {
                "id": id, "offset": number("First line, from 1"), "limit": number("How many lines"),
                "column": number("Read only line `offset`, from this character on")
            } },
            "annotations": annotations
        }),
        json!({
            "name": GREP,
            "description": "Search a tool output that was cut and saved, by regex.",
            "inputSchema": { "type": "object", "required": ["id", "pattern"], "properties": {
                "id": id, "pattern": { "type": "string", "description": "Regex to search for" },
                "context": number("Lines of context around each match"),
                "limit": number("At most how many matches"), "offset": number("How many matches to skip")
            } },
            "annotations": annotations
        }),
    ]
}

/// Calls one of them, and returns the result of `tools/call`.
pub(super) fn call(name: &str, arguments: Map<String, Value>, host: &Host) -> Value {
    let mut params = arguments;
    let envelope = match params.remove("id") {
        Some(Value::String(id)) => match host.store().find(&id) {
            Ok(entry) => {
                params.insert("path".to_owned(), json!(entry.path));
                match name {
                    GREP => Grep.call(host, Value::Object(params)),
                    _ => Read.call(host, Value::Object(params)),
                }
            }
            Err(error) => refuse(
                host,
                name,
                ToolError::new(Code::NotFound, error.to_string()),
                Value::Object(params),
            ),
        },
        _ => refuse(
            host,
            name,
            ToolError::new(
                Code::InvalidParam,
                "Missing required parameter 'id'.".to_owned(),
            ),
            Value::Object(params),
        ),
    };
    let is_error = envelope.status == overspill::Status::Error;
    let text = fitted(&envelope, name, host);
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}
