"""Signs in a trial's token counts that it paid again and again for the same reading."""

from __future__ import annotations

from typing import Protocol

PER_TURN = 12_000
UNCACHED = 50_000


class Tokens(Protocol):
    """What the warnings read; both the journal's ``Usage`` and a ``UsageRecord`` have it."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...


def usage_warnings(usage: Tokens | None, turns: int) -> list[str]:
    """``context-grew-fast`` from 12,000 input tokens a turn on; ``nothing-cached`` from 50,000 tokens on.

    In that order; nothing without usage.
    """
    if usage is None:
        return []
    found: list[str] = []
    if per_turn(usage.input_tokens, turns) >= PER_TURN:
        found.append("context-grew-fast")
    if usage.cache_read_tokens == 0 and usage.input_tokens >= UNCACHED:
        found.append("nothing-cached")
    return found


def per_turn(tokens: int, turns: int) -> int:
    """Tokens a turn, rounded half up; all of them when no turn was counted."""
    return tokens if turns <= 0 else (2 * tokens + turns) // (2 * turns)


def explained(warning: str, usage: Tokens, turns: int) -> str:
    """A warning in words, with the numbers it was raised for and the one it starts at."""
    if warning == "context-grew-fast":
        found = per_turn(usage.input_tokens, turns)
        told = f"{found:,} fresh input tokens a turn ({PER_TURN:,} or more)"
        return f"re-read a large context on every turn: {told}"
    if warning == "nothing-cached":
        told = f"{usage.input_tokens:,} input tokens, 0 cached ({UNCACHED:,} or more)"
        return f"got nothing from the cache: {told}"
    return warning
