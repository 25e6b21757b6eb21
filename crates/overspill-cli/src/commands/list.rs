//! `overspill list`: the spills there are.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::app::App;
use crate::args::ListArgs;
use crate::output;

/// Lists spills, the newest first.
pub(crate) fn run(app: &App, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let mut entries = app.host.store().list()?;
    entries.retain(|entry| {
        app.named_tool()
            .is_none_or(|tool| entry.tool.eq_ignore_ascii_case(tool))
    });
    let mut out = match entries.is_empty() && !args.json {
        true => "nothing is saved\n".to_owned(),
        false => String::new(),
    };
    for entry in entries.iter().take(args.limit) {
        out += &if args.json {
            let modified = entry
                .modified
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs());
            let object = json!({ "id": entry.id.as_str(), "tool": entry.tool, "bytes": entry.bytes, "modified": modified, "path": entry.path });
            format!("{object}\n")
        } else {
            format!(
                "{}  {:>9}  {:>8}  {}  {}\n",
                entry.id,
                size(entry.bytes),
                age(entry.modified),
                entry.tool,
                entry.path
            )
        };
    }
    if !args.json && entries.len() > args.limit {
        out += &format!(
            "[{} of {}; --limit shows more]\n",
            args.limit,
            entries.len()
        );
    }
    output::print(out.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Words a size.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.into_iter().find(|(shift, _)| bytes >= 1 << shift);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(shift, name)| format!("{:.1} {name}", bytes as f64 / (1u64 << shift) as f64),
    )
}

fn age(modified: SystemTime) -> String {
    let seconds = modified.elapsed().map_or(0, |age| age.as_secs());
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
