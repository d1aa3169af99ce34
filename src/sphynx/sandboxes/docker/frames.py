"""What the host and the program inside a container say to each other, over one exec's own streams.

Host to container: ``length`` (4 bytes) and a JSON request, then for some requests a body in pieces
(``length`` and bytes, a length of 0 ends it). After that any byte, or the end of the stream, means: kill what
you started.
Container to host: frames of ``kind`` (1 byte), ``length`` (4 bytes) and bytes; the last one is a ``RESULT``.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

OUT = b"o"
ERR = b"e"
CHANNEL = b"c"
DATA = b"d"
RESULT = b"r"

_LENGTH = struct.Struct(">I")
HEAD = struct.Struct(">cI")
PIECE = 256 * 1024


def frame(kind: bytes, data: bytes) -> bytes:
    """One frame to the host."""
    return HEAD.pack(kind, len(data)) + data


def request(value: dict[str, Any]) -> bytes:
    """The request, as the first bytes to the container."""
    return piece(json.dumps(value).encode())


def piece(data: bytes) -> bytes:
    """One piece of a body; an empty one ends it."""
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Cuts a stream into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Kind and bytes of every frame that is whole now."""
        held = self._held
        held += data
        start = 0
        while len(held) - start >= HEAD.size:
            kind, length = HEAD.unpack_from(held, start)
            end = start + HEAD.size + length
            if len(held) < end:
                break
            yield kind, bytes(held[start + HEAD.size : end])
            start = end
        del held[:start]


LENGTH_BYTES = _LENGTH.size


def length_of(head: bytes) -> int:
    """The length a piece begins with."""
    return int(_LENGTH.unpack(head)[0])
