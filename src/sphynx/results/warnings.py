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
    per_turn = usage.input_tokens if turns <= 0 else (2 * usage.input_tokens + turns) // (2 * turns)
    if per_turn >= PER_TURN:
        found.append("context-grew-fast")
    if usage.cache_read_tokens == 0 and usage.input_tokens >= UNCACHED:
        found.append("nothing-cached")
    return found
