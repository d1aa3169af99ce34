"""Bytes of a process into lines, with bounded memory whatever the process prints."""

from __future__ import annotations

LINE_LIMIT = 8 * 1024 * 1024
"""Bytes of the longest line that is kept; a longer one is counted and dropped."""


class LineSplitter:
    """Cuts a stream of bytes at LF.

    Lines come without their line break, as bytes: they may hold NUL and need not be UTF-8. A line of
    more than ``limit`` bytes is dropped whole; ``dropped`` counts such lines, ``dropped_bytes`` their bytes.
    """

    __slots__ = ("_limit", "_parts", "_pending", "_skipping", "dropped", "dropped_bytes")

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._pending = 0
        self._skipping = False
        self.dropped = 0
        self.dropped_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes."""
        *ended, rest = data.split(b"\n")
        lines: list[bytes] = []
        for piece in ended:
            self._take(piece)
            self._end(lines)
        if rest:
            self._take(rest)
        return lines

    def finish(self) -> list[bytes]:
        """The last line, when it did not end with a line break; at most one."""
        lines: list[bytes] = []
        if self._parts or self._skipping:
            self._end(lines)
        return lines

    def _take(self, piece: bytes) -> None:
        self._pending += len(piece)
        if self._pending > self._limit:
            self._skipping = True
            self._parts.clear()
        else:
            self._parts.append(piece)

    def _end(self, lines: list[bytes]) -> None:
        if self._skipping:
            self.dropped += 1
            self.dropped_bytes += self._pending
            self._skipping = False
        else:
            lines.append(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))
        self._parts.clear()
        self._pending = 0
