//! Codex: PostToolUse, whose `stopReason` stands in for a result, as plain text.
//!
//! `updatedToolOutput` has no effect there. Of the two answers that have, `{"decision":"block"}` and `{"continue":false}`, the
//! model is shown the same text and the turn goes on; the second is not told to the user as a refusal. A shell's output comes
//! cut already, without a trace of the rest, so it is left alone then.

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind};

/// How Codex begins an output that it cut.
const CUT_ALREADY: &str = "Warning: truncated output (original token count:";

/// Returns what Codex is told in answer to its input.
pub(super) fn reply(input: &Value, bounder: &Bounder<'_>) -> Option<Value> {
    if input["hook_event_name"] != "PostToolUse" {
        return None;
    }
    let tool = input["tool_name"].as_str()?;
    let response = &input["tool_response"];
    let (kind, outcome, text) = match response {
        Value::String(text) if tool == "Bash" && !text.starts_with(CUT_ALREADY) => {
            // Its exit code does not come here.
            (Kind::Shell, Outcome::Unknown, text.clone())
        }
        Value::Object(_) if tool.starts_with("mcp__") => {
            (Kind::Mcp, outcome(response), shown(response)?)
        }
        _ => return None,
    };
    let call = Call {
        tool,
        kind,
        input: &input["tool_input"],
        outcome,
    };
    let cut = bounder.text(&call, &text, 0)?;
    Some(json!({ "continue": false, "stopReason": cut.content }))
}

fn outcome(result: &Value) -> Outcome {
    match result["isError"] == true {
        true => Outcome::Failed,
        false => Outcome::Succeeded,
    }
}

/// Returns what the model is shown of a result: its structure if it has one, else its text. What is not all text stays.
fn shown(result: &Value) -> Option<String> {
    match &result["structuredContent"] {
        // Laid out over lines, since what is saved is searched and read by lines.
        structure if !structure.is_null() => serde_json::to_string_pretty(structure).ok(),
        _ => {
            let found = blocks::texts(result["content"].as_array()?)?;
            (!found.has_others).then_some(found.text)
        }
    }
}
