//! The figures for people: two tables, by tool and by day, and what to change.

use overspill::Lang;
use overspill::notice::Message;

use super::advice::{Advice, Change, advice};
use super::figures::{Figures, Scope, Sums};

/// Whether rates are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bars {
    Drawn,
    None,
}

/// How many columns a full bar has.
const BAR_COLUMNS: usize = 16;

/// The columns behind the name, each with its heading.
const HEADINGS: [Message; 7] = [
    Message::StatsCalls,
    Message::StatsCuts,
    Message::StatsRate,
    Message::StatsTokensSaved,
    Message::StatsSpills,
    Message::StatsReadAgain,
    Message::StatsRegret,
];

/// Returns the tables and the suggestions.
pub(super) fn table(figures: &Figures, scope: &Scope, lang: Lang, bars: Bars) -> String {
    let place = match &scope.root {
        Some(root) => root.clone(),
        None => Message::StatsEverywhere.say(lang, &[]),
    };
    let total = figures.total();
    let mut out = Message::StatsTitle.say(lang, &[("place", &place)]) + "\n\n";
    out += &section(
        Message::StatsTool,
        &figures.tools(),
        Some(total),
        lang,
        bars,
    );
    out += "\n";
    out += &section(Message::StatsDay, &figures.days(), None, lang, bars);
    for advice in advice(figures) {
        out += &format!("\n{}\n    {}\n", reason(&advice, lang), advice.yaml());
    }
    if total.is_estimated {
        out += &format!("\n{}\n", Message::StatsEstimated.say(lang, &[]));
    }
    out
}

/// Returns a table with a line a group, and one for all of them.
fn section(
    name: Message,
    groups: &[(&str, Sums)],
    total: Option<Sums>,
    lang: Lang,
    bars: Bars,
) -> String {
    let say = |message: Message| message.say(lang, &[]);
    let most_saved = groups
        .iter()
        .map(|(_, sums)| sums.tokens_saved())
        .max()
        .unwrap_or(0);
    let mut lines = vec![(
        std::iter::once(say(name))
            .chain(HEADINGS.map(say))
            .collect(),
        String::new(),
    )];
    for (name, sums) in groups {
        let saved = sums.tokens_saved().max(0) as f64 / most_saved.max(1) as f64;
        let bar = match bars {
            Bars::Drawn => bar(saved),
            Bars::None => String::new(),
        };
        lines.push((cells(&shown(name), sums), bar));
    }
    if let Some(total) = total.filter(|_| groups.len() > 1) {
        lines.push((cells(&say(Message::StatsTotal), &total), String::new()));
    }
    aligned(&lines)
}

fn cells(name: &str, sums: &Sums) -> Vec<String> {
    let about = if sums.is_estimated { "~" } else { "" };
    vec![
        name.to_owned(),
        grouped(sums.calls),
        grouped(sums.cuts),
        percent(sums.truncation_rate()),
        match sums.tokens_saved() {
            saved if saved < 0 => format!("{about}-{}", grouped(saved.unsigned_abs())),
            saved => format!("{about}{}", grouped(saved.unsigned_abs())),
        },
        grouped(sums.spills),
        grouped(sums.readings),
        match sums.spills {
            0 => "-".to_owned(),
            _ => percent(sums.regret_rate()),
        },
    ]
}

/// Puts names to the left and numbers to the right of their columns.
fn aligned(lines: &[(Vec<String>, String)]) -> String {
    let column = |at: usize| {
        lines
            .iter()
            .map(|(cells, _)| width(&cells[at]))
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=HEADINGS.len()).map(column).collect();
    let line = |(cells, bar): &(Vec<String>, String)| {
        let padded = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, &wide))| {
                let pad = " ".repeat(wide - width(cell));
                match at {
                    0 => format!("{cell}{pad}"),
                    _ => format!("{pad}{cell}"),
                }
            });
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("{line}  {bar}").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

/// Returns how many columns a text takes: two for a character of Chinese.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| if c >= '\u{2e80}' { 2 } else { 1 })
        .sum()
}

/// Returns a name on one line, and not at any length.
fn shown(name: &str) -> String {
    const MOST: usize = 40;
    let plain: String = name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match plain.chars().count() > MOST {
        true => plain.chars().take(MOST - 3).chain("...".chars()).collect(),
        false => plain,
    }
}

/// Draws a share of one in eighths of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR_COLUMNS * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

fn percent(rate: f64) -> String {
    format!("{:.0}%", rate * 100.0)
}

/// Returns a number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Says why something should be changed, and what.
fn reason(advice: &Advice, lang: Lang) -> String {
    let (read, spills) = (
        advice.sums.spills_read.to_string(),
        advice.sums.spills.to_string(),
    );
    let tool = shown(&advice.tool);
    let common = [
        ("tool", tool.as_str()),
        ("n", read.as_str()),
        ("all", spills.as_str()),
        ("limit", advice.limit.as_str()),
    ];
    match &advice.change {
        Change::Raise { from, to } => {
            let (from, to) = (from.to_string(), to.to_string());
            let own = [("from", from.as_str()), ("to", to.as_str())];
            Message::AdviseRaise.say(lang, &[&common[..], &own].concat())
        }
        Change::Double { from } => {
            let (from, to) = (from.to_string(), (from * 2).to_string());
            let own = [("from", from.as_str()), ("to", to.as_str())];
            Message::AdviseDouble.say(lang, &[&common[..], &own].concat())
        }
        Change::Smart => Message::AdviseSmart.say(lang, &common),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_in_eighths() {
        for (share, expected) in [
            (0.0, ""),
            (1.0, "████████████████"),
            (0.5, "████████"),
            (0.02, "▍"),
            (7.0, "████████████████"),
        ] {
            assert_eq!(bar(share), expected);
        }
    }

    #[test]
    fn numbers_have_groups_of_three() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(shown("a\nb"), "a b");
        assert_eq!(shown(&"x".repeat(50)).len(), 40);
        assert_eq!(width("工具 x"), 6);
    }
}
