//! The contract of a tool, and the one place that wraps every call.
//!
//! A tool has a name, typed parameters and `run`. [`call`] does the rest for all of them alike: checks the parameters
//! against their schema, runs, honours what the tool says about its own bounds, bounds what is left, logs, and turns every
//! error and every panic into an envelope. It is the only place where a tool's answer is cut or spilled.

mod answer;
mod host;
mod params;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use self::answer::Bounds;
pub use self::answer::{Answer, ToolError};
pub use self::host::{Context, Host};
use crate::bound::Policy;
use crate::envelope::{Code, Envelope, Status, carried};
use crate::journal::Record;
use crate::limits::CEILING_BYTES;
use crate::notice::Message;
use crate::smart::Salience;

/// The most bytes of parameters that an envelope repeats as they were given.
const PARAMS_BYTES: usize = 4096;

/// Something an agent can call.
///
/// ```
/// use overspill::{Answer, Context, Host, Settings, Tool, ToolError, call};
/// use serde_json::json;
///
/// struct Repeat;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Params {
///     /// What to repeat
///     word: String,
///     /// How often
///     times: usize,
/// }
///
/// impl Tool for Repeat {
///     const NAME: &'static str = "Repeat";
///     const DESCRIPTION: &'static str = "Repeat a word, a line each.";
///     type Params = Params;
///
///     fn run(&self, cx: &Context<'_>, params: Params) -> Result<Answer, ToolError> {
///         let lines = format!("{}\n", params.word).repeat(params.times);
///         Ok(Answer::of_output(lines.as_bytes(), cx.lang()))
///     }
/// }
///
/// let host = Host::new(std::path::Path::new("/nowhere"), Settings::new());
/// let envelope = call(&Repeat, &host, json!({ "word": "spam", "times": 5000 }));
/// assert_eq!(envelope.data["truncation"]["kept_lines"], 2000);
/// let envelope = call(&Repeat, &host, json!({ "word": "spam", "tims": 1 }));
/// assert_eq!(envelope.error.unwrap().message, "Unknown parameter 'tims'; the nearest known one is 'times'.");
/// ```
pub trait Tool: Send + Sync {
    /// The name an agent calls it by.
    const NAME: &'static str;
    /// What it does, for the model that may call it. It costs context in every turn, so it is short.
    const DESCRIPTION: &'static str;
    /// Other names of parameters, each with the one it stands for.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Its parameters. The docs of the fields are what the model reads about them.
    type Params: DeserializeOwned + JsonSchema;

    /// Returns what the `smart` strategy goes by, if the parameters tell what the output is asked for.
    fn salience(_params: &Self::Params) -> Salience {
        Salience::default()
    }

    /// Does the work. The answer is complete: cutting it for the model's sake is [`call`]'s job, unless the tool pages.
    fn run(&self, cx: &Context<'_>, params: Self::Params) -> Result<Answer, ToolError>;
}

/// A tool of any type, for lists of them. Every [`Tool`] is one.
pub trait AnyTool: Send + Sync {
    /// Returns the name an agent calls it by.
    fn name(&self) -> &'static str;
    /// Returns what it does, for the model that may call it.
    fn description(&self) -> &'static str;
    /// Returns the JSON Schema of its parameters.
    fn schema(&self) -> Value;
    /// Calls it, as [`call`] does.
    fn call(&self, host: &Host, params: Value) -> Envelope;
    /// Calls it with parameters that are still text.
    fn call_json(&self, host: &Host, params: &str) -> Envelope;
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn description(&self) -> &'static str {
        T::DESCRIPTION
    }

    fn schema(&self) -> Value {
        params::schema::<T::Params>()
    }

    fn call(&self, host: &Host, params: Value) -> Envelope {
        call(self, host, params)
    }

    fn call_json(&self, host: &Host, params: &str) -> Envelope {
        let params = serde_json::from_str(params).map_err(|error| error.to_string());
        wrap(self, host, params)
    }
}

/// Calls a tool. Never panics, and the answer is a valid envelope within the limits that hold for the tool. A tool that pages
/// or bounds itself is taken at its word, up to [`CEILING_BYTES`].
pub fn call<T: Tool>(tool: &T, host: &Host, params: Value) -> Envelope {
    wrap(tool, host, Ok(params))
}

/// Returns the envelope of a call that came to no tool.
pub fn refuse(host: &Host, tool: &str, error: ToolError, params: Value) -> Envelope {
    let host = host.clone().without_journal();
    let cx = Context::new(&host, tool, 0);
    finish(&cx, Instant::now(), error.into_answer(), params)
}

/// Calls a tool with parameters that may have turned out not to be JSON, and why.
fn wrap<T: Tool>(tool: &T, host: &Host, params: Result<Value, String>) -> Envelope {
    let start = Instant::now();
    let params_chars = params.as_ref().map_or(0, |params| params.to_string().len());
    let most = params_bytes(host.settings().effective(T::NAME).max_result_chars());
    let mut cx = Context::new(host, T::NAME, params_chars.min(most));
    let answer = catch_unwind(AssertUnwindSafe(|| {
        let params = params::read::<T>(params.as_ref(), cx.lang())?;
        cx.ask(T::salience(&params));
        tool.run(&cx, params)
    }));
    let answer = answer
        .unwrap_or_else(|panic| Err(fault::<T>(&cx, &*panic)))
        .unwrap_or_else(ToolError::into_answer);
    finish(&cx, start, answer, params.unwrap_or_else(|_| json!({})))
}

/// Makes the envelope of an answer.
fn finish(cx: &Context<'_>, start: Instant, answer: Answer, params: Value) -> Envelope {
    let (bounds, is_timed) = (answer.bounds, answer.is_timed);
    let mut envelope = answer.settled(cx.lang());
    if !is_timed {
        let time = start.elapsed().as_millis() as u64;
        envelope.stats.insert("time_ms".to_owned(), json!(time));
    }
    describe(&mut envelope, cx, params, bounds);
    let policy = cx.policy();
    let envelope = match bounds {
        Bounds::Page if envelope.weight() <= CEILING_BYTES => {
            envelope.note_shown(&policy);
            envelope
        }
        Bounds::Sink if envelope.weight() <= CEILING_BYTES => envelope,
        bounds => {
            envelope.context.remove("truncation_skip");
            // A call is noted once.
            let record = match bounds {
                Bounds::Sink => Record::Nothing,
                Bounds::Page | Bounds::Wrapper => policy.record,
            };
            envelope.bound(&Policy { record, ..policy }, None)
        }
    };
    note_reading(cx, &envelope);
    log(cx.tool(), &envelope);
    envelope
}

/// Notes that a spill was looked into, if that is what the answer is about.
fn note_reading(cx: &Context<'_>, envelope: &Envelope) {
    let path = envelope
        .context
        .get("path_resolved")
        .and_then(Value::as_str);
    let spill = path
        .filter(|_| envelope.status != Status::Error)
        .and_then(|path| cx.store().spill_at(Path::new(path)));
    if let Some(spill) = spill {
        cx.host().note_reading(&spill, cx.tool());
    }
}

/// Returns how many bytes of parameters an envelope repeats: less under a guard, so that there is room for the rest.
fn params_bytes(max_result_chars: Option<usize>) -> usize {
    max_result_chars.map_or(PARAMS_BYTES, |max| (max / 8).min(PARAMS_BYTES))
}

/// Puts what every envelope tells of its call before what the tool tells.
fn describe(envelope: &mut Envelope, cx: &Context<'_>, params: Value, bounds: Bounds) {
    let most = params_bytes(cx.settings().max_result_chars());
    let params = match params {
        Value::Object(params) => Value::Object(carried(&params, most, json!({}))),
        other if other.to_string().len() <= most => other,
        _ => json!({}),
    };
    let own = std::mem::take(&mut envelope.context);
    let common = [("cwd", json!(cx.host().cwd())), ("params_input", params)];
    envelope.context = common
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect();
    // A tool says by `paged` that it is not to be bounded, and by nothing else.
    let is_own = |key: &str| match key {
        "cwd" | "params_input" => false,
        "truncation_skip" => bounds != Bounds::Wrapper,
        _ => true,
    };
    let own: Map<String, Value> = own.into_iter().filter(|(key, _)| is_own(key)).collect();
    envelope.context.extend(own);
}

fn fault<T: Tool>(cx: &Context<'_>, panic: &(dyn std::any::Any + Send)) -> ToolError {
    let cause = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown");
    let cause = &cause[..cause.floor_char_boundary(200)];
    let message = Message::InternalFault.say(cx.lang(), &[("tool", T::NAME), ("cause", cause)]);
    ToolError::new(Code::InternalError, message).hint(Message::TryOtherwise.say(cx.lang(), &[]))
}

fn log(tool: &str, envelope: &Envelope) {
    let status = match envelope.status {
        Status::Success => "success",
        Status::Partial => "partial",
        Status::Error => "error",
    };
    let time_ms = envelope.stats.get("time_ms").and_then(Value::as_u64);
    tracing::debug!(tool, status, time_ms, "tool call");
}

#[cfg(test)]
mod tests;
