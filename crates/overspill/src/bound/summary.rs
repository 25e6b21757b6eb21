//! A summary in place of an output: when one is asked for, what the model is given, and what its answer must be.
//!
//! The whole is in the store before anybody is asked. Whatever goes wrong is told in the notice, and the output is cut as by
//! `head_tail`. How a model is reached is a [`Summarizer`]'s business; the words it is asked with are in the message table.

use std::fmt::Debug;
use std::io::Read as _;

use super::{Bounded, Composed, Keeping, Kept, Policy, Sink, Truncated, Truncation};
use crate::cut::{Preview, edge, is_over};
use crate::error::io_cause;
use crate::limits::Limits;
use crate::notice::{self, Lang, Message, Outcome};
use crate::settings::setting;
use crate::smart::Salience;
use crate::store::Saved;
use crate::strategy::Strategy;
use crate::stream::{Stream, Streamed};
use crate::terminal::Terminal;
use crate::text::{self, CharCounter};

/// A summary that may not have as many chars says nothing, so none is asked for.
const LEAST_CHARS: usize = 200;

/// More than this is no summary, however much the limits allow.
const MOST_CHARS: usize = 4000;
const MOST_LINES: usize = 100;

/// The most bytes of a query that the model is told.
const QUERY_BYTES: usize = 500;

const CHUNK_BYTES: usize = 64 << 10;

/// Writes summaries.
pub trait Summarizer: Debug + Send + Sync {
    /// Returns the name of the model, for notices.
    fn model(&self) -> &str;

    /// Returns a summary, or why there is none, in words for a notice: short, and without anything secret. Returns in
    /// bounded time.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String>;
}

/// What a model is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest<'r> {
    /// What it is to do, and how long its answer may be.
    pub instructions: &'r str,
    /// The output, or as much of it as it is given.
    pub text: &'r str,
    /// The most chars of its answer.
    pub max_chars: usize,
    /// The language of the notice that a reason goes into.
    pub lang: Lang,
}

/// Who writes summaries, of which outputs.
#[derive(Clone, Copy, Debug)]
pub struct Summaries<'s> {
    /// Who writes them, or what it lacks.
    pub writer: Result<&'s dyn Summarizer, Lack>,
    /// An output with more chars is summarized.
    pub trigger_threshold: usize,
    /// The most chars that the model is given; all of them if it is off.
    pub max_input_chars: Option<usize>,
}

/// Why nobody writes summaries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Lack {
    /// They cost money, and the user did not switch them on.
    Switch,
    /// The user did not say where the model is.
    Address,
    /// Whoever embeds the library has none.
    #[default]
    Summarizer,
}

impl Default for Summaries<'_> {
    fn default() -> Self {
        let built_in = |key| setting(key).and_then(|setting| setting.default.parse().ok());
        Summaries {
            writer: Err(Lack::default()),
            trigger_threshold: built_in("trigger_threshold").unwrap_or(0),
            max_input_chars: built_in("max_input_chars"),
        }
    }
}

/// Where the output is that a summary stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Text(&'a str),
    Spill {
        saved: &'a Saved,
        controls: Controls,
    },
}

/// What becomes of terminal control codes before an output is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Controls {
    AsTheyCame,
    Applied,
}

impl Controls {
    pub(super) fn of(terminal: Option<&Terminal>) -> Controls {
        match terminal {
            Some(_) => Controls::Applied,
            None => Controls::AsTheyCame,
        }
    }
}

/// A summary, and the words that mark it as one.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) text: String,
    pub(crate) mark: String,
}

/// What a notice says of there being no summary; nothing where none was to be expected.
pub(crate) type Remark = Option<String>;

/// Has a summary of an output written that is within the limits, beside a notice of `notice_chars` where there is a guard.
pub(crate) fn summarized(
    policy: &Policy<'_>,
    source: &Source<'_>,
    notice_chars: usize,
) -> Result<Summary, Remark> {
    let without = |why: &str| Some(notice::no_summary(why, policy.lang));
    let say = |message: Message| message.say(policy.lang, &[]);
    let Summaries { writer, .. } = policy.summaries;
    let mut read = Reading::of(source, policy)
        .map_err(|cause| without(&Message::SpillUnread.say(policy.lang, &[("cause", &cause)])))?;
    if read.chars <= policy.summaries.trigger_threshold as u64 {
        return Err(None);
    }
    let writer = writer.map_err(|lack| without(&say(lack.message())))?;
    let room =
        Room::of(policy, notice_chars).ok_or_else(|| without(&say(Message::SummaryNoRoom)))?;
    let input = read.input(policy.lang);
    let request = SummaryRequest {
        instructions: &room.instructions(policy),
        text: &input,
        max_chars: room.chars,
        lang: policy.lang,
    };
    let answer = writer.summarize(&request).map_err(|why| without(&why))?;
    let text = plain(&answer);
    let of_model = |message: Message| {
        without(&message.say(policy.lang, &[("model", shown_model(writer.model()))]))
    };
    if text.is_empty() {
        return Err(of_model(Message::SummaryEmpty));
    }
    if is_over(&text, &room.limits) {
        return Err(of_model(Message::SummaryTooLong));
    }
    let mark = read.mark(writer.model(), input.chars().count() as u64, policy.lang);
    Ok(Summary { text, mark })
}

/// Returns what is said of a summary for which the guard has no room.
pub(crate) fn too_long(policy: &Policy<'_>) -> Remark {
    let model = policy.summaries.writer.map_or("", |writer| writer.model());
    let why = Message::SummaryTooLong.say(policy.lang, &[("model", shown_model(model))]);
    Some(notice::no_summary(&why, policy.lang))
}

impl Lack {
    fn message(self) -> Message {
        match self {
            Lack::Switch => Message::SummariesOff,
            Lack::Address => Message::SummariesNowhere,
            Lack::Summarizer => Message::SummarizerLacking,
        }
    }
}

impl Sink<'_> {
    /// Returns the message with a summary for an output that is in the store, if `is_within` allows it.
    pub(super) fn summarized(
        &self,
        kept: &Kept,
        outcome: Outcome,
        controls: Controls,
        is_within: impl Fn(&Bounded<'_>) -> bool,
    ) -> Result<Bounded<'static>, Remark> {
        let policy = self.policy;
        // What cannot be got at any more is cut verbatim, and a short output is not even looked at again.
        let saved = kept.saved().filter(|_| {
            !self.probe.is_binary && self.raw_bytes > policy.summaries.trigger_threshold as u64
        });
        let Some(saved) = saved else {
            return Err(None);
        };
        let notice_chars = kept.hint(policy, outcome, 1).chars().count() + notice::REMARK_CHARS;
        let source = Source::Spill { saved, controls };
        let summary = summarized(policy, &source, notice_chars)?;
        let marked = kept.clone().remarked(Some(summary.mark));
        let preview = Preview::of_summary(self.stream.original(), &summary.text);
        let hint = marked.hint(policy, outcome, 1);
        let message = Composed::compose(&preview, Strategy::Summarize, "", &hint, policy);
        let is_whole = message.content.len() == summary.text.len() + 2 + hint.len();
        let cut = Bounded::Cut(Box::new(Truncated {
            truncation: Truncation::new(policy, Strategy::Summarize, &preview, &marked),
            content: message.content,
            preview: message.preview,
            notice: message.notice,
            saved: Some(saved.clone()),
            reasons: Vec::new(),
        }));
        match is_whole && is_within(&cut) {
            true => Ok(cut),
            false => Err(too_long(policy)),
        }
    }
}

/// An output that was read again: its size, and the part of it that the model is given.
struct Reading {
    terminal: Option<Terminal>,
    shown: Vec<u8>,
    chars: u64,
    counter: CharCounter,
    newlines: u64,
    is_line_open: bool,
    /// Chooses what the model is given, if there is one.
    chosen: Option<Stream>,
}

impl Reading {
    fn of(source: &Source<'_>, policy: &Policy<'_>) -> Result<Reading, String> {
        let limits = match policy.summaries.max_input_chars {
            Some(max) => Limits::none().chars(max),
            None => Limits::none(),
        };
        let choose = |_| Stream::new(&limits, Strategy::Smart).salience(&policy.salience);
        let mut reading = Reading {
            terminal: None,
            shown: Vec::new(),
            chars: 0,
            counter: CharCounter::default(),
            newlines: 0,
            is_line_open: false,
            chosen: policy.summaries.writer.ok().map(choose),
        };
        match source {
            Source::Text(text) => reading.push(text.as_bytes()),
            Source::Spill { saved, controls } => {
                reading.terminal = (*controls == Controls::Applied).then(Terminal::default);
                reading.read(saved, policy)?;
            }
        }
        reading.end();
        Ok(reading)
    }

    fn read(&mut self, saved: &Saved, policy: &Policy<'_>) -> Result<(), String> {
        let Keeping::Store { store, .. } = policy.keeping else {
            return Ok(());
        };
        let opened = store.find(&saved.path).and_then(|entry| store.open(&entry));
        let mut file = opened.map_err(|error| error.to_string())?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(len) => self.push(&chunk[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_cause(&error)),
            }
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        match &mut self.terminal {
            None => self.take(chunk),
            Some(terminal) => {
                let mut shown = std::mem::take(&mut self.shown);
                shown.clear();
                terminal.push(chunk, &mut shown);
                self.take(&shown);
                self.shown = shown;
            }
        }
    }

    /// Takes the next bytes of what is shown.
    fn take(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        self.counter.push(bytes);
        self.newlines += crate::limits::count_newlines(bytes);
        self.is_line_open = last != b'\n';
        if let Some(chosen) = &mut self.chosen {
            chosen.push(bytes);
        }
    }

    fn end(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            let mut shown = Vec::new();
            terminal.finish(&mut shown);
            self.take(&shown);
        }
        self.chars = self.counter.total();
    }

    /// Returns what the model is given.
    fn input(&mut self, lang: Lang) -> String {
        match self.chosen.take().map(Stream::finish) {
            Some(Streamed::Part(preview)) => preview.text(lang).into_owned(),
            Some(Streamed::Whole(bytes)) => text::decode(&bytes).into_owned(),
            None => String::new(),
        }
    }

    /// Returns the words that mark a summary by a model which was given `read` chars.
    fn mark(&self, model: &str, read: u64, lang: Lang) -> String {
        let lines = self.newlines + u64::from(self.is_line_open);
        let [chars, lines, read_chars] = [self.chars, lines, read].map(|n| n.to_string());
        let message = match read < self.chars {
            true => Message::SummaryOfPart,
            false => Message::SummaryOfAll,
        };
        let values = [
            ("model", shown_model(model)),
            ("n", &chars),
            ("m", &lines),
            ("read", &read_chars),
        ];
        message.say(lang, &values)
    }
}

/// How long a summary may be.
struct Room {
    chars: usize,
    lines: usize,
    /// What it must be within, which is wider: models do not count well.
    limits: Limits,
}

impl Room {
    fn of(policy: &Policy<'_>, notice_chars: usize) -> Option<Room> {
        let guard = policy
            .max_result_chars
            .map(|max| max.saturating_sub(notice_chars));
        let limits = super::narrowed(&policy.limits, guard.map(|max| max.max(1)));
        // What a char takes at most, and a token at least, in text of the language.
        let (bytes_a_char, chars_a_token) = match policy.lang {
            Lang::En => (1, 3),
            Lang::Zh => (3, 1),
        };
        let sizes = [
            Some(MOST_CHARS),
            limits.max_chars(),
            limits.max_bytes().map(|bytes| bytes / bytes_a_char),
            limits.max_tokens().map(|tokens| tokens * chars_a_token),
        ];
        let chars = sizes.into_iter().flatten().min().unwrap_or(MOST_CHARS);
        let lines = limits.max_lines().unwrap_or(MOST_LINES).min(MOST_LINES);
        (chars >= LEAST_CHARS).then_some(Room {
            chars,
            lines,
            limits,
        })
    }

    /// Returns what the model is told to do.
    fn instructions(&self, policy: &Policy<'_>) -> String {
        let [chars, lines] = [self.chars, self.lines].map(|n| n.to_string());
        let values = [("tool", &*policy.tool), ("n", &chars), ("m", &lines)];
        let mut told = Message::SummaryPrompt.say(policy.lang, &values);
        if let Some(max) = self.limits.max_line_chars() {
            let line = Message::SummaryLineChars.say(policy.lang, &[("n", &max.to_string())]);
            told = format!("{told}\n{line}");
        }
        if let Some(query) = asked(&policy.salience) {
            let line = Message::SummaryQuery.say(policy.lang, &[("query", query)]);
            told = format!("{told}\n{line}");
        }
        told
    }
}

/// Returns the start of what the output is asked for, if that is known.
fn asked(salience: &Salience) -> Option<&str> {
    let asked = salience.asked().trim();
    let asked = &asked[..edge::floor(asked, asked.floor_char_boundary(QUERY_BYTES))];
    (!asked.is_empty()).then_some(asked)
}

/// Returns an answer without what is no text: blank ends, control codes.
fn plain(answer: &str) -> String {
    let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = answer.chars().filter(is_text).collect();
    text.trim().to_owned()
}

/// Returns the name of a model as a notice shows it.
fn shown_model(model: &str) -> &str {
    /// Longer names are cut.
    const MODEL_BYTES: usize = 60;
    &model[..edge::floor(model, model.floor_char_boundary(MODEL_BYTES))]
}

#[cfg(test)]
mod tests;
