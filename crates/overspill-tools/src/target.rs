//! Turns the path of a call into what it names: something inside the root, or a spill.

use std::fs::File;
use std::sync::Arc;

use overspill::notice::Message;
use overspill::{Answer, Code, Context, Entry, Limits, ToolError, io_cause};

use crate::sandbox::{Kind, Place, Refusal, Root};

/// The most chars of a parameter that an answer repeats.
const QUOTED_CHARS: usize = 200;

/// Up to how many bytes a parameter is repeated as it was given.
const REPEATED_BYTES: usize = 1000;

/// What the path of a call names.
#[derive(Debug)]
pub(crate) enum Target {
    /// Something inside the root.
    Inside(Place),
    /// A spill, which may be kept outside.
    Spill(Entry, File),
}

/// Opens the root of a call.
pub(crate) fn root(cx: &Context<'_>) -> Result<Arc<Root>, ToolError> {
    let opened = Root::open(cx.root());
    opened
        .map(Arc::new)
        .map_err(|error| trouble(cx, &cx.root().to_string_lossy(), &error))
}

/// Finds what a path names; `missing` words it where that is nothing.
pub(crate) fn find(
    cx: &Context<'_>,
    root: &Root,
    given: &str,
    missing: Message,
) -> Result<Target, ToolError> {
    let refusal = match root.resolve(given) {
        Ok(place) => return Ok(Target::Inside(place)),
        Err(refusal) => refusal,
    };
    if let Some((entry, file)) = spill(cx, given) {
        return Ok(Target::Spill(entry, file));
    }
    Err(match refusal {
        Refusal::Outside => outside(cx),
        Refusal::Missing => {
            let message = missing.say(cx.lang(), &[("path", &quoted(given))]);
            ToolError::new(Code::NotFound, message).hint(Message::TryOtherPath.say(cx.lang(), &[]))
        }
        Refusal::System(error) => trouble(cx, given, &error),
    })
}

/// Returns the error of a path that leads outside.
pub(crate) fn outside(cx: &Context<'_>) -> ToolError {
    let message = Message::OutsideRoot.say(cx.lang(), &[]);
    ToolError::new(Code::AccessDenied, message).hint(Message::TryInside.say(cx.lang(), &[]))
}

/// Finds the directory that a path names.
pub(crate) fn directory(cx: &Context<'_>, given: &str) -> Result<Place, ToolError> {
    let root = root(cx)?;
    let resolved = match find(cx, &root, given, Message::NoSuchPath)? {
        Target::Inside(place) if place.kind == Kind::Directory => return Ok(place),
        Target::Inside(place) => place.shown(),
        Target::Spill(entry, _) => entry.path,
    };
    let message = Message::NotADirectory.say(cx.lang(), &[("path", &quoted(given))]);
    Err(ToolError::new(Code::InvalidParam, message)
        .hint(Message::TryOtherPath.say(cx.lang(), &[]))
        .path_resolved(resolved))
}

/// Makes the page of a tool that pages, within its limits and the guard: what a page leaves out is reached by the next.
pub(crate) fn page(
    cx: &Context<'_>,
    mut make: impl FnMut(&Limits) -> Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    let mut limits = cx.policy().limits;
    let mut room = cx.settings().max_result_chars().unwrap_or(usize::MAX);
    loop {
        let answer = make(&limits)?;
        if cx.is_within_guard(&answer) || room <= 1 {
            return Ok(answer);
        }
        // The guard holds for JSON with its escapes, so the page shrinks until that fits.
        room = (room / 4 * 3).max(1);
        limits = limits.chars(limits.max_chars().map_or(room, |chars| chars.min(room)));
    }
}

/// Opens a spill by its path or its whole id.
fn spill(cx: &Context<'_>, given: &str) -> Option<(Entry, File)> {
    let entry = cx.store().find(given).ok()?;
    let is_named = given.contains(['/', '.']) || entry.id.as_str() == given;
    let file = cx.store().open(&entry).ok().filter(|_| is_named)?;
    Some((entry, file))
}

/// Returns the error of a path that the operating system refuses.
pub(crate) fn trouble(cx: &Context<'_>, given: &str, error: &std::io::Error) -> ToolError {
    let code = match error.kind() {
        std::io::ErrorKind::PermissionDenied => Code::PermissionDenied,
        std::io::ErrorKind::NotFound => Code::NotFound,
        _ => Code::ExecutionError,
    };
    let values = [("path", &*quoted(given)), ("cause", &*io_cause(error))];
    let message = Message::PathTrouble.say(cx.lang(), &values);
    ToolError::new(code, message).hint(Message::TryOtherPath.say(cx.lang(), &[]))
}

/// Returns a parameter as an answer repeats it: on one line, and not at any length.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED_CHARS).collect();
    if quoted.len() < text.len() {
        quoted.push_str("...");
    }
    quoted.replace(['\n', '\r'], " ")
}

/// Returns a parameter as `context` repeats it: as it was given, unless it is of any length or room is scarce.
pub(crate) fn repeated(cx: &Context<'_>, text: &str) -> String {
    match text.len() <= REPEATED_BYTES && cx.settings().max_result_chars().is_none() {
        true => text.to_owned(),
        false => quoted(text),
    }
}
