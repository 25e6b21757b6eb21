//! Bounds what a result shows a model.
//!
//! All text of a result is bounded together, as one output: its text blocks, the text of resources in it, and structured
//! content, which some clients show in place of the text. What is within its limits is not touched.

use std::io::{self, BufReader};
use std::ops::Range;

use overspill::notice::Message;
use overspill::settings::Client;
use overspill::{Bounded, Format, Keeping, Limits, Outcome, Paths, Policy, Sink, Truncated};
use serde_json::{Value, json};

use super::edit::Edit;
use super::held::Held;
use super::json::unescape;
use super::outline::{Block, Body, Outline, Span, ToolEntry};
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

/// Bounds a result; nothing is changed if it may be sent as it came.
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
    let outcome = match &body.is_error {
        Some(range) if held.bytes(range.clone())? == b"true" => Outcome::Failed,
        _ => Outcome::Succeeded,
    };
    let limit = Limit {
        policy,
        client,
        outcome,
    };
    let (cut, loses_structure) = match limit.shown(held, body, &texts)? {
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
            (Some(first), Kind::Resource) => {
                let text = first.text.clone().unwrap_or_default();
                edits.push(Edit::replace(text, json!(cut.content).to_string()));
            }
            (None, _) => edits.push(beginning(held, list, body, content)?),
        }
        for block in texts.iter().skip(1) {
            edits.push(Edit::remove(&block.span, held)?);
        }
    }
    Ok(edits)
}

/// Puts blocks at the beginning of a list; what is no list becomes one.
fn beginning(held: &Held, list: &Span, body: &Body, content: &str) -> io::Result<Edit> {
    if !is_array(held, &list.value)? {
        return Ok(Edit::replace(list.value.clone(), format!("[{content}]")));
    }
    let comma = if body.blocks.is_empty() { "" } else { "," };
    Ok(Edit::insert(
        list.value.start + 1,
        format!("{content}{comma}"),
    ))
}

fn is_array(held: &Held, range: &Range<u64>) -> io::Result<bool> {
    Ok(held.bytes(range.start..range.start + 1)? == b"[")
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
    outcome: Outcome,
}

impl Limit<'_> {
    fn shown(&self, held: &Held, body: &Body, texts: &[&Block]) -> io::Result<Shown> {
        let text_bytes: u64 = texts
            .iter()
            .filter_map(|block| block.text.as_ref())
            .map(len)
            .sum();
        let structured = body.structured.as_ref().map(|span| span.value.clone());
        let structured_bytes = structured.as_ref().map_or(0, len);
        if self.is_surely_within(text_bytes) && self.is_surely_within(structured_bytes) {
            return Ok(Shown::AsItCame);
        }
        let loses_structure = match &structured {
            Some(range) => !self.is_within(held, range)?,
            None => false,
        };
        // What is not shown must be in the spill, unless it is there as text.
        let also = match structured.filter(|_| loses_structure) {
            Some(range) if !says_the_same(held, texts, &range)? => Some(range),
            _ => None,
        };
        Ok(match self.bounded(held, texts, also)? {
            Bounded::Cut(cut) => Shown::Cut {
                cut,
                loses_structure,
            },
            Bounded::Whole(_) if loses_structure => Shown::WithoutStructure,
            Bounded::Whole(_) => Shown::AsItCame,
        })
    }

    /// Bounds the texts, and what else is given as JSON, as one output.
    fn bounded(
        &self,
        held: &Held,
        texts: &[&Block],
        also: Option<Range<u64>>,
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
        let size = |text: &[u8]| {
            let text = overspill::decode(text);
            match self.client {
                Some(client) => client.size(&text),
                None => text.chars().count(),
            }
        };
        Ok(sink.finish_as(self.outcome, |bounded| match bounded {
            Bounded::Whole(bytes) => size(bytes),
            Bounded::Cut(cut) => size(cut.content.as_bytes()) + AROUND,
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
        [
            limits.max_lines(),
            limits.max_bytes(),
            limits.max_chars(),
            limits.max_tokens(),
            limits.max_line_chars(),
            self.policy.max_result_chars,
            self.most(),
        ]
        .into_iter()
        .flatten()
        .all(|limit| bytes <= limit as u64)
    }

    /// Returns the most of a message, if its client is known.
    fn most(&self) -> Option<usize> {
        self.client.map(|client| client.most(self.outcome))
    }

    /// Returns the policy with the client's own cut as its guard.
    fn guarded(&self) -> Policy<'_> {
        Policy {
            max_result_chars: self.most().or(self.policy.max_result_chars),
            ..self.policy.clone()
        }
    }
}

/// Tells whether a text is the structured content, written as JSON.
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
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let text: Option<String> = serde_json::from_slice(&held.bytes(text.clone())?).ok();
    let said = text.and_then(|text| value(text.as_bytes()));
    Ok(said.is_some() && said == value(&held.bytes(structured.clone())?))
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
        let is_large = |data: &&Span| block.text.is_none() && len(&data.value) > MEDIA_BYTES;
        let Some(data) = block.data.as_ref().filter(is_large) else {
            continue;
        };
        let kind_of_data = match &block.mime_type {
            Some(range) => text_at(held, range)?,
            None => "data".to_owned(),
        };
        let bytes = len(&data.value).to_string();
        let saved = save_base64(held, inner(&data.value), policy);
        let (message, value) = match &saved {
            Ok(path) => (Message::MediaSaved, ("path", path.as_str())),
            Err(why) => (Message::MediaLost, ("why", why.as_str())),
        };
        let values = [("kind", kind_of_data.as_str()), ("n", &bytes), value];
        let text = message.say(policy.lang, &values);
        edits.push(match kind {
            Kind::Call => Edit::replace(
                block.span.value.clone(),
                json!({ "type": "text", "text": text }).to_string(),
            ),
            // The address of the resource stays.
            Kind::Resource => Edit::replace(
                data.start..data.value.end,
                format!("\"text\":{}", json!(text)),
            ),
        });
    }
    Ok(edits)
}

/// Saves data, and returns where it is.
fn save_base64(held: &Held, range: Range<u64>, policy: &Policy<'_>) -> Result<String, String> {
    let (store, paths) = match policy.keeping {
        Keeping::Store { store, paths } => (store, paths),
        Keeping::Nowhere(why) => return Err(why.to_owned()),
    };
    let told = |error: overspill::Error| error.to_string();
    let mut spill = store.begin(&policy.tool).map_err(told)?;
    let mut input = input(held, range);
    loop {
        let buffer = io::BufRead::fill_buf(&mut input).map_err(|error| error.to_string())?;
        if buffer.is_empty() {
            break;
        }
        spill.write(buffer).map_err(told)?;
        let len = buffer.len();
        io::BufRead::consume(&mut input, len);
    }
    let saved = spill.commit(Format::Text).map_err(told)?;
    Ok(match paths {
        Paths::Relative => saved.path,
        Paths::Absolute => store.absolute(&saved.path),
    })
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
    let is_open = !is_taken && !outline.has_cursor && is_array(held, &list)?;
    if !own.is_empty() && is_open {
        let own: Vec<String> = own.iter().map(Value::to_string).collect();
        let comma = if outline.tools.is_empty() { "" } else { "," };
        edits.push(Edit::insert(
            list.end - 1,
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
