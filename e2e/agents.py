#!/usr/bin/env python3
"""Tests with the real agents: Claude Code, Codex, opencode and Gemini CLI, each against a model on loopback.

    python3 e2e/agents.py [AGENT…] [--case NAME] [--overspill PATH] [--cache DIR] [--record FILE]

No key is needed, and no network beyond the npm registry. The agents are installed once, into the cache. Exit code 0: all held;
1: something did not; 3: all that ran held, but an agent could not be installed. A module of cases has a list `CASES` of functions
that take a `Bench` and is in `MODULES`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import hooks
import mcp
from lib.agents import AGENTS, Missing, clear
from lib.command import checked, parser

HERE = Path(__file__).resolve().parent
MODULES = [hooks, mcp]
SERVERS = {"t": [sys.executable, str(HERE / "servers" / "big.py")]}


class Bench:
    """What a case works with: an agent, the program, and a place to tell what it saw."""

    def __init__(self, agent, program, keep):
        self.agent, self.program, self.keep = agent, Path(program).resolve(), keep
        self.rows, self.case, self.sessions = [], "", []
        self.scratch = Path(tempfile.mkdtemp(prefix="overspill-e2e-"))
        self.project = self.scratch / "project"
        self.project.mkdir()
        # Agents find the program by its name, as users have it.
        self.bin = self.scratch / "bin"
        self.bin.mkdir()
        (self.bin / "overspill").symlink_to(self.program)

    def overspill(self, *arguments):
        path = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run(["overspill", *arguments], env=path, capture_output=True, text=True, check=True).stdout

    def run(self, steps, files=None, git=False, project=None, rules=None, servers=None, **how):
        """Runs the agent in a project of its own, with these files in it. `rules` are what the user allows and denies."""
        project = Path(project) if project else Path(tempfile.mkdtemp(dir=self.scratch))
        for name, text in (files or {}).items():
            (project / name).write_text(text)
        if git:
            subprocess.run(["git", "init", "--quiet", project], check=True)
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        usual = vars(self.agent).copy()
        vars(self.agent).update(rules or {})
        try:
            session = self.agent.run(steps, servers=servers or SERVERS, env=env, project=project, **how)
        finally:
            vars(self.agent).clear()
            vars(self.agent).update(usual)
        self.sessions.append(session)
        if len(session.results) < session.planned:
            self.check(f"all {session.planned} steps were taken", False, f"{session.code}: {session.log[-600:]}")
        return session

    def text(self, session, at):
        return session.texts[at] if at < len(session.texts) else ""

    def check(self, what, holds, saw, known=None):
        """Notes whether something holds. `known` is why it may not: it is told, and fails nothing."""
        row = {"agent": self.agent.name, "case": self.case, "what": what, "holds": bool(holds), "known": known, "saw": saw}
        self.rows.append(row)
        word = "ok  " if holds else "KNOWN" if known else "FAIL"
        print(f"  {word} {what} ({len(saw)} chars){f': {known}' if known and not holds else ''}", flush=True)
        if not holds and not known:
            print(f"       saw: {saw[:300]!r} … {saw[-300:]!r}", flush=True)

    def close(self):
        if not self.keep:
            for session in self.sessions:
                clear(session)
            shutil.rmtree(self.scratch, ignore_errors=True)


def arguments():
    options = parser(__doc__)
    options.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(AGENTS))
    options.add_argument("--case", help="only the cases whose names contain this")
    given = checked(options)
    unknown = [name for name in given.agents if name not in AGENTS]
    if unknown:
        options.error(f"no agent {unknown[0]!r}")
    return given


def run_agent(name, given):
    """Runs every case with an agent; returns what was checked, and whether the agent was there."""
    agent = AGENTS[name](given.cache)
    try:
        version = agent.install()
    except Missing as missing:
        print(f"\n!!! {name} CANNOT BE INSTALLED AND IS NOT TESTED: {missing}\n", flush=True)
        return [], False
    print(f"\n{name} {version}", flush=True)
    bench = Bench(agent, given.overspill, given.keep)
    try:
        for case in (case for module in MODULES for case in module.CASES):
            is_for_it = getattr(case, "only", name) == name
            if is_for_it and (not given.case or given.case in f"{case.__module__}.{case.__name__}"):
                bench.case = f"{case.__module__}.{case.__name__}"
                print(f" {bench.case}", flush=True)
                case(bench)
    finally:
        bench.close()
    return bench.rows, True


def main():
    given = arguments()
    rows, missing = [], []
    for name in given.agents or AGENTS:
        seen, is_there = run_agent(name, given)
        rows += seen
        if not is_there:
            missing.append(name)
    if given.record:
        Path(given.record).write_text(json.dumps(rows, indent=1, ensure_ascii=False))
    failed = [row for row in rows if not row["holds"]]
    known = [row for row in failed if row["known"]]
    print(f"\n{len(rows) - len(failed)} of {len(rows)} checks hold")
    if known:
        print(f"!!! KNOWN NOT TO HOLD: {len(known)}")
    if missing:
        print(f"!!! NOT TESTED, SINCE NOT INSTALLED: {', '.join(missing)}")
    return 1 if len(failed) > len(known) else 3 if missing else 0


sys.exit(main())
