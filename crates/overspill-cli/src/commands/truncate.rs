//! `overspill truncate`: bounds a file or stdin.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;
use std::process::ExitCode;

use overspill::{Envelope, Outcome, Policy, Sink};
use serde_json::{Value, json};

use crate::app::App;
use crate::args::{Format, TruncateArgs};
use crate::exit::{self, usage_error};
use crate::output::{self, Facts};
use crate::progress::Progress;

const TOOL: &str = "truncate";

const CHUNK_BYTES: usize = 1 << 18;

/// More than this is not read as one JSON document but bounded as it streams by.
const JSON_BYTES: u64 = 256 << 20;

/// Bounds stdin for a call without a command; without a pipe there is nothing to bound.
pub(crate) fn from_pipe(app: &App) -> anyhow::Result<ExitCode> {
    if io::stdin().is_terminal() {
        return Ok(exit::usage(&crate::args::command().error(
            clap::error::ErrorKind::MissingSubcommand,
            "give a command, or pipe something in: `make 2>&1 | overspill`",
        )));
    }
    run(app, &TruncateArgs::default())
}

/// Bounds a file or stdin.
pub(crate) fn run(app: &App, args: &TruncateArgs) -> anyhow::Result<ExitCode> {
    let tool = app.tool(TOOL);
    let effective = app.settings.effective(tool);
    let store = app.store(&effective);
    let policy = app.policy(tool, &effective, &store);
    let mut input: Box<dyn Read> = match &args.file {
        Some(path) => Box::new(open(path)?),
        None => Box::new(io::stdin().lock()),
    };
    if args.format == Format::Envelope {
        return bound_json(input, &policy, args);
    }
    let mut progress = Progress::new(false);
    let sink = pour(&mut input, Sink::new(&policy), &mut progress)?;
    drop(progress);
    output::print_bounded(&sink.finish(Outcome::Unknown), args.format, policy.lang, Facts::default())
}

/// Bounds an input that may be an envelope: all of it is needed to tell.
fn bound_json(mut input: Box<dyn Read>, policy: &Policy<'_>, args: &TruncateArgs) -> anyhow::Result<ExitCode> {
    let mut start = Vec::new();
    input.by_ref().take(JSON_BYTES).read_to_end(&mut start)?;
    if (start.len() as u64) < JSON_BYTES {
        if let Some(envelope) = Envelope::parse(&start) {
            let source = String::from_utf8_lossy(&start);
            let bounded = envelope.clone().bound(policy, Some(&source));
            if bounded == envelope {
                output::print(&start)?;
            } else {
                output::print_line(&bounded.to_json())?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if is_bounded_already(&start) {
            output::print(&start)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let mut progress = Progress::new(false);
    let sink = pour(&mut start.chain(input), Sink::new(policy), &mut progress)?;
    drop(progress);
    let params = args.file.iter().map(|path| ("file".to_owned(), json!(path.to_string_lossy()))).collect();
    let facts = Facts { params, ..Facts::default() };
    output::print_bounded(&sink.finish(Outcome::Unknown), args.format, policy.lang, facts)
}

/// Tells whether a tool result says that its output was bounded by the tool itself.
fn is_bounded_already(json: &[u8]) -> bool {
    let result: Option<Value> = serde_json::from_slice(json).ok();
    result.is_some_and(|result| result.pointer("/metadata/truncated").is_some_and(Value::is_boolean))
}

/// Takes all there is.
fn pour<'p>(input: &mut impl Read, mut sink: Sink<'p>, progress: &mut Progress) -> anyhow::Result<Sink<'p>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match input.read(&mut chunk) {
            Ok(0) => return Ok(sink),
            Ok(len) => sink.push(&chunk[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(usage_error(format!("input: {}", output::io_cause(&error)))),
        }
        progress.update(sink.bytes());
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    let trouble = |cause: &str| usage_error(format!("`{}`: {cause}", path.display()));
    let file = File::open(path).map_err(|error| trouble(&output::io_cause(&error)))?;
    let metadata = file.metadata().map_err(|error| trouble(&output::io_cause(&error)))?;
    if metadata.is_dir() {
        return Err(trouble("is a directory, expected a file"));
    }
    Ok(file)
}
