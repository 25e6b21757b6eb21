//! What an agent has to get at a spill: data, said in words by [`notice`](crate::notice).
//!
//! Whether it may use a tool is decided by permission rules, the last matching one wins. What no rule speaks of, an agent is
//! taken to have if every coding agent has it (Grep, Read, a shell), and not to have otherwise (a Task tool).

/// What an agent can reach a spill with. Each name is as the agent knows it; `None` is what it lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reach {
    /// The tool that starts a subagent.
    pub task: Option<String>,
    /// The tool that searches files.
    pub grep: Option<String>,
    /// The tool that reads a file by lines.
    pub read: Option<String>,
    /// The overspill program, for an agent that has a shell.
    pub program: Option<String>,
}

impl Default for Reach {
    /// Grep and Read, no Task tool, no shell.
    fn default() -> Self {
        Reach {
            grep: Some("Grep".to_owned()),
            read: Some("Read".to_owned()),
            ..Reach::nothing()
        }
    }
}

impl Reach {
    /// Returns a reach without any tool.
    pub fn nothing() -> Self {
        Reach {
            task: None,
            grep: None,
            read: None,
            program: None,
        }
    }

    /// Returns the default reach and a Task tool of that name.
    pub fn with_task(name: &str) -> Self {
        Reach {
            task: Some(name.to_owned()),
            ..Reach::default()
        }
    }

    /// Returns what the rules leave of the default tools, and the Task tool if a rule speaks of it and does not deny it.
    ///
    /// ```
    /// use overspill::{Action, Reach, Rule};
    /// let rule = |permission: &str, action| Rule { permission: permission.into(), pattern: "*".into(), action };
    /// assert_eq!(Reach::allowed_by(&[]), Reach::default());
    /// assert_eq!(Reach::allowed_by(&[rule("*", Action::Allow)]).task.as_deref(), Some("Task"));
    /// assert_eq!(Reach::allowed_by(&[rule("*", Action::Allow), rule("task", Action::Deny)]), Reach::default());
    /// ```
    pub fn allowed_by(rules: &[Rule]) -> Self {
        let unless_denied =
            |permission: &str, name: &str| is_allowed(rules, permission).then(|| name.to_owned());
        let has_task = decide(rules, "task").is_some_and(|action| action != Action::Deny);
        Reach {
            task: has_task.then(|| "Task".to_owned()),
            grep: unless_denied("grep", "Grep"),
            read: unless_denied("read", "Read"),
            program: None,
        }
    }
}

/// Tells whether the rules leave the agent something that every agent is taken to have.
pub(crate) fn is_allowed(rules: &[Rule], permission: &str) -> bool {
    decide(rules, permission) != Some(Action::Deny)
}

/// What a rule says of what it matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// It may be used.
    Allow,
    /// It may be used once the user agrees.
    Ask,
    /// It may not be used.
    Deny,
}

impl Action {
    /// Returns the action of a name.
    pub fn parse(name: &str) -> Option<Action> {
        match name {
            "allow" => Some(Action::Allow),
            "ask" => Some(Action::Ask),
            "deny" => Some(Action::Deny),
            _ => None,
        }
    }
}

/// A permission rule. `*` in both patterns matches any run of characters, `?` any one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Which permission it is about, such as `task`.
    pub permission: String,
    /// What the permission is used on; a tool as a whole is `*`.
    pub pattern: String,
    /// What it says.
    pub action: Action,
}

/// Returns what the last rule says that matches a tool as a whole.
fn decide(rules: &[Rule], permission: &str) -> Option<Action> {
    let is_about = |rule: &&Rule| {
        wildcard(&rule.permission.to_lowercase(), permission) && wildcard(&rule.pattern, "*")
    };
    rules.iter().rev().find(is_about).map(|rule| rule.action)
}

/// Matches `text` against a pattern with `*` and `?`, in time linear in their product.
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_runs_and_single_characters() {
        let cases = [
            ("*", "", true),
            ("*", "x", true),
            ("a*c", "abbc", true),
            ("a*c", "ab", false),
            ("?", "é", true),
            ("?", "", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(wildcard(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!wildcard(&"*a".repeat(200), &"b".repeat(2000)));
    }

    #[test]
    fn the_last_matching_rule_wins() {
        let rule = |permission: &str, pattern: &str, action| Rule {
            permission: permission.into(),
            pattern: pattern.into(),
            action,
        };
        let task = |rules: &[Rule]| Reach::allowed_by(rules).task.is_some();
        assert!(!task(&[]));
        assert!(!task(&[rule("*", "*", Action::Deny)]));
        assert!(task(&[
            rule("*", "*", Action::Deny),
            rule("task", "*", Action::Allow)
        ]));
        assert!(!task(&[
            rule("task", "*", Action::Allow),
            rule("t*", "*", Action::Deny)
        ]));
        assert!(
            !task(&[rule("bash", "*", Action::Allow)]),
            "no rule speaks of it"
        );
        let both = [
            rule("task", "*", Action::Ask),
            rule("task", "explore", Action::Deny),
        ];
        assert!(task(&both), "a rule on one use does not deny the tool");
        assert_eq!(
            Reach::allowed_by(&[rule("grep", "*", Action::Deny)]).grep,
            None
        );
    }
}
