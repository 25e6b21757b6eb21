//! The words a model reads, in English and Chinese.
//!
//! Every message is a row of [`Message`] with a template in each language; nothing else in the project words one.
//! A notice is at most [`NOTICE_BYTES`] long beside the path it names. What an agent can do next is
//! [`Reach`], which is data; this module only says it.

mod message;

use std::borrow::Cow;

pub use self::message::Message;
use crate::cut::{Gap, GapStyle, edge};
use crate::hint::Reach;
use crate::limits::{Removed, Unit};

/// The most bytes of a notice, beside the path it names.
pub const NOTICE_BYTES: usize = 1024;

/// What the line that says how much was removed may take of that.
const REMOVED_BYTES: usize = 100;

/// The most bytes that a notice quotes of a reason.
const REASON_BYTES: usize = 200;

/// The most chars of what a notice says of a summary, or of there being none.
pub(crate) const REMARK_CHARS: usize = 300;

/// The language of what a model reads.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// Every language, in the order that help lists them.
    pub const ALL: [Lang; 2] = [Lang::En, Lang::Zh];

    /// Returns the name used in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Zh => "zh",
        }
    }

    /// Returns the language of a name.
    pub fn parse(name: &str) -> Option<Lang> {
        Lang::ALL.into_iter().find(|lang| lang.name() == name)
    }
}

/// How the call that made an output ended, as far as it is known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// Nobody knows: the output came through a pipe.
    #[default]
    Unknown,
}

/// Where the whole output is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Rest<'a> {
    /// In the store.
    Saved {
        /// The path of the spill, as the agent can use it.
        path: &'a str,
        /// Its id.
        id: &'a str,
        /// The first line that is not shown, or not all of it.
        next: u64,
        /// What is to be known of what is shown: that it is a summary, or why it is none.
        remark: Option<&'a str>,
    },
    /// Nowhere.
    Lost {
        /// Why it was not saved.
        why: &'a str,
    },
}

/// Returns the line that says how much is gone: `...98000 lines truncated...`.
pub fn removed(removed: Removed, lang: Lang) -> String {
    let count = removed.count.to_string();
    Message::Removed.say(lang, &[("n", &count), ("unit", unit(removed.unit, lang))])
}

/// Returns the line for an output of which all but control codes is shown.
pub(crate) fn unshown(removed: Removed, lang: Lang) -> String {
    Message::Unshown.say(lang, &[("n", &removed.count.to_string())])
}

/// Returns what stands between two kept parts.
pub fn marker(gap: &Gap, lang: Lang) -> Cow<'static, str> {
    let (count, lines) = (gap.removed.count.to_string(), gap.lines.to_string());
    let values = [
        ("n", &*count),
        ("m", &lines),
        ("unit", unit(gap.removed.unit, lang)),
    ];
    match gap.style {
        GapStyle::Paragraph => {
            Cow::Owned(format!("\n\n{}\n\n", Message::GapSize.say(lang, &values)))
        }
        GapStyle::SizeLine => Cow::Owned(format!("\n{}\n", Message::GapSize.say(lang, &values))),
        GapStyle::Lines => Cow::Owned(format!("\n{}\n", Message::GapLines.say(lang, &values))),
        GapStyle::DotsLine => Cow::Borrowed("\n...\n"),
        GapStyle::Dots => Cow::Borrowed("..."),
        GapStyle::Break => Cow::Borrowed("\n"),
    }
}

/// Returns the line that stands for lines that were left out.
pub fn omitted(first: u64, last: u64, lang: Lang) -> String {
    Message::GapRange.say(
        lang,
        &[("first", &first.to_string()), ("last", &last.to_string())],
    )
}

/// Returns the line that stands for a binary output.
pub fn binary(bytes: u64, lang: Lang) -> String {
    Message::Binary.say(lang, &[("n", &bytes.to_string())])
}

/// Returns what is said of an output that is all there.
pub(crate) fn complete(size: crate::limits::Size, lang: Lang) -> String {
    Message::Complete.say(
        lang,
        &[
            ("m", &size.lines.to_string()),
            ("n", &size.bytes.to_string()),
        ],
    )
}

/// Returns what is said of a command that failed.
pub fn command_failed(code: i32, lang: Lang) -> String {
    Message::Failed.say(lang, &[("n", &code.to_string())])
}

/// Returns why an output was not saved when the user did not want it to be.
pub fn not_wanted(lang: Lang) -> &'static str {
    Message::NotWanted.template(lang)
}

/// Returns the line for an output that a background process still holds.
pub fn background_left(lang: Lang) -> String {
    Message::BackgroundLeft.say(lang, &[])
}

/// Which lines of a spill are shown, and how to go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place<'a> {
    /// The spill's id.
    pub id: &'a str,
    /// The first line shown, from 1.
    pub from: u64,
    /// The last line shown.
    pub to: u64,
    /// How many lines there are.
    pub all: u64,
    /// How the overspill program is called.
    pub program: &'a str,
}

/// Returns the line that says which lines of a spill are shown.
pub fn place(place: &Place<'_>, lang: Lang) -> String {
    let message = if place.to < place.all {
        Message::PlaceAndNext
    } else {
        Message::Place
    };
    say_place(message, place, place.to + 1, lang)
}

/// Returns the line that says which bytes of a spill are shown, counted from 0, `to` not among them.
pub fn byte_place(place: &Place<'_>, lang: Lang) -> String {
    let message = if place.to < place.all {
        Message::BytesAndNext
    } else {
        Message::Bytes
    };
    say_place(message, place, place.to, lang)
}

fn say_place(message: Message, place: &Place<'_>, next: u64, lang: Lang) -> String {
    let [from, to, all, next] = [place.from, place.to, place.all, next].map(|n| n.to_string());
    let values = [
        ("from", &*from),
        ("to", &to),
        ("all", &all),
        ("next", &next),
        ("id", place.id),
        ("program", place.program),
    ];
    message.say(lang, &values)
}

/// Returns the line that says that the last line shown goes on at the byte `next`, counted from 0.
pub fn line_cut(place: &Place<'_>, next: u64, lang: Lang) -> String {
    say_place(Message::LineCut, place, next, lang)
}

/// Returns the line for a page beyond the end of a spill.
pub fn no_such_lines(id: &str, all: u64, lang: Lang) -> String {
    Message::NoSuchLines.say(lang, &[("id", id), ("all", &all.to_string())])
}

/// Returns the line for a search of a spill that found nothing.
pub fn no_match(id: &str, lang: Lang) -> String {
    Message::NoMatch.say(lang, &[("id", id)])
}

/// Returns the line for a search whose matches are not all shown.
pub fn more_matches(matches: u64, lang: Lang) -> String {
    Message::MoreMatches.say(lang, &[("n", &matches.to_string())])
}

/// Returns what the agent is told: how the call went, where the whole is, and how to get at it.
pub fn hint(outcome: Outcome, rest: &Rest<'_>, reach: &Reach, lang: Lang) -> String {
    match rest {
        Rest::Saved {
            path,
            id,
            next,
            remark,
        } => {
            let first = match outcome {
                Outcome::Succeeded => Message::SavedAfterSuccess,
                Outcome::Failed => Message::SavedAfterFailure,
                Outcome::Unknown => Message::Saved,
            };
            let mut hint = first.say(lang, &[("path", path)]);
            if let Some(remark) = remark {
                hint = format!("{hint}\n{remark}");
            }
            for way in ways(reach, id, *next, lang) {
                // A way that is too long to say, for the paths in it, is left out.
                if hint.len() - path.len() + 1 + way.len() <= NOTICE_BYTES - REMOVED_BYTES {
                    hint = format!("{hint}\n{way}");
                }
            }
            hint
        }
        Rest::Lost { why } => {
            let first = match outcome {
                Outcome::Succeeded => Message::LostAfterSuccess,
                Outcome::Failed => Message::LostAfterFailure,
                Outcome::Unknown => Message::Lost,
            };
            let why = reason(why);
            format!(
                "{}\n{}",
                first.say(lang, &[("why", why)]),
                Message::Narrow.say(lang, &[])
            )
        }
    }
}

/// Returns what is said of an output for which there is no summary.
pub(crate) fn no_summary(why: &str, lang: Lang) -> String {
    Message::NoSummary.say(lang, &[("why", reason(why))])
}

/// Returns as much of a reason as a notice quotes.
fn reason(why: &str) -> &str {
    &why[..edge::floor(why, why.floor_char_boundary(REASON_BYTES))]
}

/// Says how the spill can be got at, naming only what the agent has.
fn ways(reach: &Reach, id: &str, next: u64, lang: Lang) -> Vec<String> {
    let [task, grep, read, program] =
        [&reach.task, &reach.grep, &reach.read, &reach.program].map(|name| name.as_deref());
    let page = |read: &str| match lang {
        Lang::En => format!("{read} (offset/limit)"),
        Lang::Zh => format!("{read}（offset/limit）"),
    };
    let and = if lang == Lang::En { " and " } else { " 和 " };
    let with_tools = match (task, grep, read) {
        (Some(task), Some(grep), Some(read)) => Some(Message::Delegate.say(
            lang,
            &[
                ("task", task),
                ("tools", &format!("{grep}{and}{}", page(read))),
            ],
        )),
        (Some(task), Some(grep), None) => {
            Some(Message::Delegate.say(lang, &[("task", task), ("tools", grep)]))
        }
        (Some(task), None, Some(read)) => {
            Some(Message::Delegate.say(lang, &[("task", task), ("tools", &page(read))]))
        }
        (_, Some(grep), Some(read)) => {
            Some(Message::SearchAndPage.say(lang, &[("grep", grep), ("read", read)]))
        }
        (_, Some(grep), None) => Some(Message::Search.say(lang, &[("grep", grep)])),
        (_, None, Some(read)) => Some(Message::Page.say(lang, &[("read", read)])),
        (_, None, None) => None,
    };
    let in_shell = program.map(|program| {
        Message::Shell.say(
            lang,
            &[
                ("program", program),
                ("id", id),
                ("next", &next.to_string()),
            ],
        )
    });
    with_tools.into_iter().chain(in_shell).collect()
}

/// Returns the name of a unit.
pub fn unit(unit: Unit, lang: Lang) -> &'static str {
    match (lang, unit) {
        (Lang::En, unit) => unit.name(),
        (Lang::Zh, Unit::Lines) => "行",
        (Lang::Zh, Unit::Bytes) => "字节",
        (Lang::Zh, Unit::Chars) => "字符",
        (Lang::Zh, Unit::Tokens) => "token",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(template: &str) -> Vec<&str> {
        let mut names: Vec<&str> = template
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn both_languages_name_the_same_things() {
        for &message in Message::ALL {
            let (en, zh) = message.templates();
            assert!(!en.is_empty() && !zh.is_empty() && en != zh, "{message:?}");
            assert_eq!(names(en), names(zh), "{message:?}");
        }
    }

    #[test]
    fn values_are_not_read_as_templates() {
        let said = Message::Saved.say(Lang::En, &[("path", "{id}/{path}")]);
        assert_eq!(
            said,
            "The output was truncated. Full output saved to: {id}/{path}"
        );
    }

    #[test]
    fn a_notice_stays_within_its_bound_whatever_the_reason() {
        let why = "é".repeat(5000);
        for lang in Lang::ALL {
            for outcome in [Outcome::Succeeded, Outcome::Failed, Outcome::Unknown] {
                let lost = hint(outcome, &Rest::Lost { why: &why }, &Reach::default(), lang);
                assert!(lost.len() <= NOTICE_BYTES, "{} bytes", lost.len());
                assert!(lost.contains(if lang == Lang::En {
                    "full output was not saved: é"
                } else {
                    "完整内容未保存：é"
                }));
                let saved = hint(
                    outcome,
                    &Rest::Saved {
                        path: "p",
                        id: "00000000",
                        next: 7,
                        remark: None,
                    },
                    &Reach::with_task("Task"),
                    lang,
                );
                assert!(saved.len() <= NOTICE_BYTES, "{} bytes", saved.len());
                assert_eq!(
                    saved.contains("succeeded"),
                    outcome == Outcome::Succeeded && lang == Lang::En
                );
            }
        }
    }

    #[test]
    fn a_hint_names_only_what_the_agent_has() {
        let rest = Rest::Saved {
            path: "tool-output/x.txt",
            id: "0abc0def",
            next: 7,
            remark: None,
        };
        let say = |reach: &Reach| hint(Outcome::Succeeded, &rest, reach, Lang::En);
        insta::assert_snapshot!(say(&Reach::default()), @r"
        The tool call succeeded but the output was truncated. Full output saved to: tool-output/x.txt
        Use Grep to search the full content or Read with offset and limit to view parts of it.
        ");
        insta::assert_snapshot!(say(&Reach::with_task("Task")), @r"
        The tool call succeeded but the output was truncated. Full output saved to: tool-output/x.txt
        Use the Task tool to have a subagent process this file with Grep and Read (offset/limit). Do NOT read the full file yourself: delegate to save context.
        ");
        insta::assert_snapshot!(say(&Reach::nothing()), @"The tool call succeeded but the output was truncated. Full output saved to: tool-output/x.txt");
    }
}
