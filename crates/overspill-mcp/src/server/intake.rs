//! What a client says, before the protocol sees it: whatever is no message gets an answer, with its id if it has one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rmcp::model::ClientJsonRpcMessage;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use crate::pipes::{Input, Pipes};
use crate::proxy::held::{Held, Taken};
use crate::proxy::lines::{ClientLines, Lines};
use crate::proxy::{Edited, pending};

/// A message of more bytes is refused.
const MOST_BYTES: u64 = 16 << 20;

/// How much waits in between.
const BUFFER_BYTES: usize = 64 << 10;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// The client as the protocol sees it.
pub(super) struct Intake {
    /// What is a message.
    pub(super) input: DuplexStream,
    /// What is said to the client.
    pub(super) output: DuplexStream,
    /// Ends when all was said.
    pub(super) said: JoinHandle<io::Result<()>>,
}

/// Stands between a client and the protocol.
pub(super) fn intake(client: Pipes, scratch: &Path) -> Intake {
    let (to_server, input) = tokio::io::duplex(BUFFER_BYTES);
    let (output, from_server) = tokio::io::duplex(BUFFER_BYTES);
    let lines = Arc::new(ClientLines::new(client.output));
    let hearing = Lines::new(client.input, scratch);
    tokio::spawn(hear(hearing, to_server, Arc::clone(&lines)));
    let said = tokio::spawn(say(Lines::new(Box::new(from_server), scratch), lines));
    Intake {
        input,
        output,
        said,
    }
}

async fn hear(
    mut lines: Lines<Input>,
    mut to_server: DuplexStream,
    client: Arc<ClientLines>,
) -> io::Result<()> {
    while let Some(taken) = lines.next().await? {
        match checked(taken)? {
            Ok(message) => {
                to_server.write_all(&message).await?;
                to_server.write_all(b"\n").await?;
            }
            Err(answer) => client.tell(answer.to_string().as_bytes()).await?,
        }
    }
    Ok(())
}

async fn say(mut lines: Lines<Input>, client: Arc<ClientLines>) -> io::Result<()> {
    while let Some(taken) = lines.next().await? {
        if let Taken::Message(message) = taken {
            client.send(&Edited::unchanged(message), 0).await?;
        }
    }
    Ok(())
}

/// Returns a message, or what is answered to something that is none.
fn checked(taken: Taken) -> io::Result<Result<Vec<u8>, Value>> {
    const END_BYTES: u64 = 4096;
    let too_large = |start: &[u8], end: &[u8]| {
        let id: Option<Value> =
            pending::id_of(start, end).and_then(|id| serde_json::from_str(&id).ok());
        let why = format!("the message is larger than {MOST_BYTES} bytes");
        Ok(Err(refusal(id.as_ref(), INVALID_REQUEST, &why)))
    };
    let held: Held = match taken {
        Taken::Message(held) => held,
        Taken::Lost { start, end, .. } => return too_large(&start, &end),
    };
    let len = held.len();
    if len > MOST_BYTES {
        let end = held.bytes(len - END_BYTES..len)?;
        return too_large(&held.bytes(0..END_BYTES)?, &end);
    }
    let bytes = held.bytes(0..len)?;
    let Err(error) = serde_json::from_slice::<ClientJsonRpcMessage>(&bytes) else {
        return Ok(Ok(bytes));
    };
    Ok(Err(match serde_json::from_slice::<Value>(&bytes) {
        Ok(message) => {
            let why = "it is no JSON-RPC request: an object with `jsonrpc`, `id` and `method`";
            refusal(message.get("id"), INVALID_REQUEST, why)
        }
        Err(_) => {
            // Half a character, or too deep: it may still be seen which request it was.
            let id = pending::id_of(&bytes, b"").and_then(|id| serde_json::from_str(&id).ok());
            refusal(id.as_ref(), PARSE_ERROR, &format!("it is no JSON: {error}"))
        }
    }))
}

fn refusal(id: Option<&Value>, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
