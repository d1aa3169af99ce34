"""This side of the conversation with the host: the request and its body in, frames out."""

from __future__ import annotations

import json
import os

from sphynx.sandboxes.docker import frames

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from typing import Any


class HostGone(Exception):
    """The stream ended before the request did."""


def read_request() -> dict[str, Any]:
    """The request on standard input."""
    value: dict[str, Any] = json.loads(_piece())
    return value


class Body:
    """The body behind a request, as a file to read from."""

    def __init__(self) -> None:
        self._held = b""
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, fewer only at the end; without a size all there are."""
        parts: list[bytes] = []
        left = size
        while left != 0:
            if not self._held and not self._ended:
                self._held = _piece()
                self._ended = not self._held
            if not self._held:
                break
            part = self._held if left < 0 else self._held[:left]
            self._held = self._held[len(part) :]
            parts.append(part)
            left -= len(part) if left > 0 else 0
        return b"".join(parts)

    def finish(self) -> None:
        """Read what is left, so that the next byte on the stream means what it should."""
        self._held = b""
        while not self._ended:
            self._ended = not _piece()


class Sending:
    """Frames of one kind, as a file to write to."""

    def __init__(self, kind: bytes) -> None:
        self._kind = kind

    def write(self, data: bytes) -> int:
        """Send ``data``."""
        view = memoryview(data)
        for start in range(0, len(view), frames.PIECE):
            send(frames.frame(self._kind, bytes(view[start : start + frames.PIECE])))
        return len(data)


def send(data: bytes) -> None:
    """Write to the host."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def answer(**values: Any) -> None:
    """The last frame."""
    send(frames.frame(frames.RESULT, json.dumps(values).encode()))


def _piece() -> bytes:
    return _exactly(frames.length_of(_exactly(frames.LENGTH_BYTES)))


def _exactly(size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(0, size)
        if not part:
            raise HostGone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
