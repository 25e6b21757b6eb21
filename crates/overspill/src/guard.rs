//! The last bound on a whole message, whatever made it.

use std::borrow::Cow;

use crate::cut::{Cut, cut};
use crate::limits::Limits;
use crate::notice::Lang;
use crate::strategy::Strategy;

/// Cuts a complete message, its notice and markers included, to `max_chars` by keeping both ends.
///
/// ```
/// use overspill::{Lang, guard};
/// assert_eq!(guard("short", 100, Lang::En), "short");
/// let long = "x".repeat(10_000);
/// let cut = guard(&long, 1_000, Lang::En);
/// assert!(cut.chars().count() <= 1_000 && cut.contains("... [truncated 9360 chars / 0 lines] ..."));
/// ```
pub fn guard(message: &str, max_chars: usize, lang: Lang) -> Cow<'_, str> {
    match cut(
        message,
        &Limits::none().chars(max_chars),
        Strategy::HeadTail,
    ) {
        Cut::Whole(message) => Cow::Borrowed(message),
        Cut::Part(preview) => Cow::Owned(preview.text(lang).into_owned()),
    }
}
