//! Prints results in the form that was asked for.

use std::io::{self, Write as _};

use overspill::{
    Bounded, Code, Envelope, Lang, Outcome, Reason, Sink, Strategy, decode, io_cause, notice,
};
use serde_json::{Map, Value, json};

use crate::args::{Format, OutputArgs};

/// Writes bytes to stdout. A reader that went away is no trouble.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("stdout: {}", io_cause(&error)),
        )),
        Ok(()) => Ok(()),
    }
}

/// Writes a text and a line end.
pub(crate) fn print_line(text: &str) -> io::Result<()> {
    print(format!("{text}\n").as_bytes())
}

/// What a command tells of itself beside its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Its exit code, if it failed.
    pub(crate) failed: Option<i32>,
    pub(crate) stats: Map<String, Value>,
    pub(crate) params: Map<String, Value>,
    /// The working directory, relative to the root.
    pub(crate) cwd: String,
}

/// Ends an output and prints it. The guard bounds it in the form that is printed.
pub(crate) fn print_output(
    sink: Sink<'_>,
    outcome: Outcome,
    wanted: &OutputArgs,
    facts: &Facts,
) -> io::Result<()> {
    let (lang, strategy) = (sink.policy().lang, sink.policy().strategy);
    let bounded = match wanted.format() {
        Format::Text => print_text(sink, outcome, wanted)?,
        Format::Json => print_rendered(sink, outcome, |bounded| as_json(bounded).to_string())?,
        Format::Envelope => print_rendered(sink, outcome, |bounded| {
            as_envelope(bounded, lang, facts.clone()).to_json()
        })?,
    };
    if wanted.explain {
        explain(&bounded, strategy);
    }
    Ok(())
}

fn print_text(
    sink: Sink<'_>,
    outcome: Outcome,
    wanted: &OutputArgs,
) -> io::Result<Bounded<'static>> {
    let bounded = sink.finish(outcome);
    match &bounded {
        Bounded::Whole(bytes) => print(bytes)?,
        Bounded::Cut(cut) if wanted.no_notice => print_line(&cut.preview)?,
        Bounded::Cut(cut) => print_line(&cut.content)?,
    }
    Ok(bounded)
}

fn print_rendered(
    sink: Sink<'_>,
    outcome: Outcome,
    render: impl Fn(&Bounded<'_>) -> String,
) -> io::Result<Bounded<'static>> {
    let bounded = sink.finish_as(outcome, |bounded| render(bounded).chars().count());
    print_line(&render(&bounded))?;
    Ok(bounded)
}

/// Tells on stderr why each run of lines was kept.
fn explain(bounded: &Bounded<'_>, strategy: Strategy) {
    let mut stderr = io::stderr().lock();
    let lines = match bounded {
        Bounded::Whole(_) => "overspill: nothing was cut\n".to_owned(),
        Bounded::Cut(cut) if cut.reasons.is_empty() => {
            format!("overspill: `{strategy}` scored no lines of this output\n")
        }
        Bounded::Cut(cut) => {
            let row = |reason: &Reason| {
                let lines = format!("{}-{}", reason.first, reason.last);
                let evidence: Vec<&str> = reason.evidence.iter().map(|kind| kind.name()).collect();
                format!(
                    "{lines:>21} {:>6}  {}\n",
                    reason.points,
                    evidence.join(", ")
                )
            };
            let head = format!("{:>21} {:>6}  {}\n", "lines", "points", "evidence");
            head + &cut.reasons.iter().map(row).collect::<String>()
        }
    };
    // Remarks that nobody reads are no trouble.
    drop(stderr.write_all(lines.as_bytes()));
}

fn as_json(bounded: &Bounded<'_>) -> Value {
    match bounded {
        Bounded::Whole(bytes) => json!({ "truncated": false, "content": decode(bytes) }),
        Bounded::Cut(cut) => json!({
            "truncated": true,
            "content": cut.content,
            "preview": cut.preview,
            "output_path": cut.truncation.full_output_path,
            "truncation": cut.truncation,
        }),
    }
}

fn as_envelope(bounded: &Bounded<'_>, lang: Lang, facts: Facts) -> Envelope {
    let mut envelope = match bounded {
        Bounded::Whole(bytes) => Envelope::of_output(bytes, lang),
        Bounded::Cut(cut) => Envelope::of_cut(cut),
    };
    envelope.stats.extend(facts.stats);
    envelope
        .context
        .insert("cwd".to_owned(), Value::String(facts.cwd));
    envelope
        .context
        .insert("params_input".to_owned(), Value::Object(facts.params));
    match facts.failed {
        Some(code) => envelope.failed(Code::ExecutionError, notice::command_failed(code, lang)),
        None => envelope,
    }
}
