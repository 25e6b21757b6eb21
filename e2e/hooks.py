"""Hooks: what the model is shown of what an agent's own tools return.

Each case is a function of a `Bench` that runs the real agent and tells what it saw by `bench.check`. What a case expects of each
agent is the table in the README. A case with `only` is for that agent.
"""

import re
from pathlib import Path

NEEDLE = "error: the needle is in the middle"
LOUD = f"seq 1 20000; echo '{NEEDLE}'; seq 20001 40000"
LOUD_OUTPUT = "".join(f"{n}\n" for n in range(1, 20001)) + NEEDLE + "\n" + "".join(f"{n}\n" for n in range(20001, 40001))
SAVED = "Full output saved to: "
SPILL = re.compile(re.escape(SAVED) + r"(\S*tool-output/tool_\d{8}_\d{6}_\w+\.txt)")

# Words by which each agent tells of a cut of its own.
OWN_CUTS = {
    "claude": ["<persisted-output>", " characters truncated] ..."],
    "codex": ["Warning: truncated output", "tokens truncated"],
    "opencode": ["...output truncated...", "/opencode/tool-output/"],
    "gemini": ["Output too large."],
}

# The most chars of a message of ours, by the table CUTS of the program.
ROOM = {"claude": 48_000, "codex": 9_500, "opencode": 49_000, "gemini": 38_000}


def rows(count=6000):
    """What the server `big` returns."""
    rows = [f"row {n}: all is well with this one" for n in range(1, count + 1)]
    rows[count // 2] = NEEDLE
    return rows


def hook_of(bench):
    """The hook's command, or the plugin's text for opencode."""
    if bench.agent.name == "opencode":
        return bench.overspill("hook", "opencode", "--plugin")
    return f"overspill hook {bench.agent.name}"


def is_ours(text):
    return SPILL.search(text) is not None


def is_cut_by_agent(bench, text):
    return any(words in text for words in OWN_CUTS[bench.agent.name])


def check_bounded(bench, name, session, at, whole=None):
    """The model was shown our message, all of it, and the spill has all that the tool returned."""
    text = bench.text(session, at)
    bench.check(f"{name}: bounded by us", is_ours(text), text)
    bench.check(f"{name}: not cut again", not is_cut_by_agent(bench, text), text)
    bench.check(f"{name}: within its room", len(text) <= ROOM[bench.agent.name], text)
    bench.check(f"{name}: what matters is there", NEEDLE in text, text)
    path = spill_of(text)
    if whole is not None and path:
        saved = Path(path).read_text()
        bench.check(f"{name}: the spill is complete", whole in saved or saved in kept_by_agent(session), text)


def kept_by_agent(session):
    """The files of whole outputs that opencode wrote. It loses the end of some, so that more than these cannot be saved."""
    files = session.scratch.glob("home/.local/share/opencode/tool-output/tool_*")
    return [file.read_text() for file in files]


def spill_of(text):
    found = SPILL.search(text)
    return found and found.group(1)


def shell(bench, command):
    return (bench.agent.shell, {bench.agent.shell_key: command, **bench.agent.shell_extra})


def large_results(bench):
    """A shell's output and MCP results of three shapes, 215 KB and more."""
    agent = bench.agent
    mcp = [(agent.mcp_tool("t", name), {}) for name in ("big", "parts", "structured")]
    session = bench.run([shell(bench, LOUD), *mcp], hook=hook_of(bench))
    if agent.name == "codex":
        text = bench.text(session, 0)
        bench.check("shell: cut by Codex before any hook, and left alone", not is_ours(text) and is_cut_by_agent(bench, text), text)
    else:
        check_bounded(bench, "shell", session, 0, LOUD_OUTPUT.rstrip("\n"))
    text = "\n".join(rows())
    check_bounded(bench, "mcp text", session, 1, text)
    check_bounded(bench, "mcp blocks", session, 2, text)
    check_bounded(bench, "mcp structured", session, 3)
    bench.check("gemini calls it an error, the others do not", session.results[1].is_error == (agent.name == "gemini"), text)


def failed_commands(bench):
    """A command that fails after much output: the notice says so where the agent lets us."""
    session = bench.run([shell(bench, LOUD + "; exit 3")], hook=hook_of(bench))
    text = bench.text(session, 0)
    if bench.agent.name in ("claude", "codex"):
        bench.check("a failed command: left to the agent", not is_ours(text), text)
    else:
        check_bounded(bench, "a failed command", session, 0, LOUD_OUTPUT.rstrip("\n"))
        bench.check("a failed command: not called a success", "The tool call succeeded" not in text, text)


def small_results(bench):
    """Within the limits everything is as without a hook."""
    agent = bench.agent
    steps = [shell(bench, "echo one; echo two"), (agent.mcp_tool("t", "big"), {"lines": 5}), (agent.mcp_tool("t", "failing"), {"lines": 5})]
    plain, hooked = bench.run(steps), bench.run(steps, hook=hook_of(bench))
    for at in range(len(steps)):
        same = stable(bench.text(plain, at)) == stable(bench.text(hooked, at))
        bench.check(f"small result {at + 1}: as without a hook", same, bench.text(hooked, at))


def stable(text):
    """A result without what differs from run to run."""
    return re.sub(r"Wall time: \S+|Chunk ID: \S+|PGID: \d+|/tmp/\S+", "", text)


def hints(bench):
    """The model does what the notice says, and finds the line."""
    agent = bench.agent

    def told(results):
        line = re.search(r"In a shell: (.+) --grep PATTERN", results[0].text)
        return shell(bench, f"{line.group(1) if line else 'false'} --grep needle")

    def read(results):
        path = spill_of(results[0].text)
        return {
            "claude": ("Read", {"file_path": path, "offset": 3000, "limit": 3}),
            "opencode": ("read", {"filePath": path, "offset": 3000, "limit": 3}),
        }[agent.name]

    has_reader = agent.name in ("claude", "opencode")
    session = bench.run([(agent.mcp_tool("t", "big"), {}), told, *([read] if has_reader else [])], hook=hook_of(bench), git=True)
    bench.check("hint: `overspill show --grep` finds the line", NEEDLE in bench.text(session, 1), bench.text(session, 1))
    named = [tool for tool in ("Grep", "Read", "grep", "read", "read_file", "grep_search") if f"Use {tool} " in bench.text(session, 0)]
    bench.check("hint: names only tools that the agent has", all(tool in session.tools for tool in named), ", ".join(named))
    if has_reader:
        bench.check("hint: the agent's own reader shows the line", NEEDLE in bench.text(session, 2), bench.text(session, 2))


def trouble(bench):
    """A configuration that cannot be read, and a store that cannot be written: the agent goes on."""
    agent = bench.agent
    steps = [(agent.mcp_tool("t", "big"), {"lines": 100}), (agent.mcp_tool("t", "big"), {})]
    session = bench.run(steps, hook=hook_of(bench), files={"overspill.yaml": "max_lines: [no"})
    bench.check("broken configuration: the small result is whole", rows(100)[99] in bench.text(session, 0), bench.text(session, 0))
    bench.check("broken configuration: the large one is the agent's own affair", not is_ours(bench.text(session, 1)), bench.text(session, 1))
    session = bench.run(steps, hook=hook_of(bench), files={"tool-output": "in the way"})
    text = bench.text(session, 1)
    bench.check("store in the way: bounded, and said so", "full output was not saved" in text and NEEDLE in text, text)


def claude_tools(bench):
    """Claude Code's Read and Grep keep their shape."""
    limits = "tool_output_limits: {tools: {Read: {max_lines: 50}}}\n"
    files = {"overspill.yaml": limits, "big.txt": "\n".join(rows(1500)) + "\n"}
    steps = [
        ("Read", {"file_path": str(bench.project / "big.txt")}),
        ("Grep", {"pattern": "row", "output_mode": "content", "head_limit": 0, "path": str(bench.project / "big.txt")}),
    ]
    session = bench.run(steps, hook=hook_of(bench), files=files, project=bench.project)
    read, grep = (bench.text(session, at) for at in range(2))
    bench.check("Read: bounded by the user's limit", is_ours(read) and "row 50:" in read and "row 51:" not in read, read)
    bench.check("Grep: bounded below Claude Code's cut", is_ours(grep) and not is_cut_by_agent(bench, grep), grep)


def claude_streams(bench):
    """Both streams of a command of Claude Code's share the room, however it hands them over."""
    session = bench.run([("Bash", {"command": f"{LOUD}; ({LOUD}) >&2"})], hook=hook_of(bench))
    text = bench.text(session, 0)
    bench.check("both streams: bounded by us", is_ours(text) and NEEDLE in text, text)
    bench.check("both streams: not cut again", not is_cut_by_agent(bench, text) and len(text) <= 30_000, text)


def opencode_tools(bench):
    """opencode's read under a limit of the user."""
    files = {"overspill.yaml": "tool_output_limits: {tools: {read: {max_lines: 50}}}\n", "big.txt": "\n".join(rows(1500)) + "\n"}
    session = bench.run([("read", {"filePath": str(bench.project / "big.txt")})], hook=hook_of(bench), files=files, project=bench.project)
    text = bench.text(session, 0)
    bench.check("read: bounded by the user's limit", is_ours(text) and "row 40:" in text and "row 60:" not in text, text)


def wrapping(bench):
    """Claude Code's shell commands under `overspill run`, for those who ask for it. It grants nothing."""
    before = "overspill hook claude --wrap-shell"
    loud = ("Bash", {"command": LOUD + "; exit 3"})
    session = bench.run([loud, ("Bash", {"command": "echo 'a b' >&2; exit 5"})], before=before)
    text = bench.text(session, 0)
    bench.check("wrapped: a failed command is bounded too", is_ours(text) and NEEDLE in text and not is_cut_by_agent(bench, text), text)
    bench.check("wrapped: its exit code stays", "Exit code 3" in text, text)
    bench.check("wrapped: stderr and exit code stay", "a b" in bench.text(session, 1) and "5" in bench.text(session, 1), bench.text(session, 1))
    seq = ("Bash", {"command": "seq 1 3"})
    session = bench.run([seq], before=before, rules={"allowed": ["Bash(seq:*)"]})
    bench.check("wrapped: it is not allowed by a rule for the command", session.results[0].is_error, bench.text(session, 0))
    session = bench.run([seq], before=before, rules={"denied": ["Bash(seq:*)"]})
    bench.check("wrapped: nor denied by one, as the README warns", not session.results[0].is_error, bench.text(session, 0))


claude_tools.only = claude_streams.only = wrapping.only = "claude"
opencode_tools.only = "opencode"
CASES = [large_results, failed_commands, small_results, hints, trouble, claude_tools, claude_streams, opencode_tools, wrapping]
