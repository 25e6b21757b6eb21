use proptest::prelude::*;

use proptest::strategy::Strategy as _;

use super::*;
use crate::cut::{Cut, cut};
use crate::notice::Lang;
use crate::strategy::Strategy;

fn stream(bytes: &[u8], size: usize, limits: &Limits, strategy: Strategy) -> Streamed {
    let mut stream = Stream::new(limits, strategy);
    bytes.chunks(size).for_each(|chunk| stream.push(chunk));
    stream.finish()
}

/// Small limits, so that a few kilobytes are far more than is kept.
fn limits() -> impl proptest::strategy::Strategy<Value = Limits> {
    let maybe = |max: usize| prop::option::of(1..max);
    (
        maybe(20),
        maybe(150),
        maybe(100),
        prop::option::weighted(0.2, 1..20usize),
        maybe(40),
    )
        .prop_map(|(lines, bytes, chars, tokens, line_chars)| {
            let limits = Limits::none();
            let limits = lines.map_or(limits, |n| limits.lines(n));
            let limits = bytes.map_or(limits, |n| limits.bytes(n));
            let limits = chars.map_or(limits, |n| limits.chars(n));
            let limits = tokens.map_or(limits, |n| limits.tokens(n));
            line_chars.map_or(limits, |n| limits.line_chars(n))
        })
}

fn pieces() -> impl proptest::strategy::Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        5 => "[a-z ]{0,30}\n".prop_map(String::into_bytes),
        1 => Just(b"\n\n".to_vec()),
        1 => "[é截👍]{1,20}".prop_map(String::into_bytes),
        1 => (1usize..900).prop_map(|n| vec![b'x'; n]),
        1 => (1usize..300).prop_map(|n| "e\u{301}".repeat(n).into_bytes()),
    ];
    prop::collection::vec(piece, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_chunks_give_what_the_whole_gives(pieces in pieces(), limits in limits(), strategy in prop::sample::select(Strategy::ALL.to_vec()), size in 1usize..700) {
        let bytes = pieces.concat();
        let text = std::str::from_utf8(&bytes).unwrap();
        match (stream(&bytes, size, &limits, strategy), cut(text, &limits, strategy)) {
            (Streamed::Whole(streamed), Cut::Whole(whole)) => prop_assert_eq!(streamed, whole.as_bytes()),
            (Streamed::Part(streamed), Cut::Part(preview)) => prop_assert_eq!(streamed, preview),
            (streamed, whole) => prop_assert!(false, "{:?} and {:?}", streamed, whole),
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_cut_alike_and_counted_as_they_came(
        pieces in prop::collection::vec(prop_oneof![
            3 => "[a-z]{0,20}\n".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..40),
            1 => Just(vec![0xE2, 0x82]),
            1 => (1usize..300).prop_map(|n| vec![0x80; n]),
        ], 0..60),
        limits in limits(),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        size in 1usize..300,
    ) {
        let bytes = pieces.concat();
        let one = stream(&bytes, usize::MAX, &limits, strategy);
        prop_assert_eq!(&stream(&bytes, size, &limits, strategy), &one);
        match one {
            Streamed::Whole(whole) => prop_assert_eq!(whole, bytes),
            Streamed::Part(preview) => {
                let shown = preview.text(Lang::En).into_owned();
                prop_assert!(!shown.is_empty());
                let is_plain = limits.max_line_chars().is_none() && shown != "?" && matches!(strategy, Strategy::Head | Strategy::Tail);
                if is_plain && preview.removed().unit == Unit::Bytes {
                    let kept = bytes.len() as u64 - preview.removed().count;
                    let raw = if strategy == Strategy::Head { &bytes[..kept as usize] } else {
                        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                        &body[body.len() - kept as usize..]
                    };
                    prop_assert_eq!(text::decode(raw), shown);
                }
            }
        }
    }
}

#[test]
fn memory_is_bounded_by_the_limits() {
    for strategy in Strategy::ALL {
        let mut stream = Stream::new(&Limits::default().line_chars(100), strategy);
        for n in 0..20_000 {
            stream.push(format!("{n} {}\n", "x".repeat(n % 500)).as_bytes());
        }
        let kept = stream.held.ends.head.capacity()
            + stream.held.ends.tail.capacity()
            + stream.held.ends.clips.capacity() * 8;
        assert!(kept < 1 << 20, "{strategy}: {kept}");
    }
}
