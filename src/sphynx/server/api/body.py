"""From a request to a checked body, or the refusal that says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from sphynx.schema.operations import Operation
from sphynx.server.refusals import Refusal, too_large

_MOST_ISSUES = 20
_LARGEST = 2**53
_DEPTH = 64
_KINDS = {"missing": "Missing", "extra_forbidden": "Unexpected"}


async def received(request: Request, limit: int) -> bytes:
    """The bytes of a request's body. 413 beyond ``limit`` of them."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large(limit)
        parts.append(part)
    return b"".join(parts)


def read_body(operation: Operation, data: bytes) -> Any:
    """The request model of an operation. 400 with every field that does not fit."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise _refused([_issue([], "Type", "the body is not JSON")]) from None
    if not isinstance(value, dict | list):
        raise _refused([_issue([], "Type", "the body must be a JSON object")])
    reports = operation.name == "runner.report"
    unfit = next(_unfit(value, [], texts=not reports), None)
    if unfit is not None:
        raise _refused([_issue(*unfit)])
    if operation.request is None:
        return value
    try:
        # Nothing is converted, in shapes that requests share with answers neither.
        return _adapter(operation).validate_python(value, strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise _refused(
            [_issue(_path(one["loc"], value), _kind(one["type"]), one["msg"]) for one in found[:_MOST_ISSUES]]
        ) from None


def _refused(issues: list[dict[str, Any]]) -> Refusal:
    first = issues[0]
    where = ".".join(str(part) for part in first["path"])
    message = f"{where}: {first['message']}" if where else first["message"]
    return Refusal(400, "HttpApiDecodeError", message, issues=issues)


def _issue(path: list[Any], kind: str, message: str) -> dict[str, Any]:
    return {"_tag": kind, "path": path, "message": message}


def _kind(pydantic_type: str) -> str:
    if pydantic_type in _KINDS:
        return _KINDS[pydantic_type]
    return "Type" if pydantic_type.endswith("_type") or "parsing" in pydantic_type else "Refinement"


def _path(location: tuple[int | str, ...], value: Any) -> list[int | str]:
    """The way to the fault in the body. Names of union arms, which the validator adds, are left out."""
    path: list[int | str] = []
    at: Any = value
    for number, part in enumerate(location):
        last = number == len(location) - 1
        if _holds(at, part):
            path.append(part)
            at = at[part]
        elif last and isinstance(at, dict) and isinstance(part, str):
            path.append(part)
    return path


def _holds(value: Any, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def _unfit(value: Any, path: list[Any], *, texts: bool) -> Iterator[tuple[list[Any], str, str]]:
    """What no store can hold: NUL and broken surrogates in texts, numbers beyond 2**53, endless nesting."""
    if len(path) > _DEPTH:
        yield path[:8], "Type", "is nested too deeply"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _unfit(key, [*path, key], texts=texts)
            yield from _unfit(inner, [*path, key], texts=texts)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unfit(inner, [*path, number], texts=texts)
    elif isinstance(value, str):
        if texts and ("\0" in value or not _encodes(value)):
            yield [part for part in path if _encodes(str(part))], "Refinement", "must be Unicode without NUL"
    elif isinstance(value, int | float) and not -_LARGEST <= value <= _LARGEST:
        yield path, "Refinement", "is too large a number"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=64)
def _adapter(operation: Operation) -> TypeAdapter[Any]:
    return TypeAdapter(operation.request)
