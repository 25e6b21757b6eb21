//! Changes of a text as a list of spliced ranges: applied to the text, or shown as a unified diff.
//!
//! What no edit names stays byte for byte. Nothing here knows JSON or TOML but [`before_first`], which adds items in front of a
//! list, since both write lists alike.

use std::ops::Range;

/// A range of bytes of a text.
pub(super) type Span = Range<usize>;

/// How many unchanged lines a diff shows around a change.
const CONTEXT: usize = 3;

/// A range that is replaced.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Edit {
    pub(super) at: Span,
    pub(super) text: String,
}

impl Edit {
    pub(super) fn replace(at: &Span, text: impl Into<String>) -> Edit {
        Edit {
            at: at.clone(),
            text: text.into(),
        }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit::replace(&(at..at), text)
    }

    pub(super) fn remove(at: Span) -> Edit {
        Edit::replace(&at, "")
    }
}

/// Returns a text with its edits, which are in order and do not overlap.
pub(super) fn apply(text: &str, edits: &[Edit]) -> String {
    within(text, &(0..text.len()), edits)
}

/// Sorts edits into the order [`apply`] needs.
pub(super) fn sorted(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    edits
}

/// Returns a part of a text with the edits in it.
fn within(text: &str, part: &Span, edits: &[Edit]) -> String {
    let mut out = String::new();
    let mut at = part.start;
    for edit in edits {
        out += text.get(at..edit.at.start).unwrap_or_default();
        out += &edit.text;
        at = edit.at.end;
    }
    out + text.get(at..part.end).unwrap_or_default()
}

/// Adds items in front of a list, laid out as its first item is. To remove them up to the start of the item that was the first
/// gives the list back byte for byte.
pub(super) fn before_first(text: &str, list: &Span, items: &[Span], new: &[String]) -> Edit {
    let Some(first) = items.first() else {
        return Edit::insert(list.start + 1, new.join(", "));
    };
    let gap = separator(text, list.start + 1, items);
    let text: String = new.iter().map(|item| format!("{item},{gap}")).collect();
    Edit::insert(first.start, text)
}

/// Returns the white space that stands between the parts of a list or an object whose inside starts at `inside`.
pub(super) fn separator<'t>(text: &'t str, inside: usize, parts: &[Span]) -> &'t str {
    let Some(first) = parts.first() else {
        return " ";
    };
    let lead = space_before(text, inside, first.start);
    if lead.contains('\n') {
        return lead;
    }
    let second = parts
        .get(1)
        .and_then(|second| text.get(first.end..second.start)?.strip_prefix(','));
    match second {
        // A comment between the two is nobody's layout.
        Some(gap) if gap.trim_ascii().is_empty() => gap,
        _ => " ",
    }
}

/// Returns the white space right before a place.
fn space_before(text: &str, from: usize, to: usize) -> &str {
    let before = text.get(from..to).unwrap_or_default();
    &before[before.trim_ascii_end().len()..]
}

/// Returns the edits as a unified diff, which `patch` takes; `names` are those of the text before and after.
pub(super) fn diff(text: &str, edits: &[Edit], names: [&str; 2]) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blocks = blocks(text, &lines, edits);
    let mut out = format!("--- {}\n+++ {}\n", names[0], names[1]);
    let mut shift = 0;
    for hunk in blocks.chunk_by(|a, b| b.lines.start <= a.lines.end + 2 * CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let from = first.lines.start.saturating_sub(CONTEXT);
        let to = (last.lines.end + CONTEXT).min(lines.len());
        let added: isize = hunk.iter().map(Block::growth).sum();
        let before = (from, to - from);
        let after = (
            from.saturating_add_signed(shift),
            (to - from).saturating_add_signed(added),
        );
        out += &format!("@@ -{} +{} @@\n", place(before), place(after));
        shift += added;
        let mut at = from;
        for block in hunk {
            push(&mut out, ' ', &lines[at..block.lines.start]);
            push(&mut out, '-', &lines[block.lines.clone()]);
            let new: Vec<&str> = block.new.iter().map(String::as_str).collect();
            push(&mut out, '+', &new);
            at = block.lines.end;
        }
        push(&mut out, ' ', &lines[at..to]);
    }
    out
}

/// Lines that differ.
struct Block {
    lines: Range<usize>,
    new: Vec<String>,
}

impl Block {
    fn growth(&self) -> isize {
        self.new.len() as isize - self.lines.len() as isize
    }
}

fn blocks(text: &str, lines: &[&str], edits: &[Edit]) -> Vec<Block> {
    let starts: Vec<usize> = lines
        .iter()
        .scan(0, |at, line| Some(std::mem::replace(at, *at + line.len())))
        .collect();
    let line_of = |at: usize| starts.partition_point(|start| *start <= at).max(1) - 1;
    let touched = |edit: &Edit| {
        let last = edit.at.end.max(edit.at.start + 1) - 1;
        line_of(edit.at.start)..line_of(last) + 1
    };
    let mut blocks = Vec::new();
    let together = |a: &Edit, b: &Edit| touched(b).start < touched(a).end;
    for group in edits.chunk_by(together) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let range = touched(first).start..touched(last).end.min(lines.len());
        let start = starts.get(range.start).copied().unwrap_or(0);
        let end = starts.get(range.end).copied().unwrap_or(text.len());
        let new = within(text, &(start..end), group);
        let new: Vec<String> = new.split_inclusive('\n').map(str::to_owned).collect();
        blocks.push(trimmed(lines, range, new));
    }
    blocks
}

/// Leaves out lines at both ends of a block that are the same before and after.
fn trimmed(lines: &[&str], mut range: Range<usize>, mut new: Vec<String>) -> Block {
    while range.start < range.end && new.first().is_some_and(|line| line == lines[range.start]) {
        range.start += 1;
        new.remove(0);
    }
    while range.start < range.end && new.last().is_some_and(|line| line == lines[range.end - 1]) {
        range.end -= 1;
        new.pop();
    }
    Block { lines: range, new }
}

/// Words where a hunk is: from 1, but an empty one stands behind the line it names.
fn place((from, count): (usize, usize)) -> String {
    format!("{},{count}", if count == 0 { from } else { from + 1 })
}

fn push(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        *out += line;
        if !line.ends_with('\n') {
            *out += "\n\\ No newline at end of file\n";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(edits: &[(Span, &str)]) -> Vec<Edit> {
        let edit = |(at, text): &(Span, &str)| Edit::replace(at, *text);
        edits.iter().map(edit).collect()
    }

    #[test]
    fn edits_are_applied_and_shown() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl";
        let edits = edits(&[(2..3, "B"), (4..4, "new\n"), (22..23, "L")]);
        assert_eq!(
            apply(text, &edits),
            "a\nB\nnew\nc\nd\ne\nf\ng\nh\ni\nj\nk\nL"
        );
        assert_eq!(
            diff(text, &edits, ["x", "y"]),
            "--- x\n+++ y\n@@ -1,5 +1,6 @@\n a\n-b\n+B\n+new\n c\n d\n e\n\
             @@ -9,4 +10,4 @@\n i\n j\n k\n-l\n\\ No newline at end of file\n+L\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn items_are_laid_out_as_the_first_one() {
        let new = ["1".to_owned(), "2".to_owned()];
        let cases = [
            ("[]", &[][..], "[1, 2]"),
            ("[ ]", &[], "[1, 2 ]"),
            ("[3]", &[(1, 2)], "[1, 2, 3]"),
            ("[3,4]", &[(1, 2), (3, 4)], "[1,2,3,4]"),
            ("[ 3 ]", &[(2, 3)], "[ 1, 2, 3 ]"),
            ("[\n  3\n]", &[(4, 5)], "[\n  1,\n  2,\n  3\n]"),
        ];
        for (list, items, expected) in cases {
            let items: Vec<Span> = items.iter().map(|(start, end)| *start..*end).collect();
            let edit = before_first(list, &(0..list.len()), &items, &new);
            assert_eq!(apply(list, &[edit]), expected);
        }
    }
}
