"""MCP over stdio, line by line: what a server says, to the byte."""

import json
import os
import queue
import signal
import subprocess
import threading


class Wire:
    """A server that was started and greeted, for the time of a `with` block."""

    def __init__(self, command, cwd=None, env=None, version="2025-11-25"):
        self.command = [str(part) for part in command]
        self.cwd, self.env, self.version = cwd, env, version
        self.lines, self.last = queue.Queue(), 0

    def __enter__(self):
        self.child = subprocess.Popen(
            self.command, cwd=self.cwd, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )
        threading.Thread(target=self.read, daemon=True).start()
        hello = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        self.greeting = self.ask("initialize", hello)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def say(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method, params=None, seconds=60):
        """Returns the line that answers; what else the server says in between is passed over."""
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}})
        while line := self.lines.get(timeout=seconds):
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return line
        raise RuntimeError(f"{self.command[0]} went away at {method}")

    def call(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def text_of(result):
    """The text of a result of a call."""
    return "\n".join(block["text"] for block in result.get("content", []) if block.get("type") == "text")
