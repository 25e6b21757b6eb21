//! Bounds what an error shows a model: its message, and its data where that is long.

use std::io;
use std::ops::Range;

use overspill::Bounded;
use serde_json::json;

use super::limit::Limit;
use crate::proxy::UNUSABLE;
use crate::proxy::edit::Edit;
use crate::proxy::held::Held;
use crate::proxy::outline::{Failure, len};

/// Returns what is changed in an error; nothing if it may be sent as it came.
pub(super) fn failure(held: &Held, failure: &Failure, limit: &Limit<'_>) -> io::Result<Vec<Edit>> {
    if limit.is_surely_within(len(&failure.all)) {
        return Ok(Vec::new());
    }
    let data = failure.data.as_ref().map(|data| &data.value);
    let known: u64 = [failure.message.as_ref(), data]
        .into_iter()
        .flatten()
        .map(len)
        .sum();
    // What is neither message nor data, beside their keys and the code.
    let is_odd = len(&failure.all) > known + limit.most_beside();
    let (Some(message), false) = (&failure.message, is_odd) else {
        return whole(held, failure, limit);
    };
    // Data that is short is for the client's program, which may need it as it is.
    let long = failure
        .data
        .as_ref()
        .filter(|data| len(&data.value) > limit.most_beside());
    let parts: Vec<Range<u64>> = std::iter::once(message.clone())
        .chain(long.map(|data| data.value.clone()))
        .collect();
    let Bounded::Cut(cut) = limit.bounded(held, &parts)? else {
        return Ok(Vec::new());
    };
    let mut edits = vec![Edit::replace(
        message.clone(),
        json!(cut.content).to_string(),
    )];
    if let Some(data) = long {
        edits.push(Edit::remove(data, held)?);
    }
    Ok(edits)
}

/// Bounds an error of no known shape as one text.
fn whole(held: &Held, failure: &Failure, limit: &Limit<'_>) -> io::Result<Vec<Edit>> {
    let all = std::slice::from_ref(&failure.all);
    let Bounded::Cut(cut) = limit.bounded(held, all)? else {
        return Ok(Vec::new());
    };
    let code = match &failure.code {
        Some(code) => {
            serde_json::from_slice(&held.bytes(code.start..code.end.min(code.start + 20))?).ok()
        }
        None => None,
    };
    let error = json!({ "code": code.unwrap_or(UNUSABLE), "message": cut.content });
    Ok(vec![Edit::replace(failure.all.clone(), error.to_string())])
}
