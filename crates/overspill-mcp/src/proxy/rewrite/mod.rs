//! Bounds what an answer shows a model.
//!
//! All text of a result is bounded together, as one output: its text blocks, the text of resources in it, and structured
//! content, which some clients show in place of the text. What is within its limits is not touched. A result of a shape that
//! nobody knows, or of which most is neither text nor data, is bounded as the JSON that it is.

mod failure;
mod limit;
mod media;
mod tools;

use std::io::{self, BufRead as _};
use std::ops::Range;

use overspill::settings::Client;
use overspill::{Bounded, Outcome, Policy, Record, Truncated};
use serde_json::{Value, json};

use self::limit::Limit;
pub(super) use self::tools::tools;
use super::edit::Edit;
use super::held::Held;
use super::outline::{Block, Body, Outline, Span, len};
use crate::link;

/// What kind of a result it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind<'a> {
    /// Of a tool: `content`.
    Call,
    /// Of a resource: `contents`.
    Resource {
        /// The address that was asked for.
        uri: &'a str,
    },
}

/// What is shown of the text of a result.
enum Shown {
    /// All of the result, as it came.
    AsItCame,
    /// The text as it came, which says what the structured content says, without that.
    WithoutStructure,
    /// What is left of the text, and of the structured content if that is too long and says more.
    Cut {
        cut: Box<Truncated>,
        loses_structure: bool,
    },
}

/// Bounds an answer; nothing is changed if it may be sent as it came.
pub(super) fn bound(
    held: &Held,
    outline: &Outline,
    kind: Kind<'_>,
    policy: &Policy<'_>,
    client: Option<&'static Client>,
) -> io::Result<Vec<Edit>> {
    let limit = |outcome, beside| Limit {
        policy,
        client,
        outcome,
        beside,
    };
    let mut edits = match &outline.failure {
        Some(failure) => failure::failure(held, failure, &limit(Outcome::Failed, 0))?,
        None => Vec::new(),
    };
    let body = &outline.body;
    let outcome = match &body.is_error {
        Some(range) if held.bytes(range.clone())? == b"true" => Outcome::Failed,
        _ => Outcome::Succeeded,
    };
    let (Some(outer), Some(innermost)) = (body.outer.clone(), body.innermost()) else {
        return Ok(edits);
    };
    let beside = Beside::of(held, body)?;
    let alone = limit(outcome, 0);
    if is_unshaped(held, body, &outer)? {
        edits.extend(whole(held, body, outer, kind, &alone)?);
    } else if beside.loose > alone.most_beside() && !asks_the_client(held, body)? {
        edits.extend(whole(held, body, innermost, kind, &alone)?);
    } else {
        let limit = limit(outcome, beside.loose);
        edits.extend(result(held, body, kind, &limit, &beside)?);
    }
    Ok(edits)
}

/// How much of a result is neither text nor data.
struct Beside {
    /// Members, and blocks that pass whatever becomes of the text.
    loose: u64,
    /// What is around texts, and goes with them.
    wrapping: u64,
}

impl Beside {
    fn of(held: &Held, body: &Body) -> io::Result<Beside> {
        /// What a text has around it at the least.
        const TEXT_BLOCK: u64 = br#"{"type":"text","text":}"#.len() as u64;
        let mut beside = Beside {
            loose: body.loose,
            wrapping: 0,
        };
        for block in &body.blocks {
            let all = len(&block.span.value);
            if let Some(text) = &block.text {
                beside.wrapping += all.saturating_sub(len(text) + TEXT_BLOCK);
            } else if let Some(data) = media::data(held, block)? {
                beside.loose += all.saturating_sub(len(&data.value));
            } else {
                beside.loose += all;
            }
        }
        Ok(beside)
    }
}

/// Tells whether a result asks the client for something; what it asks with is not for the model.
fn asks_the_client(held: &Held, body: &Body) -> io::Result<bool> {
    Ok(match &body.kind {
        Some(kind) => text_at(held, kind)? == "input_required",
        None => false,
    })
}

/// Tells whether nobody knows what a client shows of a result.
fn is_unshaped(held: &Held, body: &Body, outer: &Range<u64>) -> io::Result<bool> {
    let is_list_odd = match &body.list {
        Some(list) => !begins(held, &list.value, b'[')?,
        None => false,
    };
    let is_inner_odd = match &body.inner {
        Some(inner) => !begins(held, inner, b'{')?,
        None => false,
    };
    let has_both = |block: &Block| block.text.is_some() && block.data.is_some();
    Ok(body.is_ambiguous
        || is_list_odd
        || is_inner_odd
        || !begins(held, outer, b'{')?
        || body.blocks.iter().any(has_both))
}

/// What a result calls itself that is nothing but a result.
const COMPLETE: &str = "complete";

/// Bounds a result as one piece of JSON.
fn whole(
    held: &Held,
    body: &Body,
    all: Range<u64>,
    kind: Kind<'_>,
    limit: &Limit<'_>,
) -> io::Result<Vec<Edit>> {
    if limit.is_surely_within(len(&all)) {
        return Ok(Vec::new());
    }
    let Bounded::Cut(cut) = limit.bounded(held, std::slice::from_ref(&all))? else {
        return Ok(Vec::new());
    };
    let mut result = match kind {
        Kind::Call => format!("\"content\":[{}]", blocks(&cut, kind)),
        Kind::Resource { uri } => {
            let content = json!({ "uri": uri, "mimeType": "text/plain", "text": cut.content });
            format!("\"contents\":[{content}]")
        }
    };
    if limit.outcome == Outcome::Failed {
        result += ",\"isError\":true";
    }
    if body.kind.is_some() {
        result += &format!(",\"resultType\":\"{COMPLETE}\"");
    }
    Ok(vec![Edit::replace(all, format!("{{{result}}}"))])
}

/// Bounds a result of the known shape.
fn result(
    held: &Held,
    body: &Body,
    kind: Kind<'_>,
    limit: &Limit<'_>,
    beside: &Beside,
) -> io::Result<Vec<Edit>> {
    let mut edits = media::media(held, body, &kind, limit.policy)?;
    let texts: Vec<&Block> = body
        .blocks
        .iter()
        .filter(|block| block.text.is_some())
        .collect();
    let (cut, loses_structure) = match shown(held, body, &texts, limit)? {
        Shown::AsItCame if beside.wrapping > limit.most_beside() => {
            return match body.innermost() {
                Some(all) => whole(held, body, all, kind, limit),
                None => Ok(edits),
            };
        }
        Shown::AsItCame => return Ok(edits),
        Shown::WithoutStructure => (None, true),
        Shown::Cut {
            cut,
            loses_structure,
        } => (Some(cut), loses_structure),
    };
    let content = cut.as_ref().map(|cut| blocks(cut, kind));
    if let Some(structured) = body.structured.as_ref().filter(|_| loses_structure) {
        // Without a list of content this is all there is, and the list takes its place.
        edits.push(match (&body.list, &content) {
            (None, Some(content)) => Edit::replace(
                structured.start..structured.value.end,
                format!("\"content\":[{content}]"),
            ),
            _ => Edit::remove(structured, held)?,
        });
    }
    // Without a cut the text is within its limits.
    if let (Some(cut), Some(list), Some(content)) = (&cut, &body.list, &content) {
        match (texts.first(), kind) {
            (Some(first), Kind::Call) => {
                edits.push(Edit::replace(first.span.value.clone(), content.as_str()));
            }
            (Some(first), Kind::Resource { .. }) => {
                let text = first.text.clone().unwrap_or_default();
                edits.push(Edit::replace(text, json!(cut.content).to_string()));
            }
            (None, _) => edits.push(beginning(list, body, content)),
        }
        for block in texts.iter().skip(1) {
            edits.push(Edit::remove(&block.span, held)?);
        }
    }
    Ok(edits)
}

/// Decides what is shown of a result.
fn shown(held: &Held, body: &Body, texts: &[&Block], limit: &Limit<'_>) -> io::Result<Shown> {
    let mut parts: Vec<Range<u64>> = texts
        .iter()
        .filter_map(|block| block.text.clone())
        .collect();
    let text_bytes: u64 = parts.iter().map(len).sum();
    let structured = body.structured.as_ref().map(|span| span.value.clone());
    let structured_bytes = structured.as_ref().map_or(0, len);
    if limit.is_surely_within(text_bytes) && limit.is_surely_within(structured_bytes) {
        // What is within every limit is bounded only where its size is to be recorded.
        if let Record::Journal(_) = limit.policy.record {
            let _ = limit.bounded(held, &parts)?;
        }
        return Ok(Shown::AsItCame);
    }
    let loses_structure = match &structured {
        Some(range) => !limit.is_within(held, range)?,
        None => false,
    };
    // What is not shown must be in the spill, unless it is there as text.
    if let Some(range) = structured.filter(|_| loses_structure)
        && !says_the_same(held, texts, &range)?
    {
        parts.push(range);
    }
    Ok(match limit.bounded(held, &parts)? {
        Bounded::Cut(cut) => Shown::Cut {
            cut,
            loses_structure,
        },
        Bounded::Whole(_) if loses_structure => Shown::WithoutStructure,
        Bounded::Whole(_) => Shown::AsItCame,
    })
}

/// Puts blocks at the beginning of a list.
fn beginning(list: &Span, body: &Body, content: &str) -> Edit {
    let comma = if body.blocks.is_empty() { "" } else { "," };
    Edit::insert(list.value.start + 1, format!("{content}{comma}"))
}

/// Returns the blocks that show a cut, as JSON without brackets.
fn blocks(cut: &Truncated, kind: Kind<'_>) -> String {
    let text = json!({ "type": "text", "text": cut.content }).to_string();
    let record = &cut.truncation;
    match (&record.id, kind) {
        (Some(id), Kind::Call) => {
            format!("{text},{}", link::block(id, record.original_bytes))
        }
        _ => text,
    }
}

/// Tells whether a text is the structured content: written as JSON, or as the one member of an object, as servers do that
/// must have an object.
fn says_the_same(held: &Held, texts: &[&Block], structured: &Range<u64>) -> io::Result<bool> {
    /// More is not compared, and taken to say something else.
    const COMPARED_BYTES: u64 = 8 << 20;
    let [
        Block {
            text: Some(text), ..
        },
    ] = texts
    else {
        return Ok(false);
    };
    if len(text) > COMPARED_BYTES || len(structured) > COMPARED_BYTES {
        return Ok(false);
    }
    let text: Option<String> = serde_json::from_slice(&held.bytes(text.clone())?).ok();
    let data: Option<Value> = serde_json::from_slice(&held.bytes(structured.clone())?).ok();
    let (Some(text), Some(data)) = (text, data) else {
        return Ok(false);
    };
    let said: Option<Value> = serde_json::from_str(&text).ok();
    let is_said = |data: &Value| data.as_str() == Some(&text) || said.as_ref() == Some(data);
    let only = data.as_object().filter(|members| members.len() == 1);
    let only = only.and_then(|members| members.values().next());
    Ok(is_said(&data) || only.is_some_and(is_said))
}

/// Tells what a value is by the byte that it begins with.
fn begins(held: &Held, range: &Range<u64>, with: u8) -> io::Result<bool> {
    Ok(held.bytes(range.start..range.start + 1)? == [with])
}

/// Returns a string's place without its quotes.
fn inner(range: &Range<u64>) -> Range<u64> {
    range.start + 1..range.end.saturating_sub(1).max(range.start + 1)
}

/// Gives a part of a message to `take` as it is written.
fn copied(held: &Held, range: Range<u64>, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut input = held.pieces(range);
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        take(buffer);
        let len = buffer.len();
        input.consume(len);
    }
}

/// Returns a short string of a message.
pub(super) fn text_at(held: &Held, range: &Range<u64>) -> io::Result<String> {
    const MOST: u64 = 4096;
    let end = range.end.min(range.start + MOST);
    Ok(serde_json::from_slice(&held.bytes(range.start..end)?).unwrap_or_default())
}
