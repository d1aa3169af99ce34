"""``server()``, ``tool()``, ``resource()``: an MCP server for the agent's own MCP client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Required, TypedDict, Unpack

from sphynx.mocks.definition import (
    Declared,
    Field,
    Handler,
    Said,
    anything,
    function,
    listing,
    repeated,
    text,
)
from sphynx.mocks.schemas import NOTHING, Adapter, SchemaError, adapt

NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?"
TOOL_NAME = r"[A-Za-z0-9_.-]{1,64}"


class ToolFields(TypedDict, total=False):
    """What ``tool()`` takes."""

    name: Required[str]
    description: str | None
    input_schema: Any
    output_schema: Any
    handler: Required[Handler]


class ResourceFields(TypedDict, total=False):
    """What ``resource()`` takes."""

    name: Required[str]
    uri: Required[str]
    description: str | None
    mime_type: str | None
    output_schema: Any
    handler: Required[Handler]


class Tool(Declared):
    """A tool of an MCP mock."""

    __slots__ = ()
    builder = "tool"
    fields: ClassVar[Sequence[Field]] = (
        Field(
            "name",
            text(pattern=TOOL_NAME, example="users_get"),
            "the tool's name, as the agent calls it",
            required=True,
        ),
        Field("description", text(), "what the agent is told about it"),
        Field("input_schema", anything, "what it takes, an object; nothing when left out"),
        Field("output_schema", anything, "what it gives; anything JSON can hold when left out"),
        Field("handler", function, "is called with the input", required=True),
    )

    @property
    def input(self) -> Adapter:
        """The input's adapter."""
        return adapter_of(self, "input_schema", NOTHING)

    @property
    def output(self) -> Adapter | None:
        """The output's adapter, if it has a schema."""
        return adapter_of(self, "output_schema", None)

    def unfit(self) -> Said:
        yield from schema_faults(self, "input_schema", "output_schema")
        try:
            kind = self.input.json_schema().get("type")
        except SchemaError:
            return
        if kind != "object":
            yield "input_schema", "must describe an object: tools are called with named arguments", None


class Resource(Declared):
    """A resource of an MCP mock at a fixed URI."""

    __slots__ = ()
    builder = "resource"
    fields: ClassVar[Sequence[Field]] = (
        Field("name", text(high=100), "the resource's name", required=True),
        Field(
            "uri",
            text(pattern=r"[A-Za-z][A-Za-z0-9+.-]*:[^\s{}]+", example="users://current"),
            "where the agent reads it",
            required=True,
        ),
        Field("description", text(), "what the agent is told about it"),
        Field("mime_type", text(high=100), "its type, else application/json"),
        Field("output_schema", anything, "what it holds"),
        Field("handler", function, "gives the content", required=True),
    )

    @property
    def output(self) -> Adapter | None:
        """The content's adapter, if it has a schema."""
        return adapter_of(self, "output_schema", None)

    def unfit(self) -> Said:
        yield from schema_faults(self, "output_schema")


class ServerFields(TypedDict, total=False):
    """What ``server()`` takes."""

    name: Required[str]
    version: str | None
    instructions: str | None
    tools: Sequence[Tool]
    resources: Sequence[Resource]


class Server(Declared):
    """An MCP mock. ``tools`` and ``resources`` are what the agent's client lists."""

    __slots__ = ()
    sphynx_kind = "mcp"
    builder = "server"
    made_of = ("tools", "resources")
    fields: ClassVar[Sequence[Field]] = (
        Field(
            "name",
            text(pattern=NAME, example="users"),
            "the name it is configured under",
            required=True,
        ),
        Field("version", text(high=100), "what it reports as its version"),
        Field("instructions", text(high=16_000), "what the agent is told about the whole server"),
        Field("tools", listing(Tool, "tool(...)"), "its tools"),
        Field("resources", listing(Resource, "resource(...)"), "its resources"),
    )

    @property
    def tools(self) -> list[Tool]:
        """Its tools, in order."""
        return list(self.get("tools", ()))

    @property
    def resources(self) -> list[Resource]:
        """Its resources, in order."""
        return list(self.get("resources", ()))

    def unfit(self) -> Said:
        if not self.tools and not self.resources:
            yield "tools", "and resources are empty", "give it at least one tool or resource"
        for name in repeated([tool.label for tool in self.tools]):
            yield "tools", f'holds "{name}" more than once', "a name is one tool"
        for uri in repeated([str(resource.get("uri")) for resource in self.resources]):
            yield "resources", f'holds "{uri}" more than once', "a URI is one resource"


def server(**fields: Unpack[ServerFields]) -> Server:
    """An MCP server for ``suite(mcp=[...])``. Never raises: what is wrong is told with the suite's."""
    return Server(fields)


def tool(**fields: Unpack[ToolFields]) -> Tool:
    """A tool of a ``server()``. ``handler(input)`` or ``handler(input, ctx)`` gives its result; what
    it raises reaches the agent as a tool error."""
    return Tool(fields)


def resource(**fields: Unpack[ResourceFields]) -> Resource:
    """A resource of a ``server()`` at a fixed URI. ``handler()`` or ``handler(ctx)`` gives its content; text
    is sent as it is, anything else as JSON."""
    return Resource(fields)


def adapter_of(part: Declared, name: str, default: Any) -> Any:
    """The adapter of a schema field, made once; of ``default`` when it was not given."""
    if name not in part.cached:
        schema = part.given.get(name)
        schema = default if schema is None else schema
        if schema is None:
            return None
        part.cached[name] = adapt(schema)
    return part.cached[name]


def schema_faults(part: Declared, *names: str) -> Said:
    """What is wrong with schema fields."""
    for name in names:
        try:
            adapter_of(part, name, None)
        except SchemaError as error:
            yield name, f"cannot be used: {error}", None
