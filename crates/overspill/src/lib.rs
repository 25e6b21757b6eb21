//! Keeps tool output inside an AI agent's context window without losing a byte.
//!
//! [`cut()`] bounds a text, [`Stream`] bounds what comes in chunks, both as pure functions of limits and strategy.
//! [`Sink`] and [`bound()`] add the rest: the whole goes to a [`Store`], and the notice says what was cut, where the whole
//! is and how to get at it. [`Envelope`] bounds a structured tool result. A [`Tool`] is what an agent calls, [`call()`] the
//! one wrapper of every call. A [`Journal`] hears of each. [`settings`] is the one table of settings.
//!
//! The library never prints, never exits and never reads the environment.

mod bound;
mod cut;
mod envelope;
mod error;
mod guard;
mod hint;
mod journal;
mod json;
mod limits;
pub mod notice;
pub mod settings;
mod smart;
mod store;
mod strategy;
mod stream;
mod terminal;
mod text;
mod tokens;
mod tool;

pub use bound::{
    Bounded, Keeping, Lack, Paths, Policy, Sink, Summaries, Summarizer, SummaryRequest, Truncated,
    Truncation, bound,
};
pub use cut::{Cut, Gap, GapStyle, Part, Preview, cut};
pub use envelope::{Code, Envelope, Failure, Status};
pub use error::{Error, ErrorKind, io_cause};
pub use guard::guard;
pub use hint::{Action, Reach, Rule};
pub use journal::{Call, Ending, Journal, Limit, Record, Text};
pub use limits::{CEILING_BYTES, Limits, Removed, Size, Unit};
pub use notice::{Lang, Outcome};
pub use settings::Settings;
pub use smart::{Evidence, Reason, Salience};
pub use store::{Entry, Format, Pruned, Retention, Saved, Spill, SpillId, Store};
pub use strategy::Strategy;
pub use stream::{Stream, Streamed};
pub use terminal::Terminal;
pub use text::{decode, is_binary, raw_prefix_len};
pub use tokens::{Encoding, MAX_TOKEN_BYTES, Tally};
pub use tool::{Answer, AnyTool, Context, Host, Tool, ToolError, call, refuse};
