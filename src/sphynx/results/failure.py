"""Why something broke, in one line a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIMIT = 240
"""Characters of the line; a longer one ends in an ellipsis."""


def failure_text(error: BaseException | Mapping[str, Any] | str) -> str:
    """What went wrong: the ``reason`` if the error has one, else its message and its deepest cause's.

    Only the first line that is not blank counts, cut at 240 characters. An error without a message reads as
    the name of its type. ``error`` may be an exception, a text, or an object with ``reason``, ``message``,
    ``string`` and ``cause``.
    """
    if isinstance(error, str):
        return one_line(error)
    reason = _get(error, "reason")
    if isinstance(reason, str) and reason.strip():
        return one_line(reason)
    outer = one_line(_message(error)) or _name(error)
    deepest = _deepest(error)
    inner = "" if deepest is error else one_line(_message(deepest))
    return one_line(f"{outer}: {inner}") if inner and inner != outer else outer


def one_line(text: str) -> str:
    """The first line of ``text`` that is not blank, trimmed and cut at 240 characters; empty if none is."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LIMIT else line[:LIMIT] + "…"


def _get(error: BaseException | Mapping[str, Any], name: str) -> Any:
    return error.get(name) if isinstance(error, Mapping) else getattr(error, name, None)


def _message(error: BaseException | Mapping[str, Any]) -> str:
    message = _get(error, "message")
    if isinstance(message, str) and message.strip():
        return message
    if isinstance(error, Mapping):
        return str(error.get("string") or "")
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


def _name(error: BaseException | Mapping[str, Any]) -> str:
    return "Error" if isinstance(error, Mapping) else type(error).__name__


def _deepest(error: BaseException | Mapping[str, Any]) -> BaseException | Mapping[str, Any]:
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = _cause(error)
        if inner is None:
            break
        error = inner
    return error


def _cause(error: BaseException | Mapping[str, Any]) -> BaseException | Mapping[str, Any] | None:
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    inner = error.get("cause") if isinstance(error, Mapping) else error.__cause__
    return inner if isinstance(inner, BaseException | Mapping) else None
