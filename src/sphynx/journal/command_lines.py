"""One stdout line of a command harness: an event, a usage count, or chatter."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeAlias, get_args

import msgspec

from sphynx.journal.events import (
    Command,
    Event,
    FileChange,
    Finished,
    Message,
    Started,
    ToolCall,
    Usage,
)
from sphynx.suite.fields import nearest

Line: TypeAlias = Started | Message | Command | FileChange | ToolCall | Finished | Usage

_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_TAGS = tuple(kind.__struct_config__.tag for kind in get_args(Line))
_ROLES = ("assistant", "user")
_TIMES = ("at", "startedAt")
_LAST_MILLIS = 8_640_000_000_000_000
"""The last instant a date can name; a later ``at`` is no time."""


def parse(line: bytes, now_ms: int) -> Event | Usage | None:
    """The event or usage count ``line`` holds, or ``None`` for anything else.

    ``now_ms`` is when the line was read: it stamps an event without ``at`` and every ``Started``. Keys that
    are not known do not matter, a key that is missing or of the wrong type makes the line chatter. Bytes that
    are not UTF-8 become replacement characters.
    """
    if not line.startswith(b"{"):
        line = line.lstrip()
        if not line.startswith(b"{"):
            return None
    try:
        found = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        found = _odd_line(line) if b'"_tag"' in line else None
    if found is None or not _fits(found):
        return None
    return _totalled(found) if isinstance(found, Usage) else _stamped(found, now_ms)


def why_ignored(line: bytes) -> str | None:
    """Why ``parse`` left out a line that names an event; ``None`` for a line that names none.

    The text is short, in one line, and holds a piece of the line only where that is its misspelled name.
    """
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    tag = value.get("_tag") if isinstance(value, dict) else None
    if not isinstance(tag, str):
        return None
    if tag not in _TAGS:
        near = nearest(tag[:40], _TAGS)
        return f"{tag[:40]!r} is no event" + (f", did you mean {near!r}?" if near else "")
    try:
        msgspec.convert(_plain(value), Line)
    except msgspec.ValidationError as error:
        return f"{tag}: {error}"
    except (ValueError, RecursionError):
        pass
    return f"{tag}: a value does not fit"


def _fits(found: Line) -> bool:
    """What the types alone do not say."""
    if isinstance(found, Message):
        return found.role in _ROLES and (found.usage is None or _counts_fit(found.usage))
    if isinstance(found, Usage):
        return _counts_fit(found)
    return not isinstance(found, ToolCall) or found.input is not None


def _counts_fit(usage: Any) -> bool:
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.total_tokens or 0,
        usage.cost_usd or 0,
    )
    return min(counts) >= 0


def _totalled(usage: Usage) -> Usage:
    return (
        usage if usage.total_tokens is not None else msgspec.structs.replace(usage, total_tokens=usage.total)
    )


def _stamped(event: Event, now_ms: int) -> Event:
    at = event.at
    if at is None or isinstance(event, Started) or not 0 <= at <= _LAST_MILLIS:
        return msgspec.structs.replace(event, at=now_ms)
    return event


def _odd_line(line: bytes) -> Line | None:
    """JSON the strict decoder refuses though other programs write it: 1.0 for 1, bad UTF-8."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse)
        return msgspec.convert(_plain(value), Line)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _plain(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _plain(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and abs(value) <= _LAST_MILLIS and (value.is_integer() or key in _TIMES):
        return int(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
