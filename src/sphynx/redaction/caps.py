"""Cutting text at a number of UTF-16 units, the way lengths are counted on the wire."""

from __future__ import annotations

from itertools import accumulate

_ASTRAL = 0xFFFF


def utf16_length(text: str) -> int:
    """The length of ``text`` in UTF-16 units: characters beyond U+FFFF count twice."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if ord(char) > _ASTRAL)


def cut(text: str, limit: int) -> tuple[str, bool]:
    """The first ``limit`` UTF-16 units of ``text``, and whether anything was left out.

    A character that would be split stays out whole.
    """
    if len(text) * 2 <= limit or (len(text) <= limit and text.isascii()):
        return text, False
    head = text[: max(limit, 0)]
    if not head.isascii():
        ends = accumulate(2 if ord(char) > _ASTRAL else 1 for char in head)
        kept = sum(1 for end in ends if end <= limit)
        head = head[:kept]
    return head, len(head) < len(text)
