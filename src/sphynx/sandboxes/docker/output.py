"""What becomes of a stream's bytes on this side: the first are kept, all may be heard, frames are cut out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from sphynx.contracts import OnChunk, OnFrame

_LONGEST_FRAME = 16_000_000


class Kept:
    """Keeps the first ``keep`` bytes of a stream and hands all to ``on_chunk``."""

    def __init__(self, keep: int, on_chunk: OnChunk | None) -> None:
        self.kept = bytearray()
        self.total = 0
        self.wanted = keep if on_chunk is None else None
        """How many bytes need to be sent; ``None``: all of them."""
        self._keep = keep
        self._on_chunk = on_chunk

    def take(self, data: bytes) -> Awaitable[None] | None:
        """One piece of it."""
        self.total += len(data)
        if len(self.kept) < self._keep:
            self.kept += data[: self._keep - len(self.kept)]
        return self._on_chunk(data) if self._on_chunk is not None else None


def frame_lines(on_frame: OnFrame) -> Callable[[bytes], None]:
    """Takes pieces of lines and gives ``on_frame`` each whole JSON object. A line too long to be one is
    dropped."""
    pending = bytearray()
    dropping = False

    def feed(data: bytes) -> None:
        nonlocal dropping
        *lines, rest = data.split(b"\n")
        for line in lines:
            pending.extend(line)
            if not dropping:
                _deliver(bytes(pending), on_frame)
            pending.clear()
            dropping = False
        pending.extend(rest)
        if len(pending) > _LONGEST_FRAME:
            pending.clear()
            dropping = True

    return feed


def _deliver(line: bytes, on_frame: OnFrame) -> None:
    try:
        value: Any = json.loads(line)
    except ValueError:
        return
    if isinstance(value, dict):
        on_frame(value)
