"""Text checks that ignore case."""

from __future__ import annotations

from collections.abc import Iterable


def contains_any(text: str, needles: Iterable[str]) -> bool:
    """Whether at least one needle is in ``text``, ignoring case. No needles: ``False``."""
    hay = text.casefold()
    return any(needle.casefold() in hay for needle in _many(needles))


def contains_all(text: str, needles: Iterable[str]) -> bool:
    """Whether every needle is in ``text``, ignoring case. No needles: ``True``."""
    hay = text.casefold()
    return all(needle.casefold() in hay for needle in _many(needles))


def contains_none(text: str, needles: Iterable[str]) -> bool:
    """Whether no needle is in ``text``, ignoring case. No needles: ``True``.

    An empty text holds none of them: check that there is an answer when that matters.
    """
    return not contains_any(text, needles)


def _many(needles: Iterable[str]) -> Iterable[str]:
    """One text is one needle; its letters are not."""
    return (needles,) if isinstance(needles, str) else needles
