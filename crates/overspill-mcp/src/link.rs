//! The address of a spill, and the link that carries it.

use serde_json::{Value, json};

/// What the address of a spill begins with.
pub(crate) const SCHEME: &str = "overspill://spill/";

/// Returns a link to a spill as a block of content.
pub(crate) fn block(id: &str, bytes: u64) -> Value {
    json!({
        "type": "resource_link", "uri": format!("{SCHEME}{id}"), "name": id, "mimeType": "text/plain", "size": bytes
    })
}
