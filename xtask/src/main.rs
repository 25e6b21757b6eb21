//! The project's chores: `cargo xtask test`, `e2e`, `docs` and `bench`.
//!
//! Runs cargo and the program as a user would. The engine is linked for one thing: measuring what `smart` keeps, evidence by
//! evidence.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

mod bench;
mod docs;
mod e2e;
mod ripgrep;
mod test;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  test           check everything: format, lints, tests, docs, generated files, release binary, fuzz targets
  e2e            test with real agents, clients and servers, and the MCP conformance suite; installs them under target/
  docs           write the generated files under docs/
  docs --check   tell whether they are current
  bench [NAME]   measure what the README claims; without a name, list what can be measured";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["test"] => test::run(),
        ["e2e"] => e2e::run(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["bench"] => bench::list(),
        [bench::mcp::SERVE] => bench::mcp::serve(),
        ["bench", name] => bench::run(name),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
