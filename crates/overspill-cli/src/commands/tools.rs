//! The tools: `overspill call` and `overspill tools` for agents, `grep`, `read`, `ls`, `glob`, `tree` and `map` for people.
//! The flags of the latter come from the schemas of the tools.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use overspill::settings::{is_same_tool, setting};
use overspill::{AnyTool, Code, Envelope, Status, ToolError, refuse};
use overspill_tools::TOOLS;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::args::{CallArgs, Format, ToolsArgs};
use crate::exit::{self, usage_error};
use crate::people;
use crate::progress::Ticker;
use crate::{config, output, signals};

/// The most JSON that a call reads from stdin.
const PARAMS_BYTES: u64 = 16 << 20;

/// A tool as a command for people.
struct Front {
    command: &'static str,
    tool: &'static str,
    about: &'static str,
    /// The parameters that are given without a flag, in this order.
    positional: &'static [&'static str],
}

const FRONTS: &[Front] = &[
    Front {
        command: "grep",
        tool: "Grep",
        about: "Search file contents, the newest files first",
        positional: &["pattern", "path"],
    },
    Front {
        command: "read",
        tool: "Read",
        about: "Read lines of a file or of a saved output",
        positional: &["path"],
    },
    Front {
        command: "ls",
        tool: "LS",
        about: "List a directory",
        positional: &["path"],
    },
    Front {
        command: "glob",
        tool: "Glob",
        about: "Find files by name, the newest first",
        positional: &["pattern", "path"],
    },
    Front {
        command: "tree",
        tool: "RepoStructure",
        about: "Show the tree of a project",
        positional: &["path"],
    },
    Front {
        command: "map",
        tool: "RepoMap",
        about: "Show the definitions of a code base that are referred to most",
        positional: &["path"],
    },
];

/// Flags that people know by a letter.
const LETTERS: &[(&str, char)] = &[
    ("context", 'C'),
    ("before", 'B'),
    ("after", 'A'),
    ("include", 'g'),
    ("case_sensitive", 's'),
    ("multiline", 'U'),
];

/// Short flags of `grep` that are values of `output_mode`.
const FILES: &str = "files_with_matches";
const COUNTS: &str = "count";

/// What a flag says that turns off what a parameter turns on.
const OPPOSITES: &[(&str, &str)] = &[(
    "total",
    "Stop once the page is full, and do not count all matches",
)];

/// Returns the commands for people.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    FRONTS.iter().filter_map(|front| {
        let schema = find(front.tool)?.schema();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
        let flags = properties(&schema)
            .filter(|(name, _)| !is_setting(name))
            .map(|(name, property)| flag(front, name, property, is_required(name)));
        let command = Command::new(front.command)
            .about(front.about)
            .args(flags.collect::<Vec<_>>())
            .arg(
                Arg::new("format")
                    .long("format")
                    .value_name("FORMAT")
                    .help("How the answer is printed: `text` for people, `json` for its data, or its `envelope`")
                    .hide_possible_values(true)
                    .value_parser(value_parser!(Format)),
            );
        Some(match front.tool {
            "Grep" => command.args(habits()),
            _ => command,
        })
    })
}

/// Returns what fingers type that know ripgrep: two letters for the modes, and two for what is so anyway.
fn habits() -> [Arg; 4] {
    let habit =
        |name: &'static str, letter: char| Arg::new(name).short(letter).action(ArgAction::SetTrue);
    [
        habit(FILES, 'l')
            .conflicts_with("output_mode")
            .help("Show only the files that match: `--output-mode files_with_matches`"),
        habit(COUNTS, 'c')
            .conflicts_with_all(["output_mode", FILES])
            .help("Show how many lines match in each file: `--output-mode count`"),
        habit("ignore_case", 'i').hide(true),
        habit("numbers", 'n').hide(true),
    ]
}

/// Tells whether a parameter is a setting that has a flag for all commands; that flag is its flag then.
fn is_setting(name: &str) -> bool {
    setting(name).is_some_and(|setting| setting.has_flag)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// Makes the flag of a parameter.
fn flag(front: &Front, name: &str, property: &Value, is_required: bool) -> Arg {
    let text = |key: &str| property.get(key).and_then(Value::as_str);
    let default = property.get("default").filter(|value| !value.is_boolean());
    let default = default.map(|value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    });
    let opposite = OPPOSITES.iter().find(|(known, _)| *known == name);
    let help = opposite.map_or(text("description"), |(_, help)| Some(*help));
    let help = help.unwrap_or_default();
    let help = match default.filter(|default| !default.is_empty()) {
        Some(default) => format!("{help} [default: {default}]"),
        None => help.to_owned(),
    };
    let id = name.to_owned();
    let arg = Arg::new(id.clone())
        .help(help)
        .value_name(id.to_uppercase());
    if let Some(at) = front.positional.iter().position(|given| *given == name) {
        return arg.index(at + 1).required(is_required);
    }
    let arg = match LETTERS.iter().find(|(known, _)| *known == name) {
        Some((_, letter)) => arg.short(*letter),
        None => arg,
    };
    let long = name.replace('_', "-");
    match text("type") {
        Some("boolean") if property.get("default") == Some(&Value::Bool(true)) => {
            arg.long(format!("no-{long}")).action(ArgAction::SetTrue)
        }
        Some("boolean") => arg.long(long).action(ArgAction::SetTrue),
        Some("integer") => arg
            .long(long)
            .value_name("N")
            .value_parser(value_parser!(u64)),
        _ => match property.get("enum").and_then(Value::as_array) {
            Some(names) => {
                let names: Vec<String> = names
                    .iter()
                    .filter_map(|name| Some(name.as_str()?.to_owned()))
                    .collect();
                arg.long(long).value_name("NAME").value_parser(names)
            }
            None => arg.long(long),
        },
    }
}

/// Runs a command for people, if that is what was given.
pub(crate) fn from_people(matches: &ArgMatches) -> Option<anyhow::Result<ExitCode>> {
    let (name, own) = matches.subcommand()?;
    let front = FRONTS.iter().find(|front| front.command == name)?;
    let tool = find(front.tool)?;
    Some(App::new(matches).and_then(|app| {
        let params = params(tool, own);
        let ticker = Ticker::new();
        let envelope = tool.call(&app.host, params);
        drop(ticker);
        let format = own.get_one::<Format>("format").copied();
        let format = format.or(matches.get_one::<Format>("format").copied());
        print(tool, &envelope, format.unwrap_or_default())
    }))
}

/// Returns the parameters that flags stand for.
fn params(tool: &dyn AnyTool, matches: &ArgMatches) -> Value {
    let schema = tool.schema();
    let mut params = Map::new();
    for (name, property) in properties(&schema).filter(|(name, _)| !is_setting(name)) {
        let value = match property.get("type").and_then(Value::as_str) {
            Some("boolean") if matches.get_flag(name) => {
                Some(json!(property.get("default") != Some(&Value::Bool(true))))
            }
            Some("boolean") => None,
            Some("integer") => matches.get_one::<u64>(name).map(|number| json!(number)),
            _ => matches.get_one::<String>(name).map(|text| json!(text)),
        };
        params.extend(value.map(|value| (name.clone(), value)));
    }
    for mode in [FILES, COUNTS] {
        if matches!(matches.try_get_one::<bool>(mode), Ok(Some(true))) {
            params.insert("output_mode".to_owned(), mode.into());
        }
    }
    Value::Object(params)
}

fn print(tool: &dyn AnyTool, envelope: &Envelope, format: Format) -> anyhow::Result<ExitCode> {
    let is_error = envelope.status == Status::Error;
    match format {
        Format::Envelope => output::print_line(&envelope.to_json())?,
        Format::Json if is_error => {
            output::print_line(&json!({ "error": envelope.error }).to_string())?;
        }
        Format::Json => output::print_line(&Value::Object(envelope.data.clone()).to_string())?,
        Format::Text if is_error => {
            drop(writeln!(
                std::io::stderr().lock(),
                "overspill: {}",
                envelope.text
            ));
        }
        Format::Text => {
            let colours = std::io::stdout().is_terminal() && config::wants_colours();
            output::print_line(&people::shown(tool.name(), envelope, colours))?;
        }
    }
    Ok(code(is_error))
}

fn code(is_error: bool) -> ExitCode {
    match is_error {
        true => ExitCode::from(exit::ANSWER),
        false => ExitCode::SUCCESS,
    }
}

/// `overspill call`: calls a tool and prints its envelope.
pub(crate) fn call(app: App, args: &CallArgs) -> anyhow::Result<ExitCode> {
    let Some(tool) = find(&args.tool) else {
        let envelope = refuse(&app.host, &args.tool, unknown(&args.tool), json!({}));
        output::print_line(&envelope.to_json())?;
        return Ok(code(true));
    };
    signals::outlive_file_limit()?;
    let host = match tool.name() {
        // Stopping us stops the command, which is in a process group of its own.
        "Run" => app.host.cancelled_by(signals::stop_flag()?),
        _ => app.host,
    };
    let text = match args.params.as_deref() {
        None => "{}".to_owned(),
        Some("-") => {
            let mut text = Vec::new();
            let mut stdin = std::io::stdin().lock().take(PARAMS_BYTES + 1);
            stdin.read_to_end(&mut text)?;
            if text.len() as u64 > PARAMS_BYTES {
                return Err(usage_error("the parameters have more than 16 MiB"));
            }
            // What is no UTF-8 is no JSON either, and is told so.
            String::from_utf8_lossy(&text).into_owned()
        }
        Some(text) => text.to_owned(),
    };
    let envelope = tool.call_json(&host, &text);
    output::print_line(&envelope.to_json())?;
    Ok(code(envelope.status == Status::Error))
}

fn find(name: &str) -> Option<&'static dyn AnyTool> {
    let tools = TOOLS.iter().copied();
    tools
        .into_iter()
        .find(|tool| is_same_tool(tool.name(), name))
}

fn unknown(name: &str) -> ToolError {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name()).collect();
    let name = &name[..name.floor_char_boundary(200)];
    ToolError::new(Code::NotFound, format!("No tool '{name}'."))
        .hint(format!("Tools: {}.", names.join(", ")))
}

/// `overspill tools`: lists the tools, or prints their schemas.
pub(crate) fn list(args: &ToolsArgs) -> anyhow::Result<ExitCode> {
    if args.json {
        let tools: Vec<Value> = TOOLS.iter().map(|tool| definition(*tool)).collect();
        output::print_line(&serde_json::to_string_pretty(&tools)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for tool in TOOLS {
        let schema = tool.schema();
        let names: Vec<&str> = properties(&schema).map(|(name, _)| name.as_str()).collect();
        let line = format!(
            "{}\n    {}\n    {}",
            tool.name(),
            tool.description(),
            names.join(", ")
        );
        output::print_line(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn definition(tool: &dyn AnyTool) -> Value {
    json!({ "name": tool.name(), "description": tool.description(), "parameters": tool.schema() })
}
