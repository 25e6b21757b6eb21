//! How a line is built: its time stamp, colours, indent, and its place in a stack or a snippet.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// What a line is within a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shape {
    /// Nothing but white space.
    Blank,
    /// A frame of a stack.
    Frame,
    /// A piece of source with its number, a pointer into it, or a remark beside it.
    Snippet,
    /// What a compiler adds to the message above: `a.c:3:4: note: declared here`.
    Remark,
    /// A line of an assertion's difference, or a value on a line of its own.
    Detail,
    /// A line drawn with one character.
    Rule,
    /// Words in such a line: `==== FAILURES ====`.
    Heading,
    /// Any other.
    Plain,
}

impl Shape {
    /// Tells the shape of a line's content, which stands `indent` columns from its margin.
    pub(super) fn of(body: &[u8], indent: u16) -> Shape {
        match body {
            [] => Shape::Blank,
            _ if is_rule(body) && body.iter().any(u8::is_ascii_alphabetic) => Shape::Heading,
            _ if is_rule(body) => Shape::Rule,
            _ if is_frame(body, indent) => Shape::Frame,
            _ if is_snippet(body) => Shape::Snippet,
            _ if is_remark(body) => Shape::Remark,
            _ if is_detail(body, indent) => Shape::Detail,
            _ => Shape::Plain,
        }
    }
}

/// Returns the length of what begins a line before its content: a time stamp, a host and its program, the name of a job.
pub(super) fn prefix_len(line: &[u8]) -> usize {
    let job = tabbed_prefix(line);
    let rest = &line[job..];
    let stamp = match rest.first() {
        Some(b'0'..=b'9') => date_len(rest).unwrap_or_else(|| stamp_len(rest)),
        Some(b'[') => stamp_len(rest),
        Some(b'=' | b'#') => marked_len(rest),
        Some(b'A'..=b'Z') => syslog_len(rest).max(piped_len(rest)),
        Some(b'a'..=b'z') => piped_len(rest),
        _ => 0,
    };
    job + stamp
}

/// `2024-05-01T10:00:00.123Z `, and nothing of a number behind it. Most stamps are of this form, and each byte is looked at
/// once.
fn date_len(line: &[u8]) -> Option<usize> {
    let (start, rest) = line.split_first_chunk::<19>()?;
    let is_date = [start[4], start[7], start[13], start[16]] == *b"--::"
        && matches!(start[10], b'T' | b' ')
        && start[3].is_ascii_digit()
        && start[18].is_ascii_digit();
    if !is_date {
        return None;
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = match rest {
        [b'.' | b',', rest @ ..] => 1 + digits(rest),
        _ => 0,
    };
    let zone = match &rest[fraction..] {
        [b'Z', ..] => 1,
        [b'+' | b'-', _, _, b':', _, _, ..] => 6,
        [b'+' | b'-', _, _, _, _, ..] => 5,
        _ => 0,
    };
    let end = fraction + zone;
    matches!(rest.get(end), Some(b' ' | b'\t')).then_some(start.len() + end + 1)
}

/// `2024-05-01 10:00:00.123 `, `[10:00:00] `, `[   12.345678] `, with the one space behind it.
fn stamp_len(line: &[u8]) -> usize {
    let mut at = usize::from(line.first() == Some(&b'['));
    at += line[at..]
        .iter()
        .take(6)
        .take_while(|&&byte| at == 1 && byte == b' ')
        .count();
    let start = at;
    let (mut digits, mut marks, mut end) = (0, 0, 0);
    while let Some(&byte) = line.get(at).filter(|_| at - start <= 40) {
        match byte {
            b'0'..=b'9' => digits += 1,
            b':' | b'-' | b'/' => marks += 2,
            b'.' => marks += 1,
            b',' | b'+' => {}
            b'T' | b'Z' if digits > 0 => {}
            b' ' | b']' | b'\t' if digits >= 4 && (marks >= 4 || (byte == b']' && marks > 0)) => {
                end = at + 1;
            }
            _ => break,
        }
        if matches!(byte, b' ' | b'\t') && !line.get(at + 1).is_some_and(u8::is_ascii_digit) {
            break;
        }
        at += 1;
    }
    match end.checked_sub(1).map(|last| line[last]) {
        Some(b']') => with_space(line, end),
        _ => end,
    }
}

/// `Mar  2 11:17:42 host program[12]: `.
fn syslog_len(line: &[u8]) -> usize {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let is_date = line.len() > 16
        && MONTHS.iter().any(|month| line.starts_with(month))
        && line[9] == b':'
        && line[12] == b':'
        && line[15] == b' ';
    if !is_date {
        return 0;
    }
    let end = memchr::memmem::find(&line[..line.len().min(100)], b": ");
    end.map_or(16, |end| end + 2)
}

/// `==1234== `, `#12 3.456 `.
fn marked_len(line: &[u8]) -> usize {
    let digits = |from: usize| {
        line[from.min(line.len())..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count()
    };
    match line {
        [b'=', b'=', ..] => {
            let end = 2 + digits(2);
            if end > 2 && line[end..].starts_with(b"==") {
                with_space(line, end + 2)
            } else {
                0
            }
        }
        [b'#', ..] => {
            let end = 1 + digits(1);
            let seconds = digits(end + 1);
            if end > 1 && line.get(end) == Some(&b' ') && seconds > 2 {
                with_space(line, end + 1 + seconds)
            } else {
                0
            }
        }
        _ => 0,
    }
}

/// `web_1  | `.
fn piped_len(line: &[u8]) -> usize {
    if memchr::memchr(b'|', &line[..line.len().min(60)]).is_none() {
        return 0;
    }
    let name = line
        .iter()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        .count();
    let has_letter = line[..name].iter().any(u8::is_ascii_alphabetic);
    let spaces = line[name..]
        .iter()
        .take(20)
        .take_while(|&&byte| byte == b' ')
        .count();
    if has_letter && spaces > 0 && line[name + spaces..].starts_with(b"| ") {
        name + spaces + 2
    } else {
        0
    }
}

/// Returns the length of the level in brackets that begins a content, with the one space behind it.
pub(super) fn level_len(content: &[u8]) -> usize {
    let word = content
        .iter()
        .skip(1)
        .take(8)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    let is_level =
        content.first() == Some(&b'[') && word >= 4 && content.get(word + 1) == Some(&b']');
    if is_level {
        with_space(content, word + 2)
    } else {
        0
    }
}

/// Returns `end`, or what is behind it if that is a space: one belongs to a prefix, more are the indent of what follows.
fn with_space(line: &[u8], end: usize) -> usize {
    end + usize::from(line.get(end) == Some(&b' '))
}

/// Returns the length of `job<TAB>step<TAB>` before a date, as `gh run view --log` prints it.
fn tabbed_prefix(line: &[u8]) -> usize {
    let head = &line[..line.len().min(160)];
    let Some(tab) = memchr::memrchr(b'\t', head) else {
        return 0;
    };
    let date = &line[tab + 1..];
    let is_date = date.len() >= 10 && date[..4].iter().all(u8::is_ascii_digit) && date[4] == b'-';
    if is_date { tab + 1 } else { 0 }
}

/// Returns the columns of white space that begin a line.
pub(super) fn indent(content: &[u8]) -> u16 {
    let mut columns = 0u16;
    for byte in content.iter().take(200) {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns = columns / 4 * 4 + 4,
            _ => break,
        }
    }
    columns
}

/// Tells whether a line is a command with many flags, whose words name things and do not report.
pub(super) fn is_command(body: &[u8]) -> bool {
    let is_flag = |at: usize| {
        at > 0
            && body[at - 1] == b' '
            && body
                .get(at + 1)
                .is_some_and(|next| next.is_ascii_alphabetic() || *next == b'-')
    };
    let flags = memchr::memchr_iter(b'-', body)
        .filter(|&at| is_flag(at))
        .count();
    flags >= 4
}

static LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"line "));

/// Tells whether a line names a place in a file: `a.c:12`, `a.c(12,`, `a.java:[12,`, `line 12`.
pub(super) fn has_location(body: &[u8]) -> bool {
    memchr::memchr2_iter(b':', b'(', body).any(|at| {
        let rest = &body[at + 1..];
        let rest = rest.strip_prefix(b"[").unwrap_or(rest);
        rest.first().is_some_and(u8::is_ascii_digit)
            && at > 1
            && (body[at - 1].is_ascii_alphabetic() || body[at - 1] == b'"')
            && body[..at].iter().rev().take(6).any(|&byte| byte == b'.')
    }) || LINE
        .find(body)
        .is_some_and(|at| body.get(at + 5).is_some_and(u8::is_ascii_digit))
}

/// Tells whether a line is an item of a numbered list, as test runners list what failed: `1) name`.
pub(super) fn is_numbered(body: &[u8]) -> bool {
    let digits = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=4).contains(&digits) && body[digits..].starts_with(b") ") && body.len() > digits + 3
}

/// Tells whether a line looks like source, in which words of trouble name things.
pub(super) fn is_code(body: &[u8]) -> bool {
    matches!(body.last(), Some(b'{' | b';' | b'}')) || is_listed(body)
}

/// Tells whether a line is of a long listing of files: `-rw-r--r-- 1 user …`.
fn is_listed(body: &[u8]) -> bool {
    body.len() > 11
        && matches!(body[0], b'-' | b'd' | b'l' | b'c' | b'b' | b'p' | b's')
        && body[1..10]
            .iter()
            .all(|byte| matches!(byte, b'r' | b'w' | b'x' | b's' | b'S' | b't' | b'T' | b'-'))
}

/// Returns a line without the escape sequences that colour it.
pub(super) fn without_colours<'l>(line: &'l [u8], plain: &'l mut Vec<u8>) -> &'l [u8] {
    let Some(first) = memchr::memchr(0x1b, line) else {
        return line;
    };
    plain.clear();
    plain.extend_from_slice(&line[..first]);
    let mut rest = &line[first..];
    while let [_, after @ ..] = rest {
        let sequence = match after {
            [b'[', parameters @ ..] => {
                let end = parameters
                    .iter()
                    .position(|byte| (0x40..0x7f).contains(byte));
                2 + end.map_or(parameters.len(), |end| end + 1)
            }
            _ => 2.min(rest.len()),
        };
        rest = &rest[sequence.min(rest.len())..];
        let text = memchr::memchr(0x1b, rest).unwrap_or(rest.len());
        plain.extend_from_slice(&rest[..text]);
        rest = &rest[text..];
    }
    plain
}

fn is_rule(body: &[u8]) -> bool {
    let first = body[0];
    if body.len() < 4 || !matches!(first, b'=' | b'-' | b'_' | b'*' | b'#' | b'~' | b'+') {
        return false;
    }
    let ends = [first; 3];
    let is_framed = body.len() > 6 && body.starts_with(&ends) && body.ends_with(&ends);
    is_framed || body.iter().filter(|&&byte| byte == first).count() * 5 >= body.len() * 3
}

/// Frames of the large languages: `at f (x.js:1:2)`, `File "x.py", line 1`, `#0 0x.. in f`, `from x.rb:1:in`, `x.go:1 +0x1`.
fn is_frame(body: &[u8], indent: u16) -> bool {
    if body.starts_with(b"at ") && indent > 0 {
        return true;
    }
    if body.starts_with(b"File \"") || body.starts_with(b"from ") && has_location(body) {
        return true;
    }
    if body.starts_with(b"... ") && body.ends_with(b"more") {
        return true;
    }
    if is_frame_number(body)
        && (body[0] == b'#'
            || memchr::memmem::find(body, b"::").is_some()
            || memchr::memmem::find(body, b" 0x").is_some())
    {
        return true;
    }
    indent > 0 && ends_in_offset(body)
}

/// `0: `, `#0 `, `[0] `.
fn is_frame_number(body: &[u8]) -> bool {
    let number = body.strip_prefix(b"#").or(body.strip_prefix(b"["));
    let number = number.unwrap_or(body);
    let digits = number
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let ends = match (body[0], number.get(digits)) {
        (b'[', after) => after == Some(&b']'),
        (_, after) => matches!(after, Some(b':' | b' ')),
    };
    digits > 0 && ends
}

/// Tells whether a line ends in the offset of a frame: ` +0x1f`.
fn ends_in_offset(body: &[u8]) -> bool {
    let word = memchr::memrchr(b' ', body).map_or(body, |at| &body[at + 1..]);
    word.starts_with(b"+0x")
}

/// `12 | let x`, `--> a.rs:1:2`, `| ^^^`, `^~~~`, `= note:`, `> 12 |`.
fn is_snippet(body: &[u8]) -> bool {
    if body.starts_with(b"-->")
        || body.starts_with(b"= ")
        || body.starts_with(b"|")
        || body.starts_with("│".as_bytes())
    {
        return true;
    }
    let is_pointer = |byte: u8| matches!(byte, b'^' | b'~');
    if matches!(body[0], b'^' | b'~' | b'-' | b'.' | b'+')
        && body.iter().any(|&byte| is_pointer(byte))
        && body
            .iter()
            .all(|&byte| matches!(byte, b'^' | b'~' | b' ' | b'-' | b'|' | b'.' | b'+'))
    {
        return true;
    }
    let rest = body
        .strip_prefix(b">")
        .map_or(body, <[u8]>::trim_ascii_start);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && digits < 7 && rest[digits..].trim_ascii_start().starts_with(b"|")
}

static NOTE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b": note: "));

/// `note: x`, `help: x`, and a note behind a place: `a.c:3:4: note: x`, `a.cpp(3): note: x`.
fn is_remark(body: &[u8]) -> bool {
    if body.starts_with(b"note: ") || body.starts_with(b"help: ") {
        return true;
    }
    NOTE.find(body).is_some_and(|at| {
        let place = &body[..at];
        let place = place.strip_suffix(b")").unwrap_or(place);
        place.last().is_some_and(u8::is_ascii_digit)
    })
}

/// `+ 1`, `- 2`, `E   x`, `> x`, `  Expected: x`, `  got: x`.
fn is_detail(body: &[u8], indent: u16) -> bool {
    match body {
        [b'+' | b'-' | b'?', b' ', ..] => indent > 0,
        [b'E' | b'>', b' ', b' ', ..] => true,
        _ if indent > 0 => {
            let label = body.iter().take(24).position(|&byte| byte == b':');
            label.is_some_and(|at| {
                at > 1
                    && body[..at]
                        .iter()
                        .all(|byte| byte.is_ascii_alphabetic() || *byte == b' ')
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_stamp_and_one_space() {
        for (prefix, content) in [
            ("2024-05-01T10:00:00Z ", "x"),
            ("2024-05-01T10:00:00.1234567Z ", "x"),
            ("2024-05-01 10:00:00,123 ", "x"),
            ("2024-05-01T10:00:00+02:00 ", "x"),
            ("2024-05-01T10:00:00.5-0700 ", "x"),
            ("2024-05-01T10:00:00Z\t", "x"),
            ("2024-05-01T10:00:00Z ", "  indented"),
            // A number behind the stamp is not part of it.
            ("2024-05-01T10:00:00Z ", "42 items"),
            ("2024-05-01 10:00:00.123 ", "12:34 is no stamp"),
            ("job\tstep\t2024-05-01T10:00:00Z ", "7 left"),
            ("10:00:00 ", "x"),
            ("[10:00:00] ", " x"),
            ("[10:00:00]", "x"),
            ("[   12.345678] ", "x"),
            ("Mar  2 11:17:42 host kernel: ", "x"),
            ("==1234== ", "  x"),
            ("==1234==", "x"),
            ("#12 3.456 ", " x"),
            ("#12 3.456", "s"),
            ("#12 3.456", ""),
            ("web_1  | ", "x"),
            ("", "2024-05-01T10:00:00"),
            ("", "#12 DONE 0.3s"),
            ("", "42 items"),
            ("", ""),
        ] {
            let line = format!("{prefix}{content}");
            assert_eq!(prefix_len(line.as_bytes()), prefix.len(), "{line}");
        }
    }

    #[test]
    fn a_level_is_in_brackets_and_takes_one_space() {
        for (level, content) in [
            ("[ERROR] ", "  x"),
            ("[INFO]", "x"),
            ("[WARNING]", ""),
            ("", "[OK] x"),
            ("", "[ERROR x"),
            ("", "[Error] x"),
            ("", "ERROR x"),
            ("", ""),
        ] {
            let line = format!("{level}{content}");
            assert_eq!(level_len(line.as_bytes()), level.len(), "{line}");
        }
    }

    #[test]
    fn frames_are_told_by_their_language() {
        for (line, indent) in [
            ("at f (x.js:1:2)", 4),
            ("File \"x.py\", line 1, in f", 2),
            ("from x.rb:1:in 'f'", 4),
            ("... 12 more", 4),
            ("#0 0x55d in f x.c:3", 4),
            ("#12 f() called at [x.php:3]", 0),
            ("12: core::panicking::panic", 3),
            ("3 libfoo 0x0001 f + 12", 0),
            ("[0] std::rt::begin", 0),
            ("[12] f 0x55d", 0),
            ("x.go:1 +0x1f", 4),
        ] {
            assert!(is_frame(line.as_bytes(), indent), "{line}");
        }
        for (line, indent) in [
            ("at f (x.js:1:2)", 0),
            ("##12 core::f", 0),
            ("#[12 core::f", 0),
            ("[12 core::f", 0),
            ("[1/9] core::f", 0),
            ("[] core::f", 0),
            ("#x", 0),
            ("12 items", 0),
            ("x.go:1 +0x1f", 0),
        ] {
            assert!(!is_frame(line.as_bytes(), indent), "{line}");
        }
    }

    #[test]
    fn a_remark_is_a_note_of_its_own_or_behind_a_place() {
        for line in [
            "a.c:3:4: note: declared here",
            "a.cpp(3): note: see declaration",
            "a.cpp(3,7): note: see declaration",
            "note: run with a backtrace",
            "help: consider borrowing here",
        ] {
            assert_eq!(Shape::of(line.as_bytes(), 0), Shape::Remark, "{line}");
        }
        for line in ["note that it is so", "see: note: 3", "notes: 3"] {
            assert_eq!(Shape::of(line.as_bytes(), 0), Shape::Plain, "{line}");
        }
    }
}
