"""Models a harness can use, from the price list that is installed. Nothing is asked over the network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_PROVIDERS = {
    "codex": ("openai",),
    "claude": ("anthropic",),
    "gemini": ("google",),
    "opencode": ("openai", "anthropic", "google", "xai", "groq", "deepseek", "openrouter"),
    "pi": ("openai", "anthropic", "google", "xai", "groq", "deepseek", "openrouter"),
}
_PREFIXED = ("opencode", "pi")


def catalogue(harness: str, wanted: str | None) -> dict[str, Any]:
    """``ModelCatalogue``. A harness whose models no list here knows has none listed."""
    models = [
        model
        for model in _models(harness)
        if not wanted or wanted.lower() in f"{model['id']} {model['displayName']}".lower()
    ]
    return {"harness": harness, "models": models, "total": len(models)}


@lru_cache(maxsize=16)
def _models(harness: str) -> tuple[dict[str, Any], ...]:
    return tuple(_listed(harness))


def _listed(harness: str) -> Iterator[dict[str, Any]]:
    from genai_prices.data_snapshot import get_snapshot

    providers = {provider.id: provider for provider in get_snapshot().providers}
    for name in _PROVIDERS.get(harness, ()):
        provider = providers.get(name)
        for model in provider.models if provider else ():
            yield {
                "displayName": model.name or model.id,
                "id": f"{name}/{model.id}" if harness in _PREFIXED else model.id,
                "summary": model.description,
                "vendor": provider.name if provider else None,
            }
