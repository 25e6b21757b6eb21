//! What the benchmarks read: the same bytes in every run and on every machine.

use std::io::{self, Write};

const LEVELS: [&str; 8] = [
    "INFO ", "INFO ", "INFO ", "DEBUG", "DEBUG", "TRACE", "WARN ", "ERROR",
];
const MODULES: [&str; 6] = [
    "net::session",
    "store::index",
    "build",
    "tests::it",
    "scheduler",
    "http::router",
];
const FILES: [&str; 6] = [
    "src/net/session.rs",
    "crates/store/src/index.rs",
    "target/debug/build/ring-7f3a/out/lib.rs",
    "tests/it/regression.rs",
    "web/src/components/Table.tsx",
    "/home/runner/app/src/main.rs",
];
const EVENTS: [&str; 8] = [
    "compiled",
    "linking",
    "test passed:",
    "cache miss, fetching",
    "retrying after timeout, peer 10.0.3.17:8443,",
    "warning: unused variable `ctx` in",
    "assertion failed: left == right in",
    "flushed 4096 records of",
];
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Numbers that look random (xorshift64) and are the same each time.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new() -> Self {
        Numbers(0x9E37_79B9_7F4A_7C15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Writes the log of a long CI job: exactly `bytes` of it, whole lines but for the last.
pub(crate) fn write_log(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    let mut numbers = Numbers::new();
    let mut left = bytes as usize;
    let mut line = Vec::new();
    let mut millis = 0;
    while left > 0 {
        line.clear();
        millis += numbers.below(120);
        write_line(&mut line, millis, &mut numbers)?;
        let taken = line.len().min(left);
        out.write_all(&line[..taken])?;
        left -= taken;
    }
    Ok(())
}

fn write_line(line: &mut Vec<u8>, millis: usize, numbers: &mut Numbers) -> io::Result<()> {
    let (hours, minutes, seconds) = (
        millis / 3_600_000 % 24,
        millis / 60_000 % 60,
        millis / 1000 % 60,
    );
    write!(
        line,
        "2026-03-{:02}T{hours:02}:{minutes:02}:{seconds:02}",
        1 + millis / 86_400_000 % 28
    )?;
    write!(
        line,
        ".{:03}Z {} {} ",
        millis % 1000,
        numbers.pick(&LEVELS),
        numbers.pick(&MODULES)
    )?;
    write!(
        line,
        "{} {}:{}",
        numbers.pick(&EVENTS),
        numbers.pick(&FILES),
        1 + numbers.below(2000)
    )?;
    writeln!(
        line,
        " id={:08x} took={}ms",
        numbers.next() as u32,
        numbers.below(5000)
    )
}

/// Returns the texts that are hard on a tokenizer, each of about `bytes`, with their names.
pub(crate) fn hostile(bytes: usize) -> [(&'static str, String); 7] {
    let mut numbers = Numbers::new();
    let mut random = |char: &mut dyn FnMut(&mut Numbers) -> char| {
        let mut text = String::with_capacity(bytes + 4);
        while text.len() < bytes {
            text.push(char(&mut numbers));
        }
        text
    };
    [
        ("a", "a".repeat(bytes)),
        (
            "base64",
            random(&mut |numbers| char::from(numbers.pick(BASE64))),
        ),
        ("random unicode", random(&mut any_char)),
        ("spaces", " ".repeat(bytes)),
        ("newlines", "\n".repeat(bytes)),
        ("=", "=".repeat(bytes)),
        (
            "random letters",
            random(&mut |numbers| char::from(b'a' + numbers.below(26) as u8)),
        ),
    ]
}

fn any_char(numbers: &mut Numbers) -> char {
    loop {
        // Surrogates are no characters, and a NUL would make the text binary.
        match char::from_u32(numbers.below(0x11_0000) as u32) {
            Some('\0') | None => {}
            Some(char) => return char,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_its_size_and_is_always_the_same() {
        let log = |bytes| {
            let mut out = Vec::new();
            write_log(&mut out, bytes).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(log(10_000).len(), 10_000);
        assert!(log(10_000).starts_with(&log(1_000)));
        assert!(
            log(10_000)
                .lines()
                .all(|line| line.starts_with("2026-03-01T00:00:"))
        );
    }

    #[test]
    fn hostile_texts_have_their_size() {
        for (name, text) in hostile(1_000) {
            assert!(
                (1_000..1_004).contains(&text.len()),
                "{name}: {}",
                text.len()
            );
        }
    }
}
