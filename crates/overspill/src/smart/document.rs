//! An output that may be one JSON document. If it is, its preview is that document shortened, and parses.

use std::borrow::Cow;

use super::Salience;
use super::pick::Budget;
use super::query::Query;
use super::{json, reading};
use crate::cut::{Ends, Part, Preview};
use crate::limits::{Limits, Removed, Size, Unit};

/// What is held of a document, beyond what the limits ask for.
const HELD_BYTES: usize = 8 << 20;

/// Follows an output for as long as it may be a JSON document.
#[derive(Debug)]
pub(crate) enum Document {
    /// So far it may be one.
    Open(Box<json::Keeper>),
    /// It is one.
    Whole(Box<json::Document>),
    /// It is not.
    Text,
}

impl Document {
    pub(crate) fn new(limits: &Limits, salience: &Salience) -> Self {
        let held = HELD_BYTES.saturating_add(Budget::of(limits).bytes().saturating_mul(2));
        let mut keeper = json::Keeper::new(held, weight);
        // The words of a command name what is asked of the program, not of the document.
        if let Some(query) = salience.query.as_deref().filter(|_| !salience.is_command) {
            keeper.ask(Query::new(query));
        }
        Document::Open(Box::new(keeper))
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if let Document::Open(keeper) = self
            && !keeper.push(chunk)
        {
            *self = Document::Text;
        }
    }

    /// Takes the end of the output into account.
    pub(crate) fn end(&mut self) {
        if let Document::Open(keeper) = std::mem::replace(self, Document::Text)
            && let Some(document) = keeper.finish()
        {
            *self = Document::Whole(Box::new(document));
        }
    }

    /// Returns the preview of an output that is over its limits, if it is a document and there is room for one.
    pub(crate) fn preview(&self, ends: &Ends<'_>, limits: &Limits) -> Option<Preview<'static>> {
        let Document::Whole(document) = self else {
            return None;
        };
        let text = document.shorten(limits.reach_bytes(), &|text| {
            !crate::cut::is_over(text, limits)
        })?;
        let kept = Size::of(text.as_bytes());
        let removed = Removed {
            count: ends.original().bytes.saturating_sub(kept.bytes),
            unit: Unit::Bytes,
        };
        Some(Preview::new(
            vec![Part::Text(Cow::Owned(text))],
            removed,
            ends.original(),
            kept,
        ))
    }
}

/// Returns a record of JSON shortened to `max_bytes`, if it can be.
pub(super) fn shorten(record: &str, max_bytes: usize) -> Option<String> {
    let mut keeper = json::Keeper::new(HELD_BYTES, weight);
    keeper.push(record.as_bytes());
    keeper.finish()?.shorten(max_bytes, &|_| true)
}

/// Returns how much a string in a document matters.
fn weight(text: &str) -> u32 {
    reading::weight(text.as_bytes())
}
