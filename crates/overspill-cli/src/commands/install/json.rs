//! Servers in JSON: wraps and unwraps them by splicing, so that all else stays as it is.
//!
//! A server that is started keeps its arguments where they are; ours are put before them, and to take those away is exact. A
//! server behind an address loses `url` and `headers`, whose order and layout the new form cannot show. Where rebuilding them
//! would not give the same bytes, the server's old text is kept in a variable ([`REPLACED`]) that nobody reads but us.

pub(super) mod scan;

use self::scan::{Fault, Member, Syntax, items, members, quoted, string};
use super::agents::{CommandForm, Dialect};
use super::edit::{Edit, Span, apply, before_first, separator, sorted};
use super::server::{Change, Field, Plan, Proxied, Server, Verdict, Wish, start};

/// The variable of a wrapped server that holds its old text.
pub(super) const REPLACED: &str = "OVERSPILL_REPLACED";

/// Plans what is wanted for a file.
pub(super) fn plan(
    text: &str,
    syntax: Syntax,
    dialect: &Dialect,
    wish: &Wish<'_>,
) -> Result<Plan, Fault> {
    let root = scan::check(text, syntax)?;
    let mut plan = Plan::default();
    for path in dialect.servers {
        for table in tables(text, &root, path) {
            for member in members(text, &table).unwrap_or_default() {
                Entry::read(text, dialect, &member.name, &member.value).add_to(&mut plan, wish);
            }
        }
    }
    plan.edits = sorted(plan.edits);
    Ok(plan)
}

/// Returns the values that a path of keys leads to.
fn tables(text: &str, value: &Span, path: &[&str]) -> Vec<Span> {
    let Some((first, rest)) = path.split_first() else {
        return vec![value.clone()];
    };
    let members = members(text, value).unwrap_or_default();
    let is_meant = |member: &&Member| *first == "*" || member.name == *first;
    let found = members.iter().filter(is_meant);
    found
        .flat_map(|member| tables(text, &member.value, rest))
        .collect()
}

/// A server where it stands.
struct Entry<'t> {
    text: &'t str,
    dialect: &'t Dialect,
    /// Its object.
    span: Span,
    members: Vec<Member>,
    server: Server,
}

impl<'t> Entry<'t> {
    fn read(text: &'t str, dialect: &'t Dialect, name: &str, span: &Span) -> Entry<'t> {
        let members = members(text, span).unwrap_or_default();
        let mut entry = Entry {
            text,
            dialect,
            span: span.clone(),
            server: Server {
                name: name.to_owned(),
                keys: members.iter().map(|member| member.name.clone()).collect(),
                kind: Field::Absent,
                line: Field::Absent,
                url: Field::Absent,
                headers: Field::Absent,
            },
            members,
        };
        entry.server.kind = entry.field("type", string);
        entry.server.line = entry.line();
        entry.server.url = entry.url();
        entry.server.headers = entry.field(dialect.headers, pairs);
        entry
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    fn field<T>(&self, name: &str, read: impl Fn(&str, &Span) -> Option<T>) -> Field<T> {
        let member = self.member(name);
        member.map_or(Field::Absent, |member| {
            Field::of(read(self.text, &member.value))
        })
    }

    fn url(&self) -> Field<String> {
        let mut found = Field::Absent;
        for key in self.dialect.url {
            found = match (found, self.field(key, string)) {
                (found, Field::Absent) => found,
                (Field::Absent, url) => url,
                _ => Field::Wrong,
            };
        }
        found
    }

    fn line(&self) -> Field<Vec<String>> {
        let command = match self.dialect.command {
            CommandForm::List => {
                let line = self.field("command", strings);
                return match line {
                    Field::Is(words) if words.is_empty() => Field::Wrong,
                    line => line,
                };
            }
            CommandForm::Split => self.field("command", string),
        };
        match (command, self.field("args", strings)) {
            (Field::Is(command), Field::Absent) => Field::Is(vec![command]),
            (Field::Is(command), Field::Is(args)) => Field::Is([vec![command], args].concat()),
            (Field::Absent, Field::Absent) => Field::Absent,
            _ => Field::Wrong,
        }
    }

    /// Adds what becomes of the server to a plan.
    fn add_to(&self, plan: &mut Plan, wish: &Wish<'_>) {
        let verdict = match self.text.as_bytes().get(self.span.start) {
            Some(b'{') => self.server.verdict(self.dialect),
            _ => Verdict::Leave("it is not an object".to_owned()),
        };
        plan.add(&self.server.name, verdict, wish, |change| match change {
            Change::Start(program) => self.started(program),
            Change::Reach(program, words) => self.reached(program, &words),
            Change::Unwrap(proxied) => self.unwrapped(&proxied),
        });
    }

    /// Puts the proxy before a server that is started.
    fn started(&self, program: &str) -> Option<Vec<Edit>> {
        let command = &self.member("command")?.value;
        let words = |had_no_list| {
            let words = start(&self.server.name, had_no_list);
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>()
        };
        if self.dialect.command == CommandForm::List {
            let new = [vec![quoted(program)], words(false)].concat();
            let items = items(self.text, command)?;
            return Some(vec![before_first(self.text, command, &items, &new)]);
        }
        // The program as it was written, escapes and all.
        let own = vec![self.text.get(command.clone())?.to_owned()];
        let replaced = Edit::replace(command, quoted(program));
        let added = match self.member("args") {
            Some(args) => {
                let items = items(self.text, &args.value)?;
                let new = [words(false), own].concat();
                before_first(self.text, &args.value, &items, &new)
            }
            None => {
                let list = [words(true), own].concat().join(", ");
                let (gap, colon) = (self.gap(), self.colon());
                Edit::insert(command.end, format!(",{gap}\"args\"{colon}[{list}]"))
            }
        };
        Some(vec![replaced, added])
    }

    /// Puts the proxy before a server behind an address.
    fn reached(&self, program: &str, words: &[String]) -> Option<Vec<Edit>> {
        let old = self.text.get(self.span.clone())?;
        let plain = self.reached_text(program, words, None)?;
        let is_exact = rebuilt(&plain, self.dialect, &self.server.name).as_deref() == Some(old);
        let new = match is_exact {
            true => plain,
            false => self.reached_text(program, words, Some(old))?,
        };
        Some(vec![Edit::replace(&self.span, new)])
    }

    fn reached_text(&self, program: &str, words: &[String], old: Option<&str>) -> Option<String> {
        let list = |words: &[String]| {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("[{}]", words.join(", "))
        };
        let mut new = Vec::new();
        if let (Some([_, kind]), Some(_)) = (self.dialect.types, self.member("type")) {
            new.push(("type", quoted(kind)));
        }
        match self.dialect.command {
            CommandForm::List => {
                new.push(("command", list(&[&[program.to_owned()], words].concat())));
            }
            CommandForm::Split => {
                new.push(("command", quoted(program)));
                new.push(("args", list(words)));
            }
        }
        if let Some(old) = old {
            let pair = format!("{}{}{}", quoted(REPLACED), self.colon(), quoted(old));
            new.push((self.dialect.env, format!("{{{pair}}}")));
        }
        let gone = [&["type", self.dialect.headers], self.dialect.url].concat();
        self.exchanged(&gone, &new)
    }

    /// Takes the proxy away.
    fn unwrapped(&self, proxied: &Proxied) -> Option<Vec<Edit>> {
        match proxied {
            Proxied::Start {
                program,
                had_no_list,
            } => self.unstarted(*program, *had_no_list),
            Proxied::Reach { url, headers } => {
                let exact = self.replaced();
                let old = exact.or_else(|| self.unreached(url, headers))?;
                Some(vec![Edit::replace(&self.span, old)])
            }
        }
    }

    fn unstarted(&self, program: usize, had_no_list: bool) -> Option<Vec<Edit>> {
        let command = &self.member("command")?.value;
        if self.dialect.command == CommandForm::List {
            let items = items(self.text, command)?;
            let ours = items.first()?.start..items.get(program)?.start;
            return Some(vec![Edit::remove(ours)]);
        }
        let args = self.member("args")?;
        let items = items(self.text, &args.value)?;
        // Words count from the program, which is no item here.
        let own = items.get(program - 1)?;
        let restored = Edit::replace(command, self.text.get(own.clone())?);
        let removed = match items.get(program) {
            Some(next) => items.first()?.start..next.start,
            None if had_no_list => self.around("args")?,
            None => items.first()?.start..self.with_comma(own.end),
        };
        Some(sorted(vec![restored, Edit::remove(removed)]))
    }

    /// Returns the old text that was kept, unless somebody has edited the server since.
    fn replaced(&self) -> Option<String> {
        let variables = &self.member(self.dialect.env)?.value;
        let variables = members(self.text, variables)?;
        let kept = variables.iter().find(|member| member.name == REPLACED)?;
        let old = string(self.text, &kept.value)?;
        let span = scan::check(&old, Syntax::Commented).ok()?;
        let entry = Entry::read(&old, self.dialect, &self.server.name, &span);
        let Verdict::Reach(words) = entry.server.verdict(self.dialect) else {
            return None;
        };
        let Field::Is(line) = &self.server.line else {
            return None;
        };
        let again = apply(&old, &entry.reached(line.first()?, &words)?);
        (Some(again.as_str()) == self.text.get(self.span.clone())).then_some(old)
    }

    /// Writes a server behind an address as most people would.
    fn unreached(&self, url: &str, headers: &[(String, String)]) -> Option<String> {
        let mut new = Vec::new();
        if let (Some([kind, _]), Some(_)) = (self.dialect.types, self.member("type")) {
            new.push(("type", quoted(kind)));
        }
        new.push((self.dialect.url[0], quoted(url)));
        if !headers.is_empty() {
            new.push((self.dialect.headers, self.headers_text(headers)));
        }
        let mut gone = vec!["command", "type"];
        if self.dialect.command == CommandForm::Split {
            gone.push("args");
        }
        let variables = self.member(self.dialect.env);
        let variables = variables.and_then(|member| members(self.text, &member.value));
        if variables.is_some_and(|found| found.iter().any(|member| member.name == REPLACED)) {
            gone.push(self.dialect.env);
        }
        self.exchanged(&gone, &new)
    }

    fn headers_text(&self, headers: &[(String, String)]) -> String {
        let (gap, colon) = (self.gap(), self.colon());
        let inside = self.text.get(self.span.start + 1..self.span.end - 1);
        let inside = inside.unwrap_or_default();
        let indent = |space: &str| space.rsplit('\n').next().unwrap_or_default().to_owned();
        let (before, gap, after) = if gap.contains('\n') {
            let close = indent(&inside[inside.trim_ascii_end().len()..]);
            let unit = indent(gap).strip_prefix(&close).unwrap_or("  ").to_owned();
            let deeper = format!("{gap}{unit}");
            (deeper.clone(), deeper, gap.to_owned())
        } else {
            let pad = inside[..inside.len() - inside.trim_ascii_start().len()].to_owned();
            (pad.clone(), gap.to_owned(), pad)
        };
        let pairs = headers.iter();
        let pairs = pairs.map(|(name, value)| format!("{}{colon}{}", quoted(name), quoted(value)));
        let pairs: Vec<String> = pairs.collect();
        format!("{{{before}{}{after}}}", pairs.join(&format!(",{gap}")))
    }

    /// Returns the object with new members where the first of those that go was.
    fn exchanged(&self, gone: &[&str], new: &[(&str, String)]) -> Option<String> {
        let (gap, colon) = (self.gap(), self.colon());
        let new = new.iter();
        let new = new.map(|(name, value)| format!("{}{colon}{value}", quoted(name)));
        let new = new.collect::<Vec<_>>().join(&format!(",{gap}"));
        let mut is_placed = false;
        let mut edits = Vec::new();
        for (n, member) in self.members.iter().enumerate() {
            if !gone.contains(&member.name.as_str()) {
                continue;
            }
            let previous = n.checked_sub(1).and_then(|n| self.members.get(n));
            edits.push(match previous {
                Some(previous) if is_placed => Edit::remove(previous.value.end..member.value.end),
                _ => Edit::replace(&member.span(), new.clone()),
            });
            is_placed = true;
        }
        let text = apply(self.text.get(..self.span.end)?, &edits);
        Some(text.get(self.span.start..)?.to_owned())
    }

    /// Returns the white space between members.
    fn gap(&self) -> &'t str {
        let spans: Vec<Span> = self.members.iter().map(Member::span).collect();
        match separator(self.text, self.span.start + 1, &spans) {
            // One member alone tells by its colon whether spaces are wanted.
            " " if spans.len() < 2 && self.colon() == ":" => "",
            gap => gap,
        }
    }

    /// Returns what stands between a key and its value.
    fn colon(&self) -> &'t str {
        let first = self.members.first();
        let colon = first.and_then(|first| self.text.get(first.key.end..first.value.start));
        let is_plain = |colon: &&str| colon.trim_ascii() == ":" && !colon.contains('\n');
        colon.filter(is_plain).unwrap_or(": ")
    }

    /// Returns what goes when a member goes: it and a comma beside it.
    fn around(&self, name: &str) -> Option<Span> {
        let n = self.members.iter().position(|member| member.name == name)?;
        let own = self.members.get(n)?.span();
        if let Some(previous) = n.checked_sub(1).and_then(|n| self.members.get(n)) {
            return Some(previous.value.end..own.end);
        }
        Some(match self.members.get(n + 1) {
            Some(next) => own.start..next.key.start,
            None => own.start..self.with_comma(own.end),
        })
    }

    /// Returns the end of a part with the comma behind it, if one is there.
    fn with_comma(&self, end: usize) -> usize {
        let rest = self.text.get(end..).unwrap_or_default();
        let space = rest.len() - rest.trim_ascii_start().len();
        let is_comma = rest[space..].starts_with(',');
        if is_comma { end + space + 1 } else { end }
    }
}

/// Returns what a wrapped server's text becomes when nothing but the text is known.
fn rebuilt(text: &str, dialect: &Dialect, name: &str) -> Option<String> {
    let span = scan::check(text, Syntax::Commented).ok()?;
    let entry = Entry::read(text, dialect, name, &span);
    match entry.server.verdict(dialect) {
        Verdict::Wrapped(Proxied::Reach { url, headers }) => entry.unreached(&url, &headers),
        _ => None,
    }
}

fn strings(text: &str, value: &Span) -> Option<Vec<String>> {
    let items = items(text, value)?;
    items.iter().map(|item| string(text, item)).collect()
}

fn pairs(text: &str, value: &Span) -> Option<Vec<(String, String)>> {
    let members = members(text, value)?;
    let pair = |member: &Member| Some((member.name.clone(), string(text, &member.value)?));
    members.iter().map(pair).collect()
}
