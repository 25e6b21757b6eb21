//! Changes a list of tools.

use std::io;

use serde_json::Value;

use super::{begins, text_at};
use crate::proxy::edit::Edit;
use crate::proxy::held::Held;
use crate::proxy::outline::{ToolEntry, ToolList};

/// Changes a list of tools: what our results cannot keep to goes, and our own tools come in.
pub(in crate::proxy) fn tools(
    held: &Held,
    list: &ToolList,
    own: &[Value],
    meta: impl Fn(&str) -> Option<Value>,
) -> io::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut is_taken = false;
    for tool in &list.tools {
        let name = match &tool.name {
            Some(range) => text_at(held, range)?,
            None => String::new(),
        };
        is_taken |= own.iter().any(|own| own["name"] == name.as_str());
        if let Some(schema) = &tool.output_schema {
            edits.push(Edit::remove(schema, held)?);
        }
        if let Some(edit) = with_meta(tool, meta(&name)) {
            edits.push(edit);
        }
    }
    let Some(value) = list.value.clone() else {
        return Ok(edits);
    };
    // They stand on the last page.
    let is_open = !is_taken && !list.has_cursor && begins(held, &value, b'[')?;
    if !own.is_empty() && is_open {
        let own: Vec<String> = own.iter().map(Value::to_string).collect();
        let comma = if list.tools.is_empty() { "" } else { "," };
        edits.push(Edit::insert(
            value.end - 1,
            format!("{comma}{}", own.join(",")),
        ));
    }
    Ok(edits)
}

/// Adds to a tool, which has a name and so is an object with a member.
fn with_meta(tool: &ToolEntry, meta: Option<Value>) -> Option<Edit> {
    let meta = meta.filter(|_| !tool.has_meta && tool.name.is_some())?;
    Some(Edit::insert(
        tool.span.value.start + 1,
        format!("\"_meta\":{meta},"),
    ))
}
