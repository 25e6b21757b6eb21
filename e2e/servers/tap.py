#!/usr/bin/env python3
"""Stands between an agent and its MCP server and notes, line by line, what the server says: `tap.py FILE CMD…`."""

import subprocess
import sys

child = subprocess.Popen(sys.argv[2:], stdin=sys.stdin.buffer, stdout=subprocess.PIPE)
with open(sys.argv[1], "ab") as notes:
    for line in child.stdout:
        notes.write(line)
        notes.flush()
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
sys.exit(child.wait())
