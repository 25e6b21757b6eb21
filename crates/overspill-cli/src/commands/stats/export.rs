//! The figures for programs: JSON, CSV, OpenMetrics.

use serde_json::{Map, Value, json};

use super::advice::{Advice, Change, advice};
use super::figures::{Figures, Scope, Sums};

/// The figures that are counts, by name, with what they count.
type Count = (&'static str, fn(&Sums) -> u64, &'static str);

const COUNTS: [Count; 12] = [
    (
        "calls",
        |sums| sums.calls,
        "Calls whose output was bounded.",
    ),
    (
        "cuts",
        |sums| sums.cuts,
        "Calls of which not all was shown.",
    ),
    (
        "paged",
        |sums| sums.paged,
        "Calls that showed a page with another behind it.",
    ),
    (
        "spills",
        |sums| sums.spills,
        "Complete outputs that were saved.",
    ),
    (
        "spills_read",
        |sums| sums.spills_read,
        "Saved outputs that were looked into afterwards.",
    ),
    (
        "readings",
        |sums| sums.readings,
        "Looks into saved outputs.",
    ),
    (
        "lines_before",
        |sums| sums.lines_before,
        "Lines of outputs as they came.",
    ),
    (
        "lines_after",
        |sums| sums.lines_after,
        "Lines that were shown.",
    ),
    (
        "bytes_before",
        |sums| sums.bytes_before,
        "Bytes of outputs as they came.",
    ),
    (
        "bytes_after",
        |sums| sums.bytes_after,
        "Bytes that were shown.",
    ),
    (
        "tokens_before",
        |sums| sums.tokens_before,
        "Tokens of the outputs that were cut, as they came.",
    ),
    (
        "tokens_after",
        |sums| sums.tokens_after,
        "Tokens that were shown of the outputs that were cut.",
    ),
];

/// Returns one JSON object.
pub(super) fn json(figures: &Figures, scope: &Scope) -> String {
    let named = |key: &str, groups: Vec<(&str, Sums)>| -> Value {
        let object = |(name, sums): (&str, Sums)| {
            let mut object = Map::from_iter([(key.to_owned(), json!(name))]);
            object.extend(sums_object(&sums));
            Value::Object(object)
        };
        groups.into_iter().map(object).collect()
    };
    let suggestions: Vec<Value> = advice(figures).iter().map(suggestion).collect();
    json!({
        "root": scope.root,
        "total": sums_object(&figures.total()),
        "tools": named("tool", figures.tools()),
        "days": named("day", figures.days()),
        "suggestions": suggestions,
    })
    .to_string()
}

fn sums_object(sums: &Sums) -> Map<String, Value> {
    let counts = COUNTS
        .iter()
        .map(|(name, count, _)| ((*name).to_owned(), json!(count(sums))));
    let derived = [
        ("tokens_saved", json!(sums.tokens_saved())),
        ("tokens_estimated", json!(sums.is_estimated)),
        ("truncation_rate", json!(rate(sums.truncation_rate()))),
        ("regret_rate", json!(rate(sums.regret_rate()))),
    ];
    counts
        .chain(derived.map(|(name, value)| (name.to_owned(), value)))
        .collect()
}

/// Returns a rate with four digits, which is more than calls are.
fn rate(rate: f64) -> f64 {
    (rate * 10_000.0).round() / 10_000.0
}

fn suggestion(advice: &Advice) -> Value {
    let (setting, from, to) = match &advice.change {
        Change::Raise { from, to } => (advice.limit.as_str(), json!(from), json!(to)),
        Change::Double { from } => (advice.limit.as_str(), json!(from), json!(from * 2)),
        Change::Smart => ("strategy", Value::Null, json!("smart")),
    };
    json!({
        "tool": advice.tool,
        "limit": advice.limit,
        "setting": setting,
        "from": from,
        "to": to,
        "yaml": advice.yaml(),
    })
}

/// Returns a row for each day and tool.
pub(super) fn csv(figures: &Figures) -> String {
    let names: Vec<&str> = COUNTS.iter().map(|(name, ..)| *name).collect();
    let mut out = format!(
        "day,tool,{},tokens_saved,tokens_estimated\n",
        names.join(",")
    );
    for cell in &figures.cells {
        let counts: Vec<String> = COUNTS
            .iter()
            .map(|(_, count, _)| count(&cell.sums).to_string())
            .collect();
        out += &format!(
            "{},{},{},{},{}\n",
            field(&cell.day),
            field(&cell.tool),
            counts.join(","),
            cell.sums.tokens_saved(),
            cell.sums.is_estimated
        );
    }
    out
}

/// Quotes a field where it needs it.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Returns OpenMetrics text: a counter a figure, with the tool as its label.
pub(super) fn open_metrics(figures: &Figures) -> String {
    let tools = figures.tools();
    let mut out = String::new();
    for (name, count, help) in COUNTS {
        out += &format!("# TYPE overspill_{name} counter\n# HELP overspill_{name} {help}\n");
        for (tool, sums) in &tools {
            out += &format!(
                "overspill_{name}_total{{tool=\"{}\"}} {}\n",
                label(tool),
                count(sums)
            );
        }
    }
    out + "# EOF\n"
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::figures::Cell;
    use super::super::since::Since;
    use super::*;

    fn figures() -> Figures {
        let cell = |day: &str, tool: &str, calls| Cell {
            day: day.to_owned(),
            tool: tool.to_owned(),
            sums: Sums {
                calls,
                cuts: 1,
                spills: 1,
                spills_read: 1,
                readings: 3,
                tokens_before: 10,
                tokens_after: 12,
                ..Sums::default()
            },
        };
        Figures {
            cells: vec![
                cell("2026-11-15", "Grep", 3),
                cell("2026-11-16", "Grep", 1),
                cell("2026-11-16", "a,\"b\"\\\n", 5),
            ],
            cuts: Vec::new(),
        }
    }

    #[test]
    fn a_row_is_quoted_where_it_needs_it() {
        insta::assert_snapshot!(csv(&figures()), @r#"
        day,tool,calls,cuts,paged,spills,spills_read,readings,lines_before,lines_after,bytes_before,bytes_after,tokens_before,tokens_after,tokens_saved,tokens_estimated
        2026-11-15,Grep,3,1,0,1,1,3,0,0,0,0,10,12,-2,false
        2026-11-16,Grep,1,1,0,1,1,3,0,0,0,0,10,12,-2,false
        2026-11-16,"a,""b""\
        ",5,1,0,1,1,3,0,0,0,0,10,12,-2,false
        "#);
    }

    #[test]
    fn metrics_are_open_metrics() {
        let text = open_metrics(&figures());
        assert!(text.starts_with(
            "# TYPE overspill_calls counter\n# HELP overspill_calls Calls whose output was bounded.\n\
             overspill_calls_total{tool=\"a,\\\"b\\\"\\\\\\n\"} 5\noverspill_calls_total{tool=\"Grep\"} 4\n\
             # TYPE overspill_cuts counter\n"
        ), "{text}");
        assert!(text.ends_with("\n# EOF\n"));
        // Each line is a comment, or a sample of the family before it.
        let mut family = "";
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => family = rest.strip_suffix(" counter").unwrap(),
                None if line.starts_with("# ") => {}
                None => assert!(
                    line.starts_with(&format!("{family}_total{{tool=\"")),
                    "{line}"
                ),
            }
        }
    }

    #[test]
    fn json_has_totals_tools_and_days() {
        let scope = Scope {
            root: None,
            tool: None,
            since: Since::Ago(1),
        };
        let value: Value = serde_json::from_str(&json(&figures(), &scope)).unwrap();
        assert_eq!(value["total"]["calls"], 9);
        assert_eq!(value["total"]["tokens_saved"], -6);
        assert_eq!(value["tools"][1]["tool"], "Grep");
        assert_eq!(value["tools"][1]["truncation_rate"], 0.5);
        assert_eq!(value["days"][1]["calls"], 6);
    }
}
