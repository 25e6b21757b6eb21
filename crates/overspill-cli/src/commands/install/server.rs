//! A server as any configuration names it, what becomes of it, and the command line that puts the proxy before it.
//!
//! The one place that knows how `overspill proxy` is called. A line we write can be taken back without anything else:
//! the words behind `--` are the server's own. `--name=NAME` in one word instead of two tells that the server had no list of
//! arguments, which would else be the same as an empty one.

use super::agents::{CLIENT_ONLY, CommandForm, Dialect};
use super::edit::Edit;
use crate::config;

/// The name of this program in a configuration, with or without a directory.
const PROGRAM: &str = "overspill";

/// What is to be changed in a file.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Plan {
    pub(super) edits: Vec<Edit>,
    /// The servers that change.
    pub(super) changed: Vec<String>,
    /// The servers that have the proxy before them, of those that do not change.
    pub(super) wrapped: Vec<String>,
    /// The servers that are left alone, and why.
    pub(super) left: Vec<(String, String)>,
    /// The servers that are not meant, or have no proxy to take away.
    pub(super) others: Vec<String>,
}

impl Plan {
    /// Adds a server with its edits; without them it stays.
    fn change(&mut self, server: String, edits: Option<Vec<Edit>>) {
        match edits {
            Some(edits) => {
                self.edits.extend(edits);
                self.changed.push(server);
            }
            None => {
                let why = "it is written in a way that overspill does not edit";
                self.left.push((server, why.to_owned()));
            }
        }
    }

    /// Adds a server: what is wished for it, or why it stays. `edits` makes the change in the language of the file.
    pub(super) fn add(
        &mut self,
        server: &str,
        verdict: Verdict,
        wish: &Wish<'_>,
        edits: impl FnOnce(Change<'_>) -> Option<Vec<Edit>>,
    ) {
        let name = server.to_owned();
        let change = match (verdict, wish.way) {
            (Verdict::Leave(why), _) => return self.left.push((name, why)),
            (Verdict::Wrapped(_), Way::Wrap(_)) => return self.wrapped.push(name),
            (Verdict::Start | Verdict::Reach(_), Way::Unwrap) => return self.others.push(name),
            (Verdict::Wrapped(_), _) if !wish.means(server) => return self.wrapped.push(name),
            _ if !wish.means(server) => return self.others.push(name),
            (Verdict::Start, Way::Wrap(program)) => Change::Start(program),
            (Verdict::Reach(words), Way::Wrap(program)) => Change::Reach(program, words),
            (Verdict::Wrapped(proxied), Way::Unwrap) => Change::Unwrap(proxied),
        };
        self.change(name, edits(change));
    }

    /// Tells whether the file names a server.
    pub(super) fn names(&self, server: &str) -> bool {
        let mut names = self.changed.iter().chain(&self.wrapped).chain(&self.others);
        names.any(|name| name == server) || self.left.iter().any(|(name, _)| name == server)
    }

    /// Tells whether the file names no server at all.
    pub(super) fn is_bare(&self) -> bool {
        self.changed.is_empty()
            && self.wrapped.is_empty()
            && self.left.is_empty()
            && self.others.is_empty()
    }
}

/// What is wanted of the servers of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish<'a> {
    pub(super) way: Way<'a>,
    /// The servers that are meant; empty for all.
    pub(super) only: &'a [String],
    /// The servers that are not meant.
    pub(super) except: &'a [String],
}

impl Wish<'_> {
    pub(super) fn means(&self, server: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == server);
        (self.only.is_empty() || is_in(self.only)) && !is_in(self.except)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'a> {
    /// Put the proxy before them; this is the program.
    Wrap(&'a str),
    /// Take it away.
    Unwrap,
}

/// A value that may be missing, or not what is expected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Field<T> {
    Absent,
    Wrong,
    Is(T),
}

impl<T> Field<T> {
    /// Returns what was read of a value that is there.
    pub(super) fn of(value: Option<T>) -> Field<T> {
        value.map_or(Field::Wrong, Field::Is)
    }
}

/// What a configuration says of a server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) keys: Vec<String>,
    /// Its `type`.
    pub(super) kind: Field<String>,
    /// The program and its arguments.
    pub(super) line: Field<Vec<String>>,
    pub(super) url: Field<String>,
    pub(super) headers: Field<Vec<(String, String)>>,
}

/// What is to become of a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// It is started by a command line.
    Start,
    /// It is behind an address; these are the words that follow the program.
    Reach(Vec<String>),
    /// It has the proxy before it.
    Wrapped(Proxied),
    /// It stays as it is, for this reason.
    Leave(String),
}

/// What is changed about a server.
#[derive(Debug)]
pub(super) enum Change<'a> {
    /// This program is put before its command line.
    Start(&'a str),
    /// This program is put before its address, with these words behind it.
    Reach(&'a str, Vec<String>),
    /// The proxy is taken away.
    Unwrap(Proxied),
}

/// A server behind the proxy; numbers are indexes of words, the program is 0.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Proxied {
    Start {
        /// The server's own program.
        program: usize,
        /// It had no list of arguments.
        had_no_list: bool,
    },
    Reach {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl Server {
    pub(super) fn verdict(&self, dialect: &Dialect) -> Verdict {
        self.judged(dialect).unwrap_or_else(Verdict::Leave)
    }

    fn judged(&self, dialect: &Dialect) -> Result<Verdict, String> {
        if let Some(key) = self.twice() {
            return Err(format!("it has the key `{key}` twice"));
        }
        let kind = match &self.kind {
            Field::Absent => None,
            Field::Wrong => return Err("its `type` is not a string".to_owned()),
            Field::Is(kind) => Some(kind.as_str()),
        };
        match (&self.line, &self.url) {
            (Field::Wrong, _) => Err(match dialect.command {
                CommandForm::Split => "`command` and `args` are not a string and a list of strings",
                CommandForm::List => "`command` is not a list of strings",
            }
            .to_owned()),
            (Field::Absent, Field::Absent) => {
                Err("it has neither a command nor an address".to_owned())
            }
            (Field::Is(line), _) if is_ours(line, &self.name) => match proxied(line) {
                Some(proxied) => Ok(Verdict::Wrapped(proxied)),
                None => Err("it is overspill itself".to_owned()),
            },
            (Field::Is(_), Field::Absent) => {
                self.expect_kind(kind, &["stdio", "local"])?;
                self.usable_name()?;
                Ok(Verdict::Start)
            }
            (Field::Is(_), _) => Err("it has both a command and an address".to_owned()),
            (Field::Absent, url) => {
                self.expect_kind(
                    kind,
                    &["http", "streamable-http", "streamableHttp", "remote"],
                )?;
                self.usable_name()?;
                self.expect_streamable(kind, url, dialect)?;
                self.reach(url, dialect).map(Verdict::Reach)
            }
        }
    }

    fn twice(&self) -> Option<&String> {
        let mut keys = self.keys.iter().enumerate();
        keys.find_map(|(n, key)| self.keys[..n].contains(key).then_some(key))
    }

    fn expect_kind(&self, kind: Option<&str>, known: &[&str]) -> Result<(), String> {
        match kind {
            Some(kind) if !known.contains(&kind) => Err(format!(
                "its type is `{}`, which the proxy does not speak",
                short(kind)
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what is, or may be, the old SSE transport. Several clients try it where the other one fails, so that a server
    /// works for them that would not behind the proxy.
    fn expect_streamable(
        &self,
        kind: Option<&str>,
        url: &Field<String>,
        dialect: &Dialect,
    ) -> Result<(), String> {
        if !matches!(kind, None | Some("remote")) {
            return Ok(());
        }
        if let Some(key) = dialect.untold_url
            && self.keys.iter().any(|found| found == key)
        {
            return Err(format!(
                "its `{key}` may be SSE, which the proxy does not speak; if it is streamable HTTP, add `\"type\": \"http\"`"
            ));
        }
        let Field::Is(url) = url else {
            return Ok(());
        };
        let path = url.split(['?', '#']).next().unwrap_or(url);
        match path.trim_end_matches('/').ends_with("/sse") {
            true => Err(
                "its address ends in `/sse`: that is SSE, which the proxy does not speak"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }

    /// Refuses names that cannot be words of a command line.
    fn usable_name(&self) -> Result<(), String> {
        match self.name.starts_with('-') || self.name.contains('\0') || self.name.is_empty() {
            true => Err("its name cannot be the value of a flag".to_owned()),
            false => Ok(()),
        }
    }

    fn reach(&self, url: &Field<String>, dialect: &Dialect) -> Result<Vec<String>, String> {
        let theirs = |key: &&String| CLIENT_ONLY.contains(&key.as_str());
        if let Some(key) = self.keys.iter().find(theirs) {
            return Err(format!(
                "`{key}` is something only the client can do; through the proxy it could not log in"
            ));
        }
        if self.keys.iter().any(|key| key == dialect.env) {
            return Err(format!("it has both an address and `{}`", dialect.env));
        }
        let Field::Is(url) = url else {
            return Err("its address is not a string, or there are two".to_owned());
        };
        // What the client fills in may well be the whole address.
        let is_filled_in = url.starts_with('$') || url.starts_with("{env:");
        if !is_filled_in && !url.starts_with("http://") && !url.starts_with("https://") {
            return Err("its address is not http".to_owned());
        }
        let headers = match &self.headers {
            Field::Absent => &[][..],
            Field::Wrong => return Err(format!("`{}` are not all strings", dialect.headers)),
            Field::Is(headers) => headers,
        };
        let name = ["proxy", "--name", &self.name, "--url", url].map(str::to_owned);
        let mut words = Vec::from(name);
        for (name, value) in headers {
            if name.is_empty() || name.contains(':') || format!("{name}{value}").contains(is_break)
            {
                return Err(format!("`{}` is no HTTP header", short(name)));
            }
            words.extend(["--header".to_owned(), format!("{name}: {value}")]);
        }
        Ok(words)
    }
}

/// Returns the words between the program and a server's own.
pub(super) fn start(name: &str, had_no_list: bool) -> Vec<String> {
    let words: &[String] = match had_no_list {
        true => &["proxy".into(), format!("--name={name}"), "--".into()],
        false => &["proxy".into(), "--name".into(), name.into(), "--".into()],
    };
    words.to_vec()
}

/// Tells whether a command line starts this program, wherever it is: by its name, by its path, or, where its file was given
/// another name such as `overspill-0.1`, by that and by words that only `install` writes for this server.
fn is_ours(line: &[String], server: &str) -> bool {
    let program = line.first().map_or("", String::as_str);
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name == PROGRAM
        || (name.starts_with(PROGRAM) && is_as_written(line, server))
        || config::is_own_program(program)
}

/// Tells whether the words of a line begin as `install` writes them.
fn is_as_written(line: &[String], server: &str) -> bool {
    let joined = format!("--name={server}");
    match line.get(1..).unwrap_or_default() {
        [proxy, name, ..] if proxy == "proxy" && *name == joined => true,
        [proxy, flag, name, ..] => proxy == "proxy" && flag == "--name" && name == server,
        _ => false,
    }
}

/// Reads a line of ours, flags included that somebody may have added.
fn proxied(line: &[String]) -> Option<Proxied> {
    (line.get(1)? == "proxy").then_some(())?;
    let flags = line.iter().take_while(|word| *word != "--").count();
    if flags + 1 < line.len() {
        let had_no_list = line[..flags].iter().any(|word| word.starts_with("--name="));
        return Some(Proxied::Start {
            program: flags + 1,
            had_no_list,
        });
    }
    let url = values(line, "--url").next()?.to_owned();
    let headers = values(line, "--header").map(|header| {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        (name.to_owned(), value.to_owned())
    });
    let headers = headers.collect();
    Some(Proxied::Reach { url, headers })
}

/// Returns the values of a flag, as a word of their own or behind `=`.
fn values<'a>(line: &'a [String], flag: &'a str) -> impl Iterator<Item = &'a str> {
    let after = line.iter().zip(line.iter().skip(1));
    let apart = after.filter_map(move |(word, next)| (word == flag).then_some(next.as_str()));
    let joined = line
        .iter()
        .filter_map(move |word| word.strip_prefix(flag)?.strip_prefix('='));
    apart.chain(joined)
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\0')
}

/// Returns the start of a text from a file, for messages.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}
