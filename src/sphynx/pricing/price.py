"""The price of a trial's tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sphynx.pricing.rates import Tokens
from sphynx.pricing.tables import GENAI_PRICES, listed


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars and where they come from; ``usd`` is ``None`` when nobody publishes a rate."""

    usd: float | None
    source: str
    """``genai-prices``, ``models.dev``, or ``harness`` when it reported no usage."""
    explanation: str
    snapshot: dict[str, Any] | None = None
    """Rates in US dollars per million tokens, with the table and the model they are for."""


def price(model: str, usage: Tokens | None) -> Price:
    """What ``usage`` of ``model`` costs at the published rate.

    ``model`` is a model's name, with or without its provider before a slash. No usage, or a model that no
    table lists, gives an unknown price.
    """
    if usage is None:
        return Price(None, "harness", "The agent reported no token counts")
    if not model.strip():
        return Price(None, GENAI_PRICES, "The agent chose its model itself, it has no known rate")
    found = listed(model.strip())
    if found is None:
        return Price(None, GENAI_PRICES, f"No rate is published for {model}")
    text = f"At the published rate of {found.provider}/{found.model}"
    if found.tiered:
        text += "; long requests may cost more"
    snapshot = {
        **found.rates.snapshot(),
        "table": f"{found.table} {found.version}",
        "provider": found.provider,
        "model": found.model,
    }
    return Price(found.rates.cost(usage), found.table, text, snapshot)
