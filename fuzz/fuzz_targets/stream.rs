//! A stream gives the same answer whatever the chunks, and for valid text that of `cut`.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill::{Cut, Lang, Limits, Strategy, Stream, Streamed, cut};
use overspill_fuzz::{AnyLimits, broken, strategy};

#[derive(Arbitrary, Debug)]
struct Case<'t> {
    limits: AnyLimits,
    strategy: u8,
    /// How long the chunks are, over and over.
    chunks: [u8; 4],
    /// How often the bytes come, so that short inputs also pass what a stream keeps.
    times: u8,
    bytes: &'t [u8],
}

fn stream(bytes: &[u8], limits: &Limits, strategy: Strategy, chunks: &[usize]) -> Streamed {
    let mut stream = Stream::new(limits, strategy);
    let mut rest = bytes;
    for &len in chunks.iter().cycle() {
        let (chunk, after) = rest.split_at(len.min(rest.len()));
        stream.push(chunk);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    stream.finish()
}

fuzz_target!(|case: Case<'_>| {
    let (limits, strategy) = (case.limits.limits(), strategy(case.strategy));
    let bytes = case.bytes.repeat(usize::from(case.times).max(1));
    let chunks = case.chunks.map(|len| usize::from(len).max(1));
    let one = stream(&bytes, &limits, strategy, &[usize::MAX]);
    assert_eq!(stream(&bytes, &limits, strategy, &chunks), one);
    match &one {
        Streamed::Whole(whole) => assert_eq!(whole, &bytes),
        Streamed::Part(preview) => {
            for lang in Lang::ALL {
                let shown = preview.text(lang);
                assert!(!shown.is_empty());
                assert_eq!(broken(&shown, &limits), None, "{shown:?}");
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(&bytes) {
        match (cut(text, &limits, strategy), one) {
            (Cut::Whole(whole), Streamed::Whole(bytes)) => assert_eq!(whole.as_bytes(), bytes),
            (Cut::Part(whole), Streamed::Part(streamed)) => {
                assert_eq!(whole.text(Lang::En), streamed.text(Lang::En));
                assert_eq!(
                    (whole.removed(), whole.original(), whole.kept()),
                    (streamed.removed(), streamed.original(), streamed.kept())
                );
            }
            (whole, streamed) => panic!("{whole:?} but {streamed:?}"),
        }
    }
});
