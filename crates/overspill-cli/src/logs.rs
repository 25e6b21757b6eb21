//! Where the log goes: nowhere, unless the user says so; then to stderr or a file, and never to stdout, which is for answers.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;

use overspill::io_cause;
use rustix::fs::OFlags;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::config::{self, LOG_FILE_VARIABLE, LOG_VARIABLE};

/// What is logged to a file if the user does not say.
const FILE_LEVEL: &str = "info";

/// Our own modules, all of which begin so.
const OURS: &str = "overspill";

/// Starts logging as the environment says. Whatever is wrong with that is told in one line and harms nothing.
pub(crate) fn start() {
    let (level, path) = config::log();
    let level = match (level, &path) {
        (Some(level), _) => level,
        (None, Some(_)) => FILE_LEVEL.to_owned(),
        (None, None) => return,
    };
    let Some(targets) = targets(&level) else {
        let level = &level[..level.floor_char_boundary(100)];
        return warn(&format!(
            "`{LOG_VARIABLE}` is `{level}`, expected `off`, `error`, `warn`, `info`, `debug`, `trace`, or levels by module such as `overspill=debug`"
        ));
    };
    match path {
        None => install(targets, std::io::stderr),
        Some(path) => match open(&path) {
            Ok(file) => install(targets, Mutex::new(file)),
            Err(error) => warn(&format!(
                "`{LOG_FILE_VARIABLE}`: `{}`: {}",
                path.display(),
                io_cause(&error)
            )),
        },
    }
}

/// Reads what is to be logged. A level alone is for our own lines; of others only warnings are of interest then.
fn targets(level: &str) -> Option<Targets> {
    match level.trim().parse::<LevelFilter>() {
        Ok(level) => {
            let others = level.min(LevelFilter::WARN);
            Some(Targets::new().with_default(others).with_target(OURS, level))
        }
        Err(_) if level.contains('=') => level.parse().ok(),
        Err(_) => None,
    }
}

fn install<W>(targets: Targets, writer: W)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer)
        // A log that cannot be written is no reason to say something elsewhere.
        .log_internal_errors(false);
    let subscriber = tracing_subscriber::registry().with(targets).with(lines);
    set(subscriber);
}

fn set(subscriber: impl Subscriber + Send + Sync) {
    // Nobody else sets one.
    drop(tracing::subscriber::set_global_default(subscriber));
}

/// Opens the file, which nobody else may read. One without a reader behind it, such as a pipe, is refused.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
}

fn warn(message: &str) {
    drop(writeln!(std::io::stderr().lock(), "overspill: {message}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_for_our_own_lines() {
        let targets = targets("debug").unwrap();
        for (target, level, expected) in [
            ("overspill::tool", tracing::Level::DEBUG, true),
            ("overspill_mcp::proxy", tracing::Level::DEBUG, true),
            ("overspill", tracing::Level::TRACE, false),
            ("rmcp", tracing::Level::WARN, true),
            ("rmcp", tracing::Level::INFO, false),
        ] {
            assert_eq!(
                targets.would_enable(target, &level),
                expected,
                "{target} {level}"
            );
        }
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for level in ["loud", "overspill=loud"] {
            assert!(targets(level).is_none(), "{level}");
        }
        assert!(targets("overspill=debug,rmcp=info").is_some());
        assert!(targets("off").is_some());
    }
}
