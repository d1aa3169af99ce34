"""As much of an HTTP client as talking to ``eve dev`` takes. Standard library; asyncio inside functions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from sphynx.errors import SphynxError

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

_PIECE = 65_536


class Answer:
    """An answer whose head is read: ``status``, ``headers`` (lower case names), and a body to read once."""

    def __init__(
        self, reader: StreamReader, writer: StreamWriter, status: int, headers: dict[str, str]
    ) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader
        self._writer = writer

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives; a connection that breaks, or breaks the protocol, ends it."""
        from asyncio import IncompleteReadError, LimitOverrunError

        try:
            if self.headers.get("transfer-encoding", "").lower() == "chunked":
                async for piece in self._chunks():
                    yield piece
                return
            length = self.headers.get("content-length", "")
            left = int(length) if length.isdigit() else None
            while left is None or left > 0:
                piece = await self._reader.read(_PIECE if left is None else min(left, _PIECE))
                if not piece:
                    return
                left = None if left is None else left - len(piece)
                yield piece
        except (IncompleteReadError, LimitOverrunError, ConnectionError, ValueError):
            return

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line, without line breaks; a last line without one counts."""
        rest: list[bytes] = []
        async for piece in self.pieces():
            *whole, last = piece.split(b"\n")
            for line in whole:
                yield b"".join([*rest, line])
                rest = []
            rest.append(last)
        if tail := b"".join(rest):
            yield tail

    async def text(self) -> str:
        """The whole body."""
        return b"".join([piece async for piece in self.pieces()]).decode("utf-8", "replace")

    async def json(self) -> Mapping[str, Any]:
        """The whole body as a JSON object; empty when it is none."""
        try:
            value = json.loads(await self.text())
        except ValueError:
            return {}
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int((await self._reader.readuntil(b"\n")).split(b";")[0], 16):
            while size:
                piece = await self._reader.read(min(size, _PIECE))
                if not piece:
                    return
                size -= len(piece)
                yield piece
            await self._reader.readuntil(b"\n")


async def send(
    method: str, url: str, *, payload: Mapping[str, Any] | None = None, timeout_s: float
) -> Answer:
    """Send one request and read the head of its answer.

    Raises ``OSError`` when nobody answers, ``TimeoutError`` when the head takes longer than ``timeout_s``,
    ``SphynxError`` when what answers does not speak HTTP.
    """
    import asyncio

    parts = urlsplit(url)
    host, secure = parts.hostname or "127.0.0.1", parts.scheme == "https"
    async with asyncio.timeout(timeout_s):
        port = parts.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(host, port, ssl=True if secure else None)
        try:
            writer.write(_head(method, url, payload))
            await writer.drain()
            status, headers = await _answer_head(reader, url)
        except BaseException:
            writer.close()
            raise
    return Answer(reader, writer, status, headers)


def _head(method: str, url: str, payload: Mapping[str, Any] | None) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    body = b"" if payload is None else json.dumps(payload).encode()
    head = [f"{method} {target} HTTP/1.1", f"host: {parts.netloc.rpartition('@')[2]}", "connection: close"]
    if payload is not None:
        head += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


async def _answer_head(reader: StreamReader, url: str) -> tuple[int, dict[str, str]]:
    from asyncio import IncompleteReadError, LimitOverrunError

    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (IncompleteReadError, LimitOverrunError):
        raise SphynxError(f"{url} hung up before it answered") from None
    first, *rest = raw.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        raise SphynxError(f"{url} does not speak HTTP")
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return int(words[1]), headers
