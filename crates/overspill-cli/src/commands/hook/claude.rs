//! Claude Code: PostToolUse, whose `updatedToolOutput` stands in for any result in the same shape.
//!
//! A shell's output comes cut to its first 30,000 characters, with the path of a file that has the whole. A call that failed has
//! an event of its own that cannot replace anything, so it never comes here.

use std::fs::File;
use std::path::{Path, PathBuf};

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind};
use super::whole;

/// Returns what Claude Code is told in answer to its input.
pub(super) fn reply(mut input: Value, bounder: &Bounder<'_>) -> anyhow::Result<Option<Value>> {
    if input["hook_event_name"] != "PostToolUse" {
        return Ok(None);
    }
    let response = input["tool_response"].take();
    let tool = input["tool_name"].as_str().unwrap_or_default();
    let Some(kind) = kind(tool) else {
        return Ok(None);
    };
    let call = Call {
        tool,
        kind,
        input: &input["tool_input"],
        outcome: Outcome::Succeeded,
    };
    let updated = match kind {
        Kind::Shell | Kind::FailedShell => {
            shell(response, &call, whole_dir(&input).as_deref(), bounder)?
        }
        Kind::Read => member(response, "/file", "content", &call, bounder),
        Kind::Search => member(response, "", "content", &call, bounder),
        Kind::Mcp => mcp(response, &call, bounder),
    };
    Ok(updated.map(|output| {
        json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": output } })
    }))
}

/// Returns what is known of a tool. Those that are not listed return little, or show the model other than what comes here.
fn kind(tool: &str) -> Option<Kind> {
    match tool {
        "Bash" => Some(Kind::Shell),
        "Read" => Some(Kind::Read),
        "Grep" => Some(Kind::Search),
        _ if tool.starts_with("mcp__") => Some(Kind::Mcp),
        _ => None,
    }
}

/// Returns the directory below which Claude Code keeps what belongs to the session, by the path of its transcript.
fn whole_dir(input: &Value) -> Option<PathBuf> {
    let transcript = Path::new(input["transcript_path"].as_str()?);
    transcript.parent().map(Path::to_owned)
}

fn shell(
    mut response: Value,
    call: &Call<'_>,
    dir: Option<&Path>,
    bounder: &Bounder<'_>,
) -> anyhow::Result<Option<Value>> {
    let is_text = response["isImage"] != true && response["stdout"].is_string();
    if !is_text {
        return Ok(None);
    }
    let saved = response["persistedOutputPath"].as_str();
    let saved: Option<File> = match saved {
        Some(path) => match dir.and_then(|dir| whole::open(Path::new(path), dir)) {
            Some(file) => Some(file),
            // Without the file only a part could be saved, and Claude Code's own message names the whole.
            None => anyhow::bail!("the file of the whole output is not where it should be"),
        },
        None => None,
    };
    let stderr = response["stderr"].as_str().unwrap_or_default();
    let beside = bounder.size(call.kind, stderr);
    let cut = match saved {
        Some(file) => bounder.file(call, file, beside)?,
        None => bounder.text(
            call,
            response["stdout"].as_str().unwrap_or_default(),
            beside,
        ),
    };
    Ok(cut.map(|cut| {
        response["stdout"] = Value::String(cut.content);
        if let Some(members) = response.as_object_mut() {
            for key in ["persistedOutputPath", "persistedOutputSize"] {
                members.shift_remove(key);
            }
        }
        response
    }))
}

/// Bounds one member of an object, and sets the count of lines beside it.
fn member(
    mut response: Value,
    at: &str,
    key: &str,
    call: &Call<'_>,
    bounder: &Bounder<'_>,
) -> Option<Value> {
    let object = response.pointer_mut(at)?;
    let text = object.get(key)?.as_str()?;
    let cut = bounder.text(call, text, 0)?;
    if object.get("numLines").is_some() {
        object["numLines"] = json!(cut.content.lines().count());
    }
    object[key] = Value::String(cut.content);
    Some(response)
}

fn mcp(response: Value, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Value> {
    match response {
        Value::String(text) => {
            let cut = bounder.text(call, &text, 0)?;
            Some(Value::String(cut.content))
        }
        Value::Array(blocks) => {
            let found = blocks::texts(&blocks)?;
            let cut = bounder.text(call, &found.text, beside(&blocks))?;
            // A list is measured by its JSON, in which every line end counts twice; a string is measured as it is.
            Some(match found.has_others {
                true => Value::Array(blocks::replaced(blocks, &cut.content)),
                false => Value::String(cut.content),
            })
        }
        _ => None,
    }
}

/// Returns what is counted beside the text of a list: the JSON of what is no text. An image is not counted by its JSON.
fn beside(blocks: &[Value]) -> usize {
    let is_counted = |block: &&Value| block["type"] != "image";
    blocks::others_chars(blocks.iter().filter(is_counted))
}
