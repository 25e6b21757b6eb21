"""An MCP server over HTTP on loopback, for the time of a `with` block."""

import os
import signal
import socket
import subprocess
import tempfile
import time


class Server:
    """A command that serves at a free port, which `PORT` in it and in its environment stands for."""

    def __init__(self, command, cwd=None, env=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.command = [part.replace("PORT", str(self.port)) for part in command]
        self.cwd, self.env = cwd, {**(env or os.environ), "PORT": str(self.port)}

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            self.command, cwd=self.cwd, env=self.env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
        )
        for _ in range(300):
            if self.child.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f"{self.command[0]} does not serve: {self.said()[-500:]}")

    def said(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def __exit__(self, *_):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
