"""Just enough HTTP/1.1 for model calls: requests with a length or in chunks, answers whole or streamed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in. ``path`` is without the query; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """The API key the request carries, in whichever place its protocol has for it; empty when none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return token.strip()
        for name in ("x-api-key", "x-goog-api-key", "api-key"):
            if name in self.headers:
                return self.headers[name]
        return (self.query.get("key") or [""])[0]

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; ``ValueError`` when it is none."""
        value = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("the body is not a JSON object")
        return value


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request; ``None`` when the client is gone. Raises ``ValueError`` when it is no HTTP."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise ValueError("the request's headers are too long") from error
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _version = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    url = urlsplit(target)
    try:
        body = await _body(reader, headers)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method, unquote(url.path), parse_qs(url.query), headers, body)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        length = int(headers.get("content-length") or 0)
        if length > MAX_BODY:
            raise ValueError("the request is too large")
        return await reader.readexactly(length)
    parts: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while (await reader.readline()).strip():
        pass
    return b"".join(parts)


async def send_json(
    writer: asyncio.StreamWriter, status: int, value: Any, headers: Mapping[str, str] | None = None
) -> None:
    """A whole answer."""
    body = json.dumps(value).encode()
    fields = {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}
    writer.write(_head(status, fields) + body)
    await writer.drain()


async def open_stream(writer: asyncio.StreamWriter, headers: Mapping[str, str] | None = None) -> None:
    """Begin an event stream."""
    fields = {"content-type": "text/event-stream", "cache-control": "no-cache", **(headers or {})}
    writer.write(_head(200, fields | {"transfer-encoding": "chunked"}))
    await writer.drain()


async def send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One part of a stream; an empty one ends it."""
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


def _head(status: int, fields: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Scripted"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
