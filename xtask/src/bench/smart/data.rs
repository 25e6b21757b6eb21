//! What recall is measured on: the project's own labelled outputs, and those that the user names.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::recall::{Case, cases_in};
use crate::workspace::{by_hand, root};

/// Names a directory with `manifest.jsonl`: an object a line with `id`, `file` (relative to it, maybe `.gz`), `needles`, a
/// list of objects with `lines`, and maybe `query` and `any_of`.
const ELSEWHERE: &str = "OVERSPILL_QUALITY";

/// Outputs that are measured together.
pub(super) struct Set {
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
}

/// Returns what is measured.
#[expect(
    clippy::disallowed_methods,
    reason = "what is forbidden to the program is not to what measures it"
)]
pub(super) fn sets() -> Result<Vec<Set>> {
    let mut sets = vec![Set {
        name: "The project's logs".to_owned(),
        cases: own()?,
    }];
    if let Some(dir) = std::env::var_os(ELSEWHERE) {
        sets.push(Set {
            name: format!("`${ELSEWHERE}`"),
            cases: elsewhere(&PathBuf::from(dir))?,
        });
    }
    Ok(sets)
}

/// Returns the project's own outputs.
pub(super) fn own() -> Result<Vec<Case>> {
    let logs = root().join("crates/overspill/tests/logs");
    cases_in(&logs).with_context(|| format!("labelled logs `{}`", logs.display()))
}

fn elsewhere(dir: &Path) -> Result<Vec<Case>> {
    let path = dir.join("manifest.jsonl");
    let manifest =
        std::fs::read_to_string(&path).with_context(|| format!("file `{}`", path.display()))?;
    let case = |line: &str| {
        let label: Value = serde_json::from_str(line)?;
        let text = |field: &str| {
            let value = label[field].as_str();
            value.with_context(|| format!("no `{field}` in `{line}`"))
        };
        let output = read(&dir.join(text("file")?))?;
        let needles = label["needles"].as_array();
        let marked: Vec<&Value> = needles
            .into_iter()
            .flatten()
            .map(|needle| &needle["lines"])
            .collect();
        Ok(Case::new(text("id")?, &output, &label, &marked))
    };
    manifest.lines().map(case).collect()
}

/// Reads a file, which may be compressed.
fn read(path: &Path) -> Result<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return std::fs::read(path).with_context(|| format!("file `{}`", path.display()));
    }
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").arg(path);
    let output = gzip.output().with_context(|| by_hand(&gzip))?;
    anyhow::ensure!(
        output.status.success(),
        "`{}` ended with {}",
        by_hand(&gzip),
        output.status
    );
    Ok(output.stdout)
}
