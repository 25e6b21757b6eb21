//! Bounds an output from end to end: cuts it, saves the whole, and says so.
//!
//! A [`Sink`] takes an output in chunks. What is shown goes through a [`Stream`]; the bytes as they came are held while
//! they may still be within the limits, then written to a spill as they come. Trouble with the store never reaches the
//! caller as an error: the preview stays bounded and the notice tells why the whole was not saved.

mod saving;
mod summary;

use std::borrow::Cow;

use serde::Serialize;

pub(crate) use self::saving::Kept;
use self::saving::Saving;
use self::summary::Controls;
pub use self::summary::{Lack, Summaries, Summarizer, SummaryRequest};
pub(crate) use self::summary::{Remark, Source, summarized, too_long};
use crate::cut::{Preview, is_over};
use crate::guard::guard;
use crate::hint::Reach;
use crate::journal::{Ending, Limit, Record, Text};
use crate::limits::{Limits, Size};
use crate::notice::{self, Lang, Outcome};
use crate::smart::{Reason, Salience};
use crate::store::{Saved, Store};
use crate::strategy::Strategy;
use crate::stream::Stream;
use crate::terminal::Terminal;
use crate::text;

/// Room in a guarded message for the line that says how much was removed, and the blank lines around it.
const REMOVED_CHARS: usize = 64;

/// How an output is bounded.
#[derive(Clone, Debug)]
pub struct Policy<'s> {
    /// What bounds the preview.
    pub limits: Limits,
    /// What is kept.
    pub strategy: Strategy,
    /// What the `smart` strategy goes by.
    pub salience: Salience,
    /// The guard: what bounds the whole message, if anything.
    pub max_result_chars: Option<usize>,
    /// The language of notices.
    pub lang: Lang,
    /// What the agent can get at a spill with.
    pub reach: Reach,
    /// The tool that made the output.
    pub tool: String,
    /// Where the whole goes.
    pub keeping: Keeping<'s>,
    /// Who hears of it.
    pub record: Record<'s>,
    /// Who writes summaries, for the strategy of that name.
    pub summaries: Summaries<'s>,
}

/// Where complete outputs go.
#[derive(Clone, Copy, Debug)]
pub enum Keeping<'s> {
    /// Into a store.
    Store {
        /// The store.
        store: &'s Store,
        /// How paths in notices are written.
        paths: Paths,
    },
    /// Nowhere, and why not.
    Nowhere(&'s str),
}

/// How a notice writes the path of a spill.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Paths {
    /// Relative to the root, for an agent that works there.
    #[default]
    Relative,
    /// Absolute, for an agent that works elsewhere.
    Absolute,
}

impl Policy<'_> {
    /// Returns the default policy for a tool, which saves nothing.
    pub fn new(tool: &str) -> Self {
        Policy {
            limits: Limits::default(),
            strategy: Strategy::default(),
            salience: Salience::default(),
            max_result_chars: None,
            lang: Lang::default(),
            reach: Reach::default(),
            tool: tool.to_owned(),
            keeping: Keeping::Nowhere("there is no store"),
            record: Record::default(),
            summaries: Summaries::default(),
        }
    }

    /// Returns what is kept of an output that only the guard cuts: both ends, what matters, or a summary.
    pub(crate) fn guarded_strategy(&self) -> Strategy {
        match self.strategy {
            Strategy::Smart | Strategy::Summarize => self.strategy,
            Strategy::Head | Strategy::Tail | Strategy::HeadTail => Strategy::HeadTail,
        }
    }

    /// Returns the limits with the guard among them: what is over either is cut.
    fn guarded_limits(&self) -> Limits {
        narrowed(&self.limits, self.max_result_chars)
    }
}

/// Returns `limits` with at most `max` chars.
fn narrowed(limits: &Limits, max: Option<usize>) -> Limits {
    match max {
        Some(max) => limits.chars(limits.max_chars().map_or(max, |chars| chars.min(max))),
        None => *limits,
    }
}

/// An output within its limits, or what is shown in its place.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Bounded<'t> {
    /// The output is within every limit: its bytes as they came, or as a terminal shows them where that was asked for.
    Whole(Cow<'t, [u8]>),
    /// The output was cut.
    Cut(Box<Truncated>),
}

/// What is shown in place of an output that was cut.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Truncated {
    /// The message: preview and notice.
    pub content: String,
    /// The kept part alone.
    pub preview: String,
    /// The notice alone.
    pub notice: String,
    /// Where the whole is, if it was saved.
    pub saved: Option<Saved>,
    /// The record of the cut.
    pub truncation: Truncation,
    /// Why each run of lines was kept, where lines are scored.
    pub reasons: Vec<Reason>,
}

/// The record of a cut, as it stands in an envelope's `data.truncation`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Truncation {
    /// The strategy's name.
    pub direction: &'static str,
    /// The limit on lines; null if it is off.
    pub max_lines: Option<usize>,
    /// The limit on bytes; null if it is off.
    pub max_bytes: Option<usize>,
    /// The limit on chars, if it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// The limit on tokens, if it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// The limit on the chars of a line, if it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_line_chars: Option<usize>,
    /// Lines of the whole output.
    pub original_lines: u64,
    /// Bytes of the whole output.
    pub original_bytes: u64,
    /// Lines of the preview, without markers.
    pub kept_lines: u64,
    /// Bytes of the preview, without markers.
    pub kept_bytes: u64,
    /// Where the whole is; null if it was not saved.
    pub full_output_path: Option<String>,
    /// How much was removed, exactly.
    pub removed: u64,
    /// The unit of the limit that stopped the cut.
    pub unit: &'static str,
    /// The id of the spill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why the whole was not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Truncation {
    pub(crate) fn new(
        policy: &Policy<'_>,
        strategy: Strategy,
        preview: &Preview<'_>,
        whole: &Kept,
    ) -> Self {
        let (original, kept, limits) = (preview.original(), preview.kept(), &policy.limits);
        Truncation {
            direction: strategy.name(),
            max_lines: limits.max_lines(),
            max_bytes: limits.max_bytes(),
            max_chars: limits.max_chars(),
            max_tokens: limits.max_tokens(),
            max_line_chars: limits.max_line_chars(),
            original_lines: original.lines,
            original_bytes: original.bytes,
            kept_lines: kept.lines,
            kept_bytes: kept.bytes,
            full_output_path: whole.saved().map(|saved| saved.path.clone()),
            removed: preview.removed().count,
            unit: preview.removed().unit.name(),
            id: whole.saved().map(|saved| saved.id.to_string()),
            reason: whole.why().map(str::to_owned),
        }
    }
}

/// Bounds a whole text. For bytes, or for what comes in chunks, use a [`Sink`].
///
/// ```
/// use overspill::{Bounded, Limits, Outcome, Policy, bound};
///
/// let policy = Policy { limits: Limits::none().lines(2), ..Policy::new("Demo") };
/// let Bounded::Cut(cut) = bound("a\nb\nc\n", &policy, Outcome::Succeeded) else { panic!() };
/// assert_eq!(cut.preview, "a\nb");
/// assert!(cut.content.starts_with("a\nb\n\n...1 lines truncated...\n\nThe tool call succeeded but"));
/// ```
pub fn bound<'t>(output: &'t str, policy: &Policy<'_>, outcome: Outcome) -> Bounded<'t> {
    if !is_over(output, &policy.guarded_limits()) {
        policy.note_whole(output.as_bytes());
        return Bounded::Whole(Cow::Borrowed(output.as_bytes()));
    }
    let mut sink = Sink::new(policy);
    sink.push(output.as_bytes());
    sink.finish(outcome)
}

/// Bounds an output as it comes.
///
/// ```
/// use overspill::{Bounded, Limits, Outcome, Policy, Sink, Strategy};
///
/// let policy = Policy { limits: Limits::none().lines(1), strategy: Strategy::Tail, ..Policy::new("Build") };
/// let mut sink = Sink::new(&policy);
/// sink.push(b"compiling\nerror: no s");
/// sink.push(b"uch file\n");
/// let Bounded::Cut(cut) = sink.finish(Outcome::Failed) else { panic!() };
/// assert_eq!(cut.preview, "error: no such file");
/// assert!(cut.notice.contains("The tool call failed and its output was truncated"));
/// ```
#[derive(Debug)]
pub struct Sink<'p> {
    policy: &'p Policy<'p>,
    stream: Stream,
    saving: Saving<'p>,
    raw_bytes: u64,
    /// Applies terminal control codes to what is shown.
    terminal: Option<Terminal>,
    shown: Vec<u8>,
    /// Whether control codes took text away, so that what is shown is not all there was.
    has_lost: bool,
    probe: Probe,
}

impl<'p> Sink<'p> {
    /// Starts an output that is shown as it comes.
    pub fn new(policy: &'p Policy<'p>) -> Self {
        let saving = match policy.keeping {
            Keeping::Store { .. } => Saving::Held(Vec::new()),
            Keeping::Nowhere(why) => Saving::Lost(why.to_owned()),
        };
        let strategy = match policy.max_result_chars {
            // The guard may turn a strategy that keeps one end into `head_tail`, so both ends are kept.
            Some(_) => policy.guarded_strategy(),
            None => policy.strategy,
        };
        let stream = Stream::new(&policy.guarded_limits(), strategy).salience(&policy.salience);
        Sink {
            policy,
            stream,
            saving,
            raw_bytes: 0,
            terminal: None,
            shown: Vec::new(),
            has_lost: false,
            probe: Probe::default(),
        }
    }

    /// Starts the output of a program: terminal control codes are applied to what is shown, and saved as they came.
    pub fn of_terminal(policy: &'p Policy<'p>) -> Self {
        Sink {
            terminal: Some(Terminal::default()),
            ..Sink::new(policy)
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        self.raw_bytes += chunk.len() as u64;
        self.probe.push(chunk);
        self.saving.push(chunk, self.policy);
        match &mut self.terminal {
            None => self.stream.push(chunk),
            Some(terminal) => {
                self.shown.clear();
                terminal.push(chunk, &mut self.shown);
                self.stream.push(&self.shown);
            }
        }
    }

    /// Returns how the output is bounded.
    pub fn policy(&self) -> &'p Policy<'p> {
        self.policy
    }

    /// Returns the bytes that came so far.
    pub fn bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// Ends the output; `outcome` is how the call that made it ended.
    pub fn finish(self, outcome: Outcome) -> Bounded<'static> {
        self.finish_as(outcome, |bounded| match bounded {
            Bounded::Whole(bytes) => text::decode(bytes).chars().count(),
            Bounded::Cut(cut) => cut.content.chars().count(),
        })
    }

    /// Ends an output that is sent in some other form; `chars` measures that form, for the guard.
    pub fn finish_as(
        mut self,
        outcome: Outcome,
        chars: impl Fn(&Bounded<'_>) -> usize,
    ) -> Bounded<'static> {
        let controls = Controls::of(self.terminal.as_ref());
        self.end();
        let policy = self.policy;
        let is_within = |bounded: &Bounded<'_>| {
            policy
                .max_result_chars
                .is_none_or(|max| chars(bounded) <= max)
        };
        let is_over = self.has_lost || self.stream.exceeded(&policy.limits).is_some();
        if !is_over && self.stream.exceeded(&policy.guarded_limits()).is_none() {
            let whole = Bounded::Whole(Cow::Owned(self.stream.whole().to_vec()));
            if is_within(&whole) {
                self.note_whole();
                return whole;
            }
        }
        let strategy = if is_over {
            policy.strategy
        } else {
            policy.guarded_strategy()
        };
        let saving = std::mem::replace(&mut self.saving, Saving::Lost(String::new()));
        let mut kept = saving.settle(policy);
        let strategy = match strategy {
            Strategy::Summarize => match self.summarized(&kept, outcome, controls, is_within) {
                Ok(cut) => {
                    self.note_cut(&cut, &policy.limits);
                    return cut;
                }
                Err(remark) => {
                    kept = kept.remarked(remark);
                    Strategy::HeadTail
                }
            },
            other => other,
        };
        // Under a guard the preview gets what the notice leaves, so that the notice survives whole.
        let notice_chars = kept.hint(policy, outcome, u64::MAX).chars().count() + REMOVED_CHARS;
        let mut room = policy
            .max_result_chars
            .map(|max| max.saturating_sub(notice_chars).max(1));
        loop {
            let limits = narrowed(&policy.limits, room);
            let cut = Bounded::Cut(Box::new(self.cut(&limits, strategy, &kept, outcome)));
            match room {
                Some(chars) if chars > 1 && !is_within(&cut) => room = Some((chars / 4 * 3).max(1)),
                _ => {
                    self.note_cut(&cut, &limits);
                    return cut;
                }
            }
        }
    }

    /// Notes that all of the output is shown.
    fn note_whole(&self) {
        if self.policy.record.journal().is_some() {
            let after = Size::of(self.stream.whole());
            self.policy
                .note(self.stream.original(), after, Ending::Whole);
        }
    }

    /// Notes what was shown under `limits`.
    fn note_cut(&self, bounded: &Bounded<'_>, limits: &Limits) {
        let policy = self.policy;
        let Bounded::Cut(cut) = bounded else {
            return;
        };
        if !policy.record.is_wanted() {
            return;
        }
        let limit = if self.stream.is_all_shown(limits) {
            Limit::Codes
        } else if self.stream.is_only_clipped(&policy.guarded_limits()) {
            Limit::LineChars
        } else {
            Limit::nearest(&cut.preview, &cut.content, policy)
        };
        let whole = match (policy.record, policy.keeping, &cut.saved) {
            (Record::Journal(_), Keeping::Store { store, .. }, Some(saved)) => {
                store.reopen(saved).map_or(Text::Gone, Text::Saved)
            }
            _ => Text::Gone,
        };
        let after = Size::of(cut.content.as_bytes());
        let ending = Ending::Cut {
            limit,
            spill: cut.saved.as_ref().map(|saved| &saved.id),
            whole,
            shown: &cut.content,
        };
        policy.note(self.stream.original(), after, ending);
    }

    /// Cuts what is shown of the output to `limits`.
    fn cut(&self, limits: &Limits, strategy: Strategy, kept: &Kept, outcome: Outcome) -> Truncated {
        let preview = match self.probe.is_binary {
            true => Preview::of_binary(self.stream.original(), limits),
            false => self.stream.preview(limits, strategy),
        };
        let removed = match self.stream.is_all_shown(limits) {
            true => notice::unshown(preview.removed(), self.policy.lang),
            false => notice::removed(preview.removed(), self.policy.lang),
        };
        let hint = kept.hint(self.policy, outcome, preview.first_missing_line());
        let message = Composed::compose(&preview, strategy, &removed, &hint, self.policy);
        Truncated {
            truncation: Truncation::new(self.policy, strategy, &preview, kept),
            content: message.content,
            preview: message.preview,
            notice: message.notice,
            saved: kept.saved().cloned(),
            reasons: preview.reasons().to_vec(),
        }
    }

    /// Takes the end of the output into account.
    fn end(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            self.shown.clear();
            self.has_lost = terminal.finish(&mut self.shown);
            self.stream.push(&self.shown);
            self.stream.set_original_bytes(self.raw_bytes);
        }
        self.stream.settle();
    }
}

/// Looks for a NUL at the start of an output, which makes it binary.
#[derive(Debug, Default)]
struct Probe {
    seen: usize,
    is_binary: bool,
}

impl Probe {
    fn push(&mut self, chunk: &[u8]) {
        let probed = &chunk[..chunk.len().min(text::PROBE_BYTES - self.seen)];
        self.is_binary |= text::is_binary(probed);
        self.seen += probed.len();
    }
}

/// A message put together from its parts.
pub(crate) struct Composed {
    pub(crate) content: String,
    pub(crate) preview: String,
    pub(crate) notice: String,
}

impl Composed {
    /// Puts the preview, the line that says how much was removed, and the hint into the order of the strategy.
    pub(crate) fn compose(
        preview: &Preview<'_>,
        strategy: Strategy,
        removed: &str,
        hint: &str,
        policy: &Policy<'_>,
    ) -> Composed {
        let text = preview.text(policy.lang).into_owned();
        let notice = match preview.says_removed() {
            true => hint.to_owned(),
            false => format!("{removed}\n\n{hint}"),
        };
        let content = match strategy {
            Strategy::Tail => format!("{notice}\n\n{text}"),
            Strategy::Head | Strategy::HeadTail | Strategy::Smart | Strategy::Summarize => {
                format!("{text}\n\n{notice}")
            }
        };
        let content = match policy.max_result_chars {
            Some(max) => guard(&content, max, policy.lang).into_owned(),
            None => content,
        };
        Composed {
            content,
            preview: text,
            notice,
        }
    }
}

#[cfg(test)]
mod tests;
