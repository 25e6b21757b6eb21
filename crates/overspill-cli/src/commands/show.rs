//! `overspill show`: pages through a spill, or searches it. What it prints is bounded like any output, and never spilled
//! again, since the spill is there to page on.

use std::process::ExitCode;

use anyhow::Context as _;
use overspill::notice::{self, Place};
use overspill::settings::Effective;
use overspill::{
    Cut, Entry, Lang, Limits, Preview, Store, Strategy, Stream, Streamed, Terminal, cut, decode,
    guard, is_binary, raw_prefix_len,
};
use overspill_tools::page::{self, Page, Range};
use overspill_tools::search::{self, Found};

use crate::app::App;
use crate::args::ShowArgs;
use crate::exit::{self, usage_error};
use crate::output;

/// How long a line may be before a search shows only the neighbourhood of its match.
const LONG_LINE_BYTES: usize = 2000;

/// How much of a long line is shown before and after the start of the match.
const BEFORE_BYTES: usize = 200;
const AFTER_BYTES: usize = 800;

/// Pages or searches.
pub(crate) fn run(app: &App, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let effective = app.host.settings().effective(app.tool(""));
    let store = app.host.store();
    let entry = store.find(&args.spill)?;
    let view = View {
        limits: effective.limits(),
        lang: effective.lang(),
        program: app.program.clone(),
        store,
        entry: &entry,
    };
    let shown = match &args.grep {
        Some(pattern) => view.grep(args, pattern)?,
        None => view.page(args)?,
    };
    output::print_line(&guarded(&shown.text, &effective))?;
    app.host.note_reading(&entry.id, "show");
    Ok(if shown.is_something {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::ANSWER)
    })
}

fn guarded(text: &str, effective: &Effective) -> String {
    match effective.max_result_chars() {
        Some(max) => guard(text, max, effective.lang()).into_owned(),
        None => text.to_owned(),
    }
}

/// What is printed, and whether it is what was asked for.
struct Shown {
    text: String,
    is_something: bool,
}

impl Shown {
    fn something(text: String) -> anyhow::Result<Shown> {
        Ok(Shown {
            text,
            is_something: true,
        })
    }
}

/// A spill as it is looked at.
struct View<'a> {
    limits: Limits,
    lang: Lang,
    program: String,
    store: &'a Store,
    entry: &'a Entry,
}

impl View<'_> {
    fn page(&self, args: &ShowArgs) -> anyhow::Result<Shown> {
        let most_lines = self.limits.max_lines().map_or(u64::MAX, |max| max as u64);
        let wanted = args.limit.unwrap_or(u64::MAX).min(most_lines);
        let range = match (args.byte, args.tail) {
            (Some(first), _) => Range::Byte(first),
            (_, Some(count)) => Range::Last(count.min(wanted)),
            _ => Range::From {
                first: args.offset.unwrap_or(1),
                limit: wanted,
            },
        };
        // Twice what can be shown, so that a line at the edge is known to be too long by itself or not.
        let most_bytes = self
            .limits
            .reach_bytes()
            .saturating_mul(2)
            .saturating_add(1024);
        let file = self.store.open(self.entry)?;
        let page = page::read(file, range, most_bytes)
            .with_context(|| format!("`{}`", self.entry.path))?;
        if page.bytes.is_empty() {
            let text = notice::no_such_lines(self.entry.id.as_str(), page.total_lines, self.lang);
            return Ok(Shown {
                text,
                is_something: self.entry.bytes == 0,
            });
        }
        if is_binary(&page.bytes) {
            return Shown::something(notice::binary(self.entry.bytes, self.lang));
        }
        match range {
            Range::Byte(_) => Shown::something(self.bytes(&page)),
            Range::Last(_) => Shown::something(self.last_lines(&page)),
            _ => Shown::something(self.lines(&page)),
        }
    }

    /// Shows lines from the start of a page, says which they are unless they are all, and where a cut one goes on.
    fn lines(&self, page: &Page) -> String {
        let text = decode(&page.bytes);
        let (taken, lines) = match cut(&text, &self.limits, Strategy::Head) {
            Cut::Whole(text) => (text.len(), count_lines(text)),
            Cut::Part(preview) => (self.taken(&preview, &text), preview.kept().lines),
        };
        let raw = raw_prefix_len(&page.bytes, taken);
        let shown = plain(&page.bytes[..raw]);
        let to = (page.first_line + lines.max(1) - 1).min(page.total_lines);
        let place = self.place(page.first_line, to, page.total_lines);
        let is_line_cut = page.bytes.get(raw).is_some_and(|&next| next != b'\n')
            && !page.bytes[..raw].ends_with(b"\n");
        if is_line_cut {
            return format!(
                "{shown}\n\n{}",
                notice::line_cut(&place, page.first_byte + raw as u64, self.lang)
            );
        }
        if page.first_line == 1 && to == page.total_lines {
            return shown;
        }
        format!("{shown}\n\n{}", notice::place(&place, self.lang))
    }

    /// Returns how much of the text a preview of its start shows; a line that was shortened counts whole.
    fn taken(&self, preview: &Preview<'_>, text: &str) -> usize {
        let shown = preview.text(self.lang);
        if text.starts_with(&*shown) {
            return shown.len();
        }
        let lines = usize::try_from(preview.kept().lines).unwrap_or(usize::MAX);
        text.split_inclusive('\n').take(lines).map(str::len).sum()
    }

    fn last_lines(&self, page: &Page) -> String {
        let text = plain(&page.bytes);
        let (shown, lines) = match cut(&text, &self.limits, Strategy::Tail) {
            Cut::Whole(text) => (text.to_owned(), count_lines(text)),
            Cut::Part(preview) => {
                let removed = notice::removed(preview.removed(), self.lang);
                (
                    format!("{removed}\n\n{}", preview.text(self.lang)),
                    preview.kept().lines,
                )
            }
        };
        let all = page.total_lines;
        let from = all + 1 - lines.clamp(1, all);
        if from == 1 {
            return shown;
        }
        format!(
            "{shown}\n\n{}",
            notice::place(&self.place(from, all, all), self.lang)
        )
    }

    /// Shows what stands from a byte on.
    fn bytes(&self, page: &Page) -> String {
        let text = decode(&page.bytes);
        let shown = match cut(&text, &self.limits, Strategy::Head) {
            Cut::Whole(text) => text.to_owned(),
            Cut::Part(preview) => preview.text(self.lang).into_owned(),
        };
        let raw = raw_prefix_len(
            &page.bytes,
            if text.starts_with(&shown) {
                shown.len()
            } else {
                text.len()
            },
        );
        let place = self.place(
            page.first_byte,
            page.first_byte + raw as u64,
            self.entry.bytes,
        );
        format!(
            "{}\n\n{}",
            plain(&page.bytes[..raw]),
            notice::byte_place(&place, self.lang)
        )
    }

    fn place(&self, from: u64, to: u64, all: u64) -> Place<'_> {
        Place {
            id: self.entry.id.as_str(),
            from,
            to,
            all,
            program: &self.program,
        }
    }

    fn grep(&self, args: &ShowArgs, pattern: &str) -> anyhow::Result<Shown> {
        let mut stream = Stream::new(&self.limits, Strategy::Head);
        let options = search::Options {
            case_sensitive: args.case_sensitive,
            context: args.context,
        };
        let file = self.store.open(self.entry)?;
        let searched = search::search(&file, pattern, options, |found| {
            stream.push(line_found(found).as_bytes());
            stream.push(b"\n");
        });
        let matches = match searched {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                let shown = &pattern[..pattern.floor_char_boundary(200)];
                return Err(usage_error(format!("pattern `{shown}`: {error}")));
            }
            searched => searched.with_context(|| format!("`{}`", self.entry.path))?,
        };
        let text = match stream.finish() {
            Streamed::Whole(_) if matches == 0 => {
                notice::no_match(self.entry.id.as_str(), self.lang)
            }
            Streamed::Whole(bytes) => decode(&bytes).trim_end_matches('\n').to_owned(),
            Streamed::Part(preview) => {
                format!(
                    "{}\n\n{}",
                    preview.text(self.lang),
                    notice::more_matches(matches, self.lang)
                )
            }
        };
        Ok(Shown {
            text,
            is_something: matches > 0,
        })
    }
}

/// Words a line that was found. Of a long one only the neighbourhood of the match is shown, with the byte it starts at.
fn line_found(found: Found<'_>) -> String {
    match found {
        Found::Match {
            line,
            text,
            at,
            byte,
        } if text.len() > LONG_LINE_BYTES => {
            let from = at.saturating_sub(BEFORE_BYTES);
            let near = &text[from..text.len().min(at + AFTER_BYTES)];
            format!("{line}@{}: ...{}...", byte + from as u64, plain(near))
        }
        Found::Match { line, text, .. } => format!("{line}: {}", plain(text)),
        Found::Context { line, text } => format!(
            "{line}- {}",
            plain(&text[..text.len().min(LONG_LINE_BYTES)])
        ),
        _ => "--".to_owned(),
    }
}

fn count_lines(text: &str) -> u64 {
    text.strip_suffix('\n').unwrap_or(text).split('\n').count() as u64
}

/// Returns bytes as text, control codes applied, without a final newline.
fn plain(bytes: &[u8]) -> String {
    let (mut terminal, mut plain) = (Terminal::default(), Vec::new());
    terminal.push(bytes, &mut plain);
    terminal.finish(&mut plain);
    let text = decode(&plain);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}
