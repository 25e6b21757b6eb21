//! A part of one line, for lines that are longer than a page shows: minified files, JSON without line breaks.

use std::time::Duration;

use overspill::notice::Message;
use overspill::{
    Answer, Code, Context, Lang, Limits, Strategy, Stream, Streamed, ToolError, decode,
};
use serde_json::{Map, Value};

use super::{COUNTING, ReadParams, Source, Trouble, binary, past_the_end, timeout};
use crate::page::{self, Passed, Patience};
use crate::target::quoted;
use crate::walk;

/// Reads line `offset` from char `column` on, as far as the limits on the whole allow.
pub(super) fn read(
    cx: &Context<'_>,
    params: &ReadParams,
    column: u64,
    source: Source,
    limits: &Limits,
) -> Result<Answer, Trouble> {
    let bytes = source.bytes;
    let Some(mut text) = source.text()? else {
        return Err(Trouble::Tool(binary(cx, params, bytes)));
    };
    let mut stream = Stream::new(&of_the_whole(limits), Strategy::Head);
    let mut skip = Skip {
        left: column - 1,
        is_done: false,
    };
    let cancelled = cx.cancelled();
    let patience = Patience {
        cancelled: &cancelled,
        reading: walk::time_limit(cx),
        counting: COUNTING.min(Duration::from_millis(200)),
    };
    let passed = page::lines(&mut text, params.offset, 1, Some(patience), |_, part| {
        let part = part.strip_suffix(b"\n").unwrap_or(part);
        stream.push(skip.rest(part));
    })?;
    if params.offset > passed.lines.max(1) {
        return Err(Trouble::Tool(past_the_end(cx, params, passed.lines)));
    }
    if stream.bytes() == 0 && !passed.is_taken {
        return Err(Trouble::Tool(timeout(cx, params)));
    }
    if stream.bytes() == 0 && column > 1 {
        let chars = column - 1 - skip.left;
        return Err(Trouble::Tool(past_the_line(cx, params, column, chars)));
    }
    let (content, has_more) = match stream.finish() {
        Streamed::Whole(bytes) => (decode(&bytes).into_owned(), !passed.is_taken),
        Streamed::Part(preview) => (preview.text(Lang::En).into_owned(), true),
    };
    Ok(answer(
        cx,
        params,
        column,
        content,
        Rest { has_more, passed },
    ))
}

/// What follows what was read.
#[derive(Clone, Copy)]
struct Rest {
    /// Whether the line goes on.
    has_more: bool,
    passed: Passed,
}

fn answer(
    cx: &Context<'_>,
    params: &ReadParams,
    column: u64,
    content: String,
    rest: Rest,
) -> Answer {
    let next = column + content.chars().count() as u64;
    let (line, all) = (params.offset, rest.passed.lines);
    let values = [
        ("path", &*quoted(&params.path)),
        ("line", &*line.to_string()),
        ("from", &*column.to_string()),
        ("to", &*(next - 1).to_string()),
        ("column", &*next.to_string()),
        ("next", &*line.saturating_add(1).to_string()),
    ];
    let has_lines = line < all || !rest.passed.is_all;
    let mut lines = vec![Message::ReadPart.say(cx.lang(), &values)];
    match (rest.has_more, has_lines) {
        (true, _) => lines.push(Message::NextColumn.say(cx.lang(), &values)),
        (false, true) => lines.push(Message::NextOffset.say(cx.lang(), &values)),
        (false, false) => {}
    }
    let data: Map<String, Value> = [
        ("content", Value::from(content)),
        ("start_line", line.into()),
        ("end_line", line.into()),
        ("total_lines", all.into()),
        ("truncated", rest.has_more.into()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    let mut answer = Answer::new(data, lines.join("\n"));
    if !rest.passed.is_all {
        answer = answer.data("total_is_lower_bound", true);
    }
    if rest.has_more {
        return answer.data("next_column", next).partial();
    }
    if has_lines {
        answer = answer.data("next_offset", line + 1);
    }
    answer
}

/// Returns the limits without those on lines: one line is wanted, and all of it.
fn of_the_whole(limits: &Limits) -> Limits {
    let mut whole = Limits::none().encoding(limits.token_encoding());
    if let Some(bytes) = limits.max_bytes() {
        whole = whole.bytes(bytes);
    }
    if let Some(chars) = limits.max_chars() {
        whole = whole.chars(chars);
    }
    if let Some(tokens) = limits.max_tokens() {
        whole = whole.tokens(tokens);
    }
    whole
}

/// Passes over the first chars of a line that comes in pieces.
struct Skip {
    /// How many chars are still to be passed over.
    left: u64,
    is_done: bool,
}

impl Skip {
    /// Returns what of a piece is behind them. A piece may begin within a char.
    fn rest<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        if self.is_done {
            return piece;
        }
        for (at, byte) in piece.iter().enumerate() {
            let is_start = byte & 0xC0 != 0x80;
            if is_start && self.left == 0 {
                self.is_done = true;
                return &piece[at..];
            }
            self.left -= u64::from(is_start);
        }
        &[]
    }
}

fn past_the_line(cx: &Context<'_>, params: &ReadParams, column: u64, chars: u64) -> ToolError {
    let values = [
        ("line", &*params.offset.to_string()),
        ("path", &*quoted(&params.path)),
        ("from", &*column.to_string()),
        ("all", &*chars.to_string()),
    ];
    let message = Message::PastTheLine.say(cx.lang(), &values);
    ToolError::new(Code::InvalidParam, message).hint(Message::TryColumn.say(cx.lang(), &values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chars_are_passed_over_wherever_a_piece_ends() {
        let text = "aé中\u{1f600}z";
        for column in 0..=5 {
            let wanted: String = text.chars().skip(column).collect();
            for cut in 0..=text.len() {
                let mut skip = Skip {
                    left: column as u64,
                    is_done: false,
                };
                let (start, end) = text.as_bytes().split_at(cut);
                let mut rest = skip.rest(start).to_vec();
                rest.extend_from_slice(skip.rest(end));
                assert_eq!(rest, wanted.as_bytes(), "{column} {cut}");
            }
        }
    }
}
