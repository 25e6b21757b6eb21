//! Globs over paths, as agents write them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use overspill::notice::Message;
use overspill::{Code, Context, ToolError};

/// The longest glob that is read.
const MOST_BYTES: usize = 1 << 14;

/// Where a glob with a `/` in it starts. One without matches names at any depth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Anchor {
    /// At the directory that is searched.
    Start,
    /// At any directory.
    Anywhere,
}

/// A glob that chooses paths.
#[derive(Debug)]
pub(crate) struct Globs {
    set: GlobSet,
    /// Whether it chooses those that it does not match.
    is_negated: bool,
}

impl Globs {
    /// Reads a glob; the error says in one line what is wrong with it. `!` before it turns it round.
    pub(crate) fn new(glob: &str, anchor: Anchor) -> Result<Globs, String> {
        if glob.len() > MOST_BYTES {
            return Err(format!("longer than {MOST_BYTES} bytes"));
        }
        let (glob, is_negated) = match glob.strip_prefix('!') {
            Some(glob) => (glob, true),
            None => (glob, false),
        };
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let (glob, is_rooted) = match glob.strip_prefix('/') {
            Some(glob) => (glob, true),
            None => (glob, false),
        };
        // A directory stands for all that is in it.
        let glob = if glob.ends_with('/') {
            format!("{glob}**")
        } else {
            glob.to_owned()
        };
        let mut set = GlobSetBuilder::new();
        let mut add = |glob: &str| {
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| error.kind().to_string())?;
            set.add(glob);
            Ok::<(), String>(())
        };
        add(&glob)?;
        let floats = anchor == Anchor::Anywhere || !glob.contains('/');
        if floats && !is_rooted && !glob.starts_with("**/") {
            add(&format!("**/{glob}"))?;
        }
        let set = set.build().map_err(|error| error.kind().to_string())?;
        Ok(Globs { set, is_negated })
    }

    /// Tells whether it chooses a path, which is relative to where the search starts.
    pub(crate) fn chooses(&self, path: &[u8]) -> bool {
        self.set.is_match(OsStr::from_bytes(path)) != self.is_negated
    }
}

/// Reads a glob parameter of a call.
pub(crate) fn parse(
    cx: &Context<'_>,
    name: &str,
    glob: &str,
    anchor: Anchor,
) -> Result<Globs, ToolError> {
    Globs::new(glob, anchor).map_err(|details| {
        let message = Message::BadGlob.say(cx.lang(), &[("name", name), ("details", &details)]);
        let hint = Message::TryGlob.say(cx.lang(), &[("example", "'src/**/*.{ts,tsx}'")]);
        ToolError::new(Code::InvalidParam, message).hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_choose_as_agents_expect() {
        use Anchor::{Anywhere, Start};
        let cases = [
            ("*.rs", Anywhere, "lib.rs", true),
            ("*.rs", Anywhere, "a/b/lib.rs", true),
            ("*.rs", Anywhere, "a/lib.rs.bak", false),
            ("**/*.rs", Anywhere, "lib.rs", true),
            ("src/**/*.ts", Anywhere, "src/a.ts", true),
            ("src/**/*.ts", Anywhere, "src/x/y/a.ts", true),
            ("src/**/*.ts", Anywhere, "web/src/x/a.ts", true),
            ("src/*.ts", Anywhere, "src/x/a.ts", false),
            ("*.{ts,tsx}", Anywhere, "a/b.tsx", true),
            ("/src/*.ts", Anywhere, "web/src/a.ts", false),
            ("!*.md", Anywhere, "a/b.md", false),
            ("!*.md", Anywhere, "a/b.rs", true),
            ("src/", Anywhere, "src/x/a.ts", true),
            ("*.rs", Start, "a/lib.rs", true),
            ("src/*.rs", Start, "a/src/lib.rs", false),
            ("./src/*.rs", Start, "src/lib.rs", true),
            ("Makefile", Anywhere, "a/Makefile", true),
        ];
        for (glob, anchor, path, expected) in cases {
            assert_eq!(
                Globs::new(glob, anchor).unwrap().chooses(path.as_bytes()),
                expected,
                "{glob} {path}"
            );
        }
        assert_eq!(
            Globs::new("a[", Anywhere).unwrap_err(),
            "unclosed character class; missing ']'"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_glob_is_read_or_refused(glob in ".{0,40}", path in ".{0,40}") {
            if let Ok(globs) = Globs::new(&glob, Anchor::Anywhere) {
                globs.chooses(path.as_bytes());
            }
        }
    }
}
