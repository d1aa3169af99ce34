"""Spans of a text, and the mark that takes their place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from re import Pattern
from typing import TypeAlias

MARK = "[redacted]"

Span: TypeAlias = tuple[int, int]
"""First character and one past the last."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, overlapping ones made one; spans that only touch stay apart."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start < result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def replaced(text: str, spans: list[Span]) -> str:
    """``text`` with each of the ordered, disjoint ``spans`` replaced by the mark."""
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], MARK)
        at = end
    parts.append(text[at:])
    return "".join(parts)


class View:
    """A text without the pieces ``noise`` matches, able to say where each character came from."""

    __slots__ = ("_kept", "_origin", "text")

    def __init__(self, source: str, noise: Pattern[str]) -> None:
        parts: list[str] = []
        self._kept: list[int] = []
        self._origin: list[int] = []
        at = length = 0
        for match in noise.finditer(source):
            start = match.start()
            if start > at:
                self._keep(parts, source[at:start], length, at)
                length += start - at
            at = match.end()
        if at < len(source):
            self._keep(parts, source[at:], length, at)
        self.text = "".join(parts)

    def _keep(self, parts: list[str], piece: str, length: int, at: int) -> None:
        parts.append(piece)
        self._kept.append(length)
        self._origin.append(at)

    def position(self, index: int) -> int:
        """Where character ``index`` of the view stands in the source."""
        piece = bisect_right(self._kept, index) - 1
        return self._origin[piece] + index - self._kept[piece]

    def source_span(self, span: Span) -> Span:
        """The span of the source that ``span`` of the view came from, noise inside it included."""
        return self.position(span[0]), self.position(span[1] - 1) + 1
