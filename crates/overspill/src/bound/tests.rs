use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::notice::NOTICE_BYTES;
use crate::store::Retention;
use crate::strategy::Strategy;

fn policy<'s>(store: &'s Store, limits: Limits, strategy: Strategy) -> Policy<'s> {
    Policy {
        limits,
        strategy,
        keeping: Keeping::Store {
            store,
            paths: Paths::Relative,
        },
        ..Policy::new("Test")
    }
}

fn cut_of(bounded: Bounded<'_>) -> Truncated {
    match bounded {
        Bounded::Cut(cut) => *cut,
        Bounded::Whole(bytes) => panic!("{} bytes fit", bytes.len()),
    }
}

#[test]
fn within_limits_nothing_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = policy(&store, Limits::default(), Strategy::Head);
    let text = "line\n".repeat(2000);
    assert_eq!(
        bound(&text, &policy, Outcome::Succeeded),
        Bounded::Whole(text.as_bytes().into())
    );
    assert!(!root.path().join("out").exists());
}

#[test]
fn over_a_limit_the_whole_is_saved_and_the_message_says_so() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let text: String = (1..=50).map(|n| format!("{n}\n")).collect();
    for (strategy, preview) in [
        (Strategy::Head, "1\n2\n3\n4"),
        (Strategy::Tail, "47\n48\n49\n50"),
        (Strategy::HeadTail, "1\n... [truncated 48 lines] ...\n50"),
        // Four lines are too few to pick any between the ends.
        (Strategy::Smart, "1\n... [truncated 48 lines] ...\n50"),
    ] {
        let policy = policy(&store, Limits::none().lines(4), strategy);
        let cut = cut_of(bound(&text, &policy, Outcome::Succeeded));
        let path = &cut.saved.as_ref().unwrap().path;
        let hint = format!(
            "The tool call succeeded but the output was truncated. Full output saved to: {path}\nUse Grep"
        );
        let expected = match strategy {
            Strategy::Head => format!("{preview}\n\n...46 lines truncated...\n\n{hint}"),
            Strategy::Tail => format!("...46 lines truncated...\n\n{hint}"),
            Strategy::HeadTail | Strategy::Smart | Strategy::Summarize => {
                format!("{preview}\n\n{hint}")
            }
        };
        assert!(cut.content.starts_with(&expected), "{}", cut.content);
        assert_eq!(cut.preview, preview);
        assert_eq!(
            std::fs::read_to_string(root.path().join(path)).unwrap(),
            text
        );
    }
}

#[test]
fn trouble_with_the_store_is_told_and_nothing_more() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("out"), "a file").unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = policy(&store, Limits::none().bytes(10), Strategy::Tail);
    let cut = cut_of(bound(&"x".repeat(1000), &policy, Outcome::Failed));
    assert_eq!(cut.preview, "x".repeat(10));
    assert!(
        cut.content
            .contains("full output was not saved: `out`: is not a directory"),
        "{}",
        cut.content
    );
    assert!(!cut.content.contains("succeeded"));
    assert_eq!(
        (cut.saved, cut.truncation.reason.as_deref()),
        (None, Some("`out`: is not a directory"))
    );
}

#[test]
fn control_codes_are_applied_to_what_is_shown_and_saved_as_they_came() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = policy(&store, Limits::none().bytes(100), Strategy::Head);
    let raw: String = (0..=100)
        .map(|n| format!("\r\x1b[32m{n}%\x1b[0m"))
        .collect::<String>()
        + "\ndone\n";
    let mut sink = Sink::of_terminal(&policy);
    raw.as_bytes().chunks(7).for_each(|chunk| sink.push(chunk));
    let cut = cut_of(sink.finish(Outcome::Succeeded));
    assert_eq!(cut.preview, "100%\ndone");
    assert_eq!(
        (cut.truncation.removed, cut.truncation.unit),
        (raw.len() as u64 - 9, "bytes")
    );
    assert_eq!(
        std::fs::read_to_string(root.path().join(&cut.saved.unwrap().path)).unwrap(),
        raw
    );

    let mut sink = Sink::of_terminal(&policy);
    sink.push(b"\x1b[31mshort\x1b[0m\r\n");
    assert_eq!(
        sink.finish(Outcome::Succeeded),
        Bounded::Whole(b"short\r\n".into())
    );
}

#[test]
fn binary_output_is_one_line_that_says_so() {
    let mut bytes = b"\x7fELF\0\n".to_vec();
    bytes.resize(100_000, 7);
    let preview = |bytes: &[u8], limits: Limits| {
        let policy = Policy {
            limits,
            ..Policy::new("Test")
        };
        let mut sink = Sink::new(&policy);
        bytes.chunks(4096).for_each(|chunk| sink.push(chunk));
        sink.finish(Outcome::Unknown)
    };
    let cut = cut_of(preview(&bytes, Limits::default()));
    assert_eq!(cut.preview, "binary output, 100000 bytes, not shown");
    assert_eq!(
        (
            cut.truncation.removed,
            cut.truncation.unit,
            cut.truncation.original_lines
        ),
        (100_000, "bytes", 2)
    );
    assert_eq!(
        cut_of(preview(&bytes, Limits::none().bytes(6))).preview,
        "binary"
    );
    assert_eq!(
        preview(&bytes[..6], Limits::default()),
        Bounded::Whole(bytes[..6].into())
    );
}

#[test]
fn text_that_was_written_over_is_saved() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = policy(&store, Limits::default(), Strategy::HeadTail);
    let raw = b"ERROR: disk failed\rok                \n";
    let mut sink = Sink::of_terminal(&policy);
    sink.push(raw);
    let cut = cut_of(sink.finish(Outcome::Succeeded));
    assert_eq!(cut.preview, "ok");
    assert!(
        cut.content
            .contains("...36 bytes of redrawn text and control codes not shown..."),
        "{}",
        cut.content
    );
    assert_eq!(
        std::fs::read(root.path().join(&cut.saved.unwrap().path)).unwrap(),
        raw
    );
}

#[test]
fn the_guard_cuts_what_the_limits_let_pass_and_saves_it() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::new(root.path(), Path::new("out"), Retention::default());
    let policy = Policy {
        max_result_chars: Some(800),
        ..policy(&store, Limits::default(), Strategy::Head)
    };
    let text: String = (0..500).map(|n| format!("{n}\n")).collect();
    let cut = cut_of(bound(&text, &policy, Outcome::Succeeded));
    assert_eq!(cut.truncation.direction, "head_tail");
    assert!(
        cut.preview.starts_with("0\n1\n") && cut.preview.ends_with("\n499"),
        "{}",
        cut.preview
    );
    assert!(
        cut.content.chars().count() <= 800
            && cut.content.contains("Full output saved to: out/tool_")
    );
    assert_eq!(
        std::fs::read_to_string(root.path().join(&cut.saved.unwrap().path)).unwrap(),
        text
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_message_is_bounded_whatever_comes(
        pieces in prop::collection::vec(prop_oneof![Just(b"text\n".to_vec()), Just(b"\x1b[1m\r".to_vec()), prop::collection::vec(any::<u8>(), 0..60)], 0..80),
        lines in 1usize..20,
        bytes in 1usize..300,
        guard in prop::option::of(1usize..2000),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        is_terminal: bool,
    ) {
        let limits = Limits::none().lines(lines).bytes(bytes);
        let policy = Policy { limits, strategy, max_result_chars: guard, ..Policy::new("Test") };
        let mut sink = if is_terminal { Sink::of_terminal(&policy) } else { Sink::new(&policy) };
        pieces.iter().for_each(|piece| sink.push(piece));
        match sink.finish(Outcome::Unknown) {
            Bounded::Whole(whole) if !is_terminal => prop_assert_eq!(whole.into_owned(), pieces.concat()),
            Bounded::Whole(whole) => prop_assert!(whole.len() <= bytes),
            Bounded::Cut(cut) => {
                prop_assert!(!cut.preview.is_empty() && cut.preview.len() <= bytes);
                prop_assert!(cut.notice.len() <= NOTICE_BYTES);
                prop_assert!(guard.is_none_or(|max| cut.content.chars().count() <= max));
            }
        }
    }
}

/// Takes down which limit bit.
#[derive(Debug, Default)]
struct Bites(std::sync::Mutex<Vec<&'static str>>);

impl crate::Journal for Bites {
    fn bounded(&self, call: crate::Call<'_>) {
        let name = match call.ending {
            Ending::Cut { limit, .. } => limit.name(),
            _ => "none",
        };
        self.0.lock().unwrap().push(name);
    }
    fn read_again(&self, _: &crate::SpillId, _: &str) {}
}

#[test]
fn the_limit_that_bit_is_noted_whatever_the_strategy() {
    let lines = "a line of some words\n".repeat(1000);
    let long = "x".repeat(5000);
    let cases = [
        (Limits::default(), None, "short", "none"),
        (
            Limits::none().lines(50).bytes(9000),
            None,
            &*lines,
            "max_lines",
        ),
        (
            Limits::none().lines(900).bytes(3000),
            None,
            &*lines,
            "max_bytes",
        ),
        (
            Limits::none().lines(900).chars(3000),
            None,
            &*lines,
            "max_chars",
        ),
        (
            Limits::none().lines(900).tokens(300),
            None,
            &*lines,
            "max_tokens",
        ),
        (
            Limits::none().line_chars(100),
            None,
            &*long,
            "max_line_chars",
        ),
        (
            Limits::none().lines(900),
            Some(2000),
            &*lines,
            "max_result_chars",
        ),
        (Limits::none(), Some(2000), &*long, "max_result_chars"),
    ];
    for (limits, max_result_chars, text, expected) in cases {
        for strategy in Strategy::ALL {
            let bites = Bites::default();
            let policy = Policy {
                limits,
                strategy,
                max_result_chars,
                record: Record::Journal(&bites),
                ..Policy::new("Test")
            };
            let _ = bound(text, &policy, Outcome::Succeeded);
            assert_eq!(*bites.0.lock().unwrap(), [expected], "{strategy}");
        }
    }
}

#[test]
fn what_is_part_of_another_call_is_not_noted() {
    let bites = Bites::default();
    let policy = Policy {
        limits: Limits::none().lines(1),
        record: Record::Journal(&bites),
        ..Policy::new("Test")
    };
    let inner = Policy {
        record: Record::Nothing,
        ..policy.clone()
    };
    let _ = bound("a\nb\n", &inner, Outcome::Succeeded);
    assert!(bites.0.lock().unwrap().is_empty());
}
