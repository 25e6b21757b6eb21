//! An MCP server that costs next to nothing, so that what is measured is what stands before it.

use std::io::{self, BufRead as _, Write as _};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// Answers until its input ends.
pub(crate) fn serve() -> Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?).context("request")?;
        let Some(id) = request.get("id") else {
            continue;
        };
        let params = &request["params"];
        let n = params["arguments"]["n"].as_u64().unwrap_or(0);
        let result = match params["name"].as_str() {
            Some("small") => {
                json!({ "content": [{ "type": "text", "text": format!("number {n}") }] })
            }
            Some("big") => json!({ "content": [{ "type": "text", "text": lines(n) }] }),
            _ => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "bench", "version": "1" }
            }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Returns about so many bytes of numbered lines.
fn lines(bytes: u64) -> String {
    let mut text = String::with_capacity(bytes as usize + 100);
    let mut number = 0;
    while (text.len() as u64) < bytes {
        number += 1;
        text += &format!("line {number} of a result that is much too long for a model\n");
    }
    text
}
