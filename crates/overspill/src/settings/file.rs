//! What a configuration file says.

use super::yaml::{self, Key, Node, NodeKind, Trouble, quote};
use super::{
    CLIENTS, KNOWN_TOOLS, SETTINGS, Scope, Setting, USERS_OWN, Value, plain_name, setting,
};
use crate::error::{Error, ErrorKind};
use crate::hint::{Action, Rule};

/// A value with the line it stands on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Written {
    pub(super) key: &'static str,
    pub(super) value: Value,
    pub(super) line: usize,
}

/// A configuration file, checked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileSettings {
    /// The file's name, as it is shown.
    pub(super) name: String,
    /// `tool_output_limits.default`.
    pub(super) default: Vec<Written>,
    /// `tool_output_limits.tools`, in the order they stand.
    pub(super) tools: Vec<(String, Vec<Written>)>,
    /// `clients`: the limits for each, by its name.
    pub(super) clients: Vec<(&'static str, Vec<Written>)>,
    /// What stands at the top.
    pub(super) top: Vec<Written>,
    /// `summarization`.
    pub(super) summarization: Vec<Written>,
    /// `permissions`, if they were given.
    pub(super) permissions: Option<Vec<Rule>>,
}

/// More than this is no name of a tool or a setting.
const NAME_BYTES: usize = 128;

/// What may stand at the top beside settings.
const SECTIONS: [&str; 6] = [
    "tool_output_limits",
    "default",
    "tools",
    "clients",
    "summarization",
    "permissions",
];

impl FileSettings {
    /// Reads a configuration file. `name` is how errors name it.
    ///
    /// ```
    /// use overspill::settings::FileSettings;
    /// assert!(FileSettings::parse("overspill.yaml", "tool_output_limits:\n  default:\n    max_lines: 10\n").is_ok());
    /// let error = FileSettings::parse("overspill.yaml", "default:\n  max_lines: ten\n").unwrap_err();
    /// assert_eq!(error.to_string(), "`overspill.yaml` line 2: `max_lines` is `ten`, expected a whole number from 1, or `off`");
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<FileSettings, Error> {
        let mut file = FileSettings {
            name: name.to_owned(),
            ..FileSettings::default()
        };
        file.read(text).map_err(|Trouble { line, cause }| {
            Error::new(
                ErrorKind::Settings,
                format!("`{name}` line {line}: {cause}"),
            )
        })?;
        Ok(file)
    }

    /// Takes the file for that of a project, which one may only look into: it must not choose where outputs are sent, nor
    /// which variable of the user goes with them.
    pub fn of_project(self) -> Result<Self, Error> {
        let is_users = |written: &&Written| USERS_OWN.contains(&written.key);
        let Some(written) = self.summarization.iter().find(is_users) else {
            return Ok(self);
        };
        let own = setting(written.key).and_then(|setting| setting.variable);
        let message = format!(
            "`{}` line {}: `{}` is not taken from a project's file, since outputs are sent by it",
            self.name, written.line, written.key
        );
        let hint = format!(
            "set `{}`, or put it into your own file: the one in the user's configuration directory, or one named by `--config`",
            own.unwrap_or_default()
        );
        Err(Error::new(ErrorKind::Settings, message).with_hint(hint))
    }

    fn read(&mut self, text: &str) -> Result<(), Trouble> {
        let Some(root) = yaml::read(text)? else {
            return Ok(());
        };
        for (key, node) in mapping(&root, "the file")? {
            match key.name.as_str() {
                "tool_output_limits" => self.read_limits(node)?,
                "default" => self.read_default(key, node)?,
                "tools" => self.read_tools(key, node)?,
                "clients" => self.read_clients(node)?,
                "summarization" => {
                    self.summarization = values(key, node, None, |setting| {
                        setting.scope == Scope::Summarization
                    })?;
                }
                "permissions" => self.permissions = Some(rules(node)?),
                _ => self.top.push(value(key, node, None, &SECTIONS, |setting| {
                    setting.scope == Scope::Top
                })?),
            }
        }
        Ok(())
    }

    fn read_limits(&mut self, node: &Node) -> Result<(), Trouble> {
        for (key, node) in mapping(node, "`tool_output_limits`")? {
            match key.name.as_str() {
                "default" => self.read_default(key, node)?,
                "tools" => self.read_tools(key, node)?,
                _ => return Err(unknown(key, &["default", "tools"])),
            }
        }
        Ok(())
    }

    fn read_default(&mut self, key: &Key, node: &Node) -> Result<(), Trouble> {
        if !self.default.is_empty() {
            return Err(Trouble {
                line: key.line,
                cause: "`default` stands twice".to_owned(),
            });
        }
        self.default = values(key, node, None, |setting| setting.scope == Scope::Tool)?;
        Ok(())
    }

    fn read_clients(&mut self, node: &Node) -> Result<(), Trouble> {
        for (key, node) in mapping(node, "`clients`")? {
            let Some(client) = CLIENTS.iter().find(|client| client.name == key.name) else {
                let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
                return Err(unknown(key, &known));
            };
            let fits = |setting: &Setting| {
                setting.scope == Scope::Tool || setting.key == "max_result_chars"
            };
            self.clients
                .push((client.name, values(key, node, None, fits)?));
        }
        Ok(())
    }

    fn read_tools(&mut self, key: &Key, node: &Node) -> Result<(), Trouble> {
        for (tool, node) in mapping(node, &quote(&key.name))? {
            let fits = |setting: &Setting| match setting.scope {
                Scope::Tool => true,
                Scope::OnlyTools(tools) => tools
                    .iter()
                    .any(|known| plain_name(known) == plain_name(&tool.name)),
                Scope::Top | Scope::Summarization => false,
            };
            check_glob(tool)?;
            let is_same = |(known, _): &&(String, _)| plain_name(known) == plain_name(&tool.name);
            if let Some((known, _)) = self.tools.iter().find(is_same) {
                let cause = format!("`{}` is the same tool as `{known}`", tool.name);
                return Err(Trouble {
                    line: tool.line,
                    cause,
                });
            }
            self.tools.push((
                tool.name.clone(),
                values(tool, node, Some(&tool.name), fits)?,
            ));
        }
        Ok(())
    }
}

fn mapping<'n>(node: &'n Node, what: &str) -> Result<&'n [(Key, Node)], Trouble> {
    match &node.kind {
        NodeKind::Mapping(members) => Ok(members),
        NodeKind::Scalar(text) if text.is_empty() || text == "~" || text == "null" => Ok(&[]),
        _ => Err(Trouble {
            line: node.line,
            cause: format!("{what}: expected `key: value` lines"),
        }),
    }
}

/// Reads the values of a section; `fits` tells which settings may stand there.
fn values(
    key: &Key,
    node: &Node,
    tool: Option<&str>,
    fits: impl Fn(&Setting) -> bool,
) -> Result<Vec<Written>, Trouble> {
    let members = mapping(node, &quote(&key.name))?;
    let mut written: Vec<Written> = Vec::new();
    for (key, node) in members {
        let next = value(key, node, tool, &[], &fits)?;
        if written.iter().any(|known| known.key == next.key) {
            return Err(Trouble {
                line: key.line,
                cause: format!("`{}` says `{}` again", key.name, next.key),
            });
        }
        written.push(next);
    }
    Ok(written)
}

fn value(
    key: &Key,
    node: &Node,
    tool: Option<&str>,
    sections: &[&str],
    fits: impl Fn(&Setting) -> bool,
) -> Result<Written, Trouble> {
    let Some(found) = setting(&key.name).filter(|setting| fits(setting)) else {
        let mut known: Vec<&str> = SETTINGS
            .iter()
            .filter(|setting| fits(setting))
            .map(|setting| setting.key)
            .collect();
        known.extend(sections);
        return Err(misplaced(key, tool).unwrap_or_else(|| unknown(key, &known)));
    };
    let text = match &node.kind {
        NodeKind::Scalar(text) => text.as_str(),
        NodeKind::Sequence(_) => "a list",
        NodeKind::Mapping(_) => "a section",
    };
    let is_scalar = matches!(node.kind, NodeKind::Scalar(_));
    match found.kind.parse(text).filter(|_| is_scalar) {
        Some(value) => Ok(Written {
            key: found.key,
            value,
            line: key.line,
        }),
        None => {
            let cause = format!(
                "`{}` is {}, expected {}",
                key.name,
                quote(text),
                found.expected()
            );
            Err(Trouble {
                line: node.line,
                cause,
            })
        }
    }
}

/// Says where a known setting belongs that stands in a wrong place.
fn misplaced(key: &Key, tool: Option<&str>) -> Option<Trouble> {
    let place = match setting(&key.name)?.scope {
        Scope::Tool => {
            "`tool_output_limits.default` or `tool_output_limits.tools.<name>`".to_owned()
        }
        Scope::OnlyTools(tools) => format!("`tool_output_limits.tools.{}`", tools.join(", ")),
        Scope::Top => "the top of the file".to_owned(),
        Scope::Summarization => "`summarization`".to_owned(),
    };
    let of = tool
        .map(|tool| format!(" of {}", quote(tool)))
        .unwrap_or_default();
    Some(Trouble {
        line: key.line,
        cause: format!(
            "`{}`{of} does not belong here, expected in {place}",
            key.name
        ),
    })
}

fn unknown(key: &Key, known: &[&str]) -> Trouble {
    let cause = format!(
        "unknown key {}, expected {}",
        quote(&key.name),
        super::value::one_of(known)
    );
    let anywhere = SETTINGS.iter().map(|setting| setting.key);
    let candidates: Vec<&str> = known.iter().copied().chain(anywhere).collect();
    let near = nearest(&key.name, &candidates).map(|near| format!("; did you mean `{near}`?"));
    Trouble {
        line: key.line,
        cause: cause + &near.unwrap_or_default(),
    }
}

/// Returns the known name that a wrong one most likely stands for; the first of equals.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > NAME_BYTES {
        return None;
    }
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let near = known.iter().copied().min_by_key(|known| distance(known))?;
    (distance(near) <= near.len().div_ceil(3)).then_some(near)
}

fn check_glob(tool: &Key) -> Result<(), Trouble> {
    let is_name = tool
        .name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '?'));
    if is_name && (1..=NAME_BYTES).contains(&tool.name.len()) {
        return Ok(());
    }
    let known: Vec<&str> = KNOWN_TOOLS.iter().map(|tool| tool.name).collect();
    let expected = format!(
        "expected a tool's name such as {}, or a pattern such as `mcp__*`",
        super::value::one_of(&known)
    );
    Err(Trouble {
        line: tool.line,
        cause: format!(
            "{} is not the name of a tool, {expected}",
            quote(&tool.name)
        ),
    })
}

/// Reads `permissions`: a list of `{permission, pattern, action}`.
fn rules(node: &Node) -> Result<Vec<Rule>, Trouble> {
    let NodeKind::Sequence(items) = &node.kind else {
        return Err(Trouble {
            line: node.line,
            cause: "`permissions`: expected a list of rules".to_owned(),
        });
    };
    items.iter().map(rule).collect()
}

fn rule(node: &Node) -> Result<Rule, Trouble> {
    let members = mapping(node, "a rule of `permissions`")?;
    let known = ["permission", "pattern", "action"];
    if let Some((key, _)) = members
        .iter()
        .find(|(key, _)| !known.contains(&key.name.as_str()))
    {
        return Err(unknown(key, &known));
    }
    let text = |name: &str| {
        let found = members
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node);
        match found.map(|node| &node.kind) {
            Some(NodeKind::Scalar(text)) => Ok(text.clone()),
            _ => Err(Trouble {
                line: node.line,
                cause: format!("a rule of `permissions` needs `{name}`, a word"),
            }),
        }
    };
    let (permission, pattern, action) = (text("permission")?, text("pattern")?, text("action")?);
    let action = Action::parse(&action).ok_or_else(|| {
        let cause = format!(
            "`action` is {}, expected `allow`, `ask` or `deny`",
            quote(&action)
        );
        Trouble {
            line: node.line,
            cause,
        }
    })?;
    Ok(Rule {
        permission,
        pattern,
        action,
    })
}
