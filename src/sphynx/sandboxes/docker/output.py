"""What becomes of a stream's bytes on this side: the first are kept, all may be heard."""

from __future__ import annotations

from collections.abc import Awaitable

from sphynx.contracts import OnChunk


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
