//! Measures cuts of a text in memory, for `cargo xtask bench core`.
//!
//! `speed cut FILE` cuts under limits that need no vocabulary; `speed tokens FILE STRATEGY` cuts to 25,000 tokens, once
//! with the vocabulary not loaded yet, so it is one strategy a process. Every result is compared with a plain
//! implementation. Prints lines of name, value and unit, parted by tabs.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use overspill::{Cut, Encoding, Lang, Limits, Strategy, Stream, Streamed, cut, decode};

const MAX_TOKENS: usize = 25_000;

/// How often a cut is repeated; the middle time counts.
const RUNS: usize = 9;

/// What a pipe gives at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The strategies that only look at the ends. `smart` reads every line, and has a benchmark of its own.
const BY_ENDS: [Strategy; 3] = [Strategy::Head, Strategy::Tail, Strategy::HeadTail];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cut", file] => measure_cut(&std::fs::read_to_string(file)?),
        ["tokens", file, strategy] => {
            let strategy =
                Strategy::parse(strategy).ok_or_else(|| format!("no strategy `{strategy}`"))?;
            measure_tokens(&std::fs::read_to_string(file)?, strategy);
        }
        _ => return Err("usage: speed cut FILE | speed tokens FILE STRATEGY".into()),
    }
    Ok(())
}

fn measure_cut(text: &str) {
    let cases = [
        ("lines and bytes", Limits::default()),
        ("chars", Limits::none().chars(262_144)),
        ("line length", Limits::default().line_chars(2_000)),
    ];
    for (name, limits) in cases {
        for strategy in BY_ENDS {
            check_lines(text, &limits, strategy, &preview(text, &limits, strategy));
            let time = median(|| drop(black_box(cut(black_box(text), &limits, strategy))));
            print_rate(&format!("{strategy} by {name}"), text, time);
        }
    }
    for strategy in BY_ENDS {
        let limits = Limits::default();
        assert_eq!(
            streamed(text, &limits, strategy),
            preview(text, &limits, strategy)
        );
        let time = median(|| drop(black_box(streamed(black_box(text), &limits, strategy))));
        print_rate(&format!("{strategy} of a stream"), text, time);
    }
}

fn measure_tokens(text: &str, strategy: Strategy) {
    let limits = Limits::none().tokens(MAX_TOKENS);
    let mut shown = String::new();
    for name in ["cold", "warm"] {
        let start = Instant::now();
        shown = preview(text, &limits, strategy);
        println!("{name}\t{}\tms", start.elapsed().as_secs_f64() * 1e3);
    }
    check_tokens(text, strategy, &shown);
}

fn preview(text: &str, limits: &Limits, strategy: Strategy) -> String {
    match cut(text, limits, strategy) {
        Cut::Part(preview) => preview.text(Lang::En).into_owned(),
        Cut::Whole(text) => text.to_owned(),
    }
}

fn streamed(text: &str, limits: &Limits, strategy: Strategy) -> String {
    let mut stream = Stream::new(limits, strategy);
    text.as_bytes()
        .chunks(CHUNK_BYTES)
        .for_each(|chunk| stream.push(chunk));
    match stream.finish() {
        Streamed::Part(preview) => preview.text(Lang::En).into_owned(),
        Streamed::Whole(bytes) => decode(&bytes).into_owned(),
    }
}

/// Compares a preview of a text of short lines with one that is put together line by line.
fn check_lines(text: &str, limits: &Limits, strategy: Strategy, shown: &str) {
    match strategy {
        Strategy::Head => assert_eq!(shown, plain(text.lines(), limits).join("\n")),
        Strategy::Tail => {
            let mut lines = plain(text.lines().rev(), limits);
            lines.reverse();
            assert_eq!(shown, lines.join("\n"));
        }
        _ => {
            assert!(fits(&shown.lines().collect::<Vec<_>>(), limits));
            assert_eq!(shown.lines().next(), text.lines().next());
            assert_eq!(shown.lines().next_back(), text.lines().next_back());
        }
    }
}

/// Takes lines while they fit.
fn plain<'t>(lines: impl Iterator<Item = &'t str>, limits: &Limits) -> Vec<&'t str> {
    let mut kept = Vec::new();
    for line in lines {
        kept.push(line);
        if !fits(&kept, limits) {
            kept.pop();
            break;
        }
    }
    kept
}

fn fits(lines: &[&str], limits: &Limits) -> bool {
    let newlines = lines.len() - 1;
    let bytes = newlines + lines.iter().map(|line| line.len()).sum::<usize>();
    let within = |limit: Option<usize>, size: usize| limit.is_none_or(|limit| size <= limit);
    within(limits.max_lines(), lines.len())
        && within(limits.max_bytes(), bytes)
        && within(
            limits.max_chars(),
            newlines + lines.iter().map(|line| line.chars().count()).sum::<usize>(),
        )
}

/// Checks that a preview is within its tokens, that it is of the right end, and that one more line would be too much.
fn check_tokens(text: &str, strategy: Strategy, shown: &str) {
    let fits = |text: &str| Encoding::O200k.count(text) <= MAX_TOKENS as u64;
    assert!(!shown.is_empty() && fits(shown));
    let body = text.strip_suffix('\n').unwrap_or(text);
    let (next, more) = match strategy {
        Strategy::Head => {
            let rest = text
                .strip_prefix(shown)
                .expect("the head is the start of the text");
            let next = rest.strip_prefix('\n').and_then(|rest| rest.lines().next());
            (next, next.map(|line| format!("{shown}\n{line}")))
        }
        Strategy::Tail => {
            let rest = body
                .strip_suffix(shown)
                .expect("the tail is the end of the text");
            let next = rest
                .strip_suffix('\n')
                .and_then(|rest| rest.lines().next_back());
            (next, next.map(|line| format!("{line}\n{shown}")))
        }
        _ => {
            assert_eq!(shown.chars().next(), text.chars().next());
            assert_eq!(shown.chars().next_back(), body.chars().next_back());
            return;
        }
    };
    // Counts are not monotone among blank lines, so one more may fit there.
    if next.is_some_and(|line| !line.trim().is_empty()) {
        assert!(more.is_some_and(|more| !fits(&more)), "one more line fits");
    }
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}

fn print_rate(name: &str, text: &str, time: Duration) {
    println!(
        "{name}\t{}\tGB/s",
        text.len() as f64 / time.as_secs_f64() / 1e9
    );
}
