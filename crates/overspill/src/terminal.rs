//! Applies terminal control codes, so that a model reads what a person would have seen.
//!
//! One line at a time: colours and cursor codes are removed; `\r`, backspace, erase-line and moves within the line are
//! applied, so that a progress bar is one line. Moves between lines are removed but not applied. `\r\n` stays as it is,
//! and bytes that are not UTF-8 pass. Text without control codes passes as it came, at the cost of a search for them.

use memchr::{memchr, memchr3, memrchr};

const ESC: u8 = 0x1b;
const BELL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;

/// How much of a line can still be changed; the start of a longer one has been passed on.
const LINE_MAX: usize = 1 << 16;

/// How far the cursor can go beyond the end of a line, so that a few bytes cannot make many blanks.
const BLANKS_MAX: usize = 512;

/// The most bytes of one control string. A longer one was never ended, and text goes on behind it.
const STRING_MAX: usize = 4096;

/// Turns terminal output into text.
///
/// ```
/// let mut terminal = overspill::Terminal::default();
/// let mut text = Vec::new();
/// terminal.push(b" 10%\r 50%\r100%\n\x1b[31mred\x1b[0m", &mut text);
/// terminal.finish(&mut text);
/// assert_eq!(text, b"100%\nred");
/// ```
#[derive(Debug, Default)]
pub struct Terminal {
    line: Line,
    state: State,
    /// A `\r` came, and the next byte tells whether it belongs to a line end.
    after_return: bool,
    parameters: Vec<u8>,
    string_len: usize,
    /// Whether text was written over or erased.
    has_lost: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Text,
    Escape,
    /// `ESC [`, up to its final byte.
    Control,
    /// `ESC ]` and the like, up to BEL or `ESC \`.
    String,
    StringEscape,
    /// `ESC (` and the like: one more byte.
    OneMore,
}

impl Terminal {
    /// Takes the next bytes; lines that are complete go to `out`.
    pub fn push(&mut self, mut chunk: &[u8], out: &mut Vec<u8>) {
        while let Some(&first) = chunk.first() {
            let used = match self.state {
                State::Text if self.after_return => self.after_return(first, out),
                State::Text => self.text(chunk, out),
                _ => usize::from(self.step(first)),
            };
            chunk = &chunk[used..];
        }
    }

    /// Passes on the last line. Returns whether text was written over or erased, so that it is not in what was passed on.
    pub fn finish(mut self, out: &mut Vec<u8>) -> bool {
        self.line.flush(out) || self.has_lost
    }

    /// Passes text up to the next control code, and takes that code.
    fn text(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> usize {
        let code = memchr3(ESC, b'\r', BACKSPACE, chunk).unwrap_or(chunk.len());
        // Bells are dropped here, in one go: as codes of their own each would have the rest searched again.
        for text in chunk[..code].split(|&byte| byte == BELL) {
            self.has_lost |= self.line.write(text, out);
        }
        match chunk.get(code) {
            None => return code,
            Some(&ESC) => self.state = State::Escape,
            Some(b'\r') => self.after_return = true,
            Some(_) => self.line.move_by(-1),
        }
        code + 1
    }

    fn after_return(&mut self, next: u8, out: &mut Vec<u8>) -> usize {
        if next == b'\r' {
            return 1;
        }
        self.after_return = false;
        if next == b'\n' {
            self.has_lost |= self.line.flush(out);
            out.extend_from_slice(b"\r\n");
            return 1;
        }
        self.line.move_to(0);
        0
    }

    /// Takes a byte of a control code; returns whether it belonged to it.
    fn step(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (State::Escape | State::StringEscape, b'[') => {
                self.parameters.clear();
                State::Control
            }
            (State::Escape | State::StringEscape, b']' | b'P' | b'X' | b'^' | b'_') => {
                self.string_len = 0;
                State::String
            }
            (State::Escape, b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ') => State::OneMore,
            (State::Control | State::Escape, ESC) => State::Escape,
            (State::Control, 0x40..=0x7e) => {
                self.apply(byte);
                State::Text
            }
            (State::Control, 0x20..=0x3f) if self.parameters.len() < STRING_MAX => {
                self.parameters.push(byte);
                State::Control
            }
            (State::String, BELL) => State::Text,
            (State::String, ESC) => State::StringEscape,
            (State::String, other) if other != b'\n' && self.string_len < STRING_MAX => {
                self.string_len += 1;
                State::String
            }
            (State::Escape | State::OneMore | State::StringEscape, 0x20..=0x7e) => State::Text,
            // Not part of a control code: one was cut short, and this is text again.
            _ => {
                self.state = State::Text;
                return false;
            }
        };
        true
    }

    /// Applies `ESC [` with its parameters where it acts within a line.
    fn apply(&mut self, code: u8) {
        let parameter = std::str::from_utf8(&self.parameters)
            .ok()
            .and_then(|text| text.parse::<u16>().ok());
        let count = i32::from(parameter.unwrap_or(1).max(1));
        match code {
            b'K' => self.line.erase(parameter.unwrap_or(0)),
            b'G' => self.line.move_to(count as usize - 1),
            b'C' => self.line.move_by(count),
            b'D' => self.line.move_by(-count),
            _ => {}
        }
    }
}

/// The current line: plain bytes, until a control code moves within it.
#[derive(Debug)]
enum Line {
    Plain(Vec<u8>),
    Cells(Cells),
}

/// One character, or one byte of what is none.
#[derive(Clone, Copy, Debug)]
struct Cell {
    bytes: [u8; 4],
    len: u8,
}

impl Default for Line {
    fn default() -> Self {
        Line::Plain(Vec::new())
    }
}

impl Line {
    /// Writes text at the cursor; complete lines go to `out`. Returns whether some of those was written over or erased.
    fn write(&mut self, text: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Line::Plain(held) => {
                let lines = memrchr(b'\n', text).map_or(0, |newline| newline + 1);
                if lines > 0 {
                    out.append(held);
                    out.extend_from_slice(&text[..lines]);
                }
                held.extend_from_slice(&text[lines..]);
                if held.len() > 2 * LINE_MAX {
                    out.extend(held.drain(..held.len() - LINE_MAX));
                }
                false
            }
            Line::Cells(cells) => {
                let end = memchr(b'\n', text).unwrap_or(text.len());
                cells.write(&text[..end], out);
                end < text.len() && {
                    let has_lost = self.flush(out);
                    self.write(&text[end..], out) || has_lost
                }
            }
        }
    }

    /// Passes on the line and starts a new one; returns whether some of it was written over or erased.
    fn flush(&mut self, out: &mut Vec<u8>) -> bool {
        match std::mem::take(self) {
            Line::Plain(held) => {
                out.extend_from_slice(&held);
                false
            }
            Line::Cells(mut line) => {
                line.settle();
                let shown = line
                    .cells
                    .iter()
                    .rposition(|cell| cell.bytes() != b" ")
                    .map_or(0, |last| last + 1);
                line.cells[..shown]
                    .iter()
                    .for_each(|cell| out.extend_from_slice(cell.bytes()));
                line.has_lost
            }
        }
    }

    /// Returns the line as cells, for a control code that acts on them.
    fn cells(&mut self) -> &mut Cells {
        if let Line::Plain(held) = self {
            let mut cells = Cells::default();
            cells.write(held, &mut Vec::new());
            *self = Line::Cells(cells);
        }
        match self {
            Line::Cells(cells) => {
                cells.settle();
                cells
            }
            Line::Plain(_) => unreachable!("made into cells above"),
        }
    }

    fn move_to(&mut self, to: usize) {
        let cells = self.cells();
        cells.column = to.min(cells.cells.len().max(BLANKS_MAX));
    }

    fn move_by(&mut self, by: i32) {
        let to = self.cells().column.saturating_add_signed(by as isize);
        self.move_to(to);
    }

    /// Erases from the cursor on (0), up to it (1), or all (2).
    fn erase(&mut self, which: u16) {
        let line = self.cells();
        match which {
            0 => line.truncate(line.column),
            1 => line.blank_to_cursor(),
            _ => line.truncate(0),
        }
    }
}

/// A line that control codes move within.
#[derive(Debug, Default)]
struct Cells {
    cells: Vec<Cell>,
    column: usize,
    /// Up to where all cells are known to be blank, so that erasing them again costs nothing.
    blank: usize,
    /// The first bytes of a character whose rest has not come yet.
    open: Vec<u8>,
    /// Whether text was written over or erased.
    has_lost: bool,
}

impl Cells {
    /// Puts text at the cursor, over what stands there; the start of a line that grows too long goes to `out`.
    fn write(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.open);
        bytes.extend_from_slice(text);
        let complete = crate::text::without_cut_end(&bytes).len();
        self.put(&bytes[..complete]);
        self.open = bytes.split_off(complete);
        if self.cells.len() > 2 * LINE_MAX {
            let passed = self.cells.len() - LINE_MAX;
            self.cells
                .drain(..passed)
                .for_each(|cell| out.extend_from_slice(cell.bytes()));
            self.column = self.column.saturating_sub(passed);
            self.blank = self.blank.saturating_sub(passed);
        }
    }

    /// Puts what is open as it is: no more of it will come.
    fn settle(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.put(&open);
    }

    fn put(&mut self, text: &[u8]) {
        for chunk in text.utf8_chunks() {
            let mut buffer = [0; 4];
            for char in chunk.valid().chars() {
                self.put_cell(Cell::new(char.encode_utf8(&mut buffer).as_bytes()));
            }
            for byte in chunk.invalid() {
                self.put_cell(Cell::new(&[*byte]));
            }
        }
    }

    fn truncate(&mut self, len: usize) {
        self.has_lost |= self.cells[len.min(self.cells.len())..]
            .iter()
            .any(|cell| cell.bytes() != b" ");
        self.cells.truncate(len);
        self.blank = self.blank.min(len);
    }

    /// Erases up to the cursor.
    fn blank_to_cursor(&mut self) {
        let end = self.cells.len().min(self.column + 1);
        if end > self.blank {
            self.has_lost |= self.cells[self.blank..end]
                .iter()
                .any(|cell| cell.bytes() != b" ");
            self.cells[self.blank..end].fill(Cell::BLANK);
            self.blank = end;
        }
    }

    fn put_cell(&mut self, cell: Cell) {
        self.blank = self.blank.min(self.column);
        if self.cells.len() < self.column {
            self.cells.resize(self.column, Cell::BLANK);
        }
        match self.cells.get_mut(self.column) {
            Some(under) => {
                self.has_lost |= under.bytes() != cell.bytes() && under.bytes() != b" ";
                *under = cell;
            }
            None => self.cells.push(cell),
        }
        self.column += 1;
    }
}

impl Cell {
    const BLANK: Cell = Cell {
        bytes: [b' ', 0, 0, 0],
        len: 1,
    };

    fn new(bytes: &[u8]) -> Cell {
        let mut cell = Cell {
            bytes: [0; 4],
            len: bytes.len() as u8,
        };
        cell.bytes[..bytes.len()].copy_from_slice(bytes);
        cell
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn render(chunks: &[&[u8]]) -> Vec<u8> {
        let (mut terminal, mut out) = (Terminal::default(), Vec::new());
        chunks
            .iter()
            .for_each(|chunk| terminal.push(chunk, &mut out));
        terminal.finish(&mut out);
        out
    }

    #[test]
    fn control_codes_are_applied_within_the_line() {
        let cases: &[(&str, &str)] = &[
            ("plain\ntext", "plain\ntext"),
            ("dos\r\nlines\r\n", "dos\r\nlines\r\n"),
            ("10%\r20%\r100%\n", "100%\n"),
            ("longer line\rshort\n", "shortr line\n"),
            ("longer line\r\x1b[Kshort\n", "short\n"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("\x1b[1;31merror\x1b[0m: x\n", "error: x\n"),
            ("\x1b]0;title\x07text\n", "text\n"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("\x1b(Btext\x1b[?25l\n", "text\n"),
            ("a\x1b[5Cb\n", "a     b\n"),
            ("abcdef\x1b[2Gx\n", "axcdef\n"),
            ("abc\x1b[2K\rnew\n", "new\n"),
            ("b\x07ell\x07\x07\n", "bell\n"),
            ("abcdef\x1b[3G\x1b[1K\x1b[1KX\n", "  Xdef\n"),
            ("\x1b]never ended\nnext\n", "\nnext\n"),
            ("cut \x1b[31", "cut "),
            ("é\rè", "è"),
        ];
        for (input, expected) in cases {
            assert_eq!(
                String::from_utf8_lossy(&render(&[input.as_bytes()])),
                *expected,
                "{input:?}"
            );
        }
    }

    #[test]
    fn what_is_written_over_is_noticed() {
        let has_lost = |text: &[u8]| {
            let (mut terminal, mut out) = (Terminal::default(), Vec::new());
            terminal.push(text, &mut out);
            terminal.finish(&mut out)
        };
        for text in [
            &b"ERROR\rok   \n"[..],
            b"10%\r20%",
            b"gone\x1b[2K\n",
            b"ab\x08c\nnext\n",
            b"abc\r\x1b[K",
        ] {
            assert!(has_lost(text), "{text:?}");
        }
        for text in [
            &b"plain\r\n"[..],
            b"\x1b[31mred\x1b[0m\n",
            b"same\rsame\n",
            b"  \rover blanks\n",
            b"end\r",
        ] {
            assert!(!has_lost(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(pieces in prop::collection::vec(prop::sample::select(vec![
            &b"text"[..], b"\r", b"\n", b"\x08", b"\x1b", b"[", b"31m", b"2K", b"]", b"\x07", b"\xff", b"\xc3", "é".as_bytes(), b"\\", b"9999G",
        ]), 0..40), size in 1usize..5) {
            let all = pieces.concat();
            let chunks: Vec<&[u8]> = all.chunks(size).collect();
            prop_assert_eq!(render(&chunks), render(&[&all]));
        }

        #[test]
        fn text_without_control_codes_passes(text in "[^\x07\x08\r\x1b]{0,200}", size in 1usize..9) {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(render(&chunks), text.as_bytes());
        }
    }
}
