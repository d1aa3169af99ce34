"""The secrets of a trial: which variables of the host it gets, and which values must never be stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sphynx.compiler.compiled import CompiledVariant
from sphynx.registry import load_harness
from sphynx.settings.forwarding import is_forwarded, looks_secret


def named_variables(variant: CompiledVariant, host_env: Mapping[str, str]) -> dict[str, str]:
    """The values of the variables a profile names; a plan without them is refused before it starts."""
    if variant.profile is None:
        return {}
    return {name: host_env[name] for name in variant.profile.variables if name in host_env}


def harness_keys(variant: CompiledVariant, host_env: Mapping[str, str]) -> dict[str, str]:
    """What the variant's harness picks for itself: its key, its login, its base URL."""
    pick = getattr(load_harness(variant.variant.harness), "keys", None)
    return dict(pick(variant.variant, host_env)) if pick is not None else {}


def secrets(
    variant: CompiledVariant, host_env: Mapping[str, str], forwarded: Mapping[str, str]
) -> Iterator[str]:
    """Values to redact: named variables, keys and logins, and addresses that carry a token."""
    yield from named_variables(variant, host_env).values()
    yield from key_secrets(harness_keys(variant, host_env))
    yield from (value for name, value in forwarded.items() if looks_secret(name, value))


def key_secrets(keys: Mapping[str, str]) -> Iterator[str]:
    """What of a harness's keys must never be stored: all but plain addresses, a login's tokens one by one."""
    for value in keys.values():
        if not is_plain_url(value):
            yield value
            yield from _inside(value)


def is_plain_url(text: str) -> bool:
    """Whether a text is an http(s) address without credentials, which gives nobody anything."""
    return text.lower().startswith(("http://", "https://")) and is_forwarded("URL", text)


def strings(value: Any) -> Iterator[str]:
    """Every text inside a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def _inside(value: str) -> Iterator[str]:
    """The texts of a login that is a JSON file; each of its tokens is a secret of its own."""
    if not value.lstrip().startswith("{"):
        return
    try:
        yield from strings(json.loads(value))
    except (ValueError, RecursionError):
        return
