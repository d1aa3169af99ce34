"""A small HTTP/1.1 server for API mocks: JSON bodies, keep-alive, one request of a connection at a time."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from sphynx.mocks.api_calls import MOST_BODY, Answer, ApiCalls

MOST_HEAD = 65_536
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_BODYLESS = (204, 304)


class Malformed(Exception):
    """No request can be read here any more; ``status`` is what is answered before the connection closes."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Request:
    """The head of a request. ``length`` is ``None`` for a chunked body."""

    __slots__ = ("headers", "keep", "length", "method", "target")

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Malformed(400, "this is no HTTP/1.1 request")
        self.method, self.target = words[0], _path(words[1])
        self.headers = _headers(lines)
        connection = self.headers.get("connection", "").lower()
        self.keep = "close" not in connection and (words[2] == "HTTP/1.1" or "keep-alive" in connection)
        self.length = self._length()

    def _length(self) -> int | None:
        if "transfer-encoding" in self.headers:
            if self.headers["transfer-encoding"].lower() != "chunked":
                raise Malformed(501, "only chunked transfer encoding is understood")
            return None
        text = self.headers.get("content-length", "0")
        if not (text.isascii() and text.isdigit()):
            raise Malformed(400, "the content length is no number")
        return int(text)


def _path(target: str) -> str:
    """A target in absolute form (as proxies are sent) as the path it means."""
    if target.startswith("/"):
        return target
    parts = urlsplit(target)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _headers(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed(400, "a header line cannot be read")
        name, value = name.lower(), value.strip()
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class Chunks:
    """Puts a chunked body together; ``body`` is set when it is whole."""

    __slots__ = ("_parts", "_size", "body")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.body: bytes | None = None

    def feed(self, buffer: bytearray) -> None:
        """Take what is complete off the front of ``buffer``."""
        while self.body is None:
            end = buffer.find(b"\r\n")
            if end < 0:
                if len(buffer) > 1_024:
                    raise Malformed(400, "a chunk size cannot be read")
                return
            try:
                size = int(bytes(buffer[:end]).partition(b";")[0], 16)
            except ValueError:
                raise Malformed(400, "a chunk size cannot be read") from None
            if self._size + size > MOST_BODY:
                raise Malformed(413, too_large())
            if len(buffer) < end + 2 + size + 2:
                return
            self._parts.append(bytes(buffer[end + 2 : end + 2 + size]))
            self._size += size
            del buffer[: end + 2 + size + 2]
            if size == 0:
                self.body = b"".join(self._parts)


def too_large() -> str:
    """What a body over the limit is answered."""
    return f"the body is larger than {MOST_BODY:,} bytes"


class Connection:
    """One client's connection: an ``asyncio`` protocol, whose base class is not worth an import."""

    def __init__(self, calls: ApiCalls, connections: set[Connection]) -> None:
        self._calls = calls
        self._all = connections
        self._buffer = bytearray()
        self._request: Request | None = None
        self._chunks: Chunks | None = None
        self._task: Any = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._all.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._all.discard(self)
        if self._task is not None:
            self._task.cancel()

    def eof_received(self) -> bool:
        """A client that closes has gone; one that closes only its own side cannot be told from it."""
        return False

    def pause_writing(self) -> None:
        """Answers are small and wait in memory."""

    def resume_writing(self) -> None:
        """See ``pause_writing``."""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._task is None:
            self._advance()
        elif len(self._buffer) > MOST_HEAD + MOST_BODY:
            self._transport.close()

    def close(self) -> None:
        """End the connection without waiting for a handler."""
        self._transport.abort()

    def _advance(self) -> None:
        """Start the next request when it is there as a whole."""
        try:
            if self._request is None and not self._begin():
                return
            body = self._body()
            if body is not None:
                self._run(body)
        except Malformed as error:
            self._refuse(error)

    def _begin(self) -> bool:
        while self._buffer[:2] == b"\r\n":
            del self._buffer[:2]
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MOST_HEAD:
                raise Malformed(431, "the head of the request is too large")
            return False
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        self._request = Request(head)
        self._chunks = Chunks() if self._request.length is None else None
        if (self._request.length or 0) > MOST_BODY:
            raise Malformed(413, too_large())
        if self._request.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _body(self) -> bytes | None:
        assert self._request is not None
        if self._chunks is not None:
            self._chunks.feed(self._buffer)
            return self._chunks.body
        length = self._request.length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _run(self, body: bytes) -> None:
        import asyncio

        self._task = asyncio.get_running_loop().create_task(self._answer(body))

    async def _answer(self, body: bytes) -> None:
        request = self._request
        assert request is not None
        answer = await self._calls.answer(request.method, request.target, request.headers, body)
        self._task = self._request = self._chunks = None
        self._send(answer, keep=request.keep, head=request.method == "HEAD")
        if request.keep and self._buffer and not self._transport.is_closing():
            self._advance()

    def _refuse(self, error: Malformed) -> None:
        request = self._request
        method, target, headers = ("", "/", {}) if request is None else _shown(request)
        answer = self._calls.refuse(method, target, headers, error.status, error.message)
        self._send(answer, keep=False, head=False)

    def _send(self, answer: Answer, *, keep: bool, head: bool) -> None:
        lines = [
            f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}",
            f"date: {formatdate(usegmt=True)}",
        ]
        if answer.body:
            lines.append("content-type: application/json")
        if answer.status not in _BODYLESS:
            lines.append(f"content-length: {len(answer.body)}")
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        lines.append("connection: keep-alive" if keep else "connection: close")
        data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
        self._transport.write(data if head or answer.status in _BODYLESS else data + answer.body)
        if not keep:
            self._transport.close()


def _shown(request: Request) -> tuple[str, str, Mapping[str, str]]:
    return request.method, request.target, request.headers


class ApiServer:
    """One API on a free port of the loopback interface. Built by ``listen``."""

    def __init__(self, server: Any, connections: set[Connection]) -> None:
        self._server = server
        self._connections = connections
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    @classmethod
    async def listen(cls, calls: ApiCalls) -> ApiServer:
        """Start to answer."""
        import asyncio

        connections: set[Connection] = set()
        loop = asyncio.get_running_loop()
        made: Any = lambda: Connection(calls, connections)  # noqa: E731
        return cls(await loop.create_server(made, "127.0.0.1", 0, backlog=256), connections)

    async def close(self) -> None:
        """Stop at once; handlers that still run are told by their signal."""
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        await self._server.wait_closed()
