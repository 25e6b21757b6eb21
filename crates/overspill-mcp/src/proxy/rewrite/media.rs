//! Saves images and sounds that are too large to pass, and puts a line of text in their place.

use std::io;
use std::ops::Range;

use overspill::notice::Message;
use overspill::{Format, Keeping, Paths, Policy};
use serde_json::json;

use super::{Kind, copied, inner, text_at};
use crate::proxy::edit::Edit;
use crate::proxy::held::Held;
use crate::proxy::outline::{Block, Body, Span, len};

/// The data of all images and sounds of a result that passes; what is beyond it is saved.
const PASSING_BYTES: u64 = 4 << 20;

/// Returns what is changed for the media of a result.
pub(super) fn media(
    held: &Held,
    body: &Body,
    kind: &Kind<'_>,
    policy: &Policy<'_>,
) -> io::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut room = PASSING_BYTES;
    for block in &body.blocks {
        let Some(data) = data(held, block)? else {
            continue;
        };
        let bytes = len(&inner(&data.value));
        match room.checked_sub(bytes) {
            Some(left) => room = left,
            None => edits.push(stand_in(held, block, data, kind, policy)?),
        }
    }
    Ok(edits)
}

/// Returns what of a block is an image, a sound or a file, which is not read as text.
pub(super) fn data<'b>(held: &Held, block: &'b Block) -> io::Result<Option<&'b Span>> {
    let kind = match &block.kind {
        Some(kind) => text_at(held, kind)?,
        None => String::new(),
    };
    // The items of a resource's contents say no kind.
    let is_media = matches!(kind.as_str(), "image" | "audio" | "resource" | "");
    Ok(block.data.as_ref().filter(|_| is_media))
}

/// Saves the data of a block, and returns what stands there instead.
fn stand_in(
    held: &Held,
    block: &Block,
    data: &Span,
    kind: &Kind<'_>,
    policy: &Policy<'_>,
) -> io::Result<Edit> {
    let kind_of_data = match &block.mime_type {
        Some(range) => text_at(held, range)?,
        None => "data".to_owned(),
    };
    let bytes = len(&inner(&data.value)).to_string();
    let saved = save(held, inner(&data.value), policy);
    let (message, value) = match &saved {
        Ok(path) => (Message::MediaSaved, ("path", path.as_str())),
        Err(why) => (Message::MediaLost, ("why", why.as_str())),
    };
    let values = [("kind", kind_of_data.as_str()), ("n", &bytes), value];
    let text = message.say(policy.lang, &values);
    Ok(match kind {
        Kind::Call => Edit::replace(
            block.span.value.clone(),
            json!({ "type": "text", "text": text }).to_string(),
        ),
        // The address of the resource stays.
        Kind::Resource { .. } => Edit::replace(
            data.start..data.value.end,
            format!("\"text\":{}", json!(text)),
        ),
    })
}

/// Saves data, and returns where it is.
fn save(held: &Held, range: Range<u64>, policy: &Policy<'_>) -> Result<String, String> {
    let (store, paths) = match policy.keeping {
        Keeping::Store { store, paths } => (store, paths),
        Keeping::Nowhere(why) => return Err(why.to_owned()),
    };
    let told = |error: overspill::Error| error.to_string();
    let mut spill = store.begin(&policy.tool).map_err(told)?;
    let mut trouble = Ok(());
    copied(held, range, |piece| {
        if trouble.is_ok() {
            trouble = spill.write(piece).map_err(told);
        }
    })
    .map_err(|error| error.to_string())?;
    trouble?;
    let saved = spill.commit(Format::Text).map_err(told)?;
    Ok(match paths {
        Paths::Relative => saved.path,
        Paths::Absolute => store.absolute(&saved.path),
    })
}
