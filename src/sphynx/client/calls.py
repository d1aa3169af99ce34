"""A call of an operation, checked before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Required, TypedDict

from pydantic import TypeAdapter, ValidationError

from sphynx.errors import UsageError
from sphynx.registry import load
from sphynx.schema.operations import EXTENSIONS, OPERATIONS, Operation
from sphynx.schema.wire import Request, SuiteBatchRequest
from sphynx.schema.wire.statistics import Every, GroupedBy
from sphynx.suite.suites import Suite

BEYOND = "x-sphynx"
_ALL = {**OPERATIONS, **EXTENSIONS}


class StatisticsFields(TypedDict, total=False):
    """What ``evals.statistics.get`` takes; ``suite``, ``case`` and ``variant`` are ids to choose by."""

    by: Required[GroupedBy]
    every: Every
    days: int
    suite: str | None
    case: str | None
    variant: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """An operation with the body to send."""

    operation: Operation
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def encoded(self) -> bytes:
        """The body as it travels."""
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def call(name: str, headers: Mapping[str, str] | None = None, /, **fields: Any) -> Call:
    """A call with the fields that are not ``None``. ``UsageError`` naming every field that is wrong."""
    given = {key: value for key, value in fields.items() if value is not None}
    return checked(name, given, headers)


def checked(name: str, body: Any, headers: Mapping[str, str] | None = None) -> Call:
    """A call with ``body``, a mapping or a request model. ``UsageError`` naming every field that is wrong."""
    operation = _ALL[name]
    if operation.request is None:
        return Call(operation, {}, headers or {})
    try:
        request = _adapter(name).validate_python(body)
    except ValidationError as error:
        issues = [f"{_place(issue['loc'])}: {issue['msg']}" for issue in error.errors(include_url=False)]
        message = f"{name}: {'; '.join(issues)}"
        raise UsageError(message, issues=issues, hint="nothing was sent") from None
    return Call(operation, request.wire(), headers or {})


def start_body(what: Any, priority: int | None = None) -> Any:
    """The request that starts ``what``: a ``Suite`` is compiled, anything else is taken as it is."""
    if isinstance(what, Suite):
        what = load("sphynx.compiler:compile_definition")(what)
    if isinstance(what, SuiteBatchRequest | Mapping):
        if priority is None:
            return what
        body = dict(what) if isinstance(what, Mapping) else what.wire()
        return {**body, BEYOND: {**(body.get(BEYOND) or {}), "priority": priority}}
    raise UsageError(
        f"cannot start {type(what).__name__}", hint="pass a suite(...), or what compile_definition() gives"
    )


def beyond_keys(body: Any) -> list[str]:
    """The keys under ``x-sphynx`` anywhere in a body, which only our own server reads."""
    return sorted(dict.fromkeys(_beyond(body)))


def _beyond(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == BEYOND and isinstance(inner, Mapping):
                yield from map(str, inner)
            else:
                yield from _beyond(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _beyond(inner)


def parse(operation: Operation, data: bytes) -> Any:
    """The typed result of an operation; ``None`` for one that answers nothing."""
    return None if operation.response is None else _answer(operation.name).validate_json(data)


@lru_cache(maxsize=64)
def _adapter(name: str) -> TypeAdapter[Request]:
    return TypeAdapter(_ALL[name].request)


@lru_cache(maxsize=64)
def _answer(name: str) -> TypeAdapter[Any]:
    model: Any = _ALL[name].response
    return TypeAdapter(model)


def _place(path: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in path) or "body"
