//! Which part of an output is kept when it is over its limits.

use std::fmt;

/// Which part of an output a cut keeps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// The start.
    #[default]
    Head,
    /// The end.
    Tail,
    /// Both ends, with a marker between them.
    HeadTail,
    /// The lines that matter wherever they stand, with some of both ends.
    Smart,
    /// A summary by a model, of what is in the store. Where there is none, and for every cut by itself, both ends.
    Summarize,
}

impl Strategy {
    /// Every strategy, in the order that help lists them.
    pub const ALL: [Strategy; 5] = [
        Strategy::Head,
        Strategy::Tail,
        Strategy::HeadTail,
        Strategy::Smart,
        Strategy::Summarize,
    ];

    /// Returns the name used in configuration and records.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Head => "head",
            Strategy::Tail => "tail",
            Strategy::HeadTail => "head_tail",
            Strategy::Smart => "smart",
            Strategy::Summarize => "summarize",
        }
    }

    /// Returns the strategy of a name; `head_only` is accepted for `head`.
    ///
    /// ```
    /// use overspill::Strategy;
    /// assert_eq!(Strategy::parse("head_tail"), Some(Strategy::HeadTail));
    /// assert_eq!(Strategy::parse("head_only"), Some(Strategy::Head));
    /// assert_eq!(Strategy::parse("middle"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Strategy> {
        if name == "head_only" {
            return Some(Strategy::Head);
        }
        Strategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
