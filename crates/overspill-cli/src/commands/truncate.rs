//! `overspill truncate`: bounds a file or stdin.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

use overspill::{Envelope, Outcome, Policy, Sink, io_cause};
use overspill_tools::Buffer;
use serde_json::{Value, json};

use crate::app::App;
use crate::args::{Format, OutputArgs};
use crate::exit::{self, usage_error};
use crate::output::{self, Facts};
use crate::progress::Progress;
use crate::signals;

const TOOL: &str = "truncate";

const CHUNK_BYTES: usize = 1 << 18;

/// More than this is not read as one JSON document but bounded as it streams by.
const JSON_BYTES: u64 = 64 << 20;

/// How much longer than its values the JSON of an envelope may be: white space, and members that stand twice.
const SLACK_BYTES: usize = 4096;

/// Bounds stdin for a call without a command; without a pipe there is nothing to bound.
pub(crate) fn from_pipe(app: &App, wanted: &OutputArgs) -> anyhow::Result<ExitCode> {
    if io::stdin().is_terminal() {
        return Ok(exit::usage(&crate::args::command().error(
            clap::error::ErrorKind::MissingSubcommand,
            "give a command, or pipe something in: `make 2>&1 | overspill`",
        )));
    }
    run(app, None, wanted)
}

/// Bounds a file or stdin.
pub(crate) fn run(app: &App, file: Option<&Path>, wanted: &OutputArgs) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let tool = app.tool(TOOL);
    let effective = app.host.settings().effective(tool);
    let policy = Policy {
        salience: wanted.salience(""),
        ..app.host.policy(tool, &effective)
    };
    let file = file.filter(|path| *path != Path::new("-"));
    let mut input: Box<dyn Read> = match file {
        Some(path) => Box::new(open(path)?),
        None => Box::new(io::stdin().lock()),
    };
    signals::outlive_file_limit()?;
    let is_piped = file.is_none() && !io::stdin().is_terminal();
    let interrupted = if is_piped {
        Some(signals::outlive_interrupt()?)
    } else {
        None
    };
    if wanted.format() == Format::Envelope {
        match bound_json(input, &policy)? {
            Some(rest) => input = rest,
            None => return Ok(ExitCode::SUCCESS),
        }
    }
    let sink = pour(&mut input, Sink::new(&policy), &mut Progress::new(false))?;
    let params = file
        .iter()
        .map(|path| ("file".to_owned(), json!(path.to_string_lossy())))
        .collect();
    let stats = [(
        "time_ms".to_owned(),
        json!(start.elapsed().as_millis() as u64),
    )]
    .into_iter()
    .collect();
    output::print_output(
        sink,
        Outcome::Unknown,
        wanted,
        &Facts {
            failed: None,
            stats,
            params,
            cwd: app.host.cwd().to_owned(),
        },
    )?;
    let is_interrupted = interrupted.is_some_and(|interrupted| interrupted.load(Ordering::SeqCst));
    Ok(if is_interrupted {
        ExitCode::from(signals::INTERRUPTED as u8)
    } else {
        ExitCode::SUCCESS
    })
}

/// Prints an input that is an envelope, or a tool result that bounds itself; returns any other to be read as output.
fn bound_json(
    mut input: Box<dyn Read>,
    policy: &Policy<'_>,
) -> anyhow::Result<Option<Box<dyn Read>>> {
    let start = read_object(&mut input)?;
    let Some(envelope) = Envelope::parse(&start) else {
        if is_bounded_already(&start) {
            output::print(&start)?;
            return Ok(None);
        }
        return Ok(Some(Box::new(io::Cursor::new(start).chain(input))));
    };
    if start.len() > envelope.to_json().len() + SLACK_BYTES {
        // Most of it is not in the values, so it cannot be judged by them.
        return Ok(Some(Box::new(io::Cursor::new(start).chain(input))));
    }
    let bounded = envelope
        .clone()
        .bound(policy, Some(&String::from_utf8_lossy(&start)));
    if bounded == envelope {
        output::print(&start)?;
    } else {
        output::print_line(&bounded.to_json())?;
    }
    Ok(None)
}

/// Reads all of an input that begins as a JSON object, and only the beginning of any other.
fn read_object(input: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    let mut start = Vec::new();
    loop {
        let before = start.len();
        input
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut start)?;
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        let may_be_object = first.is_none_or(|&first| first == b'{');
        if start.len() == before || !may_be_object || start.len() as u64 >= JSON_BYTES {
            return Ok(start);
        }
    }
}

/// Tells whether a tool result says that its output was bounded by the tool itself.
fn is_bounded_already(json: &[u8]) -> bool {
    let result: Option<Value> = serde_json::from_slice(json).ok();
    result.is_some_and(|result| {
        result
            .pointer("/metadata/truncated")
            .is_some_and(Value::is_boolean)
    })
}

/// Takes all there is.
fn pour<'p>(
    input: &mut impl Read,
    mut sink: Sink<'p>,
    progress: &mut Progress,
) -> anyhow::Result<Sink<'p>> {
    let mut buffer = Buffer::new(CHUNK_BYTES);
    let chunk = buffer.bytes();
    loop {
        match input.read(chunk) {
            Ok(0) => return Ok(sink),
            Ok(len) => sink.push(&chunk[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(usage_error(format!("input: {}", io_cause(&error)))),
        }
        progress.update(sink.bytes());
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    let trouble = |cause: &str| usage_error(format!("`{}`: {cause}", path.display()));
    let file = File::open(path).map_err(|error| trouble(&io_cause(&error)))?;
    let metadata = file
        .metadata()
        .map_err(|error| trouble(&io_cause(&error)))?;
    if metadata.is_dir() {
        return Err(trouble("is a directory, expected a file"));
    }
    Ok(file)
}
