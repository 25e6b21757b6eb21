"""The Python `mcp` client, run by the Python of the cache: `pyclient.py PLAN`, where PLAN is JSON.

`{"url": …}` or `{"command": […]}`, then `{"mode": …, "calls": [[tool, arguments], …]}`. A call whose tool is a URI reads the
resource. Prints what it was told as JSON.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(plan):
    server = plan.get("url") or StdioServerParameters(command=plan["command"][0], args=plan["command"][1:], cwd=plan.get("cwd"))
    async with Client(server, mode=plan["mode"]) as client:
        told = {"tools": plain(await client.list_tools())["tools"], "results": []}
        for name, arguments in plan["calls"]:
            ask = client.read_resource(name) if "://" in name else client.call_tool(name, arguments)
            told["results"].append(plain(await ask))
    print(json.dumps(told))


asyncio.run(main(json.loads(sys.argv[1])))
