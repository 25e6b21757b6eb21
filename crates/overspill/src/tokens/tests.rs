use proptest::prelude::*;

use super::*;

fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    let piece = prop_oneof![
        5 => "[a-zA-Z0-9 ]{0,10}",
        5 => Just("\n".to_owned()),
        2 => "[\n\r\t ]{1,5}",
        2 => "[/.,;:(){}=\\-'\"]{1,4}",
        2 => "\n/[a-z]{0,4}",
        1 => "[é截断ßẞʰ\u{301}\u{3000}\u{a0}\u{85}٣Ⅷ👍]{1,3}",
        1 => Just("'s".to_owned()),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn encodings() -> impl proptest::strategy::Strategy<Value = Encoding> {
    prop::sample::select(Encoding::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn counts_add_up_at_seams(text in texts(), encoding in encodings()) {
        let all = encoding.encode(&text).len();
        for (at, _) in text.char_indices().filter(|&(at, _)| at > 0 && text.as_bytes()[at - 1] == b'\n' && is_seam(&text, at)) {
            let (left, right) = text.split_at(at);
            prop_assert_eq!(encoding.encode(left).len() + encoding.encode(right).len(), all, "at {} of {:?}", at, text);
        }
    }

    #[test]
    fn parts_are_within_the_limit_and_end_at_edges(text in texts(), encoding in encodings(), limit in 1usize..60) {
        let fits = |part: &str| encoding.encode(part).len() <= limit;
        if let Some(end) = head_lines(encoding, &text, limit) {
            prop_assert!(fits(&text[..end]));
            prop_assert!(end == text.len() || text.as_bytes()[end] == b'\n');
        }
        if let Some(start) = tail_lines(encoding, &text, limit) {
            prop_assert!(fits(&text[start..]));
            prop_assert!(start == 0 || text.as_bytes()[start - 1] == b'\n');
        }
        let head = head_part(encoding, &text, limit);
        prop_assert!(fits(&text[..head]), "{:?} of {:?}", head, text);
        let tail = tail_part(encoding, &text, limit);
        prop_assert!(fits(&text[tail..]), "{:?} of {:?}", tail, text);
    }

    #[test]
    fn a_part_is_about_as_long_as_can_be(words in prop::collection::vec("[a-z]{1,9}", 1..80), encoding in encodings(), limit in 1usize..60) {
        let text = words.join(" ");
        let longest = (0..=text.len()).rev().find(|&end| encoding.encode(&text[..end]).len() <= limit).unwrap();
        prop_assert!(head_part(encoding, &text, limit) + 8 >= longest);
        let first = (0..=text.len()).find(|&start| encoding.encode(&text[start..]).len() <= limit).unwrap();
        prop_assert!(tail_part(encoding, &text, limit) <= first + 8);
    }

    #[test]
    fn whole_lines_are_the_most_that_fit(lines in prop::collection::vec("[a-z(){}.]{1,12}( [a-z0-9]{1,9}){0,3}", 1..40), encoding in encodings(), limit in 1usize..80) {
        let text = lines.join("\n");
        let ends: Vec<usize> = line_ends(&text).into_iter().filter(|&end| encoding.encode(&text[..end]).len() <= limit).collect();
        prop_assert_eq!(head_lines(encoding, &text, limit), ends.last().copied());
        let starts: Vec<usize> = line_starts(&text).into_iter().filter(|&start| encoding.encode(&text[start..]).len() <= limit).collect();
        prop_assert_eq!(tail_lines(encoding, &text, limit), starts.first().copied());
    }
}

#[test]
fn no_token_is_longer_than_the_bound() {
    for encoding in Encoding::ALL {
        let vocabulary = encoding.vocabulary().unwrap();
        let longest = (0..200_000)
            .filter_map(|token| vocabulary.decode_bytes(&[token]).ok())
            .map(|bytes| bytes.len())
            .max();
        assert_eq!(longest, Some(MAX_TOKEN_BYTES), "{encoding:?}");
    }
}

#[test]
fn a_text_without_seams_is_cut_too() {
    // Lines without seams, in the worst case for the search: all of them start with a slash after a dot.
    let text = "/usr/lib/x.\n".repeat(2_000_000);
    let end = head_lines(Encoding::O200k, &text, 1000).unwrap();
    assert!(Encoding::O200k.count(&text[..end]) <= 1000 && end > 1000);
}

#[test]
fn a_tally_of_an_input_is_the_count_of_its_text() {
    let lines: String = (0..40_000)
        .map(|n| format!("{n} error: no such file /tmp/{n}.rs\n    at line {n}\n\n/x\n中文\n"))
        .collect();
    let cases = [
        lines.as_bytes().to_vec(),
        b"no line end at all ".repeat(50_000),
        [b"\xff\xfe broken\n".repeat(30_000), b"x".to_vec()].concat(),
        Vec::new(),
    ];
    for bytes in cases {
        let tally = Encoding::O200k.tally(&bytes[..], u64::MAX).unwrap();
        let expected = Tally {
            tokens: Encoding::O200k.count(&text::decode(&bytes)),
            bytes: bytes.len() as u64,
            is_all: true,
        };
        assert_eq!(tally, expected);
    }
}

#[test]
fn a_tally_stops_at_its_limit() {
    let bytes = b"a line\n".repeat(100_000);
    for (most, is_all) in [(700_000, true), (699_999, false), (1000, false), (0, false)] {
        let tally = Encoding::O200k.tally(&bytes[..], most).unwrap();
        assert_eq!((tally.bytes, tally.is_all), (most, is_all));
    }
}
