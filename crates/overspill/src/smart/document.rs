//! An output that may be one JSON document. If it is, its preview is that document shortened, and parses.

use std::borrow::Cow;

use super::pick::Room;
use super::query::Query;
use super::{Asked, Salience};
use super::{json, reading};
use crate::cut::{Ends, Part, Preview};
use crate::limits::{Limits, Removed, Size, Unit};

/// What is held of a document, beyond what the limits ask for.
const DOCUMENT_BYTES: usize = 8 << 20;

/// Follows an output for as long as it may be a JSON document.
#[derive(Debug)]
pub(crate) enum Document {
    /// So far it may be one.
    Open(Box<json::TreeKeeper>),
    /// It is one.
    Whole(Box<json::Tree>),
    /// It is not.
    Text,
}

impl Document {
    pub(crate) fn new(limits: &Limits, salience: &Salience) -> Self {
        let held = DOCUMENT_BYTES.saturating_add(Room::of(limits).bytes().saturating_mul(2));
        let mut keeper = json::TreeKeeper::new(held, weight);
        // The words of a command name what is asked of the program, not of the document.
        if let Asked::Query(query) = &salience.asked {
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
            && let Some(tree) = keeper.finish()
        {
            *self = Document::Whole(Box::new(tree));
        }
    }

    /// Returns the preview of an output that is over its limits, if it is a document and there is room for one.
    pub(crate) fn preview(&self, ends: &Ends<'_>, limits: &Limits) -> Option<Preview<'static>> {
        let Document::Whole(tree) = self else {
            return None;
        };
        let narrow = limits.max_line_chars().map(|max| tree.narrow(max));
        let tree = narrow.as_ref().unwrap_or(tree);
        let text = tree.shorten(limits.reach_bytes(), &|text| {
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
    let mut keeper = json::TreeKeeper::new(DOCUMENT_BYTES, weight);
    keeper.push(record.as_bytes());
    keeper.finish()?.shorten(max_bytes, &|_| true)
}

/// Returns how much a string in a document matters.
fn weight(text: &str) -> u32 {
    reading::weight(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use crate::{Lang, Limits, Strategy, Stream, Streamed};

    fn shown(bytes: &[u8], limits: &Limits) -> String {
        let mut stream = Stream::new(limits, Strategy::Smart);
        bytes.chunks(1000).for_each(|chunk| stream.push(chunk));
        let Streamed::Part(preview) = stream.finish() else {
            panic!()
        };
        preview.text(Lang::En).into_owned()
    }

    fn records(n: usize) -> String {
        let record = |n| format!("{{\"id\":{n},\"log\":\"{}\"}}", "fine ".repeat(n % 50));
        let records: Vec<String> = (0..n).map(record).collect();
        format!("[{}]", records.join(","))
    }

    #[test]
    fn a_line_limit_wraps_a_document() {
        let limits = Limits::none().bytes(4000).line_chars(120);
        let text = shown(records(500).as_bytes(), &limits);
        assert!(
            serde_json::from_str::<Vec<IgnoredAny>>(&text).is_ok(),
            "{text}"
        );
        assert!(text.lines().all(|line| line.len() <= 120), "{text}");
        assert!((3500..=4000).contains(&text.len()), "{text}");
        // Every record is kept where only the line is too long.
        let text = shown(records(30).as_bytes(), &limits.bytes(40_000));
        let kept = serde_json::from_str::<Vec<IgnoredAny>>(&text);
        assert_eq!(kept.map(|kept| kept.len()).ok(), Some(30), "{text}");
    }

    #[test]
    fn what_comes_before_or_is_not_utf8_leaves_it_a_document() {
        let limits = Limits::none().bytes(1000);
        let plain = records(300);
        let expected = shown(plain.as_bytes(), &limits);
        assert!(serde_json::from_str::<Vec<IgnoredAny>>(&expected).is_ok());
        for before in ["\u{feff}", "\n\n  \r\n", "\u{feff}\n"] {
            assert_eq!(
                shown(format!("{before}{plain}").as_bytes(), &limits),
                expected
            );
        }
        let mut bytes = plain.into_bytes();
        let at = bytes.windows(4).position(|four| four == b"fine");
        bytes[at.unwrap()] = 0xff;
        let text = shown(&bytes, &limits);
        assert!(
            serde_json::from_str::<Vec<IgnoredAny>>(&text).is_ok(),
            "{text}"
        );
        assert!(text.contains("\"\u{fffd}ine "), "{text}");
        // A line before it makes it text.
        let echo = format!("$ cat it\n{}", records(300));
        assert!(shown(echo.as_bytes(), &limits).starts_with("$ cat it\n"));
    }
}
