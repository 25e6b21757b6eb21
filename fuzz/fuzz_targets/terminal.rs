//! Terminal output becomes text: the same whatever the chunks, without control codes, never much longer than it was.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill::Terminal;

#[derive(Arbitrary, Debug)]
struct Case<'t> {
    chunk: u8,
    bytes: &'t [u8],
}

fn shown(bytes: &[u8], chunk: usize) -> Vec<u8> {
    let (mut terminal, mut out) = (Terminal::default(), Vec::new());
    bytes
        .chunks(chunk)
        .for_each(|chunk| terminal.push(chunk, &mut out));
    terminal.finish(&mut out);
    out
}

fuzz_target!(|case: Case<'_>| {
    let out = shown(case.bytes, usize::MAX);
    assert_eq!(shown(case.bytes, usize::from(case.chunk).max(1)), out);
    for code in [0x1b, 0x08, 0x07] {
        assert!(!out.contains(&code), "{code:#x} is left");
    }
    // A `\r` is left only where it is part of a line end.
    assert!(
        out.iter()
            .enumerate()
            .all(|(at, &byte)| byte != b'\r' || out.get(at + 1) == Some(&b'\n')),
        "a lone return"
    );
    // A move beyond the end of a line makes blanks, and each such code makes a bounded number.
    let codes = case.bytes.iter().filter(|&&byte| byte == 0x1b).count();
    assert!(
        out.len() <= case.bytes.len() + codes * 1024,
        "{} bytes from {}",
        out.len(),
        case.bytes.len()
    );
    if !case
        .bytes
        .iter()
        .any(|byte| [0x1b, 0x08, 0x07, b'\r'].contains(byte))
    {
        assert_eq!(out, case.bytes, "text without codes is as it came");
    }
});
