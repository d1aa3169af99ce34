"""What makes a case's definition: the hash its history is kept under, and what changed between two of them.

A definition is the stored JSON of a case: ``prompt`` (rendered), ``source``, ``prepare``, ``validator``,
``verify``, ``user``, ``cache``, ``maxTurns``, ``timeoutMs``, and ``x-sphynx`` for what only our own server
knows. Names, tags, variants and trials are not part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sphynx.schema.utf16 import order

_CHANGES = (
    ("prompt", "prompt"), ("source", "source"), ("setup", "prepare"), ("validator", "validator"),
    ("verifier", "verify"), ("simulated user", "user"), ("cache", "cache"), ("turn limit", "maxTurns"),
    ("time limit", "timeoutMs"),
)  # fmt: skip


def definition_hash(definition: Mapping[str, Any]) -> str:
    """32 hex characters: the parts joined by NUL, through SHA-256."""
    turns, limit = definition.get("maxTurns"), definition.get("timeoutMs")
    cache = definition.get("cache")
    parts = [
        definition["prompt"],
        (definition.get("prepare") or {}).get("source", ""),
        _validator(definition.get("validator")),
        definition.get("verify") or "",
        _source(definition.get("source")),
        _json(definition["user"]) if definition.get("user") else "",
        f"{cache['key']} {cache['path']}" if cache else "",
    ]
    if turns is not None or limit is not None:
        parts.append(f"limits {'' if turns is None else turns} {'' if limit is None else limit}")
    if definition.get("x-sphynx"):
        parts.append("x-sphynx " + json.dumps(definition["x-sphynx"], separators=(",", ":"), sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What a new version of a case changed, in a fixed order, in words for its history."""
    return [label for label, key in _CHANGES if _stored(key, before) != _stored(key, after)]


def _stored(key: str, definition: Mapping[str, Any]) -> str:
    value = definition.get(key)
    if key == "prepare":
        value = (value or {}).get("source")
    return json.dumps(value, sort_keys=True)


def _validator(validator: Mapping[str, Any] | None) -> str:
    if not validator:
        return ""
    if validator.get("kind") == "judged":
        return _json({key: value for key, value in validator.items() if key != "sourceFiles"})
    return validator["source"]


def _source(source: Mapping[str, Any] | None) -> str:
    if not source or source["kind"] == "empty":
        return "empty"
    if source["kind"] == "repo":
        return f"repo {source['url']} {source.get('ref') or ''}"
    files = sorted(source["files"].items(), key=lambda item: (item[0].casefold(), order(item[0].swapcase())))
    return "files " + "".join(f"{path} {content}" for path, content in files)


def _json(value: Any) -> str:
    return json.dumps(_numbers(value), ensure_ascii=False, separators=(",", ":"))


def _numbers(value: Any) -> Any:
    """Whole floats as JSON on the wire has them: ``1.0`` and ``1`` are one number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _numbers(inner) for key, inner in value.items()}
    return [_numbers(inner) for inner in value] if isinstance(value, list | tuple) else value
