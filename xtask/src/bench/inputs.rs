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

/// From how many digits on a number in a job's output changes from one run to the next.
const VARIED_DIGITS: usize = 3;

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
    write_time(line, millis)?;
    write!(
        line,
        " {} {} ",
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

fn write_time(line: &mut Vec<u8>, millis: usize) -> io::Result<()> {
    let (hours, minutes, seconds) = (
        millis / 3_600_000 % 24,
        millis / 60_000 % 60,
        millis / 1000 % 60,
    );
    write!(
        line,
        "2026-03-{:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z",
        1 + millis / 86_400_000 % 28,
        millis % 1000
    )
}

/// Writes the log of a CI that ran many jobs: exactly `bytes` of it. The jobs' outputs come one after the other, again and
/// again, each line with its time and each time with other numbers in it.
pub(crate) fn write_jobs(out: &mut impl Write, outputs: &[&str], bytes: u64) -> io::Result<()> {
    let mut numbers = Numbers::new();
    let mut left = bytes as usize;
    let mut line = Vec::new();
    let mut millis = 0;
    for text in outputs.iter().cycle().flat_map(|output| output.lines()) {
        line.clear();
        millis += numbers.below(120);
        write_time(&mut line, millis)?;
        line.push(b' ');
        write_varied(&mut line, text.as_bytes(), &mut numbers);
        line.push(b'\n');
        let taken = line.len().min(left);
        out.write_all(&line[..taken])?;
        left -= taken;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

/// Copies a line with other digits in its longer numbers. Shorter ones are left: they count failures, and a log in which
/// every run failed is not what a log is like.
fn write_varied(line: &mut Vec<u8>, text: &[u8], numbers: &mut Numbers) {
    for run in text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        let is_number = run.len() >= VARIED_DIGITS && run[0].is_ascii_digit();
        let start = line.len();
        line.extend_from_slice(run);
        for byte in line[start..].iter_mut().filter(|_| is_number) {
            *byte = numbers.pick(b"0123456789");
        }
    }
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
    fn jobs_repeat_with_other_numbers() {
        let mut out = Vec::new();
        write_jobs(&mut out, &["pid 4711\n0 failed\n", "ok\n"], 10_000).unwrap();
        let log = String::from_utf8(out).unwrap();
        assert_eq!(log.len(), 10_000);
        let nth = |n: usize| {
            log.lines()
                .nth(n)
                .and_then(|line| line.split_once("Z "))
                .unwrap()
        };
        assert_eq!(
            (nth(1).1, nth(2).1, nth(4).1),
            ("0 failed", "ok", "0 failed")
        );
        assert!(nth(0).1.starts_with("pid ") && nth(0).1 != nth(3).1);
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
