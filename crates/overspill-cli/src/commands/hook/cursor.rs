//! Cursor: postToolUse, whose `updated_mcp_tool_output` stands in for the result of an MCP tool.
//!
//! Written by its documentation and not tried with the real program. The result goes back in the shape it came in.

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind};

/// Returns what Cursor is told in answer to its input.
pub(super) fn reply(mut input: Value, bounder: &Bounder<'_>) -> Option<Value> {
    if input["hook_event_name"] != "postToolUse" {
        return None;
    }
    let output = input["tool_output"].take();
    let tool = input["tool_name"].as_str()?;
    if !(tool.starts_with("MCP:") || tool.starts_with("mcp__")) {
        return None;
    }
    let call = Call {
        tool,
        kind: Kind::Mcp,
        input: &input["tool_input"],
        outcome: Outcome::Succeeded,
    };
    let updated = match output {
        Value::String(text) => match serde_json::from_str(&text) {
            // A result may come as the text of its JSON.
            Ok(result @ Value::Object(_)) => {
                Value::String(bounded(result, &call, bounder)?.to_string())
            }
            _ => Value::String(bounder.text(&call, &text, 0)?.content),
        },
        result => bounded(result, &call, bounder)?,
    };
    Some(json!({ "updated_mcp_tool_output": updated }))
}

/// Bounds a result of MCP. Its structure says the same as its text, and at length, so it goes.
fn bounded(mut result: Value, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Value> {
    let Value::Array(blocks) = result.get_mut("content")?.take() else {
        return None;
    };
    let found = blocks::texts(&blocks)?;
    let cut = bounder.text(call, &found.text, 0)?;
    result["content"] = Value::Array(blocks::replaced(blocks, &cut.content));
    result.as_object_mut()?.shift_remove("structuredContent");
    Some(result)
}
