//! Every setting, once.
//!
//! [`SETTINGS`] is the only list: the configuration file, environment variables, flags, `config show`, the reference and
//! the schema all come from it. A value is read in two stages: what the user wrote, checked against the table with no I/O,
//! then what it means for a tool, by the order call, environment, file, built in.

mod client;
mod docs;
mod file;
mod resolve;
mod value;
mod yaml;

pub use self::client::{CLIENTS, Client, client};
pub use self::docs::{Profile, init_file, reference, schema};
pub use self::file::FileSettings;
pub use self::resolve::{Effective, Origin, Settings};
pub use self::value::Value;

pub(crate) use self::value::Kind;

/// Where a setting may stand in a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scope {
    /// In `tool_output_limits.default` and in `tool_output_limits.tools.<name>`.
    Tool,
    /// Only in `tool_output_limits.tools.<name>` of these tools.
    OnlyTools(&'static [&'static str]),
    /// At the top.
    Top,
    /// In `summarization`.
    Summarization,
}

/// A setting.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Its name in a file. The flag is the same with hyphens.
    pub key: &'static str,
    /// Other names that are accepted in a file.
    pub aliases: &'static [&'static str],
    /// Its environment variable.
    pub variable: Option<&'static str>,
    /// Where it may stand.
    pub scope: Scope,
    /// Whether it has a flag.
    pub has_flag: bool,
    pub(crate) kind: Kind,
    /// What holds if nobody says otherwise, as it would be written.
    pub default: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
}

impl Setting {
    /// Returns its name with the section it stands in, where that is needed to know it by.
    pub fn full_key(&self) -> String {
        match self.scope {
            Scope::Summarization => format!("summarization.{}", self.key),
            _ => self.key.to_owned(),
        }
    }

    /// Returns its flag, without the hyphens before it.
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// Returns what it does and what values it takes, as a sentence without its full stop.
    pub fn help(&self) -> String {
        let mut doc = self.doc.chars();
        let start = doc.next().map(char::to_uppercase).into_iter().flatten();
        format!(
            "{} ({})",
            start.chain(doc).collect::<String>(),
            self.expected()
        )
    }

    /// Returns what values it takes, in words.
    pub fn expected(&self) -> String {
        self.kind.expected()
    }
}

const PLAIN: Setting = Setting {
    key: "",
    aliases: &[],
    variable: None,
    scope: Scope::Tool,
    has_flag: true,
    kind: Kind::Limit,
    default: "off",
    doc: "",
};

/// Every setting there is.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "max_lines",
        variable: Some("TOOL_OUTPUT_MAX_LINES"),
        default: "2000",
        doc: "the most lines of a preview",
        ..PLAIN
    },
    Setting {
        key: "max_bytes",
        variable: Some("TOOL_OUTPUT_MAX_BYTES"),
        kind: Kind::SizeLimit,
        default: "51200",
        doc: "the most bytes of a preview",
        ..PLAIN
    },
    Setting {
        key: "max_chars",
        variable: Some("TOOL_OUTPUT_MAX_CHARS"),
        doc: "the most chars (Unicode scalar values) of a preview",
        ..PLAIN
    },
    Setting {
        key: "max_tokens",
        variable: Some("TOOL_OUTPUT_MAX_TOKENS"),
        doc: "the most tokens of a preview",
        ..PLAIN
    },
    Setting {
        key: "max_line_chars",
        variable: Some("TOOL_OUTPUT_MAX_LINE_CHARS"),
        doc: "the most chars of a line, its closing `...` included",
        ..PLAIN
    },
    Setting {
        key: "strategy",
        aliases: &["truncation_strategy", "direction"],
        variable: Some("TOOL_OUTPUT_TRUNCATE_DIRECTION"),
        kind: Kind::Strategy,
        default: "head",
        doc: "what is kept: the start, the end, both, the lines that matter, or a summary by a model",
        ..PLAIN
    },
    Setting {
        key: "preset",
        variable: Some("TOOL_OUTPUT_PRESET"),
        kind: Kind::Preset,
        doc: "limits and strategy at once: code 2000 lines / 51200 bytes / head, log 500 / 20480 / tail, error 100 / 10240 / tail, smart 2000 / 51200 / smart",
        ..PLAIN
    },
    Setting {
        key: "encoding",
        variable: Some("TOOL_OUTPUT_ENCODING"),
        kind: Kind::Encoding,
        default: "o200k_base",
        doc: "the vocabulary that tokens are counted in; for Claude and Gemini an estimate",
        ..PLAIN
    },
    Setting {
        key: "show_context",
        scope: Scope::OnlyTools(&["Grep"]),
        has_flag: false,
        kind: Kind::Count,
        default: "0",
        doc: "lines of context around each match",
        ..PLAIN
    },
    Setting {
        key: "search_timeout_ms",
        variable: Some("TOOL_OUTPUT_SEARCH_TIMEOUT_MS"),
        scope: Scope::OnlyTools(&["Grep", "Read", "Glob", "RepoStructure", "RepoMap"]),
        default: "2000",
        doc: "how many milliseconds a search may take, and for Read reaching the lines that were asked for",
        ..PLAIN
    },
    Setting {
        key: "max_depth",
        scope: Scope::OnlyTools(&["RepoStructure"]),
        has_flag: false,
        default: "3",
        doc: "how deep the tree is shown",
        ..PLAIN
    },
    Setting {
        key: "max_files",
        scope: Scope::OnlyTools(&["RepoStructure"]),
        has_flag: false,
        default: "500",
        doc: "how many files the tree shows",
        ..PLAIN
    },
    Setting {
        key: "max_result_chars",
        variable: Some("TOOL_OUTPUT_MAX_RESULT_CHARS"),
        scope: Scope::Top,
        doc: "the guard: the most chars of a whole message, its notice included",
        ..PLAIN
    },
    Setting {
        key: "store_dir",
        variable: Some("TOOL_OUTPUT_DIR"),
        scope: Scope::Top,
        kind: Kind::Path,
        default: "tool-output",
        doc: "where complete outputs are kept, below the root unless absolute",
        ..PLAIN
    },
    Setting {
        key: "retention_days",
        variable: Some("TOOL_OUTPUT_RETENTION_DAYS"),
        scope: Scope::Top,
        kind: Kind::Count,
        default: "7",
        doc: "how many days complete outputs are kept; 0 keeps them for ever",
        ..PLAIN
    },
    Setting {
        key: "max_store_bytes",
        variable: Some("TOOL_OUTPUT_MAX_STORE_BYTES"),
        scope: Scope::Top,
        kind: Kind::SizeLimit,
        doc: "the most bytes of all complete outputs together; the oldest go first",
        ..PLAIN
    },
    Setting {
        key: "journal",
        variable: Some("TOOL_OUTPUT_JOURNAL"),
        scope: Scope::Top,
        kind: Kind::Switch,
        default: "on",
        doc: "whether the figures of each call are noted for `overspill stats`; what a tool said is never noted",
        ..PLAIN
    },
    Setting {
        key: "language",
        variable: Some("TOOL_OUTPUT_LANGUAGE"),
        scope: Scope::Top,
        has_flag: false,
        kind: Kind::Lang,
        default: "en",
        doc: "the language of notices (flag: `--lang`)",
        ..PLAIN
    },
    Setting {
        key: "enabled",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_ENABLED"),
        scope: Scope::Summarization,
        has_flag: false,
        kind: Kind::Switch,
        default: "off",
        doc: "the master switch of the strategy `summarize`, since a model costs money and is sent outputs",
        ..PLAIN
    },
    Setting {
        key: "base_url",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_BASE_URL"),
        scope: Scope::Summarization,
        has_flag: false,
        kind: Kind::Address,
        doc: "where the model is: an OpenAI-compatible endpoint, to which `/chat/completions` is added; not taken from a project's file",
        ..PLAIN
    },
    Setting {
        key: "model",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_MODEL"),
        scope: Scope::Summarization,
        has_flag: false,
        kind: Kind::Text,
        default: "qwen-turbo",
        doc: "the model that writes summaries",
        ..PLAIN
    },
    Setting {
        key: "api_key_env",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_API_KEY_ENV"),
        scope: Scope::Summarization,
        has_flag: false,
        kind: Kind::Variable,
        default: "OPENAI_API_KEY",
        doc: "the environment variable that holds the key, if the model wants one; not taken from a project's file",
        ..PLAIN
    },
    Setting {
        key: "max_input_chars",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_MAX_INPUT_CHARS"),
        scope: Scope::Summarization,
        has_flag: false,
        default: "50000",
        doc: "how many chars of an output the model is given; what matters is chosen as by `smart`",
        ..PLAIN
    },
    Setting {
        key: "trigger_threshold",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_TRIGGER_THRESHOLD"),
        scope: Scope::Summarization,
        has_flag: false,
        default: "20000",
        doc: "an output of more chars is summarized; a shorter one that is over its limits is cut as by `head_tail`",
        ..PLAIN
    },
    Setting {
        key: "timeout_ms",
        variable: Some("TOOL_OUTPUT_SUMMARIZATION_TIMEOUT_MS"),
        scope: Scope::Summarization,
        has_flag: false,
        kind: Kind::Timeout,
        default: "30000",
        doc: "how many milliseconds a summary may take, all attempts together",
        ..PLAIN
    },
];

/// Those that a project's file may not have: where outputs are sent, and the variable that goes with them.
pub(crate) const USERS_OWN: [&str; 2] = ["base_url", "api_key_env"];

/// Returns the setting of a key or one of its aliases.
pub fn setting(key: &str) -> Option<&'static Setting> {
    SETTINGS
        .iter()
        .find(|setting| setting.key == key || setting.aliases.contains(&key))
}

/// Limits and strategy by what an output is.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// Every preset.
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "code",
        values: &[
            ("max_lines", "2000"),
            ("max_bytes", "51200"),
            ("strategy", "head"),
        ],
    },
    Preset {
        name: "log",
        values: &[
            ("max_lines", "500"),
            ("max_bytes", "20480"),
            ("strategy", "tail"),
        ],
    },
    Preset {
        name: "error",
        values: &[
            ("max_lines", "100"),
            ("max_bytes", "10240"),
            ("strategy", "tail"),
        ],
    },
    Preset {
        name: "smart",
        values: &[
            ("max_lines", "2000"),
            ("max_bytes", "51200"),
            ("strategy", "smart"),
        ],
    },
];

/// A tool's name with its other names and its built-in values.
pub(crate) struct KnownTool {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) values: &'static [(&'static str, &'static str)],
}

/// Grep and Read page, so their limits are wide.
const PAGING: &[(&str, &str)] = &[
    ("max_lines", "2000"),
    ("max_line_chars", "2000"),
    ("max_chars", "262144"),
    ("max_tokens", "25000"),
    ("max_bytes", "off"),
];

/// Read passes over as much as it must to reach a line, at the speed of the disk.
const READING: &[(&str, &str)] = &[
    ("max_lines", "2000"),
    ("max_line_chars", "2000"),
    ("max_chars", "262144"),
    ("max_tokens", "25000"),
    ("max_bytes", "off"),
    ("search_timeout_ms", "20000"),
];

/// The first map of a large code base takes a while.
const MAPPING: &[(&str, &str)] = &[("search_timeout_ms", "30000")];

/// What a command prints is long for a reason that may stand anywhere in it, and its error hides best in the middle.
const RUNNING: &[(&str, &str)] = &[("strategy", "smart")];

/// The tools whose names are known to configuration.
pub(crate) const KNOWN_TOOLS: &[KnownTool] = &[
    KnownTool {
        name: "Grep",
        aliases: &["grep_search", "search_code"],
        values: PAGING,
    },
    KnownTool {
        name: "Read",
        aliases: &["read_file"],
        values: READING,
    },
    KnownTool {
        name: "LS",
        aliases: &[],
        values: &[],
    },
    KnownTool {
        name: "Glob",
        aliases: &[],
        values: &[],
    },
    KnownTool {
        name: "RepoStructure",
        aliases: &["get_repo_structure"],
        values: &[],
    },
    KnownTool {
        name: "RepoMap",
        aliases: &[],
        values: MAPPING,
    },
    KnownTool {
        name: "Run",
        aliases: &[],
        values: RUNNING,
    },
];

/// Tells whether two names are of the same tool: without case and underscores, and by the other names it is known by.
pub fn is_same_tool(name: &str, other: &str) -> bool {
    plain_name(name) == plain_name(other)
}

/// Returns a tool's name without case and underscores, an alias replaced by what it stands for. The underscores of an MCP
/// tool part its server from its own name, but two names that differ by them alone are the same to a reader.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |name: &str| {
        name.chars()
            .filter(|&c| c != '_')
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let given = plain(name);
    let known = KNOWN_TOOLS
        .iter()
        .find(|tool| tool.aliases.iter().any(|alias| plain(alias) == given));
    known.map_or(given, |tool| plain(tool.name))
}

#[cfg(test)]
mod tests;
