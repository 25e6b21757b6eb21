//! Which files a walk leaves out: `.gitignore` and its kin, as git and ripgrep read them.
//!
//! A directory with rules of its own is a link in a chain that leads up to the root; nothing above the root is read. Rules
//! are parsed when they are first asked, since most searches ask about few files.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::sandbox::Root;

/// The most that is read of one file of rules.
const RULES_BYTES: u64 = 4 << 20;

/// The files of rules, the strongest first.
const SOURCES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];

/// The first of them that is git's own: those do not reach into a repository inside.
const FIRST_OF_GIT: usize = 2;

/// What the rules say of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// Nothing.
    None,
    /// It is left out.
    Out,
    /// It is in, even if it is hidden.
    In,
}

/// The rules of a directory and of those above it.
#[derive(Debug)]
pub(crate) struct Rules {
    root: Arc<Root>,
    above: Option<Arc<Rules>>,
    /// The directory, relative to the root.
    dir: Box<[u8]>,
    has: [bool; SOURCES.len()],
    parsed: [OnceLock<Gitignore>; SOURCES.len()],
    is_repository: bool,
}

/// Which files of rules a directory has, gathered while it is listed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Signs {
    has: [bool; SOURCES.len()],
    is_repository: bool,
}

impl Signs {
    /// Takes note of a name in the directory.
    pub(crate) fn see(&mut self, name: &[u8]) {
        if name == b".git" {
            (self.is_repository, self.has[3]) = (true, true);
        } else if let Some(at) = SOURCES.iter().position(|source| source.as_bytes() == name) {
            self.has[at] = true;
        }
    }
}

impl Rules {
    /// Returns the rules that hold in a directory; those of the one above it where it has none.
    pub(crate) fn enter(
        root: &Arc<Root>,
        above: Option<&Arc<Rules>>,
        dir: &[u8],
        signs: Signs,
    ) -> Option<Arc<Rules>> {
        if signs == Signs::default() {
            return above.cloned();
        }
        Some(Arc::new(Rules {
            root: Arc::clone(root),
            above: above.cloned(),
            dir: dir.into(),
            has: signs.has,
            parsed: Default::default(),
            is_repository: signs.is_repository,
        }))
    }

    /// Returns the rules that the directories above `dir` make.
    pub(crate) fn above(root: &Arc<Root>, dir: &[u8]) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut ancestors: Vec<&Path> = Path::new(OsStr::from_bytes(dir))
            .ancestors()
            .skip(1)
            .collect();
        ancestors.reverse();
        for dir in ancestors {
            let dir = dir.as_os_str().as_bytes();
            let mut signs = Signs::default();
            for name in [".git", ".gitignore", ".ignore", ".rgignore"] {
                if root.open_directory(&join(dir, name.as_bytes())).is_ok()
                    || root.open_file(&join(dir, name.as_bytes())).is_ok()
                {
                    signs.see(name.as_bytes());
                }
            }
            rules = Rules::enter(root, rules.as_ref(), dir, signs);
        }
        rules
    }

    /// Tells what the rules say of a path below the root. Of each kind of file the nearest that speaks of it decides, and
    /// the stronger kind wins.
    pub(crate) fn verdict(&self, path: &[u8], is_dir: bool) -> Verdict {
        let mut verdicts = [Verdict::None; SOURCES.len()];
        let (mut link, mut left_repository) = (Some(self), false);
        while let Some(rules) = link {
            for (at, verdict) in verdicts.iter_mut().enumerate() {
                let reaches = at < FIRST_OF_GIT || !left_repository;
                if *verdict == Verdict::None && rules.has[at] && reaches {
                    *verdict = rules.ask(at, path, is_dir);
                }
            }
            left_repository |= rules.is_repository;
            link = rules.above.as_deref();
        }
        let decided = verdicts
            .into_iter()
            .find(|verdict| *verdict != Verdict::None);
        decided.unwrap_or(Verdict::None)
    }

    fn ask(&self, source: usize, path: &[u8], is_dir: bool) -> Verdict {
        let below = match &*self.dir {
            b"" => path,
            dir => path.get(dir.len() + 1..).unwrap_or(path),
        };
        let gitignore = self.parsed[source].get_or_init(|| self.parse(SOURCES[source]));
        match gitignore.matched(Path::new(OsStr::from_bytes(below)), is_dir) {
            Match::None => Verdict::None,
            Match::Ignore(_) => Verdict::Out,
            Match::Whitelist(_) => Verdict::In,
        }
    }

    /// Reads a file of rules. What cannot be read or understood rules nothing, as with git.
    fn parse(&self, source: &str) -> Gitignore {
        let mut text = Vec::new();
        if let Ok(file) = self.root.open_file(&join(&self.dir, source.as_bytes())) {
            drop(file.take(RULES_BYTES).read_to_end(&mut text));
        }
        // Paths are made relative to the directory before they are asked about.
        let mut builder = GitignoreBuilder::new(".");
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
        for line in String::from_utf8_lossy(text).lines() {
            drop(builder.add_line(None, line));
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

/// Returns the path of a name in a directory.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Box<[u8]> {
    match dir {
        b"" => name.into(),
        dir => [dir, b"/", name].concat().into(),
    }
}
