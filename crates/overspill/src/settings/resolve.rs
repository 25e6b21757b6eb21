//! What the settings mean for a tool: call, environment, file for the tool, file for all, built in, in that order.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::client::SIZES;
use super::file::{FileSettings, Written};
use super::yaml::quote;
use super::{Client, KNOWN_TOOLS, PRESETS, SETTINGS, Scope, Setting, Value, plain_name, setting};
use crate::bound::{Lack, Summaries, Summarizer};
use crate::error::{Error, ErrorKind};
use crate::hint::{Reach, Rule, is_allowed, wildcard};
use crate::limits::Limits;
use crate::notice::Lang;
use crate::store::Retention;
use crate::strategy::Strategy;
use crate::tokens::Encoding;

/// Where a value came from.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody set it.
    BuiltIn,
    /// A tool has it built in.
    BuiltInTool(&'static str),
    /// A client has it built in.
    BuiltInClient(&'static str),
    /// A file.
    File {
        /// The file's name.
        name: String,
        /// The line.
        line: usize,
    },
    /// An environment variable.
    Variable(&'static str),
    /// An option of the call.
    Call(String),
    /// A preset, which was set there.
    Preset(&'static str, Box<Origin>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::BuiltInTool(tool) => write!(f, "built in for {tool}"),
            Origin::BuiltInClient(client) => write!(f, "built in for {client}"),
            Origin::File { name, line } => write!(f, "file {name} line {line}"),
            Origin::Variable(name) => write!(f, "environment {name}"),
            Origin::Call(flag) => write!(f, "flag {flag}"),
            Origin::Preset(preset, origin) => write!(f, "preset {preset} ({origin})"),
        }
    }
}

type Values = BTreeMap<&'static str, (Value, Origin)>;

/// Settings from every source, not yet asked for a tool.
///
/// ```
/// use overspill::settings::FileSettings;
/// use overspill::{Limits, Policy, Settings};
///
/// let file = FileSettings::parse("overspill.yaml", "tools:\n  mcp__*: {max_lines: 10, max_bytes: off}\n")?;
/// let settings = Settings::new().with_file(file);
/// let effective = settings.effective("mcp__git__log");
/// let policy = Policy { limits: effective.limits(), strategy: effective.strategy(), ..Policy::new("mcp__git__log") };
/// assert_eq!(policy.limits, Limits::none().lines(10));
/// # Ok::<(), overspill::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Settings {
    call: Values,
    environment: Values,
    file: Option<FileSettings>,
    client: Option<&'static Client>,
}

impl Settings {
    /// Returns built-in settings.
    pub fn new() -> Self {
        Settings::default()
    }

    /// Adds a configuration file.
    pub fn with_file(self, file: FileSettings) -> Self {
        Settings {
            file: Some(file),
            ..self
        }
    }

    /// Says which client the results are for, if it is a known one: where the user set no limit they stay below its own cut.
    pub fn for_client(self, client: Option<&'static Client>) -> Self {
        Settings { client, ..self }
    }

    /// Returns the client that the results are for, if it is a known one.
    pub fn client(&self) -> Option<&'static Client> {
        self.client
    }

    /// Adds environment variables, which `variable` looks up. An empty one counts as unset.
    pub fn with_environment(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        for setting in SETTINGS {
            let Some(name) = setting.variable else {
                continue;
            };
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let value = parse(setting, &text, name)?;
            self.environment
                .insert(setting.key, (value, Origin::Variable(name)));
        }
        Ok(self)
    }

    /// Adds an option of the call; `flag` is how the user named it.
    pub fn with_option(mut self, key: &str, text: &str, flag: &str) -> Result<Self, Error> {
        let Some(setting) = setting(key) else {
            return Err(Error::new(
                ErrorKind::Settings,
                format!("unknown setting `{key}`"),
            ));
        };
        let value = parse(setting, text, flag)?;
        self.call
            .insert(setting.key, (value, Origin::Call(flag.to_owned())));
        Ok(self)
    }

    /// Returns what holds for a tool.
    pub fn effective(&self, tool: &str) -> Effective {
        let mut values: Values = Values::new();
        // From the weakest source to the strongest; each overwrites what is there.
        for setting in SETTINGS {
            if let Some(value) = setting.kind.parse(setting.default) {
                values.insert(setting.key, (value, Origin::BuiltIn));
            }
        }
        let plain = plain_name(tool);
        if let Some(known) = KNOWN_TOOLS
            .iter()
            .find(|known| plain_name(known.name) == plain)
        {
            for (key, text) in known.values {
                apply_text(&mut values, key, text, &Origin::BuiltInTool(known.name));
            }
        }
        let mut layers = self.file_layers(tool);
        layers.extend([self.environment.clone(), self.call.clone()]);
        let client = self.client.filter(|_| !is_any_set(&layers, &SIZES));
        if let Some(client) = self.client {
            apply_client(&mut values, client, &layers);
        }
        // Of several presets the strongest holds, and `off` is one: it undoes the others.
        let preset_at = layers
            .iter()
            .rposition(|layer| layer.contains_key("preset"));
        for (at, layer) in layers.into_iter().enumerate() {
            if Some(at) == preset_at {
                apply_preset(&mut values, &layer);
            }
            values.extend(layer);
        }
        let permissions = self.file.as_ref().and_then(|file| file.permissions.clone());
        Effective {
            tool: tool.to_owned(),
            values,
            permissions: permissions.unwrap_or_default(),
            client,
        }
    }
}

impl Settings {
    /// Returns what the file says for a tool, from the weakest section to the strongest.
    fn file_layers(&self, tool: &str) -> Vec<Values> {
        let Some(file) = &self.file else {
            return Vec::new();
        };
        let is_for = |name: &str| self.client.is_some_and(|client| client.name == name);
        let clients = file
            .clients
            .iter()
            .filter(|(name, _)| is_for(name))
            .map(|(_, written)| written.as_slice());
        let sections = [&file.default, &file.top, &file.summarization]
            .into_iter()
            .map(Vec::as_slice);
        sections
            .chain(clients)
            .chain(file.tools_matching(tool))
            .map(|written| file.values(written))
            .collect()
    }
}

impl FileSettings {
    fn values(&self, written: &[Written]) -> Values {
        let origin = |line| Origin::File {
            name: self.name.clone(),
            line,
        };
        written
            .iter()
            .map(|written| (written.key, (written.value.clone(), origin(written.line))))
            .collect()
    }

    /// Returns the sections for a tool: patterns in the order they stand, then its own name, which is the most particular.
    /// A name matches without case and underscores; in a pattern underscores count, since those of `mcp__git__*` keep it
    /// from meaning `mcp__github__search`.
    fn tools_matching(&self, tool: &str) -> impl Iterator<Item = &[Written]> {
        let is_pattern = |name: &str| name.contains(['*', '?']);
        let (lower, plain) = (tool.to_lowercase(), plain_name(tool));
        let patterns = self
            .tools
            .iter()
            .filter(move |(name, _)| is_pattern(name) && wildcard(&name.to_lowercase(), &lower));
        let named = self
            .tools
            .iter()
            .filter(move |(name, _)| !is_pattern(name) && plain_name(name) == plain);
        patterns.chain(named).map(|(_, written)| written.as_slice())
    }
}

/// Puts what the preset of a layer stands for over what is there. The layer's own values come after it and win.
fn apply_preset(values: &mut Values, layer: &Values) {
    let Some((Value::Text(name), origin)) = layer.get("preset") else {
        return;
    };
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        return;
    };
    for (key, text) in preset.values {
        apply_text(
            values,
            key,
            text,
            &Origin::Preset(preset.name, Box::new(origin.clone())),
        );
    }
}

/// Puts the limits of a client over what is built in, but for those in whose place the user set one.
fn apply_client(values: &mut Values, client: &'static Client, layers: &[Values]) {
    for (key, text) in client.values {
        let stand_for_it = if SIZES.contains(key) {
            &SIZES[..]
        } else {
            std::slice::from_ref(key)
        };
        if !is_any_set(layers, stand_for_it) {
            apply_text(values, key, text, &Origin::BuiltInClient(client.name));
        }
    }
}

/// Tells whether the user set one of these.
fn is_any_set(layers: &[Values], keys: &[&str]) -> bool {
    layers
        .iter()
        .any(|layer| keys.iter().any(|key| layer.contains_key(key)))
}

fn apply_text(values: &mut Values, key: &str, text: &str, origin: &Origin) {
    if let Some((setting, value)) =
        setting(key).and_then(|setting| Some((setting, setting.kind.parse(text)?)))
    {
        values.insert(setting.key, (value, origin.clone()));
    }
}

fn parse(setting: &Setting, text: &str, source: &str) -> Result<Value, Error> {
    setting.kind.parse(text).ok_or_else(|| {
        let message = format!(
            "`{source}` is {}, expected {}",
            quote(text),
            setting.expected()
        );
        Error::new(ErrorKind::Settings, message)
    })
}

/// What holds for a tool, each value with its origin.
#[derive(Clone, Debug)]
pub struct Effective {
    tool: String,
    values: Values,
    permissions: Vec<Rule>,
    client: Option<&'static Client>,
}

impl Effective {
    /// Returns the client below whose own cut a message is to stay; nothing if it is not known, or if the user set a size.
    pub fn client(&self) -> Option<&'static Client> {
        self.client
    }

    /// Returns every setting that can be in force for the tool, with value and origin, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Value, &Origin)> {
        let with_value = |setting: &'static Setting| {
            let (value, origin) = self.values.get(setting.key)?;
            Some((setting, value, origin))
        };
        SETTINGS
            .iter()
            .filter(|setting| applies(setting, &self.tool))
            .filter_map(with_value)
    }

    /// Returns the limits of a preview.
    pub fn limits(&self) -> Limits {
        let limits = Limits::none().encoding(self.word("encoding", Encoding::parse));
        let limits = self.count("max_lines").map_or(limits, |n| limits.lines(n));
        let limits = self.count("max_bytes").map_or(limits, |n| limits.bytes(n));
        let limits = self.count("max_chars").map_or(limits, |n| limits.chars(n));
        let limits = self
            .count("max_tokens")
            .map_or(limits, |n| limits.tokens(n));
        self.count("max_line_chars")
            .map_or(limits, |n| limits.line_chars(n))
    }

    /// Returns the strategy.
    pub fn strategy(&self) -> Strategy {
        self.word("strategy", Strategy::parse)
    }

    /// Returns the guard, if it is on.
    pub fn max_result_chars(&self) -> Option<usize> {
        self.count("max_result_chars")
    }

    /// Returns the language of notices.
    pub fn lang(&self) -> Lang {
        self.word("language", Lang::parse)
    }

    /// Returns the store's directory.
    pub fn store_dir(&self) -> PathBuf {
        PathBuf::from(
            self.values
                .get("store_dir")
                .map_or_else(String::new, |(value, _)| value.to_string()),
        )
    }

    /// Returns how long spills are kept.
    pub fn retention(&self) -> Retention {
        let days = self
            .count("retention_days")
            .and_then(|days| u32::try_from(days).ok());
        Retention {
            days: days.unwrap_or(0),
            max_bytes: self.count("max_store_bytes").map(|bytes| bytes as u64),
        }
    }

    /// Tells whether calls are noted in the journal.
    pub fn has_journal(&self) -> bool {
        !matches!(self.values.get("journal"), Some((Value::Off, _)))
    }

    /// Returns what the permissions leave the agent.
    pub fn reach(&self) -> Reach {
        Reach::allowed_by(&self.permissions)
    }

    /// Tells whether the permissions leave the agent a shell.
    pub fn has_shell(&self) -> bool {
        is_allowed(&self.permissions, "bash")
    }

    /// Returns where the value of a setting came from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.values.get(key).map(|(_, origin)| origin)
    }

    /// Returns the value of a setting that is a number; nothing if it is off.
    pub fn number(&self, key: &str) -> Option<usize> {
        self.count(key)
    }

    /// Returns the value of a setting that is a word; nothing if it is off.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some((Value::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    /// Returns who writes summaries, and of which outputs. `summarizer` is what does, if the user wants any.
    pub(crate) fn summaries<'s>(&self, summarizer: Option<&'s dyn Summarizer>) -> Summaries<'s> {
        let lack = if self.text("enabled").is_none() {
            Some(Lack::Switch)
        } else if self.text("base_url").is_none() && summarizer.is_none() {
            Some(Lack::Address)
        } else {
            None
        };
        Summaries {
            writer: match lack {
                Some(lack) => Err(lack),
                None => summarizer.ok_or(Lack::Summarizer),
            },
            trigger_threshold: self.count("trigger_threshold").unwrap_or(0),
            max_input_chars: self.count("max_input_chars"),
        }
    }

    fn count(&self, key: &str) -> Option<usize> {
        match self.values.get(key) {
            Some((Value::Number(number), _)) => {
                Some(usize::try_from(*number).unwrap_or(usize::MAX))
            }
            _ => None,
        }
    }

    fn word<T: Default>(&self, key: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        match self.values.get(key) {
            Some((Value::Text(text), _)) => parse(text).unwrap_or_default(),
            _ => T::default(),
        }
    }
}

/// Tells whether a setting can be in force for a tool.
fn applies(setting: &Setting, tool: &str) -> bool {
    match setting.scope {
        Scope::OnlyTools(tools) => tools
            .iter()
            .any(|known| plain_name(known) == plain_name(tool)),
        _ => true,
    }
}
