use std::fmt::Write as _;

use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::keep;
use crate::limits::Limits;
use crate::smart::json::scale::Scale;
use crate::smart::json::tape::{Tape, ValueKind};
use crate::smart::json::{prune, raw};

/// A value as it is written, but for spaces.
#[derive(Clone, Debug)]
enum Json {
    Scalar(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

fn scalars() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("null".to_owned()),
        1 => "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
        4 => texts().prop_map(|text| format!("\"{text}\"")),
    ]
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        20 => "[a-z ]{0,20}",
        4 => "[é截👍\u{301}\u{200d}]{1,4}",
        4 => prop::sample::select(vec!["\\n", "\\\\", "\\\"", "\\u00e9", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u0301", "FAILED"])
            .prop_map(str::to_owned),
        1 => (1..3000usize).prop_map(|n| "x y".repeat(n)),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]",
        1 => prop::sample::select(vec!["a_omitted", "a_omitted_2", "_omitted_members", "_omitted", "\\u0061_omitted", "_omitted_members_2", ""])
            .prop_map(str::to_owned),
        // Not so that a count's own key is too long for the keeper with which this test reads the outcome.
        1 => prop_oneof![1..480usize, 513..700usize].prop_map(|n| "k".repeat(n)),
    ]
}

fn documents() -> impl Strategy<Value = Json> {
    let containers = |inner: BoxedStrategy<Json>| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Json::Array),
            prop::collection::vec((keys(), inner), 0..40).prop_map(Json::Object),
        ]
    };
    let values = scalars()
        .prop_map(Json::Scalar)
        .prop_recursive(5, 100, 10, move |inner| containers(inner.boxed()));
    containers(values.boxed())
}

/// Writes a value, with `space` wherever it may be.
fn write(json: &Json, space: &str, out: &mut String) {
    match json {
        Json::Scalar(text) => out.push_str(text),
        Json::Array(items) => {
            write!(out, "[{space}").unwrap();
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write(item, space, out);
            }
            write!(out, "{space}]").unwrap();
        }
        Json::Object(members) => {
            write!(out, "{{{space}").unwrap();
            for (i, (key, value)) in members.iter().enumerate() {
                let comma = if i > 0 { "," } else { "" };
                write!(out, "{comma}\"{key}\"{space}:{space}").unwrap();
                write(value, space, out);
            }
            write!(out, "{space}}}").unwrap();
        }
    }
}

/// One value of a document, or of what it was shortened to.
#[derive(Clone, Copy)]
struct At<'t>(&'t Tape, usize);

impl<'t> At<'t> {
    fn kind(self) -> ValueKind {
        self.0.node(self.1).unwrap().kind
    }

    fn children(self) -> Vec<At<'t>> {
        self.0.children(self.1).map(|at| At(self.0, at)).collect()
    }

    fn key(self) -> String {
        let mut key = String::new();
        raw::decode(self.0.key(self.1).unwrap_or_default(), &mut key);
        key
    }

    /// Returns how many members or items the document has, also those that are not kept of any.
    fn count(self) -> u64 {
        self.children().len() as u64 + self.0.node(self.1).unwrap().lost
    }

    fn value(self) -> &'t str {
        self.0.value(self.1)
    }

    fn index(self) -> u64 {
        u64::from(self.0.node(self.1).unwrap().index)
    }

    /// Tells whether this is what `input` may be shortened to, with every count exact; `lost` is what was said beside it.
    fn comes_from(self, input: At<'_>, lost: &str) -> bool {
        if self.kind() != input.kind() {
            return false;
        }
        match self.kind() {
            ValueKind::Plain => self.value() == input.value(),
            ValueKind::Text => self.is_start_of(input),
            ValueKind::Array => {
                let mut items = self.children();
                if is_part(&items, input, lost) {
                    return true;
                }
                let Some(count) = items.pop() else {
                    return false;
                };
                let said = count.children().first().map_or("", |count| count.value());
                count.kind() == ValueKind::Object && is_part(&items, input, said)
            }
            ValueKind::Object => {
                let inputs = input.children();
                let is_count =
                    |member: &At<'_>| !inputs.iter().any(|input| input.key() == member.key());
                let mut members: Vec<(At<'_>, &str)> = Vec::new();
                let mut lost = 0;
                for member in self.children() {
                    if !is_count(&member) {
                        members.push((member, "0"));
                    } else if is_member_count(&member.key()) {
                        lost = member.value().parse().unwrap_or(u64::MAX);
                    } else if let Some(last) = members.last_mut() {
                        last.1 = member.value();
                    }
                }
                let mut rest = inputs.iter();
                (members.len() as u64).checked_add(lost) == Some(input.count())
                    && members.iter().all(|(member, lost)| {
                        rest.any(|input| {
                            input.0.key(input.1) == member.0.key(member.1)
                                && member.comes_from(*input, lost)
                        })
                    })
            }
        }
    }

    fn is_start_of(self, input: At<'_>) -> bool {
        if self.value() == input.value() {
            return true;
        }
        let Some((start, rest)) = self.value().rsplit_once("... [") else {
            return false;
        };
        let lost = rest.strip_suffix(" chars omitted]").unwrap_or_default();
        let kept = raw::count_chars(start);
        let all = raw::count_chars(input.value());
        input.value().starts_with(start) && lost.parse() == Ok(all - kept)
    }
}

fn is_member_count(key: &str) -> bool {
    key.strip_prefix("_omitted_members")
        .is_some_and(|number| !number.contains("omitted"))
}

/// Tells whether `items` are those of `input` that are left when as many are lost as `said`, at the indexes that it names.
fn is_part(items: &[At<'_>], input: At<'_>, said: &str) -> bool {
    let inputs = input.children();
    let (lost, places) = said.split_once(" at ").unwrap_or((said, ""));
    let lost = lost.parse().unwrap_or(u64::MAX);
    if (items.len() as u64).checked_add(lost) != Some(input.count()) {
        return false;
    }
    if places.is_empty() || places.contains("...") {
        let mut rest = inputs.iter();
        return items
            .iter()
            .all(|item| rest.any(|input| item.comes_from(*input, "0")));
    }
    let gaps: Vec<(u64, u64)> = places
        .split(',')
        .map(|gap| gap.split_once('-').unwrap_or((gap, gap)))
        .map(|(first, last)| (first.parse().unwrap(), last.parse().unwrap()))
        .collect();
    let is_kept = |index: &u64| {
        !gaps
            .iter()
            .any(|(first, last)| (first..=last).contains(&index))
    };
    let kept: Vec<u64> = (0..input.count()).filter(is_kept).collect();
    kept.len() == items.len()
        && kept.iter().zip(items).all(|(index, item)| {
            let input = inputs.iter().find(|input| input.index() == *index);
            input.is_some_and(|input| item.comes_from(*input, "0"))
        })
}

/// Tells whether an item of which nothing is left is beside others.
fn has_idle_item(tape: &Tape) -> bool {
    (0..tape.len()).any(|at| {
        let items: Vec<usize> = tape.children(at).collect();
        tape.node(at).unwrap().kind == ValueKind::Array
            && items.len() > 1
            && items.iter().any(|&item| tape.is_hollow(item))
    })
}

/// What serde makes of the same bytes once they are text. It takes any value as root, and no byte order mark.
fn is_document(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']);
    text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_shortened_document_is_a_part_of_it(
        json in documents(),
        space in prop::sample::select(vec!["", " ", "\n", "\n  ", "\n\t"]),
        max_bytes in prop_oneof![256..2000usize, 256..50_000usize],
        max_kept in prop_oneof![2000..200_000usize, Just(8 << 20)],
        chunk in prop_oneof![1..20usize, 1..9000usize],
    ) {
        let mut text = String::new();
        write(&json, space, &mut text);
        let document = keep(text.as_bytes(), chunk, max_kept).unwrap();
        let shortened = document.shorten(max_bytes, &|_| true).unwrap();

        prop_assert!(shortened.len() <= max_bytes);
        prop_assert!(serde_json::from_str::<IgnoredAny>(&shortened).is_ok(), "{}", shortened);
        let whole = keep(text.as_bytes(), text.len(), max_kept).unwrap();
        prop_assert_eq!(whole.shorten(max_bytes, &|_| true).unwrap(), &*shortened);

        let (input, output) = (
            keep(text.as_bytes(), text.len(), 1 << 30).unwrap(),
            keep(shortened.as_bytes(), shortened.len(), 1 << 30).unwrap(),
        );
        prop_assert!(At(&output.tape, 0).comes_from(At(&input.tape, 0), "0"), "{}", shortened);
    }

    #[test]
    fn an_item_of_which_nothing_is_left_is_not_beside_others(
        json in documents(),
        room in prop_oneof![0..500usize, 0..5000usize],
        max_kept in prop_oneof![2000..50_000usize, Just(8 << 20)],
        max_line in prop_oneof![20..200usize, Just(usize::MAX)],
    ) {
        let mut text = String::new();
        write(&json, "", &mut text);
        let tree = keep(text.as_bytes(), text.len(), max_kept).unwrap();
        prop_assert!(!has_idle_item(&tree.tape));
        let narrow = tree.narrow(max_line);
        prop_assert!(!has_idle_item(&narrow.tape));
        let pruned = prune::prune(&Scale::of_text(&narrow.tape, narrow.style), room);
        prop_assert!(!has_idle_item(&pruned.tape));
    }

    #[test]
    fn lines_are_within_their_limit(
        json in documents(),
        space in prop::sample::select(vec!["", "\n", "\n  ", "\n\t", "\n        "]),
        max_bytes in prop_oneof![256..2000usize, 256..50_000usize],
        max_line in prop_oneof![64..100usize, 64..2000usize],
        max_lines in prop_oneof![1..100usize, Just(usize::MAX)],
        chunk in 1..9000usize,
    ) {
        let mut text = String::new();
        write(&json, space, &mut text);
        let limits = Limits::none().bytes(max_bytes).line_chars(max_line).lines(max_lines);
        let fits = |text: &str| !crate::cut::is_over(text, &limits);
        let cut = |chunk| keep(text.as_bytes(), chunk, 8 << 20).unwrap().narrow(max_line).shorten(max_bytes, &fits);
        let shortened = cut(chunk);
        prop_assert!(shortened.is_some());
        let shortened = shortened.unwrap();
        prop_assert!(fits(&shortened));
        prop_assert_eq!(cut(text.len()), Some(shortened.clone()));
        let (input, output) = (
            keep(text.as_bytes(), text.len(), 1 << 30).unwrap(),
            keep(shortened.as_bytes(), shortened.len(), 1 << 30).unwrap(),
        );
        prop_assert!(At(&output.tape, 0).comes_from(At(&input.tape, 0), "0"), "{}", shortened);
    }

    #[test]
    fn what_is_not_utf8_is_replaced_in_strings(
        json in documents(),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0x80..=0xffu8), 1..20),
        max_bytes in 256..20_000usize,
        chunk in 1..9000usize,
    ) {
        let mut text = String::new();
        write(&json, "", &mut text);
        let mut bytes = text.into_bytes();
        for (place, byte) in places {
            // Letters are in strings and in keys, but for those of `null` and exponents and escapes.
            let at = place.index(bytes.len());
            if matches!(bytes[at], b' ' | b'k' | b'x' | b'y') {
                bytes[at] = byte;
            }
        }
        let plain = String::from_utf8_lossy(&bytes).into_owned();
        let cut = |bytes: &[u8], chunk| keep(bytes, chunk, 8 << 20).map(|tree| tree.shorten(max_bytes, &|_| true).unwrap());
        let shortened = cut(&bytes, chunk);
        prop_assert!(serde_json::from_str::<IgnoredAny>(shortened.as_ref().unwrap()).is_ok());
        prop_assert_eq!(&shortened, &cut(&bytes, bytes.len()));
        if plain.len() < 4096 {
            prop_assert_eq!(shortened, cut(plain.as_bytes(), plain.len()));
        }
    }

    #[test]
    fn another_measure_is_kept_too(json in documents(), max_words in 1..200usize) {
        let mut text = String::new();
        write(&json, "\n ", &mut text);
        let document = keep(text.as_bytes(), 100, 8 << 20).unwrap();
        let fits = |text: &str| text.split_whitespace().count() <= max_words + 2;
        let shortened = document.shorten(1 << 20, &fits);
        prop_assert!(shortened.is_some_and(|text| fits(&text)));
    }

    #[test]
    fn what_serde_takes_is_taken(
        json in documents(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3usize), 0..3),
        chunk in 1..50usize,
    ) {
        const BYTES: &[u8] = b"{}[],:\"\\ \n\t0123.eE+-truefalsn/bud8\x01\x7f\x80\xc3\xa9\xf0\xff\xef\xbb\xbf";
        let mut text = String::new();
        write(&json, " ", &mut text);
        let mut bytes = text.into_bytes();
        bytes.truncate(20_000);
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let byte = BYTES[byte.index(BYTES.len())];
            match edit {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ => drop(bytes.drain(at..(at + 1).min(bytes.len()))),
            }
        }
        prop_assert_eq!(keep(&bytes, chunk, 5000).is_some(), is_document(&bytes));
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(prop::sample::select(b"{}[],:\"\\ 01.e-tu8\xc3\xa9".to_vec()), 0..12), chunk in 1..5usize) {
        let bytes = [b"[".as_slice(), &bytes, b"]"].concat();
        prop_assert_eq!(keep(&bytes, chunk, 5000).is_some(), is_document(&bytes));
    }
}
