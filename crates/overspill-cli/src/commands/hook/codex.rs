//! Codex: PostToolUse, whose `stopReason` stands in for a result, as plain text.
//!
//! `updatedToolOutput` has no effect there. Of the two answers that have, `{"decision":"block"}` and `{"continue":false}`, the
//! model is shown the same text and the turn goes on; the second is not told to the user as a refusal. A shell's output comes
//! cut already, without a trace of the rest, so it is left alone then.

use std::borrow::Cow;

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind, Part};
use super::json::Json;

/// How Codex begins an output that it cut.
const CUT_ALREADY: &str = "Warning: truncated output (original token count:";

/// Returns what Codex is told in answer to its input.
pub(super) fn reply(input: &Json<'_>, bounder: &Bounder<'_>) -> Option<Value> {
    if !input["hook_event_name"].is("PostToolUse") {
        return None;
    }
    let tool = input["tool_name"].as_str()?;
    let response = &input["tool_response"];
    let (kind, outcome, text) = match response {
        Json::Text(text) if tool == "Bash" && !text.starts_with(CUT_ALREADY) => {
            // Its exit code does not come here.
            (Kind::Shell, Outcome::Unknown, Cow::Borrowed(&**text))
        }
        Json::Object(_) if tool.starts_with("mcp__") => {
            (Kind::Mcp, outcome(response), shown(response)?)
        }
        _ => return None,
    };
    let call = Call {
        tool,
        kind,
        input: &input["tool_input"],
        outcome,
        part: Part::All,
    };
    let cut = bounder.text(&call, &text, 0)?;
    Some(json!({ "continue": false, "stopReason": cut.content }))
}

fn outcome(result: &Json<'_>) -> Outcome {
    match result["isError"].is_true() {
        true => Outcome::Failed,
        false => Outcome::Succeeded,
    }
}

/// Returns what the model is shown of a result: its structure if it has one, else its text. What is not all text stays.
fn shown<'r>(result: &'r Json<'_>) -> Option<Cow<'r, str>> {
    match &result["structuredContent"] {
        // Laid out over lines, since what is saved is searched and read by lines.
        structure if !structure.is_null() => {
            let text = serde_json::to_string_pretty(&Value::from(structure.clone())).ok()?;
            Some(Cow::Owned(text))
        }
        _ => {
            let found = blocks::texts(result["content"].items()?)?;
            (!found.has_others).then_some(found.text)
        }
    }
}
