"""A model that only follows a script.

One HTTP server on loopback that speaks the four wire formats the agents use. It answers each request with the next step of
a script, and notes what the agent showed it: the results of the steps so far, and the tools it was offered. Nothing here
knows an agent; which format is spoken follows from the path of the request.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "done"


class Script:
    """The steps a model takes: `(tool, arguments)`, or a function of the results so far that returns them."""

    def __init__(self, steps):
        self.steps = list(steps)
        self.results = []
        self.tools = set()
        self.made = []
        self.lock = threading.Lock()

    def next(self, results, tools):
        """Notes what was shown and returns the next step, or nothing when the script is over."""
        with self.lock:
            self.tools |= set(tools)
            # As first shown: some agents shorten the older results of a conversation.
            self.results += results[len(self.results):]
            at = len(results)
            if at >= len(self.steps):
                return None
            while len(self.made) <= at:
                step = self.steps[len(self.made)]
                self.made.append(step(results) if callable(step) else step)
            return self.made[at]


class Model:
    """The server, for the time of a `with` block."""

    def __init__(self, script):
        class Handler(_Handler):
            pass

        Handler.script = script
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def flatten(value):
    """The text of a result as the model reads it, however it is wrapped."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(flatten(part) for part in value)
    if isinstance(value, dict):
        for key in ("text", "output", "content", "error"):
            if isinstance(value.get(key), (str, list, dict)):
                return flatten(value[key])
    return json.dumps(value, ensure_ascii=False)


class Result:
    """One result as the agent sent it: its text, and what it was wrapped in."""

    def __init__(self, raw, text=None):
        self.raw = raw
        self.text = flatten(raw) if text is None else text

    @property
    def is_error(self):
        return isinstance(self.raw, dict) and bool(self.raw.get("is_error") or "error" in self.raw)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script = None

    def log_message(self, *_):
        pass

    def send(self, body, kind="application/json"):
        body = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events, named=True):
        lines = []
        for event in events:
            head = f"event: {event['type']}\n" if named else ""
            lines.append(f"{head}data: {json.dumps(event)}\n\n")
        self.send("".join(lines), "text/event-stream")

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.send('{"models":[],"data":[]}')

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if "count_tokens" in path:
            self.send('{"input_tokens":10}')
        elif "countTokens" in path:
            self.send('{"totalTokens":10}')
        elif path.endswith("/messages"):
            self.speak_messages(body)
        elif path.endswith("/responses"):
            self.speak_responses(body)
        elif path.endswith("/chat/completions"):
            self.speak_completions(body)
        elif "enerateContent" in path:
            self.speak_contents(body)
        else:
            self.send("{}")

    def speak_messages(self, body):
        """Anthropic's format."""
        blocks = [
            block
            for message in body.get("messages", [])
            if message.get("role") == "user" and isinstance(message.get("content"), list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        ]
        tools = [tool.get("name") for tool in body.get("tools", [])]
        step = self.script.next([Result(block) for block in blocks], tools) if tools else None
        if step:
            block = {"type": "tool_use", "id": f"toolu_{len(blocks)}", "name": step[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": DONE}
        why = "tool_use" if step else "end_turn"
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1},
        }
        if not body.get("stream"):
            block = {**block, "input": step[1]} if step else {"type": "text", "text": DONE}
            self.send(json.dumps({**message, "content": [block], "stop_reason": why}))
            return
        self.send_events([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ])

    def speak_responses(self, body):
        """OpenAI's responses. An MCP tool `T` of the server `s` is scripted as `s/T`."""
        items = body.get("input") if isinstance(body.get("input"), list) else []
        outputs = [item for item in items if isinstance(item, dict) and str(item.get("type")).endswith("_output")]
        tools = []
        for tool in body.get("tools", []):
            name = tool.get("name") or tool.get("type")
            inner = tool.get("tools") or []
            tools += [f"{name}/{each.get('name')}" for each in inner] if inner else [name]
        results = [Result(item, flatten(item.get("output"))) for item in outputs]
        step = self.script.next(results, tools)
        if step:
            server, _, tool = step[0].rpartition("/")
            item = {
                "type": "function_call", "id": f"fc_{len(outputs)}", "call_id": f"call_{len(outputs)}",
                "name": tool, "arguments": json.dumps(step[1]),
            }
            if server:
                item["namespace"] = f"mcp__{server}"
        else:
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": DONE}]}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        self.send_events([
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
        ])

    def speak_completions(self, body):
        """OpenAI's chat completions."""
        shown = [message for message in body.get("messages", []) if message.get("role") == "tool"]
        tools = [tool["function"]["name"] for tool in body.get("tools", []) if "function" in tool]
        step = self.script.next([Result(message) for message in shown], tools) if tools else None
        if step:
            call = {"name": step[0], "arguments": json.dumps(step[1])}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"call_{len(shown)}", "type": "function", "function": call}]}
        else:
            delta = {"role": "assistant", "content": DONE}

        def chunk(delta, why):
            choice = {"index": 0, "delta": delta, "finish_reason": why}
            chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            return f"data: {json.dumps(chunk)}\n\n"

        end = chunk({}, "tool_calls" if step else "stop")
        self.send(chunk(delta, None) + end + "data: [DONE]\n\n", "text/event-stream")

    def speak_contents(self, body):
        """Gemini's format."""
        shown = [
            part["functionResponse"].get("response")
            for content in body.get("contents", [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]
        tools = [
            declared.get("name")
            for tool in body.get("tools", [])
            for declared in tool.get("functionDeclarations", [])
        ]
        step = self.script.next([Result(response) for response in shown], tools) if tools else None
        part = {"functionCall": {"name": step[0], "args": step[1]}} if step else {"text": DONE}
        answer = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }
        if "stream" in self.path:
            self.send(f"data: {json.dumps(answer)}\r\n\r\n", "text/event-stream")
        else:
            self.send(json.dumps(answer))
