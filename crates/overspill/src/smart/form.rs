//! What an output is as a whole, as far as it shows in its lines: a diff, records of JSON, a table, or text.
//!
//! Detected, never assumed: a line is part of a diff only inside a hunk whose header counts it, an output is records only
//! if every line of it is one, and its first line is a table's header only if the lines below have its columns.

use serde::de::IgnoredAny;

use super::keeper::Ending;
use crate::text::BYTE_ORDER_MARK;

/// What a line is for the structure of the output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// It begins what is told of a file or a commit: `diff --git`, `commit`.
    File,
    /// It goes on with it: `---`, `+++`.
    Header,
    /// The header of a hunk of a diff, below that of its file.
    Hunk,
    /// A line that a diff removes or adds.
    Change,
    /// A line of a diff that stays as it is.
    Same,
    /// Any other.
    Plain,
}

impl Role {
    /// Tells whether lines below it need it.
    pub(super) fn is_header(self) -> bool {
        matches!(self, Role::File | Role::Header | Role::Hunk)
    }
}

/// How many lines must have the columns of the first before it counts as a table's header.
const TABLE_LINES: u32 = 4;

/// Follows the lines of an output, to tell what each is.
#[derive(Debug, Default)]
pub(super) struct Former {
    hunk: Hunk,
    /// Lines that are records, and lines that are neither records nor blank.
    records: u64,
    others: u64,
    /// Whether the last line was no record because the output broke off in it.
    is_broken_off: bool,
}

/// What is left of the hunk of a diff.
#[derive(Debug, Default)]
struct Hunk {
    old: u64,
    new: u64,
}

impl Former {
    /// Returns the role of the next line.
    pub(super) fn role(&mut self, line: &[u8], is_whole: bool, ending: Ending) -> Role {
        self.count_record(line, is_whole, ending);
        if let Some(role) = self.hunk.role(line) {
            return role;
        }
        if let Some(hunk) = Hunk::parse(line) {
            self.hunk = hunk;
            return Role::Hunk;
        }
        match line.starts_with(b"diff --git ") || is_commit(line) {
            true => Role::File,
            false => Role::Plain,
        }
    }

    /// Tells whether the last line is a record that the output broke off in.
    pub(super) fn is_broken_off(&self) -> bool {
        self.is_broken_off
    }

    /// Tells whether every line so far is a record, but for a last one that was broken off.
    pub(super) fn is_records(&self) -> bool {
        self.records >= 2 && self.others == 0
    }

    fn count_record(&mut self, line: &[u8], is_whole: bool, ending: Ending) {
        if self.others > 0 {
            return;
        }
        let line = line
            .strip_prefix(BYTE_ORDER_MARK)
            .filter(|_| self.records == 0)
            .unwrap_or(line);
        let line = line.trim_ascii();
        let is_record = is_whole
            && matches!(
                (line.first(), line.last()),
                (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))
            )
            && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        let is_other = !is_record && !line.is_empty();
        let begins_as_record = matches!(line.first(), Some(b'{' | b'['));
        self.is_broken_off = is_other && begins_as_record && ending == Ending::Output;
        self.records += u64::from(is_record);
        self.others += u64::from(is_other && !self.is_broken_off);
    }
}

impl Hunk {
    /// Reads `@@ -1,2 +3,4 @@`.
    fn parse(line: &[u8]) -> Option<Hunk> {
        let rest = line.strip_prefix(b"@@ -")?;
        let (old, rest) = range(rest)?;
        let (new, rest) = range(rest.strip_prefix(b" +")?)?;
        rest.starts_with(b" @@").then_some(Hunk { old, new })
    }

    /// Returns the role of a line of the hunk, nothing if the hunk is over.
    fn role(&mut self, line: &[u8]) -> Option<Role> {
        if self.old == 0 && self.new == 0 {
            return None;
        }
        let (old, new, role) = match line.first() {
            Some(b'-') if self.old > 0 => (1, 0, Role::Change),
            Some(b'+') if self.new > 0 => (0, 1, Role::Change),
            Some(b' ') | None if self.old > 0 && self.new > 0 => (1, 1, Role::Same),
            Some(b'\\') => (0, 0, Role::Same),
            _ => {
                *self = Hunk::default();
                return None;
            }
        };
        self.old -= old;
        self.new -= new;
        Some(role)
    }
}

/// Reads `1,2` or `1`, and returns the second number, 1 if there is none, with what follows.
fn range(text: &[u8]) -> Option<(u64, &[u8])> {
    let (_, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest),
        None => Some((1, rest)),
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text
        .iter()
        .take(10)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((number, &text[digits..]))
}

/// Tells whether a line begins a commit in the log of git.
fn is_commit(line: &[u8]) -> bool {
    let hash = line.strip_prefix(b"commit ").unwrap_or_default();
    let hex = hash
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    hex >= 7 && matches!(hash.get(hex), None | Some(b' '))
}

/// Tells whether the first of `lines` is the header of a table that the others are the rows of.
pub(super) fn is_table<'t>(mut lines: impl Iterator<Item = &'t [u8]>) -> bool {
    let Some(header) = lines.next() else {
        return false;
    };
    let rows: Vec<&[u8]> = lines.take(TABLE_LINES as usize).collect();
    if rows.len() < TABLE_LINES as usize {
        return false;
    }
    let is_separated = [b',', b'\t', b';', b'|'].into_iter().any(|mark| {
        let columns = memchr::memchr_iter(mark, header).count();
        columns > 0
            && rows
                .iter()
                .all(|row| memchr::memchr_iter(mark, row).count() == columns)
    });
    is_separated || is_aligned(header, &rows)
}

/// Tells whether at least two columns of a header begin where those of each row begin.
fn is_aligned(header: &[u8], rows: &[&[u8]]) -> bool {
    let starts = |line: &[u8], at: usize| {
        at > 1
            && line
                .get(at - 2..=at)
                .is_some_and(|edge| edge[1] == b' ' && edge[2] != b' ')
    };
    let columns = (2..header.len())
        .filter(|&at| {
            starts(header, at) && header[at - 2] == b' ' && rows.iter().all(|row| starts(row, at))
        })
        .count();
    columns >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> String {
        let mut former = Former::default();
        text.lines()
            .map(
                |line| match former.role(line.as_bytes(), true, Ending::Newline) {
                    Role::File => 'F',
                    Role::Header => 'H',
                    Role::Hunk => '@',
                    Role::Change => 'c',
                    Role::Same => 's',
                    Role::Plain => '.',
                },
            )
            .collect()
    }

    #[test]
    fn a_hunk_is_as_long_as_its_header_says() {
        let diff =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn\n a\n-b\n+c\n-- \n2.39\n";
        assert_eq!(roles(diff), "F..@scc..");
        assert_eq!(roles("@@ -1 +1,0 @@\n-a\n-b\n@@ bad @@\n"), "@c..");
        assert_eq!(
            roles("--- expected\n+++ actual\n@@ -0,0 +1 @@\n+x\n"),
            "..@c"
        );
    }

    #[test]
    fn an_output_is_records_only_if_every_line_is_one() {
        let is_records = |text: &str| {
            let mut former = Former::default();
            text.lines().for_each(|line| {
                former.role(line.as_bytes(), true, Ending::Newline);
            });
            former.is_records()
        };
        assert!(is_records("{\"a\":1}\n[2]\n\n{}\n"));
        assert!(!is_records("{\"a\":1}\n"));
        assert!(!is_records("{\"a\":1}\n{\"a\":}\n"));
        assert!(!is_records("{\"a\":1}\nplain\n{}\n"));
    }

    #[test]
    fn a_table_has_columns_in_every_row() {
        let is_table = |text: &str| is_table(text.lines().map(str::as_bytes));
        assert!(is_table("a,b\n1,2\n3,4\n5,6\n7,8\n"));
        assert!(!is_table("a,b\n1,2\n3,4\n5 6\n7,8\n"));
        assert!(is_table(
            "NAME      READY   STATUS\npod-a     1/1     Running\npod-bb    1/1     Running\npod-c     0/1     Error\npod-d     1/1     Running\n"
        ));
        assert!(!is_table(
            "Once upon a time\nthere was a king\nwho had a cat\nand a dog\nand so on\n"
        ));
        assert!(!is_table("a,b\n1,2\n"));
    }
}
