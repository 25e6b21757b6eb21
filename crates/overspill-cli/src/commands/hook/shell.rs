//! Tells whether a shell command does the same in a shell of its own.
//!
//! It does not if it changes the shell it was written for (its directory, variables, options, functions, traps), asks it about
//! its jobs, or leaves something in the background, for which a shell of its own would wait. A small scanner finds the name of
//! every command in a line, with quotes, comments, substitutions and subshells respected. It knows words and not the whole
//! grammar, so it errs on one side: what it is not sure of stays with its shell. What only a loop or an expansion assigns
//! (`for x in`, `${x:=1}`) is not counted.

use std::iter::Peekable;
use std::str::Chars;

/// Commands that change the shell they run in, or ask about it.
const STATEFUL: [&str; 42] = [
    ".",
    "alias",
    "autoload",
    "bg",
    "bind",
    "builtin",
    "cd",
    "chdir",
    "complete",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "history",
    "jobs",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "set",
    "setopt",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Commands that go on behind the call, in a subshell too.
const DETACHING: [&str; 4] = ["coproc", "disown", "nohup", "setsid"];

/// Words behind which another command begins.
const LEADING: [&str; 11] = [
    "!", "{", "command", "do", "elif", "else", "if", "then", "time", "until", "while",
];

/// Tells whether a command may run in another shell. `is_own` tells the names that are not to be moved for other reasons.
pub(super) fn is_movable(command: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    let mut scanner = Scanner {
        rest: command.chars().peekable(),
        nesting: 0,
        is_own,
    };
    scanner.commands(None, Place::Top) == Some(Seen::Commands)
}

/// Nobody types more levels of substitutions than this.
const MAX_NESTING: usize = 64;

/// Where commands stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// In the shell itself.
    Top,
    /// In a subshell or a substitution, whose state ends with it.
    Sub,
}

/// What was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Seen {
    Nothing,
    Commands,
}

/// What quotes a part of a word stands between.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Quotes {
    None,
    Double,
}

/// What the next word of a command is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Expected {
    #[default]
    Name,
    /// The name, or an option of the word before it.
    NameOrOption,
    Argument,
}

/// A command as far as it was read.
#[derive(Debug, Default)]
struct Simple {
    expected: Option<Expected>,
    /// The word that is being read, without its quotes.
    word: Option<String>,
    /// Whether the word has a part that only the shell knows.
    expands: bool,
    is_quoted: bool,
    /// Whether the word is where a redirection leads.
    is_target: bool,
    assigns: bool,
}

impl Simple {
    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn expected(&self) -> Expected {
        self.expected.unwrap_or_default()
    }
}

/// Reads a command. Every part answers `None` for what is to stay with its shell.
struct Scanner<'c> {
    rest: Peekable<Chars<'c>>,
    nesting: usize,
    is_own: &'c dyn Fn(&str) -> bool,
}

impl Scanner<'_> {
    /// Reads commands up to their end, or to what closes them.
    fn commands(&mut self, close: Option<char>, place: Place) -> Option<Seen> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let mut seen = Seen::Nothing;
        let mut simple = Simple::default();
        loop {
            let Some(c) = self.rest.next() else {
                self.end_command(&mut simple, place)?;
                self.nesting -= 1;
                return close.is_none().then_some(seen);
            };
            if Some(c) == close {
                self.end_command(&mut simple, place)?;
                self.nesting -= 1;
                return Some(seen);
            }
            match c {
                ' ' | '\t' | '\r' => self.end_word(&mut simple, place)?,
                // A closing parenthesis that closes nothing stands behind the pattern of a `case`.
                '\n' | ';' | ')' => self.end_command(&mut simple, place)?,
                '|' => {
                    self.rest.next_if_eq(&'&');
                    self.end_command(&mut simple, place)?;
                }
                '&' => self.ampersand(&mut simple, place)?,
                '#' if simple.word.is_none() => {
                    while self.rest.next_if(|c| *c != '\n').is_some() {}
                }
                '<' | '>' => self.redirection(c, &mut simple, place)?,
                '(' => {
                    self.parenthesis(&mut simple)?;
                    seen = Seen::Commands;
                }
                _ => {
                    self.part(c, &mut simple)?;
                    seen = Seen::Commands;
                }
            }
        }
    }

    /// Reads what stands behind an `&`: nothing but `&&` and `&>` leaves the command before it in the foreground.
    fn ampersand(&mut self, simple: &mut Simple, place: Place) -> Option<()> {
        match self.rest.peek()? {
            '&' => drop(self.rest.next()),
            '>' => return self.end_word(simple, place),
            _ => return None,
        }
        self.end_command(simple, place)
    }

    fn redirection(&mut self, sign: char, simple: &mut Simple, place: Place) -> Option<()> {
        let is_number = |word: &String| word.chars().all(|c| c.is_ascii_digit());
        // The number of a descriptor is no word of the command.
        match simple.word.as_ref().is_some_and(is_number) && !simple.is_quoted {
            true => simple.word = None,
            false => self.end_word(simple, place)?,
        }
        let mut signs = 1;
        while self.rest.next_if_eq(&sign).is_some() {
            signs += 1;
        }
        if sign == '<' && signs == 2 {
            // A here-document, whose text is no command.
            return None;
        }
        if self.rest.next_if_eq(&'(').is_some() {
            self.commands(Some(')'), Place::Sub)?;
            simple.push("()");
            simple.is_target = true;
            return Some(());
        }
        while self.rest.next_if(|c| matches!(c, '&' | '|')).is_some() {}
        simple.is_target = true;
        Some(())
    }

    /// Reads a subshell. Behind a word a parenthesis makes a function or a list, and two of them calculate.
    fn parenthesis(&mut self, simple: &mut Simple) -> Option<()> {
        let is_behind_word = simple.word.is_some() || simple.expected() == Expected::Argument;
        if is_behind_word || self.rest.peek() == Some(&'(') {
            return None;
        }
        self.commands(Some(')'), Place::Sub)?;
        simple.expected = Some(Expected::Argument);
        Some(())
    }

    /// Reads a part of a word.
    fn part(&mut self, c: char, simple: &mut Simple) -> Option<()> {
        match c {
            '\\' => match self.rest.next()? {
                // The line goes on.
                '\n' => {}
                c => {
                    simple.push(c.encode_utf8(&mut [0; 4]));
                    simple.is_quoted = true;
                }
            },
            '\'' => {
                let text = self.until('\'')?;
                simple.push(&text);
                simple.is_quoted = true;
            }
            '"' => self.double_quoted(simple)?,
            '`' => self.substitution('`', simple)?,
            '$' => self.expansion(simple, Quotes::None)?,
            c => simple.push(c.encode_utf8(&mut [0; 4])),
        }
        Some(())
    }

    fn until(&mut self, close: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                c if c == close => return Some(text),
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self, simple: &mut Simple) -> Option<()> {
        simple.push("");
        simple.is_quoted = true;
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => simple.push(self.rest.next()?.encode_utf8(&mut [0; 4])),
                '`' => self.substitution('`', simple)?,
                '$' => self.expansion(simple, Quotes::Double)?,
                c => simple.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn substitution(&mut self, close: char, simple: &mut Simple) -> Option<()> {
        simple.push("");
        simple.expands = true;
        self.commands(Some(close), Place::Sub).map(drop)
    }

    /// Reads what stands behind a `$`.
    fn expansion(&mut self, simple: &mut Simple, quotes: Quotes) -> Option<()> {
        simple.push("$");
        simple.expands = true;
        if self.rest.next_if_eq(&'{').is_some() {
            return self.inside('{', '}', quotes);
        }
        if quotes == Quotes::None && self.rest.next_if_eq(&'\'').is_some() {
            return self.escaped();
        }
        if self.rest.next_if_eq(&'(').is_none() {
            return Some(());
        }
        match self.rest.next_if_eq(&'(').is_some() {
            true => {
                self.inside('(', ')', Quotes::Double)?;
                self.rest.next_if_eq(&')').map(drop)
            }
            false => self.substitution(')', simple),
        }
    }

    /// Reads the rest of `${…}` or `$((…))`, where between double quotes a single one is nothing special.
    fn inside(&mut self, open: char, close: char, quotes: Quotes) -> Option<()> {
        let mut level = 1;
        let mut inside = Simple::default();
        while level > 0 {
            match self.rest.next()? {
                c if c == close => level -= 1,
                c if c == open => level += 1,
                '\'' if quotes == Quotes::Double => {}
                '$' => self.expansion(&mut inside, quotes)?,
                c => self.part(c, &mut inside)?,
            }
        }
        Some(())
    }

    /// Reads the rest of `$'…'`.
    fn escaped(&mut self) -> Option<()> {
        loop {
            match self.rest.next()? {
                '\'' => return Some(()),
                '\\' => drop(self.rest.next()?),
                _ => {}
            }
        }
    }

    fn end_command(&mut self, simple: &mut Simple, place: Place) -> Option<()> {
        self.end_word(simple, place)?;
        // Assignments without a command are the shell's own.
        let is_assignment = simple.assigns && simple.expected() != Expected::Argument;
        *simple = Simple::default();
        (place == Place::Sub || !is_assignment).then_some(())
    }

    fn end_word(&self, simple: &mut Simple, place: Place) -> Option<()> {
        let Some(word) = simple.word.take() else {
            return Some(());
        };
        let expands = std::mem::take(&mut simple.expands);
        let is_quoted = std::mem::take(&mut simple.is_quoted);
        if std::mem::take(&mut simple.is_target) || simple.expected() == Expected::Argument {
            return Some(());
        }
        if is_assignment(&word) {
            simple.assigns = true;
            return Some(());
        }
        if simple.expected() == Expected::NameOrOption && word.starts_with('-') {
            return Some(());
        }
        if !is_quoted && LEADING.contains(&word.as_str()) {
            simple.expected = Some(Expected::NameOrOption);
            return Some(());
        }
        simple.expected = Some(Expected::Argument);
        // What a name turns out to be is not known; one with a directory is no command of the shell.
        let is_unknown = expands && !word.contains('/');
        let is_tied = DETACHING.contains(&word.as_str())
            || word == "function"
            || (self.is_own)(&word)
            || (place == Place::Top && (is_unknown || STATEFUL.contains(&word.as_str())));
        (!is_tied).then_some(())
    }
}

/// Tells whether a word sets a variable, or an item of one.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    fn is_movable(command: &str) -> bool {
        super::is_movable(command, &|name| name == "overspill")
    }

    #[test]
    fn what_changes_its_shell_stays_there() {
        for command in [
            "cd x",
            "cd",
            "  cd x  ",
            "make && cd x",
            "make;cd x",
            "make\ncd x",
            "make || cd x",
            "! cd x",
            "{ cd x; }",
            "if true; then cd x; fi",
            "while true; do cd x; done",
            "case x in a) cd y;; esac",
            "'cd' x",
            "\\cd x",
            "c\"d\" x",
            "c\\\nd x",
            "command cd x",
            "builtin cd x",
            "time -p cd x",
            "2>/dev/null cd x",
            ">out cd x",
            "A=b cd x",
            "pushd x",
            "popd",
            "export A=b",
            "A=b",
            "A+=b",
            "A[1]=b",
            "A=b B=$(make)",
            "a=(1 2)",
            "make; A=$?",
            "((i++))",
            "let i=1",
            "declare -x A=b",
            "readonly A=b",
            "read A < f",
            "unset A",
            "eval 'make'",
            "source f",
            ". f",
            ". ./env && make",
            "alias a=b",
            "unalias a",
            "set -e",
            "set -e; make",
            "shopt -s x",
            "umask 022",
            "ulimit -n 5",
            "trap 'rm x' EXIT",
            "exec make",
            "exec > log",
            "hash -r",
            "wait",
            "jobs",
            "fg",
            "disown",
            "f() { make; }",
            "f () { make; }",
            "echo \"${x:-it's}\"; cd y; echo 'z'",
            "echo \"cost $'5\"; cd y; echo 'z'",
            "echo \"$(echo 'a\"b')\"; cd y; echo 'z'",
            "echo $((1 << (2))); cd y",
            "function f { make; }",
            "$cmd x",
            "\"$cmd\" x",
            "${cmd} x",
            "$(echo cd) x",
            "`echo cd` x",
        ] {
            assert!(!is_movable(command), "{command}");
        }
    }

    #[test]
    fn what_goes_to_the_background_stays_with_its_shell() {
        for command in [
            "sleep 5 &",
            "sleep 5&",
            "sleep 5 & make",
            "(sleep 5 &)",
            "make; (cd x; sleep 5 &)",
            "echo \"$(sleep 5 &)\"",
            "echo `sleep 5 &`",
            "{ sleep 5; } &",
            "make > log 2>&1 &",
            "nohup make",
            "nohup make > log &",
            "(nohup make)",
            "setsid make",
            "coproc make",
            "for i in 1 2; do make & done",
        ] {
            assert!(!is_movable(command), "{command}");
        }
    }

    #[test]
    fn what_cannot_be_read_stays_with_its_shell() {
        let deep = format!("echo {}{}", "$(".repeat(1000), ")".repeat(1000));
        for command in [
            "",
            "  ",
            "\n",
            "# only a comment",
            "echo 'open",
            "echo \"open",
            "echo $(open",
            "echo ${open",
            "echo $((1+1",
            "echo `open",
            "echo \"$(echo 'a\"b')",
            "(make",
            "echo \\",
            "cat <<E\ncd x\nE",
            "cat <<-'E'\nx\nE",
            "overspill list",
            "make | overspill",
            &deep,
        ] {
            assert!(!is_movable(command), "{command}");
        }
    }

    #[test]
    fn what_does_the_same_in_any_shell_moves() {
        for command in [
            "make",
            "make -j4 test",
            "echo cd x",
            "echo 'a; cd b'",
            "echo \"a; cd b & c\"",
            "echo a\\;cd",
            "echo \"$(echo 'a\"b')\" ; make",
            "echo # cd x",
            "make # & cd x\nmake",
            "echo a#b",
            "(cd x && make)",
            "(export A=b; . ./env; make)",
            "echo $(cd x; pwd)",
            "A=b make",
            "A=b B=c make | grep x",
            "make 2>&1 | tail -n 5",
            "make &> log",
            "make >& log",
            "make |& grep x",
            "make > log 2>&1 && echo ok || echo no",
            "diff <(sort a) <(sort b)",
            "cat <<< 'a & b'",
            "echo ${A:-'x & y'} ${B#*/} $((1 + (2 & 3)))",
            "printf '%s' $'it\\'s & x'",
            "for f in *.rs; do wc -l \"$f\"; done",
            "if make; then echo ok; else echo no; fi",
            "[[ a == a ]] && exit 7",
            "[ -e cd ] && make",
            "case x in a) make;; *) echo;; esac",
            "$HOME/bin/tool x",
            "./cd x",
            "env A=b make",
            "find . -name '*.rs' -exec cat {} \\;",
            "git commit -m 'wait & see'",
            "command -v make",
            "make \\\n  -j4",
            "python3 -c 'import os; os.chdir(\"x\")'",
            "curl 'http://h/?a=1&b=2'",
            "exit 3",
        ] {
            assert!(is_movable(command), "{command}");
        }
    }
}
