#!/usr/bin/env python3
"""The tools, prompts and resources that the conformance suite asks for by name: `fixture.py PORT`, over streamable HTTP.

Beside them `big` and `structured`, which return much. Made with the Python SDK and run by the Python of the cache, so that nearly
all checks pass and a relay that spoils something shows. The tasks extension is not played.
"""

import asyncio
import base64
import json
import sys

import mcp_types as types
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0").decode()

server = MCPServer("fixture")


def tool(function):
    """Registers a function under its name. The suite wants a description of each."""
    server.add_tool(function, description=f"Fixture: {function.__name__}.", structured_output=False)


def prompt(function):
    server.prompt(description=f"Fixture: {function.__name__}.")(function)


def text(words):
    return types.TextContent(type="text", text=words)


def image():
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri, words, mime="text/plain"):
    return types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime, text=words))


def content(name, *blocks):
    """Registers a tool that always returns these blocks."""

    def fixed():
        return types.CallToolResult(content=list(blocks))

    server.add_tool(fixed, name=name, description=f"Returns fixed content: {name}.", structured_output=False)


content("test_simple_text", text("This is a simple text response for testing."))
content("test_image_content", image())
content("test_audio_content", types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))
content("test_embedded_resource", embedded("test://embedded-resource", "This is an embedded resource content."))
content(
    "test_multiple_content_types", text("Multiple content types test:"), image(),
    embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
)


@tool
def test_error_handling():
    return types.CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


@tool
async def test_tool_with_logging(ctx: Context):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(words)
        await asyncio.sleep(0.05)
    return "logged"


@tool
async def test_logging_tool(ctx: Context):
    await ctx.info("a message")
    return "logged"


@tool
async def test_tool_with_progress(ctx: Context):
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "done"


@tool
async def test_sampling(prompt: str, ctx: Context):
    asked = types.SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content.text}"


async def ask(ctx, message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@tool
async def test_elicitation(message: str, ctx: Context):
    fields = {"username": {"type": "string", "description": "User's response"}, "email": {"type": "string", "description": "User's email"}}
    return "User response: " + await ask(ctx, message, fields, fields)


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
PLAIN, TITLED = ["option1", "option2", "option3"], [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": PLAIN},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}


@tool
async def test_elicitation_sep1034_defaults(ctx: Context):
    return "Elicitation completed: " + await ask(ctx, "Check the defaults", DEFAULTS)


@tool
async def test_elicitation_sep1330_enums(ctx: Context):
    return "Elicitation completed: " + await ask(ctx, "Choose", ENUMS)


@tool
async def test_reconnection(ctx: Context):
    await ctx.close_sse_stream()
    await asyncio.sleep(0.2)
    return "Reconnection test completed"


@tool
def test_missing_capability(ctx: Context):
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", {"requiredCapabilities": {"sampling": {}}})
    return "has it"


def with_schema(name, schema):
    """Registers a tool whose parameters are told by a schema that no signature gives."""

    def echo(region: str = ""):
        return region

    server.add_tool(echo, name=name, description=f"Fixture: {name}.", structured_output=False)
    server._tool_manager.get_tool(name).parameters = schema


STRING = {"type": "string"}
with_schema("test_headers", {"type": "object", "properties": {"region": {**STRING, "x-mcp-header": "Region"}}, "required": ["region"]})
with_schema("json_schema_2020_12_tool", {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {
        "name": STRING, "address": {"$ref": "#/$defs/address"}, "contactMethod": {**STRING, "enum": ["phone", "email"]},
        "phone": STRING, "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False,
})


def numbered(lines):
    """The rows of `big.py`, which speaks stdio only."""
    rows = [f"row {n}: all is well with this one" for n in range(1, lines + 1)]
    rows[lines // 2] = "error: the needle is in the middle"
    return rows


@tool
def big(lines: int = 6000):
    return "\n".join(numbered(lines)) + "\n"


@tool
def structured(lines: int = 6000):
    rows = numbered(lines)
    return types.CallToolResult(content=[text("\n".join(rows))], structured_content={"rows": rows})


def form(message, field, kind="string"):
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words):
    asked = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[asked], max_tokens=100))


NAME = {"user_name": form("What is your name?", "name")}
ANSWER = {"capital_question": sampling("What is the capital of France?")}
ROOTS = {"client_roots": types.ListRootsRequest()}
GREETING = {"greeting": sampling("Generate a greeting")}


def asking(name, state, *rounds):
    """Registers a tool that asks for input, round by round, before it answers."""

    async def rounds_of(ctx: Context):
        given = ctx.input_responses or {}
        at = int(ctx.request_state or 0) if state else int(set(rounds[0]) <= set(given))
        if at < len(rounds):
            return types.InputRequiredResult(input_requests=rounds[at], request_state=str(at + 1) if state else None)
        said = json.dumps({key: each.model_dump(mode="json", by_alias=True) for key, each in given.items()})
        return f"state-ok Hello, {said}"

    server.add_tool(rounds_of, name=name, description=f"Asks before it answers: {name}.", structured_output=False)


asking("test_input_required_result_elicitation", False, NAME)
asking("test_input_required_result_sampling", False, ANSWER)
asking("test_input_required_result_capabilities", False, ANSWER)
asking("test_input_required_result_tampered_state", True, NAME)
asking("test_input_required_result_list_roots", False, ROOTS)
asking("test_input_required_result_request_state", True, {"confirm": form("Please confirm", "ok", "boolean")})
asking("test_input_required_result_multiple_inputs", True, {**NAME, **GREETING, **ROOTS})
asking("test_input_required_result_multi_round", True, {"step1": form("Step 1", "name")}, {"step2": form("Step 2", "color")})


@prompt
def test_simple_prompt():
    return "This is a simple prompt for testing."


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str):
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str):
    resource = embedded(resourceUri, "Embedded resource content for testing.").model_dump(mode="json", by_alias=True)
    return [{"role": "user", "content": resource}, {"role": "user", "content": "Please process the embedded resource above."}]


@prompt
def test_prompt_with_image():
    shown = image().model_dump(mode="json", by_alias=True)
    return [{"role": "user", "content": shown}, {"role": "user", "content": "Please analyze the image above."}]


@prompt
def test_input_required_result_prompt(ctx: Context):
    if not ctx.input_responses:
        return types.InputRequiredResult(input_requests={"user_context": form("What context should the prompt use?", "context")})
    return "A prompt with its context."


@server.resource("test://static-text", mime_type="text/plain")
def static_text():
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary():
    return base64.b64decode(PNG)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched():
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
def templated(id: str):
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.completion()
async def complete(ref, argument, context):
    return types.Completion(values=["test1", "test2"], total=2, has_more=False)


async def accept(ctx, params):
    return types.EmptyResult()


# The SDK has no public way to say that a server logs and that its resources can be watched.
for method, params in (
    ("logging/setLevel", types.SetLevelRequestParams), ("resources/subscribe", types.SubscribeRequestParams),
    ("resources/unsubscribe", types.UnsubscribeRequestParams),
):
    server._lowlevel_server.add_request_handler(method, params, accept)

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
