//! Gemini CLI: AfterTool, which can replace a result only by denying it.
//!
//! The model then reads our text as an error. So the notice, which says how the call went, comes first, and nothing is replaced
//! that Gemini CLI would show whole unless the user set a limit.

use std::borrow::Cow;

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind, Part};
use super::json::Json;

/// What Gemini CLI puts around text that is not to be trusted. It stays around what is shown of it.
const OPEN: &str = "<untrusted_context>\n";
const CLOSE: &str = "\n</untrusted_context>";

/// How much the words around a text take, the blank line behind the notice included.
const AROUND: usize = OPEN.len() + CLOSE.len() + 2;

/// Returns what Gemini CLI is told in answer to its input.
pub(super) fn reply(input: &Json<'_>, bounder: &Bounder<'_>) -> Option<Value> {
    if !input["hook_event_name"].is("AfterTool") {
        return None;
    }
    let name = input["tool_name"].as_str()?;
    let server = &input["mcp_context"];
    let (kind, tool) = match (server["server_name"].as_str(), server["tool_name"].as_str()) {
        // By the name that the other agents give it, so that one configuration holds for all.
        (Some(server), Some(tool)) => (Kind::Mcp, format!("mcp__{server}__{tool}")),
        _ if name == "run_shell_command" => (Kind::Shell, name.to_owned()),
        _ => return None,
    };
    let response = &input["tool_response"];
    let (text, is_untrusted) = shown(&response["llmContent"])?;
    let call = Call {
        tool: &tool,
        kind,
        input: &input["tool_input"],
        outcome: outcome(response, &text),
        part: Part::All,
    };
    let cut = bounder.text(&call, &text, AROUND)?;
    let preview = match is_untrusted {
        true => format!("{OPEN}{}{CLOSE}", cut.preview),
        false => cut.preview,
    };
    Some(json!({ "decision": "deny", "reason": format!("{}\n\n{preview}", cut.notice) }))
}

/// Returns the text of a result without what is put around it, and whether anything was.
fn shown<'c>(content: &'c Json<'_>) -> Option<(Cow<'c, str>, bool)> {
    let parts: Vec<&str> = match content {
        Json::Text(text) => vec![text],
        Json::List(parts) => {
            let texts = blocks::parts(parts);
            let is_all = !texts.is_empty() && texts.len() == parts.len();
            is_all.then_some(texts)?
        }
        _ => return None,
    };
    let inside = |part: &&'c str| part.strip_prefix(OPEN)?.strip_suffix(CLOSE);
    let inner: Option<Vec<&str>> = parts.iter().map(inside).collect();
    Some(match inner {
        Some(inner) => (blocks::joined(&inner), true),
        None => (blocks::joined(&parts), false),
    })
}

/// Tells how a call went. A command that failed has its exit code among the last lines.
fn outcome(response: &Json<'_>, text: &str) -> Outcome {
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(300))..];
    match (response["error"].is_null(), end.contains("\nExit Code: ")) {
        (true, false) => Outcome::Succeeded,
        (true, true) => Outcome::Unknown,
        (false, _) => Outcome::Failed,
    }
}
