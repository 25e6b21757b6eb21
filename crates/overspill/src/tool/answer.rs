//! What a tool answers, before it is bounded.

use serde_json::{Map, Value};

use crate::bound::Bounded;
use crate::envelope::{Code, Envelope, Failure, Status};
use crate::notice::{Lang, Message};

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub(super) envelope: Envelope,
    pub(super) bounds: Bounds,
    /// Whether the tool tells itself how long it took.
    pub(super) is_timed: bool,
}

/// Who bounds an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bounds {
    /// The wrapper.
    Wrapper,
    /// The tool, which pages.
    Page,
    /// The tool, by a [`Sink`](crate::Sink), which noted it.
    Sink,
}

impl Answer {
    /// Returns a complete answer: the result, and what the model reads.
    pub fn new(data: Map<String, Value>, text: impl Into<String>) -> Answer {
        Answer::of_envelope(Envelope {
            data,
            text: text.into(),
            ..Envelope::of_output(b"", Lang::En)
        })
    }

    /// Returns an answer that is a plain output.
    pub fn of_output(output: &[u8], lang: Lang) -> Answer {
        Answer::of_envelope(Envelope::of_output(output, lang))
    }

    /// Returns an answer that the tool bounded itself; it is not bounded again.
    pub fn of_bounded(bounded: &Bounded<'_>, lang: Lang) -> Answer {
        let envelope = match bounded {
            Bounded::Whole(output) => Envelope::of_output(output, lang),
            Bounded::Cut(cut) => Envelope::of_cut(cut),
        };
        Answer {
            bounds: Bounds::Sink,
            ..Answer::of_envelope(envelope)
        }
    }

    fn of_envelope(envelope: Envelope) -> Answer {
        Answer {
            envelope,
            bounds: Bounds::Wrapper,
            is_timed: false,
        }
    }

    /// Says that it is not all: cut, timed out with results, or some items failed.
    pub fn partial(mut self) -> Answer {
        self.envelope.status = Status::Partial;
        self
    }

    /// Says that the tool pages, so that what is not here is reached by another call. It is passed on as it is.
    pub fn paged(mut self) -> Answer {
        if self.bounds == Bounds::Wrapper {
            self.bounds = Bounds::Page;
        }
        self.context("truncation_skip", true)
    }

    /// Makes it the answer of a call that failed but has something to show.
    pub fn failed(mut self, code: Code, message: String) -> Answer {
        self.envelope = self.envelope.failed(code, message);
        self
    }

    /// Returns the envelope, valid whatever the tool put into it.
    pub(super) fn settled(self, lang: Lang) -> Envelope {
        let mut envelope = self.envelope;
        if envelope.error.is_some() {
            envelope.status = Status::Error;
            if !envelope.data.contains_key("truncation") {
                envelope.data.clear();
            }
        }
        if envelope.text.is_empty() {
            envelope.text = Message::NoText.say(lang, &[]);
        }
        if !envelope.stats.get("time_ms").is_some_and(Value::is_number) {
            envelope.stats.insert("time_ms".to_owned(), 0.into());
        }
        envelope
    }

    /// Adds to the result.
    pub fn data(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.envelope.data.insert(key.to_owned(), value.into());
        self
    }

    /// Says something else to the model. What a cut has to say stands.
    pub fn text(mut self, text: &str) -> Answer {
        if !self.envelope.data.contains_key("truncation") {
            text.clone_into(&mut self.envelope.text);
        }
        self
    }

    /// Adds a line to what the model reads.
    pub fn line(mut self, line: &str) -> Answer {
        self.envelope.text = format!("{}\n{line}", self.envelope.text);
        self
    }

    /// Adds a figure about the call. `time_ms` is added to every answer that has none.
    pub fn stat(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.is_timed |= key == "time_ms";
        self.envelope.stats.insert(key.to_owned(), value.into());
        self
    }

    /// Adds to where and with what it was called.
    pub fn context(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.envelope.context.insert(key.to_owned(), value.into());
        self
    }
}

/// Why a tool has no answer, and what to try next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolError {
    failure: Failure,
    hint: Option<String>,
    path_resolved: Option<String>,
}

impl ToolError {
    /// Returns an error of a kind, told in one line.
    pub fn new(code: Code, message: impl Into<String>) -> ToolError {
        ToolError {
            failure: Failure {
                code,
                message: message.into(),
            },
            hint: None,
            path_resolved: None,
        }
    }

    /// Adds what to try next.
    pub fn hint(self, hint: impl Into<String>) -> ToolError {
        ToolError {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Adds what the path of the call stands for, relative to the root.
    pub fn path_resolved(self, path: impl Into<String>) -> ToolError {
        ToolError {
            path_resolved: Some(path.into()),
            ..self
        }
    }

    /// Returns what kind of error it is.
    pub fn code(&self) -> &Code {
        &self.failure.code
    }

    /// Returns what is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.failure.message
    }

    pub(super) fn into_answer(self) -> Answer {
        let Failure { code, message } = self.failure;
        let text = match &self.hint {
            Some(hint) => format!("{message}\n{hint}"),
            None => message.clone(),
        };
        let answer = Answer::new(Map::new(), "").failed(code, message);
        let mut answer = match self.path_resolved {
            Some(path) => answer.context("path_resolved", path),
            None => answer,
        };
        answer.envelope.text = text;
        answer
    }
}
