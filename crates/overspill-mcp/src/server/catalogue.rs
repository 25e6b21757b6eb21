//! The tools as MCP describes them. Every turn of the model pays for this text, so it says what it must and no more.

use std::sync::Arc;

use overspill::settings::Client;
use overspill::{AnyTool, Settings};
use overspill_tools::TOOLS;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// What is offered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Offer {
    /// What only reads.
    #[default]
    ReadOnly,
    /// Also `Run`, which does whatever a command does.
    WithRun,
}

/// The name of the one tool that changes things.
const RUN: &str = "Run";

fn offered(offer: Offer) -> impl Iterator<Item = &'static dyn AnyTool> {
    TOOLS
        .iter()
        .copied()
        .filter(move |tool| offer == Offer::WithRun || tool.name() != RUN)
}

/// Returns the tool of a name, if it is offered.
pub(super) fn find(offer: Offer, name: &str) -> Option<&'static dyn AnyTool> {
    offered(offer).find(|tool| tool.name() == name)
}

/// Returns the tools for `tools/list`.
pub(super) fn tools(
    offer: Offer,
    settings: &Settings,
    client: Option<&'static Client>,
) -> Vec<Tool> {
    let settings = settings.clone().for_client(client);
    offered(offer)
        .map(|tool| described(tool, &settings))
        .collect()
}

/// Returns the tools as a client is sent them, for those who count what they cost.
pub fn listing(offer: Offer) -> Value {
    json!(tools(offer, &Settings::new(), None))
}

fn described(tool: &dyn AnyTool, settings: &Settings) -> Tool {
    let schema = match tool.schema() {
        Value::Object(schema) => lean(schema),
        _ => Map::new(),
    };
    let is_run = tool.name() == RUN;
    let annotations = ToolAnnotations::new()
        .read_only(!is_run)
        .destructive(is_run)
        .open_world(is_run);
    let mut described = Tool::new(tool.name(), tool.description(), Arc::new(schema));
    described.annotations = Some(annotations);
    described.meta = wider_cut(tool.name(), settings)
        .and_then(|meta| meta.as_object().cloned())
        .map(MetaObject);
    described
}

/// Asks a client that can be asked for a wider cut where the user set limits wider than its own: else it would cut what he
/// asked for.
pub(crate) fn wider_cut(tool: &str, settings: &Settings) -> Option<Value> {
    let effective = settings.effective(tool);
    // Where it is not set aside its own limits hold, and are below its cut.
    let (key, most) = settings.client()?.wider?;
    if effective.client().is_some() {
        return None;
    }
    let limits = effective.limits();
    let chars = effective.max_result_chars().or(limits.max_chars());
    Some(json!({ key: chars.unwrap_or(most).min(most) }))
}

/// Takes from a schema what tells the model nothing.
fn lean(schema: Map<String, Value>) -> Map<String, Value> {
    let mut lean = Map::new();
    for (key, value) in schema {
        let says_nothing = match key.as_str() {
            "$schema" | "title" | "format" => value.is_string(),
            "minimum" => value == json!(0),
            _ => false,
        };
        if says_nothing {
            continue;
        }
        let value = match value {
            Value::Object(inner) => Value::Object(lean_members(&key, inner)),
            other => other,
        };
        lean.insert(key, value);
    }
    lean
}

/// Does the same below; in `properties` keys are names, and stay whatever they are.
fn lean_members(key: &str, members: Map<String, Value>) -> Map<String, Value> {
    if key != "properties" && key != "$defs" {
        return lean(members);
    }
    members
        .into_iter()
        .map(|(name, schema)| match schema {
            Value::Object(schema) => (name, Value::Object(lean(schema))),
            other => (name, other),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use overspill::Encoding;

    use super::*;

    #[test]
    fn the_readme_tells_what_the_tools_cost() {
        let tokens = |offer| Encoding::default().count(&listing(offer).to_string());
        let cost = format!(
            "{} tokens, with `Run` {}",
            tokens(Offer::ReadOnly),
            tokens(Offer::WithRun)
        );
        let readme = include_str!("../../../../README.md");
        assert!(readme.contains(&cost), "README.md must say: {cost}");
    }

    #[test]
    fn a_schema_says_nothing_that_tells_the_model_nothing() {
        let listing = listing(Offer::WithRun).to_string();
        for noise in ["$schema", "\"format\"", "\"title\"", "uint"] {
            assert!(!listing.contains(noise), "{noise}");
        }
        assert!(listing.contains("\"readOnlyHint\":true"));
    }
}
