//! A cut is within every limit, never empty, on the edges it promises, and says exactly what went.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill::{Cut, Lang, Size, Strategy, Unit, cut, guard};
use overspill_fuzz::{AnyLimits, broken, strategy};

#[derive(Arbitrary, Debug)]
struct Case<'t> {
    limits: AnyLimits,
    strategy: u8,
    guard: u16,
    text: &'t str,
}

fuzz_target!(|case: Case<'_>| {
    let (text, limits, strategy) = (case.text, case.limits.limits(), strategy(case.strategy));
    match cut(text, &limits, strategy) {
        Cut::Whole(whole) => {
            assert_eq!((whole.as_ptr(), whole.len()), (text.as_ptr(), text.len()));
            assert_eq!(broken(text, &limits), None);
        }
        Cut::Part(preview) => {
            assert!(
                broken(text, &limits).is_some(),
                "cut though within the limits"
            );
            for lang in Lang::ALL {
                let shown = preview.text(lang);
                assert!(!shown.is_empty());
                assert_eq!(broken(&shown, &limits), None, "{shown:?}");
            }
            if limits.max_line_chars().is_none() {
                check_end(text, &preview.text(Lang::En), &preview, strategy, &limits);
            }
        }
    }
    let max = usize::from(case.guard).max(1);
    for lang in Lang::ALL {
        let message = guard(text, max, lang);
        assert!(message.chars().count() <= max);
        assert_eq!(message.is_empty(), text.is_empty());
    }
});

/// Head is a prefix, tail a suffix, and what is kept and what went are the whole.
fn check_end(
    text: &str,
    shown: &str,
    preview: &overspill::Preview<'_>,
    strategy: Strategy,
    limits: &overspill::Limits,
) {
    if shown == "?" || !matches!(strategy, Strategy::Head | Strategy::Tail) {
        return;
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    match strategy {
        Strategy::Tail => assert!(body.ends_with(shown), "{shown:?}"),
        _ => assert!(text.starts_with(shown), "{shown:?}"),
    }
    let encoding = limits.token_encoding();
    let removed = preview.removed();
    let (all, kept) = match removed.unit {
        Unit::Lines => (Size::of(text.as_bytes()).lines, preview.kept().lines),
        Unit::Bytes => (text.len() as u64, shown.len() as u64),
        Unit::Chars => (text.chars().count() as u64, shown.chars().count() as u64),
        Unit::Tokens => (encoding.count(text), encoding.count(shown)),
        _ => return,
    };
    assert_eq!(removed.count, all.saturating_sub(kept), "{removed:?}");
}
