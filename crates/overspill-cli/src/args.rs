//! What the user can type. Flags that are settings come from the table of settings.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use overspill::Salience;
use overspill::settings::{SETTINGS, Setting};

use crate::commands::stats::Since;
use crate::commands::tools;
use crate::config;

const EXAMPLES: &str = "\
Examples:
  overspill run -- cargo test                 run a command; its exit code is overspill's
  make 2>&1 | overspill --strategy tail       bound what comes through a pipe
  overspill show latest --grep 'error' -C 3   search what was saved
  overspill config init                       write a configuration file to start with";

/// Keeps tool output inside an AI agent's context window without losing a byte.
///
/// Output within its limits passes as it came. Output over a limit is cut, the whole of it is saved, and a notice says what
/// was cut, where the whole is and how to get at it. With no command and a pipe on stdin it is `truncate`.
#[derive(Debug, Parser)]
#[command(
    name = "overspill",
    version,
    max_term_width = 120,
    disable_help_subcommand = true,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bound a file or stdin
    Truncate(TruncateArgs),
    /// Run a command and bound its output
    #[command(override_usage = "overspill run [OPTIONS] -- <CMD>...")]
    Run(RunArgs),
    /// Page through a saved output, or search it
    Show(ShowArgs),
    /// List saved outputs, the newest first
    List(ListArgs),
    /// Remove saved outputs that are too old or too many
    Clean(CleanArgs),
    /// Show what calls cost and saved, and how often an agent went back to what was cut
    Stats(StatsArgs),
    /// Call a tool and print its envelope
    Call(CallArgs),
    /// List the tools and their parameters
    Tools(ToolsArgs),
    /// Serve the tools over MCP, to the client at standard input and output
    Mcp(McpArgs),
    /// Bound the results of any MCP server
    ///
    /// With `--config FILE` and neither a command nor an address, FILE is a client's configuration, and is printed with every
    /// server in it behind the proxy.
    #[command(
        override_usage = "overspill proxy [OPTIONS] -- <CMD>...\n       overspill proxy [OPTIONS] --url <URL>"
    )]
    Proxy(ProxyArgs),
    /// Put the proxy before the MCP servers of your agents: print the change, or make it
    Install(InstallArgs),
    /// Take the proxy away from before the MCP servers of your agents: print the change, or make it
    Uninstall(InstallArgs),
    /// Bound what a coding agent's own tools return, as its hook
    Hook(HookArgs),
    /// Show, write or check the configuration
    Config(ConfigArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
    /// Print generated documentation
    #[command(hide = true)]
    Docs(DocsArgs),
}

#[derive(Debug, Default, Args)]
pub(crate) struct TruncateArgs {
    /// The file to bound; stdin if there is none, or for `-`
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is wanted of a bounded output.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// How the result is printed
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// What the output is asked for: under `smart`, lines with these words rise [env: TOOL_QUERY]
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Tell on stderr why each run of lines was kept, under `smart`
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print what was kept without the notice, for a program that reads it
    #[arg(long)]
    pub(crate) no_notice: bool,
}

impl OutputArgs {
    /// Returns these with what was given before the subcommand for what was not given behind it.
    pub(crate) fn over(&self, outer: &OutputArgs) -> OutputArgs {
        OutputArgs {
            format: self.format.or(outer.format),
            query: self.query.clone().or_else(|| outer.query.clone()),
            explain: self.explain || outer.explain,
            no_notice: self.no_notice || outer.no_notice,
        }
    }

    /// Returns how the result is printed.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or_default()
    }

    /// Returns what the `smart` strategy goes by; `command` made the output, and asks for a little if nothing else does.
    pub(crate) fn salience(&self, command: &str) -> Salience {
        let given = self.query.clone().or_else(config::query);
        match given {
            Some(query) => Salience::default().query(&query),
            None => Salience::default().command(command),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serve streamable HTTP at this address instead, path `/mcp`; one that is not loopback needs OVERSPILL_MCP_TOKEN
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// Offer `Run` as well: the model can then run any command
    #[arg(long)]
    pub(crate) allow_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// The server's name, as in `mcp__NAME__tool` of the configuration; taken from the command if it is not given
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Do not offer the client `overspill_read` and `overspill_grep`
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// The server's address, if it is not a command
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header for the server at the address; may be given several times
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Serve HTTP at this address, path `/mcp`, instead of standard input and output; one that is not loopback needs
    /// OVERSPILL_MCP_TOKEN
    #[arg(long, value_name = "ADDR", requires = "url")]
    pub(crate) http: Option<SocketAddr>,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Whose configuration; all that are found if none is named
    #[arg(value_enum)]
    pub(crate) agent: Option<AgentName>,
    /// A file other than the agent's usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Make the change; without it the change is only printed
    #[arg(long)]
    pub(crate) write: bool,
    /// Only this server; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// An agent whose configuration is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum AgentName {
    /// Claude Code: `.mcp.json` and `~/.claude.json`
    Claude,
    /// Codex: `config.toml` in `$CODEX_HOME`, `~/.codex` or `.codex`
    Codex,
    /// opencode: `opencode.json` or `opencode.jsonc`, here or in `~/.config/opencode`
    Opencode,
    /// Gemini CLI: `.gemini/settings.json`, here or in the home
    Gemini,
    /// Cursor: `.cursor/mcp.json`, here or in the home
    Cursor,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print nothing but the output: no progress, no remarks on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show terminal control codes as they came
    #[arg(long)]
    pub(crate) raw: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// An id, the start of one, the path of a saved output, or `latest`
    #[arg(value_name = "ID")]
    pub(crate) spill: String,
    /// The first line to show, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["tail", "grep", "byte"])]
    pub(crate) offset: Option<u64>,
    /// How many lines to show
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["tail", "grep", "byte"])]
    pub(crate) limit: Option<u64>,
    /// Show the last lines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["grep", "byte"])]
    pub(crate) tail: Option<u64>,
    /// Start at a byte, from 0: for what is inside a long line
    #[arg(long, value_name = "N", conflicts_with = "grep")]
    pub(crate) byte: Option<u64>,
    /// Show the lines that match a regular expression
    #[arg(long, value_name = "PATTERN")]
    pub(crate) grep: Option<String>,
    /// Lines of context around each match
    #[arg(
        long,
        short = 'C',
        value_name = "N",
        default_value_t = 0,
        requires = "grep"
    )]
    pub(crate) context: usize,
    /// Tell upper and lower case apart in the search
    #[arg(long, requires = "grep")]
    pub(crate) case_sensitive: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// At most how many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Tell what would go, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove every saved output
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Since when: `24h`, `7d`, `2w` ago, or a day such as `2026-11-01`
    #[arg(long, value_name = "WHEN", default_value = "30d", value_parser = Since::parse)]
    pub(crate) since: Since,
    /// For all projects, not only this one
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Print a row for each day and tool, separated by commas
    #[arg(long, group = "form")]
    pub(crate) csv: bool,
    /// Print OpenMetrics text, for Prometheus and the like
    #[arg(long, group = "form")]
    pub(crate) prometheus: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool's name
    pub(crate) tool: String,
    /// Its parameters as a JSON object; `-` reads them from stdin
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Print their JSON Schemas
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Whose hook it is; its JSON comes on stdin
    #[arg(value_enum)]
    pub(crate) agent: Agent,
    /// Before a shell command: have it run by `overspill run`, which your permission rules then judge in its place (only for claude)
    #[arg(long)]
    pub(crate) wrap_shell: bool,
    /// Print the plugin that calls this command (only for opencode)
    #[arg(long, conflicts_with = "wrap_shell")]
    pub(crate) plugin: bool,
}

/// A coding agent that has hooks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Agent {
    /// Claude Code: PostToolUse, or PreToolUse with `--wrap-shell`
    Claude,
    /// Codex: PostToolUse
    Codex,
    /// Gemini CLI: AfterTool
    Gemini,
    /// Cursor: postToolUse
    Cursor,
    /// opencode: its plugin, which `--plugin` prints
    Opencode,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print each value in force and where it came from
    Show {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write a commented configuration file into the root
    Init {
        /// Which values it has
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Write over an existing file
        #[arg(long)]
        force: bool,
    },
    /// Check the configuration, or a file
    Check {
        /// The file to check
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Which document
    #[arg(value_enum)]
    pub(crate) what: Document,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Document {
    /// The reference of settings, in Markdown
    Reference,
    /// The JSON Schema of the configuration file
    Schema,
    /// The help of every command, in Markdown
    Commands,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// What a model reads
    #[default]
    Text,
    /// One line: `{truncated, content, preview, output_path, truncation}`
    Json,
    /// A Standard Envelope on one line
    Envelope,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Profile {
    /// The built-in values, commented out
    #[default]
    Default,
    /// Small limits for every tool
    Compact,
}

/// Returns the whole command line, the flags that are settings included.
pub(crate) fn command() -> clap::Command {
    Cli::command()
        .subcommands(tools::commands())
        .mut_subcommands(|command| {
            let name = command.get_name();
            match OWN_DEFAULTS.iter().any(|(own, ..)| *own == name) {
                // A flag that a command has already is not handed down to it, but its value is. All of them, for their order.
                true => {
                    let flags = setting_flags(Some(name));
                    command.args(flags)
                }
                false => command,
            }
        })
        .args(setting_flags(None))
        .args(common_flags())
}

/// The commands to which a setting that is not set means something else than by default: command, setting, what it means.
const OWN_DEFAULTS: [(&str, &str, &str); 4] = [
    ("run", "strategy", "smart"),
    ("proxy", "strategy", "smart"),
    ("hook", "strategy", "smart; head for files and searches"),
    ("mcp", "strategy", "head; smart for Run"),
];

/// Returns the flags that are settings, as a command helps with them.
fn setting_flags(command: Option<&str>) -> Vec<Arg> {
    let flag = |setting: &Setting| {
        let is_own =
            |(own, key, _): &&(&str, &str, &str)| Some(*own) == command && *key == setting.key;
        let own = OWN_DEFAULTS.iter().find(is_own);
        setting_flag(
            setting,
            own.map_or(setting.default, |(.., default)| default),
        )
    };
    let settings = SETTINGS.iter().filter(|setting| setting.has_flag);
    settings.map(flag).collect()
}

fn setting_flag(setting: &Setting, default: &str) -> Arg {
    Arg::new(setting.key)
        .long(setting.flag())
        .value_name(value_name(setting.key))
        .allow_hyphen_values(true)
        // The last one wins, for those who wrap or alias the command.
        .overrides_with(setting.key)
        .help(format!("{} [default: {default}]", setting.help()))
        .global(true)
        .help_heading(SETTINGS_HEADING)
        .hide_short_help(!is_common(setting.key))
}

/// Tells whether these arguments call the command `hook`, also where they cannot be parsed.
pub(crate) fn names_hook(arguments: impl Iterator<Item = OsString>) -> bool {
    let command = command();
    let takes_value = |flag: &str| {
        let name = flag.trim_start_matches('-');
        let mut flags = command.get_arguments();
        let found = flags.find(|arg| arg.get_long() == Some(name));
        found.map(|arg| arg.get_action().takes_values())
    };
    let mut words = arguments.map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.starts_with('-') {
            false => return word == "hook",
            true if word.contains('=') => {}
            true => match takes_value(&word) {
                Some(true) => drop(words.next()),
                Some(false) => {}
                // Whether a flag that nobody knows has a value, nobody knows: the next word may be the command or not.
                None => return words.any(|word| word == "hook"),
            },
        }
    }
    false
}

const SETTINGS_HEADING: &str = "Settings";

fn common_flags() -> [Arg; 6] {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .help(help)
            .global(true)
            .help_heading(SETTINGS_HEADING)
    };
    [
        flag(
            "root",
            "The project directory that all paths are relative to [default: the working directory]",
        )
        .value_name("DIR")
        .value_parser(clap::value_parser!(PathBuf)),
        flag("config", "The configuration file")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf)),
        flag(
            "lang",
            "The language of notices: `en` or `zh` [default: en]",
        )
        .value_name("LANG"),
        flag("tool", "The tool that made the output, whose settings hold").value_name("NAME"),
        flag("task-tool", "The agent has a tool that starts subagents").action(ArgAction::SetTrue),
        flag("no-spill", "Do not save the whole output").action(ArgAction::SetTrue),
    ]
}

fn is_common(key: &str) -> bool {
    matches!(
        key,
        "max_lines" | "max_bytes" | "max_tokens" | "strategy" | "preset"
    )
}

fn value_name(key: &str) -> &'static str {
    match key {
        "strategy" | "preset" | "encoding" => "NAME",
        "journal" => "ON|OFF",
        "store_dir" => "DIR",
        _ => "N",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_whatever_is_typed_around_it() {
        let is_hook = |line: &str| names_hook(line.split(' ').map(OsString::from));
        for line in [
            "hook",
            "hook claude --nosuch",
            "--root /p hook nobody",
            "--root=/p --no-spill hook",
            "--nosuch hook claude",
            "--nosuch 5 hook claude",
            "--strategy tail hook claude",
        ] {
            assert!(is_hook(line), "{line}");
        }
        for line in [
            "grep hook",
            "--root hook grep x",
            "--root /p grep hook",
            "--no-spill run -- hook",
            "--format json truncate hook",
            "hooks",
            "",
        ] {
            assert!(!is_hook(line), "{line}");
        }
    }

    #[test]
    fn a_default_of_a_commands_own_is_one_of_a_setting() {
        let command = command();
        for (name, key, default) in OWN_DEFAULTS {
            let own = command.find_subcommand(name).unwrap();
            let mut flags = own.get_arguments();
            let flag = flags.find(|arg| arg.get_id() == key).unwrap();
            let help = flag.get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{help}");
        }
        let run = overspill::Settings::new().effective("Run");
        assert_eq!(OWN_DEFAULTS[0].2, run.strategy().name());
    }
}
