"""``api()``, ``endpoint()``, ``with_api()``: HTTP APIs on the loopback interface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Required, TypedDict, Unpack, cast

from sphynx.mocks.definition import (
    Declared,
    Field,
    Handler,
    Said,
    anything,
    function,
    kind_of,
    listing,
    repeated,
    text,
    texts,
)
from sphynx.mocks.mcp import adapter_of, schema_faults
from sphynx.mocks.schemas import Adapter, SchemaError, adapt

if TYPE_CHECKING:
    from sphynx.mocks.own_server import OwnServer

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def _method(value: Any) -> str | None:
    if isinstance(value, str) and value.upper() in METHODS:
        return None
    return "must be one of " + ", ".join(METHODS)


def _responses(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"must be a dict from status to schema, not {kind_of(value)}"
    if not value:
        return "must hold at least one status"
    for status in cast("Mapping[Any, Any]", value):
        if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
            return f"has the key {status!r}, which is no status from 200 to 599"
    return None


class EndpointFields(TypedDict, total=False):
    """What ``endpoint()`` takes."""

    method: Required[str]
    path: Required[str]
    description: str | None
    input_schema: Any
    responses: Required[Mapping[int, Any]]
    handler: Required[Handler]


class Endpoint(Declared):
    """One method and path of an API mock."""

    __slots__ = ()
    builder = "endpoint"
    named_by = "path"
    fields: ClassVar[Sequence[Field]] = (
        Field("method", _method, "the HTTP method", required=True),
        Field(
            "path",
            text(pattern=r"/[^\s?#]*", example="/items/:id"),
            "the path; :name stands for one part",
            required=True,
        ),
        Field("description", text(high=500), "what the agent is told about it"),
        Field("input_schema", anything, "what it takes: params, query, headers and body"),
        Field("responses", _responses, "a schema per status it may answer; None for no body", required=True),
        Field("handler", function, "is called with the input, gives status and body", required=True),
    )

    @property
    def label(self) -> str:
        return f"{str(self.given.get('method') or '').upper()} {self.given.get('path') or ''}".strip()

    @property
    def method(self) -> str:
        """The method in capitals."""
        return str(self.get("method")).upper()

    @property
    def path(self) -> str:
        """The path as declared."""
        return str(self.get("path"))

    @property
    def input(self) -> Adapter | None:
        """The input's adapter, if it has a schema."""
        return adapter_of(self, "input_schema", None)

    def response(self, status: int) -> Adapter | None:
        """The adapter of a status's body; ``None`` when it has none. ``KeyError``: it is not declared."""
        schema = self.get("responses")[status]
        key = f"response {status}"
        if key not in self.cached:
            self.cached[key] = None if schema is None else adapt(schema)
        return self.cached[key]

    def unfit(self) -> Said:
        yield from schema_faults(self, "input_schema")
        for status in self.get("responses"):
            try:
                self.response(status)
            except SchemaError as error:
                yield "responses", f"[{status}] cannot be used: {error}", None
        names = re.findall(r"(?<=/):([^/]*)", self.path)
        if any(not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names) or repeated(names):
            yield "path", "must name each :part once, as a word", "for example /items/:id"


class ApiFields(TypedDict, total=False):
    """What ``api()`` takes."""

    name: Required[str]
    redact: Sequence[str]
    endpoints: Required[Sequence[Endpoint]]


class Api(Declared):
    """An HTTP mock. ``redact`` are further field names to hide before a call is recorded."""

    __slots__ = ()
    sphynx_kind = "api"
    builder = "api"
    made_of = ("endpoints",)
    fields: ClassVar[Sequence[Field]] = (
        Field(
            "name",
            text(pattern=r"[a-z0-9]+(?:-[a-z0-9]+)*", example="catalog", high=64),
            "its name: lowercase letters, digits and hyphens",
            required=True,
        ),
        Field("redact", texts, "more field names to hide in what is recorded"),
        Field("endpoints", listing(Endpoint, "endpoint(...)", low=1), "what it answers", required=True),
    )

    @property
    def endpoints(self) -> list[Endpoint]:
        """Its endpoints, in order."""
        return list(self.get("endpoints", ()))

    def unfit(self) -> Said:
        shapes = [f"{part.method} {re.sub('(?<=/):[^/]*', ':', part.path)}" for part in self.endpoints]
        for shape in repeated(shapes):
            yield "endpoints", f'holds "{shape}" more than once', "one method and path is one endpoint"


def api(**fields: Unpack[ApiFields]) -> Api:
    """An HTTP API for ``suite(api=[...])``. Never raises: what is wrong is told with the suite's problems."""
    return Api(fields)


def endpoint(**fields: Unpack[EndpointFields]) -> Endpoint:
    """An endpoint of an ``api()``. ``handler(request)`` or ``handler(request, ctx)`` gives
    ``{"status": 200, "body": ..., "headers": {...}}``; ``request`` holds ``params``, ``query``, ``headers``
    and ``body``, as ``input_schema`` reads them."""
    return Endpoint(fields)


def with_api(api: Api, *, fixtures: Mapping[str, Any] | None = None) -> OwnServer:
    """A server of the validator's own, with data no agent sees, for a ``with`` or ``async with`` block::

        with with_api(catalog) as server:
            httpx.get(f"{server.url}/items/fixture")
            print(server.calls())

    It is closed when the block ends. Its calls are not in the trial's log. ``DefinitionError`` lists what is
    wrong with ``api``.
    """
    from sphynx.mocks.own_server import OwnServer

    return OwnServer(api, fixtures)
