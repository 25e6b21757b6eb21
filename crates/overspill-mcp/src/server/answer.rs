//! What a client is sent of a tool's answer.

use overspill::{
    Bounded, Cut, Envelope, Host, Limits, Outcome, Policy, Record, Sink, Status, Strategy, cut,
};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::Value;

use super::resources;

/// Returns the result of a call. The text is what the model reads; what a program reads is added where it costs the model
/// nothing, since some clients show it that and not the text.
pub(super) fn result(envelope: &Envelope, tool: &str, host: &Host) -> CallToolResult {
    let text = fitted(envelope, tool, host);
    let is_error = envelope.status == Status::Error;
    let link = link(envelope);
    let data = structured(envelope, &text);
    let content: Vec<ContentBlock> = std::iter::once(ContentBlock::text(text))
        .chain(link.map(ContentBlock::resource_link))
        .collect();
    let mut result = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = data;
    result
}

/// Returns what a model reads of an envelope: its text, and what was read or kept, which stands beside the text.
fn message(envelope: &Envelope) -> String {
    let member = |key: &str| envelope.data.get(key).and_then(Value::as_str);
    let text = &envelope.text;
    match (member("preview"), member("content")) {
        (Some(preview), _) => match &envelope.error {
            // The notice took the place of what went wrong.
            Some(failure) => format!("{}\n\n{preview}\n\n{text}", failure.message),
            None => format!("{preview}\n\n{text}"),
        },
        (None, Some(content)) => format!("{text}\n\n{content}"),
        (None, None) => text.clone(),
    }
}

/// Returns the message, with less of what it shows where the client would cut it. A tool that pages keeps to limits that are
/// below that cut; what was cut already loses more of its preview, and keeps its notice.
pub(crate) fn fitted(envelope: &Envelope, tool: &str, host: &Host) -> String {
    let text = message(envelope);
    let effective = host.settings().effective(tool);
    let outcome = match envelope.status {
        Status::Error => Outcome::Failed,
        _ => Outcome::Succeeded,
    };
    let client = effective
        .client()
        .filter(|client| client.size(&text) > client.most(outcome));
    let Some(client) = client else {
        return text;
    };
    if let Some(Value::String(preview)) = envelope.data.get("preview") {
        let room = (preview.len() + client.most(outcome)).saturating_sub(text.len());
        let limits = Limits::none().bytes(room.max(1));
        let less = match cut(preview, &limits, Strategy::HeadTail) {
            Cut::Whole(preview) => preview.to_owned(),
            Cut::Part(less) => less.text(effective.lang()).into_owned(),
        };
        return text.replacen(preview, &less, 1);
    }
    let policy = Policy {
        max_result_chars: Some(client.most(outcome)),
        // The call is recorded already.
        record: Record::Nothing,
        ..host.policy(tool, &effective)
    };
    let mut sink = Sink::new(&policy);
    sink.push(text.as_bytes());
    shown(&sink.finish_as(outcome, |bounded| client.size(&shown(bounded))))
}

fn shown(bounded: &Bounded<'_>) -> String {
    match bounded {
        Bounded::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Bounded::Cut(cut) => cut.content.clone(),
    }
}

/// Returns the data of a complete answer, if it is no longer than the text.
fn structured(envelope: &Envelope, text: &str) -> Option<Value> {
    let is_complete = envelope.status == Status::Success && message(envelope) == text;
    let data = Value::Object(envelope.data.clone());
    (is_complete && !envelope.data.is_empty() && data.to_string().len() <= text.len())
        .then_some(data)
}

/// Returns a link to the spill of an answer that was cut.
fn link(envelope: &Envelope) -> Option<Resource> {
    let record = envelope.data.get("truncation")?;
    let id = record.get("id")?.as_str()?;
    let bytes = record.get("original_bytes").and_then(Value::as_u64);
    Some(resources::resource(id, bytes))
}
