//! The agents whose configurations are known: where their files are, and how a server is written there.

use std::path::{Path, PathBuf};

use super::json::scan::Syntax;
use crate::args::AgentName;
use crate::config;

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) name: AgentName,
    /// What its makers call it.
    pub(crate) title: &'static str,
    pub(crate) dialect: Dialect,
    places: &'static [(Base, &'static str)],
}

/// Where a path starts.
#[derive(Clone, Copy, Debug)]
enum Base {
    Project,
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    UserConfig,
    /// `$CLAUDE_CONFIG_DIR`, or the home.
    Claude,
    /// `$CODEX_HOME`, or `~/.codex`.
    Codex,
}

/// How a configuration names its servers.
#[derive(Debug)]
pub(crate) struct Dialect {
    pub(crate) language: Language,
    /// The keys that lead to the table of servers; `*` is any key.
    pub(super) servers: &'static [&'static [&'static str]],
    pub(super) command: CommandForm,
    /// The keys of an address, the usual one first.
    pub(super) url: &'static [&'static str],
    /// The key of an address that is SSE, or may be, unless `type` says that it is not.
    pub(super) untold_url: Option<&'static str>,
    pub(super) headers: &'static str,
    /// The variables a server gets.
    pub(super) env: &'static str,
    /// The usual `type` of a server behind an address and of one that is started, where both may be written.
    pub(super) types: Option<[&'static str; 2]>,
}

/// The language of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Language {
    Json(Syntax),
    Toml,
}

/// How a command line is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CommandForm {
    /// `command` is the program, `args` are its arguments.
    Split,
    /// `command` is a list of both.
    List,
}

/// The keys of what an agent does itself for a server behind an address and the proxy could not: log in, mostly.
pub(super) const CLIENT_ONLY: [&str; 11] = [
    "oauth",
    "oauth_resource",
    "scopes",
    "auth",
    "authProviderType",
    "targetAudience",
    "targetServiceAccount",
    "headersHelper",
    "bearer_token_env_var",
    "env_http_headers",
    "bearer_token",
];

const MCP_SERVERS: Dialect = Dialect {
    language: Language::Json(Syntax::Commented),
    servers: &[&["mcpServers"]],
    command: CommandForm::Split,
    url: &["url"],
    untold_url: None,
    headers: "headers",
    env: "env",
    types: Some(["http", "stdio"]),
};

/// All of them.
pub(crate) static AGENTS: [Agent; 5] = [
    Agent {
        name: AgentName::Claude,
        title: "Claude Code",
        dialect: Dialect {
            language: Language::Json(Syntax::Strict),
            // Claude Code's own `mcp add` writes below the project it is called in.
            servers: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
            ..MCP_SERVERS
        },
        places: &[(Base::Project, ".mcp.json"), (Base::Claude, ".claude.json")],
    },
    Agent {
        name: AgentName::Codex,
        title: "Codex",
        dialect: Dialect {
            language: Language::Toml,
            servers: &[&["mcp_servers"]],
            headers: "http_headers",
            types: None,
            ..MCP_SERVERS
        },
        places: &[
            (Base::Project, ".codex/config.toml"),
            (Base::Codex, "config.toml"),
        ],
    },
    Agent {
        name: AgentName::Opencode,
        title: "opencode",
        dialect: Dialect {
            servers: &[&["mcp"]],
            command: CommandForm::List,
            env: "environment",
            types: Some(["remote", "local"]),
            ..MCP_SERVERS
        },
        places: &[
            (Base::Project, "opencode.json"),
            (Base::Project, "opencode.jsonc"),
            (Base::UserConfig, "opencode/opencode.json"),
            (Base::UserConfig, "opencode/opencode.jsonc"),
        ],
    },
    Agent {
        name: AgentName::Gemini,
        title: "Gemini CLI",
        dialect: Dialect {
            // Gemini CLI takes `httpUrl` for streamable HTTP. `url` was SSE, and is what `type` says by now; without one it tries
            // both, the other first.
            url: &["httpUrl", "url"],
            untold_url: Some("url"),
            ..MCP_SERVERS
        },
        places: &[
            (Base::Project, ".gemini/settings.json"),
            (Base::Home, ".gemini/settings.json"),
        ],
    },
    Agent {
        name: AgentName::Cursor,
        title: "Cursor",
        dialect: MCP_SERVERS,
        places: &[
            (Base::Project, ".cursor/mcp.json"),
            (Base::Home, ".cursor/mcp.json"),
        ],
    },
];

impl Agent {
    /// Returns the files this agent reads, those of the project first, whether they exist or not.
    pub(super) fn files(&self, root: &Path) -> Vec<PathBuf> {
        let files = self.places.iter().filter_map(|(base, path)| {
            let base = match base {
                Base::Project => Some(root.to_owned()),
                Base::Home => config::home(),
                Base::UserConfig => config::user_directory(),
                Base::Claude => config::claude_directory(),
                Base::Codex => config::codex_directory(),
            };
            Some(base?.join(path))
        });
        let mut files: Vec<PathBuf> = files.collect();
        // The project may be the home.
        files.dedup();
        files
    }
}

/// Returns an agent by its name.
pub(crate) fn named(name: AgentName) -> &'static Agent {
    let found = AGENTS.iter().find(|agent| agent.name == name);
    found.unwrap_or(&AGENTS[0])
}

/// Returns the agent whose file this is, going by its name; Cursor's stands for any `mcpServers` JSON.
pub(crate) fn of_file(path: &Path) -> &'static Agent {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    named(match name.as_ref() {
        ".mcp.json" | ".claude.json" => AgentName::Claude,
        "opencode.json" | "opencode.jsonc" => AgentName::Opencode,
        "settings.json" => AgentName::Gemini,
        name if name.ends_with(".toml") => AgentName::Codex,
        _ => AgentName::Cursor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_in_the_table_once() {
        use clap::ValueEnum as _;
        for name in AgentName::value_variants() {
            assert_eq!(named(*name).name, *name);
            for file in named(*name).files(Path::new("/p")).iter().take(1) {
                assert_eq!(of_file(file).name, *name);
            }
        }
        assert_eq!(AGENTS.len(), AgentName::value_variants().len());
    }
}
