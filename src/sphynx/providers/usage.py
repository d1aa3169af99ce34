"""Token counts as providers report them, in our meaning: input without what came from a cache."""

from __future__ import annotations

from typing import Any

from sphynx.journal.events import Usage


def chat_usage(answer: dict[str, Any]) -> Usage | None:
    """The tokens of a chat completion; ``None`` when it does not say."""
    return _usage(answer.get("usage"), "prompt", "completion")


def responses_usage(answer: dict[str, Any]) -> Usage | None:
    """The tokens of a Responses answer; ``None`` when it does not say."""
    return _usage(answer.get("usage"), "input", "output")


def _usage(given: Any, sent: str, said: str) -> Usage | None:
    if not isinstance(given, dict) or not _is_count(given.get(f"{sent}_tokens")):
        return None
    details = given.get(f"{sent}_tokens_details") or {}
    read = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    written = _count(details.get("cache_write_tokens")) if isinstance(details, dict) else 0
    whole, answered = _count(given[f"{sent}_tokens"]), _count(given.get(f"{said}_tokens"))
    total = given.get("total_tokens")
    return Usage(
        input_tokens=max(0, whole - read - written),
        output_tokens=answered,
        cache_read_tokens=read,
        cache_write_tokens=written,
        total_tokens=total if _is_count(total) else whole + answered,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(value: Any) -> int:
    return value if _is_count(value) else 0
