//! Which line of the configuration would help a tool whose spills are looked into too often.
//!
//! A cut is no fault by itself: where nobody goes back to what was left out, the preview was enough, however often there was a
//! cut. So nothing is advised without regret.

use overspill::settings::{FileSettings, is_same_tool};

use super::figures::{CutCall, Figures, Sums};

/// Fewer spills say nothing about a tool.
const ENOUGH_SPILLS: u64 = 10;

/// From here on a preview is too often not enough: an agent that goes back pays for a further call.
const HIGH_REGRET: f64 = 0.3;

/// Where most outputs are cut, less regret is already a habit.
const HIGH_TRUNCATION: f64 = 0.5;
const SOME_REGRET: f64 = 0.15;

/// How many times wider a limit may be made at once. What is longer would fill the context, and is better chosen from.
const WIDEST: u64 = 4;

/// A change of the configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Advice {
    pub(super) tool: String,
    pub(super) sums: Sums,
    /// The limit that bit most often.
    pub(super) limit: String,
    pub(super) change: Change,
}

/// What is to be changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// The limit, to a value that would have held half of the outputs that were gone back to.
    Raise { from: u64, to: u64 },
    /// The limit, to show more of outputs that no sensible limit holds.
    Double { from: u64 },
    /// The strategy.
    Smart,
}

impl Advice {
    /// Returns the line to paste.
    pub(super) fn yaml(&self) -> String {
        let (key, value) = match &self.change {
            Change::Raise { to, .. } => (self.limit.as_str(), to.to_string()),
            Change::Double { from } => (self.limit.as_str(), (from * 2).to_string()),
            Change::Smart => ("strategy", "smart".to_owned()),
        };
        format!("tools: {{{}: {{{key}: {value}}}}}", key_of(&self.tool))
    }
}

/// Returns what would help, a line a tool at most.
pub(super) fn advice(figures: &Figures) -> Vec<Advice> {
    let tools = figures.tools();
    let advised = tools.into_iter().filter_map(|(tool, sums)| {
        let regret = sums.regret_rate();
        let is_high = regret >= HIGH_REGRET
            || (regret >= SOME_REGRET && sums.truncation_rate() >= HIGH_TRUNCATION);
        if sums.spills < ENOUGH_SPILLS || !is_high {
            return None;
        }
        let cuts: Vec<&CutCall> = figures.cuts.iter().filter(|cut| cut.tool == tool).collect();
        let (limit, change) = change(tool, &cuts)?;
        Some(Advice {
            tool: tool.to_owned(),
            sums,
            limit: limit.to_owned(),
            change,
        })
    });
    // Whoever calls names the tool, and a configuration does not take every name.
    advised
        .filter(|advice| FileSettings::parse("overspill.yaml", &advice.yaml()).is_ok())
        .collect()
}

/// Returns the limit that bit most often where a spill was gone back to, and what to do about it.
fn change<'c>(tool: &str, cuts: &[&'c CutCall]) -> Option<(&'c str, Change)> {
    let read: Vec<&CutCall> = cuts.iter().copied().filter(|cut| cut.is_read).collect();
    let times = |limit: &str| read.iter().filter(|cut| cut.limit == limit).count();
    let limit = read
        .iter()
        .map(|cut| cut.limit.as_str())
        .max_by_key(|limit| times(limit))?;
    let last = cuts.iter().rev().find(|cut| cut.limit == limit)?;
    let mut sizes: Vec<u64> = read
        .iter()
        .filter(|cut| cut.limit == limit)
        .filter_map(|cut| cut.size)
        .collect();
    sizes.sort_unstable();
    // Half of what was gone back to would have been shown whole.
    let needed = sizes.get(sizes.len() / 2).copied();
    let is_smart = last.strategy == "smart";
    // Lines of a file are numbered from the start, so of a reading nothing may be left out between them.
    let may_choose = !is_smart && !is_same_tool(tool, "Read");
    let change = match (last.max, needed) {
        // The guard is mostly that of the agent, which cuts what is longer itself.
        _ if matches!(limit, "max_result_chars" | "control_codes") => {
            may_choose.then_some(Change::Smart)?
        }
        (Some(from), Some(needed)) if needed > from && needed <= from * WIDEST => Change::Raise {
            from,
            to: rounded(needed),
        },
        _ if may_choose => Change::Smart,
        (Some(from), _) => Change::Double { from },
        (None, _) => return None,
    };
    Some((limit, change))
}

/// Rounds up to two digits and zeros.
fn rounded(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number.div_ceil(unit) * unit
}

/// Returns a name as a key of YAML.
fn key_of(tool: &str) -> String {
    let is_plain = tool.starts_with(|c: char| c.is_ascii_alphabetic())
        && tool
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && !matches!(
            tool.to_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    match is_plain {
        true => tool.to_owned(),
        false => serde_json::Value::from(tool).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Cell;
    use super::*;

    /// Figures of one tool: `calls`, and a cut for each size, of which the first `n_read` were gone back to.
    fn figures(
        tool: &str,
        calls: u64,
        limit: (&str, u64),
        strategy: &str,
        sizes: &[u64],
        n_read: usize,
    ) -> Figures {
        let cuts = sizes.iter().enumerate().map(|(at, &size)| CutCall {
            tool: tool.to_owned(),
            strategy: strategy.to_owned(),
            limit: limit.0.to_owned(),
            max: Some(limit.1),
            size: Some(size),
            is_read: at < n_read,
        });
        let sums = Sums {
            calls,
            cuts: sizes.len() as u64,
            spills: sizes.len() as u64,
            spills_read: n_read as u64,
            ..Sums::default()
        };
        Figures {
            cells: vec![Cell {
                day: "2026-11-16".to_owned(),
                tool: tool.to_owned(),
                sums,
            }],
            cuts: cuts.collect(),
        }
    }

    fn lines(figures: &Figures) -> Vec<String> {
        advice(figures).iter().map(Advice::yaml).collect()
    }

    #[test]
    fn a_limit_is_raised_to_what_would_have_been_enough() {
        let sizes = [2500, 2600, 3010, 3500, 9000, 100, 100, 100, 100, 100];
        let figures = figures("Bash", 100, ("max_lines", 2000), "head", &sizes, 5);
        assert_eq!(lines(&figures), ["tools: {Bash: {max_lines: 3100}}"]);
    }

    #[test]
    fn what_is_far_too_long_is_better_chosen_from() {
        let sizes = [900_000; 12];
        let cases = [
            ("Bash", "head", "tools: {Bash: {strategy: smart}}"),
            ("Bash", "smart", "tools: {Bash: {max_bytes: 102400}}"),
            ("Read", "head", "tools: {Read: {max_bytes: 102400}}"),
            ("no", "tail", "tools: {\"no\": {strategy: smart}}"),
        ];
        for (tool, strategy, expected) in cases {
            let figures = figures(tool, 20, ("max_bytes", 51_200), strategy, &sizes, 6);
            assert_eq!(lines(&figures), [expected]);
        }
    }

    #[test]
    fn a_name_that_no_configuration_takes_gets_no_line() {
        let figures = figures("a b: c", 20, ("max_lines", 100), "head", &[150; 10], 9);
        assert_eq!(lines(&figures), [""; 0]);
    }

    #[test]
    fn the_guard_is_never_raised() {
        let figures = |strategy| {
            figures(
                "Bash",
                20,
                ("max_result_chars", 8000),
                strategy,
                &[9000; 10],
                9,
            )
        };
        assert_eq!(
            lines(&figures("head")),
            ["tools: {Bash: {strategy: smart}}"]
        );
        assert_eq!(lines(&figures("smart")), [""; 0]);
    }

    #[test]
    fn cuts_that_nobody_went_back_to_are_fine() {
        let cases = [
            (100, 0, 10, 0),
            (10, 0, 10, 0),
            (20, 1, 10, 0),
            (20, 2, 10, 1),
            (100, 2, 10, 0),
            (20, 9, 9, 0),
        ];
        for (calls, n_read, n_cuts, expected) in cases {
            let figures = figures(
                "Bash",
                calls,
                ("max_lines", 2000),
                "head",
                &vec![3000; n_cuts],
                n_read,
            );
            assert_eq!(
                advice(&figures).len(),
                expected,
                "{calls} {n_read} {n_cuts}"
            );
        }
    }

    #[test]
    fn numbers_are_rounded_up() {
        for (number, expected) in [(7, 7), (99, 99), (101, 110), (2011, 2100), (51_201, 52_000)] {
            assert_eq!(rounded(number), expected);
        }
    }
}
