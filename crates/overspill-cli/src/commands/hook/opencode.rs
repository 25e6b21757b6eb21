//! opencode: `tool.execute.after` of the plugin beside this project, which asks here.
//!
//! The plugin sends `{"tool", "args", "output"}`, the last as opencode has it, and puts the members of the answer in the place
//! of those of the output. A shell's output comes cut, with the path of a file that has the whole; an MCP result comes whole.

use std::path::Path;

use overspill::Outcome;
use serde_json::{Value, json};

use super::blocks;
use super::bounding::{Bounder, Call, Kind, Part};
use super::json::Json;
use super::whole;

/// The plugin, in which [`PROGRAM`] stands for how this program is called.
pub(super) const PLUGIN: &str = include_str!("../../../integrations/opencode.js");

/// What stands in the plugin for the program.
pub(super) const PROGRAM: &str = r#"const PROGRAM = "overspill""#;

/// Where opencode keeps whole outputs, below the data of the user.
const WHOLE_DIR: &str = "opencode/tool-output";

/// Returns what the plugin is told in answer to its input. `data` is where programs keep data of the user.
pub(super) fn reply(
    mut input: Json<'_>,
    bounder: &Bounder<'_>,
    data: Option<&Path>,
) -> anyhow::Result<Option<Value>> {
    let mut output = input.take("output");
    let Some(tool) = input["tool"].as_str() else {
        return Ok(None);
    };
    let call = |kind, outcome| Call {
        tool,
        kind,
        input: &input["args"],
        outcome,
        part: Part::All,
    };
    if let Json::List(blocks) = output.take("content") {
        let Some(found) = blocks::texts(&blocks) else {
            return Ok(None);
        };
        let outcome = match output["isError"].is_true() {
            true => Outcome::Failed,
            false => Outcome::Succeeded,
        };
        let cut = bounder.text(&call(Kind::Mcp, outcome), &found.text, 0);
        return Ok(
            cut.map(|cut| json!({ "content": Value::from(blocks::replaced(blocks, cut.content)) }))
        );
    }
    let (Some(text), Some(kind)) = (output["output"].as_str(), kind(tool)) else {
        return Ok(None);
    };
    let metadata = &output["metadata"];
    let call = call(kind, outcome(metadata));
    let cut = match (kind, metadata["outputPath"].as_str()) {
        (Kind::Shell, Some(path)) => {
            match data.and_then(|data| whole::open(Path::new(path), &data.join(WHOLE_DIR))) {
                Some(file) => bounder.file(&call, file, 0)?,
                None => anyhow::bail!("the file of the whole output is not where it should be"),
            }
        }
        _ => bounder.text(&call, text, 0),
    };
    Ok(cut.map(|cut| json!({ "output": cut.content })))
}

fn kind(tool: &str) -> Option<Kind> {
    match tool {
        "bash" => Some(Kind::Shell),
        "read" => Some(Kind::Read),
        "grep" => Some(Kind::Search),
        _ => None,
    }
}

/// Tells how a command went, where its exit code is known.
fn outcome(metadata: &Json<'_>) -> Outcome {
    match &metadata["exit"] {
        Json::Scalar(Value::Number(code)) => match code.as_i64() {
            Some(0) => Outcome::Succeeded,
            _ => Outcome::Failed,
        },
        _ => Outcome::Unknown,
    }
}
