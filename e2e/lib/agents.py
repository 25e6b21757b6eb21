"""The real agents: how each is installed, set up and run. Hooks are set up as the README says.

An agent runs headless in a home of its own, with its model on loopback. What a test hands over is the same for all: the
steps of the model, MCP servers, hooks. Each agent writes it into its own configuration.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .model import Model, Script


class Missing(Exception):
    """The agent cannot be installed here."""


class Session:
    """What came of a run."""

    def __init__(self, script, code, log, seconds, project):
        self.results = script.results
        self.texts = [result.text for result in script.results]
        self.tools = sorted(name for name in script.tools if name)
        self.planned = len(script.steps)
        self.code, self.log, self.seconds, self.project = code, log, seconds, project


class Agent:
    """One agent. `hook` is the command of a hook behind every tool, `before` of one before it."""

    name = package = program = None
    # The name of its shell tool, the parameter that has the command, and what else the tool wants.
    shell = shell_key = None
    shell_extra = {}

    def __init__(self, cache):
        self.dir = Path(cache) / self.name

    def install(self):
        """Installs the newest version by npm, once. The tag keeps npm from an older one that asks for less of Node."""
        self.exe = self.dir / "node_modules" / ".bin" / self.program
        if not self.exe.exists():
            self.dir.mkdir(parents=True, exist_ok=True)
            (self.dir / "package.json").write_text("{}")
            npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"{self.package}@latest"]
            try:
                done = subprocess.run(npm, cwd=self.dir, capture_output=True, text=True, timeout=600)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Missing(f"{self.package}: {error}") from error
            if done.returncode or not self.exe.exists():
                raise Missing(f"{self.package}: npm says: {done.stderr.strip()[-300:]}")
            self.after_install()
        return self.version()

    def after_install(self):
        """Does what npm leaves undone, since it does not run the scripts of packages unasked."""

    def version(self):
        file = self.dir / "node_modules" / self.package / "package.json"
        return json.loads(file.read_text())["version"]

    def mcp_tool(self, server, tool):
        """The name the model calls an MCP tool by."""
        raise NotImplementedError

    def configure(self, home, project, url, servers, hook, before):
        """Writes the agent's configuration and returns its command line and environment."""
        raise NotImplementedError

    def run(self, steps, servers=None, hook="", before="", env=None, seconds=150, project=None):
        """Lets the agent live through a script. `servers` are command lines by name."""
        script = Script(steps)
        scratch = Path(tempfile.mkdtemp(prefix=f"overspill-e2e-{self.name}-"))
        home = scratch / "home"
        project = Path(project) if project else scratch / "project"
        for path in (home, project):
            path.mkdir(parents=True, exist_ok=True)
        # A login shell forgets the path it was given.
        (home / ".profile").write_text(f"PATH='{(env or os.environ)['PATH']}'\n")
        start = time.monotonic()
        with Model(script) as model:
            command, extra = self.configure(home, project, model.url, servers or {}, hook, before)
            plain = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "NO_COLOR": "1"}
            code, log = _run(command, project, {**plain, **extra, **(env or {})}, seconds)
        session = Session(script, code, log, time.monotonic() - start, project)
        session.scratch = scratch
        return session


def _run(command, cwd, env, seconds):
    """Runs to the end or to the time limit; nothing is left behind."""
    child = subprocess.Popen(
        [str(part) for part in command], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=seconds)
        code = child.returncode
    except subprocess.TimeoutExpired:
        code, output = "timeout", b""
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if code == "timeout":
        output, _ = child.communicate()
    return code, output.decode("utf-8", "replace")


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1))


class Claude(Agent):
    name, package, program = "claude", "@anthropic-ai/claude-code", "claude"
    shell, shell_key = "Bash", "command"

    # What the user allows beside the servers' tools, and what not.
    allowed = ["Bash", "Read", "Grep", "Glob"]
    denied = []

    def after_install(self):
        script = self.dir / "node_modules" / self.package / "install.cjs"
        if script.exists():
            subprocess.run(["node", script.name], cwd=script.parent, capture_output=True, timeout=300)

    def mcp_tool(self, server, tool):
        return f"mcp__{server}__{tool}"

    def configure(self, home, project, url, servers, hook, before):
        hooks = {}
        for event, command in (("PostToolUse", hook), ("PreToolUse", before)):
            if command:
                matcher = "Bash|Read|Grep|mcp__.*" if event == "PostToolUse" else "Bash"
                hooks[event] = [{"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 30}]}]
        write_json(home / "settings.json", {"hooks": hooks, "permissions": {"deny": self.denied}})
        listed = {name: {"command": line[0], "args": line[1:]} for name, line in servers.items()}
        write_json(home / "mcp.json", {"mcpServers": listed})
        allowed = self.allowed + [f"mcp__{name}" for name in servers]
        command = [
            self.exe, "-p", "go", "--settings", home / "settings.json", "--mcp-config", home / "mcp.json",
            "--strict-mcp-config", "--allowedTools", *allowed,
        ]
        env = {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
        }
        return command, env


class Codex(Agent):
    name, package, program = "codex", "@openai/codex", "codex"
    shell, shell_key = "exec_command", "cmd"

    model = "gpt-5.1-codex"

    def mcp_tool(self, server, tool):
        return f"{server}/{tool}"

    def configure(self, home, project, url, servers, hook, before):
        lines = [
            f'model = "{self.model}"', 'model_provider = "loopback"', "[model_providers.loopback]", 'name = "loopback"',
            f'base_url = "{url}/v1"', 'wire_api = "responses"', 'env_key = "LOOPBACK_KEY"',
        ]
        for name, line in servers.items():
            lines += [f"[mcp_servers.{name}]", f"command = {json.dumps(line[0])}", f"args = {json.dumps(line[1:])}"]
        (home / "config.toml").write_text("\n".join(lines) + "\n")
        hooks = {}
        for event, command in (("PostToolUse", hook), ("PreToolUse", before)):
            if command:
                hooks[event] = [{"matcher": "Bash|mcp__.*", "hooks": [{"type": "command", "command": command}]}]
        command = [self.exe, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]
        if hooks:
            write_json(home / "hooks.json", {"hooks": hooks})
            command.append("--dangerously-bypass-hook-trust")
        return command, {"CODEX_HOME": str(home), "LOOPBACK_KEY": "none"}


class Opencode(Agent):
    name, package, program = "opencode", "opencode-ai", "opencode"
    shell, shell_key, shell_extra = "bash", "command", {"description": "x"}

    def after_install(self):
        script = self.dir / "node_modules" / self.package / "postinstall.mjs"
        if script.exists():
            subprocess.run(["node", script.name], cwd=script.parent, capture_output=True, timeout=300)

    def mcp_tool(self, server, tool):
        return f"{server}_{tool}"

    def configure(self, home, project, url, servers, hook, before):
        """`hook` is the text of a plugin here."""
        model = {"name": "m", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "loopback",
            "options": {"baseURL": f"{url}/v1", "apiKey": "none"}, "models": {"m": model},
        }
        write_json(project / "opencode.json", {
            "model": "loopback/m", "small_model": "loopback/m", "autoupdate": False, "share": "disabled",
            "permission": "allow", "provider": {"loopback": provider},
            "mcp": {name: {"type": "local", "command": line, "enabled": True} for name, line in servers.items()},
        })
        if hook:
            plugins = project / ".opencode" / "plugins"
            plugins.mkdir(parents=True, exist_ok=True)
            (plugins / "overspill.js").write_text(hook)
        return [self.exe, "run", "go"], {}


class Gemini(Agent):
    name, package, program = "gemini", "@google/gemini-cli", "gemini"
    shell, shell_key = "run_shell_command", "command"

    def mcp_tool(self, server, tool):
        return f"mcp_{server}_{tool}"

    def configure(self, home, project, url, servers, hook, before):
        hooks = {}
        for event, command in (("AfterTool", hook), ("BeforeTool", before)):
            if command:
                entry = {"type": "command", "name": "overspill", "command": command, "timeout": 30000}
                hooks[event] = [{"matcher": "run_shell_command|mcp_.*", "hooks": [entry]}]
        write_json(home / ".gemini" / "settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}, "hooksConfig": {"enabled": bool(hooks)}, "hooks": hooks,
            "mcpServers": {name: {"command": line[0], "args": line[1:], "trust": True} for name, line in servers.items()},
        })
        # A model that is named is not chosen by asking another one first.
        return [self.exe, "--yolo", "--model", "gemini-2.5-pro", "-p", "go"], {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}


AGENTS = {agent.name: agent for agent in (Claude, Codex, Opencode, Gemini)}


def clear(session):
    """Removes what a run left on the disk."""
    shutil.rmtree(session.scratch, ignore_errors=True)
