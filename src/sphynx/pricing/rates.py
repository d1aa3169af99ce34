"""Rates of one model, and what a number of tokens costs at them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Protocol

_MILLION = Decimal(1_000_000)
_NANO = Decimal("0.000000001")


class Tokens(Protocol):
    """Token counts to price, such as a ``Usage``; ``input_tokens`` excludes cached ones."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens. A cache rate that is not published is the input rate."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def cost(self, usage: Tokens) -> float:
        """Each count at its own rate, in US dollars, exact to a nano-dollar."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        total = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        )
        return float((total / _MILLION).quantize(_NANO, ROUND_HALF_UP))

    def snapshot(self) -> dict[str, float | None]:
        """The rates as plain numbers, to be kept beside a price."""
        return {
            "input": float(self.input),
            "output": float(self.output),
            "cacheRead": None if self.cache_read is None else float(self.cache_read),
            "cacheWrite": None if self.cache_write is None else float(self.cache_write),
        }
