//! No configuration makes it panic, an error is one bounded line, and what is accepted can be asked for any tool.
#![no_main]

use libfuzzer_sys::fuzz_target;
use overspill::Settings;
use overspill::settings::{FileSettings, SETTINGS};

fuzz_target!(|text: &str| {
    match FileSettings::parse("overspill.yaml", text) {
        Ok(file) => {
            let settings = Settings::new().with_file(file);
            for tool in [
                "",
                "Run",
                "read_file",
                "grep_search",
                "get_repo_structure",
                "mcp__git__log",
            ] {
                let effective = settings.effective(tool);
                assert!(effective.iter().count() <= SETTINGS.len());
                assert!(effective.limits().reach_bytes() > 0);
                let _ = (
                    effective.reach(),
                    effective.retention(),
                    effective.store_dir(),
                );
            }
        }
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("`overspill.yaml` line "), "{line}");
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(line.len() <= 2000, "{} bytes", line.len());
        }
    }
    // The same text as an environment variable and as a flag.
    for setting in SETTINGS {
        if let Err(error) = Settings::new().with_option(setting.key, text, "--flag") {
            let line = error.to_string();
            assert!(
                !line.contains(char::is_control) && line.len() <= 2500,
                "{line:?}"
            );
        }
    }
});
