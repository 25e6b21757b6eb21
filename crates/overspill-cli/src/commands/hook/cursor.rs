//! Cursor: postToolUse, whose `updated_mcp_tool_output` stands in for the result of an MCP tool.
//!
//! Written by its documentation and not tried with the real program. The result goes back in the shape it came in.

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind, Part};
use super::json::Json;

/// Returns what Cursor is told in answer to its input.
pub(super) fn reply(mut input: Json<'_>, bounder: &Bounder<'_>) -> Option<Value> {
    if !input["hook_event_name"].is("postToolUse") {
        return None;
    }
    let output = input.take("tool_output");
    let tool = input["tool_name"].as_str()?;
    if !(tool.starts_with("MCP:") || tool.starts_with("mcp__")) {
        return None;
    }
    let call = Call {
        tool,
        kind: Kind::Mcp,
        input: &input["tool_input"],
        outcome: Outcome::Succeeded,
        part: Part::All,
    };
    let updated = match output {
        // A result may come as the text of its JSON.
        Json::Text(text) => match Json::parse(&mut text.as_bytes().to_vec()) {
            Ok(result @ Json::Object(_)) => {
                json!(Value::from(bounded(result, &call, bounder)?).to_string())
            }
            _ => json!(bounder.text(&call, &text, 0)?.content),
        },
        result => Value::from(bounded(result, &call, bounder)?),
    };
    Some(json!({ "updated_mcp_tool_output": updated }))
}

/// Bounds a result of MCP. Its structure says the same as its text, and at length, so it goes.
fn bounded<'r>(mut result: Json<'r>, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Json<'r>> {
    let Json::List(blocks) = result.take("content") else {
        return None;
    };
    let found = blocks::texts(&blocks)?;
    let cut = bounder.text(call, &found.text, 0)?;
    result.set("content", blocks::replaced(blocks, cut.content));
    result.remove("structuredContent");
    Some(result)
}
