//! The strategy `smart` on whole outputs: what it keeps of those in `logs/`, and that harmless ones come to no harm.

mod recall;

use std::fmt::Write as _;
use std::path::Path;

use overspill::{Evidence, Lang, Limits, Preview, Salience, Strategy, Stream, Streamed};

use self::recall::{Case, cases_in, mean_recall, plain};

/// The least share of the marked lines that is kept at a limit in bytes: what was measured, in whole percents, less one.
const FLOORS: [(usize, f64); 3] = [(4_000, 0.94), (8_000, 0.95), (16_000, 0.98)];

/// How many lines at the end have to survive, and out of how many.
const LAST_LINES: (usize, usize) = (19, 20);

fn cases() -> Vec<Case> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let cases = cases_in(&logs).expect("labelled logs");
    assert!(cases.len() > 30, "{} cases", cases.len());
    cases
}

fn recall_of(cases: &[Case], bytes: usize, strategy: Strategy) -> f64 {
    let limits = Limits::none().bytes(bytes);
    let mean = mean_recall(cases, &limits, strategy, &Salience::default());
    mean.map_or(0.0, |(mean, _)| mean)
}

#[test]
fn keeps_the_lines_that_matter() {
    let cases = cases();
    let mut table = String::from("| bytes | floor | smart | head | tail | head_tail |\n");
    let mut holds = true;
    for (bytes, floor) in FLOORS {
        let smart = recall_of(&cases, bytes, Strategy::Smart);
        write!(table, "| {bytes} | {floor:.2} | {smart:.3} |").unwrap();
        holds &= smart >= floor;
        for strategy in [Strategy::Head, Strategy::Tail, Strategy::HeadTail] {
            let other = recall_of(&cases, bytes, strategy);
            write!(table, " {other:.3} |").unwrap();
            holds &= smart > other;
        }
        table.push('\n');
    }
    assert!(holds, "\n{table}\n{}", worst(&cases));
}

/// Returns what is kept of each output of which something is missed, for whoever has to find out why.
fn worst(cases: &[Case]) -> String {
    let mut lines = String::new();
    for (bytes, _) in FLOORS {
        for case in cases {
            let limits = Limits::none().bytes(bytes);
            let preview = case.preview(&limits, Strategy::Smart, &Salience::default());
            let recall = preview.map_or(1.0, |preview| case.recall(&preview));
            if recall < 1.0 {
                lines += &format!("{bytes} {}: {recall:.2}\n", case.name);
            }
        }
    }
    lines
}

#[test]
fn keeps_the_end() {
    let limits = Limits::none().bytes(8_000);
    let (least, of) = LAST_LINES;
    let mut missed = String::new();
    for case in cases() {
        let Some(preview) = case.preview(&limits, Strategy::Smart, &Salience::default()) else {
            continue;
        };
        let kept: Vec<String> = preview.lines().map(plain).collect();
        let last: Vec<&str> = case.output.lines().rev().take(of).collect();
        let n_kept = last
            .iter()
            .filter(|line| kept.contains(&plain(line)))
            .count();
        if n_kept < least {
            writeln!(missed, "{}: {n_kept} of {of}", case.name).unwrap();
        }
    }
    assert_eq!(missed, "");
}

#[test]
fn evidence_can_be_left_out() {
    let cases = cases();
    let limits = Limits::none().bytes(8_000);
    let all = mean_recall(&cases, &limits, Strategy::Smart, &Salience::default());
    let bare = Evidence::ALL
        .into_iter()
        .fold(Salience::default(), Salience::without);
    let bare = mean_recall(&cases, &limits, Strategy::Smart, &bare);
    assert!(bare < all, "{bare:?} {all:?}");
}

/// Outputs in which nothing is wrong.
fn harmless() -> Vec<(&'static str, String)> {
    let listing = (0..4_000).map(|n| format!("src/module_{:02}/part_{n:04}.rs\n", n / 100));
    let count = (1..=20_000).map(|n| format!("{n}\n"));
    vec![
        ("listing", listing.collect()),
        ("source", include_str!("../src/smart/mod.rs").repeat(12)),
        ("seq", count.collect()),
        ("prose", prose(3_000)),
        ("random", random(200_000)),
    ]
}

/// Returns lines of words that tell of nothing, no two lines alike.
fn prose(n_lines: u32) -> String {
    const WORDS: [&str; 12] = [
        "the", "river", "ran", "past", "a", "quiet", "town", "where", "old", "boats", "were",
        "kept",
    ];
    let mut numbers = Numbers(7);
    let mut text = String::new();
    for n in 0..n_lines {
        text += &format!("Verse {n}:");
        for _ in 0..5 + numbers.next() % 9 {
            text.push(' ');
            text += WORDS[numbers.next() as usize % WORDS.len()];
        }
        text += ".\n";
    }
    text
}

/// Returns bytes of no meaning as text. There is no NUL among them, which would make the output binary.
fn random(n_bytes: usize) -> String {
    let mut numbers = Numbers(11);
    let bytes: Vec<u8> = (0..n_bytes)
        .map(|_| (numbers.next() as u8).max(1))
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Numbers that look random (xorshift64) and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 24
    }
}

fn preview_of(text: &str, limits: &Limits) -> Option<Preview<'static>> {
    let mut stream = Stream::new(limits, Strategy::Smart);
    stream.push(text.as_bytes());
    match stream.finish() {
        Streamed::Whole(_) => None,
        Streamed::Part(preview) => Some(preview),
    }
}

/// Returns where the first line of a text begins and where its last line ends: the middle of a long line may be left out.
fn ends(text: &str) -> (String, String) {
    const CHARS: usize = 40;
    let (first, last) = (text.lines().next(), text.lines().last());
    let start = first.unwrap_or("").chars().take(CHARS).collect();
    let end: Vec<char> = last.unwrap_or("").chars().rev().take(CHARS).collect();
    (start, end.into_iter().rev().collect())
}

#[test]
fn harmless_outputs_keep_both_ends_within_the_limits() {
    let all_limits = [
        Limits::none().bytes(2_000),
        Limits::none().bytes(8_000),
        Limits::none().lines(30),
        Limits::none().tokens(1_000),
        Limits::default(),
    ];
    for (name, text) in harmless() {
        for limits in &all_limits {
            let about = format!("{name}, {limits:?}");
            let preview = preview_of(&text, limits).expect(&about);
            let shown = preview.text(Lang::En);
            assert!(!shown.trim().is_empty(), "{about}");
            assert_eq!(
                overspill::cut(&shown, limits, Strategy::Head),
                overspill::Cut::Whole(&shown),
                "{about}"
            );
            assert_eq!(ends(&shown), ends(&text), "{about}");
            assert_eq!(
                preview_of(&text, limits).as_ref(),
                Some(&preview),
                "{about}"
            );
        }
    }
}
