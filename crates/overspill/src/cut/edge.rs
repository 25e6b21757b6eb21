//! Places where a text may be cut: char and grapheme edges.
//!
//! A grapheme edge is judged from [`CONTEXT_BYTES`] around it, no more, so that a stream which kept only the neighbourhood
//! of a cut decides as one that has the whole text. A cluster longer than that (a tower of combining marks) is cut between
//! chars.

use unicode_segmentation::UnicodeSegmentation;

/// How far around a place the text is looked at.
pub(crate) const CONTEXT_BYTES: usize = 256;

/// Returns the last grapheme edge at or before `at`, a char boundary; `at` itself if its cluster has no start in sight.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    if is_plain_edge(text, at) {
        return at;
    }
    let (from, window) = around(text, at);
    edges(from, window)
        .filter(|&edge| edge <= at && edge > from)
        .last()
        .unwrap_or(at)
}

/// Returns the first grapheme edge at or after `at`, a char boundary; `at` itself if its cluster has no end in sight.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    if is_plain_edge(text, at) {
        return at;
    }
    let (from, window) = around(text, at);
    let end = from + window.len();
    edges(from, window)
        .find(|&edge| edge >= at && edge < end)
        .unwrap_or(at)
}

/// Tells whether `at` is an edge without a look at Unicode tables: between two ASCII chars that are not CR LF.
fn is_plain_edge(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match (
        at.checked_sub(1).and_then(|before| bytes.get(before)),
        bytes.get(at),
    ) {
        (Some(&before), Some(&after)) => {
            before.is_ascii() && after.is_ascii() && (before, after) != (b'\r', b'\n')
        }
        _ => true,
    }
}

fn around(text: &str, at: usize) -> (usize, &str) {
    let from = text.floor_char_boundary(at.saturating_sub(CONTEXT_BYTES));
    let until = text.ceil_char_boundary(at.saturating_add(CONTEXT_BYTES));
    (from, &text[from..until])
}

fn edges(from: usize, window: &str) -> impl Iterator<Item = usize> {
    window.grapheme_indices(true).map(move |(at, _)| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_never_split() {
        let text = "e\u{301}x👩‍👩‍👧z";
        let edges: Vec<usize> = (0..=text.len())
            .filter(|&at| text.is_char_boundary(at))
            .map(|at| floor(text, at))
            .collect();
        assert_eq!(edges, [0, 1, 3, 4, 4, 4, 4, 4, 22, 23]);
        assert_eq!(ceil(text, 1), 3);
        assert_eq!(ceil(text, 8), 22);
    }

    #[test]
    fn a_cluster_beyond_the_context_is_cut_between_chars() {
        let text = format!("a{}", "\u{301}".repeat(1000));
        assert_eq!(floor(&text, 1001), 1001);
        assert_eq!(ceil(&text, 1001), 1001);
    }
}
