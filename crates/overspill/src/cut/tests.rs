use proptest::prelude::*;

use proptest::strategy::Strategy as _;

use super::*;
use crate::notice::Lang;
use crate::strategy::Strategy;
use crate::tokens::Encoding;

fn part<'t>(text: &'t str, limits: &Limits, strategy: Strategy) -> Preview<'t> {
    match cut(text, limits, strategy) {
        Cut::Part(preview) => preview,
        Cut::Whole(_) => panic!("{text:?} fits"),
    }
}

/// Cuts, and says what came out on one line.
fn show(text: &str, limits: Limits, strategy: Strategy) -> String {
    match cut(text, &limits, strategy) {
        Cut::Whole(whole) => format!("whole {whole:?}"),
        Cut::Part(preview) => {
            let removed = preview.removed();
            format!(
                "{:?} -{} {}",
                preview.text(Lang::En),
                removed.count,
                removed.unit.name()
            )
        }
    }
}

#[test]
fn head_keeps_whole_lines_from_the_start() {
    let none = Limits::none();
    let cases: &[(&str, Limits, &str)] = &[
        ("", none.lines(1), r#"whole """#),
        ("a\nb\n", none.lines(2), r#"whole "a\nb\n""#),
        ("a\nb\nc", none.lines(2), r#""a\nb" -1 lines"#),
        ("a\r\nb\r\nc", none.lines(2), r#""a\r\nb\r" -1 lines"#),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(10),
            r#""aaaa\nbbbb" -6 bytes"#,
        ),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(9),
            r#""aaaa\nbbbb" -6 bytes"#,
        ),
        ("aaaa\nbbbb\ncccc\n", none.bytes(8), r#""aaaa" -11 bytes"#),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(14),
            r#""aaaa\nbbbb\ncccc" -1 bytes"#,
        ),
        ("éé\néé\néé", none.chars(5), r#""éé\néé" -3 chars"#),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(9).lines(2),
            r#""aaaa\nbbbb" -1 lines"#,
        ),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(9).lines(1),
            r#""aaaa" -2 lines"#,
        ),
    ];
    for (text, limits, expected) in cases {
        assert_eq!(
            show(text, *limits, Strategy::Head),
            *expected,
            "{text:?} {limits:?}"
        );
    }
}

#[test]
fn tail_keeps_whole_lines_from_the_end() {
    let none = Limits::none();
    let cases: &[(&str, Limits, &str)] = &[
        ("a\nb\nc\n", none.lines(2), r#""b\nc" -1 lines"#),
        (
            "aaaa\nbbbb\ncccc\n",
            none.bytes(9),
            r#""bbbb\ncccc" -6 bytes"#,
        ),
        ("aaaa\nbbbb\ncccc\n", none.bytes(8), r#""cccc" -11 bytes"#),
        ("éé\néé\néé", none.chars(5), r#""éé\néé" -3 chars"#),
        ("a\n\n\n", none.lines(2), r#""\n" -1 lines"#),
    ];
    for (text, limits, expected) in cases {
        assert_eq!(
            show(text, *limits, Strategy::Tail),
            *expected,
            "{text:?} {limits:?}"
        );
    }
}

#[test]
fn a_line_is_cut_where_it_alone_is_too_long() {
    let none = Limits::none();
    let long = "x".repeat(1000);
    let cases: &[(&str, Limits, Strategy, &str)] = &[
        (
            "abcdefgh",
            none.bytes(3),
            Strategy::Head,
            r#""abc" -5 bytes"#,
        ),
        (
            "abcdefgh",
            none.bytes(3),
            Strategy::Tail,
            r#""fgh" -5 bytes"#,
        ),
        (
            "abcdefgh\n",
            none.chars(3),
            Strategy::Tail,
            r#""fgh" -6 chars"#,
        ),
        ("ééé", none.bytes(3), Strategy::Head, r#""é" -4 bytes"#),
        (
            "e\u{301}e\u{301}",
            none.chars(3),
            Strategy::Head,
            r#""e\u{301}" -2 chars"#,
        ),
        (
            "ok\nabcdefgh",
            none.bytes(6),
            Strategy::Head,
            r#""ok\nabc" -5 bytes"#,
        ),
        (
            "abcdefgh\nok\n",
            none.bytes(6),
            Strategy::Tail,
            r#""fgh\nok" -6 bytes"#,
        ),
        ("\nabc", none.bytes(3), Strategy::Head, r#""\nab" -1 bytes"#),
        (
            "abc\n\n",
            none.bytes(3),
            Strategy::Tail,
            r#""bc\n" -2 bytes"#,
        ),
        ("\nabc", none.lines(1), Strategy::Head, r#""\n" -1 lines"#),
        ("abc\n\n", none.lines(1), Strategy::Tail, r#""\n" -1 lines"#),
        ("é", none.bytes(1), Strategy::Head, r#""?" -2 bytes"#),
        ("é", none.bytes(1), Strategy::Tail, r#""?" -2 bytes"#),
        (
            &long,
            none.line_chars(10),
            Strategy::Tail,
            r#""xxxxxxx..." -993 chars"#,
        ),
    ];
    for (text, limits, strategy, expected) in cases {
        assert_eq!(
            show(text, *limits, *strategy),
            *expected,
            "{text:?} {limits:?}"
        );
    }
}

#[test]
fn head_tail_keeps_both_ends_by_the_numbers_of_the_seed() {
    let text: String = ('a'..='z').cycle().take(20_000).collect();
    let preview = part(&text, &Limits::none().chars(8000), Strategy::HeadTail);
    let expected = format!(
        "{}\n\n... [truncated 13760 chars / 0 lines] ...\n\n{}",
        &text[..3120],
        &text[20_000 - 3120..]
    );
    assert_eq!(preview.text(Lang::En), expected);
    assert!(
        preview
            .text(Lang::Zh)
            .contains("... [截断了 13760 字符 / 0 行] ...")
    );

    let numbers: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let preview = part(&numbers, &Limits::none().lines(10), Strategy::HeadTail);
    assert_eq!(
        preview.text(Lang::En),
        "1\n2\n3\n4\n... [truncated 92 lines] ...\n97\n98\n99\n100"
    );
    assert_eq!(
        preview.removed(),
        Removed {
            count: 92,
            unit: Unit::Lines
        }
    );
}

#[test]
fn head_tail_snaps_to_line_edges_where_that_is_cheap() {
    let text: String = (0..5000).map(|n| format!("line {n:04}\n")).collect();
    let preview = part(&text, &Limits::none().bytes(1000), Strategy::HeadTail);
    let shown = preview.text(Lang::En);
    assert!(
        shown.starts_with("line 0000\n") && shown.contains("line 0031\n\n... [truncated "),
        "{shown}"
    );
    assert!(
        shown.contains(" lines] ...\n\nline 4968\n") && shown.ends_with("line 4999"),
        "{shown}"
    );
}

#[test]
fn head_tail_lets_the_limit_that_bites_decide() {
    // 3000 short lines: over the lines, not over the bytes, so all of 1998 lines are kept.
    let text: String = (0..3000).map(|n| format!("line number {n}\n")).collect();
    let preview = part(&text, &Limits::default(), Strategy::HeadTail);
    assert_eq!(preview.kept().lines, 1998);
    assert_eq!(
        preview.removed(),
        Removed {
            count: 1002,
            unit: Unit::Lines
        }
    );
}

#[test]
fn head_tail_keeps_both_ends_under_tiny_limits() {
    let text = "\n1\n2\n3\n4\n5\n\n";
    let cases = [
        (
            Limits::none().lines(5),
            "\n... [truncated 4 lines] ...\n5\n",
        ),
        (Limits::none().lines(4), "\n... [truncated 5 lines] ...\n"),
        (Limits::none().lines(2), "\n"),
    ];
    for (limits, expected) in cases {
        assert_eq!(
            part(text, &limits, Strategy::HeadTail).text(Lang::En),
            expected,
            "{limits:?}"
        );
    }
    let text = "first line\nsecond\nthird\nlast line\n";
    let cases = [
        (
            Limits::none().lines(3),
            "first line\n... [truncated 2 lines] ...\nlast line",
        ),
        (Limits::none().lines(2), "first line\nlast line"),
        (Limits::none().lines(1), "first line"),
        (Limits::none().bytes(11), "firs...line"),
        (Limits::none().bytes(3), "fir"),
    ];
    for (limits, expected) in cases {
        assert_eq!(
            part(text, &limits, Strategy::HeadTail).text(Lang::En),
            expected,
            "{limits:?}"
        );
    }
}

#[test]
fn a_cut_in_tokens_counts_what_went() {
    let text = "hello world\n".repeat(1000);
    let limits = Limits::none().tokens(30);
    let preview = part(&text, &limits, Strategy::Head);
    let shown = preview.text(Lang::En).into_owned();
    assert!(Encoding::O200k.count(&shown) <= 30);
    let all = Encoding::O200k.count(&text);
    assert_eq!(
        preview.removed(),
        Removed {
            count: all - Encoding::O200k.count(&shown),
            unit: Unit::Tokens
        }
    );
}

/// Text with everything a cut must mind: line ends of all kinds, blank lines, clusters, wide chars, long lines.
fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-z ]{0,12}",
        4 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("\t  ".to_owned()),
        1 => Just("e\u{301}\u{302}".to_owned()),
        1 => Just("👩‍👩‍👧🇩🇪".to_owned()),
        1 => Just("截断输出".to_owned()),
        1 => "[/.,;(){}=-]{1,6}",
        1 => "\\PC{0,8}",
        1 => (1usize..200).prop_map(|n| "x".repeat(n)),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn limits() -> impl proptest::strategy::Strategy<Value = Limits> {
    let maybe = |max: usize| prop::option::of(1..max);
    (maybe(30), maybe(400), maybe(400), maybe(120), maybe(60)).prop_map(
        |(lines, bytes, chars, tokens, line_chars)| {
            let limits = Limits::none();
            let limits = lines.map_or(limits, |n| limits.lines(n));
            let limits = bytes.map_or(limits, |n| limits.bytes(n));
            let limits = chars.map_or(limits, |n| limits.chars(n));
            let limits = tokens.map_or(limits, |n| limits.tokens(n));
            line_chars.map_or(limits, |n| limits.line_chars(n))
        },
    )
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    prop::sample::select(Strategy::ALL.to_vec())
}

/// What is wrong with a text under limits, if anything.
fn broken(text: &str, limits: &Limits) -> Option<String> {
    let size = Size::of(text.as_bytes());
    let over = |what: &str, n: usize, max: Option<usize>| {
        max.filter(|max| n > *max)
            .map(|max| format!("{n} {what} over {max}"))
    };
    let tokens = limits
        .max_tokens()
        .map_or(0, |_| limits.token_encoding().count(text) as usize);
    let longest = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).chars().count())
        .max()
        .unwrap_or(0);
    over("lines", size.lines as usize, limits.max_lines())
        .or(over("bytes", text.len(), limits.max_bytes()))
        .or(over("chars", text.chars().count(), limits.max_chars()))
        .or(over("tokens", tokens, limits.max_tokens()))
        .or(over("chars in a line", longest, limits.max_line_chars()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_fits_is_the_same_text_and_what_does_not_is_within_every_limit(text in texts(), limits in limits(), strategy in strategies()) {
        match cut(&text, &limits, strategy) {
            Cut::Whole(whole) => {
                prop_assert_eq!(whole.as_ptr(), text.as_ptr());
                prop_assert_eq!(whole.len(), text.len());
                prop_assert_eq!(broken(&text, &limits), None);
            }
            Cut::Part(preview) => {
                prop_assert!(broken(&text, &limits).is_some());
                for lang in Lang::ALL {
                    let shown = preview.text(lang);
                    prop_assert!(!shown.is_empty());
                    prop_assert_eq!(broken(&shown, &limits), None, "{:?}", shown);
                }
            }
        }
    }

    #[test]
    fn head_is_a_prefix_and_tail_a_suffix_and_what_went_is_exact(text in texts(), limits in limits(), is_head: bool) {
        let strategy = if is_head { Strategy::Head } else { Strategy::Tail };
        prop_assume!(!clip::is_needed(&text, &limits));
        let Cut::Part(preview) = cut(&text, &limits, strategy) else { return Ok(()) };
        let shown = preview.text(Lang::En).into_owned();
        prop_assume!(shown != "?");
        let is_end = if is_head { text.starts_with(&shown) } else { body(&text).ends_with(&shown) };
        prop_assert!(is_end);
        let all = |unit| match unit {
            Unit::Lines => (Size::of(text.as_bytes()).lines, preview.kept().lines),
            Unit::Bytes => (text.len() as u64, shown.len() as u64),
            Unit::Chars => (text.chars().count() as u64, shown.chars().count() as u64),
            Unit::Tokens => (Encoding::O200k.count(&text), Encoding::O200k.count(&shown)),
        };
        let (original, kept) = all(preview.removed().unit);
        prop_assert_eq!(original.saturating_sub(kept), preview.removed().count);
    }

    #[test]
    fn lines_are_whole_unless_one_alone_is_too_long(text in texts(), limits in limits(), is_head: bool) {
        let strategy = if is_head { Strategy::Head } else { Strategy::Tail };
        prop_assume!(!clip::is_needed(&text, &limits));
        let Cut::Part(preview) = cut(&text, &limits, strategy) else { return Ok(()) };
        let shown = preview.text(Lang::En).into_owned();
        prop_assume!(shown != "?");
        let (edge, cut_line) = if is_head {
            (shown.len(), text[shown.len()..].split('\n').next().unwrap_or("").to_owned())
        } else {
            let start = body(&text).len() - shown.len();
            (start, text[..start].rsplit('\n').next().unwrap_or("").to_owned())
        };
        if !cut_line.is_empty() {
            // The line at the edge was cut, so it alone is too long, or nothing visible was kept beside it.
            let line = text[..edge].rsplit('\n').next().unwrap_or("").to_owned() + text[edge..].split('\n').next().unwrap_or("");
            let others = shown.replace(if is_head { shown.rsplit('\n').next().unwrap_or("") } else { shown.split('\n').next().unwrap_or("") }, "");
            prop_assert!(is_alone_too_long(&line, &limits) || others.trim().is_empty(), "{:?} cut in {:?}", line, shown);
        }
    }

    #[test]
    fn cutting_twice_is_cutting_once(text in texts(), limits in limits(), is_head: bool) {
        let strategy = if is_head { Strategy::Head } else { Strategy::Tail };
        let Cut::Part(preview) = cut(&text, &limits, strategy) else { return Ok(()) };
        let shown = preview.text(Lang::En).into_owned();
        prop_assert_eq!(cut(&shown, &limits, strategy), Cut::Whole(&shown));
    }

    #[test]
    fn head_tail_adds_up(text in texts(), limits in limits()) {
        let Cut::Part(preview) = cut(&text, &limits, Strategy::HeadTail) else { return Ok(()) };
        prop_assume!(!clip::is_needed(&text, &limits) && preview.text(Lang::En) != "?");
        let (removed, kept) = (preview.removed(), preview.kept());
        let size = Size::of(text.as_bytes());
        match removed.unit {
            Unit::Lines => prop_assert_eq!(removed.count + kept.lines, size.lines),
            Unit::Bytes => prop_assert_eq!(removed.count + kept.bytes, size.bytes),
            _ => {}
        }
        for part in preview.parts() {
            if let Part::Gap(gap) = part {
                prop_assert!(gap.lines + kept.lines >= size.lines && gap.lines < size.lines);
            }
        }
    }

    #[test]
    fn both_ends_survive(text in texts(), max in 8usize..400, by in 0usize..3) {
        let limits = [Limits::none().bytes(max), Limits::none().chars(max), Limits::none().lines(max)][by];
        let Cut::Part(preview) = cut(&text, &limits, Strategy::HeadTail) else { return Ok(()) };
        let shown = preview.text(Lang::En).into_owned();
        let first = text.chars().next();
        prop_assert!(shown.chars().next() == first || preview.parts().len() == 1);
        prop_assert!(shown.chars().last() == body(&text).chars().last() || preview.parts().len() == 1);
    }
}
