"""Plain JSON values in and out: evidence as text, and wire objects that read like Python."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_OPTIONAL = frozenset(
    ("input", "output", "error", "status", "role", "usage", "exitCode", "startedAtMillis", "finishedAtMillis",
     "inputTruncated", "outputTruncated", "errorTruncated", "kind", "tool")
)  # fmt: skip
_HUMP = re.compile(r"_([a-z])")


class Fields(dict[str, Any]):
    """A wire object: its keys as they are on the wire, and as attributes in Python's spelling.

    ``turn["userText"]``, ``turn["user_text"]`` and ``turn.user_text`` are the same value; so are
    ``event["_tag"]`` and ``event._tag``. An attribute that this kind of event may leave out is ``None`` when
    it is not there (``event.input``); any other unknown one raises ``AttributeError``.
    """

    def __missing__(self, key: str) -> Any:
        wire = camel(key)
        if wire != key and wire in self:
            return self[wire]
        raise KeyError(key)

    def __getattr__(self, name: str) -> Any:
        wire = name if name in self else camel(name)
        if wire in self:
            return self[wire]
        if wire in _OPTIONAL:
            return None
        raise AttributeError(f"there is no {name!r} here, there are: {', '.join(self)}")


def camel(name: str) -> str:
    """``user_text`` as the wire spells it: ``userText``. A leading underscore stays."""
    return name[:1] + _HUMP.sub(lambda hump: hump[1].upper(), name[1:])


def readable(value: Any) -> Any:
    """A fresh copy of a JSON value in which every object is a :class:`Fields`."""
    if isinstance(value, dict):
        return Fields((key, readable(item)) for key, item in value.items())
    if isinstance(value, list):
        return [readable(item) for item in value]
    return value


class NotJson(Exception):
    """A value has no JSON form."""


def to_json(value: Any) -> str:
    """``value`` as compact JSON, numbers it does not have as ``null``. ``NotJson`` when it has no form."""
    try:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except ValueError:
            return json.dumps(_finite(value, 0), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _finite(value: Any, depth: int) -> Any:
    if depth > 500:
        raise ValueError("nested too deeply")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item, depth + 1) for item in value]
    return value
