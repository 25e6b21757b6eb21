//! Two tools of one's own behind the contract: one that returns all it has and is bounded by the wrapper, and one that
//! bounds itself with a preset.
//!
//! `cargo run -p overspill --example own_tools` calls both in a temporary project and prints what an agent would read.
#![expect(clippy::print_stdout, reason = "an example shows something")]

use overspill::{Answer, AnyTool, Code, Context, Host, Outcome, Settings, Tool, ToolError, bound};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Counts upwards. It returns everything; `call` cuts it, saves the whole and says so.
struct Count;

#[derive(Deserialize, JsonSchema)]
struct CountParams {
    /// The last number
    to: u32,
}

impl Tool for Count {
    const NAME: &'static str = "Count";
    const DESCRIPTION: &'static str = "Count from 1, a number a line.";
    type Params = CountParams;

    fn run(&self, cx: &Context<'_>, params: CountParams) -> Result<Answer, ToolError> {
        let numbers: String = (1..=params.to).map(|n| format!("{n}\n")).collect();
        Ok(Answer::of_output(numbers.as_bytes(), cx.lang()))
    }
}

/// Shows the log of a service. Of a log the end matters, so it bounds itself with the preset `log`.
struct Logs;

#[derive(Deserialize, JsonSchema)]
struct LogsParams {
    /// Name of the service
    service: String,
    /// At most how many lines, instead of the preset's 500
    lines: Option<u32>,
}

impl Tool for Logs {
    const NAME: &'static str = "Logs";
    const DESCRIPTION: &'static str = "Show the last lines of a service's log.";
    type Params = LogsParams;

    fn run(&self, cx: &Context<'_>, params: LogsParams) -> Result<Answer, ToolError> {
        if params.service != "web" {
            return Err(ToolError::new(
                Code::NotFound,
                format!("No service '{}'.", params.service),
            )
            .hint("There is 'web'."));
        }
        let log: String = (1..=10_000)
            .map(|n| format!("request {n}: 200 OK\n"))
            .collect();
        let lines = params.lines.map(|lines| lines.to_string());
        let mut options = vec![("preset", "log")];
        options.extend(lines.as_deref().map(|lines| ("max_lines", lines)));
        let policy = cx
            .policy_with(&options)
            .map_err(|error| ToolError::new(Code::InvalidParam, error.to_string()))?;
        Ok(Answer::of_bounded(
            &bound(&log, &policy, Outcome::Succeeded),
            cx.lang(),
        ))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let host = Host::new(&project.path().canonicalize()?, Settings::new());
    let tools: [&dyn AnyTool; 2] = [&Count, &Logs];
    for tool in tools {
        println!("{}: {}", tool.name(), tool.schema());
    }
    let calls = [
        tools[0].call(&host, json!({ "to": 3 })),
        tools[0].call(&host, json!({ "to": 5000 })),
        tools[1].call(&host, json!({ "service": "web", "lines": 3 })),
        tools[1].call(&host, json!({ "service": "db" })),
        tools[1].call(&host, json!({ "servce": "web" })),
    ];
    for envelope in calls {
        println!("\n{:?}: {}", envelope.status, envelope.text);
        if let Some(truncation) = envelope.data.get("truncation") {
            println!("{truncation}");
        }
    }
    Ok(())
}
