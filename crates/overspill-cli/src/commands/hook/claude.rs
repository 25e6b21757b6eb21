//! Claude Code: PostToolUse, whose `updatedToolOutput` stands in for any result in the same shape.
//!
//! A shell's output comes cut to its first 30,000 characters, with the path of a file that has the whole. A call that failed has
//! an event of its own that cannot replace anything, so it never comes here.

use std::path::{Path, PathBuf};

use overspill::Outcome;
use overspill::notice::Message;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind, Part};
use super::json::Json;
use super::whole;

/// Returns what Claude Code is told in answer to its input.
pub(super) fn reply(mut input: Json<'_>, bounder: &Bounder<'_>) -> anyhow::Result<Option<Value>> {
    if !input["hook_event_name"].is("PostToolUse") {
        return Ok(None);
    }
    let response = input.take("tool_response");
    let tool = input["tool_name"].as_str().unwrap_or_default();
    let Some(kind) = kind(tool) else {
        return Ok(None);
    };
    let call = Call {
        tool,
        kind,
        input: &input["tool_input"],
        outcome: Outcome::Succeeded,
        part: Part::All,
    };
    let updated = match kind {
        Kind::Shell | Kind::FailedShell => {
            shell(response, &call, whole_dir(&input).as_deref(), bounder)?
        }
        Kind::Read => file(response, &call, bounder),
        Kind::Search => content(response, &call, bounder),
        Kind::Mcp => mcp(response, &call, bounder),
    };
    Ok(updated.map(Value::from).map(|output| {
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
fn whole_dir(input: &Json<'_>) -> Option<PathBuf> {
    let transcript = Path::new(input["transcript_path"].as_str()?);
    transcript.parent().map(Path::to_owned)
}

/// Bounds what a command printed. Its two streams share the room: either gets what the other leaves, and half of it at least.
fn shell<'r>(
    mut response: Json<'r>,
    call: &Call<'_>,
    dir: Option<&Path>,
    bounder: &Bounder<'_>,
) -> anyhow::Result<Option<Json<'r>>> {
    let is_text = !response["isImage"].is_true() && response["stdout"].as_str().is_some();
    if !is_text {
        return Ok(None);
    }
    let saved = match response["persistedOutputPath"].as_str() {
        Some(path) => match dir.and_then(|dir| whole::open(Path::new(path), dir)) {
            Some(file) => Some(file),
            // Without the file only a part could be saved, and Claude Code's own message names the whole.
            None => anyhow::bail!("the file of the whole output is not where it should be"),
        },
        None => None,
    };
    let stdout = response["stdout"].as_str().unwrap_or_default();
    let stderr = response["stderr"].as_str().unwrap_or_default();
    let reserved = bounder.size(call.kind, stdout).min(bounder.room(call) / 2);
    let stderr = cut_stderr(stderr, call, reserved, bounder);
    let cut = match saved {
        Some(file) => bounder.file(call, file, stderr.size)?,
        None => bounder.text(call, stdout, stderr.size),
    };
    if cut.is_none() && stderr.cut.is_none() {
        return Ok(None);
    }
    if let Some(cut) = cut {
        response.set("stdout", (cut.content + &stderr.elsewhere).into());
        response.remove("persistedOutputPath");
        response.remove("persistedOutputSize");
    }
    if let Some(cut) = stderr.cut {
        response.set("stderr", cut.into());
    }
    Ok(Some(response))
}

/// Standard error beside standard output.
struct Stderr {
    /// What stands in for it, if it was cut.
    cut: Option<String>,
    /// What is said of it below standard output.
    elsewhere: String,
    /// What all of that takes.
    size: usize,
}

fn cut_stderr(text: &str, call: &Call<'_>, reserved: usize, bounder: &Bounder<'_>) -> Stderr {
    let call = Call {
        part: Part::Stderr,
        ..*call
    };
    let only = bounder.say(&call, Message::StderrOnly, &[]);
    let beside = reserved + bounder.size(call.kind, &only);
    let Some(cut) = bounder.text(&call, text, beside) else {
        return Stderr {
            size: bounder.size(call.kind, text),
            cut: None,
            elsewhere: String::new(),
        };
    };
    let path = cut.saved.as_ref().map(|saved| bounder.path(saved));
    let said = path.map(|path| bounder.say(&call, Message::StderrToo, &[("path", &path)]));
    let (content, elsewhere) = (cut.content + &only, said.unwrap_or_default());
    Stderr {
        size: bounder.size(call.kind, &content) + bounder.size(call.kind, &elsewhere),
        cut: Some(content),
        elsewhere,
    }
}

fn file<'r>(mut response: Json<'r>, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Json<'r>> {
    let file = content(response.take("file"), call, bounder)?;
    response.set("file", file);
    Some(response)
}

/// Bounds the `content` of an object, and sets the count of lines beside it.
fn content<'r>(mut object: Json<'r>, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Json<'r>> {
    let text = object.get("content")?.as_str()?;
    let cut = bounder.text(call, text, 0)?;
    let lines = cut.content.lines().count();
    object.set("numLines", Json::Scalar(json!(lines)));
    object.set("content", cut.content.into());
    Some(object)
}

fn mcp<'r>(response: Json<'r>, call: &Call<'_>, bounder: &Bounder<'_>) -> Option<Json<'r>> {
    match response {
        Json::Text(text) => {
            let cut = bounder.text(call, &text, 0)?;
            Some(cut.content.into())
        }
        Json::List(blocks) => {
            let found = blocks::texts(&blocks)?;
            let cut = bounder.text(call, &found.text, beside(&blocks))?;
            // A list is measured by its JSON, in which every line end counts twice; a string is measured as it is.
            Some(match found.has_others {
                true => blocks::replaced(blocks, cut.content),
                false => cut.content.into(),
            })
        }
        _ => None,
    }
}

/// Returns what is counted beside the text of a list: the JSON of what is no text. An image is not counted by its JSON.
fn beside(blocks: &[Json<'_>]) -> usize {
    let is_counted = |block: &&Json<'_>| !block["type"].is("image");
    blocks::others_chars(blocks.iter().filter(is_counted))
}
