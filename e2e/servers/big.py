#!/usr/bin/env python3
"""An MCP server for tests: tools that return much.

`big` returns numbered lines as text, `parts` the same as several blocks, `structured` as structuredContent too. One line of
each tells of an error, in the middle, where a cut of either end loses it.
"""

import json
import sys


def lines(count):
    rows = [f"row {n}: all is well with this one" for n in range(1, count + 1)]
    rows[count // 2] = "error: the needle is in the middle"
    return rows


def call(name, arguments):
    rows = lines(int(arguments.get("lines", 6000)))
    text = "\n".join(rows) + "\n"
    if name == "parts":
        half = len(rows) // 2
        return {"content": [{"type": "text", "text": "\n".join(part)} for part in (rows[:half], rows[half:])]}
    result = {"content": [{"type": "text", "text": text}]}
    if name == "structured":
        result["structuredContent"] = {"rows": rows}
    if name == "failing":
        result["isError"] = True
    return result


def tool(name):
    schema = {"type": "object", "properties": {"lines": {"type": "integer"}}}
    return {"name": name, "description": "Returns numbered rows.", "inputSchema": schema}


def answer(request):
    method, params = request.get("method"), request.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
            "serverInfo": {"name": "big", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [tool(name) for name in ("big", "parts", "structured", "failing")]}
    if method == "tools/call":
        return call(params.get("name"), params.get("arguments") or {})
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        continue
    if "id" not in request:
        continue
    result = answer(request)
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
