"""Text sizes as the wire counts them: UTF-16 code units, so that a character outside the BMP counts twice."""

from __future__ import annotations


def length(text: str) -> int:
    """How many UTF-16 code units ``text`` takes."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def order(text: str) -> bytes:
    """A sort key that puts texts in the order of their UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")
