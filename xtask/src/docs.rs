//! The files under docs/ that the program itself prints, so that they cannot tell another story than it does.

use anyhow::{Context as _, Result, bail};

use crate::workspace::{capture, cargo, root};

/// What `overspill docs` is asked for, and the file it goes to.
const DOCUMENTS: [(&str, &str); 3] = [
    ("reference", "docs/reference.md"),
    ("commands", "docs/commands.md"),
    ("schema", "docs/config.schema.json"),
];

/// Writes the files.
pub(crate) fn write() -> Result<()> {
    for (document, path) in DOCUMENTS {
        let file = root().join(path);
        let text = generate(document)?;
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)
                .with_context(|| format!("directory `{}`", dir.display()))?;
        }
        std::fs::write(&file, text).with_context(|| format!("`{path}`"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Tells whether the files are what the program prints.
pub(crate) fn check() -> Result<()> {
    let mut stale = Vec::new();
    for (document, path) in DOCUMENTS {
        // A file that cannot be read is not current either, and writing it says why.
        if std::fs::read_to_string(root().join(path)).ok() != Some(generate(document)?) {
            stale.push(format!("`{path}`"));
        }
    }
    if !stale.is_empty() {
        bail!("{} not current; run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}

fn generate(document: &str) -> Result<String> {
    capture(cargo(&[
        "run",
        "--quiet",
        "--package",
        "overspill-cli",
        "--",
        "docs",
        document,
    ]))
}
