//! `overspill clean`: removes spills that are too old or too many.

use std::process::ExitCode;

use overspill::{Retention, Store};

use super::list::size;
use crate::app::App;
use crate::args::CleanArgs;
use crate::output;

/// Cleans the store and tells what went.
pub(crate) fn run(app: &App, args: &CleanArgs) -> anyhow::Result<ExitCode> {
    let effective = app.host.settings().effective("");
    let retention = match args.all {
        true => Retention {
            days: 0,
            max_bytes: Some(0),
        },
        false => effective.retention(),
    };
    let store = Store::new(app.host.root(), &effective.store_dir(), retention);
    let (pruned, verb) = match args.dry_run {
        true => (store.prune_dry_run()?, "would remove"),
        false => (store.prune()?, "removed"),
    };
    let mut out: String = pruned
        .spills
        .iter()
        .map(|entry| format!("{verb} {}\n", entry.path))
        .collect();
    let unfinished = match pruned.temporaries {
        0 => String::new(),
        count => format!(" and {count} unfinished"),
    };
    out += &format!(
        "{verb} {} outputs{unfinished}, {}\n",
        pruned.spills.len(),
        size(pruned.bytes)
    );
    output::print(out.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
