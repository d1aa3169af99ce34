"""What is kept of a call: bounded copies of its values, with secret fields taken out first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

VALUE = 64_000
"""Characters of one value that a check can read."""
LOGS = 64
LOG_TOTAL = 192_000
"""Characters of all logged values of one call."""
ERROR = 2_000
HIDDEN = "[redacted]"
SECRET_FIELDS = frozenset((
    "authorization", "proxyauthorization", "cookie", "cookies", "setcookie", "password", "passwd", "pwd",
    "passphrase", "secret", "secrets", "clientsecret", "secretkey", "secretaccesskey", "privatekey", "apikey",
    "xapikey", "apitoken", "token", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "authtoken",
    "xauthtoken", "bearertoken", "xcsrftoken", "csrftoken", "credential", "credentials", "connectionstring",
))  # fmt: skip


def field_names(more: Iterable[str] = ()) -> frozenset[str]:
    """The fields to hide: the known ones and ``more``; case, hyphens and underscores do not count."""
    return SECRET_FIELDS | {_bare(name) for name in more}


def hidden(value: Any, names: frozenset[str]) -> Any:
    """A copy of a JSON value with what stands under these names replaced, at any depth.

    A value nested too deeply to be looked through is not shown at all.
    """
    try:
        return _hidden(value, names)
    except RecursionError:
        return HIDDEN


def _hidden(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if _bare(str(key)) in names and item is not None else _hidden(item, names)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_hidden(item, names) for item in value]
    return value


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def snapshot(value: Any, limit: int = VALUE) -> dict[str, Any]:
    """``{"text", "format", "state", "truncated"}``: JSON cut to ``limit``, or why there is none."""
    try:
        text = compact(value)
    except (TypeError, ValueError, RecursionError):
        return {"text": "", "format": "json", "state": "unavailable", "truncated": False}
    return {"text": text[:limit], "format": "json", "state": "captured", "truncated": len(text) > limit}


def kept(value: Any) -> Any:
    """A value as a check reads it: itself, or its snapshot when it is too long or no JSON."""
    found = snapshot(value)
    if found["truncated"] or found["state"] != "captured":
        return found
    return json.loads(found["text"])


def compact(value: Any) -> str:
    """Compact JSON, keys as given. ``ValueError`` or ``TypeError`` when there is none."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Log:
    """What a handler logged: at most 64 values, and no more text than ``LOG_TOTAL``."""

    def __init__(self, names: frozenset[str]) -> None:
        self.entries: list[dict[str, Any]] = []
        self._names = names
        self._room = LOG_TOTAL

    def add(self, value: Any) -> None:
        """Keep one value; what is beyond the limits is left out."""
        if len(self.entries) >= LOGS:
            return
        found = snapshot(hidden(value, self._names), min(VALUE, self._room))
        if found["state"] != "captured":
            found = snapshot(repr(value), min(VALUE, self._room))
        self._room -= len(found["text"])
        self.entries.append(found)
