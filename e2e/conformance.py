#!/usr/bin/env python3
"""The MCP conformance suite: against `overspill mcp`, and the same through `overspill proxy` as without it, check by check.

    python3 e2e/conformance.py [--overspill PATH] [--cache DIR] [--record FILE]

Each server is asked by both requirement sets, directly and through the proxy. What the proxy bounds is not asked here, so that
every check has to end alike. Exit code 0: so it was; 1: not; 3: something could not be installed.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lib.agents import Missing
from lib.command import arguments, report
from lib.install import Node, Venv
from lib.serve import Server

HERE = Path(__file__).resolve().parent
SETS = ["2025-11-25", "2026-07-28"]

# What `overspill mcp` has to pass, whatever fixtures it lacks.
MUST_PASS = {
    "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection", "server-session-lifecycle", "resources-list"],
    "2026-07-28": ["tools-list", "dns-rebinding-protection", "caching", "http-header-validation", "resources-list"],
}

# Where a check ends otherwise through the proxy, by server, scenario and check, and why that is right.
KNOWN = {
    ("everything", "dns-rebinding-protection", "localhost-host-rebinding-rejected"):
        "the proxy refuses a foreign Host or Origin, also where the server behind it does not",
}


def servers(given, node, venv, scratch):
    """The servers to ask, by name: what makes one."""
    def start(*command):
        return lambda: Server([str(part) for part in command], cwd=scratch, env=node.env)

    return {
        "overspill": start(given.overspill, "mcp", "--http", "127.0.0.1:PORT"),
        "everything": start(node.bin / "mcp-server-everything", "streamableHttp"),
        "fixture": start(venv.python, HERE / "servers" / "fixture.py", "PORT"),
    }


def ask(node, url, requirements, to):
    """Runs the suite and returns its checks: scenario and id of each, and how it ended."""
    shutil.rmtree(to, ignore_errors=True)
    command = [node.bin / "conformance", "server", "--url", url, "--requirements", requirements, "-o", to]
    subprocess.run([str(part) for part in command], env=node.env, capture_output=True, timeout=400)
    checks = {}
    for file in sorted(to.glob("*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        for at, check in enumerate(json.loads(file.read_text())):
            checks[(scenario, check["id"], at)] = (check["status"], check.get("errorMessage", ""))
    return checks


def compare(server, direct, proxied):
    """The checks that ended otherwise or for another reason: those nobody knows of, and the known ones."""
    found, known = [], []
    for key in sorted(set(direct) | set(proxied)):
        before, after = direct.get(key, ("absent", "")), proxied.get(key, ("absent", ""))
        if [before[0], stable(before[1])] != [after[0], stable(after[1])]:
            reason = KNOWN.get((server, *key[:2]))
            is_known = reason and after[0] == "SUCCESS"
            (known if is_known else found).append((key, before, after, reason))
    return found, known


def stable(message):
    """What a failed check says, without the address, ids and times."""
    return re.sub(r"127\.0\.0\.1:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z?|\d+ ?ms", "…", message)


def count(checks, status):
    return sum(1 for each, _ in checks.values() if each == status)


def scenario_passes(checks, scenario):
    ends = [status for (name, _, _), (status, _) in checks.items() if name == scenario]
    return bool(ends) and "FAILURE" not in ends


def run_set(given, node, name, start, requirements, scratch):
    """Asks one server, directly and through the proxy; returns rows of what holds and what was seen."""
    with start() as server:
        direct = ask(node, server.url, requirements, scratch / f"{name}-{requirements}-direct")
        line = [str(given.overspill), "proxy", "--no-tools", "--url", server.url, "--http", "127.0.0.1:PORT"]
        with Server(line, cwd=scratch, env=node.env) as proxy:
            proxied = ask(node, proxy.url, requirements, scratch / f"{name}-{requirements}-proxied")
    found, known = compare(name, direct, proxied)
    for key, before, after, reason in known:
        print(f"  known: {key[0]} {key[1]}: {before[0]} directly, {after[0]} proxied: {reason}")
    for key, before, after, _ in found:
        print(f"  DIFFERS: {key[0]} {key[1]}: {before} directly, {after} proxied")
    totals = [f"{count(checks, 'SUCCESS')} passed, {count(checks, 'FAILURE')} failed" for checks in (direct, proxied)]
    alike = f"{name} {requirements}: {len(direct)} checks end alike ({totals[0]} directly; {totals[1]} proxied)"
    rows = [{"what": alike, "holds": direct and not found}]
    if name == "overspill":
        for scenario in MUST_PASS[requirements]:
            rows.append({"what": f"{name} {requirements}: {scenario} passes", "holds": scenario_passes(direct, scenario)})
    return rows


def main():
    given = arguments(__doc__)
    node, venv, missing, rows = Node(given.cache), Venv(given.cache), [], []
    try:
        node.ready()
        print("conformance", node.add("@modelcontextprotocol/conformance", "0.2.0-alpha.12"))
    except Missing as reason:
        return report(rows, [f"conformance suite: {reason}"], given.record)
    scratch = Path(tempfile.mkdtemp(prefix="overspill-e2e-conformance-"))
    needs = {"everything": lambda: node.add("@modelcontextprotocol/server-everything"), "fixture": lambda: venv.add("mcp")}
    for name, start in servers(given, node, venv, scratch).items():
        try:
            version = needs.get(name, str)()
        except Missing as reason:
            missing.append(f"{name}: {reason}")
            continue
        print(f"{name} {version}", flush=True)
        for requirements in SETS:
            rows += run_set(given, node, name, start, requirements, scratch)
    if not given.keep:
        shutil.rmtree(scratch, ignore_errors=True)
    return report(rows, missing, given.record)


sys.exit(main())
