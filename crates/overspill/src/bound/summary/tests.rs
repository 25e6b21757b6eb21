use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::bound::{Paths, bound};
use crate::envelope::{Envelope, Status};
use crate::notice::NOTICE_BYTES;
use crate::store::{Retention, Store};
use crate::strategy::Strategy;

/// Answers always the same, and remembers what it was asked.
#[derive(Debug)]
struct Fake {
    answer: Result<String, String>,
    asked: Mutex<Vec<(String, String, usize)>>,
}

impl Fake {
    fn new(answer: Result<&str, &str>) -> Fake {
        Fake {
            answer: answer.map(str::to_owned).map_err(str::to_owned),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<(String, String, usize)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Summarizer for Fake {
    fn model(&self) -> &str {
        "fake-1"
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let asked = (
            request.instructions.to_owned(),
            request.text.to_owned(),
            request.max_chars,
        );
        self.asked.lock().unwrap().push(asked);
        self.answer.clone()
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    (root, store)
}

fn policy<'s>(store: &'s Store, fake: &'s Fake) -> Policy<'s> {
    Policy {
        limits: Limits::none().lines(100),
        strategy: Strategy::Summarize,
        keeping: Keeping::Store {
            store,
            paths: Paths::Relative,
        },
        summaries: Summaries {
            writer: Ok(fake),
            trigger_threshold: 1000,
            max_input_chars: Some(5000),
        },
        ..Policy::new("Build")
    }
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

fn cut(text: &str, policy: &Policy<'_>) -> Truncated {
    match bound(text, policy, Outcome::Succeeded) {
        Bounded::Cut(cut) => *cut,
        Bounded::Whole(_) => panic!("it fits"),
    }
}

/// What `head_tail` gives, with `remark` as the second line of its notice.
#[track_caller]
fn assert_falls_back(text: &str, policy: &Policy<'_>, remark: Option<&str>) {
    let found = cut(text, policy);
    let plain = cut(
        text,
        &Policy {
            strategy: Strategy::HeadTail,
            ..policy.clone()
        },
    );
    assert_eq!(found.preview, plain.preview);
    assert_eq!(found.truncation.direction, "head_tail");
    let paths = |cut: &Truncated| cut.saved.as_ref().map(|saved| saved.path.clone());
    let notice = found
        .notice
        .replace(&paths(&found).unwrap_or_default(), "PATH");
    let mut expected: Vec<String> = plain
        .notice
        .replace(&paths(&plain).unwrap_or_default(), "PATH")
        .lines()
        .map(str::to_owned)
        .collect();
    let first = expected
        .iter()
        .position(|line| line.contains("PATH"))
        .unwrap_or(0);
    if let Some(remark) = remark {
        expected.insert(first + 1, remark.to_owned());
    }
    assert_eq!(notice.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_summary_stands_for_the_output_and_says_so() {
    let (root, store) = store();
    let fake = Fake::new(Ok("  500 lines, all alike.\x1b[0m\n"));
    let text = lines(500);
    let found = cut(&text, &policy(&store, &fake));
    let path = &found.saved.as_ref().unwrap().path;
    assert_eq!(
        found.content.replace(path, "PATH"),
        "500 lines, all alike.[0m

The tool call succeeded but the output was truncated. Full output saved to: PATH
The above is a summary by fake-1 of 4392 chars / 500 lines, not the output itself: what matters may be missing or wrong.
Use Grep to search the full content or Read with offset and limit to view parts of it."
    );
    let record = &found.truncation;
    assert_eq!(
        (record.direction, record.removed, record.unit),
        ("summarize", 4392, "bytes")
    );
    assert_eq!(
        (record.original_lines, record.kept_lines, record.kept_bytes),
        (500, 1, 24)
    );
    assert_eq!(
        std::fs::read_to_string(root.path().join(path)).unwrap(),
        text
    );
    assert_eq!(fake.asked()[0].1, text);
}

#[test]
fn the_model_is_told_what_it_reads_and_given_what_matters() {
    let (_root, store) = store();
    let fake = Fake::new(Ok("short"));
    let policy = Policy {
        salience: Salience::default().query("why is the disk full?"),
        limits: Limits::none().lines(30).line_chars(900),
        ..policy(&store, &fake)
    };
    let text = lines(1000) + "error: disk full\n" + &lines(1000);
    let found = cut(&text, &policy);
    let (instructions, input, max_chars) = fake.asked().remove(0);
    assert!(
        input.chars().count() <= 5000 && input.contains("\nerror: disk full\n"),
        "{input}"
    );
    assert!(input.contains("omitted] ..."), "{input}");
    for told in [
        "the tool `Build`",
        "at most 4000 characters and 30 lines",
        "more than 900 characters",
        "asked for: why is the disk full?",
    ] {
        assert!(instructions.contains(told), "no {told}: {instructions}");
    }
    assert_eq!(max_chars, 4000);
    let read = format!("of which it read {} chars", input.chars().count());
    assert!(found.notice.contains(&read), "{}", found.notice);
}

#[test]
fn whatever_fails_gives_both_ends_and_the_reason() {
    let (_root, store) = store();
    let text = lines(500);
    let long = "word ".repeat(2000);
    let tall = "a\n".repeat(200);
    let cases: [(Result<&str, &str>, &str); 5] = [
        (
            Err("the model at h answered 500"),
            "the model at h answered 500",
        ),
        (Ok(" \n"), "the summary by fake-1 is empty"),
        (Ok("\x1b\0"), "the summary by fake-1 is empty"),
        (Ok(&long), "the summary by fake-1 is over the limits"),
        (Ok(&tall), "the summary by fake-1 is over the limits"),
    ];
    for (answer, why) in cases {
        let fake = Fake::new(answer);
        let policy = Policy {
            limits: Limits::none().lines(100).bytes(4000),
            ..policy(&store, &fake)
        };
        let remark = format!("There is no summary, so both ends are shown: {why}");
        assert_falls_back(&text, &policy, Some(&remark));
    }
}

#[test]
fn nobody_is_asked_about_what_is_short_binary_or_not_saved() {
    let (_root, store) = store();
    let fake = Fake::new(Ok("a summary"));
    let all = policy(&store, &fake);
    let short = Policy {
        limits: Limits::none().lines(5),
        ..all.clone()
    };
    assert_falls_back(
        &"é".repeat(990),
        &Policy {
            limits: Limits::none().chars(900),
            ..all.clone()
        },
        None,
    );
    assert_falls_back(&lines(50), &short, None);
    let lost = Policy {
        keeping: Keeping::Nowhere("the disk is full"),
        ..all.clone()
    };
    assert_falls_back(&lines(500), &lost, None);
    let binary = cut(&format!("\0{}", lines(500)), &all);
    assert!(
        binary.preview.starts_with("binary output"),
        "{}",
        binary.preview
    );
    assert_eq!(fake.asked(), []);
}

#[test]
fn without_anybody_to_ask_the_notice_says_what_to_set() {
    let (_root, store) = store();
    let fake = Fake::new(Ok("a summary"));
    for (lack, why) in [
        (Lack::Switch, "`summarization.enabled` is not `true`"),
        (Lack::Address, "`summarization.base_url` is not set"),
        (Lack::Summarizer, "nothing here writes summaries"),
    ] {
        let mut policy = policy(&store, &fake);
        policy.summaries.writer = Err(lack);
        let remark = format!("There is no summary, so both ends are shown: {why}");
        assert_falls_back(&lines(500), &policy, Some(&remark));
        assert_falls_back(&lines(110), &policy, None);
    }
}

#[test]
fn a_guard_bounds_the_whole_and_where_it_is_small_nobody_is_asked() {
    let (_root, store) = store();
    let fake = Fake::new(Ok("a summary of some length"));
    let guarded = |max| Policy {
        max_result_chars: Some(max),
        limits: Limits::none(),
        ..policy(&store, &fake)
    };
    let found = cut(&lines(500), &guarded(1200));
    assert_eq!(found.truncation.direction, "summarize");
    assert!(found.content.chars().count() <= 1200);
    let (instructions, _, max_chars) = fake.asked().remove(0);
    assert!(
        (200..1200).contains(&max_chars) && instructions.contains(&format!("{max_chars} char"))
    );
    let found = cut(&lines(500), &guarded(500));
    assert!(
        found.notice.contains("the limits leave no room for one"),
        "{}",
        found.notice
    );
    assert_eq!(fake.asked().len(), 1);
}

#[test]
fn control_codes_are_applied_to_what_the_model_reads() {
    let (_root, store) = store();
    let fake = Fake::new(Ok("done"));
    let policy = policy(&store, &fake);
    let mut sink = Sink::of_terminal(&policy);
    for n in 0..2000 {
        sink.push(format!("\r\x1b[32m{n}%\x1b[0m").as_bytes());
    }
    sink.push(format!("\n{}", lines(500)).as_bytes());
    let Bounded::Cut(found) = sink.finish(Outcome::Failed) else {
        panic!("it fits")
    };
    assert_eq!(fake.asked()[0].1, format!("1999%\n{}", lines(500)));
    assert!(
        found.notice.contains("of 4398 chars / 501 lines"),
        "{}",
        found.notice
    );
    assert!(found.notice.starts_with("The tool call failed"));
}

#[test]
fn it_speaks_chinese() {
    let (_root, store) = store();
    let said = |answer: Result<&str, &str>| {
        let fake = Fake::new(answer);
        let policy = Policy {
            lang: Lang::Zh,
            ..policy(&store, &fake)
        };
        let notice = cut(&lines(500), &policy).notice;
        (
            fake.asked().remove(0).0,
            notice.lines().nth(1).unwrap().to_owned(),
        )
    };
    let (instructions, mark) = said(Ok("摘要"));
    assert!(
        instructions.contains("最多 4000 个字符、100 行"),
        "{instructions}"
    );
    assert_eq!(
        mark,
        "以上是 fake-1 对 4392 字符 / 500 行输出的摘要，并非原文：可能有遗漏或错误。"
    );
    assert_eq!(
        said(Ok("")).1,
        "没有摘要，因此显示首尾两端：fake-1 的摘要为空"
    );
}

#[test]
fn an_envelope_is_summarized_too() {
    let (_root, store) = store();
    for (answer, direction) in [(Ok("a \"summary\""), "summarize"), (Err("no"), "head_tail")] {
        let fake = Fake::new(answer);
        let envelope = Envelope::of_output(lines(500).as_bytes(), Lang::En);
        let bounded = envelope.bound(&policy(&store, &fake), None);
        assert_eq!(bounded.status, Status::Partial);
        assert_eq!(bounded.data["truncation"]["direction"], direction);
        assert_eq!(bounded.data["truncation"]["original_lines"], 500);
        let preview = bounded.data["preview"].as_str().unwrap();
        match answer {
            Ok(summary) => {
                assert_eq!(preview, summary);
                assert!(bounded.text.contains("summary by fake-1 of 4392 chars"));
            }
            Err(_) => {
                assert!(preview.starts_with("line 1\n") && preview.ends_with("line 500"));
                assert!(
                    bounded.text.contains("both ends are shown: no\n"),
                    "{}",
                    bounded.text
                );
            }
        }
    }
}

#[test]
fn a_spill_that_cannot_be_read_again_is_told() {
    let (root, store) = store();
    let fake = Fake::new(Ok("a summary"));
    let policy = policy(&store, &fake);
    let saved = cut(&lines(500), &policy).saved.unwrap();
    std::fs::remove_file(root.path().join(&saved.path)).unwrap();
    let source = Source::Spill {
        saved: &saved,
        controls: Controls::AsTheyCame,
    };
    let remark = summarized(&policy, &source, 0).unwrap_err().unwrap();
    assert!(
        remark.contains("the saved output could not be read: "),
        "{remark}"
    );
}

proptest! {
    #[test]
    fn whatever_a_model_says_the_message_is_bounded_and_not_empty(
        answer in prop::result::maybe_ok("(?s).{0,900}", "(?s).{0,900}"),
        max_bytes in 1_usize..1500,
        max_lines in 1_usize..20,
        guard in prop::option::of(1_usize..2500),
        lang in prop::sample::select(&Lang::ALL[..]),
        outcome in prop::sample::select(&[Outcome::Succeeded, Outcome::Failed, Outcome::Unknown][..]),
    ) {
        let (_root, store) = store();
        let fake = Fake::new(answer.as_deref().map_err(String::as_str));
        let limits = Limits::none().bytes(max_bytes).lines(max_lines);
        let policy = Policy { limits, lang, max_result_chars: guard, ..policy(&store, &fake) };
        let Bounded::Cut(found) = bound(&lines(300), &policy, outcome) else { panic!("it fits") };
        prop_assert!(!found.preview.is_empty());
        prop_assert!(!is_over(&found.preview, &limits), "{}", found.preview);
        let path = found.saved.as_ref().map_or(0, |saved| saved.path.len());
        prop_assert!(found.notice.len() - path <= NOTICE_BYTES, "{}", found.notice);
        if let Some(max) = guard {
            prop_assert!(found.content.chars().count() <= max, "{}", found.content);
        }
    }
}
