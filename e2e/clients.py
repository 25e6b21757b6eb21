#!/usr/bin/env python3
"""Other clients and real servers: the MCP inspector, the Python client, and five servers behind the proxy.

    python3 e2e/clients.py [--overspill PATH] [--cache DIR] [--record FILE]

Exit code 0: all held; 1: something did not; 3: all that ran held, but something could not be installed.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hooks import NEEDLE, is_ours, rows, spill_of
from lib.agents import Missing
from lib.command import arguments, report
from lib.install import Node, Venv
from lib.serve import Server
from lib.wire import Wire, text_of

HERE = Path(__file__).resolve().parent
BIG = [sys.executable, str(HERE / "servers" / "big.py")]
TREE = {"one.txt": "alpha\nbeta needle\ngamma\n", "big.txt": "\n".join(rows()) + "\n"}


class Bench:
    """The program, what is installed, a project with two files and a git history, and what was seen."""

    def __init__(self, given):
        self.program, self.node, self.venv = str(given.overspill), Node(given.cache), Venv(given.cache)
        self.rows, self.missing = [], []
        self.scratch = Path(tempfile.mkdtemp(prefix="overspill-e2e-clients-")).resolve()
        self.project = self.scratch / "project"
        self.project.mkdir()
        for name, text in TREE.items():
            (self.project / name).write_text(text)
        for line in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "both"]):
            subprocess.run(["git", "-c", "user.name=e2e", "-c", "user.email=e2e@localhost", *line], cwd=self.project, check=True)

    def check(self, what, holds, saw=""):
        self.rows.append({"what": what, "holds": bool(holds), "saw": str(saw)[:2000]})
        if not holds:
            print(f"  {what}: saw {str(saw)[:600]!r}", flush=True)

    def served(self, *line):
        """Our program over HTTP."""
        return Server([self.program, *line, "--http", "127.0.0.1:PORT"], cwd=self.project)

    def need(self, install, package):
        try:
            print(f"{package} {install(package)}", flush=True)
            return True
        except Missing as reason:
            self.missing.append(str(reason))
            return False


def check_grep(bench, who, result):
    bench.check(f"{who}: Grep finds the line", "one.txt:2: beta needle" in text_of(result), result)


def check_big(bench, who, result):
    """A result of 215 KB: a preview, the notice, and a link to the whole."""
    text = text_of(result)
    bench.check(f"{who}: the big result is bounded", is_ours(text) and len(text) < 60_000, text)
    links = [block for block in result.get("content", []) if block["type"] == "resource_link"]
    bench.check(f"{who}: the whole is linked", links and links[0]["uri"].startswith("overspill://"), result)


def inspect(bench, target, *method):
    """Runs the inspector's command line and returns the JSON it prints."""
    command = [bench.node.bin / "mcp-inspector", "--cli", *target, *method]
    done = subprocess.run([str(part) for part in command], cwd=bench.project, env=bench.node.env, capture_output=True, text=True, timeout=90)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"said": done.stdout + done.stderr}


def inspector_on(bench, who, target):
    listed = inspect(bench, target, "--method", "tools/list")
    names = [tool["name"] for tool in listed.get("tools", [])]
    bench.check(f"{who}: lists the tools", {"Grep", "Read", "LS", "Glob"} <= set(names), listed)
    check_grep(bench, who, inspect(bench, target, "--method", "tools/call", "--tool-name", "Grep", "--tool-arg", "pattern=needle", "include=one.txt"))


def inspector(bench):
    """The inspector against `mcp` and `proxy`, by stdio and HTTP."""
    if not bench.need(bench.node.add, "@modelcontextprotocol/inspector"):
        return
    servers = {
        "server": {"command": bench.program, "args": ["proxy", "--", bench.program, "mcp"]},
        "big": {"command": bench.program, "args": ["proxy", "--", *BIG]},
    }
    file = bench.scratch / "inspector.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    inspector_on(bench, "inspector, mcp by stdio", [bench.program, "mcp"])
    inspector_on(bench, "inspector, mcp through the proxy", ["--config", file, "--server", "server"])
    with bench.served("mcp") as server:
        inspector_on(bench, "inspector, mcp by http", [server.url])
    result = inspect(bench, ["--config", file, "--server", "big"], "--method", "tools/call", "--tool-name", "big")
    check_big(bench, "inspector, proxy by stdio", result)


def python_client(bench, mode, calls, **server):
    plan = {**server, "mode": mode, "calls": calls, "cwd": str(bench.project)}
    command = [bench.venv.python, HERE / "lib" / "pyclient.py", json.dumps(plan)]
    done = subprocess.run([str(part) for part in command], cwd=bench.project, capture_output=True, text=True, timeout=90)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"tools": [], "results": [{}] * len(calls), "said": done.stdout + done.stderr[-1500:]}


def python_on_tools(bench, who, mode, **server):
    calls = [["Grep", {"pattern": "needle", "include": "one.txt"}], ["Read", {"path": "big.txt", "offset": 3000, "limit": 3}]]
    told = python_client(bench, mode, calls, **server)
    names = {tool["name"] for tool in told["tools"]}
    bench.check(f"{who}: lists the tools", {"Grep", "Read", "LS", "Glob"} <= names, told)
    check_grep(bench, who, told["results"][0])
    bench.check(f"{who}: Read shows the lines", "\n".join(rows()[2999:3002]) in text_of(told["results"][1]), told["results"][1])


def python_on_big(bench, who, mode, **server):
    """A big result, then its line by the extra tool, then a page of the resource that was linked."""
    told = python_client(bench, mode, [["big", {}], ["structured", {"lines": 3}]], **server)
    check_big(bench, who, told["results"][0])
    bench.check(f"{who}: a small structured result is whole", told["results"][1].get("structuredContent") == {"rows": rows(3)}, told)
    path = spill_of(text_of(told["results"][0]))
    links = [block["uri"] for block in told["results"][0].get("content", []) if block["type"] == "resource_link"]
    if not path or not links:
        return
    asked = [["overspill_grep", {"id": path, "pattern": "needle"}], [f"{links[0]}?offset=3000&limit=3", {}]]
    told = python_client(bench, mode, asked, **server)
    bench.check(f"{who}: overspill_grep finds the line", f":3001: {NEEDLE}" in text_of(told["results"][0]), told)
    page = "".join(part.get("text", "") for part in told["results"][1].get("contents", []))
    bench.check(f"{who}: resources/read shows the lines", "\n".join(rows()[2999:3002]) in page and rows()[3002] not in page, told)


def python(bench):
    """The Python client on both wires, against `mcp` and `proxy`, by stdio and HTTP."""
    if not bench.need(bench.venv.add, "mcp"):
        return
    for mode in ("legacy", "2026-07-28"):
        python_on_tools(bench, f"python {mode}, mcp by stdio", mode, command=[bench.program, "mcp"])
        python_on_tools(bench, f"python {mode}, mcp through the proxy", mode, command=[bench.program, "proxy", "--", bench.program, "mcp"])
        with bench.served("mcp") as server:
            python_on_tools(bench, f"python {mode}, mcp by http", mode, url=server.url)
            with bench.served("proxy", "--url", server.url) as proxy:
                python_on_tools(bench, f"python {mode}, mcp through the proxy by http", mode, url=proxy.url)
    python_on_big(bench, "python, proxy by stdio", "legacy", command=[bench.program, "proxy", "--", *BIG])
    python_by_http(bench)


def python_by_http(bench):
    """The proxy before a server over HTTP, for both clients."""
    with Server([str(bench.venv.python), str(HERE / "servers" / "fixture.py"), "PORT"], cwd=bench.scratch) as server:
        with bench.served("proxy", "--name", "big", "--url", server.url) as proxy:
            for mode in ("legacy", "2026-07-28"):
                python_on_big(bench, f"python {mode}, proxy by http", mode, url=proxy.url)
            check_big(bench, "inspector, proxy by http", inspect(bench, [proxy.url], "--method", "tools/call", "--tool-name", "big"))
        for mode in ("legacy", "2026-07-28"):
            python_on_big(bench, f"python {mode}, proxy by stdio before http", mode, command=[bench.program, "proxy", "--url", server.url])


def real_servers(bench):
    """The servers: what to install, the command, small calls, and a call that returns much (or none)."""
    node, venv, project = bench.node, bench.venv, str(bench.project)
    many = [{"name": f"entity {n}", "entityType": "row", "observations": ["all is well with this one"]} for n in range(1, 2001)]
    few = {"entities": many[:2]}
    return [
        ("filesystem", node.add, "@modelcontextprotocol/server-filesystem", [node.bin / "mcp-server-filesystem", project],
         [("read_text_file", {"path": f"{project}/one.txt"}), ("list_directory", {"path": project}), ("read_text_file", {"path": f"{project}/none"})],
         [("read_text_file", {"path": f"{project}/big.txt"})]),
        ("everything", node.add, "@modelcontextprotocol/server-everything", [node.bin / "mcp-server-everything", "stdio"],
         [("echo", {"message": "é\u2028\U0001f600"}), ("get-structured-content", {"location": "Chicago"}), ("get-tiny-image", {}),
          ("get-resource-links", {"count": 2}), ("get-annotated-message", {"messageType": "error", "includeImage": True}), ("nothing", {})],
         [("echo", {"message": TREE["big.txt"]})]),
        ("memory", node.add, "@modelcontextprotocol/server-memory", [node.bin / "mcp-server-memory"],
         [("create_entities", few), ("read_graph", {}), ("search_nodes", {"query": "entity 2"})],
         [("create_entities", {"entities": many}), ("read_graph", {})]),
        ("git", venv.add, "mcp-server-git", [venv.bin / "mcp-server-git"],
         [("git_status", {"repo_path": project}), ("git_log", {"repo_path": project, "max_count": 1})],
         [("git_show", {"repo_path": project, "revision": "HEAD"})]),
        ("time", venv.add, "mcp-server-time", [venv.bin / "mcp-server-time", "--local-timezone=UTC"],
         [("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}), ("get_current_time", {"timezone": "no"})],
         []),
    ]


def wire(bench, command, memory):
    return Wire(command, cwd=bench.project, env={**bench.node.env, "MEMORY_FILE_PATH": str(bench.scratch / memory)})


def same_bytes(bench, name, command, calls):
    """What is not bounded passes as it came: greeting, lists and small results, to the byte."""
    def talk(command, memory):
        with wire(bench, command, memory) as server:
            lists = [server.ask(method) for method in ("tools/list", "resources/list", "prompts/list", "ping", "no/such")]
            return [server.greeting, *lists, *(server.call(*call) for call in calls)]

    direct = talk(command, f"{name}-direct.json")
    proxied = talk([bench.program, "proxy", "--no-tools", "--", *command], f"{name}-proxied.json")
    for at, (before, after) in enumerate(zip(direct, proxied)):
        what = ["initialize", "tools/list", "resources/list", "prompts/list", "ping", "no/such"][at] if at < 6 else calls[at - 6][0]
        same = without_schemas(before) == without_schemas(after) if what == "tools/list" else before == after
        bench.check(f"{name}: {what}, {len(before)} bytes, is the same through the proxy", same, (before[:300], after[:300]))


def without_schemas(line):
    """A list of tools, in its order, without the schemas of results, which the proxy takes away since it may cut results."""
    message = json.loads(line)
    for tool in message["result"]["tools"]:
        tool.pop("outputSchema", None)
    return json.dumps(message)


def big_result(bench, name, command, calls):
    """Much is bounded, and its end is found in the spill."""
    with wire(bench, [bench.program, "proxy", "--name", name, "--", *command], f"{name}-big.json") as server:
        listed = json.loads(server.ask("tools/list"))["result"]["tools"]
        bench.check(f"{name}: the extra tools are offered", {"overspill_read", "overspill_grep"} <= {tool["name"] for tool in listed}, listed)
        for call in calls:
            line = server.call(*call)
        result = json.loads(line).get("result", {})
        check_big(bench, f"{name}, {call[0]}", result)
        bench.check(f"{name}, {call[0]}: the message is small ({len(line)} bytes)", len(line) < 120_000, line[:300])
        check_schema(bench, name, call[0], listed, result)
        found = json.loads(server.call("overspill_grep", {"id": spill_of(text_of(result)) or "none", "pattern": "the needle|entity 1999\\b"}))
        bench.check(f"{name}: overspill_grep finds the line", "Found 1 matches" in text_of(found.get("result", {})), found)


def check_schema(bench, name, tool, listed, result):
    """A tool with an outputSchema sends structuredContent with it, or its schema is not listed."""
    schema = next(each for each in listed if each["name"] == tool).get("outputSchema")
    structured = result.get("structuredContent")
    needed = set((schema or {}).get("required", []))
    holds = schema is None or (isinstance(structured, dict) and needed <= set(structured))
    bench.check(f"{name}, {tool}: structuredContent and outputSchema agree", holds, (schema, str(structured)[:200]))


def servers(bench):
    for name, install, package, command, small, big in real_servers(bench):
        if bench.need(install, package):
            same_bytes(bench, name, command, small)
            if big:
                big_result(bench, name, command, big)


def main():
    given = arguments(__doc__)
    bench = Bench(given)
    try:
        bench.node.ready()
        for part in (inspector, python, servers):
            part(bench)
    except Missing as reason:
        bench.missing.append(str(reason))
    finally:
        if not given.keep:
            shutil.rmtree(bench.scratch, ignore_errors=True)
    return report(bench.rows, bench.missing, given.record)


sys.exit(main())
