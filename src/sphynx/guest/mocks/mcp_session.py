"""One client of an MCP mock: JSON-RPC 2.0 messages in, answers out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sphynx.guest.mocks import calls
from sphynx.guest.mocks.calls import CallFailed
from sphynx.mocks.handling import Runtime
from sphynx.mocks.mcp import Resource, Server, Tool
from sphynx.mocks.snapshots import compact

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with ``initialize``; the last is offered to a client that wants another."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS, NO_RESOURCE = -32700, -32600, -32601, -32602, -32002
INTERNAL = -32603


class Refused(Exception):
    """A protocol error: code and message of the answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class McpSession:
    """Answers one client. ``send`` takes a whole line; requests may overlap, so answers come as they do."""

    def __init__(
        self,
        server: Server,
        runtime: Runtime,
        report: Callable[[dict[str, Any]], None],
        send: Callable[[bytes], None],
    ) -> None:
        self._server = server
        self._runtime = runtime
        self._report = report
        self._send = send
        self._tools = {tool.label: tool for tool in server.tools}
        self._resources = {str(resource.get("uri")): resource for resource in server.resources}
        self._running: dict[Any, Any] = {}
        self._methods: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "logging/setLevel": lambda params: {},
            "tools/list": self._list_tools,
            "resources/list": self._list_resources,
            "resources/templates/list": lambda params: {"resourceTemplates": []},
            "prompts/list": lambda params: {"prompts": []},
        }

    def take(self, line: bytes) -> None:
        """One line of the client: a message, or a list of them."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._reply(None, error=(PARSE_ERROR, "this is no JSON"))
            return
        messages: list[Any] = value if isinstance(value, list) else [value]
        for message in messages:
            self._start(message)

    def close(self) -> None:
        """The client has gone: give up what still runs."""
        for task in list(self._running.values()):
            task.cancel()

    async def drained(self) -> None:
        """Wait for what still runs."""
        import asyncio

        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _start(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._reply(None, error=(INVALID_REQUEST, "this is no JSON-RPC 2.0 message"))
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "notifications/cancelled" and isinstance(params, dict):
            task = self._running.get(_key(params.get("requestId")))
            if task is not None:
                task.cancel()
        if number is None or method is None:
            return  # a notification, or an answer to something we never ask
        if not isinstance(params, dict):
            self._reply(number, error=(BAD_PARAMS, "params must be an object"))
            return
        import asyncio

        task = asyncio.get_running_loop().create_task(self._answer(number, str(method), params))
        self._running[_key(number)] = task
        task.add_done_callback(lambda done: self._running.pop(_key(number), None))

    async def _answer(self, number: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            if method == "tools/call":
                result = await self._call_tool(params)
            elif method == "resources/read":
                result = await self._read_resource(params)
            elif method in self._methods:
                result = self._methods[method](params)
            else:
                raise Refused(NO_METHOD, f"there is no method {method}")
        except Refused as refused:
            self._reply(number, error=(refused.code, refused.message))
        except Exception as error:
            self._reply(number, error=(INTERNAL, f"the mock failed: {error}"))
        else:
            self._reply(number, result=result)

    def _reply(self, number: Any, *, result: Any = None, error: tuple[int, str] | None = None) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        if error is None:
            answer["result"] = result
        else:
            answer["error"] = {"code": error[0], "message": error[1]}
        self._send(compact(answer).encode("utf-8", "replace") + b"\n")

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        capabilities: dict[str, Any] = {}
        if self._tools:
            capabilities["tools"] = {"listChanged": False}
        if self._resources:
            capabilities["resources"] = {"subscribe": False, "listChanged": False}
        out: dict[str, Any] = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": capabilities,
            "serverInfo": {"name": self._server.label, "version": str(self._server.get("version", "1.0.0"))},
        }
        if self._server.get("instructions"):
            out["instructions"] = self._server.get("instructions")
        return out

    def _list_tools(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"tools": [_described(tool) for tool in self._tools.values()]}

    def _list_resources(self, params: Mapping[str, Any]) -> dict[str, Any]:
        listed = []
        for uri, resource in self._resources.items():
            entry = {"name": resource.label, "uri": uri, "mimeType": _mime(resource)}
            if resource.get("description"):
                entry["description"] = resource.get("description")
            listed.append(entry)
        return {"resources": listed}

    async def _call_tool(self, params: Mapping[str, Any]) -> dict[str, Any]:
        tool = self._tools.get(str(params.get("name")))
        if tool is None:
            raise Refused(BAD_PARAMS, f"there is no tool {params.get('name')}")
        given = params.get("arguments") or {}
        record = {"server": self._server.label, "kind": "tool", "name": tool.label}
        try:
            value = await calls.run(
                tool, given, record, self._runtime, self._report, adapter=tool.input, output=tool.output
            )
        except CallFailed as failed:
            return {"content": [{"type": "text", "text": str(failed)}], "isError": True}
        out: dict[str, Any] = {"content": [{"type": "text", "text": _text(value)}], "isError": False}
        if tool.output is not None and not _is_object(tool.output.json_schema(output=True)):
            out["structuredContent"] = {"result": value}
        elif isinstance(value, dict):
            out["structuredContent"] = value
        return out

    async def _read_resource(self, params: Mapping[str, Any]) -> dict[str, Any]:
        uri = str(params.get("uri"))
        resource = self._resources.get(uri)
        if resource is None:
            raise Refused(NO_RESOURCE, f"there is no resource {uri}")
        record = {"server": self._server.label, "kind": "resource", "name": resource.label}
        try:
            value = await calls.run(
                resource,
                {"uri": uri},
                record,
                self._runtime,
                self._report,
                adapter=None,
                output=resource.output,
            )
        except CallFailed as failed:
            raise Refused(INTERNAL, str(failed)) from None
        return {"contents": [{"uri": uri, "mimeType": _mime(resource), "text": _text(value)}]}


def _key(number: Any) -> str:
    return json.dumps(number)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def _mime(resource: Resource) -> str:
    return str(resource.get("mime_type", "application/json"))


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object"


def _described(tool: Tool) -> dict[str, Any]:
    """A tool as ``tools/list`` has it. A result that is no object is wrapped in one, as clients demand."""
    out: dict[str, Any] = {"name": tool.label, "inputSchema": tool.input.json_schema()}
    if tool.get("description"):
        out["description"] = tool.get("description")
    if tool.output is not None:
        schema = tool.output.json_schema(output=True)
        out["outputSchema"] = schema if _is_object(schema) else _wrapped(schema)
    return out


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    out: dict[str, Any] = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    if "$defs" in schema:
        out["$defs"] = schema["$defs"]
    return out
