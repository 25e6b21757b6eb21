//! `Read`: reads lines of a file, or of a spill.
//!
//! A file of any size passes through in chunks; only the lines that were asked for are kept, and of those no more than the
//! limits allow. What is left out is reached by the next `offset`, so nothing is spilled.

mod line;

use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use encoding_rs_io::DecodeReaderBytesBuilder;
use overspill::notice::{self, Message};
use overspill::{
    Answer, CEILING_BYTES, Code, Context, Lang, Limits, Strategy, Stream, Streamed, Tool,
    ToolError, Unit, decode, is_binary,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::defaults;
use crate::grep::input::is_utf16;
use crate::page::{self, Passed, Patience};
use crate::sandbox::Kind;
use crate::target::{self, Target, quoted};
use crate::walk;

/// How many lines are read if nobody says how many.
const LINES: u64 = 2000;

/// How long lines are counted after those that were asked for.
const COUNTING: Duration = Duration::from_millis(1000);

/// How much of a file tells whether it is text.
const PROBE_BYTES: u64 = 8192;

/// Reads lines of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

/// What `Read` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadParams {
    /// File relative to the project root, or the id of a saved output
    pub path: String,
    /// First line, from 1
    #[serde(default = "defaults::first_line")]
    #[schemars(range(min = 1))]
    pub offset: u64,
    /// At most how many lines; 2000 if not given
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// Read only line `offset`, unshortened, from this character on
    #[schemars(range(min = 1))]
    pub column: Option<u64>,
}

impl Tool for Read {
    const NAME: &'static str = "Read";
    const DESCRIPTION: &'static str =
        "Read lines of a text file. Long files are read in pages by offset and limit.";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("file_path", "path")];
    type Params = ReadParams;

    fn run(&self, cx: &Context<'_>, params: ReadParams) -> Result<Answer, ToolError> {
        // A page that is made again for the guard counts no lines again.
        let mut known = None;
        target::page(cx, |limits| {
            let source = Source::open(cx, &params)?;
            let path_resolved = source.path_resolved.clone();
            let answer = match params.column {
                Some(column) => line::read(cx, &params, column, source, limits),
                None => take(cx, &params, source, limits, known).and_then(|taken| {
                    known = Some(taken.passed);
                    taken.answer(cx, &params, limits).map_err(Trouble::Tool)
                }),
            };
            let answer = answer.map_err(|error| match error {
                Trouble::Tool(error) => error,
                Trouble::Io(error) => target::trouble(cx, &params.path, &error),
            });
            match answer {
                Ok(answer) => Ok(answer.context("path_resolved", path_resolved).paged()),
                Err(error) => Err(error.path_resolved(path_resolved)),
            }
        })
    }
}

/// The file that is read.
struct Source {
    file: File,
    bytes: u64,
    path_resolved: String,
}

impl Source {
    fn open(cx: &Context<'_>, params: &ReadParams) -> Result<Source, ToolError> {
        let root = target::root(cx)?;
        let place = match target::find(cx, &root, &params.path, Message::NoSuchPath)? {
            Target::Spill(entry, file) => {
                return Ok(Source {
                    file,
                    bytes: entry.bytes,
                    path_resolved: entry.path,
                });
            }
            Target::Inside(place) => place,
        };
        let refused = |code, message: Message, hint: Message| {
            let message = message.say(cx.lang(), &[("path", &quoted(&params.path))]);
            Err(ToolError::new(code, message)
                .hint(hint.say(cx.lang(), &[]))
                .path_resolved(place.shown()))
        };
        match place.kind {
            Kind::Directory => refused(Code::IsDirectory, Message::IsDirectory, Message::TryFile),
            Kind::Other => refused(Code::InvalidParam, Message::NotAFile, Message::TryOtherPath),
            Kind::File => Ok(Source {
                file: place
                    .open()
                    .map_err(|error| target::trouble(cx, &params.path, &error))?,
                bytes: place.bytes,
                path_resolved: place.shown(),
            }),
        }
    }

    /// Returns the text of the file; `None` if it is binary.
    fn text(mut self) -> io::Result<Option<Box<dyn io::Read>>> {
        let mut start = Vec::new();
        (&mut self.file).take(PROBE_BYTES).read_to_end(&mut start)?;
        if !is_utf16(&start) && is_binary(&start) {
            return Ok(None);
        }
        // The mark of UTF-8 is no part of the text either.
        let whole = io::Cursor::new(start).chain(self.file);
        let decoder = DecodeReaderBytesBuilder::new()
            .utf8_passthru(true)
            .strip_bom(true)
            .build(whole);
        Ok(Some(Box::new(decoder)))
    }
}

enum Trouble {
    Tool(ToolError),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// The lines that were read.
struct Taken {
    content: String,
    /// How many lines of the file they are.
    lines: u64,
    /// The unit of the limit that was reached, if one was.
    reached: Option<Unit>,
    /// Whether the last line is not all there, for the limits on the whole.
    is_line_cut: bool,
    /// How many lines are shortened.
    shortened: usize,
    passed: Passed,
}

/// Reads the lines that were asked for, as far as the limits allow.
fn take(
    cx: &Context<'_>,
    params: &ReadParams,
    source: Source,
    limits: &Limits,
    known: Option<Passed>,
) -> Result<Taken, Trouble> {
    let bytes = source.bytes;
    let Some(mut text) = source.text()? else {
        return Err(Trouble::Tool(binary(cx, params, bytes)));
    };
    let mut stream = Stream::new(limits, Strategy::Head);
    let mut sizes = LineSizes::new(limits);
    let limit = params.limit.unwrap_or(LINES);
    let cancelled = cx.cancelled();
    let patience = Patience {
        cancelled: &cancelled,
        reading: walk::time_limit(cx),
        counting: if known.is_some() {
            Duration::ZERO
        } else {
            COUNTING
        },
    };
    let passed = page::lines(
        &mut text,
        params.offset,
        limit,
        Some(patience),
        |_, part| {
            stream.push(part);
            sizes.push(part);
        },
    )?;
    if !passed.is_taken && stream.bytes() == 0 {
        return Err(Trouble::Tool(timeout(cx, params)));
    }
    let asked = passed.lines.saturating_sub(params.offset - 1).min(limit);
    let passed = known.unwrap_or(passed);
    Ok(match stream.finish() {
        Streamed::Whole(bytes) => Taken {
            content: decode(&bytes).into_owned(),
            lines: asked,
            reached: None,
            is_line_cut: false,
            shortened: 0,
            passed,
        },
        Streamed::Part(preview) => {
            let lines = preview.kept().lines.clamp(1, asked.max(1));
            let content = preview.text(Lang::En).into_owned();
            let kept = usize::try_from(lines).unwrap_or(usize::MAX);
            let max = limits.max_line_chars().unwrap_or(usize::MAX);
            let last = sizes
                .chars
                .get(kept - 1)
                .map_or(0, |chars| (*chars).min(max));
            let shown = content.rsplit('\n').next().unwrap_or("");
            let is_line_cut = shown.trim_end_matches('\r').chars().count() < last;
            let mut taken = Taken {
                is_line_cut,
                reached: (lines < asked).then_some(preview.removed().unit),
                shortened: sizes.over(kept, max),
                content,
                lines,
                passed,
            };
            let end = taken.content.rfind('\n').unwrap_or(0);
            let is_blank = taken.content[..end].trim().is_empty();
            if is_line_cut && kept > 1 && !is_blank {
                // It has more room on the next page, which starts with it.
                taken.content.truncate(end);
                taken.lines -= 1;
                taken.is_line_cut = false;
                taken.reached = Some(preview.removed().unit);
                taken.shortened = sizes.over(kept - 1, max);
            }
            taken
        }
    })
}

/// Counts the chars of lines as they pass.
#[derive(Debug, Default)]
struct LineSizes {
    most: usize,
    chars: Vec<usize>,
    is_open: bool,
}

impl LineSizes {
    fn new(limits: &Limits) -> LineSizes {
        LineSizes {
            // Of more lines than can be shown nobody asks.
            most: limits.max_lines().unwrap_or(CEILING_BYTES),
            ..LineSizes::default()
        }
    }

    fn push(&mut self, part: &[u8]) {
        for piece in part.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let starts = |byte: &&u8| **byte & 0xC0 != 0x80 && **byte != b'\r';
            if !self.is_open {
                if self.chars.len() == self.most {
                    return;
                }
                self.chars.push(0);
            }
            if let Some(chars) = self.chars.last_mut() {
                *chars += text.iter().filter(starts).count();
            }
            self.is_open = text.len() == piece.len();
        }
    }

    /// Returns how many of the first lines are over a limit.
    fn over(&self, first: usize, max: usize) -> usize {
        let first = &self.chars[..first.min(self.chars.len())];
        first.iter().filter(|chars| **chars > max).count()
    }
}

/// Where the lines that were read end.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The last line.
    end: u64,
    has_more: bool,
}

impl Taken {
    fn answer(
        self,
        cx: &Context<'_>,
        params: &ReadParams,
        limits: &Limits,
    ) -> Result<Answer, ToolError> {
        let all = self.passed.lines;
        if params.offset > all.max(1) {
            return Err(past_the_end(cx, params, all));
        }
        let end = (params.offset - 1).saturating_add(self.lines);
        let has_more = end < all || !self.passed.is_all;
        let timed_out = !self.passed.is_taken;
        let is_truncated = self.reached.is_some()
            || timed_out
            || self.shortened > 0
            || self.is_line_cut
            || (has_more && params.limit.is_none());
        let place = Place { end, has_more };
        let text = self.text(cx, params, place, limits);
        let data = [
            ("content", Value::from(self.content)),
            ("start_line", params.offset.min(end).into()),
            ("end_line", end.into()),
            ("total_lines", all.into()),
            ("truncated", is_truncated.into()),
        ];
        let data: Map<String, Value> = data
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect();
        let mut answer = Answer::new(data, text);
        if !self.passed.is_all {
            answer = answer.data("total_is_lower_bound", true);
        }
        if timed_out {
            answer = answer.data("aborted_reason", "timeout");
        }
        if has_more {
            answer = answer.data("next_offset", end + 1);
        }
        Ok(if is_truncated {
            answer.partial()
        } else {
            answer
        })
    }

    fn text(&self, cx: &Context<'_>, params: &ReadParams, place: Place, limits: &Limits) -> String {
        let Place { end, has_more } = place;
        let unit = self
            .reached
            .map_or("", |unit| notice::unit(unit, cx.lang()));
        let values = [
            ("path", &*quoted(&params.path)),
            ("from", &*params.offset.to_string()),
            ("to", &*end.to_string()),
            ("all", &*self.passed.lines.to_string()),
            ("next", &*end.saturating_add(1).to_string()),
            ("n", &*self.shortened.to_string()),
            ("max", &*limits.max_line_chars().unwrap_or(0).to_string()),
            ("unit", unit),
            ("t", &*walk::time_limit(cx).as_millis().to_string()),
        ];
        let first = match (self.passed.lines, self.passed.is_all) {
            (0, _) => Message::ReadEmpty,
            (_, false) => Message::ReadLinesOfMore,
            _ if params.offset == 1 && !has_more => Message::ReadAll,
            _ => Message::ReadLines,
        };
        let remarks = [
            (self.shortened > 0, Message::LinesShortened),
            (self.is_line_cut, Message::ReadLineCut),
            (self.reached.is_some(), Message::ReadTruncated),
            (!self.passed.is_taken, Message::TimeLimit),
            (self.shortened > 0 || self.is_line_cut, Message::LongLine),
            (has_more, Message::NextOffset),
        ];
        let remarks = remarks.into_iter().filter(|(applies, _)| *applies);
        let messages = std::iter::once(first).chain(remarks.map(|(_, message)| message));
        let lines: Vec<String> = messages
            .map(|message| message.say(cx.lang(), &values))
            .collect();
        lines.join("\n")
    }
}

fn binary(cx: &Context<'_>, params: &ReadParams, bytes: u64) -> ToolError {
    let values = [("path", &*quoted(&params.path)), ("n", &*bytes.to_string())];
    let message = Message::IsBinary.say(cx.lang(), &values);
    ToolError::new(Code::BinaryFile, message).hint(Message::TryBinary.say(cx.lang(), &[]))
}

fn timeout(cx: &Context<'_>, params: &ReadParams) -> ToolError {
    let values = [
        ("path", &*quoted(&params.path)),
        ("t", &*walk::time_limit(cx).as_millis().to_string()),
        ("from", &*params.offset.to_string()),
    ];
    let message = Message::ReadTimeout.say(cx.lang(), &values);
    ToolError::new(Code::Timeout, message).hint(Message::TryEarlier.say(cx.lang(), &[]))
}

fn past_the_end(cx: &Context<'_>, params: &ReadParams, all: u64) -> ToolError {
    let values = [
        ("path", &*quoted(&params.path)),
        ("from", &*params.offset.to_string()),
        ("all", &*all.to_string()),
    ];
    let (message, hint) = match all {
        0 => (Message::ReadEmpty, Message::TryOtherPath),
        _ => (Message::PastTheEnd, Message::TryOffset),
    };
    let message = message.say(cx.lang(), &values);
    ToolError::new(Code::InvalidParam, message).hint(hint.say(cx.lang(), &values))
}
