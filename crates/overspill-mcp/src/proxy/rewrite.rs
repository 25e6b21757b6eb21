//! Bounds what a result shows a model.
//!
//! All text of a result is bounded together, as one output: its text blocks, the text of resources in it, and structured
//! content, which some clients show in place of the text. What is within its limits is not touched.

use std::io::{self, BufReader};
use std::ops::Range;

use overspill::settings::Client;
use overspill::{Bounded, Keeping, Limits, Outcome, Policy, Sink, Truncated};
use serde_json::{Value, json};

use super::edit::Edit;
use super::held::Held;
use super::json::unescape;
use super::outline::{Block, Body, Outline, ToolEntry};
use crate::link;

/// An image or a sound whose data is longer is saved, and a line of text stands for it.
const MEDIA_BYTES: u64 = 4 << 20;

/// What a message has around its text: the block it stands in, and the link to the spill.
const AROUND: usize = 300;

/// What kind of a result it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Of a tool: `content`.
    Call,
    /// Of a resource: `contents`.
    Resource,
}

/// Bounds a result; nothing if it may be sent as it came.
pub(super) fn bound(
    held: &Held,
    body: &Body,
    kind: Kind,
    policy: &Policy<'_>,
    client: Option<&'static Client>,
) -> io::Result<Vec<Edit>> {
    let mut edits = media(held, body, kind, policy)?;
    let texts: Vec<&Block> = body
        .blocks
        .iter()
        .filter(|block| block.text.is_some())
        .collect();
    let limit = Limit { policy, client };
    let Some(shown) = limit.shown(held, body, &texts)? else {
        return Ok(edits);
    };
    if let Some(structured) = &body.structured {
        // Without a list of content this is all there is, and the list takes its place.
        edits.push(match body.list {
            Some(_) => Edit::remove(structured, held)?,
            None => {
                let content = shown.as_ref().map(|cut| blocks(cut, kind));
                let content = content.unwrap_or_default();
                Edit::replace(
                    structured.start..structured.value.end,
                    format!("\"content\":[{content}]"),
                )
            }
        });
    }
    // The text alone is within its limits.
    let (Some(cut), Some(list)) = (shown, &body.list) else {
        return Ok(edits);
    };
    match (texts.first(), kind) {
        (Some(first), Kind::Call) => {
            edits.push(Edit::replace(first.span.value.clone(), blocks(&cut, kind)));
        }
        (Some(first), Kind::Resource) => {
            let text = first.text.clone().unwrap_or_default();
            edits.push(Edit::replace(text, json!(cut.content).to_string()));
        }
        (None, _) => {
            let comma = if body.blocks.is_empty() { "" } else { "," };
            let content = format!("{}{comma}", blocks(&cut, kind));
            edits.push(Edit::insert(list.value.start + 1, content));
        }
    }
    for block in texts.iter().skip(1) {
        edits.push(Edit::remove(&block.span, held)?);
    }
    Ok(edits)
}

/// Returns the blocks that show a cut, as JSON without brackets.
fn blocks(cut: &Truncated, kind: Kind) -> String {
    let text = json!({ "type": "text", "text": cut.content }).to_string();
    let record = &cut.truncation;
    match (&record.id, kind) {
        (Some(id), Kind::Call) => {
            format!("{text},{}", link::block(id, record.original_bytes))
        }
        _ => text,
    }
}

/// What bounds a result.
struct Limit<'p> {
    policy: &'p Policy<'p>,
    client: Option<&'static Client>,
}

impl Limit<'_> {
    /// Returns what is shown of the text: nothing if all of a result may be sent as it came, and no cut if only its
    /// structured content is too long and the text says the same.
    fn shown(
        &self,
        held: &Held,
        body: &Body,
        texts: &[&Block],
    ) -> io::Result<Option<Option<Box<Truncated>>>> {
        let text_bytes: u64 = texts
            .iter()
            .filter_map(|block| block.text.as_ref())
            .map(len)
            .sum();
        let structured = body.structured.as_ref().map(|span| span.value.clone());
        let structured_bytes = structured.as_ref().map_or(0, len);
        if self.is_surely_within(text_bytes) && self.is_surely_within(structured_bytes) {
            return Ok(None);
        }
        let is_structured_over = match &structured {
            Some(range) => !self.is_within(held, range)?,
            None => false,
        };
        let says_the_same = text_bytes.saturating_mul(2) >= structured_bytes;
        let also = structured.filter(|_| is_structured_over && !says_the_same);
        let outcome = match &body.is_error {
            Some(range) if held.bytes(range.clone())? == b"true" => Outcome::Failed,
            _ => Outcome::Succeeded,
        };
        match self.bounded(held, texts, also, outcome)? {
            Bounded::Cut(cut) => Ok(Some(Some(cut))),
            Bounded::Whole(_) if is_structured_over => Ok(Some(None)),
            Bounded::Whole(_) => Ok(None),
        }
    }

    /// Bounds the texts, and what else is given as JSON, as one output.
    fn bounded(
        &self,
        held: &Held,
        texts: &[&Block],
        also: Option<Range<u64>>,
        outcome: Outcome,
    ) -> io::Result<Bounded<'static>> {
        let policy = self.guarded();
        let mut sink = Sink::new(&policy);
        let mut ends_in_newline = true;
        for range in texts.iter().filter_map(|block| block.text.clone()) {
            if !ends_in_newline {
                sink.push(b"\n");
            }
            unescape(input(held, inner(&range)), |piece| {
                sink.push(piece);
                ends_in_newline = piece.last() == Some(&b'\n');
            })?;
        }
        if let Some(range) = also {
            if !ends_in_newline {
                sink.push(b"\n");
            }
            push_raw(held, range, &mut sink)?;
        }
        Ok(sink.finish_as(outcome, |bounded| match bounded {
            Bounded::Whole(bytes) => bytes.len(),
            Bounded::Cut(cut) => cut.content.len() + AROUND,
        }))
    }

    /// Tells whether a piece of JSON, taken as text, is within the limits.
    fn is_within(&self, held: &Held, range: &Range<u64>) -> io::Result<bool> {
        let policy = Policy {
            keeping: Keeping::Nowhere(""),
            ..self.guarded()
        };
        let mut sink = Sink::new(&policy);
        push_raw(held, range.clone(), &mut sink)?;
        Ok(matches!(sink.finish(Outcome::Succeeded), Bounded::Whole(_)))
    }

    /// Tells whether so many bytes of JSON are within every limit, whatever they are.
    fn is_surely_within(&self, bytes: u64) -> bool {
        let limits: &Limits = &self.policy.limits;
        let guard = self.client.map(|client| client.message);
        [
            limits.max_lines(),
            limits.max_bytes(),
            limits.max_chars(),
            limits.max_tokens(),
            limits.max_line_chars(),
            self.policy.max_result_chars,
            guard,
        ]
        .into_iter()
        .flatten()
        .all(|limit| bytes <= limit as u64)
    }

    /// Returns the policy with the client's own cut as its guard.
    fn guarded(&self) -> Policy<'_> {
        let message = self.client.map(|client| client.message);
        Policy {
            max_result_chars: message.or(self.policy.max_result_chars),
            ..self.policy.clone()
        }
    }
}

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Returns a string's place without its quotes.
fn inner(range: &Range<u64>) -> Range<u64> {
    range.start + 1..range.end.saturating_sub(1).max(range.start + 1)
}

fn input(held: &Held, range: Range<u64>) -> impl io::BufRead {
    BufReader::with_capacity(64 << 10, held.part(range))
}

fn push_raw(held: &Held, range: Range<u64>, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut input = input(held, range);
    loop {
        let buffer = io::BufRead::fill_buf(&mut input)?;
        if buffer.is_empty() {
            return Ok(());
        }
        sink.push(buffer);
        let len = buffer.len();
        io::BufRead::consume(&mut input, len);
    }
}

/// Saves images and sounds that are too large to pass, and puts a line of text in their place.
fn media(held: &Held, body: &Body, kind: Kind, policy: &Policy<'_>) -> io::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for block in &body.blocks {
        let Some(data) = block.data.clone().filter(|data| len(data) > MEDIA_BYTES) else {
            continue;
        };
        let mime_type = match &block.mime_type {
            Some(range) => text_at(held, range)?,
            None => "data".to_owned(),
        };
        let place = save_base64(held, inner(&data), policy);
        let text = format!(
            "{mime_type}, {} bytes of base64, not shown. {place}",
            len(&data)
        );
        edits.push(match kind {
            Kind::Call => Edit::replace(
                block.span.value.clone(),
                json!({ "type": "text", "text": text }).to_string(),
            ),
            // The address of the resource stays.
            Kind::Resource => {
                let key = held.bytes(data.start.saturating_sub(16)..data.start)?;
                let at = key.windows(6).rposition(|word| word == b"\"blob\"");
                let start = at.map_or(data.start, |at| data.start - (key.len() - at) as u64);
                let member = format!("\"text\":{}", json!(text));
                Edit::replace(start..data.end, member)
            }
        });
    }
    Ok(edits)
}

/// Saves data, and tells where.
fn save_base64(held: &Held, range: Range<u64>, policy: &Policy<'_>) -> String {
    let Keeping::Store { store, .. } = policy.keeping else {
        return "It was not saved.".to_owned();
    };
    let save = || -> Result<String, String> {
        let mut spill = store
            .begin(&policy.tool)
            .map_err(|error| error.to_string())?;
        let mut input = input(held, range.clone());
        loop {
            let buffer = io::BufRead::fill_buf(&mut input).map_err(|error| error.to_string())?;
            if buffer.is_empty() {
                break;
            }
            spill.write(buffer).map_err(|error| error.to_string())?;
            let len = buffer.len();
            io::BufRead::consume(&mut input, len);
        }
        let saved = spill
            .commit(overspill::Format::Text)
            .map_err(|error| error.to_string())?;
        Ok(saved.path)
    };
    match save() {
        Ok(path) => format!("Saved as base64 to: {path}"),
        Err(why) => format!("It was not saved: {why}"),
    }
}

/// Returns a short string of a message.
pub(super) fn text_at(held: &Held, range: &Range<u64>) -> io::Result<String> {
    const MOST: u64 = 4096;
    let end = range.end.min(range.start + MOST);
    Ok(serde_json::from_slice(&held.bytes(range.start..end)?).unwrap_or_default())
}

/// Changes a list of tools: what our results cannot keep to goes, and our own tools come in.
pub(super) fn tools(
    held: &Held,
    outline: &Outline,
    own: &[Value],
    meta: impl Fn(&str) -> Option<Value>,
) -> io::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut is_taken = false;
    for tool in &outline.tools {
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
    let Some(list) = outline.tool_list.clone() else {
        return Ok(edits);
    };
    // They stand on the last page.
    if !own.is_empty() && !is_taken && !outline.has_cursor {
        let own: Vec<String> = own.iter().map(Value::to_string).collect();
        let comma = if outline.tools.is_empty() { "" } else { "," };
        edits.push(Edit::insert(
            list.end - 1,
            format!("{comma}{}", own.join(",")),
        ));
    }
    Ok(edits)
}

fn with_meta(tool: &ToolEntry, meta: Option<Value>) -> Option<Edit> {
    let meta = meta.filter(|_| !tool.has_meta)?;
    let comma = if tool.name.is_some() { "," } else { "" };
    Some(Edit::insert(
        tool.span.value.end - 1,
        format!("{comma}\"_meta\":{meta}"),
    ))
}
