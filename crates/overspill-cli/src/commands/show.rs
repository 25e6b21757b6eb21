//! `overspill show`: pages through a spill, or searches it. What it prints is bounded like any output, and never spilled
//! again, since the spill is there to page on.

use std::process::ExitCode;

use anyhow::Context as _;
use overspill::notice::{self, Place};
use overspill::settings::Effective;
use overspill::{
    Cut, Entry, Lang, Store, Strategy, Stream, Streamed, Terminal, cut, decode, guard, is_binary,
};
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
        Some(pattern) => grep(&store, &entry, args, pattern, &effective)?,
        None => page(app, &store, &entry, args, &effective)?,
    };
    let message = match effective.max_result_chars() {
        Some(max) => guard(&shown.text, max, effective.lang()).into_owned(),
        None => shown.text,
    };
    output::print_line(&message)?;
    Ok(if shown.is_something {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::ANSWER)
    })
}

/// What is printed, and whether it is what was asked for.
struct Shown {
    text: String,
    is_something: bool,
}

fn page(
    app: &App,
    store: &Store,
    entry: &Entry,
    args: &ShowArgs,
    effective: &Effective,
) -> anyhow::Result<Shown> {
    let (limits, lang) = (effective.limits(), effective.lang());
    let most_lines = limits.max_lines().map_or(u64::MAX, |max| max as u64);
    let wanted = args.limit.unwrap_or(u64::MAX).min(most_lines);
    let (range, strategy) = match args.tail {
        Some(count) => (Range::Last(count.min(wanted)), Strategy::Tail),
        None => (
            Range::From {
                first: args.offset.unwrap_or(1),
                limit: wanted,
            },
            Strategy::Head,
        ),
    };
    // Twice what can be shown, so that a line at the edge is known to be too long by itself or not.
    let most_bytes = limits.reach_bytes().saturating_mul(2).saturating_add(1024);
    let file = store.open(entry)?;
    let page = page::read(file, range, most_bytes).with_context(|| format!("`{}`", entry.path))?;
    if page.bytes.is_empty() {
        let text = notice::no_such_lines(entry.id.as_str(), page.total_lines, lang);
        return Ok(Shown {
            text,
            is_something: page.total_lines == 0,
        });
    }
    if is_binary(&page.bytes) {
        return Ok(Shown {
            text: notice::binary(entry.bytes, lang),
            is_something: true,
        });
    }
    let plain = without_control_codes(&page.bytes);
    let text = decode(&plain);
    let (body, lines) = match cut(&text, &limits, strategy) {
        Cut::Whole(text) => {
            let body = text.strip_suffix('\n').unwrap_or(text);
            (body.to_owned(), body.split('\n').count() as u64)
        }
        Cut::Part(preview) => (preview.text(lang).into_owned(), preview.kept().lines),
    };
    Ok(Shown {
        text: with_place(app, entry, &page, &body, lines, strategy, lang),
        is_something: true,
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
    lang: Lang,
) -> String {
    let all = page.total_lines;
    let from = match strategy {
        Strategy::Tail => all + 1 - lines.min(all),
        _ => page.first_line,
    };
    let to = (from + lines.max(1) - 1).min(all);
    if from == 1 && to == all {
        return body.to_owned();
    }
    let place = Place {
        id: entry.id.as_str(),
        from,
        to,
        all,
        program: &app.program,
    };
    format!("{body}\n\n{}", notice::place(&place, lang))
}

fn grep(
    store: &Store,
    entry: &Entry,
    args: &ShowArgs,
    pattern: &str,
    effective: &Effective,
) -> anyhow::Result<Shown> {
    let lang = effective.lang();
    let mut stream = Stream::new(&effective.limits(), Strategy::Head);
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
            let shown = &pattern[..pattern.floor_char_boundary(200)];
            return Err(usage_error(format!("pattern `{shown}`: {error}")));
        }
        searched => searched.with_context(|| format!("`{}`", entry.path))?,
    };
    let text = match stream.finish() {
        Streamed::Whole(_) if matches == 0 => notice::no_match(entry.id.as_str(), lang),
        Streamed::Whole(bytes) => decode(&bytes).trim_end_matches('\n').to_owned(),
        Streamed::Part(preview) => format!(
            "{}\n\n{}",
            preview.text(lang),
            notice::more_matches(matches, lang)
        ),
    };
    Ok(Shown {
        text,
        is_something: matches > 0,
    })
}

fn push(stream: &mut Stream, prefix: &str, line: &[u8]) {
    stream.push(prefix.as_bytes());
    stream.push(&without_control_codes(line));
    stream.push(b"\n");
}

fn without_control_codes(bytes: &[u8]) -> Vec<u8> {
    let (mut terminal, mut plain) = (Terminal::default(), Vec::new());
    terminal.push(bytes, &mut plain);
    terminal.finish(&mut plain);
    plain
}
