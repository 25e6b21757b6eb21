//! `overspill show`: pages through a spill, or searches it. What it prints is bounded like any output, and never spilled
//! again, since the spill is there to page on.

use std::process::ExitCode;

use anyhow::Context as _;
use overspill::{Cut, Entry, Lang, Limits, Store, Strategy, Stream, Streamed, cut, decode, guard};
use overspill_tools::page::{self, Page, Range};
use overspill_tools::search::{self, Found};

use crate::app::App;
use crate::args::ShowArgs;
use crate::exit::{self, usage_error};
use crate::output;

/// Pages or searches.
pub(crate) fn run(app: &App, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let effective = app.settings.effective(app.tool(""));
    let store = app.store(&effective);
    let entry = store.find(&args.spill)?;
    let shown = match &args.grep {
        Some(pattern) => grep(
            &store,
            &entry,
            args,
            pattern,
            &effective.limits(),
            effective.lang(),
        )?,
        None => page(app, &store, &entry, args, &effective.limits())?,
    };
    let message = match effective.max_result_chars() {
        Some(max) => guard(&shown.text, max, effective.lang()).into_owned(),
        None => shown.text,
    };
    output::print_line(&message)?;
    Ok(if shown.found {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::ANSWER)
    })
}

/// What is printed, and whether there was anything.
struct Shown {
    text: String,
    found: bool,
}

fn page(
    app: &App,
    store: &Store,
    entry: &Entry,
    args: &ShowArgs,
    limits: &Limits,
) -> anyhow::Result<Shown> {
    let wanted = args
        .limit
        .unwrap_or(u64::MAX)
        .min(limits.max_lines().map_or(u64::MAX, |max| max as u64));
    let (range, strategy) = match args.tail {
        Some(count) => (Range::Last(count.min(wanted)), Strategy::Tail),
        None => (
            Range::From {
                first: args.offset.unwrap_or(1).max(1),
                limit: wanted,
            },
            Strategy::Head,
        ),
    };
    let most = limits.reach_bytes().saturating_mul(2).saturating_add(1024);
    let page =
        page::read(store.open(entry)?, range, most).with_context(|| format!("`{}`", entry.path))?;
    let text = decode(&page.bytes);
    let (body, lines) = match cut(&text, limits, strategy) {
        Cut::Whole(text) => (
            text.strip_suffix('\n').unwrap_or(text).to_owned(),
            text.lines().count() as u64,
        ),
        Cut::Part(preview) => (preview.text(Lang::En).into_owned(), preview.kept().lines),
    };
    if page.bytes.is_empty() {
        return Ok(Shown {
            text: format!("[no such lines: {} has {}]", entry.id, page.total_lines),
            found: page.total_lines == 0,
        });
    }
    Ok(Shown {
        text: with_place(app, entry, &page, &body, lines, strategy),
        found: true,
    })
}

/// Says which lines these are, and how to go on, unless they are all.
fn with_place(
    app: &App,
    entry: &Entry,
    page: &Page,
    body: &str,
    lines: u64,
    strategy: Strategy,
) -> String {
    let first = match strategy {
        Strategy::Tail => page.total_lines + 1 - lines.min(page.total_lines),
        _ => page.first_line,
    };
    let last = (first + lines.max(1) - 1).min(page.total_lines);
    if first == 1 && last == page.total_lines {
        return body.to_owned();
    }
    let next = if last < page.total_lines {
        format!(
            "; next: {} show {} --offset {}",
            app.program,
            entry.id,
            last + 1
        )
    } else {
        String::new()
    };
    format!(
        "{body}\n\n[lines {first}-{last} of {}{next}]",
        page.total_lines
    )
}

fn grep(
    store: &Store,
    entry: &Entry,
    args: &ShowArgs,
    pattern: &str,
    limits: &Limits,
    lang: Lang,
) -> anyhow::Result<Shown> {
    let mut stream = Stream::new(limits, Strategy::Head);
    let options = search::Options {
        case_sensitive: args.case_sensitive,
        context: args.context,
    };
    let searched = search::search(&store.open(entry)?, pattern, options, |found| match found {
        Found::Match { line, text } => push(&mut stream, &format!("{line}: "), text),
        Found::Context { line, text } => push(&mut stream, &format!("{line}- "), text),
        _ => push(&mut stream, "--", b""),
    });
    let matches = match searched {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            return Err(usage_error(format!(
                "pattern `{}`: {error}",
                &pattern[..pattern.floor_char_boundary(200)]
            )));
        }
        searched => searched.with_context(|| format!("`{}`", entry.path))?,
    };
    let text = match stream.finish() {
        Streamed::Whole(_) if matches == 0 => format!("[no match in {}]", entry.id),
        Streamed::Whole(bytes) => decode(&bytes).trim_end_matches('\n').to_owned(),
        Streamed::Part(preview) => {
            let shown = preview.text(lang);
            format!("{shown}\n\n[{matches} matches in all; narrow the pattern to see the others]")
        }
    };
    Ok(Shown {
        text,
        found: matches > 0,
    })
}

fn push(stream: &mut Stream, prefix: &str, line: &[u8]) {
    stream.push(prefix.as_bytes());
    stream.push(line);
    stream.push(b"\n");
}
