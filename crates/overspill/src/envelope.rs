//! The Standard Envelope v1.0: what a tool answers.
//!
//! At the top only `status`, `data`, `text`, `stats`, `context`, and `error` exactly when the status is `error`. Bounding
//! one measures its readable payload, saves the complete JSON, and puts preview and record into `data`; the result is
//! always a valid envelope.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::bound::{
    Composed, Keeping, Kept, Policy, Remark, Source, Truncated, Truncation, summarized, too_long,
};
use crate::cut::{Cut, Preview, cut, cut_for, is_only_clipped, is_over};
use crate::journal::{Ending, Limit, Text};
use crate::json as layout;
use crate::limits::{Limits, Size};
use crate::notice::{self, Lang, Outcome};
use crate::store::{Format, Store};
use crate::strategy::Strategy;

/// The most bytes of `stats`, `context` or `error` that are carried over into a bounded envelope.
const CARRIED_BYTES: usize = 4096;

/// The most chars of a string that is carried over, where all of them together are too long.
const CARRIED_STRING_CHARS: usize = 200;

/// How much JSON around one text is no payload of its own: keys, counts, flags.
const STRUCTURE_BYTES: usize = 512;

/// How complete an answer is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// All of it.
    Success,
    /// Cut, timed out with results, or some items failed.
    Partial,
    /// The call failed.
    Error,
}

/// Why a call failed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// There is no such thing.
    NotFound,
    /// The path is outside the root.
    AccessDenied,
    /// The operating system refused.
    PermissionDenied,
    /// A parameter is missing, unknown or bad.
    InvalidParam,
    /// It took too long and has nothing to show.
    Timeout,
    /// A fault of the tool itself.
    InternalError,
    /// What was run failed.
    ExecutionError,
    /// Something changed in between.
    Conflict,
    /// A file was expected.
    IsDirectory,
    /// A text was expected.
    BinaryFile,
    /// A code that is none of these, of a tool that has its own.
    #[serde(untagged)]
    Other(String),
}

/// The `error` of an envelope.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What kind of failure.
    pub code: Code,
    /// What failed, in one line.
    pub message: String,
}

/// A tool's answer.
///
/// ```
/// use overspill::{Envelope, Lang};
/// let envelope = Envelope::of_output(b"a\nb\n", Lang::En);
/// assert_eq!(Envelope::parse(envelope.to_json().as_bytes()), Some(envelope));
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Unchecked")]
pub struct Envelope {
    /// How complete it is.
    pub status: Status,
    /// The result.
    pub data: Map<String, Value>,
    /// What the model reads.
    pub text: String,
    /// Figures about the call, `time_ms` among them.
    pub stats: Map<String, Value>,
    /// Where and with what it was called: `cwd` and `params_input` at least.
    pub context: Map<String, Value>,
    /// Why it failed, exactly when `status` is `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// The members of an envelope, before it is known whether they make one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    status: Status,
    data: Map<String, Value>,
    text: String,
    stats: Map<String, Value>,
    context: Map<String, Value>,
    error: Option<Failure>,
}

impl TryFrom<Unchecked> for Envelope {
    type Error = &'static str;

    fn try_from(unchecked: Unchecked) -> Result<Envelope, Self::Error> {
        let Unchecked {
            status,
            data,
            text,
            stats,
            context,
            error,
        } = unchecked;
        let rules = [
            (
                (status == Status::Error) == error.is_some(),
                "`error` goes with the status `error`",
            ),
            (!text.is_empty(), "`text` is empty"),
            (
                stats.get("time_ms").is_some_and(Value::is_number),
                "`stats.time_ms` is not a number",
            ),
            (
                context.get("cwd").is_some_and(Value::is_string),
                "`context.cwd` is not a path",
            ),
            (
                context.contains_key("params_input"),
                "`context.params_input` is missing",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, broken)) => Err(broken),
            None => Ok(Envelope {
                status,
                data,
                text,
                stats,
                context,
                error,
            }),
        }
    }
}

impl Envelope {
    /// Reads an envelope; `None` for anything else, also for one that lacks what is required.
    pub fn parse(json: &[u8]) -> Option<Envelope> {
        serde_json::from_slice(json).ok()
    }

    /// Wraps a plain output that is within its limits.
    pub fn of_output(output: &[u8], lang: Lang) -> Envelope {
        let size = Size::of(output);
        let output = crate::text::decode(output);
        Envelope {
            status: Status::Success,
            data: object(json!({ "content": output, "truncated": false })),
            text: notice::complete(size, lang),
            stats: object(json!({ "time_ms": 0 })),
            context: object(json!({ "cwd": ".", "params_input": {} })),
            error: None,
        }
    }

    /// Wraps an output that was cut.
    pub fn of_cut(cut: &Truncated) -> Envelope {
        Envelope {
            status: Status::Partial,
            data: cut_data(&cut.truncation, &cut.preview),
            text: cut.notice.clone(),
            ..Envelope::of_output(b"", Lang::En)
        }
    }

    /// Makes it the answer of a call that failed. Its `content` moves into `text`, since `data` is empty then, unless a cut
    /// put its record there.
    pub fn failed(mut self, code: Code, message: String) -> Envelope {
        if !self.data.contains_key("truncation") {
            self.text = match self.data.get("content").and_then(Value::as_str) {
                None | Some("") => message.clone(),
                Some(content) => format!("{message}\n\n{content}"),
            };
            self.data.clear();
        }
        self.status = Status::Error;
        self.error = Some(Failure { code, message });
        self
    }

    /// Returns the envelope as JSON on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns about how many bytes it has.
    pub(crate) fn weight(&self) -> usize {
        self.text.len() + map_len(&self.data) + map_len(&self.stats) + map_len(&self.context)
    }

    /// Tells whether the tool asked not to be bounded.
    fn skips(&self) -> bool {
        self.context.get("truncation_skip") == Some(&Value::Bool(true))
    }

    /// Bounds the envelope. `source` is the JSON it was read from, if it was, so that the spill keeps every digit of it.
    ///
    /// ```
    /// use overspill::{Envelope, Lang, Limits, Policy, Status};
    ///
    /// let policy = Policy { limits: Limits::none().lines(1), ..Policy::new("Read") };
    /// let bounded = Envelope::of_output(b"a\nb\n", Lang::En).bound(&policy, None);
    /// assert_eq!(bounded.status, Status::Partial);
    /// assert_eq!(bounded.data["preview"], "a");
    /// ```
    pub fn bound(self, policy: &Policy<'_>, source: Option<&str>) -> Envelope {
        if self.skips() {
            self.note_shown(policy);
            return self;
        }
        let mut payload = self.payload(&policy.limits);
        if !is_over(payload.text(), &policy.limits) && is_over(&self.text, &policy.limits) {
            payload = Payload::Text(&self.text);
        }
        let is_cut = is_over(payload.text(), &policy.limits);
        if !is_cut && self.is_within(policy.max_result_chars) {
            policy.note_whole(payload.text().as_bytes());
            return self;
        }
        let mut kept = self.keep(&payload, policy, source);
        let mut strategy = if is_cut {
            policy.strategy
        } else {
            policy.guarded_strategy()
        };
        if strategy == Strategy::Summarize {
            match self.summarized(&payload, &kept, policy) {
                Ok(envelope) => {
                    envelope.note_cut(payload.text(), &kept, policy);
                    return envelope;
                }
                Err(remark) => (kept, strategy) = (kept.remarked(remark), Strategy::HeadTail),
            }
        }
        let bounded = self.cut(&payload, strategy, &kept, policy);
        let bounded = bounded.unwrap_or_else(|| self.clone());
        bounded.note_cut(payload.text(), &kept, policy);
        bounded
    }

    /// Cuts the payload until the envelope is within the guard. Where that is narrower than an envelope can be, the result is
    /// all that can be done: nothing, if even that leaves the payload whole.
    fn cut(
        &self,
        payload: &Payload<'_>,
        strategy: Strategy,
        kept: &Kept,
        policy: &Policy<'_>,
    ) -> Option<Envelope> {
        let mut limits = policy.limits;
        loop {
            let cut = match cut_for(payload.text(), &limits, strategy, &policy.salience) {
                Cut::Part(preview) => Some(self.with_cut(&preview, strategy, kept, policy)),
                Cut::Whole(_) => None,
            };
            match cut {
                Some(envelope) if envelope.is_within(policy.max_result_chars) => {
                    return Some(envelope);
                }
                cut if limits.max_chars() == Some(1) => return cut,
                _ => {}
            }
            // The guard holds for the JSON with its escapes, so the preview shrinks until that fits.
            let room = limits
                .max_chars()
                .or(policy.max_result_chars)
                .unwrap_or(usize::MAX);
            limits = limits.chars(room / 4 * 3);
        }
    }

    /// Notes an answer that is shown as the tool made it.
    pub(crate) fn note_shown(&self, policy: &Policy<'_>) {
        if policy.record.journal().is_none() {
            return;
        }
        let size = Size::of(self.payload(&policy.limits).text().as_bytes());
        let ending = match self.status {
            Status::Partial => Ending::Paged,
            Status::Success | Status::Error => Ending::Whole,
        };
        policy.note(size, size, ending);
    }

    /// Notes what is shown in place of a payload.
    fn note_cut(&self, payload: &str, kept: &Kept, policy: &Policy<'_>) {
        if !policy.record.is_wanted() {
            return;
        }
        let preview = self.data.get("preview").and_then(Value::as_str);
        let preview = preview.unwrap_or_default();
        let limit = match is_only_clipped(payload, &policy.limits) {
            true => Limit::LineChars,
            false => Limit::nearest(preview, &self.to_json(), policy),
        };
        let shown = format!("{preview}\n\n{}", self.text);
        let ending = Ending::Cut {
            limit,
            spill: kept.saved().map(|saved| &saved.id),
            whole: Text::Here(payload),
            shown: &shown,
        };
        let (before, after) = (Size::of(payload.as_bytes()), Size::of(shown.as_bytes()));
        policy.note(before, after, ending);
    }

    fn is_within(&self, max_result_chars: Option<usize>) -> bool {
        max_result_chars.is_none_or(|max| self.to_json().chars().count() <= max)
    }

    /// Returns the envelope with a summary in place of the data, if the whole is saved and the guard has room for it.
    fn summarized(
        &self,
        payload: &Payload<'_>,
        kept: &Kept,
        policy: &Policy<'_>,
    ) -> Result<Envelope, Remark> {
        let text = payload.text();
        if kept.saved().is_none() {
            return Err(None);
        }
        let original = Size::of(text.as_bytes());
        let bare = Preview::of_summary(original, "");
        let around = self.with_cut(&bare, Strategy::Summarize, kept, policy);
        let around_chars = around.to_json().chars().count() + notice::REMARK_CHARS;
        let summary = summarized(policy, &Source::Text(text), around_chars)?;
        let marked = kept.clone().remarked(Some(summary.mark));
        let preview = Preview::of_summary(original, &summary.text);
        let envelope = self.with_cut(&preview, Strategy::Summarize, &marked, policy);
        match envelope.is_within(policy.max_result_chars) {
            true => Ok(envelope),
            false => Err(too_long(policy)),
        }
    }

    /// Returns the envelope with preview and record of a cut in place of the data.
    fn with_cut(
        &self,
        preview: &Preview<'_>,
        strategy: Strategy,
        kept: &Kept,
        policy: &Policy<'_>,
    ) -> Envelope {
        let failed = self.status == Status::Error;
        let outcome = if failed {
            Outcome::Failed
        } else {
            Outcome::Succeeded
        };
        let removed = notice::removed(preview.removed(), policy.lang);
        let hint = kept.hint(policy, outcome, preview.first_missing_line());
        let message = Composed::compose(preview, strategy, &removed, &hint, policy);
        // Under a guard less is carried over, so that there is room for the preview.
        let most = policy
            .max_result_chars
            .map_or(CARRIED_BYTES, |max| (max / 8).min(CARRIED_BYTES));
        let mut error = self.error.clone();
        if let Some(failure) = &mut error {
            shorten(&mut failure.message, most / 4);
        }
        Envelope {
            status: if failed {
                Status::Error
            } else {
                Status::Partial
            },
            data: cut_data(
                &Truncation::new(policy, strategy, preview, kept),
                &message.preview,
            ),
            text: message.notice,
            stats: carried(&self.stats, most, json!({ "time_ms": 0 })),
            context: carried(
                &self.context,
                most,
                json!({ "cwd": ".", "params_input": {} }),
            ),
            error,
        }
    }

    /// Chooses what is measured and previewed: `text` where it carries the payload, else the largest string in `data`, else
    /// `data` itself. Where what is carried over is too long, it is the whole envelope.
    fn payload(&self, limits: &Limits) -> Payload<'_> {
        let message = self.error.as_ref().map_or(0, |error| error.message.len());
        let carried = json_len(&self.stats) + json_len(&self.context) + message;
        if carried > limits.reach_bytes().max(2 * CARRIED_BYTES) {
            return Payload::Pretty(pretty(self));
        }
        let largest = self
            .data
            .values()
            .map(largest_string)
            .max_by_key(|text| text.len())
            .unwrap_or("");
        let data = map_len(&self.data).saturating_sub(STRUCTURE_BYTES);
        // A text that only reports on the data is short beside it; one that carries it shows it, or is far longer.
        let is_shown = self.text.len() * 4 >= data && self.text.contains(largest);
        if self.text.len() > data + STRUCTURE_BYTES
            || (is_shown && self.text.len() >= largest.len())
        {
            Payload::Text(&self.text)
        } else if !largest.is_empty() && largest.len() * 2 >= data {
            Payload::Text(largest)
        } else {
            Payload::Pretty(pretty(&self.data))
        }
    }

    /// Saves the complete JSON, and beside it the payload where that is one text.
    fn keep(&self, payload: &Payload<'_>, policy: &Policy<'_>, source: Option<&str>) -> Kept {
        let store = match policy.keeping {
            Keeping::Store { store, .. } => store,
            Keeping::Nowhere(why) => return Kept::Lost(why.to_owned()),
        };
        let complete = source.map_or_else(|| pretty(self), layout::pretty);
        let text = match payload {
            Payload::Text(text) => Some(*text),
            Payload::Pretty(_) => None,
        };
        save(store, policy, &complete, text).unwrap_or_else(|error| Kept::Lost(error.to_string()))
    }
}

fn save(
    store: &Store,
    policy: &Policy<'_>,
    complete: &str,
    text: Option<&str>,
) -> Result<Kept, crate::Error> {
    let mut spill = store.begin(&policy.tool)?;
    spill.write(complete.as_bytes())?;
    let companion = match text {
        Some(text) => {
            let mut companion = spill.companion()?;
            companion.write(text.as_bytes())?;
            Some(companion)
        }
        None => None,
    };
    let whole = spill.commit(Format::Json)?;
    let named = match companion {
        Some(companion) => companion.commit(Format::Text)?,
        None => whole.clone(),
    };
    Ok(Kept::both(whole, &named, policy))
}

/// What of an envelope is measured and previewed.
enum Payload<'e> {
    /// One text in it.
    Text(&'e str),
    /// Structure, laid out over lines.
    Pretty(String),
}

impl Payload<'_> {
    fn text(&self) -> &str {
        match self {
            Payload::Text(text) => text,
            Payload::Pretty(text) => text,
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

fn largest_string(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        Value::Array(items) => items
            .iter()
            .map(largest_string)
            .max_by_key(|text| text.len())
            .unwrap_or(""),
        Value::Object(map) => map
            .values()
            .map(largest_string)
            .max_by_key(|text| text.len())
            .unwrap_or(""),
        _ => "",
    }
}

/// Returns about how long a value is without the escapes and layout of JSON.
fn plain_len(value: &Value) -> usize {
    const SCALAR: usize = 6;
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(plain_len).sum::<usize>() + items.len(),
        Value::Object(map) => map_len(map),
        _ => SCALAR,
    }
}

fn map_len(map: &Map<String, Value>) -> usize {
    map.iter()
        .map(|(key, value)| key.len() + plain_len(value) + 1)
        .sum()
}

fn cut_data(truncation: &Truncation, preview: &str) -> Map<String, Value> {
    object(json!({ "truncated": true, "truncation": truncation, "preview": preview }))
}

/// Returns what is carried over of `stats` or `context`: all of it, or where that is too long its strings shortened, or
/// where that is not enough what is required, by its own value if that is short.
pub(crate) fn carried(
    map: &Map<String, Value>,
    most: usize,
    required: Value,
) -> Map<String, Value> {
    if json_len(map) <= most {
        return map.clone();
    }
    let mut value = Value::Object(map.clone());
    shorten_strings(&mut value);
    let map = object(value);
    if json_len(&map) <= most {
        return map;
    }
    let own = |key: &String| {
        map.get(key)
            .filter(|value| json_len(value) <= most / 4)
            .cloned()
    };
    let with_own = |(key, value): (String, Value)| {
        let value = own(&key).unwrap_or(value);
        (key, value)
    };
    object(required).into_iter().map(with_own).collect()
}

fn shorten_strings(value: &mut Value) {
    match value {
        Value::String(text) => shorten(text, CARRIED_STRING_CHARS),
        Value::Array(items) => items.iter_mut().for_each(shorten_strings),
        Value::Object(map) => map.values_mut().for_each(shorten_strings),
        _ => {}
    }
}

fn shorten(text: &mut String, max_chars: usize) {
    let limits = Limits::none().chars(max_chars.saturating_sub(3));
    let Cut::Part(preview) = cut(text, &limits, Strategy::Head) else {
        return;
    };
    *text = format!("{}...", preview.text(Lang::En));
}

#[cfg(test)]
mod tests;
