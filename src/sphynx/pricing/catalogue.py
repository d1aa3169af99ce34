"""The models a maker sells, as the price table lists them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from sphynx.pricing.tables import GENAI_PRICES

_NO_CHAT = (
    "audio",
    "embedding",
    "image",
    "instruct",
    "moderation",
    "realtime",
    "search",
    "transcribe",
    "tts",
)


def models_of(maker: str, leads: Sequence[str]) -> list[str]:
    """Ids of ``maker``'s models that begin with one of ``leads`` and answer in text, in order of name."""
    from genai_prices.data import providers

    sold = next((provider.models for provider in providers if provider.id == maker), ())
    return sorted(
        model.id
        for model in sold
        if model.id.startswith(tuple(leads)) and not any(word in model.id for word in _NO_CHAT)
    )


def source() -> tuple[str, str]:
    """The table with its version, and the day it came onto this machine."""
    import genai_prices

    day = datetime.fromtimestamp(Path(genai_prices.__file__).stat().st_mtime, UTC)
    return f"{GENAI_PRICES} {version('genai-prices')}", f"{day:%Y-%m-%d}"
