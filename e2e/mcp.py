"""MCP: what the model is shown through `overspill proxy`, and by `overspill mcp`.

A tap behind the agent notes what our program sent, so that "untouched by the agent" is a comparison and not a search for the
words of a cut. What an agent puts around a result, such as its time, is its own affair.
"""

import json
import re
import shutil
import sys
from pathlib import Path

from hooks import LOUD, NEEDLE, ROOM, is_cut_by_agent, is_ours, rows, spill_of

HERE = Path(__file__).resolve().parent
ROW = re.compile(r"row (\d+): all is well")
MATCH = re.compile(r"^(\S+?):(\d+): (.*)$", re.MULTILINE)

# Two ways to say what is kept: a flag in the server's entry, and a rule for the server in the configuration.
FLAGS = {"heads": ["--strategy", "head"], "tails": ["--strategy", "tail"], "smarts": []}
RULES = "tool_output_limits: {tools: {'mcp__smarts__*': {strategy: smart}}}\n"


def tapped(bench, name, *command):
    """A server's command with a tap before it, which writes to a file of this name."""
    return [sys.executable, str(HERE / "servers" / "tap.py"), str(bench.scratch / f"{bench.case}-{name}.jsonl"), *command]


def proxied(bench):
    big = [sys.executable, str(HERE / "servers" / "big.py")]
    return {
        name: tapped(bench, name, "overspill", "proxy", "--name", name, *flags, "--", *big)
        for name, flags in FLAGS.items()
    }


def sent(bench, name):
    """The results of calls that our program sent, in their order."""
    file = bench.scratch / f"{bench.case}-{name}.jsonl"
    messages = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [message["result"] for message in messages if "content" in message.get("result", {})]


def check_untouched(bench, name, result, text):
    """All that we sent is in what the model was shown, to the letter."""
    ours = [block["text"] for block in result["content"] if block["type"] == "text"]
    structured = result.get("structuredContent")
    # Gemini shows a failed call as JSON.
    is_shown = all(part in text or json.dumps(part, ensure_ascii=False)[1:-1] in text for part in ours)
    is_whole = is_shown or (structured is not None and is_json_of(structured, text))
    bench.check(f"{name}: shown as we sent it", is_whole and ours, text)
    bench.check(f"{name}: not cut by the agent", not is_cut_by_agent(bench, text), text)
    bench.check(f"{name}: within its room", len(text) <= ROOM[bench.agent.name] + 200, text)


def is_json_of(value, text):
    """Whether a text is this value in JSON, behind what the agent may have put before it."""
    try:
        return json.loads(text[text.index("{"):]) == value
    except ValueError:
        return False


def keeps(strategy, text):
    """Whether a preview of `big` is what this strategy keeps."""
    shown = [int(number) for number in ROW.findall(text)]
    if not shown:
        return False
    has_start, has_end, is_one_run = shown[0] == 1, shown[-1] == 6000, shown == list(range(shown[0], shown[-1] + 1))
    return {
        "heads": has_start and not has_end and is_one_run,
        "tails": has_end and not has_start and is_one_run,
        "smarts": has_start and has_end and NEEDLE in text,
    }[strategy]


def on_spill(agent, server, tool, at, **arguments):
    """A step that asks for a part of the whole that an earlier step's notice names."""
    return lambda results: (agent.mcp_tool(server, tool), {"id": spill_of(results[at].text) or "none", **arguments})


def proxy_bounds(bench):
    """215 KB by each strategy, and then the lines that were left out."""
    agent = bench.agent
    steps = [(agent.mcp_tool(server, "big"), {}) for server in FLAGS]
    for at, server in enumerate(FLAGS):
        steps.append(on_spill(agent, server, "overspill_grep", at, pattern="needle"))
        steps.append(on_spill(agent, server, "overspill_read", at, offset=3000, limit=3))
    session = bench.run(steps, servers=proxied(bench), files={"overspill.yaml": RULES})
    for at, server in enumerate(FLAGS):
        text, results = bench.text(session, at), sent(bench, server)
        bench.check(f"{server}: bounded by us", is_ours(text), text)
        bench.check(f"{server}: what the strategy keeps", keeps(server, text), text)
        if results:
            check_untouched(bench, server, results[0], text)
        check_spill(bench, server, text, *(bench.text(session, 3 + 2 * at + step) for step in range(2)))


def check_spill(bench, server, text, grep, read):
    path = spill_of(text)
    whole = Path(path).read_text() if path else ""
    bench.check(f"{server}: the spill is complete", whole == "\n".join(rows()) + "\n", whole)
    bench.check(f"{server}: overspill_grep finds the line", NEEDLE in grep and "3001" in grep and "row 1:" not in grep, grep)
    wanted = rows()[2999:3002]
    others = [row for row in (rows()[2998], rows()[3002]) if row in read]
    bench.check(f"{server}: overspill_read shows the lines", all(row in read for row in wanted) and not others, read)


def proxy_shapes(bench):
    """Several blocks, structuredContent and a failed call, which agents show in ways of their own."""
    agent = bench.agent
    names = ["parts", "structured", "failing"]
    servers = {"smarts": proxied(bench)["smarts"]}
    session = bench.run([(agent.mcp_tool("smarts", name), {}) for name in names], servers=servers, files={"overspill.yaml": RULES})
    for at, (name, result) in enumerate(zip(names, sent(bench, "smarts"))):
        text = bench.text(session, at)
        ours = "".join(block.get("text", "") for block in result["content"])
        bench.check(f"{name}: bounded by us", is_ours(ours) and NEEDLE in ours, ours)
        check_untouched(bench, name, result, text)


def proxy_small(bench):
    """A small result reaches the model as without the proxy."""
    agent, steps = bench.agent, []
    for name in ("big", "parts", "structured", "failing"):
        steps.append((agent.mcp_tool("heads", name), {"lines": 5}))
    plain = bench.run(steps, servers={"heads": [sys.executable, str(HERE / "servers" / "big.py")]})
    session = bench.run(steps, servers={"heads": proxied(bench)["heads"]})
    for at, (name, _) in enumerate(steps):
        same = without_times(bench.text(plain, at)) == without_times(bench.text(session, at))
        bench.check(f"{name}: as without the proxy", same, bench.text(session, at))


def without_times(text):
    return re.sub(r"Wall time: \S+", "", text)


def tree(bench):
    """A copy of this repository, since spills go below the root."""
    to = bench.scratch / "tree"
    if not to.exists():
        shutil.copytree(HERE.parent, to, ignore=shutil.ignore_patterns(".git", "target", "tool-output", "__pycache__", "node_modules"))
    return to


def server_tools(bench):
    """`overspill mcp` on this repository: Grep and Read, and the pages behind the first ones."""
    agent, root = bench.agent, tree(bench)
    grep, read = agent.mcp_tool("o", "Grep"), agent.mcp_tool("o", "Read")
    functions, lock = {"pattern": "fn ", "path": "crates", "limit": 5000}, {"path": "Cargo.lock"}

    def following(tool, arguments, at):
        return lambda results: (tool, {**arguments, "offset": next_offset(results[at].text)})

    steps = [
        (grep, {"pattern": "fn main", "path": "xtask"}), (read, {"path": "LICENSE-APACHE", "offset": 100, "limit": 3}),
        (grep, functions), following(grep, functions, 2), (read, lock), following(read, lock, 4),
    ]
    session = bench.run(steps, servers={"o": tapped(bench, "o", "overspill", "mcp")}, project=root)
    texts = [bench.text(session, at) for at in range(len(steps))]
    for at, result in enumerate(sent(bench, "o")):
        check_untouched(bench, f"call {at + 1}", result, texts[at])
    main = (root / "xtask" / "src" / "main.rs").read_text().splitlines().index("fn main() -> ExitCode {") + 1
    bench.check("Grep: the right line", f"xtask/src/main.rs:{main}: fn main() -> ExitCode {{" in texts[0], texts[0])
    license = (root / "LICENSE-APACHE").read_text().splitlines()
    bench.check("Read: the right lines", "\n".join(license[99:102]) in texts[1] and license[102] not in texts[1], texts[1])
    check_pages(bench, root, texts[2:])


def next_offset(text):
    found = re.search(r"\[Next: offset (\d+)\]", text)
    return int(found.group(1)) if found else 1


def check_pages(bench, root, texts):
    """What does not fit is a page that names the next one, and no line is lost between the two."""
    first, second = (MATCH.findall(text) for text in texts[:2])
    told = next_offset(texts[0])
    bench.check("Grep: the first page has as many matches as it tells", len(first) == told and first, texts[0])
    bench.check("Grep: every match is in the tree", all(is_in(root, match) for match in first + second), texts[1])
    bench.check("Grep: the next page has others", second and not set(first) & set(second), texts[1])
    lock = (root / "Cargo.lock").read_text().splitlines(keepends=True)
    end = next_offset(texts[2]) - 1
    bench.check("Read: the first page has the lines it tells", "\n\n" + "".join(lock[:end]).rstrip() in texts[2], texts[2])
    bench.check("Read: the next page goes on", "\n\n" + "".join(lock[end:end + 20]) in texts[3], texts[3])


def is_in(root, match):
    path, number, text = match
    return (root / path).read_text().splitlines()[int(number) - 1] == text


def server_run(bench):
    """`Run` of `overspill mcp`: bounded, and its spill is searched and read by Grep and Read."""
    agent = bench.agent

    def again(tool, **arguments):
        return lambda results: (agent.mcp_tool("o", tool), {"path": spill_of(results[0].text) or "none", **arguments})

    steps = [(agent.mcp_tool("o", "Run"), {"command": LOUD}), again("Grep", pattern="needle"), again("Read", offset=20000, limit=3)]
    session = bench.run(steps, servers={"o": tapped(bench, "o", "overspill", "mcp", "--allow-run")})
    texts = [bench.text(session, at) for at in range(len(steps))]
    for name, result, text in zip(("Run", "Grep", "Read"), sent(bench, "o"), texts):
        check_untouched(bench, name, result, text)
    bench.check("Run: bounded by us", is_ours(texts[0]) and NEEDLE in texts[0], texts[0])
    bench.check("Grep: finds the line in the spill", f":20001: {NEEDLE}" in texts[1], texts[1])
    bench.check("Read: shows the lines of the spill", f"\n20000\n{NEEDLE}\n20001" in texts[2], texts[2])


CASES = [proxy_bounds, proxy_shapes, proxy_small, server_tools, server_run]
