//! The program from outside: what is typed, what comes out, what is on the disk afterwards.
//!
//! One binary, one module for each thing a user does. Every test runs the real program in a [`support::Sandbox`].

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, and so may what it calls"
)]

/// A scratch root, a scrubbed environment, a command, and words that stay the same from run to run.
mod support;

/// A client of MCP, over pipes and over HTTP.
mod peer;

/// Settings: where they come from, who wins, and what is said of a wrong one.
mod config;
/// Envelopes in, envelopes out: SPEC section 5.
mod envelope;
/// The tools that look at files, for agents and for people.
mod files;
/// Completions, manual page, help.
mod generate;
/// Searching: every answer of `Grep` as a whole, and every wrong call.
mod grep;
/// Searching: order, pages and limits.
mod grep_pages;
/// Searching: patterns, both engines, and time.
mod grep_patterns;
/// Searching in trees that are out to make trouble, beside ripgrep.
mod grep_tree;
/// Hooks of coding agents: their shapes, hostile inputs, and every way not to break an agent.
mod hook;
/// The proxy before the servers of an agent, and away again: every format, byte for byte.
mod install;
/// The map of a code base, and its cache.
mod map;
/// The MCP server: both wires, tools, resources, what each client is sent, and who may call over HTTP.
mod mcp;
/// The MCP proxy: what passes byte for byte, what is bounded, and every way for a client or a server to go.
mod proxy;
/// The MCP proxy before a server at an address: tokens, gateways, streams that break off.
mod proxy_http;
/// A command under overspill: exit codes, signals, streams, control codes.
mod run;
/// The tool `Run`: exit codes, time limits, what it leaves behind, where it runs.
mod run_tool;
/// Ways out of the root, none of which may lead anywhere.
mod sandbox;
/// Getting at what was saved.
mod show;
/// The journal, `stats`, and the log.
mod stats;
/// The store: what is in it, what stays, what goes, and what happens when it cannot be written.
mod store;
/// Summaries by a model, and every way for it to fail.
mod summarize;
/// Bounding a file or a pipe.
mod truncate;
