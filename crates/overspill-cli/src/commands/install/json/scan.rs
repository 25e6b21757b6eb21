//! Finds where the parts of a JSON text stand, and keeps nothing else of it.
//!
//! [`check`] reads the whole text once and tells whether it is JSON; [`members`], [`items`] and [`string`] then look into one
//! value. No tree is built, so a large file costs no more memory than its text. With [`Syntax::Commented`] comments and a comma
//! behind the last part are allowed, as several clients do.

use std::borrow::Cow;

use crate::commands::install::edit::Span;

/// Deeper than this is no configuration, and would use up the stack.
const MAX_DEPTH: usize = 128;

/// Which JSON it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Syntax {
    /// As the standard has it.
    Strict,
    /// With comments, and commas behind the last part.
    Commented,
}

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::commands::install) struct Fault {
    pub(in crate::commands::install) at: usize,
    pub(in crate::commands::install) what: Cow<'static, str>,
}

/// A member of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::commands::install) struct Member {
    pub(in crate::commands::install) name: String,
    pub(in crate::commands::install) key: Span,
    pub(in crate::commands::install) value: Span,
}

impl Member {
    /// Returns where the member stands, from its key to the end of its value.
    pub(in crate::commands::install) fn span(&self) -> Span {
        self.key.start..self.value.end
    }
}

/// Returns where the one value of a text is.
pub(in crate::commands::install) fn check(text: &str, syntax: Syntax) -> Result<Span, Fault> {
    let mut scanner = Scanner::new(text, 0, syntax);
    scanner.space()?;
    let value = scanner.value()?;
    scanner.space()?;
    match scanner.at == text.len() {
        true => Ok(value),
        false => Err(scanner.fault("more text after the end of the document")),
    }
}

/// Returns the members of an object of a checked text; `None` if the value is not one.
pub(in crate::commands::install) fn members(text: &str, value: &Span) -> Option<Vec<Member>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(text, value.start, Syntax::Commented);
    (scanner.peek() == Some(b'{')).then_some(())?;
    scanner.object(&mut |member| found.push(member)).ok()?;
    Some(found)
}

/// Returns the items of an array of a checked text; `None` if the value is not one.
pub(in crate::commands::install) fn items(text: &str, value: &Span) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(text, value.start, Syntax::Commented);
    (scanner.peek() == Some(b'[')).then_some(())?;
    scanner.array(&mut |item| found.push(item)).ok()?;
    Some(found)
}

/// Returns a string of a checked text; `None` if the value is not one.
pub(in crate::commands::install) fn string(text: &str, value: &Span) -> Option<String> {
    serde_json::from_str(text.get(value.clone())?).ok()
}

/// Returns a string as JSON writes it.
pub(in crate::commands::install) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    syntax: Syntax,
    depth: usize,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, at: usize, syntax: Syntax) -> Scanner<'t> {
        Scanner {
            text,
            at,
            syntax,
            depth: 0,
        }
    }

    fn fault(&self, what: &'static str) -> Fault {
        Fault {
            at: self.at,
            what: what.into(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Steps over a byte if it is the next one.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Steps over white space and comments.
    fn space(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blank;
            let rest = &rest[blank..];
            if !rest.starts_with("//") && !rest.starts_with("/*") {
                return Ok(());
            }
            if self.syntax == Syntax::Strict {
                return Err(self.fault("a comment, which this client does not read"));
            }
            self.at += if rest.starts_with("//") {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else {
                let end = rest[2..].find("*/");
                end.ok_or_else(|| self.fault("a comment that does not end"))? + 4
            };
        }
    }

    fn value(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'{') => self.deeper(|scanner| scanner.object(&mut |_| ()))?,
            Some(b'[') => self.deeper(|scanner| scanner.array(&mut |_| ()))?,
            Some(b'"') => drop(self.string()?),
            Some(_) => self.word()?,
            None => return Err(self.fault("the text ends too early")),
        }
        Ok(start..self.at)
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault("values nested more than 128 deep"));
        }
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, found: &mut dyn FnMut(Member)) -> Result<(), Fault> {
        self.parts(b'}', "expected `,` or `}`", &mut |scanner| {
            let start = scanner.at;
            let name = scanner.string()?;
            let key = start..scanner.at;
            scanner.space()?;
            if !scanner.takes(b':') {
                return Err(scanner.fault("expected `:`"));
            }
            scanner.space()?;
            let value = scanner.value()?;
            found(Member { name, key, value });
            Ok(())
        })
    }

    fn array(&mut self, found: &mut dyn FnMut(Span)) -> Result<(), Fault> {
        self.parts(b']', "expected `,` or `]`", &mut |scanner| {
            found(scanner.value()?);
            Ok(())
        })
    }

    /// Reads what stands between brackets, parted by commas.
    fn parts(
        &mut self,
        close: u8,
        expected: &'static str,
        part: &mut dyn FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.at += 1;
        self.space()?;
        if self.takes(close) {
            return Ok(());
        }
        loop {
            part(self)?;
            self.space()?;
            if self.takes(close) {
                return Ok(());
            }
            if !self.takes(b',') {
                return Err(self.fault(expected));
            }
            self.space()?;
            if self.syntax == Syntax::Commented && self.takes(close) {
                return Ok(());
            }
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in double quotes"));
        }
        let rest = self.rest().as_bytes();
        let mut end = 1;
        loop {
            match rest.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err(self.fault("a string that does not end")),
            }
        }
        let token = self.rest().get(..=end);
        let text = token.and_then(|token| serde_json::from_str(token).ok());
        let text = text.ok_or_else(|| self.fault("a string with a wrong escape"))?;
        self.at += end + 1;
        Ok(text)
    }

    fn word(&mut self) -> Result<(), Fault> {
        let rest = self.rest();
        let is_in = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let word = &rest[..rest.find(|c| !is_in(c)).unwrap_or(rest.len())];
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.fault("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_where_they_stand() {
        let text = "// c\n{ \"a\" : [1, /* x */ \"\\u0062\", ], // y\n}";
        let root = check(text, Syntax::Commented).unwrap();
        let members = members(text, &root).unwrap();
        assert_eq!(members.len(), 1);
        assert_eq!(
            &text[members[0].span()],
            "\"a\" : [1, /* x */ \"\\u0062\", ]"
        );
        let items = items(text, &members[0].value).unwrap();
        let shown: Vec<&str> = items.iter().map(|item| &text[item.clone()]).collect();
        assert_eq!(shown, ["1", "\"\\u0062\""]);
        assert_eq!(string(text, &items[1]).as_deref(), Some("b"));
    }

    #[test]
    fn what_is_no_json_is_told() {
        let deep = "[".repeat(100_000);
        let cases = [
            ("", 0, "the text ends too early"),
            ("{", 1, "expected a key in double quotes"),
            ("{\"a\" 1}", 5, "expected `:`"),
            ("[1 2]", 3, "expected `,` or `]`"),
            ("[1,]", 3, "expected a value"),
            ("{\"a\":1,}", 7, "expected a key in double quotes"),
            ("[nul]", 1, "expected a value"),
            ("[01]", 1, "expected a value"),
            ("\"a", 0, "a string that does not end"),
            ("\"a\\", 0, "a string that does not end"),
            ("\"\\x\"", 0, "a string with a wrong escape"),
            ("{} {}", 3, "more text after the end of the document"),
            ("/* */ 1", 0, "a comment, which this client does not read"),
            (&deep, MAX_DEPTH, "values nested more than 128 deep"),
        ];
        for (text, at, what) in cases {
            let shown = &text[..text.len().min(20)];
            let what = what.into();
            let fault = Fault { at, what };
            assert_eq!(check(text, Syntax::Strict), Err(fault), "{shown}");
        }
        let unended = Fault {
            at: 0,
            what: "a comment that does not end".into(),
        };
        assert_eq!(check("/*/", Syntax::Commented), Err(unended));
    }
}
