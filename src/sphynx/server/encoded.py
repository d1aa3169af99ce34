"""Batches as bytes, kept while many ask for the same: each state is read from the store and encoded once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic

MOST_BYTES = 64_000_000
_KEPT_S = 60.0
"""Names that a batch shows may change elsewhere, so nothing is kept for longer."""


@dataclass(slots=True)
class _Entry:
    version: str = ""
    data: bytes = b""
    until: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Encoded:
    """A bounded memory of encoded answers. The oldest are forgotten first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._size = 0
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    async def get(
        self, key: tuple[str, str], version: str, make: Callable[[], Awaitable[tuple[str, bytes]]]
    ) -> bytes:
        """What ``make`` gives for ``key`` at ``version``. Those who ask meanwhile wait for the same.

        ``make`` gives the version it saw too: what it read may be newer than what was asked for.
        """
        entry = self._entries.setdefault(key, _Entry())
        self._entries.move_to_end(key)
        async with entry.lock:
            if entry.version == version and monotonic() < entry.until:
                return entry.data
            seen, data = await make()
            if self._entries.get(key) is entry:
                self._size += len(data) - len(entry.data)
                entry.version, entry.data, entry.until = seen, data, monotonic() + _KEPT_S
                self._forget()
        return data

    def _forget(self) -> None:
        while self._size > self._most and self._entries:
            _, oldest = self._entries.popitem(last=False)
            self._size -= len(oldest.data)
