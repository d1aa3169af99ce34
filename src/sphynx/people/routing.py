"""Which model plays people that name no harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sphynx.providers.table import PROVIDERS, Provider

MODEL_NAME = "SPHYNX_USER_MODEL"
DEFAULT_MODEL = "gpt-5.4-mini"


@dataclass(frozen=True, slots=True)
class Route:
    """A model and who serves it."""

    provider: Provider
    model: str


def configured(env: Mapping[str, str]) -> str:
    """``SPHYNX_USER_MODEL`` as it was set, else the default. It is part of the variant."""
    return env.get(MODEL_NAME, "").strip() or DEFAULT_MODEL


def route(text: str) -> Route:
    """``provider/model`` names its provider when that is a known one; anything else is a model of OpenAI."""
    first, slash, rest = text.partition("/")
    if slash and rest and first in PROVIDERS:
        return Route(PROVIDERS[first], rest)
    return Route(PROVIDERS["openai"], text)
